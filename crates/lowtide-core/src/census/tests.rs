//! Diffs of small censuses: what the first line says, and what must not be in it.

use super::*;
use crate::look::{
    Breakdown, By, End, Examiner, HeldGroup, LookWhy, Part, PythonHeap, PythonVersion, Rest,
};

const TENSOR: &str = "Tensor cpu float32 [3, 1344, 1344]";
const EACH: u64 = 3 * 1344 * 1344 * 4;

/// A census at a second, with a step.
fn census(second: u64, step: Option<u64>) -> Look {
    let id = ProcId { pid: 7, start: 9 };
    let at = Micros(second * 1_000_000);
    Look {
        heap: Some(PythonHeap {
            python: PythonVersion {
                minor: 11,
                micro: Some(7),
            },
            step,
            objects: 1_000_000,
            bytes: Bytes(500_000_000),
            stopped: None,
            holders: Vec::new(),
            unaccounted: Default::default(),
        }),
        ..Look::new(at, id, LookWhy::Asked, Examiner::Census)
    }
}

trait With {
    fn parts(self, by: By, parts: &[(&str, u64, u64)]) -> Self;
    fn holder(self, name: &str, kind: &str, length: Option<u64>, of: &[(&str, u64, u64)]) -> Self;
    fn table(self, bytes: u64) -> Self;
    fn within(self, path: &[&str]) -> Self;
}

impl With for Look {
    fn parts(mut self, by: By, parts: &[(&str, u64, u64)]) -> Look {
        let part = |(name, count, bytes): &(&str, u64, u64)| {
            Part::new(*name, Some(*count), Some(Bytes(*bytes)))
        };
        let parts = parts.iter().map(part).collect();
        self.breakdowns.push(Breakdown::new(by, parts));
        self
    }

    fn holder(
        mut self,
        name: &str,
        kind: &str,
        length: Option<u64>,
        of: &[(&str, u64, u64)],
    ) -> Look {
        let group = |(name, count, bytes): &(&str, u64, u64)| HeldGroup {
            name: (*name).to_owned(),
            count: *count,
            bytes: Bytes(*bytes),
        };
        let heap = self.heap.as_mut().unwrap();
        heap.holders.push(Holder {
            name: name.to_owned(),
            path: Vec::new(),
            kind: kind.to_owned(),
            length,
            keeps: of.iter().map(|(_, _, bytes)| Bytes(*bytes)).sum(),
            of: of.iter().map(group).collect(),
            also_held_by: None,
            ends: Vec::new(),
            adds: Vec::new(),
            empties: Vec::new(),
            address: heap.holders.len() as u64,
        });
        self
    }

    /// What the last holder's own table has.
    fn table(mut self, bytes: u64) -> Look {
        let holders = &mut self.heap.as_mut().unwrap().holders;
        let last = holders.last_mut().unwrap();
        last.keeps = Bytes(last.keeps.0 + bytes);
        self
    }

    /// Where the last holder is.
    fn within(mut self, path: &[&str]) -> Look {
        let holders = &mut self.heap.as_mut().unwrap().holders;
        let path = path.iter().map(|step| (*step).to_owned());
        holders.last_mut().unwrap().path = path.collect();
        self
    }
}

fn first(diff: &Diff) -> &str {
    &diff.grew[0].says
}

/// `train.CACHE` with so many tensors, among what a process has anyway.
fn cache(second: u64, step: Option<u64>, length: u64) -> Look {
    let tensors = (TENSOR, length, length * EACH);
    census(second, step)
        .parts(
            By::TensorGroup,
            &[("Tensor cpu float32 [768]", 40, 122_880), tensors],
        )
        .parts(
            By::PythonType,
            &[
                ("torch.Tensor", length + 40, (length + 40) * 80),
                ("list", 50_000, 4_000_000 + 8 * length),
                ("float", 9000 - length, 24 * (9000 - length)),
            ],
        )
        .holder("train.CACHE", "list", Some(length), &[tensors])
}

