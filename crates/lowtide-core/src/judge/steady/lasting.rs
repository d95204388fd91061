//! How long growth has to last, at its pace: what [`super::outlasts_before`] and
//! [`super::time_stands_for_work`] ask for, and where both will have it.

use super::GrowingEnd;
use crate::judge::tail::Tail;
use crate::verdict::Axis;

/// A bare runtime holds less than a training process does before its data: growth is compared with
/// at least this (an interpreter with its libraries).
const RUNTIME: f64 = 512e6;
/// A promise of where it will be decided keeps this distance: a knee is known to two windows.
const PROMISE: f64 = 0.04;
/// A promise is looked for in steps of one part in so many of what was watched ...
const PROMISE_STEPS: f64 = 20.0;
/// ... for twenty times as long: further ahead nobody waits for it.
const PROMISE_AHEAD: u32 = 400;

pub(crate) struct Lasting {
    pub first: f64,
    pub from: f64,
    pub axis: Axis,
    /// Growth per unit of the axis, against what the process held before it.
    pub pace: f64,
    /// Half the width of the pace's interval against it.
    pub unsure: f64,
    /// By how much the pace may change from end to end, either way, as a share of it.
    pub wavers: f64,
    /// Where a fill ends is known then, and the size of the growth says nothing more.
    pub epoch_known: bool,
}

impl Lasting {
    pub(crate) fn of(growing: &GrowingEnd<'_>, tail: &Tail) -> Lasting {
        Lasting {
            first: growing.whole.first_x(),
            from: tail.from,
            axis: growing.axis,
            epoch_known: growing.epoch_known,
            pace: tail.slope / tail.level.max(RUNTIME),
            unsure: match growing.axis {
                Axis::Step => 0.0,
                Axis::Time | Axis::Sample => (tail.high - tail.low) / (2.0 * tail.slope),
            },
            wavers: tail.bend.abs() + tail.bend_reach,
        }
    }

    /// Growth until `x`, against what the process held before.
    pub(crate) fn size(&self, x: f64) -> f64 {
        self.pace * (x - self.from)
    }

    /// Where it will have lasted long enough, if it goes on like this.
    pub(crate) fn decides_at(&self, last: f64) -> Option<f64> {
        let step = (last - self.first) / PROMISE_STEPS;
        let mut ahead = (1..PROMISE_AHEAD).map(|k| last + step * f64::from(k));
        ahead.find(|x| {
            let (has, need) = self.share(*x);
            has >= need + PROMISE && x - self.from >= self.seconds(*x)
        })
    }
}
