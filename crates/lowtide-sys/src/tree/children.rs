//! New members by the kernel's own lists of children. No file of a stranger is opened: one that hangs
//! in an exec on a dead disk holds locks, and whoever reads it hangs with it.

use super::{Joined, Kinship, Tree};
use crate::proc::Proc;

/// More generations than this are no ancestors but a fault in what was read.
const MOST_ANCESTORS: usize = 64;

/// Children of ancestors are asked once who they are, and again at this distance: their number may
/// be one of ours meanwhile.
const LOOKS_BETWEEN_LAPS: u32 = 30;

impl Tree {
    /// Finds children of members, and orphans; appends them to `joined`, parents before children.
    pub(super) fn find_by_children(&mut self, proc: &Proc, joined: &mut Vec<Joined>) {
        self.know_ancestors(proc);
        for root in self.roots.clone() {
            if let Some(kinship) = self.read(proc, root)
                && !kinship.ended
            {
                joined.push(self.take_in(root, &kinship));
            }
        }
        let mut children = std::mem::take(&mut self.pids);
        let mut adopted = false;
        if let Some(subreaper) = self.subreaper {
            adopted = proc.children(subreaper, &mut children).is_ok();
            self.take_children(proc, subreaper, &children, joined);
        }
        let mut parents: Vec<u32> = self.members.keys().copied().collect();
        if !adopted {
            let orphans = self.take_orphans(proc, &mut children, joined);
            parents.extend(orphans);
        }
        while let Some(parent) = parents.pop() {
            if proc.children(parent, &mut children).is_err() {
                // It or a thread of it ended just now, and its children have another parent.
                self.unsettled = true;
            }
            let new = self.take_children(proc, parent, &children, joined);
            parents.extend(new);
        }
        self.pids = children;
    }

    /// Takes in what is new of these children, and gives their pids.
    fn take_children(
        &mut self,
        proc: &Proc,
        parent: u32,
        children: &[u32],
        joined: &mut Vec<Joined>,
    ) -> Vec<u32> {
        let mut new = Vec::new();
        for pid in children {
            if self.members.contains_key(pid) || self.is_helper(*pid) {
                continue;
            }
            let kinship = self.read(proc, *pid);
            match kinship.filter(|kinship| kinship.parent == parent) {
                Some(kinship) if kinship.ended => {}
                Some(kinship) => {
                    joined.push(self.take_in(*pid, &kinship));
                    new.push(*pid);
                }
                // It ended, or its parent did.
                None => self.unsettled = true,
            }
        }
        new
    }

    /// Takes in orphans that no subreaper of ours has adopted, and gives their pids. Strangers are
    /// told from them by system calls that wait for nobody.
    fn take_orphans(
        &mut self,
        proc: &Proc,
        children: &mut Vec<u32>,
        joined: &mut Vec<Joined>,
    ) -> Vec<u32> {
        let mut new = Vec::new();
        let known = std::mem::take(&mut self.others);
        self.looks += 1;
        let ask_all = self.looks.is_multiple_of(LOOKS_BETWEEN_LAPS);
        for ancestor in self.ancestors.clone() {
            // One that has ended has none.
            let _ = proc.children(ancestor, children);
            let own_session = proc.founders(ancestor).map(|(_, session)| session);
            for pid in children.iter().copied() {
                if self.members.contains_key(&pid) || self.is_helper(pid) {
                    continue;
                }
                self.others.push(pid);
                if !ask_all && known.binary_search(&pid).is_ok() {
                    continue;
                }
                let Some((group, session)) = proc.founders(pid) else {
                    continue;
                };
                // In `train | tee log` both halves share a group, and the shell that made them their
                // session. Who adopts an orphan is in another one, or the first process.
                let adopted = ancestor <= 1 || own_session.is_some_and(|own| own != session);
                let ours = [group, session]
                    .into_iter()
                    .any(|leader| leader != pid && self.was_founded(proc, leader));
                if !adopted || !ours {
                    continue;
                }
                let kinship = self.read(proc, pid);
                if let Some(kinship) = kinship.filter(|kinship| !kinship.ended) {
                    joined.push(self.take_in(pid, &kinship));
                    new.push(pid);
                }
            }
        }
        self.others.sort_unstable();
        new
    }

    /// Whether a session or group of this number was founded by one of ours, and not by somebody who
    /// got the number later.
    fn was_founded(&mut self, proc: &Proc, leader: u32) -> bool {
        let Some(start) = self.founded.get(&leader).copied() else {
            return false;
        };
        let same = |kinship: Kinship| kinship.start == start;
        let ours = self.members.contains_key(&leader) || self.read(proc, leader).is_none_or(same);
        if !ours {
            self.founded.remove(&leader);
        }
        ours
    }

    /// Who stands above our first process. It does not change but by their ends.
    fn know_ancestors(&mut self, proc: &Proc) {
        if !self.ancestors.is_empty() {
            return;
        }
        let mut pid = self.subreaper.or_else(|| self.roots.first().copied());
        while let Some(kinship) = pid.and_then(|pid| self.read(proc, pid)) {
            let parent = Some(kinship.parent).filter(|parent| *parent > 1);
            if self.ancestors.len() >= MOST_ANCESTORS {
                break;
            }
            self.ancestors.extend(parent);
            pid = parent;
        }
        // The first process adopts whom nobody else does.
        self.ancestors.push(1);
    }
}
