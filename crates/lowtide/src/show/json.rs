//! The verdict as one JSON object: the fields of the design, plus how a file was read.

use lowtide_core::explain::Explanation;
use lowtide_core::postmortem::PostMortem;
use lowtide_core::verdict::{SCHEMA, Verdict};
use serde::Serialize;

use crate::source::Listed;

#[derive(Serialize)]
struct Judged<'a> {
    #[serde(flatten)]
    verdict: &'a Verdict,
    /// How a table or log was read; none for a recording.
    read: Option<&'a str>,
    /// How the job died, if it did.
    #[serde(skip_serializing_if = "Option::is_none")]
    post_mortem: Option<&'a PostMortem>,
    /// Only where it was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    explanation: Option<&'a Explanation>,
}

pub(crate) fn verdict(
    verdict: &Verdict,
    how: Option<&str>,
    mortem: Option<&PostMortem>,
) -> serde_json::Result<String> {
    object(verdict, how, mortem, None)
}

pub(crate) fn explained(
    verdict: &Verdict,
    how: Option<&str>,
    mortem: Option<&PostMortem>,
    explanation: &Explanation,
) -> serde_json::Result<String> {
    object(verdict, how, mortem, Some(explanation))
}

fn object(
    verdict: &Verdict,
    how: Option<&str>,
    post_mortem: Option<&PostMortem>,
    explanation: Option<&Explanation>,
) -> serde_json::Result<String> {
    serde_json::to_string(&Judged {
        verdict,
        read: how,
        post_mortem,
        explanation,
    })
}

/// Every series of a file: one object, with a verdict for each.
#[derive(Serialize)]
struct List<'a> {
    schema: u32,
    source: &'a str,
    series: Vec<ListedSeries<'a>>,
}

#[derive(Serialize)]
struct ListedSeries<'a> {
    name: &'a str,
    pid: Option<u32>,
    command: Option<&'a str>,
    kind: &'a str,
    #[serde(flatten)]
    verdict: &'a Verdict,
    read: &'a str,
}

pub(crate) fn listed(source: &str, listed: &[Listed]) -> serde_json::Result<String> {
    let series = listed.iter().map(|one| ListedSeries {
        name: &one.who.name,
        pid: one.who.pid,
        command: one.who.command.as_deref(),
        kind: &one.who.kind,
        verdict: &one.verdict,
        read: &one.how,
    });
    serde_json::to_string(&List {
        schema: SCHEMA,
        source,
        series: series.collect(),
    })
}
