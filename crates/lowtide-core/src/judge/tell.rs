//! From what the rules found to the verdict that everybody sees: the fields, and the evidence in words.
//! `decide` hands over the case; nothing is decided here that a rule did not decide.

use super::ending::{Ending, Knowledge};
use super::epoch::Epoch;
use super::growth::Missing;
use super::line::Line;
use super::rounds::Rounds;
use super::tail::Tail;
use super::words::{evidence, pace, percent, place, stretch, turning};
use super::{Case, DRIFT, LEAST_POINTS, limit};
use crate::units::show_bytes;
use crate::verdict::{Axis, Class, Evidence, Floor, Growth, Rate, SCHEMA, Verdict};

/// Evidence lines about what is missing, at most: the first ones weigh most.
const MOST_MISSING: usize = 3;

impl Case<'_> {
    pub(super) fn blank(&self, line: &Line) -> Verdict {
        let last = line.ys.last().copied().unwrap_or(0.0);
        Verdict {
            schema: SCHEMA,
            source: String::new(),
            verdict: Class::TooEarly,
            leaking: None,
            confidence: None,
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
        }
    }

    fn floor_line(&self, line: &Line) -> Evidence {
        let told = |yes: bool| {
            if yes {
                "told by marks"
            } else {
                "taken from the curve"
            }
        };
        let seen = format!(
            "{} low-water points from {} samples over {}, {} to {}; start-up is {}, evaluation and saving are {}",
            line.len(),
            self.series.count(),
            stretch(self.axis, line.span()),
            show_bytes(line.ys.first().copied().unwrap_or(0.0)),
            show_bytes(line.ys.last().copied().unwrap_or(0.0)),
            told(self.context.marked && self.context.first_step.is_some()),
            told(self.trim.phases > 0),
        );
        evidence("floor line", seen)
    }

    pub(super) fn too_few(
        &self,
        mut verdict: Verdict,
        points: usize,
        epoch: Option<Epoch>,
    ) -> Verdict {
        verdict.evidence.push(evidence(
            "few points",
            format!("{points} points of the floor; nothing is decided below {LEAST_POINTS}"),
        ));
        verdict.decides_at = epoch.map(|epoch| epoch.seen_at());
        verdict
            .evidence
            .push(turning("more points, over more of the run's work"));
        verdict
    }

    pub(super) fn hardly_begun(&self, mut verdict: Verdict) -> Verdict {
        verdict.evidence.push(evidence(
            "hardly begun",
            format!(
                "{} and some seconds; nothing is decided before there is more to compare",
                stretch(self.axis, self.fine.span())
            ),
        ));
        verdict.evidence.push(turning("some more seconds"));
        verdict
    }

    /// The rate by the median of slopes, which single wild windows do not move.
    pub(super) fn tell_rate(&self, verdict: &mut Verdict, line: &Line, mut tail: Tail) -> Tail {
        let by_squares = tail;
        tail.by_median(line);
        // Of stairs most pairs of points show nothing: what rises has a rate all the same.
        if by_squares.low > 0.0 && tail.low <= 0.0 {
            tail = by_squares;
        }
        let drift = DRIFT * tail.level_end.abs() / line.span();
        tail.low -= drift;
        tail.high += drift;
        verdict.rate.value = tail.slope;
        verdict.rate.low = tail.low;
        verdict.rate.high = tail.high;
        verdict.rate.per_minute = limit::pace(self.series).map(|pace| tail.slope / pace * 60.0);
        tail
    }

    pub(super) fn growing(
        &self,
        mut verdict: Verdict,
        (whole, line): (&Line, &Line),
        tail: &Tail,
        epoch: Option<Epoch>,
        missing: Missing,
    ) -> Verdict {
        verdict.evidence.push(evidence(
            "floor grows",
            format!(
                "{} since {}: {} (95 % interval {} to {})",
                show_bytes(tail.growth()),
                place(self.axis, tail.from),
                pace(self.axis, tail.slope),
                pace(self.axis, tail.low),
                pace(self.axis, tail.high)
            ),
        ));
        verdict.growth = Some(Growth {
            from: tail.from,
            to: tail.to,
            bytes: tail.growth(),
            driver: Some(self.axis.to_string()),
            per_unit: Some(tail.slope),
        });
        if let Some(limit) = self.limit {
            let crest = limit::newest_crest(whole);
            let last = self.series.buckets().last().map_or(tail.to, |b| b.last);
            let oom = limit::forecast(tail, (last, crest), limit, limit::pace(self.series));
            verdict.oom = oom.filter(|oom| self.end().is_none_or(|end| oom.at <= end));
        }
        verdict.growing = true;
        verdict.steady = missing.says.is_empty();
        if let Some(reserve) = self.touched() {
            return self.under_way(verdict, reserve);
        }
        if let Some(epoch) = epoch.filter(|epoch| tail.to < epoch.seen_at()) {
            return self.within_epoch(verdict, whole, tail, epoch);
        }
        let (says, decides_at) = match (self.ending((whole, line), tail, epoch), verdict.steady) {
            (Ending::Passed(why), true) => {
                verdict.evidence.push(why);
                return self.leak(verdict, whole, tail);
            }
            (Ending::Open { says, decides_at }, true) => (vec![says], decides_at),
            (Ending::Passed(_), false) => (missing.says, missing.decides_at),
            // A clearer shape decides nothing while no end is known.
            (Ending::Open { decides_at: at, .. }, false) => {
                let both = missing.decides_at.zip(at).map(|(a, b)| a.max(b));
                (missing.says, both)
            }
        };
        verdict.evidence.extend(says.into_iter().take(MOST_MISSING));
        verdict.decides_at = decides_at;
        verdict.safe_until_then = self.safe(whole, tail, decides_at);
        verdict.evidence.push(turning(match epoch {
            Some(_) => "a floor that stays level makes it a warm-up; growth that outlasts an epoch a leak",
            None => "a first pass over the data or a store that fills looks the same; a floor that stays level makes it a warm-up; the length of an epoch would decide it sooner (printed by the job, or told to `lowtide judge --epoch-steps N`)",
        }));
        verdict
    }

    /// What is known of the end of growth that is steady.
    pub(super) fn ending(
        &self,
        (whole, line): (&Line, &Line),
        tail: &Tail,
        epoch: Option<Epoch>,
    ) -> Ending {
        if let Some(reserve) = self.explains() {
            return Ending::Open {
                says: evidence(
                    "reserved memory is full",
                    format!(
                        "{}; the floor is past {}, where that ends",
                        reserve.why,
                        show_bytes(reserve.end)
                    ),
                ),
                decides_at: None,
            };
        }
        let mut rounds = self.context.rounds.clone();
        rounds.extend(epoch.into_iter().flat_map(|epoch| epoch.ends(tail.to)));
        // Of teeth only the valleys are a floor; else the finest line tells rounds apart best.
        let floor = match std::ptr::eq(whole, line) {
            true => &self.fine,
            false => line,
        };
        let rounds = Rounds::of_any(floor, tail, &rounds, &self.context.kept);
        let known = Knowledge {
            axis: self.axis,
            line,
            epoch,
            rounds: rounds.as_ref(),
            pace: limit::pace(self.series),
        };
        known.ending(tail)
    }

    /// Three to five points that rise: a rate, and what is known of the end.
    pub(super) fn few_that_rise(
        &self,
        mut verdict: Verdict,
        whole: &Line,
        tail: Tail,
        epoch: Option<Epoch>,
    ) -> Verdict {
        let missing = Missing::few(whole.len(), LEAST_POINTS);
        let tail = self.tell_rate(&mut verdict, whole, tail);
        self.growing(verdict, (whole, whole), &tail, epoch, missing)
    }

    pub(super) fn leak(&self, mut verdict: Verdict, whole: &Line, tail: &Tail) -> Verdict {
        verdict.verdict = Class::Leak;
        verdict.leaking = Some(true);
        verdict.evidence.push(evidence(
            "straight end",
            format!(
                "it keeps its pace for {} of what was watched, in about {:.0} rises; the newer part runs at {} of the older part's pace",
                percent(tail.length() / whole.span()),
                tail.rises,
                percent(tail.pace())
            ),
        ));
        if let Some(oom) = verdict.oom {
            let latest = oom
                .high
                .map_or("never".to_owned(), |high| place(self.axis, high));
            verdict.evidence.push(evidence(
                "limit",
                format!(
                    "at this pace memory runs out at {} ({} to {latest})",
                    place(self.axis, oom.at),
                    place(self.axis, oom.low)
                ),
            ));
        }
        verdict.evidence.push(turning(
            "a floor that stays level for as long as it grew would make it a warm-up",
        ));
        verdict
    }

    /// The last place of the run on the axis, where that is known.
    fn end(&self) -> Option<f64> {
        let last = self.series.buckets().last().map_or(0.0, |b| b.last);
        let total = self.context.total_steps.filter(|_| self.axis == Axis::Step);
        match self.context.over {
            true => Some(last),
            false => total.map(|total| total.max(last)),
        }
    }

    /// What lies beyond the last step never comes.
    pub(super) fn within_the_run(&self, verdict: &mut Verdict) {
        let Some(end) = self.end() else { return };
        if verdict.decides_at.is_some_and(|at| at > end) {
            verdict.decides_at = None;
            verdict.safe_until_then = None;
            verdict.evidence.push(evidence(
                "the run is too short to know",
                match self.context.over {
                    true => "it is over, and that could not be decided in it".to_owned(),
                    false => format!(
                        "it ends at {}, before that could be decided",
                        place(self.axis, end)
                    ),
                },
            ));
        }
    }

    pub(super) fn safe(&self, whole: &Line, tail: &Tail, until: Option<f64>) -> Option<bool> {
        let ahead = (until? - tail.to).max(0.0);
        let crest = limit::newest_crest(whole) + tail.high.max(0.0) * ahead;
        Some(crest < self.limit?)
    }
}
