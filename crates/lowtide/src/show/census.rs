//! A census for a person: what is in the heap, who holds it, and what is not accounted for.

use std::fmt::Write;

use lowtide_core::census::{count_of, facts};
use lowtide_core::look::{Breakdown, By, Holder, Look, Part, PythonHeap};
use lowtide_core::text::{short, shown};
use lowtide_core::units::{Bytes, grouped};

use super::text::wrapped;

/// Parts of a breakdown that are shown unless more are asked for; `--json` has all of them.
const PARTS: usize = 12;
/// Holders likewise.
const HOLDERS: usize = 10;
/// Groups that are named of what a holder keeps.
const GROUPS: usize = 3;
/// Columns beside a name: a number and a size.
const NUMBERS: usize = 2 + 13 + 2 + 8;
/// A name in a table: longer ones are cut, also where there is room for all.
const NAME: usize = 72;

/// The order in which breakdowns are read; others come behind.
const ORDER: [By; 4] = [
    By::PythonType,
    By::TensorGroup,
    By::ArrayGroup,
    By::ImageGroup,
];

/// `top`: how many lines a list has.
pub(crate) fn text(look: &Look, command: Option<&str>, top: Option<usize>, width: usize) -> String {
    let mut out = header(look, command, width);
    for breakdown in ordered(look) {
        out.push('\n');
        out.push_str(&table(breakdown, top.unwrap_or(PARTS), width));
    }
    if let Some(heap) = &look.heap {
        out.push('\n');
        out.push_str(&holders(heap, top.unwrap_or(HOLDERS), width));
    }
    out.push('\n');
    out.push_str(&unaccounted(look, width));
    out
}

fn header(look: &Look, command: Option<&str>, width: usize) -> String {
    let mut first = format!("process {}", look.id);
    if let Some(heap) = &look.heap {
        let _ = write!(first, ": {} objects", grouped(heap.objects));
        if heap.bytes > Bytes::ZERO {
            let _ = write!(first, ", {}", heap.bytes);
        }
        if let Some(step) = heap.step {
            let _ = write!(first, ", at step {}", grouped(step));
        }
    }
    let mut out = wrapped(&first, "", width);
    if let Some(command) = command {
        let room = width.min(2 + NAME + NUMBERS).saturating_sub(2);
        let _ = writeln!(out, "  {}", short(&shown(command), room));
    }
    let python = look.heap.as_ref().map(|heap| heap.python);
    let python = python.map_or(String::new(), |python| format!("CPython {python}; "));
    let (wall, cpu) = (look.cost.wall.seconds(), look.cost.cpu.seconds());
    let stood = look.heap.as_ref().and_then(|heap| heap.stopped);
    let how = match stood {
        Some(stood) => format!("it stood still for {:.0} ms", stood.seconds() * 1000.0),
        None => "it ran on meanwhile".to_owned(),
    };
    let read = format!("{python}read in {wall:.2} s ({cpu:.2} s of CPU), {how}");
    out.push_str(&wrapped(&read, "  ", width));
    out
}

/// Breakdowns that are no holders: those have a list of their own.
fn ordered(look: &Look) -> Vec<&Breakdown> {
    let has_holders = look
        .heap
        .as_ref()
        .is_some_and(|heap| !heap.holders.is_empty());
    let place = |one: &Breakdown| ORDER.iter().position(|by| *by == one.by);
    let mut all: Vec<&Breakdown> = look
        .breakdowns
        .iter()
        .filter(|one| !one.parts.is_empty())
        .filter(|one| one.by != By::Holder || !has_holders)
        .collect();
    all.sort_by_key(|one| place(one).unwrap_or(ORDER.len()));
    all
}

