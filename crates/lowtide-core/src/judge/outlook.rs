//! "Does it fit?": what the run needs until its last step, as a range, against the limit. This is the
//! line that people act on, whether or not it is known what the growth is: where growth may end or go
//! on, the range covers both.
//!
//! [`of`] is asked once the verdict stands; a run puts in its own limit by [`tell`].

use super::line::FloorLine;
use super::tail::FEWEST;
use super::words::place;
use crate::point::Context;
use crate::series::Series;
use crate::units::{show_bytes, show_duration};
use crate::verdict::{Axis, BoundKind, Class, Future, Horizon, Needs, Outlook, Verdict};

/// How far it is looked ahead where nobody says how long the run is: an hour, a day, a week.
const HORIZONS: [f64; 3] = [3_600.0, 86_400.0, 604_800.0];
/// What happens in the first minute of a job without steps is start-up: its pace says nothing of an hour.
const START_UP: f64 = 60.0;
/// What a quiet process drifts by until its end, as a share of its level, for as long again as it was
/// watched. The plateaus of the shared logs drift by 0.2 to 1.2 % while they are watched; asked at half
/// of a log, 3 % hold what came until its end in all but phases of another kind.
const DRIFT: f64 = 0.03;
/// And at least this much, however short the rest.
const LEAST_DRIFT: f64 = 0.015;
/// By how much a pace may be another one later on, as a share of what it still adds: leaks follow the
/// data, and batches differ.
const WAVERS: f64 = 0.1;
/// The same for growth that is not steady yet: what changed its pace so far may change it again.
const WAVERS_UNSTEADY: f64 = 0.5;
/// A flat floor stays flat for ten times as long as it was watched, and growth that is not steady is taken
/// to go on for ten times as long as it was seen; further ahead they say more about our patience than about the job.
const FLAT_AHEAD: f64 = 10.0;
/// A crest is seen if a sample falls into it: the next may stand higher by this share of how far the newest
/// stand above the floor. Bursts of three steps in twenty came 13 % higher late in a run.
const UNSEEN: f64 = 0.2;
/// Reserved memory ends at its size; what else moves meanwhile is within this share of it.
const AROUND_THE_END: f64 = 0.03;

/// The floor and the crests as the verdict left them, and how far ahead to look.
struct Ahead<'a> {
    line: &'a FloorLine,
    verdict: &'a Verdict,
    /// The highest that was ever seen.
    peak: f64,
    /// How far above that it may have stood between samples.
    unseen: f64,
    last: f64,
    span: f64,
    /// Share of the growth that lies outside of what is reserved: it does not end with it.
    beside: f64,
}

pub(crate) fn of(
    series: &Series,
    line: &FloorLine,
    verdict: &Verdict,
    context: &Context,
    pace: Option<f64>,
) -> Option<Outlook> {
    let last = series.buckets().last()?.last;
    let peak = series.peak();
    let ahead = Ahead {
        line,
        verdict,
        peak,
        unseen: series.unseen(),
        last,
        span: last - line.first_x(),
        beside: context.reserved.as_ref().map_or(0.0, |r| 1.0 - r.share),
    };
    let limit = context.limit.map(|limit| limit.as_f64());
    let total = context.total_steps.filter(|_| verdict.axis == Axis::Step);
    let mut outlook = if context.over {
        over(last, peak, series.unseen())
    } else {
        ahead.outlook(total.map(|total| total.max(last)), pace)?
    };
    outlook.measure(limit);
    tell(&mut outlook, verdict.axis, limit);
    Some(outlook)
}

/// What a run needed that is over was measured.
fn over(last: f64, peak: f64, unseen: f64) -> Outlook {
    let needs = Needs::new(peak, peak, peak + unseen);
    Outlook {
        ends_at: Some(last),
        seconds: Some(0.0),
        ..plain(needs)
    }
}

fn plain(needs: Needs) -> Outlook {
    Outlook {
        ends_at: None,
        seconds: None,
        needs,
        fits: None,
        futures: Vec::new(),
        later: Vec::new(),
        others: None,
        others_hold: None,
        says: String::new(),
    }
}