#[test]
fn a_list_that_grows_is_the_first_line() {
    let diff = diff(&cache(0, Some(412), 412), &cache(600, Some(1615), 1615));
    assert_eq!(
        first(&diff),
        "+1,203 x Tensor cpu float32 [3, 1344, 1344] (+26.1 GB), 1.00 a step, held by train.CACHE (list, 412 -> 1,615)"
    );
    assert_eq!((diff.steps, diff.seconds), (Some(1203), Some(600.0)));
    // Types that a breakdown of their own tells are not told again; the list's own array is.
    let names: Vec<&str> = diff
        .grew
        .iter()
        .map(|one| one.group.name.as_str())
        .collect();
    assert_eq!(names, [TENSOR, "list"]);
    assert_eq!(
        diff.grew[1].says,
        "+9.62 kB of list (no new ones), 8 B a step, no holder found"
    );
    assert_eq!(
        diff.shrank[0].says,
        "-1,203 x float (-28.9 kB), -1.00 a step"
    );
    assert!(diff.notes.is_empty(), "{:?}", diff.notes);
}

#[test]
fn without_steps_it_is_by_the_minute() {
    let diff = diff(&cache(0, None, 412), &cache(600, Some(1615), 1615));
    assert!(first(&diff).contains(", 120 a minute, held by"), "{diff:?}");
    assert_eq!(
        diff.notes,
        ["steps are not known for both: rates are per minute"]
    );
    let fast = super::diff(&cache(0, None, 12), &cache(1, None, 1212));
    assert!(first(&fast).contains(", 72,000 a minute,"), "{fast:?}");
    // Steps that went back are those of another loop.
    let back = super::diff(&cache(0, Some(900), 412), &cache(60, Some(3), 1615));
    assert_eq!(back.grew[0].rate.unwrap().per, Per::Minute);
}

#[test]
fn two_processes_differ_and_nothing_has_a_rate() {
    let mut other = cache(600, Some(1615), 1615);
    other.id.pid = 8;
    let diff = diff(&cache(0, Some(412), 412), &other);
    assert_eq!(
        diff.notes,
        ["these are two processes, 7 and 8: they differ, which is no growth"]
    );
    assert_eq!(
        (diff.steps, diff.seconds, diff.grew[0].rate),
        (None, None, None)
    );
    assert!(first(&diff).contains("(+26.1 GB), held by"), "{diff:?}");
    other.id = ProcId { pid: 7, start: 10 };
    let reused = super::diff(&cache(0, None, 412), &other);
    assert!(
        reused.notes[0].contains("one after the other"),
        "{reused:?}"
    );
}

#[test]
fn a_holder_of_another_type_is_another_holder() {
    let a = cache(0, Some(1), 5);
    let mut b = cache(60, Some(2), 9);
    b.heap.as_mut().unwrap().holders[0].kind = "dict".to_owned();
    let diff = diff(&a, &b);
    assert!(
        first(&diff).ends_with("held by train.CACHE (dict, 9, not named before)"),
        "{diff:?}"
    );
    assert_eq!(diff.grew[0].holders[0].was, None);
}

/// `x = x + [y]` has another address every time, and the old one may be somebody else's by then.
#[test]
fn a_holder_that_moved_is_the_same_one() {
    let of = |n: u64| [("dict", n, n * 184)];
    let a = census(0, Some(10)).parts(By::PythonType, &[("dict", 100, 18_400)]);
    let a =
        a.holder("a.rows", "list", Some(10), &of(10))
            .holder("b.rows", "list", Some(90), &of(90));
    let b = census(9, Some(20)).parts(By::PythonType, &[("dict", 110, 20_240)]);
    let b =
        b.holder("b.rows", "list", Some(90), &of(90))
            .holder("a.rows", "list", Some(20), &of(20));
    let moved = diff(&a, &b);
    assert_eq!(
        first(&moved),
        "+10 x dict (+1.84 kB), 1.00 a step, held by a.rows (list, 10 -> 20)"
    );
    // Two of one name are told apart by where they are.
    let twice = |second, step, first: u64, last: u64| {
        census(second, Some(step))
            .parts(
                By::PythonType,
                &[("dict", first + last, (first + last) * 184)],
            )
            .holder("T.rows", "list", Some(first), &of(first))
            .holder("T.rows", "list", Some(last), &of(last))
    };
    let (a, mut b) = (twice(0, 10, 10, 90), twice(9, 20, 90, 20));
    let holders = &mut b.heap.as_mut().unwrap().holders;
    (holders[0].address, holders[1].address) = (1, 0);
    assert!(first(&diff(&a, &b)).ends_with("(list, 10 -> 20)"));
}