fn table(breakdown: &Breakdown, top: usize, width: usize) -> String {
    let mut parts: Vec<&Part> = breakdown.parts.iter().collect();
    parts.sort_by_key(|part| std::cmp::Reverse((part.bytes, part.count)));
    let left = parts.split_off(top.min(parts.len()));
    let named = parts.iter().map(|part| shown(&part.name).chars().count());
    let longest = named.max().unwrap_or(0).min(NAME);
    let name = longest.min(width.saturating_sub(NUMBERS + 2)).max(16);
    let title = breakdown.by.to_string();
    let mut out = format!("{}\n", shown(&title));
    for part in parts {
        let cut = short(&shown(&part.name), name);
        row(&mut out, &cut, name, part.count, part.bytes);
    }
    let rest = breakdown.rest.unwrap_or_default();
    let more = rest.parts.saturating_add(left.len() as u64);
    if more > 0 {
        let sum = |of: fn(&Part) -> Option<u64>, rest: Option<u64>| {
            let all = left.iter().filter_map(|part| of(part)).chain(rest);
            all.reduce(u64::saturating_add)
        };
        let count = sum(|part| part.count, rest.count);
        let bytes = sum(
            |part| part.bytes.map(|bytes| bytes.0),
            rest.bytes.map(|b| b.0),
        );
        let words = format!("and {} more", grouped(more));
        row(&mut out, &words, name, count, bytes.map(Bytes));
    }
    out
}

fn row(out: &mut String, name: &str, width: usize, count: Option<u64>, bytes: Option<Bytes>) {
    let count = count.map_or(String::new(), grouped);
    let bytes = bytes.map_or(String::new(), |bytes| bytes.to_string());
    let line = format!("  {name:<width$}  {count:>13}  {bytes:>8}");
    let _ = writeln!(out, "{}", line.trim_end());
}

fn holders(heap: &PythonHeap, top: usize, width: usize) -> String {
    if heap.holders.is_empty() {
        return "holders: none was found\n".to_owned();
    }
    let mut out = "holders, and what would be freed with them\n".to_owned();
    for holder in heap.holders.iter().take(top) {
        // Lines that go on stand further in than the next holder.
        let text = wrapped(&kept(holder), "    ", width);
        out.push_str(text.get(2..).unwrap_or_default());
        for line in facts(holder) {
            out.push_str(&wrapped(&line, "      ", width));
        }
    }
    if heap.holders.len() > top {
        let _ = writeln!(
            out,
            "  and {} more",
            grouped((heap.holders.len() - top) as u64)
        );
    }
    out
}

/// `train.CACHE (list, 1,203 items) keeps 12.1 GB: 1,203 x Tensor float32 [3, 1344, 1344]`.
fn kept(holder: &Holder) -> String {
    let length = match holder.length {
        Some(1) => ", 1 item".to_owned(),
        Some(length) => format!(", {} items", grouped(length)),
        None => String::new(),
    };
    let Holder {
        name, kind, keeps, ..
    } = holder;
    let of: Vec<String> = holder.of.iter().take(GROUPS).map(count_of).collect();
    let of = match of.as_slice() {
        [] => String::new(),
        _ => format!(": {}", of.join(", ")),
    };
    format!("{name} ({kind}{length}) keeps {keeps}{of}")
}

fn unaccounted(look: &Look, width: usize) -> String {
    let heap = look.heap.as_ref();
    let mut lines = heap.map_or(Vec::new(), |heap| heap.unaccounted.says());
    lines.extend(look.missing.iter().map(ToString::to_string));
    if lines.is_empty() {
        return "not accounted for: nothing\n".to_owned();
    }
    let mut out = "not accounted for\n".to_owned();
    for line in lines {
        out.push_str(&wrapped(&line, "  ", width));
    }
    out
}

#[cfg(test)]
pub(crate) mod tests {
    use lowtide_core::look::{
        Amount, CodePlace, End, Examiner, HeldGroup, LookWhy, Missing, PythonVersion, Rest,
        Unaccounted,
    };
    use lowtide_core::process::ProcId;
    use lowtide_core::units::Micros;

    use super::*;

