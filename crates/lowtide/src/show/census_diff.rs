//! What grew between two censuses, for a person. The first line is the one to look at first; what was compared stands
//! below all lines.

use std::fmt::Write;

use lowtide_core::census::{Change, Diff, Growth, facts};
use lowtide_core::units::{Bytes, grouped, show_bytes, show_duration};
use serde::Serialize;

use super::text::wrapped;

/// Lines of what grew that are shown unless more are asked for; `--json` has all of them.
const GREW: usize = 12;
/// Lines of what shrank likewise.
const SHRANK: usize = 5;
/// What came with a group: nobody reads further.
const WITH: usize = 4;
/// Lines that are told with all that is known of their holder.
const IN_FULL: usize = 3;

pub(crate) fn text(diff: &Diff, top: Option<usize>, width: usize) -> String {
    let mut out = String::new();
    let (apart, notes) = diff.notes.split_at(usize::from(!diff.same_process));
    for note in apart {
        out.push_str(&wrapped(note, "", width));
    }
    if diff.grew.is_empty() {
        out.push_str("nothing grew\n");
    }
    let most = top.unwrap_or(GREW);
    for (nth, growth) in diff.grew.iter().take(most).enumerate() {
        out.push_str(&line(growth, nth < IN_FULL, width));
    }
    more(&mut out, diff.grew.len(), most);
    if !diff.shrank.is_empty() {
        out.push_str("\nwhat shrank\n");
        let most = top.unwrap_or(SHRANK);
        for growth in diff.shrank.iter().take(most) {
            out.push_str(&wrapped(&growth.says, "  ", width));
        }
        more(&mut out, diff.shrank.len(), most);
    }
    out.push('\n');
    out.push_str(&wrapped(&compared(diff), "", width));
    for note in notes {
        out.push_str(&wrapped(note, "note: ", width));
    }
    out
}

fn more(out: &mut String, all: usize, shown: usize) {
    if all > shown {
        let _ = writeln!(out, "  and {} more", grouped((all - shown) as u64));
    }
}

fn line(growth: &Growth, in_full: bool, width: usize) -> String {
    // Its other lines are indented, the first is not.
    let text = wrapped(&growth.says, "    ", width);
    let mut out = text.get(4..).unwrap_or_default().to_owned();
    if !in_full {
        return out;
    }
    if !growth.with.is_empty() {
        let told: Vec<String> = growth.with.iter().take(WITH).map(Change::says).collect();
        let more = match growth.with.len().saturating_sub(WITH) {
            0 => String::new(),
            more => format!(" and {} more", grouped(more as u64)),
        };
        out.push_str(&wrapped(
            &format!("with {}{more}", told.join(", ")),
            "    ",
            width,
        ));
    }
    for holder in growth.holders.iter().take(1) {
        for fact in facts(&holder.now) {
            out.push_str(&wrapped(&fact, "    ", width));
        }
    }
    out
}

/// `compared: process 4242, step 412 to 1,615, 10m 00s; 1,214,331 -> 1,220,112 objects, 12.6 GB -> 24.7 GB`.
fn compared(diff: &Diff) -> String {
    let (from, to) = (&diff.from, &diff.to);
    let mut out = match diff.same_process {
        true => format!("compared: process {}", to.id),
        false => format!("compared: process {} and process {}", from.id, to.id),
    };
    if let (Some(a), Some(b)) = (from.step, to.step) {
        let _ = write!(out, ", step {} to {}", grouped(a), grouped(b));
    }
    if let Some(seconds) = diff.seconds {
        let _ = write!(out, ", {} apart", show_duration(seconds));
    }
    if let (Some(a), Some(b)) = (from.objects, to.objects) {
        let _ = write!(out, "; {} -> {} objects", grouped(a), grouped(b));
    }
    if let (Some(a), Some(b)) = (from.bytes, to.bytes)
        && a.max(b) > Bytes::ZERO
    {
        let _ = write!(
            out,
            ", {} -> {}",
            show_bytes(a.as_f64()),
            show_bytes(b.as_f64())
        );
    }
    out
}

#[derive(Serialize)]
struct Object<'a> {
    lowtide: &'static str,
    schema: u32,
    #[serde(flatten)]
    diff: &'a Diff,
}

pub(crate) fn json(diff: &Diff) -> serde_json::Result<String> {
    serde_json::to_string(&Object {
        lowtide: "census-diff",
        schema: 1,
        diff,
    })
}

#[cfg(test)]
mod tests {
    use lowtide_core::census::diff;

    use super::*;
    use crate::show::census::tests::census;

    #[test]
    fn the_first_line_is_the_leak_and_fits() {
        let wide = text(
            &diff(&census(412, 412), &census(1615, 1615)),
            None,
            usize::MAX,
        );
        assert!(
            wide.starts_with(
                "+1,203 x Tensor cpu float32 [3, 1344, 1344] (+26.1 GB), 1.00 a step, \
                 held by train.CACHE (list, 412 -> 1,615)\n    its capacity says 5,000\n"
            ),
            "{wide}"
        );
        assert!(
            wide.ends_with(
                "compared: process 4242, step 412 to 1,615, 10m 02s apart; 1,214,331 -> 1,214,331 objects, \
                 8.99 GB -> 35.1 GB\n"
            ),
            "{wide}"
        );
        let narrow = text(&diff(&census(412, 412), &census(1615, 1615)), None, 80);
        assert!(
            narrow.lines().all(|line| line.chars().count() <= 80),
            "{narrow}"
        );
        let back = text(
            &diff(&census(1615, 1615), &census(1620, 412)),
            None,
            usize::MAX,
        );
        assert!(
            back.starts_with("nothing grew\n\nwhat shrank\n  -1,203 x Tensor"),
            "{back}"
        );
    }

    #[test]
    fn two_processes_are_told_before_anything_else() {
        let mut other = census(1615, 1615);
        other.id.pid = 4300;
        let diff = diff(&census(412, 412), &other);
        let text = text(&diff, None, usize::MAX);
        assert!(
            text.starts_with("these are two processes, 4242 and 4300: "),
            "{text}"
        );
        assert!(
            text.lines().nth(1).unwrap().starts_with("+1,203 x Tensor"),
            "{text}"
        );
        let json: serde_json::Value = serde_json::from_str(&json(&diff).unwrap()).unwrap();
        assert_eq!(
            (&json["lowtide"], &json["same_process"]),
            (&"census-diff".into(), &false.into())
        );
        assert_eq!(json["grew"][0]["count"], 1203);
        assert_eq!(json["grew"][0]["holders"][0]["was"]["length"], 412);
    }
}
