//! The way from one series to its verdict: is there enough to go by, does the floor rise, and if it does not,
//! is it flat. The rules answer; here is only the order in which they are asked.

use super::ending::first_pass;
use super::epoch::Epoch;
use super::flat::memory_full::is_full;
use super::flat::plateau::Plateau;
use super::line::{FloorLine, Trim};
use super::steady::{GrowingEnd, Lacking, few_points, not_steady};
use super::tail::{self, Tail};
use super::teeth::{self, Teeth};
use super::would_change;
use crate::point::Context;
use crate::series::Series;
use crate::verdict::{Axis, Verdict};

/// Three to five points grow if each is above the one before by this share of it.
const RISING: f64 = 0.01;
/// Growth that has only begun speaks against a flat stretch from this share of the level on, and from
/// this many points.
const BEGINS: f64 = 0.03;
const OVERRULING: usize = 8;

pub(super) struct Case<'a> {
    pub series: &'a Series,
    pub context: &'a Context,
    pub axis: Axis,
    pub limit: Option<f64>,
    /// One point per bucket of the series.
    pub fine: FloorLine,
    pub trim: Trim,
}

/// A growing end of a line, and what it lacks for being steady.
struct Risen {
    tail: Tail,
    missing: Lacking,
}

impl Risen {
    /// The better one lacks less, and a straight one comes before one that bends: its rate is the one that
    /// holds now.
    fn lacks(&self) -> (bool, bool, usize) {
        let bends = self.missing.bends();
        let many = self.missing.says.len();
        (bends && !self.tail.is_straight(), bends, many)
    }
}

/// The ends of one line: the best that grows, and every one that was looked at until one was good enough.
#[derive(Default)]
struct Ends {
    risen: Option<Risen>,
    seen: Vec<Tail>,
}

impl Ends {
    fn steady(&self) -> Option<&Risen> {
        self.risen
            .as_ref()
            .filter(|risen| risen.missing.is_nothing())
    }
}

/// An end that is flat, on the plateau of this line.
struct FlatEnd<'a> {
    flat: Tail,
    plateau: Plateau,
    line: &'a FloorLine,
}

