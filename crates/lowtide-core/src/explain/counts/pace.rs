//! How many per unit, with what the counting may be off by, in words: `one a step` is said only where
//! nothing else fits.

use crate::judge::words::unit;
use crate::units::three_significant;

/// A count that many blocks of the same size are part of for a moment (activations, a batch under way) is
/// off by as much; a look hits them at random. Growth itself is never known better than this.
const IN_USE: f64 = 0.01;
/// Blocks that a look may hit in passing, at least.
const PASSING: f64 = 2.0;
/// Wider than this share of itself, a pace says nothing.
const VAGUE: f64 = 0.25;
/// A whole number is named where the interval around it is this narrow, and holds no other.
const NARROW: f64 = 0.05;

/// Per unit, with its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Pace {
    pub value: f64,
    pub low: f64,
    pub high: f64,
}

/// A count at one look: between these two, after so many units.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Counted {
    pub units: f64,
    pub least: f64,
    pub most: f64,
}

impl Counted {
    pub(crate) fn exactly(units: f64, count: f64) -> Counted {
        Counted {
            units,
            least: count,
            most: count,
        }
    }

    fn middle(self) -> f64 {
        (self.least + self.most) / 2.0
    }
}

impl Pace {
    /// From the first look to the last; those between tell how far a look is off the line. `grain` is how
    /// far the units themselves may be off.
    pub(crate) fn of(looks: &[Counted], grain: f64) -> Option<Pace> {
        let (first, last) = (looks.first()?, looks.last()?);
        let units = last.units - first.units;
        let value = (last.middle() - first.middle()) / units;
        if units <= 2.0 * grain || value <= 0.0 || !value.is_finite() {
            return None;
        }
        let off = |at: &Counted| {
            let line = first.middle() + value * (at.units - first.units);
            (at.middle() - line).abs() - value * grain
        };
        let off = looks.iter().map(off).fold(PASSING, f64::max);
        let low = (last.least - first.most - off) / (units + grain);
        let high = (last.most - first.least + off) / (units - grain);
        Some(Pace {
            value,
            low: low.min(value * (1.0 - IN_USE)),
            high: high.max(value * (1.0 + IN_USE)),
        })
    }

    pub(crate) fn agrees_with(&self, other: &Pace) -> bool {
        self.low <= other.high && other.low <= self.high
    }

    /// The whole number that is meant, if there is just one.
    fn whole(low: f64, high: f64) -> Option<f64> {
        let middle = (low + high) / 2.0;
        let narrow = (high - low) / 2.0 <= NARROW * middle;
        (narrow && low.ceil() == high.floor() && low.ceil() >= 1.0).then(|| low.ceil())
    }

    /// `one a step`, `two per evaluation`, `one every 4 steps`, `1.3 to 1.5 a step`. None where the looks
    /// leave too much open.
    pub(crate) fn in_words(&self, driver: &str) -> Option<String> {
        if self.low <= 0.0 || (self.high - self.low) / 2.0 > VAGUE * self.value {
            return None;
        }
        let each = match driver {
            "step" => "a step".to_owned(),
            "time" => "a second".to_owned(),
            other => format!("per {}", unit(other)),
        };
        // A second is no work of the loop's: that it is a whole number says nothing.
        if driver != "time" {
            if let Some(count) = Pace::whole(self.low, self.high) {
                return Some(format!("{} {each}", spelled(count)));
            }
            if let Some(count) = Pace::whole(1.0 / self.high, 1.0 / self.low) {
                return Some(format!("one every {count:.0} {}s", unit(driver)));
            }
        }
        let (low, high) = (three_significant(self.low), three_significant(self.high));
        Some(format!("{low} to {high} {each}"))
    }
}

fn spelled(count: f64) -> String {
    const WORDS: [&str; 6] = ["one", "two", "three", "four", "five", "six"];
    let word = (count as usize).checked_sub(1).and_then(|n| WORDS.get(n));
    word.map_or_else(|| format!("{count:.0}"), |word| (*word).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn looks(of: &[(f64, f64)]) -> Vec<Counted> {
        of.iter().map(|(u, n)| Counted::exactly(*u, *n)).collect()
    }

    fn said(of: &[(f64, f64)], driver: &str) -> Option<String> {
        Pace::of(&looks(of), 1.0)?.in_words(driver)
    }

    #[test]
    fn a_whole_number_is_named_where_no_other_fits() {
        for (more, units, driver, words) in [
            (1899.0, 1888.0, "step", "one a step"),
            (3780.0, 1888.0, "step", "two a step"),
            (30_200.0, 1888.0, "step", "16 a step"),
            (472.0, 1888.0, "step", "one every 4 steps"),
            (120.0, 120.0, "evaluation", "one per evaluation"),
            (640.0, 640.0, "new-example", "one per new example"),
            (300.0, 100.0, "epoch", "three per epoch"),
            // Between two numbers, too many to tell one from the next, and the clock.
            (2644.0, 1888.0, "step", "1.39 to 1.41 a step"),
            (188_800.0, 1888.0, "step", "99.0 to 101 a step"),
            (188.8, 188.8, "time", "0.984 to 1.02 a second"),
        ] {
            let of = [(3.0, 7.0), (3.0 + units, 7.0 + more)];
            assert_eq!(
                said(&of, driver).as_deref(),
                Some(words),
                "{more} in {units}"
            );
        }
    }

    #[test]
    fn few_looks_far_between_say_less() {
        // Ten of them: the look may have hit two in passing, and be a step off.
        assert_eq!(said(&[(0.0, 0.0), (10.0, 10.0)], "step"), None);
        let some = said(&[(0.0, 0.0), (40.0, 40.0)], "step");
        assert_eq!(some.as_deref(), Some("0.927 to 1.08 a step"));
        // Fewer, or no time between them.
        assert_eq!(said(&[(0.0, 9.0), (900.0, 3.0)], "step"), None);
        assert_eq!(said(&[(5.0, 1.0), (5.0, 900.0)], "step"), None);
        assert_eq!(said(&[(5.0, 1.0)], "step"), None);
    }

    #[test]
    fn what_comes_in_stairs_is_not_one_a_step() {
        let stairs = [(0.0, 0.0), (450.0, 0.0), (500.0, 1000.0), (1000.0, 1000.0)];
        assert_eq!(said(&stairs, "step"), None);
        let mut vague = looks(&[(0.0, 0.0), (1000.0, 1000.0)]);
        vague[0].most = 400.0;
        assert_eq!(
            Pace::of(&vague, 1.0).and_then(|pace| pace.in_words("step")),
            None
        );
    }

    #[test]
    fn paces_agree_where_their_intervals_meet() {
        let of = |more: f64| Pace::of(&looks(&[(0.0, 0.0), (1000.0, more)]), 1.0).unwrap();
        assert!(of(1000.0).agrees_with(&of(1015.0)));
        assert!(!of(1000.0).agrees_with(&of(2000.0)));
    }
}
