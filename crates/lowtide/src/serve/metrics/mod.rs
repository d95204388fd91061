//! `/metrics`: the running runs as values, and an encoder that writes them for Prometheus. Names follow
//! its conventions (bytes, seconds, no pid in labels); a run that is over is not exposed any more.
//!
//! A scrape reads on in each recording and judges; nothing is drawn or explained for it.

mod follow;
mod of_run;
#[cfg(test)]
mod tests;
mod text;

use std::borrow::Cow;

pub(super) use follow::Followed;

use super::Server;
use super::answer::Refusal;

/// One value, with all that any encoder needs. No two of a scrape have the same name and labels.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Metric {
    pub name: Cow<'static, str>,
    pub help: &'static str,
    pub kind: Kind,
    pub labels: Vec<Label>,
    pub value: f64,
}

pub(super) type Label = (&'static str, String);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Gauge,
    /// Only ever rises.
    Counter,
}

/// What the server exposes now, as Prometheus reads it.
pub(super) fn exposition(server: &Server) -> Result<String, Refusal> {
    let mut stored = server.store.runs().map_err(Refusal::ourselves)?;
    stored.retain(|run| server.only.as_ref().is_none_or(|only| *only == run.name));
    Ok(text::encode(&server.followed.scrape(&stored)))
}
