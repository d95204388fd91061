//! Makes the report out of a picture or of a bare series.

use crate::judge::line::FloorLine;
use crate::meter::{Drawn, Meter};
use crate::point::{Context, Track};
use crate::process::{ProcId, Role};
use crate::run::{ProcessTrack, Subject, Summary};
use crate::series::Series;
use crate::verdict::{Axis, Verdict};

use super::breakdowns;
use super::fold::{Detail, Picture};
use super::forecast::forecast;
use super::grid::{Column, Grid, Range};
use super::timeline::{epoch_ends, step_of};
use super::{BreakdownTable, Event, Line, LineName, Process, Report, Room, SCHEMA, Stack};

const TREE: &str = "tree";
const SERIES: &str = "series";

impl Picture {
    /// The report up to now, with all lines that a page shows first, each in so many columns at most.
    pub fn report(&self, detail: Detail) -> Report {
        self.with_lines(self.report_without_lines(), detail)
    }

    /// Adds the pictures to a report that was made without them, up to the same moment.
    pub fn with_lines(&self, report: Report, detail: Detail) -> Report {
        Report {
            lines: self.lines(detail),
            stack: self.stack(f64::NEG_INFINITY, f64::INFINITY, detail.main),
            ..report
        }
    }

    /// The same without its pictures, which can be large.
    pub fn report_without_lines(&self) -> Report {
        let (verdict, series, subject, explanation) = self.run.decided_and_explained();
        let summary = self.run.summary();
        let decides = line_name(subject);
        let to = self.run.last_at().seconds();
        Report {
            schema: SCHEMA,
            name: self.run.header().name.clone(),
            headline: String::new(),
            read: None,
            header: Some(self.run.header().clone()),
            axis: Axis::Time,
            from: self.tree.columns().first().map_or(0.0, Column::x),
            to,
            steps: self.timeline.steps(),
            lines: Vec::new(),
            meters: Meter::drawn().collect(),
            stack: None,
            spans: self.timeline.spans(to),
            epochs: self.timeline.epochs(self.run.geometry().steps_per_epoch()),
            floor: floor(series),
            forecast: forecast(&verdict, series, self.beside(&decides)),
            room: self.room(&decides, &verdict, &summary),
            processes: self
                .run
                .processes()
                .map(|track| self.process(track))
                .collect(),
            breakdowns: self.breakdowns(subject),
            explanation: Some(explanation),
            events: events(self.run.events()),
            attempts: self.attempts.clone(),
            died: self.run.post_mortem().map(|found| found.cause.to_string()),
            post_mortem: self.run.post_mortem().cloned(),
            summary: Some(summary),
            verdict,
            decides,
        }
    }

    fn lines(&self, detail: Detail) -> Vec<Line> {
        let whole = |grid: &Grid<Range>, most| grid.view(f64::NEG_INFINITY, f64::INFINITY, most);
        let mut lines = vec![line(TREE, Meter::Held, whole(&self.tree, detail.main))];
        if !self.gpu.is_empty() {
            lines.push(line(TREE, Meter::Gpu, whole(&self.gpu, detail.main)));
        }
        for (role, grid) in &self.roles {
            lines.push(line(&role_key(role), Meter::Pss, whole(grid, detail.main)));
        }
        let watched = self.run.watched().map(|(track, _)| track.member.id);
        for (id, meters) in self.processes.iter() {
            let main = Some(*id) == watched;
            for (meter, grid) in meters.lines() {
                // Every meter of the one that matters; of the others what tells who grows.
                if main || meter.info().drawn == Drawn::Every {
                    let most = if main { detail.main } else { detail.other };
                    lines.push(line(&process_key(*id), *meter, whole(grid, most)));
                }
            }
        }
        lines
    }

    /// The meters that can be asked for, line by line.
    pub fn line_names(&self) -> Vec<LineName> {
        let name = |who: String, meter| LineName { who, meter };
        let mut names = vec![name(TREE.to_owned(), Meter::Held)];
        if !self.gpu.is_empty() {
            names.push(name(TREE.to_owned(), Meter::Gpu));
        }
        names.extend(
            self.roles
                .keys()
                .map(|role| name(role_key(role), Meter::Pss)),
        );
        for (id, meters) in self.processes.iter() {
            let own = meters
                .lines()
                .iter()
                .map(|(meter, _)| name(process_key(*id), *meter));
            names.extend(own);
        }
        names
    }

