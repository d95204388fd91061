//! The fields that every verdict has, whatever the rules find: the blank one, its rate, and whether memory
//! lasts until it will be decided. The rules fill in the rest.

use super::decide::Case;
use super::limit;
use super::line::FloorLine;
use super::tail::Tail;
use crate::verdict::{Class, Floor, Rate, SCHEMA, Verdict};

/// What a quiet process drifts by itself during a run, as a share of its level: the interval of a rate
/// is that much wider. The plateaus of the shared benign logs drift by 0.2 to 1.2 %.
pub(crate) const DRIFT: f64 = 0.01;

/// By so much the interval of what rises is wider than the line alone makes it: growth is uneven in ways that residuals do not show (a
/// second store, rounds, sizes of all orders). Without it, 89 % of the zoo's generated leaks had their rate in it instead of 95.
const WIDER: f64 = 1.7;
/// From so many points on; with fewer, Student's t makes it wide enough.
const MANY: usize = 12;

impl Case<'_> {
    pub(super) fn blank(&self, line: &FloorLine) -> Verdict {
        let last = line.ys.last().copied().unwrap_or(0.0);
        Verdict {
            schema: SCHEMA,
            source: String::new(),
            verdict: Class::TooEarly,
            leaking: None,
            confidence: None,
            basis: None,
            growing: false,
            steady: false,
            process: None,
            meter: self.series.meter,
            axis: self.axis,
            floor: Floor {
                first: line.ys.first().copied().unwrap_or(0.0),
                last,
            },
            rate: Rate {
                value: 0.0,
                low: 0.0,
                high: 0.0,
                unit: self.axis.rate_unit().to_owned(),
                per_minute: None,
            },
            growth: None,
            settled_at: None,
            plateau: None,
            predicted_plateau: None,
            creep: false,
            also: Vec::new(),
            limit: self.limit,
            headroom: self.limit.map(|limit| limit - last),
            oom: None,
            decides_at: None,
            safe_until_then: None,
            bound: None,
            outlook: None,
            evidence: vec![self.floor_line(line)],
            suspects: Vec::new(),
            lost: None,
        }
    }

    /// The rate by the median of slopes, which single wild windows do not move.
    pub(super) fn tell_rate(
        &self,
        verdict: &mut Verdict,
        line: &FloorLine,
        mut tail: Tail,
    ) -> Tail {
        let by_squares = tail;
        tail.by_median(line);
        // Of stairs most pairs of points show nothing: what rises has a rate all the same.
        if by_squares.low > 0.0 && tail.low <= 0.0 {
            tail = by_squares;
        }
        let drift = DRIFT * tail.level_end.abs() / line.span();
        let wider = if tail.low > 0.0 && tail.points >= MANY {
            WIDER
        } else {
            1.0
        };
        tail.low = tail.slope - wider * (tail.slope - tail.low) - drift;
        tail.high = tail.slope + wider * (tail.high - tail.slope) + drift;
        verdict.rate.value = tail.slope;
        verdict.rate.low = tail.low;
        verdict.rate.high = tail.high;
        verdict.rate.per_minute = limit::pace(self.series).map(|pace| tail.slope / pace * 60.0);
        tail
    }

    /// Whether the crest stays below the limit until then, at the highest pace that the interval allows.
    pub(super) fn safe(&self, whole: &FloorLine, tail: &Tail, until: Option<f64>) -> Option<bool> {
        let ahead = (until? - tail.to).max(0.0);
        let crest = limit::newest_crest(whole) + tail.high.max(0.0) * ahead;
        Some(crest < self.limit?)
    }
}
