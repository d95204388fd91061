//! Two censuses of a process that grows: who holds it is told, and no verdict follows from it.

use lowtide_core::entry::{Entry, Header};
use lowtide_core::explain::Explanation;
use lowtide_core::look::{
    Breakdown, By, CodePlace, End, Examiner, HeldGroup, Holder, Look, LookWhy, Missing, Part,
    PythonHeap, PythonVersion, Unaccounted,
};
use lowtide_core::mark::{Mark, MarkSource};
use lowtide_core::process::{Facts, Member, ProcId, Role};
use lowtide_core::run::Run;
use lowtide_core::sample::{Reading, Sample, TreeSum};
use lowtide_core::units::{Bytes, Micros};
use lowtide_core::verdict::Verdict;

const ID: ProcId = ProcId { pid: 40, start: 7 };
const TENSOR: &str = "Tensor cpu float32 [500, 1000]";
const EACH: u64 = 2_000_000;

/// A census at a step, of a job that keeps one tensor a step.
fn census(step: u64) -> Look {
    let part =
        |name: &str, count: u64, bytes: u64| Part::new(name, Some(count), Some(Bytes(bytes)));
    let bytes = step * EACH;
    let holder = Holder {
        name: "train.CACHE".to_owned(),
        path: vec!["module train".to_owned(), ".CACHE".to_owned()],
        kind: "list".to_owned(),
        length: Some(step),
        keeps: Bytes(bytes),
        of: vec![HeldGroup {
            name: TENSOR.to_owned(),
            count: step,
            bytes: Bytes(bytes),
        }],
        also_held_by: None,
        ends: vec![End::MaxLen {
            of: "deque".to_owned(),
            at: 1000,
        }],
        adds: vec![CodePlace {
            function: "main".to_owned(),
            file: "/home/me/train.py".to_owned(),
            line: 41,
            how: "append".to_owned(),
        }],
        empties: Vec::new(),
        address: 0x7f00,
    };
    Look {
        held: Some(Bytes(300_000_000 + bytes)),
        breakdowns: vec![
            Breakdown::new(By::TensorGroup, vec![part(TENSOR, step, bytes)]),
            Breakdown::new(
                By::PythonType,
                vec![
                    part("dict", 9000, 4_000_000),
                    part("torch.Tensor", step, step * 80),
                ],
            ),
        ],
        heap: Some(PythonHeap {
            python: PythonVersion {
                minor: 11,
                micro: Some(7),
            },
            step: Some(step),
            objects: 90_000 + step,
            bytes: Bytes(20_000_000 + bytes),
            stopped: None,
            holders: vec![holder],
            unaccounted: Unaccounted::default(),
        }),
        ..Look::new(Micros(step * 1_000_000), ID, LookWhy::Due, Examiner::Census)
    }
}

/// A job that grows by 2 MB a step for so many steps, and these looks into it.
fn explained(steps: u64, looks: Vec<Look>) -> (Verdict, Explanation) {
    let mut run = Run::new();
    let mut looks = looks.into_iter().peekable();
    run.apply(&Entry::Header(Header::default()));
    let why = || "the only one".to_owned();
    run.apply(&Entry::Member(Member {
        id: ID,
        parent: None,
        facts: Facts::default(),
        role: Role::Trainer,
        why: why(),
    }));
    run.apply(&Entry::Watch {
        at: Micros(0),
        id: ID,
        why: why(),
    });
    for step in 1..=steps {
        let (at, held) = (Micros(step * 1_000_000), 300_000_000 + step * EACH);
        run.apply(&Entry::Mark(Mark {
            at,
            source: MarkSource::Callback,
            step: Some(step),
            ..Mark::default()
        }));
        run.apply(&Entry::Sample(Sample {
            seq: step,
            at,
            readings: vec![Reading {
                anon: Bytes(held),
                vsize: Bytes(held),
                ..Reading::of(ID)
            }],
            tree: TreeSum {
                held: Bytes(held),
                ..TreeSum::default()
            },
            ..Sample::default()
        }));
        while let Some(look) = looks.next_if(|look| look.at <= at) {
            run.apply(&Entry::Look(look));
        }
    }
    let (verdict, _, explanation) = run.explained();
    (verdict, explanation)
}