#[test]
fn what_two_hold_names_both() {
    let with = |second: u64, a: u64, b: u64| {
        let of = |n: u64| [(TENSOR, n, n * EACH)];
        census(second, Some(second))
            .parts(By::TensorGroup, &of(a + b))
            .holder("train.CACHE", "list", Some(a), &of(a))
            .holder("Hook.kept of train.hook", "dict", Some(b), &of(b))
    };
    let diff = diff(&with(10, 10, 10), &with(20, 20, 15));
    assert_eq!(
        first(&diff),
        "+15 x Tensor cpu float32 [3, 1344, 1344] (+325 MB), 1.50 a step, held by train.CACHE (list, 10 -> 20) \
         and Hook.kept of train.hook (dict, 10 -> 15)"
    );
    // Where they have a part of it, the part is told.
    let mut more = with(20, 20, 10);
    more.breakdowns.clear();
    let more = more.parts(By::TensorGroup, &[(TENSOR, 40, 40 * EACH)]);
    let part = super::diff(&with(10, 10, 10), &more);
    assert!(
        first(&part).ends_with(", 50 % of it held by train.CACHE (list, 10 -> 20)"),
        "{part:?}"
    );
}

#[test]
fn of_a_container_in_another_the_one_that_grew_is_named() {
    let with = |n: u64, outer: (&str, u64), inner: (&str, u64)| {
        let of = [(TENSOR, n, n * EACH)];
        census(n, Some(n))
            .parts(By::TensorGroup, &of)
            .holder("train.STATE", outer.0, Some(outer.1), &of)
            .within(&["module train", ".STATE"])
            .holder("train.STATE[\"items\"]", inner.0, Some(inner.1), &of)
            .within(&["module train", ".STATE", "[\"items\"]"])
    };
    let inner = diff(
        &with(10, ("dict", 3), ("list", 10)),
        &with(15, ("dict", 3), ("list", 15)),
    );
    assert!(
        first(&inner).ends_with("held by train.STATE[\"items\"] (list, 10 -> 15)"),
        "{inner:?}"
    );
    let outer = diff(
        &with(10, ("dict", 10), ("tuple", 2)),
        &with(15, ("dict", 15), ("tuple", 2)),
    );
    assert!(
        first(&outer).ends_with("held by train.STATE (dict, 10 -> 15)"),
        "{outer:?}"
    );
    // Where neither did, the innermost says most.
    let neither = diff(
        &with(10, ("dict", 3), ("tuple", 2)),
        &with(15, ("dict", 3), ("tuple", 2)),
    );
    assert!(
        first(&neither).ends_with("held by train.STATE[\"items\"] (tuple, 2)"),
        "{neither:?}"
    );
}

#[test]
fn what_came_together_is_one_line_led_by_what_counts() {
    let rows = |n: u64| {
        let of = [
            ("float", n * 5, n * 5 * 24),
            ("str", n * 2, n * 2 * 60),
            ("dict", n, n * 100),
        ];
        census(n, Some(n)).parts(By::PythonType, &of).holder(
            "Metrics.rows of train.metrics",
            "list",
            Some(n),
            &of,
        )
    };
    let diff = diff(&rows(100), &rows(300));
    assert_eq!(diff.grew.len(), 1);
    assert_eq!(
        first(&diff),
        "+200 x dict (+20.0 kB), 1.00 a step, held by Metrics.rows of train.metrics (list, 100 -> 300)"
    );
    let with: Vec<String> = diff.grew[0].with.iter().map(Change::says).collect();
    assert_eq!(with, ["+1,000 x float (+24.0 kB)", "+400 x str (+24.0 kB)"]);
}

/// A batch is larger than what a loop keeps of it, and comes and goes.
#[test]
fn a_batch_that_is_there_by_chance_does_not_come_first() {
    let batch = ("Tensor cpu float32 [64, 3, 224, 224]", 1, 38_535_168);
    let with = |step: u64, there: bool| {
        let of = [("Tensor cpu float32 [512]", step, step * 2048)];
        let batch = [(batch.0, u64::from(there), batch.2 * u64::from(there))];
        census(step, Some(step))
            .parts(By::TensorGroup, &[of[0], batch[0]])
            .holder("batch in main() train.py:41", "torch.Tensor", None, &batch)
            .holder("train.losses", "list", Some(step), &of)
    };
    let diff = diff(&with(100, false), &with(400, true));
    assert!(first(&diff).contains("train.losses"), "{diff:?}");
    assert!(
        diff.grew[1]
            .says
            .ends_with("held by batch in main() train.py:41 (torch.Tensor)")
    );
    // What hardly matters does not come first for its holder.
    let short = super::diff(&with(100, false), &with(101, true));
    assert!(first(&short).contains("batch in main()"), "{short:?}");
}

