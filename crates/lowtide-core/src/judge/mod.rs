//! The judge: from the bounded summary of a series to a verdict with its evidence. The program feeds
//! it series and context and fills in source and process; every view shows what comes out.
//!
//! Three questions, answered apart. Does the floor rise now? That is statistics: the end of the floor
//! line, how sure its slope is, whether it lasted and kept its pace; and if it does not rise, whether
//! flatness is shown and what came before. Will it end? Only knowledge answers that ([`ending`]): the
//! length of an epoch, reserved memory, rounds of the same work. Does it fit? ([`outlook`]). Each file
//! here is a rule that an evidence line can name.

mod ending;
pub(crate) mod epoch;
pub mod excursion;
mod first_pass;
mod flat;
mod growth;
mod limit;
pub(crate) mod line;
pub(crate) mod outlook;
mod reserved;
mod rounds;
mod settle;
mod swing;
mod tail;
mod teeth;
mod tell;
pub mod words;

use epoch::Epoch;
use growth::{Missing, Setting};
use line::{Line, Trim};
use settle::Plateau;
use tail::Tail;
use teeth::Teeth;
use words::evidence;

use crate::point::Context;
use crate::series::Series;
use crate::units::show_bytes;
use crate::verdict::{Axis, Evidence, Verdict};

/// Below this many points on the line nothing is decided.
const LEAST_POINTS: usize = 6;
/// Growth of the tail below this share of the level is not material.
const MATERIAL: f64 = 0.01;
/// Nor is growth below this many times the noise of the floor: 13 minutes of a process that warms up
/// under heavy saw-teeth looked straight at 5 times.
const MATERIAL_NOISE: f64 = 8.0;

/// Nor in the first seconds, however often they were sampled: a job that has just begun is level for
/// some of them whatever it does later.
const LEAST_SECONDS: f64 = 12.0;
/// Three to five points grow if each is above the one before by this share of it.
const RISING: f64 = 0.01;

/// Growth that has only begun speaks against a flat stretch from this share of the level on, and from
/// this many points.
const BEGINS: f64 = 0.03;
const OVERRULING: usize = 8;
/// Seconds for which growth is looked ahead at least before it is called creep.
const LEAST_RUN: f64 = 3_600.0;
/// What a quiet process drifts by itself during a run, as a share of its level: the interval of a rate
/// is that much wider. The plateaus of the shared benign logs drift by 0.2 to 1.2 %.
const DRIFT: f64 = 0.01;

/// The verdict on one series. `source` and `process` are the caller's to fill in.
pub fn judge(series: &Series, context: &Context) -> Verdict {
    let (fine, trim) = Line::fine(series, context);
    let case = Case {
        series,
        context,
        axis: series.axis,
        limit: context.limit.map(|l| l.as_f64()).filter(|l| *l > 0.0),
        fine,
        trim,
    };
    let whole = case.fine.coarse();
    let mut verdict = case.decide(&whole);
    case.within_the_run(&mut verdict);
    let pace = limit::pace(series);
    verdict.outlook = outlook::of(series, &whole, &verdict, context, pace);
    verdict
}

/// What the rules looked at, for those who explain the verdict.
pub(crate) struct Looked {
    pub fine: Line,
    /// Low points, where memory is handed back again and again.
    pub valleys: Option<Line>,
    pub epoch: Option<Epoch>,
}

pub(crate) fn looked_at(series: &Series, context: &Context) -> Looked {
    let (fine, _) = Line::fine(series, context);
    let epoch = Epoch::of(series.axis, context, &fine.coarse());
    // Examples are counted by steps.
    let epoch = epoch.filter(|_| series.axis != Axis::Time);
    Looked {
        valleys: teeth::teeth(&fine).map(|teeth| teeth.valleys),
        fine,
        epoch,
    }
}

/// The verdict that stands for all of them: leak before too-early before warm-up before spikes
/// before stable; among equals the one that grew most.
pub fn worst<'a>(verdicts: impl IntoIterator<Item = &'a Verdict>) -> Option<&'a Verdict> {
    verdicts.into_iter().min_by(|a, b| {
        let grown = |v: &Verdict| v.floor.last - v.floor.first;
        a.verdict
            .cmp(&b.verdict)
            .then(grown(b).total_cmp(&grown(a)))
    })
}

struct Case<'a> {
    series: &'a Series,
    context: &'a Context,
    axis: Axis,
    limit: Option<f64>,
    fine: Line,
    trim: Trim,
}

