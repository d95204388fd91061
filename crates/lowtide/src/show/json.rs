//! The verdict as one JSON object: the fields of the design, plus how a file was read.

use lowtide_core::verdict::Verdict;
use serde::Serialize;

#[derive(Serialize)]
struct Judged<'a> {
    #[serde(flatten)]
    verdict: &'a Verdict,
    /// How a table or log was read; none for a recording.
    read: Option<&'a str>,
}

pub fn verdict(verdict: &Verdict, how: Option<&str>) -> serde_json::Result<String> {
    serde_json::to_string(&Judged { verdict, read: how })
}