#[test]
fn a_holder_tells_of_itself_where_no_group_does() {
    let with = |n: u64| census(n, Some(n)).holder("train.seen", "set", Some(n), &[]);
    assert_eq!(
        first(&diff(&with(10), &with(30))),
        "+20 in train.seen (set, 10 -> 30), 1.00 a step"
    );
    // And its own list of what it keeps counts where no breakdown names that.
    let with =
        |n: u64| census(n, Some(n)).holder("train.seen", "set", Some(n), &[("str", n, n * 60)]);
    assert_eq!(
        first(&diff(&with(10), &with(30))),
        "+20 x str (+1.20 kB), 1.00 a step, held by train.seen (set, 10 -> 30)"
    );
}

#[test]
fn what_was_too_small_to_be_named_is_not_told_too_large() {
    let cut = |types: &[(&str, u64, u64)]| {
        let mut look = census(0, None).parts(By::PythonType, types);
        look.breakdowns[0].rest = Some(Rest {
            parts: 3,
            count: Some(9),
            bytes: Some(Bytes(90)),
        });
        look
    };
    let diff = diff(
        &cut(&[("dict", 9, 900), ("set", 2, 400)]),
        &cut(&[("str", 99, 2000), ("dict", 9, 900)]),
    );
    assert_eq!(first(&diff), "+1.60 kB of str");
    // What is not named any more may have as much as the smallest that is: `set` neither grew nor shrank.
    assert_eq!((diff.grew.len(), diff.shrank.len()), (1, 0), "{diff:?}");
}

#[test]
fn a_census_that_was_cut_short_or_is_the_earlier_one_says_so() {
    let mut cut = cache(60, Some(3), 5);
    let at = Micros(1);
    cut.missing.push(Missing::TimeRanOut { work: at, wall: at });
    let notes = diff(&cache(0, Some(1), 5), &cut).notes;
    assert!(
        notes[0].contains("second census was cut short"),
        "{notes:?}"
    );
    let notes = diff(&cache(60, None, 5), &cache(0, None, 5)).notes;
    assert_eq!(notes, ["the second census was taken before the first"]);
}

#[test]
fn numbers_of_a_made_up_file_do_no_harm() {
    let most = |second| {
        census(second, Some(u64::MAX))
            .parts(
                By::PythonType,
                &[("dict", u64::MAX, u64::MAX), ("dict", 0, 0)],
            )
            .holder("x", "list", Some(u64::MAX), &[("dict", u64::MAX, u64::MAX)])
    };
    let none = census(0, Some(0)).holder("x", "list", Some(0), &[]);
    for (a, b) in [(none.clone(), most(1)), (most(0), none), (most(0), most(1))] {
        serde_json::to_string(&diff(&a, &b)).unwrap();
    }
}

#[test]
fn a_nameless_holder_is_not_taken_for_another() {
    let nameless = "dict, held by C or C++ code";
    let a = census(0, Some(0))
        .parts(By::PythonType, &[("set", 10, 1000)])
        .holder(nameless, "dict", Some(6), &[("list", 6, 2000)])
        .holder(nameless, "dict", Some(7), &[("list", 6, 2000)]);
    let mut b = census(60, Some(10))
        .parts(By::PythonType, &[("set", 1010, 100_000)])
        .holder(nameless, "dict", Some(76), &[("set", 1000, 90_000)]);
    b.heap.as_mut().unwrap().holders[0].address = 77;
    let diff = diff(&a, &b);
    assert_eq!(diff.grew[0].holders[0].was, None, "{diff:#?}");
}

