//! The judge: from the bounded summary of a series to a verdict with its evidence. The program feeds
//! it series and context and fills in source and process; every view shows what comes out.
//!
//! The order of the questions: is there enough to look at; what does the end of the floor line do;
//! if it grows, is it enough to accuse; if it does not, is flatness shown, and what came before. Each
//! file here is a rule that an evidence line can name.

mod epoch;
mod growth;
mod limit;
mod line;
mod settle;
mod swing;
mod tail;
mod teeth;
mod words;

use epoch::Epoch;
use growth::Missing;
use line::{Line, Trim};
use settle::Plateau;
use swing::Swing;
use tail::Tail;
use words::{evidence, pace, percent, place, stretch};

use crate::point::Context;
use crate::series::Series;
use crate::stats;
use crate::units::show_bytes;
use crate::verdict::{Axis, Class, Evidence, Floor, Growth, Rate, SCHEMA, Verdict};

/// Below this many points on the line nothing is decided.
const LEAST_POINTS: usize = 6;
/// Growth of the tail below this share of the level is not material.
const MATERIAL: f64 = 0.01;
/// Nor is growth below this many times the noise of the floor: 13 minutes of a process that warms up
/// under heavy saw-teeth looked straight at 5 times.
const MATERIAL_NOISE: f64 = 8.0;

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
    case.decide()
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

