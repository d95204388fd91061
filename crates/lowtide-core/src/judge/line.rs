//! Rule "floor line": what the rules look at instead of samples. It is built from the buckets of a
//! [`Series`]: without start-up where marks tell it, without evaluation and saving where phases are
//! known, and with one low-water point per window of the axis.

use super::decide::Case;
use super::rule::Rule;
use super::words::stretch;
use crate::point::Context;
use crate::series::Series;
use crate::units::show_bytes;
use crate::verdict::Evidence;

pub const RULE: Rule = Rule::named("floor line");

/// Windows of the coarse line. Enough to place a knee within 2 % of the run, few enough that the
/// quadratic steps stay in microseconds.
const WINDOWS: usize = 64;

/// Below this many points a lone dip may be a good part of the line: it is neither smoothed nor taken for an
/// exit.
const SHORT: usize = 12;
/// An exit takes this part of the run at most (one point in so many) ...
const EXIT_SHARE: usize = 40;
/// ... and falls by this share below the floor of the part before it, one point in so many.
const EXIT_FALL: f64 = 0.1;
const BEFORE_EXIT: usize = 10;

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct FloorLine {
    pub xs: Vec<f64>,
    pub ys: Vec<f64>,
    pub crests: Vec<f64>,
}

impl FloorLine {
    pub(crate) fn len(&self) -> usize {
        self.xs.len()
    }

    pub(crate) fn first_x(&self) -> f64 {
        self.xs.first().copied().unwrap_or(0.0)
    }

    pub(crate) fn last_x(&self) -> f64 {
        self.xs.last().copied().unwrap_or(0.0)
    }

    pub(crate) fn span(&self) -> f64 {
        self.last_x() - self.first_x()
    }

    /// Its height at `x`; beyond its ends it goes on as it begins or ends there. None of less than two points.
    pub(crate) fn at(&self, x: f64) -> Option<f64> {
        let last = self.len().checked_sub(1).filter(|last| *last > 0)?;
        let to = self.xs.partition_point(|v| *v < x).clamp(1, last);
        let (x0, x1) = (self.xs[to - 1], self.xs[to]);
        let (y0, y1) = (self.ys[to - 1], self.ys[to]);
        Some(y0 + (x - x0) / (x1 - x0).max(f64::MIN_POSITIVE) * (y1 - y0))
    }

    /// The part from `x` on.
    pub(crate) fn from(&self, x: f64) -> FloorLine {
        let at = self.xs.partition_point(|v| *v < x);
        FloorLine {
            xs: self.xs[at..].to_vec(),
            ys: self.ys[at..].to_vec(),
            crests: self.crests[at..].to_vec(),
        }
    }

    /// The part before `x`.
    pub(crate) fn until(&self, x: f64) -> FloorLine {
        let at = self.xs.partition_point(|v| *v < x);
        FloorLine {
            xs: self.xs[..at].to_vec(),
            ys: self.ys[..at].to_vec(),
            crests: self.crests[..at].to_vec(),
        }
    }

    /// A process that ends hands everything back: a fall at the very end is no low-water mark. Returns
    /// how many points were cut. (In the middle of a run it may be a collection; the next points tell.)
    fn cut_exit(&mut self) -> usize {
        let n = self.len();
        let most = (n / EXIT_SHARE).max(1);
        if n < SHORT {
            return 0;
        }
        let before = &self.ys[n - most - n / BEFORE_EXIT - 1..n - most];
        let low = before.iter().copied().fold(f64::INFINITY, f64::min);
        let Some(fall) = (n - most..n).find(|i| self.ys[*i] < (1.0 - EXIT_FALL) * low) else {
            return 0;
        };
        self.xs.truncate(fall);
        self.ys.truncate(fall);
        self.crests.truncate(fall);
        n - fall
    }

    fn push(&mut self, x: f64, y: f64, crest: f64) {
        self.xs.push(x);
        self.ys.push(y);
        self.crests.push(crest);
    }