    /// One line between two places in at most so many columns; none when there is no such line.
    pub fn line(&self, name: &LineName, from: f64, to: f64, most: usize) -> Option<Line> {
        let grid = self.grid(name)?;
        Some(line(&name.who, name.meter, grid.view(from, to, most)))
    }

    fn grid(&self, name: &LineName) -> Option<&Grid<Range>> {
        match (name.who.as_str(), name.meter) {
            (TREE, Meter::Held) => Some(&self.tree),
            (TREE, Meter::Gpu) => (!self.gpu.is_empty()).then_some(&self.gpu),
            (who, meter) => {
                if let Some(role) = who.strip_prefix("role:") {
                    return self.roles.get(role).filter(|_| meter == Meter::Pss);
                }
                let (pid, start) = who.strip_prefix("pid:")?.split_once(':')?;
                let id = ProcId {
                    pid: pid.parse().ok()?,
                    start: start.parse().ok()?,
                };
                let lines = self.processes.get(&id)?.lines();
                lines
                    .iter()
                    .find(|(there, _)| *there == meter)
                    .map(|(_, grid)| grid)
            }
        }
    }

    pub fn stack(&self, from: f64, to: f64, most: usize) -> Option<Stack> {
        let columns = self.stack.view(from, to, most);
        if columns.is_empty() {
            return None;
        }
        let part = |nth: usize| {
            columns
                .iter()
                .map(move |c| c.parts.get(nth).copied().unwrap_or(0))
        };
        Some(Stack {
            roles: self
                .stacked
                .iter()
                .map(|role| Role::NAMES[*role].to_owned())
                .collect(),
            parts: (0..self.stacked.len())
                .map(|nth| part(nth).collect())
                .collect(),
            x: columns.iter().map(|c| short(c.x)).collect(),
            total: columns.iter().map(|c| c.total).collect(),
        })
    }

    /// What the tree holds that this line does not.
    fn beside(&self, name: &LineName) -> f64 {
        let now = |grid: &Grid<Range>| grid.columns().last().map(|c| c.high as f64);
        let whole = now(&self.tree).zip(self.grid(name).and_then(now));
        whole.map_or(0.0, |(tree, line)| (tree - line).max(0.0))
    }

    fn room(&self, decides: &LineName, verdict: &Verdict, summary: &Summary) -> Option<Room> {
        let (limit, left) = (verdict.limit?, verdict.headroom?);
        let last = self.grid(decides)?.columns().last()?;
        let recorded = summary
            .limit
            .as_ref()
            .filter(|there| there.bytes.as_f64() == limit);
        Some(Room {
            until: last.high as f64 + left,
            limit,
            from: recorded.map_or("--limit".to_owned(), |there| there.from.to_string()),
        })
    }

    fn process(&self, track: &ProcessTrack) -> Process {
        let watched = self.run.watched().map(|(track, _)| track.member.id);
        let held = &track.held;
        Process {
            who: process_key(track.member.id),
            pid: track.member.id.pid,
            parent: track.member.parent.map(process_key),
            role: track.member.role.to_string(),
            command: track.command(),
            why: track.member.why.clone(),
            watched: watched == Some(track.member.id),
            since: track.since.seconds(),
            gone: track.gone.map(|at| at.seconds()),
            held: [self.run.least(track), held.max, held.last],
            own: track.own.last,
            peak: track.peak.as_f64(),
            threads: track.last.map(|reading| reading.threads),
        }
    }

    /// Of the process that decides if it was looked into, else of the one that is watched.
    fn breakdowns(&self, subject: Subject) -> Vec<BreakdownTable> {
        let decides = match subject {
            Subject::Process(id) => Some(id),
            _ => None,
        };
        let watched = self.run.watched().map(|(track, _)| track.member.id);
        let looked_into = |id: &ProcId| !self.run.looks(*id).is_empty();
        match decides.into_iter().chain(watched).find(looked_into) {
            Some(id) => breakdowns::tables(&process_key(id), self.run.looks(id)),
            None => Vec::new(),
        }
    }
}

