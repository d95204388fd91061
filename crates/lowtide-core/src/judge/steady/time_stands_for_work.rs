//! Rule "time stands for work": on a time axis nothing counts work, so time has to.

use super::lasting::Lasting;
use super::{GrowingEnd, Lack};
use crate::judge::rule::Rule;
use crate::judge::tail::Tail;
use crate::judge::words::{percent, stretch};
use crate::verdict::Axis;

pub(crate) const RULE: Rule = Rule::named("time stands for work");

/// Shorter growth is start-up. The straight fills at the start of the shared traces end within 90 s.
pub(crate) const LEAST_SECONDS: f64 = 75.0;
/// When that much was watched, growth that came after the start-up needs less, if it is straight: its
/// pace changes by less than `STRAIGHT` from end to end, surely. Start-ups that look so are short.
const STRAIGHT_SECONDS: f64 = 40.0;
const STRAIGHT: f64 = 0.35;
/// What would double the process within this time is filling it: such growth has to last that long.
/// No more, because a fast leak has to be told before it is over.
const MOST_SECONDS: f64 = 480.0;

pub(crate) fn lacks(growing: &GrowingEnd<'_>, tail: &Tail, lasting: &Lasting) -> Option<Lack> {
    let seconds = lasting.seconds(tail.to);
    (tail.length() < seconds).then(|| Lack {
        says: RULE.says(format!(
            "growth by {} was seen for {}; a store that fills looks the same, and {} would tell more",
            percent(lasting.size(tail.to)),
            stretch(growing.axis, tail.length()),
            stretch(growing.axis, seconds)
        )),
        decides_at: lasting.decides_at(growing.last()),
    })
}

impl Lasting {
    /// How long growth has to be seen, asked at `x`.
    pub(super) fn seconds(&self, x: f64) -> f64 {
        let straight = self.wavers <= STRAIGHT && x - self.first >= LEAST_SECONDS;
        let least = if straight {
            STRAIGHT_SECONDS
        } else {
            LEAST_SECONDS
        };
        match self.axis {
            Axis::Time => (MOST_SECONDS * self.size(x)).clamp(least, MOST_SECONDS),
            Axis::Step | Axis::Sample => 0.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::judge::testing::{grows_steadily, is_held_back_by, look};
    use crate::verdict::Axis;

    #[test]
    fn a_minute_of_growth_is_start_up() {
        let shape = |x: f64| 400.0 + x;
        is_held_back_by(&look(Axis::Time, 60, shape), RULE);
        grows_steadily(&look(Axis::Time, 120, shape));
    }

    /// After a start-up, straight growth needs less time; a fill that follows one is over sooner.
    #[test]
    fn straight_growth_after_a_start_up_needs_less_time() {
        let late = |x: f64| 100.0 + 0.5 * (x - 50.0).max(0.0);
        is_held_back_by(&look(Axis::Time, 85, late), RULE);
        grows_steadily(&look(Axis::Time, 105, late));
    }

    /// What doubles a process in minutes fills it, until it went on for eight of them.
    #[test]
    fn a_fast_leak_is_told_after_a_bounded_while() {
        let shape = |x: f64| 600.0 + 4.0 * x;
        is_held_back_by(&look(Axis::Time, 300, shape), RULE);
        grows_steadily(&look(Axis::Time, 600, shape));
        grows_steadily(&look(Axis::Time, 900, |x| 350.0 + x));
    }
}
