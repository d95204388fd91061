//! The readings of a tool's file, sorted into series: whose they are, when they were taken, how large. Fed by the
//! readers in `tools`, in the order of the file and in bounded memory.

use std::collections::HashMap;

use lowtide_core::point::{Point, Track};
use lowtide_core::verdict::{Axis, Meter};

use super::kept::{Kept, MOST};
use super::table::axis_word;
use super::time::Moment;
use super::{ImportError, Imported, Options, Who, order, skipped};

/// Series that are told apart. A machine has some hundreds of processes at a time, but `top` of a week lists
/// every compiler that ran: beyond this, those with the fewest readings are forgotten.
const SERIES: usize = 4096;

/// Whose reading it is, and what was read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Whose<'a> {
    /// What `--name` asks for: a process's command, a container, a pod, a metric.
    pub name: &'a str,
    pub pid: Option<u32>,
    /// The command line, where it is known beside the name.
    pub command: Option<&'a str>,
    /// What kind of size, in words: "resident memory". Series of different kinds are not compared.
    pub kind: &'a str,
    pub meter: Meter,
}

pub(super) struct Gather {
    tool: &'static str,
    unit: Option<f64>,
    lines: Vec<Line>,
    by_key: HashMap<String, usize>,
    asked: String,
    /// Which sample: all that was read at one moment is one.
    round: u64,
    /// Something was read in it.
    in_round: bool,
    step: Option<f64>,
    clock: Clock,
    kept: usize,
    skipped: usize,
    forgotten: usize,
}

struct Line {
    who: Who,
    meter: Meter,
    round: u64,
    readings: Kept<Reading>,
}

#[derive(Clone, Copy, Debug)]
struct Reading {
    round: f64,
    step: Option<f64>,
    seconds: Option<f64>,
    bytes: f64,
}

impl Gather {
    pub(super) fn new(tool: &'static str, options: &Options) -> Result<Gather, ImportError> {
        Ok(Gather {
            tool,
            unit: options.unit_factor()?,
            lines: Vec::new(),
            by_key: HashMap::new(),
            asked: String::new(),
            round: 1,
            in_round: false,
            step: None,
            clock: Clock::default(),
            kept: 0,
            skipped: 0,
            forgotten: 0,
        })
    }

    /// What numbers without a unit are worth, where `--unit` says it.
    pub(super) fn unit(&self) -> Option<f64> {
        self.unit
    }

    /// Another sample begins: a header came, or the screen was drawn anew. Without it, one begins with the
    /// second reading of the same name.
    pub(super) fn begin_round(&mut self) {
        self.round += u64::from(self.in_round);
        self.in_round = false;
    }

    /// From here on it is this time.
    pub(super) fn at(&mut self, moment: Moment) {
        if self.clock.set(moment) {
            self.begin_round();
        }
    }

    /// From here on it is this step.
    pub(super) fn at_step(&mut self, step: f64) {
        if self.step != Some(step) {
            self.step = Some(step);
            self.begin_round();
        }
    }

    pub(super) fn take(&mut self, whose: Whose<'_>, bytes: f64) {
        use std::fmt::Write as _;
        if !bytes.is_finite() || bytes < 0.0 {
            return self.skip();
        }
        self.asked.clear();
        // A process is its number: its name changes when it becomes another program.
        let _ = match whose.pid {
            Some(pid) => write!(self.asked, "{pid} {}", whose.kind),
            None => write!(self.asked, "{} {}", whose.name, whose.kind),
        };
        let mut at = match self.by_key.get(&self.asked) {
            Some(at) => *at,
            None => self.add(whose),
        };
        if self.lines[at].round == self.round {
            self.begin_round();
        }
        if self.lines[at].who.name != whose.name {
            // Gone for a while and back with another name: the number was given anew.
            if self.lines[at].round + 1 < self.round {
                at = self.add(whose);
            } else {
                self.lines[at].who.name = whose.name.to_owned();
            }
        }
        let line = &mut self.lines[at];
        line.round = self.round;
        self.in_round = true;
        line.readings.push(Reading {
            round: self.round as f64,
            step: self.step,
            seconds: self.clock.now(),
            bytes,
        });
        self.kept += 1;
        if self.kept >= MOST {
            self.lines.iter_mut().for_each(|line| line.readings.thin());
            let kept = self.lines.iter().map(|line| line.readings.values().len());
            self.kept = kept.sum();
        }
    }

    /// A line that should have been a reading and is none.
    pub(super) fn skip(&mut self) {
        self.skipped += 1;
    }

    fn add(&mut self, whose: Whose<'_>) -> usize {
        if self.lines.len() >= SERIES {
            self.forget_the_short();
        }
        let at = self.lines.len();
        self.by_key.insert(self.asked.clone(), at);
        self.lines.push(Line {
            who: Who {
                name: whose.name.to_owned(),
                pid: whose.pid,
                command: whose.command.map(str::to_owned),
                kind: whose.kind.to_owned(),
            },
            meter: whose.meter,
            round: 0,
            readings: Kept::by(|reading| reading.bytes),
        });
        at
    }

