//! How evidence lines write places and paces on the axis.

use crate::units::{show_bytes, show_duration};
use crate::verdict::Axis;

/// `step 83`, `3m 20s`, `sample 12`.
pub fn place(axis: Axis, x: f64) -> String {
    match axis {
        Axis::Step => format!("step {x:.0}"),
        Axis::Time => show_duration(x),
        Axis::Sample => format!("sample {x:.0}"),
    }
}

/// `60 steps`, `3m 20s`, `12 samples`.
pub fn stretch(axis: Axis, length: f64) -> String {
    match axis {
        Axis::Step => format!("{length:.0} steps"),
        Axis::Time => show_duration(length),
        Axis::Sample => format!("{length:.0} samples"),
    }
}

/// The length of an epoch, which is rarely whole: `82.9 steps`, `3m 20s`.
pub(crate) fn epoch_length(axis: Axis, length: f64) -> String {
    match axis {
        Axis::Step => format!("{length:.1} steps"),
        Axis::Time | Axis::Sample => stretch(axis, length),
    }
}

/// `21 MB/step`, `3.2 MB/min`: time is told per minute, as people do.
pub fn pace(axis: Axis, slope: f64) -> String {
    match axis {
        Axis::Step => format!("{}/step", show_bytes(slope)),
        Axis::Time => format!("{}/min", show_bytes(slope * 60.0)),
        Axis::Sample => format!("{}/sample", show_bytes(slope)),
    }
}

pub fn percent(share: f64) -> String {
    let value = share * 100.0;
    if value.abs() < 10.0 {
        format!("{value:.1} %")
    } else {
        format!("{value:.0} %")
    }
}

/// One of what a driver counts.
pub fn unit(driver: &str) -> &str {
    match driver {
        "new-example" => "new example",
        "log" => "log call",
        "worker-start" => "started worker",
        "recompile" => "slow step",
        "time" => "second",
        // What an evaluation or a save would be called, had somebody marked it.
        "excursion" => "unmarked excursion",
        other => other,
    }
}