/// Share of such calls that were right on the scored traces (see bench/verdicts).
fn confidence(class: Class) -> Option<f64> {
    match class {
        Class::Leak => Some(0.9),
        Class::TooEarly => None,
        Class::WarmUp => Some(0.9),
        Class::Spikes => Some(0.9),
        Class::Stable => Some(0.9),
    }
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
    fn decide(&self) -> Verdict {
        let whole = self.fine.coarse();
        let mut verdict = self.blank(&whole);
        if whole.len() < LEAST_POINTS || whole.span() <= 0.0 {
            return self.too_few(verdict, &whole);
        }
        let epoch = Epoch::of(self.axis, self.context, &whole);
        let teeth = teeth::teeth(&self.fine);
        let line = match &teeth {
            Some(teeth) => teeth.valleys.clone(),
            None => whole.clone(),
        };
        if let Some(teeth) = &teeth {
            verdict.evidence.push(evidence(
                "saw-teeth",
                format!(
                    "falls of up to {}; judged by its {} valleys",
                    show_bytes(teeth.depth),
                    teeth.valleys.len()
                ),
            ));
        }
        let noise = tail::noise(&line);
        let tails = tail::tails(&line, noise);
        let (Some(plateau), Some(newest)) = (Plateau::of(&line, noise), tails.first()) else {
            return self.too_few(verdict, &whole);
        };
        let mut growing = self.growth(&whole, &line, &tails, teeth.is_some(), 0.0);
        let mut line = line;
        if let Some(teeth) = &teeth
            && growing.as_ref().is_none_or(|(_, m)| !m.says.is_empty())
        {
            // Growth beyond the depth of the teeth shows without their valleys too.
            let all = tail::tails(&whole, tail::noise(&whole));
            let over = self.growth(&whole, &whole, &all, false, teeth.depth);
            if over.as_ref().is_some_and(|(_, m)| m.says.is_empty()) {
                growing = over;
                line = whole.clone();
            }
        }
        let flat = plateau.flat(&line, &tails, teeth.as_ref().map_or(0.0, |t| t.depth));
        match growing {
            Some((tail, missing)) if missing.says.is_empty() || flat.is_none() => {
                let tail = self.tell_rate(&mut verdict, &line, tail);
                self.growing(verdict, &whole, &tail, epoch, missing)
            }
            _ => {
                let tail = self.tell_rate(&mut verdict, &line, flat.unwrap_or(*newest));
                match flat {
                    Some(_) => self.settled(verdict, (&whole, &line), &tail, plateau, epoch),
                    None => self.unsettled(verdict, &whole, &tail),
                }
            }
        }
    }

    /// The growing end of a line to which least is missing for a leak.
    fn growth(
        &self,
        whole: &Line,
        line: &Line,
        tails: &[Tail],
        toothed: bool,
        least: f64,
    ) -> Option<(Tail, Missing)> {
        let mut best: Option<(Tail, Missing)> = None;
        for tail in tails {
            if tail.growth() < least || !self.grows(whole, tail) {
                continue;
            }
            let mut missing = growth::missing(whole, line, tail, self.axis, toothed);
            if missing.says.is_empty() {
                missing.unless_median_grows(line, tail);
            }
            let count = missing.says.len();
            if best.as_ref().is_none_or(|(_, m)| count < m.says.len()) {
                best = Some((*tail, missing));
            }
            if count == 0 {
                break;
            }
        }
        best
    }

    /// The end of the line rises, materially, and fast enough to matter within ten times the run.
    fn grows(&self, whole: &Line, tail: &Tail) -> bool {
        let material = (MATERIAL * tail.level.abs()).max(MATERIAL_NOISE * tail.noise);
        tail.low > 0.0 && tail.growth() >= material && !self.is_creep(whole, tail)
    }

    fn blank(&self, line: &Line) -> Verdict {
        let last = line.ys.last().copied().unwrap_or(0.0);
        Verdict {
            schema: SCHEMA,
            source: String::new(),
            verdict: Class::TooEarly,
            leaking: None,
            confidence: None,
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
            evidence: Vec::new(),
            suspects: Vec::new(),
        }
    }

    fn too_few(&self, mut verdict: Verdict, line: &Line) -> Verdict {
        verdict.evidence.push(evidence(
            "few points",
            format!(
                "{} points; nothing is decided below {LEAST_POINTS}",
                line.len()
            ),
        ));
        verdict
    }

    /// The rate by the median of slopes, which single wild windows do not move.
    fn tell_rate(&self, verdict: &mut Verdict, line: &Line, mut tail: Tail) -> Tail {
        let (xs, ys) = (&line.xs[tail.start..], &line.ys[tail.start..]);
        if let Some((slope, low, high)) = stats::slope_interval(xs, ys, tail.noise / 2.0) {
            (tail.slope, tail.low, tail.high) = (slope, low, high);
        }
        let drift = DRIFT * tail.level_end.abs() / line.span();
        tail.low -= drift;
        tail.high += drift;
        verdict.rate.value = tail.slope;
        verdict.rate.low = tail.low;
        verdict.rate.high = tail.high;
        verdict.rate.per_minute = limit::pace(self.series).map(|pace| tail.slope / pace * 60.0);
        if self.trim.start_up > 0 {
            verdict.evidence.push(evidence(
                "start-up",
                "marks tell where the first step was; what came before is left out".to_owned(),
            ));
        }
        if self.trim.phases > 0 {
            verdict.evidence.push(evidence(
                "phases",
                "evaluation and saving are left out, as the marks tell".to_owned(),
            ));
        }
        tail
    }

    /// Real, but too slow to matter within ten times the run.
    fn is_creep(&self, whole: &Line, tail: &Tail) -> bool {
        let horizon = settle::HORIZON * whole.span();
        let slope = tail.slope.min(tail.newer);
        let meets_limit = self
            .limit
            .is_some_and(|limit| limit - tail.level_end < slope * horizon);
        slope * horizon < tail.level_end.abs() && !meets_limit
    }

    fn growing(
        &self,
        mut verdict: Verdict,
        whole: &Line,
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
            verdict.oom = limit::forecast(tail, crest, limit, limit::pace(self.series));
        }
        if let Some(epoch) =
            epoch.filter(|e| tail.to < e.seen_at() || tail.from < e.end() && tail.to < e.seen_at())
        {
            return self.within_epoch(verdict, tail, epoch);
        }
        if missing.says.is_empty() {
            verdict.verdict = Class::Leak;
            verdict.leaking = Some(true);
            verdict.confidence = confidence(Class::Leak);
            verdict.evidence.push(evidence(
                "straight end",
                format!(
                    "it keeps its pace for {} of what was watched, in about {:.0} rises; the newer half runs at {} of the older half's pace",
                    percent(tail.length() / whole.span()),
                    tail.rises,
                    percent(tail.pace())
                ),
            ));
            verdict.evidence.push(self.turning(
                "a floor that stays level for as long as it grew would make it a warm-up",
            ));
        } else {
            verdict.evidence.extend(missing.says);
            verdict.decides_at = missing.decides_at;
            verdict.safe_until_then = self.safe(whole, tail, missing.decides_at);
            verdict.evidence.push(self.turning(
                "a first pass over the data or a store that fills looks the same; a floor that stays level would make it a warm-up, the same pace for longer a leak",
            ));
        }
        verdict
    }

    fn turning(&self, says: &str) -> Evidence {
        evidence("what would change this", says.to_owned())
    }

    fn safe(&self, whole: &Line, tail: &Tail, until: Option<f64>) -> Option<bool> {
        let ahead = (until? - tail.to).max(0.0);
        let crest = limit::newest_crest(whole) + tail.high.max(0.0) * ahead;
        Some(crest < self.limit?)
    }

    fn within_epoch(&self, mut verdict: Verdict, tail: &Tail, epoch: Epoch) -> Verdict {
        let ahead = (epoch.end() - tail.to).max(0.0);
        let newest = verdict.floor.last;
        let plateau = newest + tail.slope * ahead;
        verdict.predicted_plateau = Some(plateau);
        verdict.decides_at = Some(epoch.seen_at());
        verdict.safe_until_then = self
            .limit
            .map(|limit| newest + tail.high.max(tail.slope) * ahead < limit);
        if let (Some(growth), Some(examples)) = (&mut verdict.growth, epoch.examples_per_step) {
            growth.driver = Some("new-example".to_owned());
            growth.per_unit = Some(tail.slope / examples);
        }
        let per_example = epoch
            .examples_per_step
            .map(|n| format!(", {} per new example", show_bytes(tail.slope / n)))
            .unwrap_or_default();
        verdict.evidence.push(evidence(
            "first pass over the data",
            format!(
                "an epoch is {:.1} steps and ends at step {:.0}{per_example}: if growth ends with it, the floor stays at {}",
                epoch.steps,
                epoch.end(),
                show_bytes(plateau)
            ),
        ));
        verdict.evidence.push(self.turning(&format!(
            "not decidable before step {:.0}; growth that goes on after it is a leak",
            epoch.seen_at()
        )));
        verdict
    }

    fn unsettled(&self, mut verdict: Verdict, whole: &Line, tail: &Tail) -> Verdict {
        verdict.evidence.push(evidence(
            "flatness is not shown",
            format!(
                "the slope since {} may still be up to {}",
                place(self.axis, tail.from),
                pace(self.axis, tail.high)
            ),
        ));
        verdict.decides_at = Some(whole.last_x() + tail.length().max(0.25 * whole.span()));
        verdict
            .evidence
            .push(self.turning("a longer look at the same level would show that it is flat"));
        verdict
    }

    fn settled(
        &self,
        mut verdict: Verdict,
        (whole, line): (&Line, &Line),
        tail: &Tail,
        plateau: Plateau,
        epoch: Option<Epoch>,
    ) -> Verdict {
        let rise = plateau.rise;
        if rise > settle::LEAST_RISE * tail.level && limit::is_full(verdict.floor.last, self.limit)
        {
            verdict.evidence.push(evidence(
                "memory is full",
                "the floor stopped at the limit: that is no plateau".to_owned(),
            ));
            verdict.decides_at = Some(whole.last_x());
            verdict.safe_until_then = Some(false);
            return verdict;
        }
        verdict.creep = tail.low > 0.0 && tail.growth() >= MATERIAL * tail.level;
        let mostly = tail.growth() > 0.25 * rise;
        if verdict.creep && mostly && tail.points < growth::FEW_POINTS {
            verdict.evidence.push(evidence(
                "few points",
                format!(
                    "it grows slowly, {} over {} points: too few to call it creep",
                    show_bytes(tail.growth()),
                    tail.points
                ),
            ));
            verdict.decides_at = Some(whole.last_x() + whole.span());
            verdict
                .evidence
                .push(self.turning("the same pace for longer"));
            return verdict;
        }
        verdict.evidence.push(evidence(
            "floor is flat",
            format!(
                "since {} ({}) its slope is at most {}{}",
                place(self.axis, tail.from),
                stretch(self.axis, tail.length()),
                pace(self.axis, tail.high),
                if verdict.creep {
                    ": it creeps, too slowly to matter within ten times this run"
                } else {
                    ""
                }
            ),
        ));
        let swing = Swing::of(whole);
        let class = self.class(&mut verdict, whole, line, plateau, swing, epoch);
        verdict.verdict = class;
        verdict.leaking = Some(false);
        verdict.confidence = confidence(class);
        if class != Class::Spikes && swing.is_some_and(|s| s.named()) {
            verdict.also.push(Class::Spikes);
        }
        if let Some(swing) = swing.filter(Swing::named) {
            verdict.evidence.push(evidence(
                "spikes",
                format!(
                    "excursions of up to {} over a floor of {} come down again",
                    show_bytes(swing.highest),
                    show_bytes(swing.level)
                ),
            ));
        }
        verdict.evidence.push(self.turning(&format!(
            "a floor that rises by more than {} from here",
            show_bytes((MATERIAL * tail.level).max(MATERIAL_NOISE * tail.noise))
        )));
        verdict
    }

    fn class(
        &self,
        verdict: &mut Verdict,
        whole: &Line,
        line: &Line,
        plateau: Plateau,
        swing: Option<Swing>,
        epoch: Option<Epoch>,
    ) -> Class {
        let warm = settle::LEAST_RISE * plateau.level;
        let body = whole.from(whole.first_x() + whole.span() / 8.0);
        let late = body
            .ys
            .first()
            .is_some_and(|early| plateau.level - early > warm);
        if swing.is_some_and(|s| s.large()) && !late {
            return Class::Spikes;
        }
        if plateau.rise > warm {
            let (at, slope) = plateau.knee(line);
            verdict.settled_at = Some(at);
            verdict.plateau = Some(plateau.level);
            let mut growth = Growth {
                from: line.xs[plateau.lowest],
                to: at,
                bytes: plateau.rise,
                driver: None,
                per_unit: None,
            };
            let spacing = whole.span() / (whole.len() - 1) as f64;
            if let Some(epoch) = epoch.filter(|e| e.ended_with(at, spacing)) {
                growth.driver = Some("new-example".to_owned());
                growth.per_unit = epoch.examples_per_step.map(|n| slope / n);
                verdict.evidence.push(evidence(
                    "growth ends at the epoch",
                    format!(
                        "growth stopped at step {:.0}; an epoch is {:.1} steps",
                        at, epoch.steps
                    ),
                ));
            } else {
                verdict.evidence.push(evidence(
                    "growth ended",
                    format!(
                        "{} until {}, then level",
                        show_bytes(plateau.rise),
                        place(self.axis, at)
                    ),
                ));
            }
            verdict.growth = Some(growth);
            return Class::WarmUp;
        }
        if swing.is_some_and(|s| s.named()) {
            Class::Spikes
        } else {
            Class::Stable
        }
    }
}
