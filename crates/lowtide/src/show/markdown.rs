//! A report as Markdown, to paste into an issue: the verdict, its evidence, the numbers, what explains it.

use std::fmt::Write;

use lowtide_core::judge::words::pace;
use lowtide_core::report::Report;
use lowtide_core::units::{show_bytes, show_duration};

use super::outlook;

/// Lines of what was ruled out that are worth an issue's room.
const RULED_OUT: usize = 8;

pub fn render(report: &Report) -> String {
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
    let mut row = |name: &str, text: String| {
        let _ = writeln!(out, "| {name} | {text} |");
    };
    row(
        "floor",
        format!(
            "{} to {}",
            show_bytes(verdict.floor.first),
            show_bytes(verdict.floor.last)
        ),
    );
    let rate = &verdict.rate;
    let slopes = [rate.value, rate.low, rate.high].map(|slope| pace(verdict.axis, slope));
    row(
        "rate",
        format!("{} ({} to {})", slopes[0], slopes[1], slopes[2]),
    );
    if let (Some(limit), Some(headroom)) = (verdict.limit, verdict.headroom) {
        row(
            "limit",
            format!("{}, headroom {}", show_bytes(limit), show_bytes(headroom)),
        );
    }
    for line in outlook::lines(verdict) {
        row("outlook", plain(&line));
    }
    if let Some(summary) = &report.summary {
        row(
            "watched",
            format!(
                "{}, {} samples",
                show_duration(summary.seconds),
                summary.samples
            ),
        );
        if let (Some(first), Some(last)) = (summary.first_step, summary.last_step) {
            row("steps", format!("{first} to {last}"));
        }
        for role in &summary.roles {
            row(
                role.role,
                format!("{} at most, {} of their own", role.count, role.own),
            );
        }
    }
    if let Some(died) = &report.died {
        row("died", plain(died));
    }
    out.push('\n');
    for evidence in &verdict.evidence {
        let _ = writeln!(
            out,
            "- **{}**: {}",
            plain(&evidence.rule),
            plain(&evidence.says)
        );
    }
    if let Some(found) = &report.explanation {
        for driver in found.drivers.iter().take(2) {
            let _ = writeln!(
                out,
                "- **grows with {}**: {}",
                plain(&driver.name),
                plain(&driver.says)
            );
        }
        for candidate in &found.candidates {
            let _ = writeln!(
                out,
                "- **suspect {}, {}**: {}. Fix: {}",
                candidate.id,
                plain(&candidate.title),
                plain(&candidate.cause),
                plain(&candidate.fix)
            );
        }
        for statement in found.ruled_out.iter().take(RULED_OUT) {
            let _ = writeln!(
                out,
                "- ruled out: {}: {}",
                plain(&statement.about),
                plain(&statement.says)
            );
        }
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

/// Text that is no mark-up, whatever a job is called.
fn plain(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars().map(|c| if c.is_control() { ' ' } else { c }) {
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
fn code(text: &str) -> String {
    let text = text.replace(char::is_control, " ").replace('|', "¦");
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
            "\\<img\\> \\@all \\[x\\](y) \\#1"
        );
        assert_eq!(code("a `b`` c"), "``` a `b`` c ```");
    }
}
