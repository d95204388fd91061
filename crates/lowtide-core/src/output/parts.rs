//! The length of an epoch from parts of it: `epoch 0.31` at step 25. Later prints are better, since
//! what was rounded away weighs less.

use super::epoch::EpochReading;

/// An epoch printed with two digits is off by up to 0.005: from a tenth of an epoch on that is
/// within 5 % of its length, well inside what the judge waits beyond the end of an epoch (25 %).
const CLOSE: f64 = 0.05;

/// The first print is believed alone when it is no later than this. A counter that began anew in a
/// resumed run while its epochs go on gives a length that is too short; so early, the next print,
/// which shows it, comes before the end that was foretold. Later ones wait for that second print.
const BELIEVED_ALONE: f64 = 0.6;

/// How far two prints must be apart for their difference to confirm a length: as with [`CLOSE`].
const APART: f64 = 0.1;

/// And in what was rounded away of both, at least: closer prints say more of rounding than of the length.
const CLEAR_OF_ROUNDING: f64 = 4.0;

/// A part of an epoch as printed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct EpochPart {
    pub epoch: f64,
    /// Half a unit of its last digit.
    pub half: f64,
}

impl EpochPart {
    /// `digits` stand behind the point.
    pub(super) fn new(epoch: f64, digits: usize) -> EpochPart {
        EpochPart {
            epoch,
            half: 0.5 * 10f64.powi(-(digits.min(12) as i32)),
        }
    }
}

#[derive(Debug)]
pub(super) struct EpochParts {
    first: Option<(u64, u64, EpochPart)>,
    last: f64,
    /// What all prints together allow.
    low: f64,
    high: f64,
    best: Option<(f64, f64)>,
    confirmed: bool,
    broken: bool,
}

impl Default for EpochParts {
    fn default() -> EpochParts {
        EpochParts {
            first: None,
            last: 0.0,
            low: 0.0,
            high: f64::INFINITY,
            best: None,
            confirmed: false,
            broken: false,
        }
    }
}

impl EpochParts {
    /// `part` was printed when between `from` and `to` steps were done.
    pub(super) fn see(&mut self, from: u64, to: u64, part: EpochPart) {
        let EpochPart { epoch, half } = part;
        if to == 0 || epoch <= half || from > to {
            return;
        }
        // Loops count from 0 or from 1, and the epoch with the step or before it: one step either way.
        let (low, high) = (from.saturating_sub(1) as f64, to as f64 + 1.0);
        self.low = self.low.max(low / (epoch + half));
        self.high = self.high.min(high / (epoch - half));
        self.broken |= self.low > self.high || epoch + 2.0 * half < self.last;
        self.last = epoch;
        let unsure = half / epoch + (to - from) as f64 / to as f64;
        if unsure <= CLOSE + 1e-9 && self.best.is_none_or(|(before, _)| unsure <= before) {
            self.best = Some((unsure, to as f64 / epoch));
        }
        let Some((first_from, first_to, first)) = self.first else {
            self.first = Some((from, to, part));
            return;
        };
        let (apart, off) = (epoch - first.epoch, half + first.half);
        if let Some((_, length)) = self.best
            && apart >= APART.max(CLEAR_OF_ROUNDING * off)
        {
            let least = (low - first_to as f64).max(0.0) / (apart + off);
            let most = (high - first_from as f64).max(0.0) / (apart - off);
            self.confirmed = true;
            self.broken |= length < least || length > most;
        }
    }

    pub(super) fn reading(&self) -> Option<EpochReading> {
        let (_, _, first) = self.first.filter(|_| !self.broken)?;
        let sure = self.confirmed || first.epoch <= BELIEVED_ALONE;
        Some(EpochReading {
            value: self
                .best
                .filter(|_| sure)
                .map(|(_, length)| length.clamp(self.low, self.high)),
            low: if sure { self.low } else { 0.0 },
            high: if sure { self.high } else { f64::INFINITY },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn length(prints: &[(u64, f64)]) -> Option<f64> {
        let mut parts = EpochParts::default();
        for (step, epoch) in prints {
            parts.see(*step, *step, EpochPart::new(*epoch, 2));
        }
        parts.reading()?.value
    }

    #[test]
    fn later_prints_are_better() {
        assert_eq!(length(&[(25, 0.31)]), Some(25.0 / 0.31));
        assert_eq!(length(&[(25, 0.31), (80, 0.98)]), Some(80.0 / 0.98));
        assert_eq!(length(&[(4, 0.05)]), None, "5 steps or 3");
        assert_eq!(length(&[(8, 0.1)]), Some(80.0));
    }

    #[test]
    fn a_step_that_does_not_go_with_its_epoch_is_no_length() {
        // Epochs go on after a checkpoint, steps begin anew.
        assert_eq!(length(&[(10, 3.12)]), None);
        assert_eq!(length(&[(10, 3.12), (20, 3.24)]), None);
        assert_eq!(length(&[(10, 0.62), (20, 0.74)]), None);
        assert_eq!(length(&[(10, 0.55), (20, 0.67)]), None);
        // Both go on.
        assert_eq!(length(&[(740, 8.92)]), None);
        let resumed = length(&[(740, 8.92), (750, 9.04)]).unwrap();
        assert!((resumed - 83.0).abs() < 0.2, "{resumed}");
    }
}
