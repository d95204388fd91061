//! From what the rules found to the verdict that everybody sees: the fields, and the evidence in words.
//! `decide` hands over the case; nothing is decided here that a rule did not decide.

use super::epoch::Epoch;
use super::growth::{self, Missing};
use super::line::Line;
use super::settle::{self, Plateau};
use super::swing::Swing;
use super::tail::Tail;
use super::words::{evidence, pace, percent, place, stretch, turning};
use super::{Case, DRIFT, LEAST_POINTS, MATERIAL, MATERIAL_NOISE, confidence, limit};
use crate::units::show_bytes;
use crate::verdict::{Axis, Class, Evidence, Floor, Growth, Rate, SCHEMA, Verdict};

/// Evidence lines about what is missing, at most: the first ones weigh most.
const MOST_MISSING: usize = 3;
/// Creep that makes up this share of all growth is the growth, not what is left of it.
const MOSTLY: f64 = 0.25;

impl Case<'_> {
    pub(super) fn blank(&self, line: &Line) -> Verdict {
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

    /// The rate by the median of slopes, which single wild windows do not move.
    pub(super) fn tell_rate(&self, verdict: &mut Verdict, line: &Line, mut tail: Tail) -> Tail {
        tail.by_median(line);
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
        if let Some(epoch) = epoch.filter(|epoch| tail.to < epoch.seen_at()) {
            return self.within_epoch(verdict, tail, epoch);
        }
        if missing.says.is_empty() {
            self.leak(verdict, whole, tail)
        } else {
            verdict
                .evidence
                .extend(missing.says.into_iter().take(MOST_MISSING));
            verdict.decides_at = missing.decides_at;
            verdict.safe_until_then = self.safe(whole, tail, missing.decides_at);
            verdict.evidence.push(turning(
                "a first pass over the data or a store that fills looks the same; a floor that stays level makes it a warm-up, the same pace for longer a leak; the length of an epoch would decide it sooner",
            ));
            verdict
        }
    }

    fn leak(&self, mut verdict: Verdict, whole: &Line, tail: &Tail) -> Verdict {
        verdict.verdict = Class::Leak;
        verdict.leaking = Some(true);
        verdict.confidence = confidence(Class::Leak);
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

    fn safe(&self, whole: &Line, tail: &Tail, until: Option<f64>) -> Option<bool> {
        let ahead = (until? - tail.to).max(0.0);
        let crest = limit::newest_crest(whole) + tail.high.max(0.0) * ahead;
        Some(crest < self.limit?)
    }

    fn within_epoch(&self, mut verdict: Verdict, tail: &Tail, epoch: Epoch) -> Verdict {
        let ahead = (epoch.filled_at - tail.to).max(0.0);
        // From the tail's own line, not from its newest point: that window is still open, and what a
        // step holds for a moment is no floor.
        let newest = tail.level_end;
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
        verdict.evidence.push(turning(&format!(
            "not decidable before step {:.0}; growth that goes on after it is a leak",
            epoch.seen_at()
        )));
        verdict
    }

    pub(super) fn unsettled(&self, mut verdict: Verdict, whole: &Line, tail: &Tail) -> Verdict {
        verdict.evidence.push(evidence(
            "flatness is not shown",
            format!(
                "the slope since {} may still be up to {}",
                place(self.axis, tail.from),
                pace(self.axis, tail.high)
            ),
        ));
        verdict.decides_at = Some(whole.last_x() + tail.length().max(0.25 * whole.span()));
        verdict.safe_until_then = self.safe(whole, tail, verdict.decides_at);
        verdict.evidence.push(turning(
            "a longer look at the same level would show that it is flat",
        ));
        verdict
    }

    /// The floor stopped because there is nothing left to take.
    pub(super) fn full(&self, mut verdict: Verdict, whole: &Line, grew: Option<&Tail>) -> Verdict {
        verdict.evidence.push(evidence(
            "memory is full",
            format!(
                "the floor stopped at {}, within 5 % of the limit: that is no plateau",
                show_bytes(verdict.floor.last)
            ),
        ));
        match grew {
            Some(tail) => self.leak(verdict, whole, tail),
            None => {
                verdict.decides_at = Some(whole.last_x());
                verdict.safe_until_then = Some(false);
                verdict
                    .evidence
                    .push(turning("the same run with more memory"));
                verdict
            }
        }
    }

    pub(super) fn settled(
        &self,
        mut verdict: Verdict,
        (whole, line): (&Line, &Line),
        tail: &Tail,
        plateau: Plateau,
        epoch: Option<Epoch>,
    ) -> Verdict {
        verdict.creep = tail.low > 0.0 && tail.growth() >= MATERIAL * tail.level;
        let mostly = tail.growth() > MOSTLY * plateau.rise;
        // Ten times a run that has hardly begun is no horizon.
        let few = self.series.count() < growth::FEW_POINTS as u64;
        let short = self.axis == Axis::Time && whole.span() < growth::LEAST_SECONDS;
        if verdict.creep && mostly && (few || short) {
            verdict.evidence.push(evidence(
                "hardly begun",
                format!(
                    "it grows by {} over {}: too short a look to call it creep",
                    show_bytes(tail.growth()),
                    stretch(self.axis, tail.length())
                ),
            ));
            verdict.decides_at = Some(whole.last_x() + whole.span());
            verdict.evidence.push(turning("the same pace for longer"));
            return verdict;
        }
        let creeps = if verdict.creep {
            ": it creeps, too slowly to matter within ten times this run"
        } else {
            ""
        };
        verdict.evidence.push(evidence(
            "floor is flat",
            format!(
                "since {} ({}) its slope is at most {}{creeps}",
                place(self.axis, tail.from),
                stretch(self.axis, tail.length()),
                pace(self.axis, tail.high),
            ),
        ));
        let swing = Swing::of(whole);
        // A rise that is all creep has not ended: nothing to settle.
        let ended = !(verdict.creep && mostly);
        let class = self.class(&mut verdict, (whole, line), plateau, swing, epoch, ended);
        verdict.verdict = class;
        verdict.leaking = Some(false);
        verdict.confidence = confidence(class);
        if let Some(swing) = swing.filter(Swing::named) {
            if class != Class::Spikes {
                verdict.also.push(Class::Spikes);
            }
            verdict.evidence.push(evidence(
                "spikes",
                format!(
                    "excursions of up to {} over a floor of {} come down again",
                    show_bytes(swing.highest),
                    show_bytes(swing.level)
                ),
            ));
        }
        verdict.evidence.push(turning(&format!(
            "a floor that rises by more than {} from here",
            show_bytes((MATERIAL * tail.level).max(MATERIAL_NOISE * tail.noise))
        )));
        verdict
    }

    fn class(
        &self,
        verdict: &mut Verdict,
        (whole, line): (&Line, &Line),
        plateau: Plateau,
        swing: Option<Swing>,
        epoch: Option<Epoch>,
        ended: bool,
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
        if ended && plateau.rise > warm {
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
