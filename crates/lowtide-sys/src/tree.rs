//! Which processes are ours. Fed by the sampler once a tick; it looks when a process may have been
//! made, and asks the kernel for the children of members (`children`). A kernel without such lists
//! has all of `/proc` listed, and `stat` read of every pid that was not met before.
//!
//! A member is a pid with its start time and stays one until it ends, whatever becomes of its
//! parents. New members are children of members; orphans that were handed to our subreaper (`run`);
//! and orphans whose session or process group was founded by a member (`attach`).

mod children;

use std::collections::HashMap;

use lowtide_core::process::ProcId;

use crate::Error;
use crate::proc::{self, Proc, stat};

/// Strangers re-read per tick: a pid can be reused by one of ours between two listings, and a
/// stranger's whole lap should not take minutes on a machine with a thousand processes.
const STRANGERS_PER_TICK: usize = 16;

/// Without a new pid there is nothing to list; but list them now and then all the same, for the pid
/// counter can come round to where it was.
const TICKS_BETWEEN_LISTINGS: u32 = 30;

/// The part of `stat` that decides about kinship.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Kinship {
    start: u64,
    parent: u32,
    group: u32,
    session: u32,
    kernel: bool,
    /// Waits for its parent only; it would join and leave again.
    ended: bool,
}

/// A process that has just been found to be ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Joined {
    pub id: ProcId,
    pub parent: Option<ProcId>,
}

#[derive(Debug)]
pub struct Tree {
    roots: Vec<u32>,
    subreaper: Option<u32>,
    /// lowtide's own processes: around the job, not of it.
    helpers: Vec<u32>,
    members: HashMap<u32, u64>,
    /// Sessions and groups founded by a member (with its start time), even one that has ended: the
    /// kernel does not reuse a pid while it names one.
    founded: HashMap<u32, u64>,
    /// Those above our first process, to whom the kernel hands orphans.
    ancestors: Vec<u32>,
    /// Their other children, as the last look found them, ascending; and the number of looks.
    others: Vec<u32>,
    looks: u32,
    /// Whether this kernel tells the children of a process; found out by the first look.
    tells_children: Option<bool>,
    /// Something was made or ended around the last look: it may have missed somebody.
    unsettled: bool,
    strangers: HashMap<u32, Kinship>,
    /// Strangers in the order in which they will be read again.
    lap: Vec<u32>,
    last_pid: Option<u64>,
    ticks_since_listing: u32,
    pids: Vec<u32>,
    buffer: Vec<u8>,
}

impl Tree {
    pub fn new(roots: &[u32], subreaper: Option<u32>) -> Tree {
        Tree {
            roots: roots.to_vec(),
            subreaper,
            helpers: Vec::new(),
            members: HashMap::new(),
            founded: HashMap::new(),
            ancestors: Vec::new(),
            others: Vec::new(),
            looks: 0,
            tells_children: None,
            unsettled: false,
            strangers: HashMap::new(),
            lap: Vec::new(),
            last_pid: None,
            ticks_since_listing: 0,
            pids: Vec::new(),
            buffer: Vec::new(),
        }
    }

    /// These never join.
    pub fn without(mut self, helpers: &[u32]) -> Tree {
        self.helpers = helpers.to_vec();
        self
    }

    pub fn contains(&self, pid: u32) -> bool {
        self.members.contains_key(&pid)
    }

    pub fn len(&self) -> usize {
        self.members.len()
    }

    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// Forgets a member that has ended.
    pub fn left(&mut self, id: ProcId) {
        if self.members.get(&id.pid) == Some(&id.start) {
            self.members.remove(&id.pid);
            // Its children have new parents now, and its pid may come again.
            self.last_pid = None;
        }
    }

    /// Finds new members and appends them to `joined`, parents before children.
    pub fn update(&mut self, proc: &Proc, joined: &mut Vec<Joined>) -> Result<(), Error> {
        let last_pid = self.newest_pid(proc);
        self.ticks_since_listing += 1;
        let nothing_new = last_pid.is_some() && last_pid == self.last_pid;
        if nothing_new && !self.unsettled && self.ticks_since_listing < TICKS_BETWEEN_LISTINGS {
            return Ok(());
        }
        self.last_pid = last_pid;
        self.ticks_since_listing = 0;
        if *(self.tells_children).get_or_insert_with(|| proc.tells_children()) {
            // The kernel's lists may lack somebody while others come and go.
            self.unsettled = !nothing_new;
            self.find_by_children(proc, joined);
            return Ok(());
        }
        self.find_by_listing(proc, joined)
    }

    /// Where the kernel does not tell children: everybody's `stat`, once.
    fn find_by_listing(&mut self, proc: &Proc, joined: &mut Vec<Joined>) -> Result<(), Error> {
        let mut pids = std::mem::take(&mut self.pids);
        proc.pids(&mut pids)?;
        self.forget_absent(&pids);
        let mut fresh: Vec<(u32, Kinship)> = Vec::new();
        for pid in &pids {
            if !self.members.contains_key(pid)
                && !self.strangers.contains_key(pid)
                && let Some(kinship) = self.read(proc, *pid)
            {
                fresh.push((*pid, kinship));
            }
        }
        self.pids = pids;
        self.recheck_some(proc, &mut fresh);
        self.sort_out(fresh, joined);
        Ok(())
    }

