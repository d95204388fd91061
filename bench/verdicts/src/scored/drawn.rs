//! Generated series, judged on the way as a live watch would have judged them.

use lowtide_core::judge::judge;
use lowtide_core::judge::prior::{Lasted, Prior};
use lowtide_core::point::{Context, Point, RoundKind};
use lowtide_core::series::Series;
use lowtide_core::verdict::{Axis, Class, Meter};

use super::{Gathered, Now, Scored, matters};
use crate::rules::{Question, Rule};
use crate::stats::quantile;
use crate::zoo::Drawn;

/// Looks on the way.
const MOMENTS: usize = 60;
/// Growth below this share of the level matters to nobody, in a leak and in what is still to come.
const MATERIAL: f64 = 0.05;
/// Whether harmless growth goes on is seen in this share of the run.
const AHEAD: f64 = 0.06;
/// The floor around a place is the lower end of the points within this share of the run, ...
const AROUND: f64 = 0.015;
/// ... and so high among them.
const LOW: f64 = 0.1;

/// Leaks whose rate is no one number: what is told is the rate of now, and what was drawn is the mean.
const UNEVEN: [&str; 3] = [
    "leak-accelerating",
    "leak-changes-pace",
    "leak-fading-without-end",
];

/// Who judges: by a prior, or one of the rules of today.
#[derive(Clone, Copy)]
pub enum Judge<'a> {
    Ours(&'a Prior),
    Today(&'a Rule),
}

pub fn score(drawn: &Drawn, by: Judge<'_>) -> Scored {
    let mut life = Life::of(drawn);
    let prior = match by {
        Judge::Ours(prior) => *prior,
        Judge::Today(_) => Prior::PUBLISHED,
    };
    let mut gathered = Gathered::default();
    let mut series = Series::new(drawn.axis, Meter::Held);
    let mut taken = 0;
    let mut end = Class::TooEarly;
    let mut rate = None;
    let mut last_said = String::new();
    let n = drawn.points.len();
    for moment in 1..=MOMENTS {
        let until = (n * moment / MOMENTS).max(3).min(n);
        let (points, context) = drawn.until(until);
        points[taken..].iter().for_each(|point| series.push(*point));
        taken = until;
        let last = points[until - 1];
        let verdict = match by {
            Judge::Ours(prior) => judge(
                &series,
                &Context {
                    prior: *prior,
                    ..context
                },
            ),
            Judge::Today(rule) => {
                let mut verdict = judge(&Series::new(drawn.axis, Meter::Held), &context);
                let answer = (rule.ask)(Question {
                    points,
                    axis: drawn.axis,
                    meter: Meter::Held,
                    context: &context,
                });
                verdict.verdict = answer.class.unwrap_or(Class::TooEarly);
                verdict
            }
        };
        let now = life.now(last.x);
        let seconds = life.seconds(last.x - life.first);
        let since = life.since().map(|x| life.seconds(last.x - x));
        gathered.take(&verdict, now, seconds, since);
        let passed = (last.x - life.first) / (life.last - life.first);
        gathered.outlook.ask(&verdict, passed, life.peak);
        if moment == MOMENTS {
            end = verdict.verdict;
            last_said = super::said(&verdict);
            let one_pace = !UNEVEN.contains(&drawn.kind);
            rate = drawn
                .rate
                .filter(|_| verdict.steady && one_pace)
                .map(|truth| {
                    let told = &verdict.rate;
                    let held = (told.low..=told.high).contains(&truth);
                    (held, (told.high - told.low) / truth)
                });
        }
    }
    Scored {
        name: format!("{}/{:x}", drawn.kind, drawn.seed),
        kind: drawn.kind.to_owned(),
        family: drawn.family.to_owned(),
        leak: drawn.leak,
        knowable: life.is_knowable(&prior),
        accused: gathered.accused,
        because: gathered.because,
        last: last_said,
        answered: gathered.answered,
        end,
        missed: drawn.leak && matches!(end, Class::WarmUp | Class::Spikes | Class::Stable),
        rate,
        outlook: gathered.outlook,
        calls: gathered.calls,
        moments: MOMENTS,
    }
}

/// The truth of a series, moment by moment.
struct Life<'a> {
    drawn: &'a Drawn,
    first: f64,
    last: f64,
    /// Where all harmless growth has ended, or the run.
    settled: f64,
    /// The floor there.
    comes_to: f64,
    /// The floor where a leak began.
    began: f64,
    peak: f64,
    /// A leak that is called early is looked up often.
    newest: (f64, f64),
}

