//! Floors that do not rise: flat, settled, full, or not shown to be any of these.

pub(super) mod ends_at_epoch;
pub(super) mod flatness_not_shown;
pub(super) mod floor_is_flat;
pub(super) mod growth_ended;
pub(super) mod memory_full;
pub(super) mod plateau;
pub(super) mod spikes;

use super::decide::Case;
use super::epoch::Epoch;
use super::floor_grows::{MATERIAL, material};
use super::line::FloorLine;
use super::tail::Tail;
use super::would_change;
use crate::units::show_bytes;
use crate::verdict::{Class, Growth, Verdict};
use plateau::Plateau;
use spikes::Swing;

/// Creep that makes up this share of all growth is the growth, not what is left of it.
const MOSTLY: f64 = 0.25;

/// An end with this share of the whole line's mean pace goes on; one that settles has less.
const AS_STEEP: f64 = 0.5;

/// An end that rises by too little to matter, while the line rose at its pace all along, and by enough: a short end of
/// a slope is no plateau. Nine readings that rose by 2.5 % in a straight line were called stable (`fixtures/files/nvidia-smi-table-loop.txt`).
fn climbs_all_along(whole: &FloorLine, tail: &Tail) -> bool {
    let (Some(first), Some(last)) = (whole.ys.first(), whole.ys.last()) else {
        return false;
    };
    let rise = last - first;
    rise >= MATERIAL * tail.level && tail.slope * whole.span() >= rise * AS_STEEP
}

impl Case<'_> {
    /// The verdict on a floor whose end is flat.
    pub(super) fn settled(
        &self,
        mut verdict: Verdict,
        (whole, line): (&FloorLine, &FloorLine),
        tail: &Tail,
        plateau: Plateau,
        epoch: Option<Epoch>,
    ) -> Verdict {
        let rises = tail.low > 0.0
            && (tail.growth() >= MATERIAL * tail.level || climbs_all_along(whole, tail));
        // Growth that noise hides is not flat, and at a pace that matters no creep.
        if rises && !self.is_creep(whole, tail) {
            return self.unsettled(verdict, whole, tail);
        }
        verdict.creep = rises;
        let all_creep = verdict.creep && tail.growth() > MOSTLY * plateau.rise;
        if all_creep && self.too_short_for_creep(whole) {
            return self.creep_or_growth(verdict, whole, tail);
        }
        verdict
            .evidence
            .push(floor_is_flat::says(self.axis, tail, verdict.creep));
        let swing = Swing::of(whole);
        let late = self.rose_late(whole, &plateau);
        let class = if swing.is_some_and(|swing| swing.large()) && !late {
            Class::Spikes
        } else if !all_creep && plateau.rise > plateau.least_rise() {
            // A rise that is all creep has not ended: nothing to settle.
            self.tell_end(&mut verdict, (whole, line), &plateau, epoch);
            Class::WarmUp
        } else if swing.is_some_and(|swing| swing.named()) {
            Class::Spikes
        } else {
            Class::Stable
        };
        verdict.verdict = class;
        verdict.leaking = Some(false);
        if let Some(swing) = swing.filter(Swing::named) {
            if class != Class::Spikes {
                verdict.also.push(Class::Spikes);
            }
            verdict.evidence.push(swing.says());
        }
        verdict.evidence.push(would_change::by(format!(
            "a floor that rises by more than {} from here",
            show_bytes(material(tail))
        )));
        verdict
    }

    /// Most of a warm-up came after the start-up.
    fn rose_late(&self, whole: &FloorLine, plateau: &Plateau) -> bool {
        let early = spikes::body(whole).ys.first().copied();
        early.is_some_and(|early| plateau.level - early > plateau.least_rise())
    }

    /// Where the growth before the plateau ended, and whether that was the end of an epoch.
    fn tell_end(
        &self,
        verdict: &mut Verdict,
        (whole, line): (&FloorLine, &FloorLine),
        plateau: &Plateau,
        epoch: Option<Epoch>,
    ) {
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
        match epoch.filter(|epoch| ends_at_epoch::ended_with(epoch, at, spacing)) {
            Some(epoch) => {
                self.ends_with_the_epoch(verdict, &mut growth, plateau, slope, epoch);
            }
            None => verdict
                .evidence
                .push(growth_ended::says(self.axis, plateau, at)),
        }
        verdict.growth = Some(growth);
    }
}
