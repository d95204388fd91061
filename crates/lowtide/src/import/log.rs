//! Any log in which a person would find steps and sizes. The first reading finds out which counter
//! counts the steps and which of the printed sizes is the memory; the second takes the points. The first ends
//! where enough was seen, so that a log of any length is read once and in bounded memory.

use std::collections::HashMap;
use std::rc::Rc;

use lowtide_core::mark::{Geometry, Mark, Phase};
use lowtide_core::output::{Lines, StepReader, jobs_own};
use lowtide_core::point::{Point, Track};
use lowtide_core::units::Micros;
use lowtide_core::verdict::{Axis, Meter};

use super::header::{self, Memory};
use super::kept::Kept;
use super::size::{Size, Words, each_size};
use super::{Feed, ImportError, Imported, Options, order, time};

/// Different labels that are remembered; a log with more is no log of memory.
const LABELS: usize = 256;

/// A label must come back this often to be a series.
const RECURS: usize = 3;

/// What a size without a telling word ranks: below every name that says memory.
const UNNAMED: u8 = 5;

/// One kind of printed size.
#[derive(Clone, Debug)]
struct Label {
    key: String,
    memory: Memory,
    count: usize,
    /// Some of its numbers came without a unit.
    bare: bool,
    values: (f64, bool, bool),
    /// The step that its own lines print, as long as it only rises.
    own: OwnSteps,
}

#[derive(Clone, Copy, Debug, Default)]
struct OwnSteps {
    count: usize,
    last: u64,
    word: &'static str,
    fell: bool,
}

impl Label {
    /// The line itself says the step nearly always: that is surer than the last bar before it.
    fn says_its_step(&self) -> Option<&'static str> {
        (!self.own.fell && self.own.count * 10 >= self.count * 9).then_some(self.own.word)
    }
}

pub(super) fn read(
    feed: &mut Feed<'_>,
    name: &str,
    options: &Options,
) -> Result<Imported, ImportError> {
    let mut lines = Lines::default();
    let mut reading = Reading::First(Box::default());
    let mut failed = None;
    let mut line = |line: &str| {
        if failed.is_none()
            && let Err(error) = reading.line(line, options)
        {
            failed = Some(error);
        }
    };
    feed.each_piece(|piece| lines.feed(piece, &mut line))?;
    lines.finish(&mut line);
    if let Some(error) = failed {
        return Err(error);
    }
    let taker = match reading {
        Reading::First(first) => first.decide(options)?,
        Reading::Second(taker) => *taker,
    };
    taker.finish(name, options)
}

/// So much of a log, in lines that matter, decides how it is read, and is read twice: a hundred thousand lines.
const FIRST: usize = 8 << 20;

enum Reading {
    First(Box<First>),
    Second(Box<Taker>),
}

impl Reading {
    fn line(&mut self, line: &str, options: &Options) -> Result<(), ImportError> {
        match self {
            Reading::Second(taker) => taker.line(line),
            Reading::First(first) => {
                first.line(line);
                if first.kept.len() >= FIRST {
                    let first = std::mem::take(first);
                    *self = first.go_on(options)?;
                }
            }
        }
        Ok(())
    }
}

/// The first reading, which keeps what the second needs.
#[derive(Default)]
struct First {
    steps: StepReader,
    labels: Labels,
    /// Lines that matter.
    kept: String,
    left_out: usize,
}

impl First {
    fn line(&mut self, line: &str) {
        self.steps.line(line, Micros(0));
        let own = jobs_own(line);
        self.labels.note(own, || self.steps.printed(own));
        if matters(own) {
            self.kept.push_str(own);
            self.kept.push('\n');
        } else {
            self.left_out += usize::from(says_something(own));
        }
    }

    /// Enough was seen to decide, unless none of it was about memory: then that is forgotten.
    fn go_on(mut self, options: &Options) -> Result<Reading, ImportError> {
        if self.labels.labels.iter().any(|label| label.count >= RECURS) {
            let taker = self.decide(options)?;
            return Ok(Reading::Second(Box::new(taker)));
        }
        self.left_out += self
            .kept
            .lines()
            .filter(|line| says_something(line))
            .count();
        self.kept.clear();
        Ok(Reading::First(Box::new(self)))
    }