/// Puts the outlook in words; `limit` is the one that people know.
pub(crate) fn tell(outlook: &mut Outlook, axis: Axis, limit: Option<f64>) {
    let of = limit.map_or(String::new(), |limit| format!(" of {}", show_bytes(limit)));
    let needs = outlook.needs;
    let range = match (show_bytes(needs.low), show_bytes(needs.high)) {
        (low, high) if low == high => low,
        (low, high) => format!("{low} to {high}"),
    };
    let of = match outlook.others_hold.map(show_bytes) {
        Some(others) => format!("{of} (others hold {others})"),
        None => of,
    };
    outlook.says = if outlook.seconds == Some(0.0) {
        format!("needed {range}{of}")
    } else {
        let until = match (outlook.ends_at, outlook.seconds) {
            (Some(at), _) => format!("until {}", place(axis, at)),
            (None, Some(seconds)) => format!("within {}", show_duration(seconds)),
            (None, None) => "in as long again".to_owned(),
        };
        let fits = match (outlook.fits, limit) {
            (Some(fits), _) => format!(": {fits}"),
            (None, Some(_)) => ": too early to say whether that fits".to_owned(),
            (None, None) => String::new(),
        };
        format!("needs {range}{of} {until}{fits}")
    };
}

impl Ahead<'_> {
    /// Until the last step, for an hour and more, or, in a file without a clock, until the epoch is over or
    /// for as long again.
    fn outlook(&self, total: Option<f64>, pace: Option<f64>) -> Option<Outlook> {
        if self.line.len() < FEWEST || self.verdict.axis == Axis::Time && self.span < START_UP {
            return None;
        }
        let in_time = |seconds: f64| pace.map(|pace| self.last + seconds / pace);
        let passed = self.verdict.bound.as_ref().and(self.verdict.decides_at);
        let ends_at = match (total, pace) {
            (Some(total), _) => Some(total),
            (None, Some(_)) => None,
            (None, None) => passed.filter(|at| *at > self.last),
        };
        let to = ends_at
            .or_else(|| in_time(HORIZONS[0]))
            .unwrap_or(self.last + self.span);
        let mut outlook = Outlook {
            ends_at,
            // A run that is not over has the step it is in before it.
            seconds: pace.map(|pace| (to - self.last).max(1.0) * pace),
            futures: self.futures(to),
            ..plain(self.needs(to))
        };
        if ends_at.is_none() {
            let later = HORIZONS[1..].iter();
            outlook.later = later
                .filter_map(|seconds| {
                    Some(Horizon {
                        seconds: *seconds,
                        needs: self.needs(in_time(*seconds)?),
                        fits: None,
                    })
                })
                .collect();
        }
        Some(outlook)
    }

    /// The highest crest at `to` if all that was seen since the growth began rises by `slope` from there.
    fn crest_at(&self, slope: f64, to: f64) -> f64 {
        let from = self
            .verdict
            .growth
            .as_ref()
            .filter(|_| self.verdict.growing)
            .map_or(self.line.first_x(), |growth| growth.from);
        let first = self.line.xs.partition_point(|x| *x < from);
        let xs = self.line.xs[first..].iter();
        let highest = xs
            .zip(&self.line.crests[first..])
            .map(|(x, crest)| crest + slope * (to - x))
            .fold(0.0, f64::max);
        highest.max(self.peak)
    }

    fn drift(&self, to: f64) -> f64 {
        let again = ((to - self.last) / self.span.max(f64::MIN_POSITIVE)).min(FLAT_AHEAD);
        (DRIFT * again).max(LEAST_DRIFT) * self.verdict.floor.last.abs()
    }

    fn needs(&self, to: f64) -> Needs {
        let near = self.reach(to);
        Needs {
            soon: (near < to).then(|| self.range(near).high),
            ..self.range(to)
        }
    }

    fn range(&self, to: f64) -> Needs {
        let mut needs = self.range_of_seen(to);
        needs.high += self.unseen;
        needs
    }

    /// The range if nothing stood higher than the samples show.
    fn range_of_seen(&self, to: f64) -> Needs {
        let (verdict, rate) = (self.verdict, &self.verdict.rate);
        let rest = (to - self.last).max(0.0);
        let slope = rate.value.max(0.0);
        let wavers = match verdict.steady {
            true => WAVERS,
            false => WAVERS_UNSTEADY,
        };
        let highest = self.crest_at(rate.high.max(slope), to)
            + wavers * rate.high.max(0.0) * rest
            + self.drift(to)
            + self.stair();
        if verdict.verdict == Class::Leak {
            let low = self.crest_at(rate.low.max(0.0), to)
                - WAVERS * slope * rest
                - self.drift(to)
                - self.stair();
            return Needs::new(self.crest_at(slope, to), low.max(self.peak), highest);
        }
        if let Some(end) = self.reserved_end() {
            // A short run ends before it is full.
            let value = end.min(self.crest_at(slope, to)).max(self.peak);
            // Written to at random places, it fills ever slower: what is left shrinks with each write.
            let left = (end - verdict.floor.last).max(1.0);
            let touched = left * (1.0 - (-rate.low.max(0.0) * rest / left).exp());
            let low = (verdict.floor.last + touched) * (1.0 - AROUND_THE_END);
            let beside = self.beside * rate.high.max(0.0) * rest;
            let full = end * (1.0 + AROUND_THE_END) + self.swing() + beside;
            return Needs::new(
                value,
                low.max(self.peak).min(value),
                full.min(highest).max(value),
            );
        }
        if verdict.growing || verdict.verdict == Class::TooEarly {
            let value = self.crest_at(slope, to.min(self.ends_by().unwrap_or(to)));
            return Needs::new(value, self.peak, highest);
        }
        let most = rest.min(FLAT_AHEAD * self.span);
        Needs::new(
            self.peak,
            self.peak,
            self.peak + rate.high.max(0.0) * most + self.drift(to) + UNSEEN * self.swing(),
        )
    }

    /// Whether growth that is not steady fits is said for ten times as long as it was seen: one step of
    /// memory, carried on to the end of the run, would fit no machine. Where its end is known it is more
    /// than a step.
    fn reach(&self, to: f64) -> f64 {
        let verdict = self.verdict;
        let unsteady = verdict.growing && !verdict.steady && verdict.bound.is_none();
        let seen = verdict.growth.as_ref().map(|g| g.to - g.from);
        match seen.filter(|_| unsteady) {
            Some(seen) => to.min(self.last + FLAT_AHEAD * seen),
            None => to,
        }
    }

    fn futures(&self, to: f64) -> Vec<Future> {
        let verdict = self.verdict;
        if !verdict.growing || verdict.verdict != Class::TooEarly {
            return Vec::new();
        }
        let slope = verdict.rate.value.max(0.0);
        let future = |when: &str, needs: f64| Future {
            when: when.to_owned(),
            needs,
            fits: None,
        };
        let goes_on = future("growth goes on", self.crest_at(slope, to));
        let ends = match self.ends_by().filter(|end| *end < to) {
            Some(end) => future("growth ends with the epoch", self.crest_at(slope, end)),
            None => future("growth ends now", self.peak),
        };
        vec![ends, goes_on]
    }

    /// Where on the axis the growth would end.
    fn ends_by(&self) -> Option<f64> {
        let bound = self.verdict.bound.as_ref()?;
        bound.at.filter(|at| *at >= self.last)
    }

    fn reserved_end(&self) -> Option<f64> {
        let bound = self.verdict.bound.as_ref()?;
        bound.bytes.filter(|_| bound.kind == BoundKind::Reserved)
    }

    /// The largest rise from one window to the next: the next of the kind may come, or the last not.
    fn stair(&self) -> f64 {
        let half = self.line.len() / 2;
        let rises = self.line.ys[half..].windows(2).map(|two| two[1] - two[0]);
        rises.fold(0.0, f64::max)
    }

    /// How far the newest crests stand above the floor.
    fn swing(&self) -> f64 {
        let from = self.line.len() - self.line.len().div_ceil(2);
        let pairs = self.line.crests[from..].iter().zip(&self.line.ys[from..]);
        pairs.map(|(crest, y)| crest - y).fold(0.0, f64::max)
    }
}