impl Case<'_> {
    fn decide(&self, whole: &Line) -> Verdict {
        let mut verdict = self.blank(whole);
        let epoch = Epoch::of(self.axis, self.context, whole);
        if self.has_hardly_begun() {
            // Where the first pass ends is known however short the look is, and so is what it comes to.
            let first_pass = epoch.filter(|epoch| whole.last_x() < epoch.seen_at());
            let grows = first_pass
                .and_then(|_| self.growth(whole, whole, epoch, false, 0.0, &mut Vec::new()));
            if let Some((tail, missing)) = grows {
                let tail = self.tell_rate(&mut verdict, whole, tail);
                return self.growing(verdict, (whole, whole), &tail, epoch, missing);
            }
            verdict.decides_at = first_pass.map(|epoch| epoch.seen_at());
            if let Some(tail) = tail::describe_few(whole, 0, tail::noise(whole)) {
                self.tell_rate(&mut verdict, whole, tail);
            }
            return self.hardly_begun(verdict);
        }
        if whole.len() < LEAST_POINTS || whole.span() <= 0.0 {
            return match self.first_points(whole) {
                Some(tail) => self.few_that_rise(verdict, whole, tail, epoch),
                None => {
                    if let Some(tail) = tail::describe_few(whole, 0, tail::noise(whole)) {
                        self.tell_rate(&mut verdict, whole, tail);
                    }
                    self.too_few(verdict, whole.len(), epoch)
                }
            };
        }
        let teeth = teeth::teeth(&self.fine);
        if let Some(teeth) = &teeth {
            verdict.evidence.push(teeth_evidence(teeth));
        }
        let line = teeth.as_ref().map_or(whole, |teeth| &teeth.valleys);
        let mut seen = Vec::new();
        let found = self.growth(whole, line, epoch, teeth.is_some(), 0.0, &mut seen);
        if let Some((tail, missing)) = &found
            && missing.says.is_empty()
        {
            let tail = self.tell_rate(&mut verdict, line, *tail);
            return self.growing(verdict, (whole, line), &tail, epoch, Missing::default());
        }
        let mut seen_over = Vec::new();
        if let Some(teeth) = &teeth {
            // Growth beyond the depth of the teeth shows without their valleys too.
            let over = self.growth(whole, whole, epoch, false, teeth.depth, &mut seen_over);
            if let Some((tail, missing)) = over
                && missing.says.is_empty()
            {
                let tail = self.tell_rate(&mut verdict, whole, tail);
                return self.growing(verdict, (whole, whole), &tail, epoch, missing);
            }
        }
        let stays =
            |flat: &Tail, seen: &[Tail]| !seen.iter().any(|tail| self.overrules(whole, tail, flat));
        let depth = teeth.as_ref().map_or(0.0, |teeth| teeth.depth);
        let by_valleys = || {
            let plateau = Plateau::of(line, tail::noise(line))?;
            let flat = plateau.flat(line, &seen, depth, |tail| self.grows(whole, tail))?;
            let ended = !plateau.may_go_on(line, &flat, |tail| self.grows(whole, tail));
            (ended && stays(&flat, &seen)).then_some((flat, plateau, line))
        };
        // A few valleys may leave open what the whole line shows: that it is flat, teeth and all.
        let by_all = || {
            let plateau = Plateau::of(whole, tail::noise(whole))?;
            let flat = plateau.flat(whole, &seen_over, 0.0, |tail| self.grows(whole, tail))?;
            let ended = !plateau.may_go_on(whole, &flat, |tail| self.grows(whole, tail));
            let level = ended && found.is_none() && stays(&flat, &seen) && stays(&flat, &seen_over);
            level.then_some((flat, plateau, whole))
        };
        let flat = by_valleys().or_else(by_all);
        match (flat, found, seen.first()) {
            (Some((flat, plateau, line)), _, _) => {
                let tail = self.tell_rate(&mut verdict, line, flat);
                let rose = plateau.rise > settle::LEAST_RISE * plateau.level;
                if rose && limit::is_full(plateau.level, self.limit) {
                    let before = whole.until(plateau.tail.from);
                    let grew = self.growth(&before, &before, epoch, false, 0.0, &mut Vec::new());
                    let grew = grew
                        .filter(|(_, missing)| missing.says.is_empty())
                        .map(|(tail, _)| self.tell_rate(&mut verdict, &before, tail));
                    return self.full(verdict, (whole, &before), grew.as_ref(), epoch);
                }
                self.settled(verdict, (whole, line), &tail, plateau, epoch)
            }
            (None, Some((tail, missing)), _) => {
                let tail = self.tell_rate(&mut verdict, line, tail);
                self.growing(verdict, (whole, line), &tail, epoch, missing)
            }
            (None, None, Some(newest)) => {
                let tail = self.tell_rate(&mut verdict, line, *newest);
                self.unsettled(verdict, whole, &tail)
            }
            (None, None, None) => self.too_few(verdict, line.len(), epoch),
        }
    }

    /// The growing end of a line to which least is missing for a leak, a straight one before one that bends:
    /// its rate is the one that holds now; `seen` keeps every end that was
    /// looked at until one was good enough. Growth below `least` does not count.
    fn growth(
        &self,
        whole: &Line,
        line: &Line,
        epoch: Option<Epoch>,
        toothed: bool,
        least: f64,
        seen: &mut Vec<Tail>,
    ) -> Option<(Tail, Missing)> {
        let mut best: Option<(Tail, Missing)> = None;
        let noise = tail::noise(line);
        let smooth = line.smooth();
        let setting = Setting {
            axis: self.axis,
            toothed,
            epoch_known: epoch.is_some(),
        };
        for start in tail::starts(line, &smooth, noise) {
            let Some(mut tail) = tail::describe(line, start, noise) else {
                continue;
            };
            seen.push(tail);
            if tail.growth() < least || !self.grows(whole, &tail) {
                continue;
            }
            tail.look_closer(line, &smooth);
            let mut missing = growth::missing(whole, line, &tail, setting);
            if let Some(epoch) = epoch {
                missing.unless_it_outlasts(self.axis, line, &tail, epoch);
            }
            if missing.says.is_empty() {
                missing.unless_median_grows(line, &mut tail);
            }
            let enough = missing.says.is_empty();
            let lacks = |tail: &Tail, missing: &Missing| {
                let bends = missing.bends();
                (bends && !tail.is_straight(), bends, missing.says.len())
            };
            if best
                .as_ref()
                .is_none_or(|(t, m)| lacks(&tail, &missing) < lacks(t, m))
            {
                best = Some((tail, missing));
            }
            if enough {
                break;
            }
        }
        best
    }

    /// Some seconds of a run that goes on for longer.
    fn has_hardly_begun(&self) -> bool {
        let seconds = limit::pace(self.series).map(|pace| self.fine.span() * pace);
        let half_way = |total: f64| 2.0 * self.fine.last_x() >= total;
        seconds.is_some_and(|seconds| seconds < LEAST_SECONDS)
            && self.fine.len() > LEAST_POINTS
            && !self.context.over
            && !self.context.total_steps.is_some_and(half_way)
    }

    /// So few points that no interval says much: they grow if each stands clearly above the one before.
    fn first_points(&self, whole: &Line) -> Option<Tail> {
        let rises = |two: &[f64]| two[1] - two[0] > RISING * two[0].abs();
        let rising = whole.len() >= tail::FEWEST && whole.ys.windows(2).all(rises);
        rising.then(|| tail::describe_few(whole, 0, tail::noise(whole)))?
    }

    /// Growth that began within a flat stretch, clear of its noise: the stretch is flat no more.
    fn overrules(&self, whole: &Line, tail: &Tail, flat: &Tail) -> bool {
        tail.from > flat.from
            && tail.points >= OVERRULING
            && tail.growth() > BEGINS * tail.level
            && self.grows(whole, tail)
    }

    /// The end of the line rises, materially, and fast enough to matter within ten times the run.
    fn grows(&self, whole: &Line, tail: &Tail) -> bool {
        let material = (MATERIAL * tail.level.abs()).max(MATERIAL_NOISE * tail.noise);
        tail.low > 0.0 && tail.growth() >= material && !self.is_creep(whole, tail)
    }

    /// Real, but too slow to matter within ten times the run. What was watched for a minute is no run: an
    /// hour is the least that somebody trains for who asks.
    fn is_creep(&self, whole: &Line, tail: &Tail) -> bool {
        let hour = limit::pace(self.series).map_or(0.0, |pace| LEAST_RUN / pace);
        let horizon = (settle::HORIZON * whole.span()).max(hour);
        let slope = tail.slope.min(tail.newer);
        let meets_limit = self
            .limit
            .is_some_and(|limit| limit - tail.level_end < slope * horizon);
        slope * horizon < tail.level_end.abs() && !meets_limit
    }
}

fn teeth_evidence(teeth: &Teeth) -> Evidence {
    evidence(
        "saw-teeth",
        format!(
            "falls of up to {}; judged by its {} valleys",
            show_bytes(teeth.depth),
            teeth.valleys.len()
        ),
    )
}