    fn decide(self, options: &Options) -> Result<Taker, ImportError> {
        let Labels { labels, names, .. } = self.labels;
        let label = choose(labels, options)?;
        let factor = bare_factor(&label, options)?;
        let steps = match self.steps.counter() {
            Some(counter) => StepReader::following(counter.clone()),
            None => StepReader::new(),
        };
        let mut taker = Taker::new(steps, label, factor, names);
        taker.unread = self.left_out;
        self.kept.lines().for_each(|line| taker.line(line));
        Ok(taker)
    }
}

/// Whether the second reading could do anything with a line: it has a number, or is one of those that tell
/// what the job does (`***** Running training *****`, `Traceback`, `{'loss': nan}`).
fn matters(line: &str) -> bool {
    line.bytes().any(|b| b.is_ascii_digit() || b == b'{')
        || line.contains("*****")
        || line.contains("Saving model")
        || line.contains("Traceback")
}

fn says_something(line: &str) -> bool {
    line.bytes().any(|b| b.is_ascii_alphanumeric())
}

/// What sizes are called. Lines of a log resemble each other, so nearly every answer is known already.
#[derive(Default)]
struct Names {
    words: Words,
    known: HashMap<String, Option<(Rc<str>, Memory)>>,
    asked: String,
}

/// Ways to call a size that are remembered; a log has dozens.
const NAMES: usize = 4096;

impl Names {
    /// Calls with each size of a line that has a name: its value, its unit, its label.
    fn each(&mut self, line: &str, mut each: impl FnMut(f64, Option<f64>, &Rc<str>, Memory)) {
        let Names {
            words,
            known,
            asked,
        } = self;
        let smi = line.trim_start().starts_with('|') && line.contains("MiB /");
        each_size(line, words, |size| {
            asked.clear();
            asked.push(match (smi, size.factor.is_some()) {
                (false, false) => 'n',
                (false, true) => 'u',
                (true, false) => 's',
                (true, true) => 'S',
            });
            for word in size.near() {
                asked.push_str(word);
                asked.push(' ');
            }
            asked.push('|');
            for word in size.far() {
                asked.push_str(word);
                asked.push(' ');
            }
            if let Some(label) = known.get(asked.as_str()) {
                if let Some((key, memory)) = label {
                    each(size.value, size.factor, key, *memory);
                }
                return;
            }
            if known.len() >= NAMES {
                known.clear();
            }
            let label = label_of(smi, &size.owned());
            let label = label.map(|(key, memory)| (Rc::from(key), memory));
            if let Some((key, memory)) = &label {
                each(size.value, size.factor, key, *memory);
            }
            known.insert(asked.clone(), label);
        });
    }
}

/// The kinds of sizes that a log prints.
#[derive(Default)]
struct Labels {
    labels: Vec<Label>,
    by_key: HashMap<Rc<str>, usize>,
    names: Names,
}

/// The words that name a size, and what they say.
fn label_of(smi: bool, size: &Size) -> Option<(String, Memory)> {
    let mut named = size.near.clone();
    if named.is_empty() {
        named.clone_from(&size.far);
    }
    let gpu = smi || header::memory(&size.far).is_some_and(|m| m.meter == Meter::Gpu);
    let memory = match header::memory(&named) {
        Some(memory) => memory,
        // A word such as `total` or `peak` says that it is not the memory in use.
        None if size.factor.is_some() && !header::not_in_use(&named) => Memory {
            meter: Meter::Memory,
            factor: None,
            rank: UNNAMED,
        },
        None => return None,
    };
    // `value=3` and `size: 12` are memory in a table of two columns, not in a log.
    if size.factor.is_none() && memory.factor.is_none() && memory.rank < 60 {
        return None;
    }
    let memory = if gpu {
        Memory {
            meter: Meter::Gpu,
            rank: 10,
            ..memory
        }
    } else {
        memory
    };
    let key = if smi {
        "gpu memory".to_owned()
    } else {
        named.join(" ")
    };
    Some((key, memory))
}

