//! The end of a run in numbers: what `run` and `attach` print when the job is over.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::entry::Exit;
use crate::mark::MarkSource;
use crate::sample::{Basis, Limit};
use crate::units::Bytes;

use super::Run;
use super::track::{Extremes, ProcessTrack, floor_ends};

#[derive(Clone, Debug, Serialize)]
pub struct Summary {
    pub name: String,
    pub seconds: f64,
    pub samples: u64,
    pub lost_ticks: u64,
    pub late_ticks: u64,
    pub first_step: Option<u64>,
    pub last_step: Option<u64>,
    pub total_steps: Option<u64>,
    pub steps_from: Option<MarkSource>,
    /// What the tree held, every page once.
    pub tree: Spread,
    pub basis: Basis,
    pub watched: Option<ProcessLine>,
    pub roles: Vec<RoleLine>,
    pub limit: Option<Limit>,
    pub headroom: Option<f64>,
    pub exit: Option<Exit>,
}

#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Spread {
    pub min: f64,
    pub mean: f64,
    pub max: f64,
    pub floor_first: f64,
    pub floor_last: f64,
}

#[derive(Clone, Debug, Serialize)]
pub struct ProcessLine {
    pub pid: u32,
    pub role: String,
    pub command: String,
    pub why: String,
    pub held: Spread,
    /// The kernel's own high-water mark of RSS.
    pub peak: Bytes,
}

/// All processes of one role.
#[derive(Clone, Debug, Serialize)]
pub struct RoleLine {
    pub role: &'static str,
    /// Alive at the last look.
    pub alive: usize,
    /// Ever seen (of those still remembered).
    pub seen: usize,
    /// What each would show by itself, added up; pages shared between them count many times.
    pub rss: Bytes,
    /// What they add to the machine: every page once.
    pub own: Bytes,
    pub own_max: Bytes,
    /// Change of `own` from the first to the last floor.
    pub change: f64,
}

impl RoleLine {
    /// Constant overhead is told apart from growth: less than 2 % or 5 MB either way is flat,
    /// about what an idle interpreter moves by itself.
    pub fn is_flat(&self) -> bool {
        self.change.abs() <= (0.02 * self.own_max.as_f64()).max(5e6)
    }
}

impl Run {
    pub fn summary(&self) -> Summary {
        Summary {
            name: self.header.name.clone(),
            seconds: self.last_at.seconds(),
            samples: self.samples,
            lost_ticks: self.lost_ticks,
            late_ticks: self.late,
            first_step: self.steps.first(),
            last_step: self.steps.current(),
            total_steps: self.steps.total(),
            steps_from: self.steps.source(),
            tree: spread(&self.tree.extremes, floor_ends(&self.tree.time)),
            basis: self.basis,
            watched: self.watched().map(|(track, why)| process_line(track, why)),
            roles: self.role_lines(),
            limit: self.limit.clone(),
            headroom: self.headroom(),
            exit: self.end.flatten(),
        }
    }

    fn role_lines(&self) -> Vec<RoleLine> {
        let mut lines: BTreeMap<&'static str, RoleLine> = BTreeMap::new();
        for track in self.processes.values() {
            let role = track.member.role.name();
            let line = lines.entry(role).or_insert_with(|| {
                let own = self.roles.get(role);
                let (first, last) = own
                    .and_then(|lines| floor_ends(&lines.time))
                    .unwrap_or_default();
                RoleLine {
                    role,
                    alive: 0,
                    seen: 0,
                    rss: Bytes::ZERO,
                    own: Bytes(own.map_or(0.0, |lines| lines.extremes.last) as u64),
                    own_max: Bytes(own.map_or(0.0, |lines| lines.extremes.max) as u64),
                    change: last - first,
                }
            });
            line.seen += 1;
            // At the end of a run everybody is gone: the last look counts those who were there then.
            let present = track.gone.is_none_or(|at| at >= self.last_at);
            if present {
                line.alive += 1;
                line.rss = line.rss + Bytes(track.rss.last as u64);
            }
        }
        let mut lines: Vec<RoleLine> = lines.into_values().collect();
        lines.sort_by_key(|line| std::cmp::Reverse(line.own_max));
        lines
    }
}

fn process_line(track: &ProcessTrack, why: &str) -> ProcessLine {
    ProcessLine {
        pid: track.member.id.pid,
        role: track.member.role.to_string(),
        command: track.command(),
        why: why.to_owned(),
        held: spread(&track.held, floor_ends(&track.lines.time)),
        peak: track.peak,
    }
}

fn spread(extremes: &Extremes, floor: Option<(f64, f64)>) -> Spread {
    let (floor_first, floor_last) = floor.unwrap_or_default();
    Spread {
        min: extremes.min,
        mean: extremes.mean(),
        max: extremes.max,
        floor_first,
        floor_last,
    }
}
