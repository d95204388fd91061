//! A stored run as one JSON object: what `runs --json` and the API's list say of it.

use jiff::Timestamp;
use lowtide_core::entry::Exit;
use lowtide_core::run::Glance;
use lowtide_recording::Losses;
use lowtide_recording::store::StoredRun;
use lowtide_recording::summary::{RunState, Summary};
use serde_json::json;

/// What a list knows of one run.
pub(crate) struct Looked {
    pub summary: Summary,
    /// None: it goes on, or is too long to be looked through.
    pub losses: Option<Losses>,
    /// None: not judged yet.
    pub glance: Option<Glance>,
}

/// A run whose summary cannot be read is listed by its name.
pub(crate) fn at_a_glance(run: &StoredRun, looked: Option<Looked>) -> serde_json::Value {
    let path = run.recording();
    let Some(Looked {
        summary: s,
        losses,
        glance,
    }) = looked
    else {
        return json!({"name": run.name, "path": path, "state": "unreadable"});
    };
    let (state, exit) = match s.state {
        RunState::Running => ("running", None),
        RunState::Ended(exit) => ("ended", exit.map(Exit::code)),
        RunState::CutOff => ("cut-off", None),
    };
    let started = i64::try_from(s.header.started.0).ok();
    let started = started.and_then(|micros| Timestamp::from_microsecond(micros).ok());
    json!({
        "name": run.name,
        "path": path,
        "started": started.map(|t| t.to_string()),
        "seconds": s.last.seconds(),
        "command": s.header.command,
        "host": s.header.host,
        "peak": s.peak,
        "samples": s.samples,
        "size": s.size,
        "damaged": losses.map(|losses| losses.damaged),
        "lost_ticks": losses.map(|losses| losses.ticks),
        "state": state,
        "exit": exit,
        "verdict": glance.as_ref().map(|glance| glance.verdict),
        "growing": glance.as_ref().map(|glance| glance.growing),
        "says": glance.as_ref().map(|glance| &glance.says),
        "grows": glance.as_ref().map(|glance| &glance.grows),
        "level": glance.as_ref().map(|glance| glance.level),
    })
}
