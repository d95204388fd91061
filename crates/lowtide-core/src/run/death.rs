//! How the job died, from what the recording holds: the counters of its groups, who left first, what
//! each process held at the last tick, the last steps. Works without anybody having seen the end.

use std::collections::{BTreeMap, VecDeque};

use crate::entry::{EventKind, Exit};
use crate::judge::words::pace;
use crate::postmortem::{Cause, Holder, PostMortem, Victim};
use crate::process::ProcId;
use crate::sample::{Limit, Reading, Sample};
use crate::units::{Bytes, Micros};
use crate::verdict::Class;

use super::Run;
use super::track::ProcessTrack;

/// Those who held most at the last tick.
const HOLDERS: usize = 5;
/// SIGKILL, and what a shell reports for it.
const KILL: i32 = 9;
const KILLED_CODE: i32 = 128 + KILL;
/// A recording that ends without an end, with less than this share of the limit left, ended by it.
const LIKELY: f64 = 0.10;

/// Of so many last ticks the highest counts: the very last ones may show a process that is being taken
/// apart.
const LAST: usize = 3;

/// What is kept for the day the job dies.
#[derive(Clone, Debug, Default)]
pub(super) struct LastTicks {
    /// The newest samples in which anybody lived.
    ticks: VecDeque<LastTick>,
    /// OOM kills of each group: when first seen in this attempt, and now.
    kills: BTreeMap<String, (u64, u64)>,
}

#[derive(Clone, Debug, Default)]
struct LastTick {
    at: Micros,
    readings: Vec<Reading>,
    held: Bytes,
    limit: Option<Limit>,
}

impl LastTicks {
    /// `counts`: the job itself lives, not just what started it.
    pub(super) fn see(&mut self, sample: &Sample, counts: bool) {
        for group in &sample.cgroups {
            let Some(now) = group.oom_kills else { continue };
            match self.kills.get_mut(&group.path) {
                Some((_, newest)) => *newest = now,
                None => drop(self.kills.insert(group.path.clone(), (now, now))),
            }
        }
        if !counts {
            return;
        }
        let mut tick = if self.ticks.len() >= LAST {
            self.ticks.pop_front().unwrap_or_default()
        } else {
            LastTick::default()
        };
        tick.at = sample.at;
        tick.readings.clone_from(&sample.readings);
        tick.held = sample.tree.held;
        tick.limit.clone_from(&sample.limit);
        self.ticks.push_back(tick);
    }

    /// Another attempt begins: what the last one held is over, and who was killed in it.
    pub(crate) fn forget(&mut self) {
        self.ticks.clear();
        self.kills.clear();
    }

    fn highest(&self) -> Option<&LastTick> {
        self.ticks.iter().max_by_key(|tick| tick.held)
    }

    /// The innermost group that counted kills, with their number.
    fn killed_in(&self) -> Option<(&str, u64)> {
        let counted = self.kills.iter().filter(|(_, (first, now))| now > first);
        counted
            .max_by_key(|(path, _)| path.len())
            .map(|(path, (first, now))| (path.as_str(), now - first))
    }
}

/// What the kernel's log says of a process of ours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelKill {
    pub pid: u32,
    /// The limit of a group was met; else the machine's memory was.
    pub group: bool,
    pub line: String,
}

impl Run {
    /// A launcher may outlive its ranks for a while: what it holds then says nothing of their end.
    pub(super) fn trains_in(&self, sample: &Sample) -> bool {
        let alive = sample.readings.iter().filter(|reading| reading.is_alive());
        let trains = |id: &ProcId| {
            self.processes
                .get(id)
                .is_some_and(|track| track.member.role.trains())
        };
        if self.of_this_attempt().next().is_none() {
            return alive.count() > 0;
        }
        alive.map(|reading| reading.id).any(|id| trains(&id))
    }

    /// The post-mortem that the recording holds.
    pub fn post_mortem(&self) -> Option<&PostMortem> {
        self.post_mortem.as_ref()
    }

