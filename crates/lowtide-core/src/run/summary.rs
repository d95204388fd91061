//! The end of a run in numbers: what `run` and `attach` print when the job is over.

use serde::Serialize;

use crate::entry::Exit;
use crate::mark::{Counter, MarkSource};
use crate::sample::{Basis, Limit};
use crate::units::Bytes;
use crate::verdict::Class;

use super::track::{BothAxes, ProcessTrack, ends_of};
use super::{LooksCost, Run};

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
    /// The object that counts them, where they are read from memory.
    pub counter: Option<Counter>,
    /// How often the guard started the job again; the levels below are those of the last attempt.
    pub restarts: u32,
    /// What the tree held, every page once.
    pub tree: Spread,
    pub basis: Basis,
    pub watched: Option<ProcessLine>,
    pub roles: Vec<RoleLine>,
    pub limit: Option<Limit>,
    pub headroom: Option<f64>,
    pub exit: Option<Exit>,
    /// What looking into processes has cost, apart from watching them.
    pub looks: LooksCost,
}

/// Since the loop began; the most since the run began.
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
    /// Most that lived at a time.
    pub count: usize,
    /// Ever seen (of those still remembered).
    pub seen: usize,
    /// What each showed by itself then, added up; pages shared between them count many times.
    pub rss: Bytes,
    /// What they added to the machine then: every page once.
    pub own: Bytes,
    /// How that behaved: constant overhead is told apart from growth.
    pub verdict: Class,
}

impl Run {
    pub fn summary(&self) -> Summary {
        Summary {
            name: self.header.name.clone(),
            seconds: self.last_at.seconds(),
            samples: self.samples,
            lost_ticks: self.lost_ticks,
            late_ticks: self.late,
            looks: self.looks.cost,
            first_step: self.steps.began(),
            last_step: self.steps.furthest_step(),
            total_steps: self.total_steps(),
            steps_from: self.steps.source(),
            counter: self.steps.counter(),
            tree: Spread {
                max: self.tree.extremes.max.max(self.attempts.peak),
                ..self.spread(&self.tree, || self.judge_tree().settled_at)
            },
            restarts: self.attempts.restarts,
            basis: self.basis,
            watched: self
                .watched()
                .map(|(track, why)| self.process_line(track, why)),
            roles: self.role_lines(),
            limit: self.limit.clone(),
            headroom: self.headroom(),
            exit: self.end.flatten(),
        }
    }

    /// A role with one member behaves as that process does; its own counters are less rough than its
    /// share of a sum.
    fn role_series<'a>(&'a self, role: &str, together: &'a BothAxes) -> &'a BothAxes {
        let mut of_role = self
            .processes
            .values()
            .filter(|track| track.member.role.name() == role);
        match (of_role.next(), of_role.next()) {
            (Some(only), None) => &only.lines,
            _ => together,
        }
    }

    /// Each role with what its floor grew by over the run, or what its members grew by where that is more: the line
    /// of a role falls when a careful reading finds what its members share, whatever they keep meanwhile.
    /// None: none of them was there for long. A fork counts with all that it shows until it is read carefully, so that
    /// the line of a pool that is made anew again and again says nothing of what they keep.
    pub(crate) fn role_growth(
        &self,
        on_steps: bool,
    ) -> impl Iterator<Item = (RoleLine, Option<f64>)> {
        self.role_lines().into_iter().map(move |line| {
            let lines = &self.roles[line.role].lines;
            let together = lines.grew(on_steps);
            let of_role = |track: &&ProcessTrack| track.member.role.name() == line.role;
            let all = self.processes.values().filter(of_role);
            let lasting: Vec<f64> = all
                .filter(|track| self.lived_long(track))
                .map(|track| track.lines.grew(on_steps).max(0.0))
                .collect();
            let known = !lasting.is_empty();
            let own: f64 = lasting.into_iter().sum();
            (line, known.then(|| together.max(own)))
        })
    }

    /// The second of the run at which the loop was at this step; the last one if it was not seen there.
    pub(crate) fn second_of(&self, step: f64) -> f64 {
        let buckets = self.tree.step.buckets();
        let at = buckets.partition_point(|bucket| bucket.last < step);
        let seconds = buckets.get(at).and_then(|bucket| bucket.seconds);
        seconds.unwrap_or(self.last_at.seconds())
    }

    /// What the floor of the tree grew by over the run.
    pub(crate) fn tree_growth(&self, on_steps: bool) -> f64 {
        self.tree.grew(on_steps)
    }

    fn role_lines(&self) -> Vec<RoleLine> {
        let seen = |role: &str| {
            let of_role = self
                .processes
                .values()
                .filter(|track| track.member.role.name() == role);
            of_role.count()
        };
        let mut lines: Vec<RoleLine> = self
            .roles
            .iter()
            .map(|(role, track)| RoleLine {
                role,
                count: track.most,
                seen: seen(role),
                rss: Bytes(track.rss_of_most as u64),
                own: Bytes(track.own_of_most as u64),
                verdict: self
                    .judge_role(role, self.role_series(role, &track.lines))
                    .verdict,
            })
            // Processes whose role was another one at first leave an empty line behind.
            .filter(|line| line.seen > 0)
            .collect();
        lines.sort_by_key(|line| std::cmp::Reverse(line.own));
        lines
    }
}

impl Run {
    fn process_line(&self, track: &ProcessTrack, why: &str) -> ProcessLine {
        ProcessLine {
            pid: track.member.id.pid,
            role: track.member.role.to_string(),
            command: track.command(),
            why: why.to_owned(),
            held: self.spread(&track.lines, || self.judge_process(track).settled_at),
            peak: track.peak,
        }
    }

    /// What the loop held at least and on average; at most counts what loading took too. An interpreter begins
    /// with a few megabytes, which say nothing of the job: the loop begins with its first step, or, where nobody
    /// counts steps, where growth ended.
    fn spread(&self, lines: &BothAxes, settled_at: impl FnOnce() -> Option<f64>) -> Spread {
        let steps = lines.step.buckets();
        let of_loop = if self.on_steps() && !steps.is_empty() {
            steps
        } else {
            let all = lines.time.buckets();
            let from = settled_at().unwrap_or(f64::NEG_INFINITY);
            &all[all.partition_point(|bucket| bucket.first < from)..]
        };
        let Some(min) = of_loop.iter().map(|bucket| bucket.floor).reduce(f64::min) else {
            return Spread::default();
        };
        let (floor_first, floor_last) = ends_of(of_loop).unwrap_or_default();
        let sum: f64 = of_loop.iter().map(|bucket| bucket.sum as f64).sum();
        let count: u64 = of_loop.iter().map(|bucket| bucket.count).sum();
        Spread {
            min,
            mean: sum / count as f64,
            max: lines.extremes.max,
            floor_first,
            floor_last,
        }
    }

    /// The least that a process held since the loop began.
    pub(crate) fn least(&self, track: &ProcessTrack) -> f64 {
        let steps = track
            .lines
            .step
            .buckets()
            .iter()
            .filter(|_| self.on_steps());
        let least = steps.map(|bucket| bucket.floor).reduce(f64::min);
        least.unwrap_or(track.held.min)
    }
}
