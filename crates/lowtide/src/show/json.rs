//! The verdict as one JSON object: the fields of the design, plus how a file was read.

use lowtide_core::explain::Explanation;
use lowtide_core::verdict::Verdict;
use serde::Serialize;

#[derive(Serialize)]
struct Judged<'a> {
    #[serde(flatten)]
    verdict: &'a Verdict,
    /// How a table or log was read; none for a recording.
    read: Option<&'a str>,
    /// Only where it was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    explanation: Option<&'a Explanation>,
}

pub fn verdict(verdict: &Verdict, how: Option<&str>) -> serde_json::Result<String> {
    object(verdict, how, None)
}

pub fn explained(
    verdict: &Verdict,
    how: Option<&str>,
    explanation: &Explanation,
) -> serde_json::Result<String> {
    object(verdict, how, Some(explanation))
}

fn object(
    verdict: &Verdict,
    how: Option<&str>,
    explanation: Option<&Explanation>,
) -> serde_json::Result<String> {
    serde_json::to_string(&Judged {
        verdict,
        read: how,
        explanation,
    })
}