#[test]
fn who_has_the_objects_is_named_also_where_another_shares_their_bytes() {
    let tensors = |count: u64| [(TENSOR, count, count * EACH)];
    let list = |length: u64| [(TENSOR, length, length * 300)];
    let a = census(0, Some(0))
        .parts(By::TensorGroup, &tensors(10))
        .holder("leaks.KEPT", "list", Some(10), &list(10));
    let b = census(60, Some(10))
        .parts(By::TensorGroup, &tensors(30))
        .holder("leaks.KEPT", "list", Some(30), &list(30));
    assert!(first(&diff(&a, &b)).contains("held by leaks.KEPT (list, 10 -> 30)"));
}

#[test]
fn a_holder_that_was_too_small_to_be_named_has_not_grown() {
    let a = census(0, Some(0))
        .parts(By::PythonType, &[("str", 10, 1000)])
        .holder("train.big", "list", Some(6), &[("dict", 6, 50_000)]);
    let b = census(60, Some(10))
        .parts(By::PythonType, &[("str", 12, 1200)])
        .holder("train.big", "list", Some(6), &[("dict", 6, 50_000)])
        .holder("library.TABLE", "dict", Some(300), &[("str", 300, 30_000)]);
    assert!(diff(&a, &b).grew[0].holders.is_empty());
}

#[test]
fn a_graph_that_grows_has_a_line_though_its_tensor_has_no_length() {
    let graph = |steps: u64| [("autograd step", steps, steps * 600)];
    let of = |look: Look, steps: u64| {
        look.holder(
            "Trainer.total of train.trainer",
            "torch.Tensor",
            None,
            &graph(steps),
        )
    };
    let diff = diff(&of(census(0, Some(0)), 100), &of(census(60, Some(10)), 400));
    let says = "+300 x autograd step (+180 kB), 30.0 a step, held by Trainer.total of train.trainer (torch.Tensor)";
    assert_eq!(first(&diff), says);
}

#[test]
fn what_nobody_named_is_said_in_its_own_words() {
    let of = |look: Look, count: u64| {
        let group = [("bytearray", count, count * 20_000)];
        look.parts(By::PythonType, &group).holder(
            "in cycles that nobody holds",
            "cycles",
            None,
            &group,
        )
    };
    let diff = diff(&of(census(0, Some(0)), 10), &of(census(60, Some(10)), 30));
    let says = "+20 x bytearray (+400 kB), 2.00 a step, in cycles that nobody holds";
    assert_eq!(first(&diff), says);
}

/// Keys that stay, and lists inside that get longer.
fn seen(step: u64, root: &str, new_lists: u64) -> Look {
    let texts = ("str", step * 400, step * 20_000);
    let lists = ("list", 20 + new_lists, 2000 + step * 3200);
    let words = ("str", step * 4, step * 400);
    let all = ("str", step * 404, step * 20_400);
    census(step, Some(step))
        .parts(By::PythonType, &[all, lists])
        .holder("train.vocab", "dict", Some(step * 4), &[words])
        .within(&["module train", ".vocab"])
        .holder("train.seen", "dict", Some(20), &[texts, lists])
        .within(&[root, ".seen"])
}

#[test]
fn what_gets_longer_inside_a_global_counts_as_much_as_the_global_itself() {
    let root = "module train";
    let lines = diff(&seen(100, root, 0), &seen(300, root, 0)).grew;
    assert_eq!(
        lines[0].says,
        "+80,800 x str (+4.08 MB), 404 a step, held by train.seen (dict, 20)"
    );
    assert!(
        lines[1].says.starts_with("+800 in train.vocab"),
        "{lines:#?}"
    );
    // In a function's variable it may be a batch at the same address.
    let root = "main() train.py:41";
    let of_function = diff(&seen(100, root, 0), &seen(300, root, 0));
    assert!(
        first(&of_function).contains("train.vocab"),
        "{of_function:#?}"
    );
    // As is another object under the same name.
    let root = "module train";
    let mut moved = seen(300, root, 0);
    moved.heap.as_mut().unwrap().holders[1].address = 77;
    let moved = diff(&seen(100, root, 0), &moved);
    assert!(first(&moved).contains("train.vocab"), "{moved:#?}");
}