impl<'a> Life<'a> {
    fn of(drawn: &'a Drawn) -> Life<'a> {
        let (first, last) = (drawn.points[0].x, drawn.points[drawn.points.len() - 1].x);
        let settled = drawn.settles.unwrap_or(last).min(last);
        Life {
            drawn,
            first,
            last,
            settled,
            comes_to: floor(&drawn.points, settled),
            began: floor(&drawn.points, drawn.onset.unwrap_or(first)),
            peak: drawn.points.iter().map(|p| p.bytes).fold(0.0, f64::max),
            newest: (f64::NAN, 0.0),
        }
    }

    fn floor(&mut self, x: f64) -> f64 {
        if self.newest.0 != x {
            self.newest = (x, floor(&self.drawn.points, x));
        }
        self.newest.1
    }

    fn now(&mut self, x: f64) -> Now {
        let here = self.floor(x);
        let begun = self.drawn.leak && x >= self.drawn.onset.unwrap_or(self.first);
        // What begins later is calm until then.
        let ahead = AHEAD * (self.last - self.first);
        let pace = (floor(&self.drawn.points, x + ahead) - here) / self.seconds(ahead);
        let watched = self.seconds(x - self.first);
        let grows =
            self.drawn.fills_in.is_some() && x < self.settled && matters(pace, watched, here);
        let rate = self.drawn.rate.unwrap_or(0.0) / self.seconds(1.0);
        Now {
            leaks: begun && matters(rate, watched, here) && here - self.began >= MATERIAL * here,
            begun,
            fills: grows && self.comes_to - here >= MATERIAL * here,
        }
    }

    /// Where there was something to answer.
    fn since(&self) -> Option<f64> {
        match self.drawn.leak {
            true => Some(self.drawn.onset.unwrap_or(self.first)),
            false => self.drawn.settles,
        }
    }

    fn seconds(&self, length: f64) -> f64 {
        match self.drawn.axis {
            Axis::Time => length,
            _ => length * self.drawn.seconds_per_step,
        }
    }

    /// Rounds since it began, of a leak that comes with rounds which the job tells.
    fn rounds(&self) -> Option<usize> {
        let drawn = self.drawn;
        let since = drawn.onset.unwrap_or(self.first);
        let of = |kind: RoundKind| {
            let those = drawn
                .context
                .rounds
                .iter()
                .filter(|round| round.kind == kind);
            let count = those.filter(|round| round.x >= since).count();
            (count > 0).then_some(count)
        };
        match drawn.kind {
            "leak-per-evaluation" => of(RoundKind::Evaluation),
            "leak-per-save" => of(RoundKind::Save),
            "leak-per-epoch" => {
                let steps = drawn.context.geometry.epoch_steps?;
                Some(((self.last - since) / steps) as usize)
            }
            _ => None,
        }
    }

    /// It leaks, by enough, and for longer than nearly all that fills.
    fn is_knowable(&mut self, prior: &Prior) -> bool {
        let drawn = self.drawn;
        let length = self.last - drawn.onset.unwrap_or(self.first);
        let epochs = drawn
            .context
            .geometry
            .epoch_steps
            .map(|steps| length / steps);
        // What comes with rounds is known after as many as pools seldom take.
        if let Some(rounds) = self.rounds()
            && rounds <= prior.sure_rounds()
        {
            return false;
        }
        let lasted = Lasted {
            told: false,
            epochs: epochs.filter(|_| drawn.knows_epochs),
            steps: (drawn.axis == Axis::Step).then_some(length),
            seconds: Some(self.seconds(length)),
        };
        self.now(self.last).leaks && prior.leaks(lasted) >= prior.sure
    }
}

fn floor(points: &[Point], x: f64) -> f64 {
    let run = points[points.len() - 1].x - points[0].x;
    let from = points.partition_point(|point| point.x < x - AROUND * run);
    let to = points.partition_point(|point| point.x <= x + AROUND * run);
    let near: Vec<f64> = points[from.min(points.len() - 1)..to.max(from + 1).min(points.len())]
        .iter()
        .map(|point| point.bytes)
        .collect();
    quantile(&near, LOW)
}

/// Whether a leak lasted long enough to be known, by this prior.
pub fn knowable(drawn: &Drawn, prior: &Prior) -> bool {
    drawn.leak && Life::of(drawn).is_knowable(prior)
}
