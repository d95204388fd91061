//! How findings are put into words: the value with its spread, what was allowed, by how much it is
//! over, whose memory it is, and what would decide what is open.

use crate::judge::words::{pace, place};
use crate::judge::{WHOSE_MEMORY, WOULD_CHANGE};
use crate::units::show_bytes;
use crate::verdict::{Axis, Verdict};

/// `58.0 to 64.0 kB/step`: what both ends have in common is said once.
pub(super) fn span(low: &str, high: &str) -> String {
    match (low.split_once(' '), high.split_once(' ')) {
        _ if low == high => high.to_owned(),
        (Some((number, unit)), Some((_, same))) if unit == same => format!("{number} to {high}"),
        _ => format!("{low} to {high}"),
    }
}

pub(super) fn sizes(low: f64, high: f64) -> String {
    span(&show_bytes(low), &show_bytes(high))
}

/// `61.0 kB/step (58.0 to 64.0)`: the unit once, where all three have the same.
pub(super) fn spread(value: &str, low: &str, high: &str) -> String {
    let unit = |text: &str| text.split_once(' ').map(|(_, unit)| unit.to_owned());
    let around = span(low, high);
    match unit(value) {
        // Known as exactly as it is shown.
        _ if around == value => around,
        Some(own) if unit(low) == unit(value) && unit(high) == unit(value) => {
            let bare = around.strip_suffix(own.as_str()).unwrap_or(&around);
            format!("{value} ({})", bare.trim_end())
        }
        _ => format!("{value} ({around})"),
    }
}

/// `rises 61.0 kB/step (58.0 to 64.0)`, `falls …`, or `does not rise (-3 to 2 kB/step)`.
pub(super) fn course(axis: Axis, value: f64, low: f64, high: f64) -> String {
    let paces = |value: f64, low: f64, high: f64| {
        spread(&pace(axis, value), &pace(axis, low), &pace(axis, high))
    };
    if low > 0.0 {
        format!("rises {}", paces(value, low, high))
    } else if high < 0.0 {
        format!("falls {}", paces(-value, -high, -low))
    } else {
        format!(
            "no rise is shown ({})",
            span(&pace(axis, low), &pace(axis, high))
        )
    }
}

/// `1.20 GB too much`; nothing where it keeps to what was allowed.
pub(super) fn too_much(measured: f64, allowed: f64) -> String {
    match measured > allowed {
        true => format!(": {} too much", show_bytes(measured - allowed)),
        false => String::new(),
    }
}

/// What an axis counts: `steps`, `time`.
pub(super) fn counted(axis: Axis) -> &'static str {
    match axis {
        Axis::Step => "steps",
        Axis::Time => "time",
        Axis::Sample => "samples",
    }
}

/// Whose memory it is: `trainer 4647`, `all loader-worker processes together`. None for a bare series.
pub(super) fn whose(verdict: &Verdict) -> Option<String> {
    let process = verdict.process.as_ref()?;
    let together = verdict.evidence.iter().find(|it| WHOSE_MEMORY.said(it));
    Some(match together {
        Some(evidence) => evidence.says.clone(),
        None => format!("{} {}", process.role, process.pid),
    })
}

/// What decides growth that is open, as the judge knows it.
pub(super) fn decided_by(verdict: &Verdict) -> String {
    if let Some(at) = verdict.decides_at {
        return format!("decidable at {}", place(verdict.axis, at));
    }
    let change = verdict.evidence.iter().find(|it| WOULD_CHANGE.said(it));
    change.map_or_else(
        || "a longer run decides it".to_owned(),
        |it| it.says.clone(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_is_said_once_where_all_have_it() {
        assert_eq!(
            course(Axis::Step, 61e3, 58e3, 64e3),
            "rises 61.0 kB/step (58.0 to 64.0)"
        );
        assert_eq!(
            course(Axis::Step, 1.2e6, 0.9e6, 1.5e6),
            "rises 1.20 MB/step (900 kB/step to 1.50 MB/step)"
        );
        assert_eq!(
            course(Axis::Time, -1e3, -2e3, -0.5e3),
            "falls 60.0 kB/min (30.0 to 120)"
        );
        assert_eq!(
            course(Axis::Step, 1.0, -3e3, 2e3),
            "no rise is shown (-3.00 to 2.00 kB/step)"
        );
        assert_eq!(sizes(1e9, 1e9), "1.00 GB");
        assert_eq!(spread("200 MB", "200 MB", "200 MB"), "200 MB");
    }

    #[test]
    fn only_what_is_over_is_too_much() {
        assert_eq!(too_much(3e9, 1e9), ": 2.00 GB too much");
        assert_eq!(too_much(1e9, 1e9), "");
    }
}
