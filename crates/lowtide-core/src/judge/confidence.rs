//! How often a call like this one is right: `confidence`. What a call stands on ([`Basis`]) is laid on a curve that
//! was fitted to the generated series of the zoo, leaks and harmless ones weighing the same. `cargo run --release -p
//! lowtide-verdicts --bin zoo` fits it anew, each family of behaviours by the others, and prints how well that holds
//! (docs/accuracy.md).

use super::line::FloorLine;
use crate::verdict::{Basis, Class, Verdict};

/// A flat end is compared with the growth before it within these bounds, as natural logarithms of their ratio: a seventh,
/// and seven times as long. Beyond, nothing more is learnt.
const AFTER: [f64; 2] = [-2.0, 2.0];
/// By how much the floor may still rise, in as long as was watched, as a share of its level.
const MAY_RISE: [f64; 2] = [0.0, 0.12];
/// The prior's own probability is known to so many digits at best.
const MOST_SURE: f64 = 0.9995;

/// Constant and weights of what each kind of call stands on: the logarithm of the odds that it is right.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Curve(pub [f64; 3]);

impl Curve {
    pub fn at(self, stands_on: [f64; 2]) -> f64 {
        let [constant, first, second] = self.0;
        let odds = constant + first * stands_on[0] + second * stands_on[1];
        1.0 / (1.0 + (-odds).exp())
    }
}

pub const LEAK: Curve = Curve([-0.28, 0.73, 0.0]);
pub const WARM_UP: Curve = Curve([2.32, 1.13, -1.0]);
pub const LEVEL: Curve = Curve([5.14, 0.0, -25.02]);

impl Basis {
    /// Growth that is a leak with this probability, by the prior alone.
    pub(super) fn of_leak(surely: f64) -> Basis {
        let surely = surely.clamp(0.5, MOST_SURE);
        Basis {
            stands_on: [(surely / (1.0 - surely)).ln(), 0.0],
        }
    }

    /// A floor that is level, and grew before or not.
    fn of_level(verdict: &Verdict, line: &FloorLine) -> Basis {
        let (first, last) = (line.first_x(), line.last_x());
        let after = verdict.settled_at.map_or(0.0, |settled| {
            let [short, long] = AFTER;
            let before = (settled - first).max(f64::MIN_POSITIVE);
            ((last - settled).max(f64::MIN_POSITIVE) / before)
                .ln()
                .clamp(short, long)
        });
        let level = verdict.floor.last.abs().max(1.0);
        let may_rise = verdict.rate.high * (last - first) / level;
        Basis {
            stands_on: [after, may_rise.clamp(MAY_RISE[0], MAY_RISE[1])],
        }
    }

    /// Which curve it is laid on.
    pub fn curve(class: Class) -> Option<Curve> {
        match class {
            Class::Leak => Some(LEAK),
            Class::WarmUp => Some(WARM_UP),
            Class::Spikes | Class::Stable => Some(LEVEL),
            Class::TooEarly => None,
        }
    }
}

/// Fills it in. Growth whose end is known beforehand is not a matter of curves: too few of such runs were recorded.
pub(super) fn tell(verdict: &mut Verdict, line: &FloorLine) {
    if matches!(
        verdict.verdict,
        Class::WarmUp | Class::Spikes | Class::Stable
    ) && !verdict.is_under_way()
    {
        verdict.basis = Some(Basis::of_level(verdict, line));
    }
    let curve = Basis::curve(verdict.verdict);
    verdict.confidence = curve
        .zip(verdict.basis)
        .map(|(curve, basis)| (curve.at(basis.stands_on) * 1e3).round() / 1e3);
}
