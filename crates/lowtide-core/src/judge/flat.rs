//! Floors that do not rise: flat, settled, full, or not shown to be any of these.

use super::ending::Ending;
use super::epoch::Epoch;
use super::growth;
use super::line::Line;
use super::settle::{self, Plateau};
use super::swing::Swing;
use super::tail::Tail;
use super::words::{epoch_length, evidence, pace, place, stretch, turning};
use super::{Case, MATERIAL, MATERIAL_NOISE};
use crate::units::show_bytes;
use crate::verdict::{Axis, Bound, BoundKind, Certainty, Class, Growth, Verdict};

/// Creep that makes up this share of all growth is the growth, not what is left of it.
const MOSTLY: f64 = 0.25;

impl Case<'_> {
    pub(super) fn unsettled(&self, mut verdict: Verdict, whole: &Line, tail: &Tail) -> Verdict {
        if let Some(reserve) = self.touched() {
            return self.under_way(verdict, reserve);
        }
        verdict.evidence.push(evidence(
            "flatness is not shown",
            format!(
                "the slope since {} may still be up to {}",
                place(self.axis, tail.from),
                pace(self.axis, tail.high)
            ),
        ));
        verdict.decides_at = Some(whole.last_x() + tail.length().max(0.25 * whole.span()));
        verdict.safe_until_then = self.safe(whole, tail, verdict.decides_at);
        verdict.evidence.push(turning(
            "a longer look at the same level would show that it is flat",
        ));
        verdict
    }

    /// The floor stopped because there is nothing left to take.
    pub(super) fn full(
        &self,
        mut verdict: Verdict,
        (whole, before): (&Line, &Line),
        grew: Option<&Tail>,
        epoch: Option<Epoch>,
    ) -> Verdict {
        verdict.evidence.push(evidence(
            "memory is full",
            format!(
                "the floor stopped at {}, within 5 % of the limit: that is no plateau",
                show_bytes(verdict.floor.last)
            ),
        ));
        if let Some(tail) = grew
            && let Ending::Passed(why) = self.ending((whole, before), tail, epoch)
        {
            verdict.evidence.push(why);
            return self.leak(verdict, whole, tail);
        }
        verdict.safe_until_then = Some(false);
        verdict
            .evidence
            .push(turning("the same run with more memory"));
        verdict
    }

    pub(super) fn settled(
        &self,
        mut verdict: Verdict,
        (whole, line): (&Line, &Line),
        tail: &Tail,
        plateau: Plateau,
        epoch: Option<Epoch>,
    ) -> Verdict {
        let rises = tail.low > 0.0 && tail.growth() >= MATERIAL * tail.level;
        // Growth that noise hides is not flat, and at a pace that matters no creep.
        if rises && !self.is_creep(whole, tail) {
            return self.unsettled(verdict, whole, tail);
        }
        verdict.creep = rises;
        let mostly = tail.growth() > MOSTLY * plateau.rise;
        // Ten times a run that has hardly begun is no horizon.
        let few = self.series.count() < growth::FEW_POINTS as u64;
        let short = self.axis == Axis::Time && whole.span() < growth::LEAST_SECONDS;
        if verdict.creep && mostly && (few || short) {
            verdict.evidence.push(evidence(
                "hardly begun",
                format!(
                    "it grows by {} over {}: too short a look to call it creep",
                    show_bytes(tail.growth()),
                    stretch(self.axis, tail.length())
                ),
            ));
            verdict.decides_at = Some(whole.last_x() + whole.span());
            verdict.evidence.push(turning("the same pace for longer"));
            return verdict;
        }
        let creeps = if verdict.creep {
            ": it creeps, too slowly to matter within ten times this run"
        } else {
            ""
        };
        verdict.evidence.push(evidence(
            "floor is flat",
            format!(
                "since {} ({}) its slope is at most {}{creeps}",
                place(self.axis, tail.from),
                stretch(self.axis, tail.length()),
                pace(self.axis, tail.high),
            ),
        ));
        let swing = Swing::of(whole);
        // A rise that is all creep has not ended: nothing to settle.
        let ended = !(verdict.creep && mostly);
        let class = self.class(&mut verdict, (whole, line), plateau, swing, epoch, ended);
        verdict.verdict = class;
        verdict.leaking = Some(false);
        if let Some(swing) = swing.filter(Swing::named) {
            if class != Class::Spikes {
                verdict.also.push(Class::Spikes);
            }
            verdict.evidence.push(evidence(
                "spikes",
                format!(
                    "excursions of up to {} over a floor of {} come down again",
                    show_bytes(swing.highest),
                    show_bytes(swing.level)
                ),
            ));
        }
        verdict.evidence.push(turning(&format!(
            "a floor that rises by more than {} from here",
            show_bytes((MATERIAL * tail.level).max(MATERIAL_NOISE * tail.noise))
        )));
        verdict
    }

    pub(super) fn class(
        &self,
        verdict: &mut Verdict,
        (whole, line): (&Line, &Line),
        plateau: Plateau,
        swing: Option<Swing>,
        epoch: Option<Epoch>,
        ended: bool,
    ) -> Class {
        let warm = settle::LEAST_RISE * plateau.level;
        let body = whole.from(whole.first_x() + whole.span() / 8.0);
        let late = body
            .ys
            .first()
            .is_some_and(|early| plateau.level - early > warm);
        if swing.is_some_and(|s| s.large()) && !late {
            return Class::Spikes;
        }
        if ended && plateau.rise > warm {
            let (at, slope) = plateau.knee(line);
            verdict.settled_at = Some(at);
            verdict.plateau = Some(plateau.level);
            let mut growth = Growth {
                from: line.xs[plateau.lowest],
                to: at,
                bytes: plateau.rise,
                driver: None,
                per_unit: None,
            };
            let spacing = whole.span() / (whole.len() - 1) as f64;
            if let Some(epoch) = epoch.filter(|e| e.ended_with(at, spacing)) {
                growth.driver = Some("new-example".to_owned());
                growth.per_unit = epoch.examples_per_step.map(|n| slope / n);
                verdict.evidence.push(evidence(
                    "growth ends at the epoch",
                    format!(
                        "growth stopped at {}; an epoch is {}",
                        place(self.axis, at),
                        epoch_length(self.axis, epoch.steps)
                    ),
                ));
                verdict.bound = Some(Bound {
                    kind: BoundKind::Epoch,
                    at: Some(epoch.end()),
                    bytes: Some(plateau.level),
                    certainty: Certainty::Exact,
                    why: self.epoch_in_words(epoch),
                });
            } else {
                verdict.evidence.push(evidence(
                    "growth ended",
                    format!(
                        "{} until {}, then level",
                        show_bytes(plateau.rise),
                        place(self.axis, at)
                    ),
                ));
            }
            verdict.growth = Some(growth);
            return Class::WarmUp;
        }
        if swing.is_some_and(|s| s.named()) {
            Class::Spikes
        } else {
            Class::Stable
        }
    }
}