    /// The pid that was given out last, from the end of `loadavg`. One short line tells whether any
    /// process or thread has been made since the last tick.
    fn newest_pid(&mut self, proc: &Proc) -> Option<u64> {
        proc.read_global("loadavg", &mut self.buffer).ok()?;
        proc::words(&self.buffer).last().and_then(proc::number)
    }

    fn read(&mut self, proc: &Proc, pid: u32) -> Option<Kinship> {
        let file = proc.open(pid, "stat").ok()?;
        proc::read_record(&file, &mut self.buffer).ok()?;
        let stat = stat::parse(&self.buffer)?;
        Some(Kinship {
            start: stat.start,
            parent: stat.parent,
            group: stat.group,
            session: stat.session,
            kernel: stat.is_kernel_thread(),
            ended: stat.has_ended(),
        })
    }

    /// Drops strangers that have ended. Members are dropped by whoever fails to read them.
    fn forget_absent(&mut self, listed: &[u32]) {
        if self.strangers.is_empty() {
            return;
        }
        self.strangers
            .retain(|pid, _| listed.binary_search(pid).is_ok());
    }

    /// Reads some strangers again: one may be a new process with an old pid, or an orphan that
    /// was read a moment before it was handed to us.
    fn recheck_some(&mut self, proc: &Proc, fresh: &mut Vec<(u32, Kinship)>) {
        for _ in 0..STRANGERS_PER_TICK {
            let Some(pid) = self.lap.pop() else {
                self.lap.extend(
                    self.strangers
                        .iter()
                        .filter(|(_, kinship)| !kinship.kernel)
                        .map(|(pid, _)| *pid),
                );
                return;
            };
            let Some(known) = self.strangers.get(&pid).copied() else {
                continue;
            };
            match self.read(proc, pid) {
                Some(kinship) if kinship != known => {
                    self.strangers.remove(&pid);
                    fresh.push((pid, kinship));
                }
                Some(_) => {}
                None => {
                    self.strangers.remove(&pid);
                }
            }
        }
    }

    /// Divides new processes into members and strangers. A child may be listed before its parent,
    /// so this goes round until nothing changes.
    fn sort_out(&mut self, mut fresh: Vec<(u32, Kinship)>, joined: &mut Vec<Joined>) {
        if fresh.is_empty() {
            return;
        }
        let sessions: HashMap<u32, u32> = fresh
            .iter()
            .map(|(pid, kinship)| (*pid, kinship.session))
            .collect();
        loop {
            let before = fresh.len();
            let mut rest = Vec::with_capacity(before);
            for (pid, kinship) in fresh {
                if self.is_ours(pid, &kinship, &sessions) {
                    joined.push(self.take_in(pid, &kinship));
                } else {
                    rest.push((pid, kinship));
                }
            }
            fresh = rest;
            if fresh.len() == before {
                break;
            }
        }
        for (pid, kinship) in &fresh {
            // The number has come round: what was founded under it is no more.
            self.founded.remove(pid);
            // A parent that has ended since was perhaps ours: leave the child unknown, so that it is
            // read again on the next tick, when it will have a living parent.
            let parent_known = kinship.parent == 0
                || self.strangers.contains_key(&kinship.parent)
                || sessions.contains_key(&kinship.parent);
            if parent_known {
                self.strangers.insert(*pid, *kinship);
            } else {
                self.last_pid = None;
            }
        }
    }

    fn take_in(&mut self, pid: u32, kinship: &Kinship) -> Joined {
        let start = kinship.start;
        self.members.insert(pid, start);
        self.roots.retain(|root| *root != pid);
        if kinship.session == pid || kinship.group == pid {
            self.founded.insert(pid, start);
        }
        let parent = self.members.get(&kinship.parent).map(|start| ProcId {
            pid: kinship.parent,
            start: *start,
        });
        Joined {
            id: ProcId { pid, start },
            parent,
        }
    }

    fn is_helper(&self, pid: u32) -> bool {
        Some(pid) == self.subreaper || self.helpers.contains(&pid)
    }

    fn is_ours(&self, pid: u32, kinship: &Kinship, fresh_sessions: &HashMap<u32, u32>) -> bool {
        if kinship.kernel || kinship.ended || self.is_helper(pid) {
            return false;
        }
        if self.roots.contains(&pid)
            || self.members.contains_key(&kinship.parent)
            || Some(kinship.parent) == self.subreaper
        {
            return true;
        }
        let founded_by_us = |leader: u32| leader != pid && self.founded.contains_key(&leader);
        if !founded_by_us(kinship.session) && !founded_by_us(kinship.group) {
            return false;
        }
        // An orphan's parent is the first process, or one in another session that adopted it. In
        // `train | tee log` both halves share a group, and the shell that made them their session.
        let parents_session = self
            .strangers
            .get(&kinship.parent)
            .map(|parent| parent.session)
            .or_else(|| fresh_sessions.get(&kinship.parent).copied());
        kinship.parent <= 1 || parents_session.is_some_and(|session| session != kinship.session)
    }
}

#[cfg(test)]
mod tests;
