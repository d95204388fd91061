//! Rule "reserved memory is being touched": growth inside memory that was reserved in one piece ends at its
//! size. Two looks into the process found it ([`Reserve`]).

use crate::judge::decide::Case;
use crate::judge::fields::DRIFT;
use crate::judge::rule::Rule;
use crate::judge::words::percent;
use crate::judge::{floor_grows, would_change};
use crate::point::Reserve;
use crate::units::show_bytes;
use crate::verdict::{Bound, BoundKind, Certainty, Class, Verdict};

pub(crate) const RULE: Rule = Rule::named("reserved memory is being touched");

/// An end counts if this share of the growth lies inside it.
const EXPLAINS: f64 = 0.9;
/// Growth beside it is told when less than this lies inside.
const WORTH_TELLING: f64 = 0.98;
/// A floor beyond a known end by this share of it refutes that end.
const PAST: f64 = 0.02;

impl Case<'_> {
    /// Reserved memory that carries the growth.
    pub(in crate::judge) fn explains(&self) -> Option<&Reserve> {
        let reserve = self.context.reserved.as_ref();
        reserve.filter(|reserve| reserve.share >= EXPLAINS)
    }

    /// The same where it is not full yet. Past its end the end is refuted, and the growth is open again.
    pub(in crate::judge) fn touched(&self) -> Option<&Reserve> {
        let level = self.fine.ys.last().copied().unwrap_or(0.0);
        self.explains().filter(|reserve| {
            // What is full already explains nothing that comes, unless the floor stands there.
            let fills = reserve.left > PAST * reserve.end || level >= (1.0 - PAST) * reserve.end;
            fills && level <= reserve.end * (1.0 + PAST)
        })
    }

    /// It is full since this point of the line: growth has ended, and the rate is that of a level floor.
    fn filled(&self, verdict: &mut Verdict, at: usize) {
        let (line, level) = (&self.fine, verdict.floor.last);
        let drift = DRIFT * level.abs() / line.span().max(f64::MIN_POSITIVE);
        verdict.growing = false;
        verdict.steady = false;
        verdict.settled_at = Some(line.xs[at]);
        verdict.plateau = Some(level);
        (verdict.rate.value, verdict.rate.low, verdict.rate.high) = (0.0, -drift, drift);
        verdict.rate.per_minute = verdict.rate.per_minute.map(|_| 0.0);
        verdict
            .evidence
            .retain(|said| !floor_grows::RULE.said(said));
        if let Some(growth) = &mut verdict.growth {
            growth.to = line.xs[at];
            growth.bytes = level - verdict.floor.first;
            let length = (growth.to - growth.from).max(f64::MIN_POSITIVE);
            growth.per_unit = Some(growth.bytes / length);
        }
    }

    /// Growth whose end is known: a warm-up that is not over, or that is full now.
    pub(in crate::judge) fn under_way(&self, mut verdict: Verdict, reserve: &Reserve) -> Verdict {
        verdict.verdict = Class::WarmUp;
        verdict.leaking = Some(false);
        verdict.oom = None;
        let line = &self.fine;
        let reached = |y: &f64| *y >= (1.0 - PAST) * reserve.end;
        match line.ys.iter().position(reached) {
            Some(at) if reserve.left <= PAST * reserve.end => self.filled(&mut verdict, at),
            _ => verdict.predicted_plateau = Some(reserve.end),
        }
        verdict.bound = Some(Bound {
            kind: BoundKind::Reserved,
            at: None,
            bytes: Some(reserve.end),
            certainty: Certainty::Inferred,
            why: reserve.why.clone(),
        });
        verdict.evidence.push(RULE.says(format!(
            "{}; {} of the growth lies in it, so it ends at {}{}",
            reserve.why,
            percent(reserve.share),
            show_bytes(reserve.end),
            if reserve.share < WORTH_TELLING {
                "; what else grows is judged for itself when that is full"
            } else {
                ""
            }
        )));
        verdict.evidence.push(would_change::by(format!(
            "a floor that rises past {}, or growth outside of what was reserved",
            show_bytes(reserve.end)
        )));
        verdict
    }
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::judge::testing::{look_with, names};
    use crate::point::{Context, Reserve};
    use crate::verdict::{Axis, BoundKind, Class};

    /// Growth inside a block of known size ends there, if nearly all of it lies in it.
    #[test]
    fn growth_inside_reserved_memory_has_an_end() {
        let within = |share: f64| {
            let context = Context {
                reserved: Some(Reserve {
                    end: 3e9,
                    left: 1e9,
                    share,
                    why: "a block of 2 GB".to_owned(),
                }),
                ..Context::default()
            };
            look_with(&context, Axis::Step, 1000, |x| 1000.0 + x)
        };
        let fills = within(0.95);
        assert!(names(&fills, RULE), "{:#?}", fills.evidence);
        assert_eq!(fills.verdict, Class::WarmUp);
        assert_eq!(fills.predicted_plateau, Some(3e9));
        assert_eq!(fills.bound.unwrap().kind, BoundKind::Reserved);
        assert!(!names(&within(0.8), RULE));
    }
}
