//! The findings of a check for people, programs, JUnit readers and GitHub.

use std::fmt::Write;

use lowtide_core::check::{Finding, Outcome};
use lowtide_core::text::shown;
use lowtide_core::verdict::{SCHEMA, Verdict};
use serde::Serialize;

use super::markdown::{code, plain};

#[derive(Serialize)]
struct CheckObject<'a> {
    schema: u32,
    source: &'a str,
    outcome: Outcome,
    findings: &'a [Finding],
    verdict: &'a Verdict,
    read: Option<&'a str>,
}

/// What a check came to: all that its views show.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Checked<'a> {
    pub verdict: &'a Verdict,
    /// How a bare file was read.
    pub how: Option<&'a str>,
    pub findings: &'a [Finding],
    pub outcome: Outcome,
}

fn word(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Pass => "pass",
        Outcome::Inconclusive => "open",
        Outcome::Fail => "FAIL",
    }
}

fn answer(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Pass => "passed",
        Outcome::Inconclusive => "inconclusive",
        Outcome::Fail => "failed",
    }
}

pub(crate) fn text(checked: &Checked) -> String {
    let verdict = checked.verdict;
    let mut out = format!(
        "{}: check {} ({})\n",
        shown(&verdict.source),
        answer(checked.outcome),
        verdict.word()
    );
    for finding in checked.findings {
        let _ = writeln!(
            out,
            "  {:<4} {}: {}",
            word(finding.outcome),
            finding.criterion,
            shown(&finding.says)
        );
    }
    if let Some(how) = checked.how {
        let _ = writeln!(out, "  read {}", shown(how));
    }
    out
}

pub(crate) fn json(checked: &Checked) -> serde_json::Result<String> {
    serde_json::to_string(&CheckObject {
        schema: SCHEMA,
        source: &checked.verdict.source,
        outcome: checked.outcome,
        findings: checked.findings,
        verdict: checked.verdict,
        read: checked.how,
    })
}

/// One test case per criterion; an open one is skipped, not failed.
pub(crate) fn junit(checked: &Checked) -> String {
    let count = |outcome| {
        let findings = checked.findings.iter();
        findings.filter(|f| f.outcome == outcome).count()
    };
    let suite = xml(&checked.verdict.source);
    let mut out = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n  <testsuite name=\"lowtide check {suite}\" tests=\"{}\" failures=\"{}\" skipped=\"{}\">\n",
        checked.findings.len(),
        count(Outcome::Fail),
        count(Outcome::Inconclusive)
    );
    for finding in checked.findings {
        let (name, says) = (xml(&finding.criterion), xml(&finding.says));
        let _ = writeln!(out, "    <testcase classname=\"{suite}\" name=\"{name}\">");
        let _ = match finding.outcome {
            Outcome::Pass => writeln!(out, "      <system-out>{says}</system-out>"),
            Outcome::Fail => writeln!(out, "      <failure message=\"{says}\"/>"),
            Outcome::Inconclusive => writeln!(out, "      <skipped message=\"{says}\"/>"),
        };
        out.push_str("    </testcase>\n");
    }
    out.push_str("  </testsuite>\n</testsuites>\n");
    out
}

/// Characters that XML 1.0 forbids are left out, the special ones are named.
fn xml(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            c if c < ' ' && !matches!(c, '\t' | '\n' | '\r') => {}
            '\u{fffe}' | '\u{ffff}' => {}
            c => out.push(c),
        }
    }
    out
}

/// `::error title=…::…` per failure, `::warning` per open question.
pub(crate) fn annotations(checked: &Checked) -> String {
    let mut out = String::new();
    for finding in checked.findings {
        let level = match finding.outcome {
            Outcome::Pass => continue,
            Outcome::Inconclusive => "warning",
            Outcome::Fail => "error",
        };
        let title = format!("lowtide: {}", finding.criterion);
        let says = format!("{}: {}", checked.verdict.source, finding.says);
        let _ = writeln!(out, "::{level} title={}::{}", property(&title), data(&says));
    }
    out
}