/// Gradients are there between two moments of a step, and in no list that got longer.
#[test]
fn a_model_that_has_gradients_for_the_moment_does_not_come_first() {
    let with = |step: u64, gradients: u64| {
        let rows = ("dict", step, step * 2000);
        let gradients = [(TENSOR, gradients, gradients * EACH)];
        let hooks = ("list", 3, 200 + step * 8);
        census(step, Some(step))
            .parts(By::TensorGroup, &gradients)
            .parts(By::PythonType, &[rows, hooks])
            .holder("train.rows", "list", Some(step), &[rows])
            .within(&["module train", ".rows"])
            .holder("train.model", "dict", Some(9), &[gradients[0], hooks])
            .within(&["module train", ".model"])
    };
    let diff = diff(&with(1000, 0), &with(3000, 1));
    assert!(first(&diff).contains("train.rows"), "{diff:#?}");
}

#[test]
fn slots_that_are_filled_count_as_growth_of_the_container() {
    let with = |step: u64| {
        let rows = ("dict", step, step * 2000);
        let tensors = [(TENSOR, step, step * EACH)];
        let mut look = census(step, Some(step))
            .parts(By::TensorGroup, &tensors)
            .parts(By::PythonType, &[rows])
            .holder("train.rows", "list", Some(step), &[rows])
            .holder("cache in main() train.py:9", "list", Some(4000), &tensors);
        look.heap.as_mut().unwrap().holders[1].ends = vec![End::Slots {
            filled: step,
            of: 4000,
            bytes_to_come: None,
        }];
        look
    };
    // The rows are enough to come first if length alone counted.
    let (mut a, mut b) = (with(10), with(20));
    for (look, bytes) in [(&mut a, 10_000_000), (&mut b, 30_000_000)] {
        let rows = &mut look.breakdowns[1].parts[0];
        rows.bytes = Some(Bytes(bytes));
        let held = &mut look.heap.as_mut().unwrap().holders[0];
        (held.of[0].bytes, held.keeps) = (Bytes(bytes), Bytes(bytes));
    }
    let diff = diff(&a, &b);
    assert!(
        first(&diff).contains("held by cache in main()"),
        "{diff:#?}"
    );
    assert!(diff.grew[1].says.contains("train.rows"), "{diff:#?}");
}

/// 26,200 items in a list whose table is 214 kB longer, and two small lists that somebody else has.
#[test]
fn the_table_of_a_container_is_told_with_it_and_not_with_others() {
    let with = |items: u64, names: u64, loose: u64| {
        let samples = ("__main__.Sample", items, items * 56);
        let named = ("list", names, names * 64);
        let table = items * 8;
        let lists = ("list", 50 + names, 5000 + named.2 + table + loose);
        census(items, Some(items))
            .parts(By::PythonType, &[samples, lists])
            .holder("train.instances", "list", Some(items), &[samples])
            .table(table)
            .holder("train.by_name", "dict", Some(names), &[named])
    };
    let told = diff(&with(1000, 48, 0), &with(27_000, 50, 0)).grew;
    let with_it: Vec<String> = told[0].with.iter().map(Change::says).collect();
    assert!(told[0].says.contains("train.instances"), "{told:#?}");
    assert_eq!(with_it, ["+208 kB of list (no new ones)"]);
    assert_eq!(
        told[1].says,
        "+2 x list (+128 B), 0.000077 a step, held by train.by_name (dict, 48 -> 50)"
    );
    assert_eq!(told.len(), 2);
    // Nor is what other lists grew by that nobody named.
    let loose = diff(&with(1000, 48, 0), &with(27_000, 50, 90_000)).grew;
    let says: Vec<&str> = loose[1..].iter().map(|line| line.says.as_str()).collect();
    assert_eq!(
        says[0],
        "+90.0 kB of list (no new ones), 3 B a step, no holder found"
    );
    assert!(says[1].starts_with("+2 x list (+128 B)"), "{says:?}");
}