impl Labels {
    fn note(&mut self, line: &str, printed: impl Fn() -> Option<(u64, &'static str)>) {
        let Labels {
            labels,
            by_key,
            names,
        } = self;
        // Most lines have no size with a name, and need not be asked for their step.
        let mut own = None;
        names.each(line, |value, factor, key, memory| {
            let at = match by_key.get(key) {
                Some(at) => *at,
                None if labels.len() >= LABELS => return,
                None => {
                    by_key.insert(Rc::clone(key), labels.len());
                    labels.push(Label {
                        key: key.as_ref().to_owned(),
                        memory,
                        count: 0,
                        bare: false,
                        values: (0.0, true, true),
                        own: OwnSteps::default(),
                    });
                    labels.len() - 1
                }
            };
            let label = &mut labels[at];
            label.count += 1;
            if let Some((step, word)) = *own.get_or_insert_with(&printed) {
                label.own.fell |= label.own.count > 0 && step < label.own.last;
                label.own.last = step;
                label.own.word = word;
                label.own.count += 1;
            }
            if factor.is_none() && memory.factor.is_none() {
                label.bare = true;
                let (max, pages, fours) = label.values;
                label.values = (
                    max.max(value),
                    pages && value % 4096.0 == 0.0,
                    fours && value % 4.0 == 0.0,
                );
            }
        });
    }
}

fn choose(mut labels: Vec<Label>, options: &Options) -> Result<Label, ImportError> {
    let nothing = || {
        ImportError::new("no memory sizes found in it").hint(
            "lowtide reads tables (step,MB), mprof and psrecord files, JSON lines, and logs with lines like `Step 10: RAM 5552 MB`",
        )
    };
    if let Some(wanted) = &options.column {
        let wanted = header::words(wanted).join(" ");
        let all: Vec<String> = labels
            .iter()
            .map(|l| format!("'{}'", l.key))
            .take(8)
            .collect();
        labels.retain(|l| l.key == wanted || l.key.contains(&wanted));
        labels.sort_by_key(|l| (l.key != wanted, std::cmp::Reverse(l.count)));
        return labels.into_iter().next().ok_or_else(|| {
            ImportError::new(format!("no size is printed after the words `{wanted}`"))
                .hint(format!("found: {}", all.join(", ")))
        });
    }
    let most = labels.iter().map(|l| l.count).max().unwrap_or(0);
    labels.retain(|l| l.count >= RECURS.min(most));
    labels.sort_by_key(|l| (std::cmp::Reverse(l.memory.rank), std::cmp::Reverse(l.count)));
    let best = labels.first().cloned().ok_or_else(nothing)?;
    // Another label of the same standing that is printed about as often: which one is meant?
    let rival = labels[1..]
        .iter()
        .find(|l| l.memory.rank == best.memory.rank && l.count * 2 > best.count);
    match rival {
        Some(rival) => Err(ImportError::new(format!(
            "two kinds of sizes may be the memory: after `{}` and after `{}`",
            best.key, rival.key
        ))
        .hint(format!("choose one: --column '{}'", best.key))),
        None => Ok(best),
    }
}

/// What a number without a unit is worth under this label.
fn bare_factor(label: &Label, options: &Options) -> Result<f64, ImportError> {
    if let Some(factor) = options.unit_factor()? {
        return Ok(factor);
    }
    if !label.bare {
        return Ok(1.0);
    }
    let (max, pages, fours) = label.values;
    header::unit_by_pages(max, pages, fours)
        .map(|(factor, _)| factor)
        .ok_or_else(|| {
            ImportError::new(format!(
                "the sizes after `{}` do not say their unit",
                label.key
            ))
            .hint("say it: --unit MB (or B, kB, GB, MiB …)")
        })
}

/// The second reading.
struct Taker {
    steps: StepReader,
    label: Label,
    bare_factor: f64,
    mark: Mark,
    geometry: Geometry,
    clock: Clock,
    names: Names,
    /// The last part of it is the last attempt.
    taken: Kept<Taken>,
    /// How often the job began anew.
    restarts: usize,
    unread: usize,
}

#[derive(Clone, Copy, Debug)]
struct Taken {
    step: Option<u64>,
    epoch: Option<f64>,
    seconds: Option<f64>,
    phase: Option<Phase>,
    bytes: f64,
}

/// Moments of lines as seconds since the first, over midnight.
#[derive(Default)]
struct Clock {
    first: Option<f64>,
    last: f64,
    days: f64,
}

impl Clock {
    fn read(&mut self, line: &str) -> Option<f64> {
        let moment = time::line_moment(line)?;
        let first = *self.first.get_or_insert(moment.seconds);
        if moment.clock_only && moment.seconds + self.days < self.last - 43_200.0 {
            self.days += 86_400.0;
        }
        self.last = moment.seconds + self.days;
        Some(self.last - first)
    }
}

impl Taker {
    fn new(steps: StepReader, label: Label, bare_factor: f64, names: Names) -> Taker {
        Taker {
            steps,
            label,
            bare_factor,
            mark: Mark::default(),
            geometry: Geometry::default(),
            clock: Clock::default(),
            names,
            taken: Kept::by(|taken| taken.bytes),
            restarts: 0,
            unread: 0,
        }
    }