    /// One point per bucket.
    pub(crate) fn fine(series: &Series, context: &Context) -> (FloorLine, Trim) {
        let buckets = series.buckets();
        let trained = buckets.iter().filter(|b| b.train_floor.is_some()).count();
        let by_phase = trained * 2 >= buckets.len() && trained >= 2;
        let start = context.first_step.filter(|_| context.marked);
        let mut trim = Trim::default();
        let mut line = FloorLine::default();
        for bucket in buckets {
            if start.is_some_and(|x| bucket.last < x) {
                trim.start_up += 1;
                continue;
            }
            let floor = match bucket.train_floor {
                Some(floor) if by_phase => floor,
                None if by_phase => {
                    trim.phases += 1;
                    // Not the loop's floor, but an excursion over it all the same.
                    if let Some(crest) = line.crests.last_mut() {
                        *crest = crest.max(bucket.crest);
                    }
                    continue;
                }
                _ => bucket.floor,
            };
            let at = if floor == bucket.floor {
                bucket.floor_at
            } else {
                (bucket.first + bucket.last) / 2.0
            };
            line.push(at, floor, bucket.crest);
        }
        trim.exit = line.cut_exit();
        (line, trim)
    }

    /// The low-water mark of each window of equal width; short lines stay as they are.
    pub(crate) fn coarse(&self) -> FloorLine {
        if self.len() <= WINDOWS {
            return self.clone();
        }
        let (first, width) = (self.first_x(), self.span() / WINDOWS as f64);
        let mut line = FloorLine::default();
        let mut window = usize::MAX;
        for i in 0..self.len() {
            let at = (((self.xs[i] - first) / width) as usize).min(WINDOWS - 1);
            let last = line.len().wrapping_sub(1);
            if at != window {
                window = at;
                line.push(self.xs[i], self.ys[i], self.crests[i]);
            } else {
                if self.ys[i] < line.ys[last] {
                    line.ys[last] = self.ys[i];
                    line.xs[last] = self.xs[i];
                }
                line.crests[last] = line.crests[last].max(self.crests[i]);
            }
        }
        line
    }

    /// The same line without lone dips and bumps: each point is the middle one of three.
    pub(crate) fn smooth(&self) -> Vec<f64> {
        if self.len() < SHORT {
            return self.ys.clone();
        }
        let mut ys = self.ys.clone();
        for (middle, three) in ys[1..].iter_mut().zip(self.ys.windows(3)) {
            let (low, high) = (three[0].min(three[1]), three[0].max(three[1]));
            *middle = high.min(three[2]).max(low);
        }
        ys
    }
}

impl Case<'_> {
    /// What was looked at, in words.
    pub(super) fn floor_line(&self, line: &FloorLine) -> Evidence {
        // Who says where the start-up ends and where the spikes of evaluations and saves are.
        let told = |yes: bool| if yes { "the marks" } else { "the curve alone" };
        RULE.says(format!(
            "{} low-water points from {} samples over {}, {} to {}; where start-up ends is known from {}, where evaluations and saves are from {}",
            line.len(),
            self.series.count(),
            stretch(self.axis, line.span()),
            show_bytes(line.ys.first().copied().unwrap_or(0.0)),
            show_bytes(line.ys.last().copied().unwrap_or(0.0)),
            told(self.context.marked && self.context.first_step.is_some()),
            told(self.trim.phases > 0),
        ))
    }
}

/// What was left out of the line, in buckets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Trim {
    pub start_up: usize,
    pub phases: usize,
    pub exit: usize,
}

#[cfg(test)]
mod tests {
    use super::FloorLine;
    use crate::judge::testing::{grows_steadily, look};
    use crate::verdict::Axis;

    #[test]
    fn a_line_has_a_height_everywhere() {
        let mut line = FloorLine::default();
        assert_eq!(line.at(1.0), None);
        for (x, y) in [(20.0, 100.0), (30.0, 110.0), (50.0, 150.0)] {
            line.push(x, y, y);
        }
        let heights = [10.0, 20.0, 25.0, 40.0, 60.0].map(|x| line.at(x).unwrap());
        assert_eq!(heights, [90.0, 100.0, 105.0, 130.0, 170.0]);
    }

    /// Memory that is handed back at the end of the process is no low-water mark.
    #[test]
    fn the_exit_does_not_hide_a_leak() {
        let shape = |x: f64| if x < 594.0 { 1000.0 + 0.5 * x } else { 80.0 };
        grows_steadily(&look(Axis::Time, 600, shape));
    }

    #[test]
    fn every_verdict_begins_with_its_line() {
        let verdict = look(Axis::Time, 600, |_| 1000.0);
        assert!(super::RULE.said(&verdict.evidence[0]));
    }
}
