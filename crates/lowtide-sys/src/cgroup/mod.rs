//! The memory of every ancestor cgroup of the watched process, in the words of v2. Files stay open;
//! limits, which hardly ever change, are read less often than counters.

mod find;
#[cfg(any(test, fuzzing))]
pub(crate) mod fuzz;

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use lowtide_core::sample::Cgroup;
use lowtide_core::units::{Bytes, Micros};
use rustix::fs::{Mode, OFlags};

use crate::proc::{self, Proc, number, pressure, words};

pub use find::{Place, Version};

/// v1 writes "no limit" as the largest multiple of a page that fits, about 9.2e18. No machine has
/// an exabyte.
const UNLIMITED_V1: u64 = 1 << 60;

/// Limits are re-read at this distance: an administrator may move them, but not every second.
const LIMITS_EVERY: Micros = Micros(5_000_000);

/// Deeper trees than this are a mistake (Slurm and Kubernetes need about eight levels).
const MOST_LEVELS: usize = 32;

/// The groups from the leaf of one process up to the root of what is mounted.
#[derive(Debug)]
pub struct Groups {
    version: Version,
    levels: Vec<Level>,
    limits_read: Option<Micros>,
    buffer: Vec<u8>,
}

#[derive(Debug)]
struct Level {
    directory: PathBuf,
    current: Option<OwnedFd>,
    stat: Option<OwnedFd>,
    swap: Option<OwnedFd>,
    events: Option<OwnedFd>,
    hits: Option<OwnedFd>,
    pressure: Option<OwnedFd>,
    /// What was read last; counters are replaced on every tick.
    seen: Cgroup,
}

impl Groups {
    /// The groups of `pid`; `None` when no memory controller can be seen from here.
    pub fn of(proc: &Proc, pid: u32) -> Option<Groups> {
        Groups::of_below(proc, pid, Path::new("/"))
    }

    /// The same with all mount points taken below `root` (tests).
    pub fn of_below(proc: &Proc, pid: u32, root: &Path) -> Option<Groups> {
        let (mut cgroup, mut mountinfo) = (Vec::new(), Vec::new());
        proc.read(pid, "cgroup", &mut cgroup).ok()?;
        proc.read_global("self/mountinfo", &mut mountinfo).ok()?;
        let mut place = find::find(&cgroup, &mountinfo)?;
        if root != Path::new("/") {
            place.mount = root.join(place.mount.strip_prefix("/").unwrap_or(&place.mount));
        }
        Some(Groups::at(&place))
    }

    fn at(place: &Place) -> Groups {
        let mut levels = Vec::new();
        let mut path = place.path.as_str();
        loop {
            let directory = if path.is_empty() {
                place.mount.clone()
            } else {
                place.mount.join(path)
            };
            let level = Level::open(place.version, directory, path);
            // v2's real root, and a leaf whose parent has not enabled the controller, count nothing.
            if level.current.is_some() {
                levels.push(level);
            }
            if path.is_empty() || levels.len() >= MOST_LEVELS {
                break;
            }
            path = path.rfind('/').map_or("", |slash| &path[..slash]);
        }
        Groups {
            version: place.version,
            levels,
            limits_read: None,
            buffer: Vec::new(),
        }
    }

    /// Reads every level into `out`, leaf first.
    pub fn read(&mut self, now: Micros, out: &mut Vec<Cgroup>) {
        let limits_due = self
            .limits_read
            .is_none_or(|read| now.since(read) >= LIMITS_EVERY);
        if limits_due {
            self.limits_read = Some(now);
        }
        out.truncate(self.levels.len());
        for (index, level) in self.levels.iter_mut().enumerate() {
            if limits_due {
                level.read_limits(self.version, &mut self.buffer);
            }
            level.read_counters(self.version, &mut self.buffer);
            match out.get_mut(index) {
                Some(slot) => slot.clone_from(&level.seen),
                None => out.push(level.seen.clone()),
            }
        }
    }

    /// Finds out which groups hold all `members` of the tree and nobody else but our own helpers:
    /// then the group's own count is the tree's. Lists processes, so it is asked rarely.
    pub fn check_only_ours(&mut self, members: usize, whose: &dyn Fn(u32) -> Whose) {
        let mut stranger = false;
        for level in &mut self.levels {
            let mut found = 0;
            // A stranger further down is in all groups further up.
            stranger =
                stranger || !without_strangers(&level.directory, whose, &mut found, MOST_LEVELS);
            level.seen.only_ours = !stranger && members > 0 && found >= members;
        }
    }
}

/// The group of this process in the memory controller's hierarchy.
pub fn own_place(proc: &Proc) -> Option<Place> {
    place_of(proc, "self")
}

/// That of another process, named as in `/proc`.
pub fn place_of(proc: &Proc, who: &str) -> Option<Place> {
    let (mut cgroup, mut mountinfo) = (Vec::new(), Vec::new());
    proc.read_global(&format!("{who}/cgroup"), &mut cgroup)
        .ok()?;
    proc.read_global("self/mountinfo", &mut mountinfo).ok()?;
    find::find(&cgroup, &mountinfo)
}

/// Whose process it is that was found in a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whose {
    Tree,
    /// lowtide itself or its keeper.
    Helper,
    Stranger,
}

