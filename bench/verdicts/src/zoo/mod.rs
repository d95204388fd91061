//! Behaviours by mechanism: series whose truth is known because they were drawn, by the thousand. What a
//! job keeps comes from how training jobs are, never from the rules that are scored on it.

pub mod chance;
pub mod generate;
pub mod prior;
#[cfg(test)]
mod tests;

use lowtide_core::point::{Context, Point};
use lowtide_core::verdict::Axis;

pub use generate::setting::Setting;
pub use generate::shape::Shape;

use crate::stats::Random;
use chance::Chance;

/// A series whose truth is known because it was drawn.
#[derive(Clone, Debug, PartialEq)]
pub struct Drawn {
    pub kind: &'static str,
    pub family: &'static str,
    /// Draws the same case again, by [`one`].
    pub seed: u64,
    /// It never ends.
    pub leak: bool,
    /// x from which on it leaks.
    pub onset: Option<f64>,
    /// x at which harmless growth has ended for good, if within the run: with the first tooth of growth
    /// that is given back, with the start-up where nothing else grows. Growth that fades has ended when
    /// less than [`prior::NEGLIGIBLE`] is left to come.
    pub settles: Option<f64>,
    /// Length on the axis of harmless growth from begin to end, also beyond the run; none where nothing
    /// grows.
    pub fills_in: Option<f64>,
    /// Bytes per unit of the axis, of a leak alone, from its onset on; the mean where it is uneven.
    pub rate: Option<f64>,
    pub axis: Axis,
    pub points: Vec<Point>,
    /// What a watch knew at the end of the run: [`Drawn::until`] has what it knew before.
    pub context: Context,
    /// By their length on the step axis, and by their ends on the time axis, which knows no steps.
    pub knows_epochs: bool,
    pub seconds_per_step: f64,
}

impl Drawn {
    /// The first `count` points, and what was known when the last of them came.
    pub fn until(&self, count: usize) -> (&[Point], Context) {
        let points = &self.points[..count.min(self.points.len())];
        let now = points.last().map_or(f64::NEG_INFINITY, |point| point.x);
        let mut context = self.context.clone();
        context.epoch_ends.retain(|x| *x <= now);
        context.rounds.retain(|round| round.x <= now);
        (points, context)
    }
}

/// One behaviour of a family.
pub struct Kind {
    pub name: &'static str,
    pub family: &'static str,
    pub leak: bool,
    /// None where the setting does not suit it (no evaluations, say): another is drawn then.
    pub draw: fn(&Setting, &mut Random) -> Option<Shape>,
}

/// `per_kind` of every kind; the prior scales how long stores take to fill (1.0: as drawn; 10.0: ten times
/// longer).
pub fn draw(per_kind: usize, seed: u64, prior_scale: f64) -> Vec<Drawn> {
    let mut cases = Vec::with_capacity(per_kind * generate::kinds().count());
    for kind in generate::kinds() {
        let mut seeds = Random(seed ^ hash(kind.name));
        cases.extend((0..per_kind).map(|_| one(kind, seeds.fork().0, prior_scale)));
    }
    cases
}

/// One case, the same whenever the seed and the scale are.
pub fn one(kind: &Kind, seed: u64, prior_scale: f64) -> Drawn {
    generate::render::render(kind, seed, prior_scale).drawn
}

/// FNV-1a: kinds draw apart from each other, and a new one moves none of the old.
fn hash(name: &str) -> u64 {
    name.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
