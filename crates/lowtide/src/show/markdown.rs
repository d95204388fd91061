//! A report as Markdown, to paste into an issue: the verdict, its evidence, the numbers, what explains it.

use std::fmt::Write;

use lowtide_core::explain::{BreakdownGrowth, Explanation};
use lowtide_core::judge::words::pace;
use lowtide_core::report::Report;
use lowtide_core::text::shown;
use lowtide_core::units::{show_bytes, show_duration};

use super::outlook;
use super::text::confidence;

/// What growth follows best, and the next best: more would only confuse.
const DRIVERS: usize = 2;
/// Lines of what was ruled out that are worth an issue's room.
const RULED_OUT: usize = 8;
/// Holders that are named.
const HELD: usize = 2;
/// Parts of a breakdown that are.
const PARTS: usize = 3;

pub(crate) fn render(report: &Report) -> String {
    let verdict = &report.verdict;
    let mut out = format!("### {}\n\n", plain(&report.headline));
    if let Some(process) = &verdict.process {
        let _ = writeln!(
            out,
            "{} {}: {}\n",
            plain(&process.role),
            process.pid,
            code(&process.command)
        );
    }
    out.push_str("| | |\n|---|---|\n");
    for (name, text) in numbers(report) {
        let _ = writeln!(out, "| {name} | {text} |");
    }
    out.push('\n');
    let evidence = verdict.evidence.iter();
    for (title, says) in evidence
        .map(|evidence| (plain(&evidence.rule), plain(&evidence.says)))
        .chain(report.explanation.iter().flat_map(suspects))
    {
        let _ = writeln!(out, "- **{title}**: {says}");
    }
    let ruled_out = report.explanation.iter().flat_map(|found| &found.ruled_out);
    for statement in ruled_out.take(RULED_OUT) {
        let (about, says) = (plain(&statement.about), plain(&statement.says));
        let _ = writeln!(out, "- ruled out: {about}: {says}");
    }
    let read = report.read.as_deref().unwrap_or("recording");
    let _ = writeln!(
        out,
        "\n<sub>lowtide {}, {}</sub>",
        env!("CARGO_PKG_VERSION"),
        plain(read)
    );
    out
}

/// The rows of the table.
fn numbers(report: &Report) -> Vec<(&str, String)> {
    let verdict = &report.verdict;
    let (first, last) = (verdict.floor.first, verdict.floor.last);
    let rate = &verdict.rate;
    let [rate, low, high] =
        [rate.value, rate.low, rate.high].map(|slope| pace(verdict.axis, slope));
    let mut rows = vec![
        (
            "floor",
            format!("{} to {}", show_bytes(first), show_bytes(last)),
        ),
        ("rate", format!("{rate} ({low} to {high})")),
    ];
    rows.extend(confidence(verdict).map(|sure| ("confidence", sure)));
    if let (Some(limit), Some(headroom)) = (verdict.limit, verdict.headroom) {
        let text = format!("{}, headroom {}", show_bytes(limit), show_bytes(headroom));
        rows.push(("limit", text));
    }
    let outlook = outlook::lines(verdict).into_iter();
    rows.extend(outlook.map(|line| ("outlook", plain(&line))));
    if let Some(summary) = &report.summary {
        let watched = show_duration(summary.seconds);
        rows.push(("watched", format!("{watched}, {} samples", summary.samples)));
        if let (Some(first), Some(last)) = (summary.first_step, summary.last_step) {
            rows.push(("steps", format!("{first} to {last}")));
        }
        rows.extend(summary.roles.iter().map(|role| {
            let text = format!("{} at most, {} of their own", role.count, role.own);
            (role.role, text)
        }));
    }
    rows.extend(report.died.iter().map(|died| ("died", plain(died))));
    rows
}

/// What it grows with, where the bytes are, and what may cause that.
fn suspects(found: &Explanation) -> impl Iterator<Item = (String, String)> {
    let drivers = found.drivers.iter().take(DRIVERS).map(|driver| {
        let title = format!("grows with {}", plain(&driver.name));
        (title, plain(&driver.says))
    });
    let objects = found.objects.iter();
    let objects = objects.map(|objects| ("Python objects".to_owned(), plain(&objects.says)));
    let held = found.held.iter().flat_map(|held| &held.lines).take(HELD);
    let held = held.map(|line| {
        let facts = line.facts.iter().map(|fact| format!("; {}", plain(fact)));
        let says = std::iter::once(plain(&line.says)).chain(facts);
        ("who holds it".to_owned(), says.collect())
    });
    let longer = found.holders.iter().take(HELD);
    let longer = longer.map(|holder| ("what got longer".to_owned(), plain(&holder.says)));
    let memory = found.memory.iter().flat_map(|memory| &memory.breakdowns);
    let bytes = memory.filter_map(grown);
    let causes = found.candidates.iter().map(|candidate| {
        let title = format!("suspect {}, {}", candidate.id, plain(&candidate.title));
        let (cause, fix) = (plain(&candidate.cause), plain(&candidate.fix));
        (title, format!("{cause}. Fix: {fix}"))
    });
    drivers
        .chain(objects)
        .chain(held)
        .chain(longer)
        .chain(bytes)
        .chain(causes)
}

/// The parts of one breakdown that grew; none where none did.
fn grown(growth: &BreakdownGrowth) -> Option<(String, String)> {
    let parts = growth.parts.iter();
    let grown: Vec<String> = parts
        .filter(|part| part.held && part.grew > 0.0)
        .take(PARTS)
        .map(|part| format!("{} {} more", plain(&part.name), show_bytes(part.grew)))
        .collect();
    let title = format!("bytes {}", plain(&growth.title));
    (!grown.is_empty()).then(|| (title, grown.join(", ")))
}

/// Text that is no mark-up, whatever a job is called.
pub(super) fn plain(text: &str) -> String {
    let mut out = String::new();
    for c in shown(text).chars() {
        if matches!(
            c,
            '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '|' | '#' | '@' | '&'
        ) {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

/// Code in as many ticks as it takes.
pub(super) fn code(text: &str) -> String {
    let text = shown(text).replace('|', "¦");
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest + 1);
    format!("{fence} {text} {fence}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_no_mark_up() {
        assert_eq!(
            plain("<img> @all [x](y)\n#1"),
            r"\<img\> \@all \[x\](y)\\n\#1"
        );
        assert_eq!(code("a `b`` c"), "``` a `b`` c ```");
        assert_eq!(code("a\n|\x1b\u{202e}"), r"` a\n¦\x1b\u{202e} `");
        assert_eq!(plain("a\n\u{202e}|"), r"a\\n\\u{202e}\|");
    }
}
