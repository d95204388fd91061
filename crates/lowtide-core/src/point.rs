//! A measured point of a series, whatever its source: a recording, a CSV, a log.

use serde::{Deserialize, Serialize};

use crate::judge::prior::Prior;
use crate::mark::{Geometry, Phase};
use crate::units::Bytes;
use crate::verdict::{Axis, Meter};

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// Where on the axis: a step, seconds, or a running number.
    pub x: f64,
    pub bytes: f64,
    /// Seconds since the start, where the axis is not time and the time is known too.
    pub seconds: Option<f64>,
    pub phase: Option<Phase>,
}

impl Point {
    pub fn new(x: f64, bytes: f64) -> Point {
        Point {
            x,
            bytes,
            seconds: None,
            phase: None,
        }
    }
}

/// A bare series, as an importer finds it in a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Track {
    pub name: String,
    pub axis: Axis,
    pub meter: Meter,
    pub points: Vec<Point>,
}

/// What the series itself cannot show.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Context {
    pub geometry: Geometry,
    /// Somebody told how long an epoch is, by a flag.
    pub told: bool,
    pub limit: Option<Bytes>,
    /// Marks told where steps begin: growth before the first step is start-up.
    pub marked: bool,
    /// Where the first step was on the axis, when marks say so.
    pub first_step: Option<f64>,
    /// A process that was started again in the middle of the training: its first whole pass over the
    /// data begins with the next epoch.
    pub resumed: bool,
    /// The last step of the run, where it is known.
    pub total_steps: Option<f64>,
    /// The run is over: nothing comes after the last point.
    pub over: bool,
    /// Processes that share one pass over the data, where this line is theirs: each sees another part in
    /// the next pass. 0 and 1 are the same.
    pub shards: f64,
    /// Reserved memory that is being touched, as the looks found it.
    pub reserved: Option<Reserve>,
    /// Places on the axis where an epoch was seen to end, oldest first.
    pub epoch_ends: Vec<f64>,
    /// Places on the axis where an evaluation or a save began, oldest first of its kind.
    pub rounds: Vec<Round>,
    /// What the process of this line kept after some of them, where its readings say so.
    pub kept: Vec<Kept>,
    /// How long harmless growth lasts; another one than the published is for those who score it.
    pub prior: Prior,
}

/// Memory that was reserved in one piece, is being touched, and carries the growth of this line.
#[derive(Clone, Debug, PartialEq)]
pub struct Reserve {
    /// The level of this line when all of it is touched.
    pub end: f64,
    /// What of it is still to be touched.
    pub left: f64,
    /// Share of the growth between the looks that lies inside it.
    pub share: f64,
    /// What it is, in words: `1 block of 2.0 GB, 10 % touched`.
    pub why: String,
}

/// Work that comes again and again, and after which the process is where it was before.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Round {
    pub kind: RoundKind,
    pub x: f64,
}

/// What a process held after rounds of one kind, beyond what it held before each.
#[derive(Clone, Debug, PartialEq)]
pub struct Kept {
    pub kind: RoundKind,
    /// Rounds in all, and where on the axis the first was.
    pub count: usize,
    pub from: f64,
    /// Some of them, evenly chosen, oldest first.
    pub each: Vec<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RoundKind {
    Evaluation,
    Save,
    Epoch,
}