#[test]
fn a_table_belongs_to_the_line_of_its_container_whatever_that_is_of() {
    let with = |n: u64| {
        let points = ("__main__.Point", n, n * 64);
        let tables = [("__main__.Rows", 1, n * 8), ("set", 1, n * 30)];
        census(n, Some(n))
            .parts(By::PythonType, &[points, tables[0], tables[1]])
            .holder("Ctx of train.ctx", "dict", Some(2), &[points, tables[0]])
            .within(&["module train", ".ctx"])
            .holder("Ctx.rows of train.ctx", "__main__.Rows", Some(n), &[points])
            .table(n * 8)
            .within(&["module train", ".ctx", ".rows"])
            // It keeps nothing alone, and its own line says that it keeps its table.
            .holder("train.names", "set", Some(n), &[])
            .table(n * 30)
    };
    let grew = diff(&with(1000), &with(3000)).grew;
    let says: Vec<&str> = grew.iter().map(|line| line.says.as_str()).collect();
    assert_eq!(
        says,
        [
            "+2,000 x __main__.Point (+128 kB), 1.00 a step, held by Ctx.rows of train.ctx (__main__.Rows, 1,000 -> 3,000)",
            "+2,000 in train.names (set, 1,000 -> 3,000), 1.00 a step, keeps 60.0 kB more",
        ]
    );
    assert_eq!(
        grew[0].with[0].says(),
        "+16.0 kB of __main__.Rows (no new ones)"
    );
}

/// Lists that grew by less than one list alone: others became less.
#[test]
fn what_a_type_lost_beside_a_table_is_told_as_lost() {
    let with = |n: u64, others: u64| {
        census(n, Some(n))
            .parts(By::PythonType, &[("list", others, others * 100 + n * 8)])
            .holder("train.ids", "list", Some(n), &[])
            .table(n * 8)
    };
    let diff = diff(&with(1000, 40), &with(3000, 30));
    assert!(first(&diff).starts_with("+2,000 in train.ids"), "{diff:#?}");
    assert_eq!(diff.grew.len(), 1);
    assert_eq!(
        diff.shrank[0].says,
        "-10 x list (-1.00 kB), -0.00500 a step"
    );
}

#[test]
fn a_line_does_not_mix_signs_and_no_rate_is_none() {
    let with = |step: u64, lists: (u64, u64), sets: (u64, u64)| {
        let of = [("list", lists.0, lists.1), ("set", sets.0, sets.1)];
        census(step, Some(step)).parts(By::PythonType, &of)
    };
    let a = with(1000, (40, 10_000), (7, 9000));
    let mixed = diff(&a, &with(1010, (38, 14_110), (9, 8000)));
    assert_eq!(
        first(&mixed),
        "+4.11 kB of list (2 fewer of them), 411 B a step"
    );
    assert_eq!(
        mixed.shrank[0].says,
        "-1.00 kB of set (2 more of them), -100 B a step"
    );
    let slow = diff(&a, &with(3000, (40, 10_200), (7, 8500)));
    assert_eq!(first(&slow), "+200 B of list (no new ones)");
    assert_eq!(slow.shrank[0].says, "-500 B of set");
}

#[test]
fn who_has_no_name_is_said_once_in_words() {
    let with = |n: u64, native: &str| {
        let of = |n: u64| [("set", n, n * 200)];
        census(n, Some(n))
            .parts(By::PythonType, &of(2 * n))
            .holder("train.pool", "list", Some(n), &of(n))
            .holder(native, "C or C++ code", None, &of(n))
    };
    let says = |name: &str| first(&diff(&with(10, name), &with(20, name))).to_owned();
    let before = "+20 x set (+4.00 kB), 2.00 a step, held by train.pool (list, 10 -> 20) and ";
    let whole = says("held by C or C++ code");
    assert_eq!(whole, format!("{before}C or C++ code"));
    let inner = says("dict[<tuple>].<dict>, held by C or C++ code");
    let dict = "dict[<tuple>].<dict> of C or C++ code (C or C++ code)";
    assert_eq!(inner, format!("{before}{dict}"));
    // A part of it.
    let part = |name: &str, count: u64| {
        let whole = [("set", 100 + 2 * count, count * 400)];
        let of = [("set", count, count * 200)];
        census(count, Some(count))
            .parts(By::PythonType, &whole)
            .holder(name, "C or C++ code", None, &of)
    };
    for (name, ends) in [
        ("held by C or C++ code", "50 % of it held by C or C++ code"),
        (
            "in cycles that nobody holds",
            "50 % of it in cycles that nobody holds",
        ),
    ] {
        let diff = diff(&part(name, 10), &part(name, 20));
        assert!(first(&diff).ends_with(ends), "{diff:#?}");
    }
    let mut holder = with(1, "x").heap.unwrap().holders.remove(0);
    holder.also_held_by = Some("held by C or C++ code".to_owned());
    assert_eq!(facts(&holder), ["most of it is held by C or C++ code too"]);
}
