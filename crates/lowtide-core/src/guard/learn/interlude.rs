//! What a save or an evaluation takes on top of the floor.

use crate::units::Micros;

/// Ticks in it that show its height.
const ENOUGH_TICKS: u32 = 2;

/// One that goes on, or whose peak the next tick will show.
#[derive(Clone, Copy, Debug)]
pub(super) struct Interlude {
    since: Micros,
    /// The floor before it, as far as that was known; the lowest level since.
    floor: Option<f64>,
    low: f64,
    /// The highest that was surely in it, and the highest that may have been.
    high: f64,
    crest: f64,
    /// A peak leaves no trace where there was a higher one before.
    shows: bool,
    ticks: u32,
}

impl Interlude {
    pub(super) fn begin(since: Micros, floor: Option<f64>) -> Interlude {
        Interlude {
            since,
            floor,
            low: f64::INFINITY,
            high: 0.0,
            crest: 0.0,
            shows: false,
            ticks: 0,
        }
    }

    /// A tick in it, and the peak since the last one, if that was the highest so far.
    pub(super) fn see(&mut self, used: f64, peak: Option<f64>) {
        let crest = peak.unwrap_or(used);
        // The peak since the last tick may be that of the step before.
        let sure = if self.ticks > 0 { crest } else { used };
        self.low = self.low.min(used);
        self.high = self.high.max(sure);
        self.crest = self.crest.max(crest);
        self.shows |= peak.is_some();
        self.ticks += 1;
    }

    /// The first tick after it. With few ticks in it its peak may show here, and further steps with it.
    pub(super) fn see_after(&mut self, used: f64, peak: Option<f64>) {
        self.low = self.low.min(used);
        if self.ticks < ENOUGH_TICKS {
            self.crest = self.crest.max(peak.unwrap_or(used));
            self.shows |= peak.is_some();
        }
    }

    pub(super) fn was_seen(&self) -> bool {
        self.crest > 0.0
    }

    pub(super) fn seconds(&self, until: Micros) -> f64 {
        until.since(self.since).seconds()
    }

    /// It was cut off at this level.
    pub(super) fn cut_off(&self, level: f64) -> Option<Height> {
        Some(Height {
            least: (level - self.floor?).max(0.0),
            most: f64::INFINITY,
        })
    }

    /// The floor that it began at is somewhere between the last one that was seen and the lowest level since.
    pub(super) fn height(&self) -> Height {
        let floor = self.floor.unwrap_or(self.low).min(self.low);
        let shows = self.shows || self.ticks >= ENOUGH_TICKS;
        Height {
            least: (self.high - self.low).max(0.0),
            most: if shows {
                (self.crest - floor).max(0.0)
            } else {
                f64::INFINITY
            },
        }
    }
}

/// How high they go above the floor, from all that were seen.
#[derive(Clone, Copy, Debug)]
pub(super) struct Height {
    /// One of them went that high.
    least: f64,
    /// One of them went no higher.
    most: f64,
}

impl Height {
    pub(super) fn and(known: Option<Height>, seen: Height) -> Height {
        known.map_or(seen, |known| Height {
            least: known.least.max(seen.least),
            most: known.most.min(seen.most),
        })
    }

    /// One of them has shown how high it went.
    pub(super) fn is_bounded(&self) -> bool {
        self.most.is_finite()
    }

    /// What the next one is to be expected to take.
    pub(super) fn expected(&self) -> f64 {
        if self.is_bounded() {
            self.least.max(self.most)
        } else {
            self.least
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(floor: f64, ticks: &[(f64, Option<f64>)], after: (f64, Option<f64>)) -> Height {
        let mut interlude = Interlude::begin(Micros(0), Some(floor));
        for (used, peak) in ticks {
            interlude.see(*used, *peak);
        }
        interlude.see_after(after.0, after.1);
        interlude.height()
    }

    #[test]
    fn a_peak_between_ticks_is_its_height() {
        let height = one(400.0, &[], (400.0, Some(476.0)));
        assert_eq!(height.expected(), 76.0);
    }

    #[test]
    fn one_whose_peak_is_hidden_by_a_higher_one_says_nothing() {
        let shown = one(400.0, &[], (400.0, Some(476.0)));
        let hidden = one(400.0, &[(401.0, None)], (400.0, None));
        assert!(!hidden.is_bounded());
        assert_eq!(Height::and(Some(shown), hidden).expected(), 76.0);
    }

    #[test]
    fn a_rise_beside_it_is_told_apart_by_the_next() {
        // 200 MB came with the step before it, between the last tick and this one.
        let first = one(400.0, &[], (600.0, Some(610.0)));
        assert_eq!(first.expected(), 210.0);
        let second = one(600.0, &[], (600.0, Some(612.0)));
        assert_eq!(Height::and(Some(first), second).expected(), 12.0);
    }

    #[test]
    fn what_was_seen_inside_is_the_least() {
        let small = one(400.0, &[], (400.0, Some(405.0)));
        let large = one(400.0, &[(410.0, None), (520.0, Some(530.0))], (400.0, None));
        assert_eq!(Height::and(Some(small), large).expected(), 130.0);
    }

    #[test]
    fn the_peak_of_the_step_before_is_not_its_own() {
        let height = one(400.0, &[(402.0, Some(590.0)), (403.0, None)], (400.0, None));
        assert_eq!(height.least, 3.0);
    }
}