    fn line(&mut self, line: &str) {
        let line = jobs_own(line);
        for mark in self.steps.line(line, Micros(0)) {
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
        let seconds = self.clock.read(line).or((self.clock.first.is_some())
            .then_some(self.clock.last - self.clock.first.unwrap_or(0.0)));
        let mut found = None;
        let wanted = self.label.key.as_str();
        self.names.each(line, |value, factor, key, memory| {
            if found.is_none() && &**key == wanted {
                found = Some((value, factor, memory));
            }
        });
        let Some((value, factor, memory)) = found else {
            self.unread += usize::from(says_something(line));
            return;
        };
        let word = |name: &str| self.label.key.split(' ').any(|w| w == name);
        let kernel = word("rss") && (word("vm") || word("anon"));
        let factor = match factor.or(memory.factor) {
            // The kernel's kB are 1,024 bytes.
            Some(factor) if kernel && factor == 1e3 => 1024.0,
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

    fn finish(mut self, name: &str, options: &Options) -> Result<Imported, ImportError> {
        let (stepped, mut notes) = self.last_attempt();
        let on = self.axis(stepped, options);
        if !on.by_step && !on.whole_epochs && on.epoch_factor.is_none() {
            notes += ", parts of an epoch are no steps (give --epoch-steps)";
        }
        let points = self.points(&on)?;
        let before = self.taken.values().len() - points.len();
        let (seen, _) = self.taken.seen();
        let thinned = self.taken.thinned();
        let (points, order) = order::settled(points, on.axis)?;
        if before > 0 {
            notes += &format!(", {before} sizes before the first step left out");
        }
        let shown = if self.label.key.is_empty() {
            "the only size of a line".to_owned()
        } else {
            format!("`{} …`", self.label.key)
        };
        Ok(Imported {
            how: format!(
                "{} points: {}, sizes from {shown}{notes}{}{thinned}{order}",
                seen - before,
                self.says_where(&on),
                super::skipped(self.unread)
            ),
            track: Track {
                name: name.to_owned(),
                axis: on.axis,
                meter: self.label.memory.meter,
                points,
            },
            geometry: (self.geometry != Geometry::default()).then_some(self.geometry),
            // A total that was passed is none.
            total_steps: self
                .mark
                .total_steps
                .filter(|total| self.mark.step <= Some(*total)),
        })
    }

    /// Keeps the last attempt where it is most of the log. Whether the step counter can be the axis, and what
    /// is to be said of it.
    fn last_attempt(&mut self) -> (bool, String) {
        let restarts = self.restarts;
        if restarts == 0 {
            return (true, String::new());
        }
        let (total, last) = self.taken.seen();
        if last * 2 >= total {
            self.taken.forget_all_but_the_last_part();
            let attempts = restarts + 1;
            return (true, format!(", the last of {attempts} attempts"));
        }
        // A counter that starts over again and again is no axis.
        let note = format!(", the step counter restarts {restarts} times and is not used");
        (false, note)
    }

    fn axis(&self, stepped: bool, options: &Options) -> OnAxis {
        let distinct = |value: &dyn Fn(&Taken) -> Option<f64>| {
            let mut values = self.taken.values().iter().filter_map(value);
            let first = values.next();
            first.is_some() && values.any(|v| Some(v) != first)
        };
        let by_step = stepped && distinct(&|t| t.step.map(|s| s as f64));
        let epochs = self.taken.values().iter().filter_map(|t| t.epoch);
        let whole_epochs = epochs.into_iter().all(|epoch| epoch.fract() == 0.0);
        let per_epoch = options.epoch_steps.or(self.geometry.steps_per_epoch());
        let epoch_factor = if whole_epochs { Some(1.0) } else { per_epoch };
        let by_epoch = stepped && distinct(&|t| t.epoch) && epoch_factor.is_some();
        let axis = match options.axis {
            Some(axis) => axis,
            None if by_step || by_epoch => Axis::Step,
            None if distinct(&|t| t.seconds) => Axis::Time,
            None => Axis::Sample,
        };
        OnAxis {
            axis,
            by_step,
            whole_epochs,
            epoch_factor,
        }
    }

    fn points(&self, on: &OnAxis) -> Result<Vec<Point>, ImportError> {
        let place = |at: usize, taken: &Taken| match on.axis {
            Axis::Step if on.by_step => taken.step.map(|s| s as f64),
            Axis::Step => {
                let epoch = taken.epoch.zip(on.epoch_factor);
                epoch.map(|(epoch, steps)| epoch * steps)
            }
            Axis::Time => taken.seconds,
            Axis::Sample => Some(at as f64),
        };
        let point = |(at, taken): (usize, &Taken)| {
            Some(Point {
                x: place(at, taken)?,
                bytes: taken.bytes,
                seconds: taken.seconds.filter(|_| on.axis != Axis::Time),
                phase: taken.phase,
            })
        };
        let points: Vec<Point> = self
            .taken
            .values()
            .iter()
            .enumerate()
            .filter_map(point)
            .collect();
        if points.is_empty() {
            let counted = match on.axis {
                Axis::Step => "steps",
                _ => "time",
            };
            let message = format!("it has sizes, but nothing that counts {counted}");
            return Err(ImportError::new(message).hint("leave --axis out, or say --axis sample"));
        }
        Ok(points)
    }

    /// Where the places on the axis come from.
    fn says_where(&self, on: &OnAxis) -> String {
        match (on.axis, self.steps.counter()) {
            (Axis::Step, _) if let Some(word) = self.label.says_its_step() => {
                format!("steps from `{word}`")
            }
            (Axis::Step, Some(counter)) if on.by_step => format!("steps from {counter}"),
            (Axis::Step, _) if on.by_step => "steps from the Trainer's dictionaries".to_owned(),
            (Axis::Step, _) if !on.whole_epochs => "steps from parts of an epoch".to_owned(),
            (Axis::Step, _) => "steps from `Epoch N`".to_owned(),
            (Axis::Time, _) => "seconds from the times of the lines".to_owned(),
            (Axis::Sample, _) => "in the order of the lines".to_owned(),
        }
    }
}

/// What a log is read along.
struct OnAxis {
    axis: Axis,
    by_step: bool,
    /// Parts of an epoch (`'epoch': 0.12`) are no steps; the length of an epoch makes them some.
    whole_epochs: bool,
    epoch_factor: Option<f64>,
}