/// Whether no stranger is in a group or in those below it; counts the tree's members.
fn without_strangers(
    directory: &Path,
    whose: &dyn Fn(u32) -> Whose,
    found: &mut usize,
    depth: usize,
) -> bool {
    let Ok(text) = std::fs::read(directory.join("cgroup.procs")) else {
        return false;
    };
    for word in words(&text) {
        // A process outside of our pid namespace is listed as 0.
        let pid = number(word)
            .and_then(|pid| u32::try_from(pid).ok())
            .filter(|pid| *pid > 0);
        match pid.map_or(Whose::Stranger, whose) {
            Whose::Tree => *found += 1,
            Whose::Helper => {}
            Whose::Stranger => return false,
        }
    }
    let Ok(entries) = std::fs::read_dir(directory) else {
        return false;
    };
    depth > 0
        && entries
            .flatten()
            .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
            .all(|entry| without_strangers(&entry.path(), whose, found, depth - 1))
}

impl Level {
    fn open(version: Version, directory: PathBuf, path: &str) -> Level {
        let file = |name: &str| open(&directory.join(name));
        let (current, stat, swap, events, hits, pressure) = match version {
            Version::V1 => (
                file("memory.usage_in_bytes"),
                file("memory.stat"),
                None,
                file("memory.oom_control"),
                file("memory.failcnt"),
                None,
            ),
            Version::V2 => (
                file("memory.current"),
                file("memory.stat"),
                file("memory.swap.current"),
                file("memory.events"),
                None,
                file("memory.pressure"),
            ),
        };
        let seen = Cgroup {
            path: format!("/{path}"),
            ..Cgroup::default()
        };
        Level {
            directory,
            current,
            stat,
            swap,
            events,
            hits,
            pressure,
            seen,
        }
    }

    fn read_limits(&mut self, version: Version, buffer: &mut Vec<u8>) {
        let mut limit = |name: &str| {
            let file = open(&self.directory.join(name))?;
            one_number(&file, buffer)
                .filter(|bytes| *bytes < UNLIMITED_V1)
                .map(Bytes)
        };
        match version {
            Version::V1 => {
                self.seen.max = limit("memory.limit_in_bytes");
                // v1 limits memory and swap together.
                self.seen.swap_max = limit("memory.memsw.limit_in_bytes")
                    .map(|both| both.saturating_sub(self.seen.max.unwrap_or(Bytes::ZERO)));
            }
            Version::V2 => {
                self.seen.max = limit("memory.max");
                self.seen.high = limit("memory.high");
                self.seen.swap_max = limit("memory.swap.max");
            }
        }
    }

    fn read_counters(&mut self, version: Version, buffer: &mut Vec<u8>) {
        let seen = &mut self.seen;
        let read = |file: &Option<OwnedFd>, buffer: &mut Vec<u8>| {
            file.as_ref()
                .is_some_and(|file| proc::read_all(file, buffer).is_ok())
        };
        if let Some(current) = self
            .current
            .as_ref()
            .and_then(|file| one_number(file, buffer))
        {
            seen.current = Bytes(current);
        }
        if read(&self.stat, buffer) {
            match version {
                Version::V1 => stat_v1(buffer, seen),
                Version::V2 => stat_v2(buffer, seen),
            }
        }
        if let Some(swap) = self.swap.as_ref().and_then(|file| one_number(file, buffer)) {
            seen.swap = Some(Bytes(swap));
        }
        if read(&self.events, buffer) {
            each_pair(buffer, |name, value| match name {
                b"oom_kill" => seen.oom_kills = Some(value),
                b"max" if version == Version::V2 => seen.limit_hits = Some(value),
                _ => {}
            });
        }
        if let Some(hits) = self.hits.as_ref().and_then(|file| one_number(file, buffer)) {
            seen.limit_hits = Some(hits);
        }
        if read(&self.pressure, buffer) {
            seen.pressure = pressure::parse(buffer);
        }
    }
}

/// v1 counts shared memory as cache, and its `rss` is anonymous memory only. `total_` is with the
/// groups below.
fn stat_v1(text: &[u8], seen: &mut Cgroup) {
    let (mut cache, mut shmem) = (None, None);
    each_pair(text, |name, value| match name {
        b"total_rss" => seen.anon = Some(Bytes(value)),
        b"total_cache" => cache = Some(Bytes(value)),
        b"total_shmem" => shmem = Some(Bytes(value)),
        b"total_swap" => seen.swap = Some(Bytes(value)),
        _ => {}
    });
    seen.shmem = shmem;
    seen.file = cache.map(|cache| cache.saturating_sub(shmem.unwrap_or(Bytes::ZERO)));
}

/// v2's `file` includes tmpfs and shared memory (cgroup-v2.rst).
fn stat_v2(text: &[u8], seen: &mut Cgroup) {
    let (mut file, mut shmem) = (None, None);
    each_pair(text, |name, value| match name {
        b"anon" => seen.anon = Some(Bytes(value)),
        b"file" => file = Some(Bytes(value)),
        b"shmem" => shmem = Some(Bytes(value)),
        b"kernel" => seen.kernel = Some(Bytes(value)),
        _ => {}
    });
    seen.shmem = shmem;
    seen.file = file.map(|file| file.saturating_sub(shmem.unwrap_or(Bytes::ZERO)));
}

fn each_pair(text: &[u8], mut each: impl FnMut(&[u8], u64)) {
    for line in text.split(|byte| *byte == b'\n') {
        let mut fields = words(line);
        if let (Some(name), Some(value)) = (fields.next(), fields.next().and_then(number)) {
            each(name, value);
        }
    }
}

fn one_number(file: &OwnedFd, buffer: &mut Vec<u8>) -> Option<u64> {
    proc::read_all(file, buffer).ok()?;
    words(buffer).next().and_then(number)
}

fn open(path: &Path) -> Option<OwnedFd> {
    rustix::fs::open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).ok()
}