    /// Explains an end that nobody wished for. `exit` is none when the job vanished unseen. None when
    /// there is nothing to explain: a job that ended by itself, or failed with a word of its own.
    pub fn explain_end(
        &self,
        exit: Option<Exit>,
        kernel: Option<&KernelKill>,
    ) -> Option<PostMortem> {
        if exit == Some(Exit::Code(0)) {
            return None;
        }
        let tick = self.last_ticks.highest()?;
        let first = self.first_to_go(kernel);
        let cause = self.cause(exit, kernel)?;
        let mut holders: Vec<Holder> = tick
            .readings
            .iter()
            .filter_map(|reading| Some((reading, self.process(reading.id)?)))
            .map(|(reading, track)| holder(reading, track))
            .collect();
        holders.sort_by_key(|holder| std::cmp::Reverse(holder.held));
        holders.truncate(HOLDERS);
        let (verdict, _, _) = self.decided_now();
        Some(PostMortem {
            at: self.last_at,
            cause,
            exit,
            who: first.map(victim),
            seen_at: tick.at,
            held: tick.held,
            limit: tick.limit.clone(),
            holders,
            step: self.steps.furthest_step(),
            total_steps: self.total_steps(),
            steps: self
                .steps
                .newest()
                .map(|(at, step)| (at.seconds(), step))
                .collect(),
            attempt: self.attempt(),
            grew: (verdict.verdict == Class::Leak || verdict.rate.low > 0.0)
                .then(|| pace(verdict.axis, verdict.rate.value)),
        })
    }

    fn cause(&self, exit: Option<Exit>, kernel: Option<&KernelKill>) -> Option<Cause> {
        if let Some(kernel) = kernel {
            let line = kernel.line.clone();
            return Some(match (kernel.group, self.last_ticks.killed_in()) {
                (true, Some((group, kills))) => Cause::GroupOom {
                    group: group.to_owned(),
                    kills,
                },
                (true, None) => Cause::GroupOom {
                    group: String::new(),
                    kills: 1,
                },
                (false, _) => Cause::NodeOom { line },
            });
        }
        let guard = self
            .events
            .iter()
            .rev()
            .find(|(at, kind, _)| *kind == EventKind::Guard && *at >= self.attempts.since);
        if let Some((group, kills)) = self.last_ticks.killed_in() {
            return Some(Cause::GroupOom {
                group: group.to_owned(),
                kills,
            });
        }
        match (exit, guard) {
            (Some(_), Some((_, _, text))) => Some(Cause::Guard { text: text.clone() }),
            (Some(Exit::Signal(signal)), None) => Some(Cause::Signal { signal }),
            (Some(Exit::Code(KILLED_CODE)), None) => Some(Cause::Signal { signal: KILL }),
            // A launcher's code says little of what happened to its ranks.
            (Some(Exit::Code(code)), None) => {
                (self.trainers_seen() > 1).then_some(Cause::RankLost { code })
            }
            (None, _) => Some(Cause::Unseen {
                likely_oom: self.was_near_the_limit(),
            }),
        }
    }

    fn was_near_the_limit(&self) -> bool {
        let tick = self.last_ticks.highest();
        tick.and_then(|tick| tick.limit.as_ref())
            .is_some_and(|limit| {
                let left = limit.bytes.as_f64() - limit.used.as_f64();
                left < LIKELY * limit.bytes.as_f64()
            })
    }

    fn of_this_attempt(&self) -> impl Iterator<Item = &ProcessTrack> {
        self.processes()
            .filter(|track| track.since >= self.attempts.since && track.member.role.trains())
    }

    fn trainers_seen(&self) -> usize {
        self.of_this_attempt().count()
    }

    /// The trainer that left first; none when several left between the same two ticks.
    fn first_to_go(&self, kernel: Option<&KernelKill>) -> Option<&ProcessTrack> {
        if let Some(kernel) = kernel {
            let found = self
                .processes()
                .find(|track| track.member.id.pid == kernel.pid);
            if found.is_some() {
                return found;
            }
        }
        let left = |track: &&ProcessTrack| track.gone.unwrap_or(Micros(u64::MAX));
        let first = self.of_this_attempt().min_by_key(left)?;
        let same = self
            .of_this_attempt()
            .filter(|track| left(track) == left(&first))
            .count();
        (same == 1).then_some(first)
    }
}

fn holder(reading: &Reading, track: &ProcessTrack) -> Holder {
    let first = track.first.map_or(Bytes::ZERO, |first| first.held());
    Holder {
        pid: reading.id.pid,
        role: track.member.role.to_string(),
        command: track.command(),
        held: reading.held(),
        grown: reading.held().saturating_sub(first),
    }
}

fn victim(track: &ProcessTrack) -> Victim {
    let ProcId { pid, .. } = track.member.id;
    Victim {
        pid,
        role: track.member.role.to_string(),
        command: track.command(),
    }
}
