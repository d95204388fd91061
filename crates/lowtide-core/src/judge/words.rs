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

/// `an evaluation`, `a step`: by the sound that our own nouns begin with, which is that of their first letter.
pub(crate) fn with_article(noun: &str) -> String {
    let vowel = noun.starts_with(['a', 'e', 'i', 'o']);
    let article = if vowel { "an" } else { "a" };
    format!("{article} {noun}")
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::Role;

    #[test]
    fn the_article_fits_the_noun() {
        for noun in [
            "evaluation",
            "epoch",
            "excursion",
            "other",
            "inductor-worker",
        ] {
            assert_eq!(with_article(noun), format!("an {noun}"));
        }
        for noun in ["step", "save", "loader-worker", "trainer", "log call"] {
            assert_eq!(with_article(noun), format!("a {noun}"));
        }
        // Whatever roles and drivers there are: none begins with a letter whose sound is another.
        let drivers = ["new-example", "log", "worker-start", "recompile", "time"].map(unit);
        for noun in Role::NAMES.iter().chain(&drivers) {
            assert!(!noun.starts_with(['u', 'h']), "{noun}");
        }
    }
}
