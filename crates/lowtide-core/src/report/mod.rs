//! The one value that every view shows: page, report file, terminal and API.
//!
//! [`Picture`] folds a recording's entries into bounded pictures beside the [`Run`](crate::run::Run);
//! [`Picture::report`] computes the value once. A bare series becomes one by [`Report::of_series`].

mod breakdowns;
mod build;
mod fold;
mod forecast;
pub mod grid;
#[cfg(test)]
mod tests;
mod timeline;

pub use breakdowns::{BreakdownTable, LookRow, PartName};
pub use fold::{Detail, Picture};
pub use timeline::{EpochEnd, Span};

use serde::Serialize;

use crate::entry::{Attempt, EventKind, Header};
use crate::explain::Explanation;
use crate::meter::{Meter, MeterInfo};
use crate::postmortem::PostMortem;
use crate::run::Summary;
use crate::verdict::{Axis, Verdict};

/// The version of the JSON that [`Report`] becomes. Fields may be added, never renamed.
pub const SCHEMA: u32 = 1;

#[derive(Clone, Debug, Serialize)]
pub struct Report {
    pub schema: u32,
    /// A run's name, or the file that was read.
    pub name: String,
    /// The answer in one line.
    pub headline: String,
    pub verdict: Verdict,
    /// The line that decides the verdict.
    pub decides: LineName,
    /// How a bare file was read; none for a recording.
    pub read: Option<String>,
    pub header: Option<Header>,
    pub summary: Option<Summary>,
    /// What the x of every line counts: seconds for a recording.
    pub axis: Axis,
    /// First and last x.
    pub from: f64,
    pub to: f64,
    /// The way from seconds to steps, both rising; empty when no steps are known.
    pub steps: Vec<[f64; 2]>,
    pub lines: Vec<Line>,
    /// What lines can measure, in the order in which views list it.
    pub meters: Vec<&'static MeterInfo>,
    pub stack: Option<Stack>,
    pub spans: Vec<Span>,
    pub epochs: Vec<EpochEnd>,
    /// The low-water line of what decides, as places on the verdict's axis and bytes.
    pub floor: Vec<[f64; 2]>,
    pub forecast: Option<Forecast>,
    pub room: Option<Room>,
    pub processes: Vec<Process>,
    /// Where the bytes of one process are, look by look, one table a breakdown.
    pub breakdowns: Vec<BreakdownTable>,
    pub explanation: Option<Explanation>,
    pub events: Vec<Event>,
    /// Restarts by the guard; empty for a run of one attempt.
    pub attempts: Vec<Attempt>,
    /// Why the job died, in words, and what is known of it.
    pub died: Option<String>,
    pub post_mortem: Option<PostMortem>,
}

/// Names a line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LineName {
    pub who: String,
    pub meter: Meter,
}

/// One quantity along the axis: in each column its lowest and highest value, in the meter's unit.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Line {
    /// `tree`, `role:NAME`, `pid:PID:START` or, for a bare series, `series`.
    pub who: String,
    pub meter: Meter,
    pub x: Vec<f64>,
    pub low: Vec<u64>,
    pub high: Vec<u64>,
}

/// What each role held at the highest moment of each column; `total` is the tree's own honest sum.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Stack {
    pub roles: Vec<String>,
    pub x: Vec<f64>,
    pub total: Vec<u64>,
    /// One list a role, as long as `x`.
    pub parts: Vec<Vec<u64>>,
}

/// Where the deciding line goes from here if nothing changes: a range of slopes from its last floor, to
/// what the run needs at its last step where that is known.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Forecast {
    pub axis: Axis,
    pub from: f64,
    pub to: f64,
    /// The floor at `from`.
    pub bytes: f64,
    /// Bytes per unit of the axis: the rate or the way to what is needed, with the ends of its range.
    pub low: f64,
    pub value: f64,
    pub high: f64,
    /// Where growth would end, if it ends with the epoch or as is known from elsewhere.
    pub plateau: Option<f64>,
}

/// How high the deciding line may rise: the limit holds for all that counts against it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Room {
    /// The line's own level at which the limit is hit.
    pub until: f64,
    pub limit: f64,
    /// Where the limit comes from, in words.
    pub from: String,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Process {
    /// As in [`Line::who`].
    pub who: String,
    pub pid: u32,
    pub parent: Option<String>,
    pub role: String,
    pub command: String,
    pub why: String,
    pub watched: bool,
    /// Seconds.
    pub since: f64,
    pub gone: Option<f64>,
    /// anon + shmem + swap: least (since the first step, where steps are known), most and last.
    pub held: [f64; 3],
    /// What it adds to an honest sum, last.
    pub own: f64,
    /// The kernel's high-water mark of RSS.
    pub peak: f64,
    pub threads: Option<u32>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Event {
    pub at: crate::units::Micros,
    pub kind: EventKind,
    pub text: String,
}