impl<'a> Case<'a> {
    pub(super) fn of(series: &'a Series, context: &'a Context) -> Case<'a> {
        let (fine, trim) = FloorLine::fine(series, context);
        Case {
            series,
            context,
            axis: series.axis,
            limit: context.limit.map(|l| l.as_f64()).filter(|l| *l > 0.0),
            fine,
            trim,
        }
    }

    pub(super) fn decide(&self, whole: &FloorLine) -> Verdict {
        let verdict = self.blank(whole);
        let epoch = Epoch::of(self.axis, self.context, whole);
        if self.has_hardly_begun() {
            self.at_the_beginning(verdict, whole, epoch)
        } else if whole.len() < few_points::LEAST_TO_DECIDE || whole.span() <= 0.0 {
            self.by_first_points(verdict, whole, epoch)
        } else {
            self.by_the_line(verdict, whole, epoch)
        }
    }

    /// Where the first pass ends is known however short the look is, and so is what it comes to.
    fn at_the_beginning(
        &self,
        mut verdict: Verdict,
        whole: &FloorLine,
        epoch: Option<Epoch>,
    ) -> Verdict {
        let first_pass = epoch.filter(|epoch| whole.last_x() < epoch.seen_at());
        let ends = first_pass.map(|_| self.ends(whole, whole, epoch, None, 0.0));
        if let Some(risen) = ends.and_then(|ends| ends.risen) {
            return self.risen(verdict, (whole, whole), risen, epoch);
        }
        verdict.decides_at = first_pass.map(|epoch| epoch.seen_at());
        self.tell_rate_of_few(&mut verdict, whole);
        self.hardly_begun(verdict)
    }

    /// So few points that no interval says much: they grow if each stands clearly above the one before.
    fn by_first_points(
        &self,
        mut verdict: Verdict,
        whole: &FloorLine,
        epoch: Option<Epoch>,
    ) -> Verdict {
        let rises = |two: &[f64]| two[1] - two[0] > RISING * two[0].abs();
        let rising = whole.len() >= tail::FEWEST && whole.ys.windows(2).all(rises);
        let tail = rising.then(|| tail::describe_few(whole, 0, tail::noise(whole)));
        if let Some(tail) = tail.flatten() {
            let missing = [few_points::nothing_is_decided(whole.len())];
            let missing = missing.into_iter().collect();
            return self.risen(verdict, (whole, whole), Risen { tail, missing }, epoch);
        }
        self.tell_rate_of_few(&mut verdict, whole);
        self.too_few(verdict, whole.len(), epoch)
    }

    fn tell_rate_of_few(&self, verdict: &mut Verdict, whole: &FloorLine) {
        if let Some(tail) = tail::describe_few(whole, 0, tail::noise(whole)) {
            self.tell_rate(verdict, whole, tail);
        }
    }

    fn too_few(&self, mut verdict: Verdict, points: usize, epoch: Option<Epoch>) -> Verdict {
        let lack = few_points::nothing_is_decided(points);
        verdict.evidence.push(lack.says);
        verdict.decides_at = epoch.map(|epoch| epoch.seen_at());
        let more = "more points, over more of the run's work";
        verdict.evidence.push(would_change::by(more));
        verdict
    }

    /// Growth, if there is any that lacks nothing; else flatness, if that is shown; else what comes closest.
    fn by_the_line(
        &self,
        mut verdict: Verdict,
        whole: &FloorLine,
        epoch: Option<Epoch>,
    ) -> Verdict {
        let teeth = teeth::teeth(&self.fine);
        verdict.evidence.extend(teeth.as_ref().map(Teeth::says));
        let line = teeth.as_ref().map_or(whole, |teeth| &teeth.valleys);
        let ends = self.ends(whole, line, epoch, teeth.as_ref(), 0.0);
        if ends.steady().is_some()
            && let Some(risen) = ends.risen
        {
            return self.risen(verdict, (whole, line), risen, epoch);
        }
        // Growth beyond the depth of the teeth shows without their valleys too.
        let over = teeth.as_ref().map_or(Ends::default(), |teeth| {
            self.ends(whole, whole, epoch, None, teeth.depth)
        });
        if over.steady().is_some()
            && let Some(risen) = over.risen
        {
            return self.risen(verdict, (whole, whole), risen, epoch);
        }
        let depth = teeth.as_ref().map_or(0.0, |teeth| teeth.depth);
        if let Some(level) = self.level(whole, (line, depth), &ends, &over.seen) {
            return self.leveled(verdict, whole, level, epoch);
        }
        match (ends.risen, ends.seen.first()) {
            (Some(risen), _) => self.risen(verdict, (whole, line), risen, epoch),
            (None, Some(newest)) => {
                let tail = self.tell_rate(&mut verdict, line, *newest);
                self.unsettled(verdict, whole, &tail)
            }
            (None, None) => self.too_few(verdict, line.len(), epoch),
        }
    }

    fn risen(
        &self,
        mut verdict: Verdict,
        lines: (&FloorLine, &FloorLine),
        risen: Risen,
        epoch: Option<Epoch>,
    ) -> Verdict {
        let tail = self.tell_rate(&mut verdict, lines.1, risen.tail);
        self.growing(verdict, lines, &tail, epoch, risen.missing)
    }

    /// A flat end: a plateau, unless memory is full.
    fn leveled(
        &self,
        mut verdict: Verdict,
        whole: &FloorLine,
        level: FlatEnd<'_>,
        epoch: Option<Epoch>,
    ) -> Verdict {
        let FlatEnd {
            flat,
            plateau,
            line,
        } = level;
        let tail = self.tell_rate(&mut verdict, line, flat);
        let rose = plateau.rise > plateau.least_rise();
        if !rose || !is_full(plateau.level, self.limit) {
            return self.settled(verdict, (whole, line), &tail, plateau, epoch);
        }
        let before = whole.until(plateau.tail.from);
        let ends = self.ends(&before, &before, epoch, None, 0.0);
        let grew = ends
            .steady()
            .map(|risen| self.tell_rate(&mut verdict, &before, risen.tail));
        self.full(verdict, (whole, &before), grew.as_ref(), epoch)
    }

    /// The end that is shown to be flat, by the line that is judged or, where a few valleys leave open what
    /// the whole line shows, by that: it is flat, teeth and all.
    fn level<'b>(
        &self,
        whole: &'b FloorLine,
        (line, depth): (&'b FloorLine, f64),
        ends: &Ends,
        seen_over: &[Tail],
    ) -> Option<FlatEnd<'b>> {
        let stays =
            |flat: &Tail, seen: &[Tail]| !seen.iter().any(|tail| self.overrules(whole, tail, flat));
        let flat_end = |line: &'b FloorLine, seen: &[Tail], depth: f64| {
            let plateau = Plateau::of(line, tail::noise(line))?;
            let flat = plateau.flat(line, seen, depth, |tail| self.grows(whole, tail))?;
            let ended = !plateau.may_go_on(line, &flat, |tail| self.grows(whole, tail));
            (ended && stays(&flat, &ends.seen)).then_some(FlatEnd {
                flat,
                plateau,
                line,
            })
        };
        flat_end(line, &ends.seen, depth).or_else(|| {
            let level = flat_end(whole, seen_over, 0.0)?;
            (ends.risen.is_none() && stays(&level.flat, seen_over)).then_some(level)
        })
    }

    /// The growing end of a line to which least is missing for being steady. Growth below `least` does not
    /// count.
    fn ends(
        &self,
        whole: &FloorLine,
        line: &FloorLine,
        epoch: Option<Epoch>,
        teeth: Option<&Teeth>,
        least: f64,
    ) -> Ends {
        let mut ends = Ends::default();
        let noise = tail::noise(line);
        let smooth = line.smooth();
        let growing = GrowingEnd {
            axis: self.axis,
            whole,
            line,
            toothed: teeth.is_some(),
        };
        for start in tail::starts(line, &smooth, noise) {
            let Some(mut tail) = tail::describe(line, start, noise) else {
                continue;
            };
            ends.seen.push(tail);
            if tail.growth() < least || !self.grows(whole, &tail) {
                continue;
            }
            tail.look_closer(line, &smooth);
            let missing = self.missing(&growing, &mut tail, epoch);
            let risen = Risen { tail, missing };
            if ends
                .risen
                .as_ref()
                .is_none_or(|best| risen.lacks() < best.lacks())
            {
                ends.risen = Some(risen);
            }
            if ends.steady().is_some() {
                break;
            }
        }
        ends
    }

    fn missing(&self, growing: &GrowingEnd<'_>, tail: &mut Tail, epoch: Option<Epoch>) -> Lacking {
        let line = growing.line;
        let mut missing = growing.missing(tail);
        if let Some(lack) =
            epoch.and_then(|epoch| first_pass::unless_it_outlasts(self.axis, line, tail, epoch))
        {
            missing.add(lack);
        }
        if missing.is_nothing()
            && let Some(lack) = not_steady::unless_median_grows(line, tail)
        {
            missing.add(lack);
        }
        missing
    }

    /// Growth that began within a flat stretch, clear of its noise: the stretch is flat no more.
    fn overrules(&self, whole: &FloorLine, tail: &Tail, flat: &Tail) -> bool {
        tail.from > flat.from
            && tail.points >= OVERRULING
            && tail.growth() > BEGINS * tail.level
            && self.grows(whole, tail)
    }
}