    /// A job that keeps so many tensors.
    pub(crate) fn census(step: u64, length: u64) -> Look {
        let tensor = "Tensor cpu float32 [3, 1344, 1344]";
        let bytes = Bytes(length * 21_676_032);
        let id = ProcId {
            pid: 4242,
            start: 99,
        };
        let place = |function: &str, line, how: &str| CodePlace {
            function: function.to_owned(),
            file: "/home/me/pipeline.py".to_owned(),
            line,
            how: how.to_owned(),
        };
        let part = |name: &str, count, bytes| Part::new(name, Some(count), Some(Bytes(bytes)));
        let mut types = Breakdown::new(
            By::PythonType,
            vec![
                part("dict", 214_331, 62_000_000),
                part(
                    "a.module.of.somebody\x1b[2J.that.has.a.very.long.name.Indeed",
                    9,
                    900,
                ),
                part("torch.Tensor", length, length * 80),
            ],
        );
        types.rest = Some(Rest {
            parts: 1204,
            count: Some(99),
            bytes: Some(Bytes(4000)),
        });
        let of = vec![HeldGroup {
            name: tensor.to_owned(),
            count: length,
            bytes,
        }];
        let holder = Holder {
            name: "train.CACHE".to_owned(),
            path: vec!["module train".to_owned(), ".CACHE".to_owned()],
            kind: "list".to_owned(),
            length: Some(length),
            keeps: bytes,
            of,
            also_held_by: None,
            ends: vec![End::Declared {
                attribute: "capacity".to_owned(),
                at: 5000,
            }],
            adds: vec![place("Metrics.update", 8, "append")],
            empties: Vec::new(),
            address: 0x7f00,
        };
        Look {
            cost: lowtide_core::look::Cost {
                wall: Micros(1_400_000),
                cpu: Micros(1_210_000),
            },
            missing: vec![Missing::Denied {
                what: "pagemap".to_owned(),
            }],
            breakdowns: vec![
                Breakdown::new(
                    By::TensorGroup,
                    vec![Part::new(tensor, Some(length), Some(bytes))],
                ),
                types,
            ],
            heap: Some(PythonHeap {
                python: PythonVersion {
                    minor: 11,
                    micro: Some(7),
                },
                step: Some(step),
                objects: 1_214_331,
                bytes: Bytes(62_000_000) + bytes,
                stopped: None,
                holders: vec![holder],
                unaccounted: Unaccounted {
                    torn: Amount {
                        count: 12,
                        bytes: Bytes(3400),
                    },
                    ..Unaccounted::default()
                },
            }),
            ..Look::new(
                Micros(1_790_000_000_000_000 + step * 500_000),
                id,
                LookWhy::Asked,
                Examiner::Census,
            )
        }
    }

    #[test]
    fn a_census_reads_well_in_eighty_columns() {
        let text = text(&census(1615, 1203), Some("python train.py"), None, 80);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines[..4],
            [
                "process 4242: 1,214,331 objects, 26.1 GB, at step 1,615",
                "  python train.py",
                "  CPython 3.11.7; read in 1.40 s (1.21 s of CPU), it ran on meanwhile",
                "",
            ]
        );
        assert!(
            lines.iter().all(|line| line.chars().count() <= 80),
            "{text}"
        );
        assert_eq!(lines[4], "Python objects by type");
        assert!(text.contains("\n  and 1,204 more   "), "{text}");
        let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
        for sentence in [
            "train.CACHE (list, 1,203 items) keeps 26.1 GB: 1,203 x Tensor cpu float32 [3, 1344, 1344]",
            "its capacity says 5,000",
            "may be added to by append in Metrics.update, pipeline.py:8, the only place found",
            "nothing was found that empties it",
            "not accounted for 12 objects (3.40 kB) changed while being read: left out pagemap could not",
        ] {
            assert!(flat.contains(sentence), "{sentence}\n{text}");
        }
        assert!(text.contains(r"a.module.of.somebody\x1b[2J.that"), "{text}");
    }

    #[test]
    fn lists_are_as_long_as_asked_for() {
        let short = text(&census(1, 3), None, Some(1), 80);
        assert!(short.contains("  and 1,206 more"), "{short}");
        let mut stopped = census(1, 3);
        let heap = stopped.heap.as_mut().unwrap();
        heap.stopped = Some(Micros(96_400));
        heap.holders.clear();
        heap.unaccounted = Unaccounted::default();
        stopped.missing.clear();
        let text = text(&stopped, None, None, usize::MAX);
        assert!(text.contains("it stood still for 96 ms"), "{text}");
        assert!(text.contains("holders: none was found"), "{text}");
        assert!(text.ends_with("not accounted for: nothing\n"), "{text}");
    }
}
