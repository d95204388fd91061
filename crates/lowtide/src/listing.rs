//! A stored run as one JSON object: what `runs --json` and the API's list say of it.

use jiff::Timestamp;
use lowtide_core::entry::Exit;
use lowtide_recording::Losses;
use lowtide_recording::store::StoredRun;
use lowtide_recording::summary::{RunState, Summary};
use serde_json::json;

/// A run whose summary cannot be read is listed by its name.
pub(crate) fn at_a_glance(
    run: &StoredRun,
    summary: Option<(Summary, Option<Losses>)>,
) -> serde_json::Value {
    let path = run.recording();
    let Some((s, losses)) = summary else {
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
    })
}
