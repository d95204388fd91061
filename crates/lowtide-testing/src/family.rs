//! All that came of one program, wherever it went.
//!
//! Two things make that sound without rights. The test process is a subreaper, so nothing can leave its tree: a
//! process whose parent ends becomes a child of ours. And because tests run side by side in one process, each program
//! gets a word in its environment, which its children inherit: it tells whose an orphan is.

use std::collections::{HashMap, HashSet};
use std::process::{Child, Command};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use lowtide_core::process::ProcId;
use lowtide_sys::proc::{Proc, stat};
use lowtide_sys::signal::Target;
use rustix::process::{Pid, Signal, WaitOptions, getpid, set_child_subreaper, waitpid};

use crate::PATIENCE;

const WORD: &str = "STARTED_BY_TEST";

/// In the midst of exec a process shows no environment, and if its parent has just ended nothing else tells whose it
/// is. Reading a program from a busy disk takes less than this.
const EXEC_TAKES: Duration = Duration::from_secs(1);

/// How often to look whether a killed process is gone.
const LOOK_EVERY: Duration = Duration::from_millis(1);

/// The word of one program, before and after it is started.
#[derive(Debug)]
pub(crate) struct Mark(String);

impl Mark {
    /// Also takes care that nothing leaves our tree.
    pub(crate) fn put(command: &mut Command) -> Mark {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        set_child_subreaper(Some(getpid())).expect("Linux has subreapers");
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        // A test that runs as a process of another one keeps that one's word in front.
        let before = std::env::var(WORD).map_or(String::new(), |word| word + "/");
        let word = format!("{before}{}-{number}", std::process::id());
        command.env(WORD, &word);
        Mark(format!("{WORD}={word}"))
    }

    /// Whether the word is in a process's environment; none when there is no environment to read.
    fn is_in(&self, pid: u32) -> Option<bool> {
        let environment = std::fs::read(format!("/proc/{pid}/environ")).ok()?;
        let mine = |word: &[u8]| {
            let rest = word.strip_prefix(self.0.as_bytes());
            rest.is_some_and(|rest| rest.is_empty() || rest[0] == b'/')
        };
        (!environment.is_empty()).then(|| environment.split(|byte| *byte == 0).any(mine))
    }
}

/// A program, its children, theirs, and so on.
#[derive(Debug)]
pub(crate) struct Family {
    mark: Mark,
    first: ProcId,
}

/// One look at the family.
#[derive(Default)]
struct Sighting {
    alive: HashSet<ProcId>,
    /// Whose a process is will show.
    open: bool,
}

struct Process {
    id: ProcId,
    parent: u32,
    ended: bool,
}

impl Family {
    /// Of a child that nobody has waited for yet.
    pub(crate) fn of(child: &Child, mark: Mark) -> Family {
        let stat = std::fs::read(format!("/proc/{}/stat", child.id())).unwrap_or_default();
        let start = stat::parse(&stat).map_or(0, |stat| stat.start);
        let first = ProcId {
            pid: child.id(),
            start,
        };
        Family { mark, first }
    }

    /// Kills all of it and waits until it is gone. The first of it is left for its owner to wait for.
    pub(crate) fn end(&self) {
        let proc = Proc::at("/proc").expect("/proc");
        let began = Instant::now();
        let mut known = HashSet::from([self.first]);
        loop {
            let processes = below_us(&proc);
            let seen = self.look(&processes, &known);
            known.extend(&seen.alive);
            for id in &seen.alive {
                // One that has just ended needs no signal.
                let _ = Target::open(&proc, *id).map(|target| target.send(Signal::KILL));
            }
            let orphans = (processes.values())
                .filter(|one| one.ended && one.parent == std::process::id())
                .filter(|one| known.contains(&one.id) && one.id != self.first);
            for orphan in orphans {
                let _ = waitpid(Pid::from_raw(orphan.id.pid as i32), WaitOptions::NOHANG);
            }
            let waits = began.elapsed();
            if seen.alive.is_empty() && !(seen.open && waits < EXEC_TAKES) {
                return;
            }
            if waits > PATIENCE {
                // A panic in the midst of another one would end the whole test process.
                eprintln!("cannot be ended: {:?}", seen.alive);
                return;
            }
            std::thread::sleep(LOOK_EVERY);
        }
    }

    fn look(&self, processes: &HashMap<u32, Process>, known: &HashSet<ProcId>) -> Sighting {
        let mut seen = Sighting::default();
        for one in processes.values().filter(|one| !one.ended) {
            let marked = self.mark.is_in(one.id.pid);
            if known.contains(&one.id) || marked == Some(true) {
                seen.alive.insert(one.id);
            }
            seen.open |= marked.is_none() && one.parent == std::process::id();
        }
        // One that hides its environment is told by its parents.
        loop {
            let before = seen.alive.len();
            for one in processes.values().filter(|one| !one.ended) {
                let parent = processes.get(&one.parent);
                if parent.is_some_and(|parent| seen.alive.contains(&parent.id)) {
                    seen.alive.insert(one.id);
                }
            }
            if seen.alive.len() == before {
                return seen;
            }
        }
    }
}

/// All processes below this one, by number.
fn below_us(proc: &Proc) -> HashMap<u32, Process> {
    let (mut pids, mut text) = (Vec::new(), Vec::new());
    proc.pids(&mut pids).expect("/proc can be listed");
    let mut all = HashMap::new();
    for pid in pids {
        if proc.read(pid, "stat", &mut text).is_ok()
            && let Some(stat) = stat::parse(&text)
        {
            let one = Process {
                id: ProcId {
                    pid,
                    start: stat.start,
                },
                parent: stat.parent,
                ended: stat.has_ended(),
            };
            all.insert(pid, one);
        }
    }
    let is_ours = |pid: u32| {
        let parent = |pid: &u32| all.get(pid).map(|one| one.parent);
        // The list was not read in one moment: numbers that were used twice could lead in circles.
        let mut ancestors = std::iter::successors(parent(&pid), parent).take(all.len());
        ancestors.any(|pid| pid == std::process::id())
    };
    let ours: HashSet<u32> = all.keys().copied().filter(|pid| is_ours(*pid)).collect();
    all.retain(|pid, _| ours.contains(pid));
    all
}
