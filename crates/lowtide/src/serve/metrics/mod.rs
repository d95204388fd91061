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
use std::sync::Arc;

pub(super) use follow::Followed;

use super::Server;
use super::answer::Refusal;
use super::api::apart;

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

/// What the server exposes now, as Prometheus reads it. Recordings are read in slices, as for the page: dropped
/// in the middle, it ends with its slice.
pub(super) async fn exposition(server: Arc<Server>) -> Result<String, Refusal> {
    let _turn = server.followed.turn().await;
    let own = Arc::clone(&server);
    let going = apart(move || {
        let mut stored = own.store.runs().map_err(Refusal::ourselves)?;
        stored.retain(|run| own.only.as_ref().is_none_or(|only| *only == run.name));
        Ok(own.followed.going(stored))
    });
    let mut metrics = Vec::new();
    for run in going.await? {
        let run = Arc::new(run);
        loop {
            let (own, run) = (Arc::clone(&server), Arc::clone(&run));
            if let Some(read) = apart(move || Ok(own.followed.read_on(&run))).await? {
                metrics.extend(read);
                break;
            }
        }
    }
    Ok(text::encode(&metrics))
}
