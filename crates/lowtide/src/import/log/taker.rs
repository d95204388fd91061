//! The second reading of a log, which takes the points.

use lowtide_core::mark::{Geometry, Mark, Phase};
use lowtide_core::output::StepReader;
use lowtide_core::units::Micros;

use super::super::kept::Kept;
use super::clock::Clock;
use super::label::Label;
use super::names::Names;
use super::{says_something, telling};

pub(super) struct Taker {
    pub steps: StepReader,
    pub label: Label,
    bare_factor: f64,
    /// Its kB are the kernel's, of 1,024 bytes.
    kernel: bool,
    pub mark: Mark,
    pub geometry: Geometry,
    clock: Clock,
    names: Names,
    /// The last part of it is the last attempt.
    pub taken: Kept<Taken>,
    /// How often the job began anew.
    pub restarts: usize,
    pub unread: usize,
    /// Those of one line, while it is read.
    marks: Vec<Mark>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Taken {
    pub step: Option<u64>,
    pub epoch: Option<f64>,
    pub seconds: Option<f64>,
    pub phase: Option<Phase>,
    pub bytes: f64,
}

impl Taker {
    pub(super) fn new(steps: StepReader, label: Label, bare_factor: f64, names: Names) -> Taker {
        let word = |name: &str| label.key.split(' ').any(|w| w == name);
        Taker {
            steps,
            kernel: (word("rss") && (word("vm") || word("anon"))) || label.key.starts_with("pss"),
            label,
            bare_factor,
            mark: Mark::default(),
            geometry: Geometry::default(),
            clock: Clock::default(),
            names,
            taken: Kept::by(|taken| taken.bytes),
            restarts: 0,
            unread: 0,
            marks: Vec::new(),
        }
    }

    /// So many lines were passed over before this reading.
    pub(super) fn left_out(&mut self, lines: usize) {
        self.unread += lines;
    }

    pub(super) fn line(&mut self, line: &str) {
        let Some(line) = telling(line) else {
            self.unread += usize::from(says_something(line));
            return;
        };
        self.steps.line(line, Micros(0), &mut self.marks);
        self.take_in_marks();
        let seconds = self.clock.at(line);
        let mut found = None;
        let wanted = self.label.key.as_str();
        self.names.each(line, |size| {
            if found.is_none() && *size.name.key == *wanted {
                found = Some((size.value, size.factor.or(size.name.memory.factor)));
            }
        });
        let Some((value, factor)) = found else {
            self.unread += usize::from(says_something(line));
            return;
        };
        let factor = match factor {
            Some(factor) if self.kernel && factor == 1e3 => 1024.0,
            Some(factor) => factor,
            None => self.bare_factor,
        };
        self.taken.push(Taken {
            step: match self.label.says_its_step() {
                Some(_) => self.steps.printed(line).map(|(step, _)| step),
                None => self.mark.step,
            },
            epoch: self.mark.epoch,
            seconds,
            phase: self
                .mark
                .phase
                .filter(|p| matches!(p, Phase::Train | Phase::Eval | Phase::Save)),
            bytes: value * factor,
        });
    }

    fn take_in_marks(&mut self) {
        for mark in self.marks.drain(..) {
            if mark.phase == Some(Phase::Start) && self.taken.seen().0 > 0 {
                self.taken.begin_part();
                self.restarts += 1;
            }
            self.mark.step = mark.step.or(self.mark.step);
            self.mark.epoch = mark.epoch.or(self.mark.epoch);
            self.mark.phase = mark.phase.or(self.mark.phase);
            self.mark.total_steps = mark.total_steps.or(self.mark.total_steps);
            if let Some(geometry) = &mark.geometry {
                self.geometry.merge(geometry);
            }
        }
    }
}