impl Report {
    /// Where a second of the run was in steps; none before the first one.
    pub fn step_at(&self, second: f64) -> Option<f64> {
        step_of(&self.steps, second)
    }

    /// The report on a bare series, as a log or a table has it.
    pub fn of_series(
        track: &Track,
        series: &Series,
        verdict: Verdict,
        epoch_steps: Option<f64>,
    ) -> Report {
        let mut grid = Grid::new(Detail::FILE.main);
        for point in &track.points {
            let bytes = point.bytes.max(0.0) as u64;
            grid.push(Range {
                x: point.x,
                low: bytes,
                high: bytes,
            });
        }
        let columns = grid.columns();
        let (from, to) = columns
            .first()
            .zip(columns.last())
            .map_or((0.0, 0.0), |(a, b)| (a.x, b.x));
        let on_steps = track.axis == Axis::Step;
        Report {
            schema: SCHEMA,
            name: verdict.source.clone(),
            headline: String::new(),
            decides: LineName {
                who: SERIES.to_owned(),
                meter: track.meter,
            },
            read: None,
            header: None,
            summary: None,
            axis: track.axis,
            from,
            to,
            steps: Vec::new(),
            lines: vec![line(SERIES, track.meter, columns.to_vec())],
            meters: vec![track.meter.info()],
            stack: None,
            spans: Vec::new(),
            epochs: epoch_ends(epoch_steps.filter(|_| on_steps), to).collect(),
            floor: floor(series),
            forecast: forecast(&verdict, series, 0.0),
            room: verdict.limit.map(|limit| Room {
                until: limit,
                limit,
                from: "--limit".to_owned(),
            }),
            processes: Vec::new(),
            breakdowns: Vec::new(),
            explanation: None,
            events: Vec::new(),
            attempts: Vec::new(),
            died: None,
            post_mortem: None,
            verdict,
        }
    }
}

/// One low-water point per window: wide enough to step over an evaluation, at most so many.
const WINDOWS: usize = 32;
/// Points that a window has at least.
const PER_WINDOW: usize = 3;

/// The line that the rules look at, in windows: what an evaluation at the very end holds is not part of it.
fn floor(series: &Series) -> Vec<[f64; 2]> {
    let (line, _) = FloorLine::fine(series, &Context::default());
    let windows = (line.len() / PER_WINDOW).clamp(1, WINDOWS);
    (0..windows)
        .filter_map(|nth| {
            let edge = |nth: usize| nth * line.len() / windows;
            (edge(nth)..edge(nth + 1))
                .map(|i| [line.xs[i], line.ys[i]])
                .min_by(|a, b| a[1].total_cmp(&b[1]))
        })
        .collect()
}

fn events(events: &[(crate::units::Micros, crate::entry::EventKind, String)]) -> Vec<Event> {
    let event = |(at, kind, text): &(_, _, String)| Event {
        at: *at,
        kind: *kind,
        text: text.clone(),
    };
    events.iter().map(event).collect()
}

fn line(who: &str, meter: Meter, columns: Vec<Range>) -> Line {
    Line {
        who: who.to_owned(),
        meter,
        x: columns.iter().map(|c| short(c.x)).collect(),
        low: columns.iter().map(|c| c.low).collect(),
        high: columns.iter().map(|c| c.high).collect(),
    }
}

/// Milliseconds are finer than any sampling, and shorter in a file.
fn short(x: f64) -> f64 {
    (x * 1e3).round() / 1e3
}

fn role_key(role: &str) -> String {
    format!("role:{role}")
}

fn process_key(id: ProcId) -> String {
    format!("pid:{}:{}", id.pid, id.start)
}

fn line_name(subject: Subject) -> LineName {
    let (who, meter) = match subject {
        Subject::Process(id) => (process_key(id), Meter::Held),
        Subject::Role(role) => (role_key(role), Meter::Pss),
        Subject::Tree => (TREE.to_owned(), Meter::Held),
        Subject::Gpu => (TREE.to_owned(), Meter::Gpu),
    };
    LineName { who, meter }
}