    /// Half of the series stay: those with the most readings, in the order in which they came.
    fn forget_the_short(&mut self) {
        let mut counts: Vec<usize> = self.lines.iter().map(Line::seen).collect();
        counts.sort_unstable_by(|a, b| b.cmp(a));
        let least = counts[SERIES / 2];
        let mut room = SERIES / 2;
        let mut stays = Vec::with_capacity(self.lines.len());
        self.lines.retain(|line| {
            let stay = room > 0 && line.seen() >= least;
            room -= usize::from(stay);
            stays.push(stay);
            stay
        });
        self.forgotten += stays.iter().filter(|stay| !**stay).count();
        let mut moved = 0;
        let now: Vec<Option<usize>> = stays
            .iter()
            .map(|stay| {
                stay.then(|| {
                    moved += 1;
                    moved - 1
                })
            })
            .collect();
        self.by_key.retain(|_, at| match now[*at] {
            Some(there) => {
                *at = there;
                true
            }
            None => false,
        });
    }

    /// Every series of the file, in the order in which they came.
    pub(super) fn finish(
        self,
        source: &str,
        options: &Options,
    ) -> Result<Vec<Imported>, ImportError> {
        if self.lines.is_empty() {
            return Err(ImportError::new(format!(
                "it looks like {}, and no memory could be read in it",
                self.tool
            ))
            .hint("docs/files.md shows what such a file looks like"));
        }
        let axis = self.axis(options)?;
        let mut notes = skipped(self.skipped);
        if self.forgotten > 0 {
            notes += &format!(", {} short-lived ones left out", self.forgotten);
        }
        let series = self.lines.into_iter();
        series
            .map(|line| line.finish(self.tool, source, axis, &notes))
            .collect()
    }

    /// One axis for all: that which every reading has.
    fn axis(&self, options: &Options) -> Result<Axis, ImportError> {
        let readings = || self.lines.iter().flat_map(|line| line.readings.values());
        let spread = |value: &dyn Fn(&Reading) -> Option<f64>| {
            let first = readings().next().and_then(value);
            readings().all(|r| value(r).is_some()) && readings().any(|r| value(r) != first)
        };
        let steps = spread(&|reading| reading.step);
        let seconds = spread(&|reading| reading.seconds);
        match options.axis {
            Some(Axis::Step) if !steps => Err(ImportError::new(format!(
                "this output of {} tells no steps",
                self.tool
            ))
            .hint("leave --axis out")),
            Some(Axis::Time) if !seconds => Err(ImportError::new(format!(
                "this output of {} tells no times",
                self.tool
            ))
            .hint("leave --axis out; next time, let `date` write a line before each sample")),
            Some(axis) => Ok(axis),
            None if steps => Ok(Axis::Step),
            None if seconds => Ok(Axis::Time),
            None => Ok(Axis::Sample),
        }
    }
}

impl Line {
    fn seen(&self) -> usize {
        self.readings.seen().0
    }

    fn finish(
        self,
        tool: &str,
        source: &str,
        axis: Axis,
        notes: &str,
    ) -> Result<Imported, ImportError> {
        let point = |reading: &Reading| {
            let x = match axis {
                Axis::Step => reading.step,
                Axis::Time => reading.seconds,
                Axis::Sample => Some(reading.round),
            };
            x.map(|x| Point {
                x,
                bytes: reading.bytes,
                seconds: reading.seconds.filter(|_| axis != Axis::Time),
                phase: None,
            })
        };
        let points: Vec<Point> = self.readings.values().iter().filter_map(point).collect();
        let (points, order) = order::settled(points, axis)?;
        let along = match axis {
            Axis::Sample => "in the order of the samples".to_owned(),
            axis => format!("along its {}", axis_word(axis)),
        };
        Ok(Imported {
            how: format!(
                "{} points of {tool}: {} of {}, {along}{notes}{}{order}",
                self.seen(),
                self.who.kind,
                self.who.shown(),
                self.readings.thinned(),
            ),
            track: Track {
                name: source.to_owned(),
                axis,
                meter: self.meter,
                points,
            },
            who: self.who,
            geometry: None,
            total_steps: None,
        })
    }
}

/// Times of samples as seconds since the first, over midnight.
#[derive(Default)]
struct Clock {
    first: Option<f64>,
    last: f64,
    days: f64,
}

impl Clock {
    /// Whether it is another time than before.
    fn set(&mut self, moment: Moment) -> bool {
        const DAY: f64 = 86_400.0;
        let known = self.first.is_some();
        self.first.get_or_insert(moment.seconds);
        // Midnight is a fall by more than half a day.
        if known && moment.clock_only && moment.seconds + self.days < self.last - DAY / 2.0 {
            self.days += DAY;
        }
        let now = moment.seconds + self.days;
        let moved = !known || now != self.last;
        self.last = now;
        moved
    }

    fn now(&self) -> Option<f64> {
        self.first.map(|first| self.last - first)
    }
}