#[test]
fn who_holds_it_is_the_first_line_with_its_end_and_its_code() {
    let (verdict, found) = explained(240, vec![census(10), census(120), census(230)]);
    let held = found.held.unwrap();
    let line = &held.lines[0];
    assert_eq!(
        line.says,
        "+220 x Tensor cpu float32 [500, 1000] (+440 MB), 1.00 a step, held by train.CACHE (list, 10 -> 230)"
    );
    assert_eq!(
        line.facts,
        [
            "ends at 1,000: deque.maxlen",
            "may be added to by append in main, train.py:41, the only place found",
            "nothing was found that empties it",
        ]
    );
    assert_eq!((line.share, line.held), (1.0, 1.0));
    assert_eq!(
        (held.censuses, held.explained, held.grew),
        (3, Some(1.0), 440e6)
    );
    assert!(held.notes.is_empty(), "{:?}", held.notes);
    // The process first, then who holds it.
    let suspect = &verdict.suspects[1];
    assert_eq!((suspect.who.as_str(), suspect.share), ("train.CACHE", 1.0));
    assert_eq!(suspect.says, line.says);
}

/// It is told as facts: what is judged is the same, at every length of the run.
#[test]
fn no_verdict_changes_by_a_census() {
    for steps in [12, 60, 240, 900] {
        let looks = (1..=steps).step_by(10).map(census).collect();
        let (with, _) = explained(steps, looks);
        let (without, found) = explained(steps, Vec::new());
        assert_eq!(found.held, None);
        let with = Verdict {
            suspects: without.suspects.clone(),
            ..with
        };
        assert_eq!(with, without, "{steps}");
    }
}

#[test]
fn what_python_does_not_explain_is_said() {
    let native = |step: u64| {
        let mut look = census(step);
        // The process grows four times as fast as what Python holds.
        look.held = Some(Bytes(300_000_000 + 4 * step * EACH));
        look
    };
    let (verdict, found) = explained(240, vec![native(10), native(230)]);
    let held = found.held.unwrap();
    assert_eq!(held.explained, Some(0.25));
    assert!(
        held.notes[0].starts_with("Python's objects explain 25 % of the 1.76 GB that it grew by"),
        "{:?}",
        held.notes
    );
    assert_eq!(held.lines[0].share, 0.25);
    assert_eq!(verdict.suspects[1].share, 0.25);
}

#[test]
fn shares_are_told_only_of_growth_that_two_whole_censuses_saw() {
    let tells = |looks: Vec<Look>| {
        let (verdict, found) = explained(240, looks);
        let named = verdict.suspects.iter().any(|one| one.who == "train.CACHE");
        let explained = found.held.as_ref().and_then(|held| held.explained);
        (found.held.is_some(), explained.is_some(), named)
    };
    assert_eq!(tells(vec![census(10)]), (false, false, false));
    // Both at the beginning: what came since may be held by somebody else.
    assert_eq!(tells(vec![census(10), census(20)]), (true, false, false));
    let (_, found) = explained(240, vec![census(10), census(20)]);
    let notes = found.held.unwrap().notes;
    assert_eq!(notes.len(), 1, "{notes:?}");
    assert!(!notes[0].contains("0.0 %"), "{notes:?}");
    assert!(
        notes[0].starts_with("the censuses were taken from step 10 to step 20, "),
        "{notes:?}"
    );
    let mut cut = census(230);
    let at = Micros(1);
    cut.missing.push(Missing::TimeRanOut { work: at, wall: at });
    assert_eq!(tells(vec![census(10), cut]), (true, false, false));
    assert_eq!(tells(vec![census(10), census(230)]), (true, true, true));
}

/// Tensors that a census counts are as good as those that the package counts.
#[test]
fn the_playbook_hears_of_tensors_from_a_census() {
    let counted = |step: u64| {
        let mut look = census(step);
        look.objects = Some(lowtide_core::look::Objects {
            tracked: 30_000,
            with_graph: 0,
            cuda: None,
        });
        look
    };
    let (_, found) = explained(240, vec![counted(10), counted(230)]);
    let said = serde_json::to_string(&found).unwrap();
    assert!(!said.contains("tensors were not counted"), "{said}");
    assert!(!said.contains("tensor storages 0 B"), "{said}");
    // One that could not take tensors apart says nothing of them.
    let blind = |step: u64| {
        let mut look = counted(step);
        look.breakdowns.remove(0);
        look
    };
    let (_, found) = explained(240, vec![blind(10), blind(230)]);
    let about = |statement: &lowtide_core::explain::Statement| statement.about == "Python tensors";
    assert!(!found.ruled_out.iter().any(about), "{:?}", found.ruled_out);
}
