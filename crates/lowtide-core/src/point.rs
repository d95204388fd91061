//! A measured point of a series, whatever its source: a recording, a CSV, a log.

use serde::{Deserialize, Serialize};

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
    pub limit: Option<Bytes>,
    /// Marks told where steps begin: growth before the first step is start-up.
    pub marked: bool,
    /// Where the first step was on the axis, when marks say so.
    pub first_step: Option<f64>,
    /// A process that was started again in the middle of the training: its first whole pass over the
    /// data begins with the next epoch.
    pub resumed: bool,
}
