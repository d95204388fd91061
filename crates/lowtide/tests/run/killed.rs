//! kill -9 of the watcher at any moment: the job ends with code 0, its output is complete, and the
//! recording opens with every tick up to the last.

use std::path::Path;
use std::process::Stdio;
use std::sync::atomic::{AtomicUsize, Ordering};

use lowtide_core::entry::Entry;
use lowtide_recording::{FILE_NAME, Recording};
use lowtide_sys::sigwait::send;
use rustix::process::{Pid, WaitOptions, waitpid};

use crate::common::{Reader, Starts, User, keeper_of, run};

const LINES: usize = 30;
const ROUNDS: usize = 100;
/// Runs at a time; most of each is the job's sleeping.
const AT_A_TIME: usize = 5;

fn job() -> String {
    format!(
        "i=0; while [ $i -lt {LINES} ]; do echo line $i of {LINES}; i=$((i+1)); sleep 0.01; done; echo last"
    )
}

/// What the job prints in all.
fn all() -> Vec<String> {
    (0..LINES)
        .map(|i| format!("line {i} of {LINES}"))
        .chain(["last".into()])
        .collect()
}

/// Runs all rounds; each is given the number of bytes after which the watcher dies, spread over the whole output and
/// including none at all.
fn rounds(one: impl Fn(&Path, usize) + Sync) {
    let length: usize = all().iter().map(|line| line.len() + 1).sum();
    std::thread::scope(|scope| {
        for worker in 0..AT_A_TIME {
            let one = &one;
            scope.spawn(move || {
                for round in (worker..ROUNDS).step_by(AT_A_TIME) {
                    let home = tempfile::tempdir().unwrap();
                    // Steps by the golden ratio: spread evenly, in no order.
                    let after = (round as f64 * 0.618_034).fract() * length as f64;
                    one(home.path(), after as usize);
                }
            });
        }
    });
}

/// Whether a tick is on the disk: lowtide and its keeper know of each other and of the job.
pub(crate) fn watches(home: &Path) -> bool {
    ticks_on_disk(home) > 0
}

/// How many ticks a reader finds now; the file may be growing.
pub(crate) fn ticks_on_disk(home: &Path) -> usize {
    let runs = std::fs::read_dir(home.join("runs")).into_iter().flatten();
    let files = runs.flatten().map(|run| run.path().join(FILE_NAME));
    files
        .flat_map(|file| Recording::open(&file).into_iter().flatten().flatten())
        .filter(|entry| matches!(entry, Entry::Sample(_)))
        .count()
}

/// Every tick that was recorded is there, in order. A watcher that died before its first tick leaves
/// no recording, or an empty one.
pub(crate) fn ticks_recorded(home: &Path) -> usize {
    let mut all = 0;
    let runs = std::fs::read_dir(home.join("runs"))
        .into_iter()
        .flatten()
        .flatten();
    for file in runs.map(|run| run.path().join(FILE_NAME)) {
        if !std::fs::metadata(&file).is_ok_and(|found| found.len() > 0) {
            continue;
        }
        let ticks: Vec<u64> = Recording::open(&file)
            .unwrap()
            .filter_map(|entry| match entry.unwrap() {
                Entry::Sample(sample) => Some(sample.seq),
                Entry::Gap { gap, .. } => panic!("{gap:?}"),
                _ => None,
            })
            .collect();
        assert!(ticks.iter().copied().eq(0..ticks.len() as u64), "{ticks:?}");
        all += ticks.len();
    }
    all
}

/// The keeper became our child when the watcher was gone, as all that tests start does: that is how its exit code,
/// the job's, can be seen.
fn ends_well(keeper: u32, after: usize) {
    let (_, status) = waitpid(Pid::from_raw(keeper as i32), WaitOptions::empty())
        .unwrap()
        .unwrap();
    assert_eq!(status.exit_status(), Some(0), "killed after {after} bytes");
}

#[test]
fn on_a_pipe() {
    let recorded = AtomicUsize::new(0);
    rounds(|home, after| {
        let mut lowtide = run(home, &job())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .start();
        let mut reader = Reader::new(lowtide.stdout.take().unwrap());
        let keeper = keeper_of(lowtide.id());
        // The job must have begun: a watcher that dies before it started one has nothing to carry on.
        while reader.seen.len() < after.max(1) {
            assert!(reader.more(1));
        }
        lowtide.kill().unwrap();
        lowtide.wait().unwrap();
        let lines: Vec<_> = reader.rest().lines().map(str::to_owned).collect();
        assert_eq!(lines, all(), "killed after {after} bytes");
        ends_well(keeper, after);
        recorded.fetch_add(ticks_recorded(home), Ordering::Relaxed);
    });
    assert!(
        recorded.into_inner() > ROUNDS,
        "most watchers got to record"
    );
}

#[test]
fn at_a_terminal() {
    let recorded = AtomicUsize::new(0);
    rounds(|home, after| {
        let script = format!(
            "a=$(stty -g); \"$0\" run -q -i 20ms -- sh -c '{}'; echo; echo over; read stay; stty -g; echo $a; read stay",
            job()
        );
        let mut user = User::at_terminal(home, &script);
        let watcher = user.watcher();
        let keeper = keeper_of(watcher);
        while user.screen.seen.len() < after.max(1) {
            assert!(user.screen.more(1));
        }
        send(watcher, 9).unwrap();
        user.screen.until("over");
        user.screen.until("last");
        ends_well(keeper, after);
        recorded.fetch_add(ticks_recorded(home), Ordering::Relaxed);
        let text = user.screen.text();
        let of_job = |line: &&str| line.starts_with("line ") || *line == "last";
        let lines: Vec<_> = text.lines().filter(of_job).map(str::to_owned).collect();
        assert_eq!(lines, all(), "killed after {after} bytes: {text}");
        // The terminal is as before: the shell reads a line, and both lists of modes are the same.
        user.types(b"\r");
        user.screen.until("over");
        let modes = |text: &str| {
            text.lines()
                .filter(|line| line.matches(':').count() > 10)
                .map(str::to_owned)
                .collect::<Vec<_>>()
        };
        while modes(&user.screen.text()).len() < 2 {
            assert!(user.screen.more(4096));
        }
        let modes = modes(&user.screen.text());
        assert_eq!(modes[0], modes[1], "killed after {after} bytes");
    });
    assert!(
        recorded.into_inner() > ROUNDS,
        "most watchers got to record"
    );
}