/// GitHub's escapes for the text of a workflow command.
fn data(text: &str) -> String {
    text.replace('%', "%25")
        .replace('\r', "%0D")
        .replace('\n', "%0A")
}

fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

/// Markdown for the page of the job.
pub(crate) fn summary(checked: &Checked) -> String {
    let mut out = format!(
        "### lowtide check {}: {}\n\nverdict on {}: **{}**\n\n| criterion | outcome | measured |\n|---|---|---|\n",
        answer(checked.outcome),
        plain(&checked.verdict.source),
        code(&checked.verdict.source),
        checked.verdict.word()
    );
    for finding in checked.findings {
        let _ = writeln!(
            out,
            "| {} | {} | {} |",
            finding.criterion,
            word(finding.outcome),
            plain(&finding.says)
        );
    }
    out.push('\n');
    out
}

#[cfg(test)]
mod tests {
    use lowtide_core::judge::judge;
    use lowtide_core::point::{Context, Point};
    use lowtide_core::series::Series;
    use lowtide_core::verdict::{Axis, Class, Meter};

    use super::*;

    fn case() -> (Verdict, Vec<Finding>) {
        let points = [1.0, 2.0].map(|step| Point::new(step, 300e6));
        let series = Series::from_points(Axis::Step, Meter::Anon, &points);
        let mut verdict = judge(&series, &Context::default());
        verdict.source = "a<b>.csv".to_owned();
        let finding = |criterion: &str, outcome, says: &str| Finding {
            criterion: criterion.to_owned(),
            outcome,
            says: says.to_owned(),
            low: None,
            high: None,
            bound: None,
        };
        let findings = vec![
            finding("max-peak", Outcome::Fail, "peak \"3\" GB & 100 %\nmore"),
            finding("min-steps", Outcome::Inconclusive, "2 of 120"),
            finding("no-leak", Outcome::Pass, "stable"),
        ];
        (verdict, findings)
    }

    fn checked<'a>(verdict: &'a Verdict, findings: &'a [Finding], outcome: Outcome) -> Checked<'a> {
        Checked {
            verdict,
            how: None,
            findings,
            outcome,
        }
    }

    #[test]
    fn junit_names_failures_and_skips() {
        let (verdict, findings) = case();
        let failed = checked(&verdict, &findings, Outcome::Fail);
        let xml = junit(&failed);
        assert!(
            xml.contains("tests=\"3\" failures=\"1\" skipped=\"1\""),
            "{xml}"
        );
        assert!(xml.contains("a&lt;b&gt;.csv"), "{xml}");
        assert!(xml.contains("&quot;3&quot; GB &amp; 100 %"), "{xml}");
    }

    #[test]
    fn annotations_are_one_line_each() {
        let (verdict, findings) = case();
        let failed = checked(&verdict, &findings, Outcome::Fail);
        let text = annotations(&failed);
        assert_eq!(text.lines().count(), 2, "{text}");
        assert!(
            text.starts_with(
                "::error title=lowtide%3A max-peak::a<b>.csv: peak \"3\" GB & 100 %25%0Amore\n"
            ),
            "{text}"
        );
        assert!(text.contains("::warning "), "{text}");
    }

    #[test]
    fn growth_that_is_not_decided_is_called_growing() {
        let (mut verdict, findings) = case();
        verdict.verdict = Class::TooEarly;
        verdict.growing = true;
        let open = checked(&verdict, &findings, Outcome::Inconclusive);
        let text = text(&open);
        assert!(text.contains("check inconclusive (growing)"), "{text}");
        assert!(summary(&open).contains("**growing**"));
    }

    #[test]
    fn the_object_has_outcome_and_verdict() {
        let (verdict, findings) = case();
        let failed = checked(&verdict, &findings, Outcome::Fail);
        let value: serde_json::Value = serde_json::from_str(&json(&failed).unwrap()).unwrap();
        assert_eq!(value["outcome"], "fail");
        assert_eq!(value["findings"][1]["outcome"], "inconclusive");
        assert_eq!(value["verdict"]["schema"], 1);
        assert!(summary(&failed).contains("| max-peak | FAIL |"));
    }
}
