//! The findings of a check for people, programs, JUnit readers and GitHub.

use std::fmt::Write;

use lowtide_core::check::{Change, Finding, Outcome};
use lowtide_core::text::shown;
use lowtide_core::verdict::{SCHEMA, Verdict};
use serde::Serialize;

use super::markdown::{code, plain};
use super::text::{headline, wrapped};

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

/// `width`: of the terminal; nothing is broken into lines for a file or a log.
pub(crate) fn text(checked: &Checked, width: Option<usize>) -> String {
    let verdict = checked.verdict;
    let mut out = format!(
        "{}: check {} ({})\n",
        shown(&verdict.source),
        answer(checked.outcome),
        verdict.word()
    );
    for finding in checked.findings {
        let lead = format!("  {:<4} {}: ", word(finding.outcome), finding.criterion);
        out.push_str(&wrapped(
            &finding.sentence(),
            &lead,
            width.unwrap_or(usize::MAX),
        ));
    }
    if let Some(against) = against_baseline(checked) {
        let _ = writeln!(out, "  against the baseline: {against}");
    }
    if let Some(how) = checked.how {
        let _ = writeln!(out, "  read {}", shown(how));
    }
    out
}

/// `plateau 1.48 GB lower; rate not decided`.
fn against_baseline(checked: &Checked) -> Option<String> {
    let findings = checked.findings.iter();
    let briefs: Vec<&str> = findings.filter_map(|f| f.brief.as_deref()).collect();
    let changes = || checked.findings.iter().filter_map(|f| f.change);
    let all = |change| changes().all(|one| one == change);
    // One that is better while the other is worse is neither.
    let worse = changes().any(|change| change == Change::Regression);
    let better = changes().any(|change| change == Change::Improvement);
    let word = match (worse, better) {
        _ if briefs.is_empty() => return None,
        (true, false) => "a regression: ",
        (false, true) => "an improvement: ",
        (false, false) if all(Change::None) => "no difference: ",
        _ => "",
    };
    Some(format!("{word}{}", briefs.join("; ")))
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
        let name = xml(&finding.criterion);
        let (says, text) = (xml(&finding.sentence()), xml(&in_full(checked, finding)));
        let _ = writeln!(out, "    <testcase classname=\"{suite}\" name=\"{name}\">");
        let _ = match finding.outcome {
            Outcome::Pass => writeln!(out, "      <system-out>{says}</system-out>"),
            Outcome::Fail => writeln!(
                out,
                "      <failure type=\"{name}\" message=\"{says}\">{text}</failure>"
            ),
            Outcome::Inconclusive => {
                writeln!(out, "      <skipped message=\"{says}\">{text}</skipped>")
            }
        };
        out.push_str("    </testcase>\n");
    }
    out.push_str("  </testsuite>\n</testsuites>\n");
    out
}

/// What a reader of JUnit shows below the message: which run, and what else it came to.
fn in_full(checked: &Checked, finding: &Finding) -> String {
    let verdict = checked.verdict;
    let mut text = format!(
        "{}: {}: {}\nverdict: {}",
        shown(&verdict.source),
        finding.criterion,
        finding.sentence(),
        headline(verdict)
    );
    if let Some(against) = against_baseline(checked) {
        let _ = write!(text, "\nagainst the baseline: {against}");
    }
    text
}

/// Characters that XML 1.0 forbids are left out, the special ones are named. Blanks that a reader would turn
/// into spaces in a message are named too.
fn xml(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\t' | '\n' | '\r' => {
                let _ = write!(out, "&#{};", u32::from(c));
            }
            c if c < ' ' => {}
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
        let says = format!("{}: {}", checked.verdict.source, finding.sentence());
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
            plain(&finding.sentence())
        );
    }
    if let Some(against) = against_baseline(checked) {
        let _ = writeln!(out, "\nagainst the baseline: {}", plain(&against));
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
            whose: (criterion == "max-peak").then(|| "trainer 7".to_owned()),
            change: None,
            brief: None,
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
                "::error title=lowtide%3A max-peak::a<b>.csv: trainer 7: peak \"3\" GB & 100 %25%0Amore\n"
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
        let text = text(&open, None);
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
