//! Stops of real processes: they go on as if nothing had been, however the stop ends and whatever they do meanwhile.

#[path = "../common/job.rs"]
#[expect(dead_code, reason = "no program here is Python's")]
mod job;

mod ends;
mod goes_on;
mod moment;
mod refused;
mod unseen;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use job::Job;
use lowtide_sys::memory::{Deadline, Live, Memory};
use lowtide_sys::proc::{Proc, stat, status};
use lowtide_testing::{Starts, until};
use rustix::process::{Pid, Signal, kill_process};

/// More time than any stop here needs, on a busy machine too.
const LONG: Duration = Duration::from_secs(60);

/// The programs of `target.c`, compiled by each test under a name of its own; the last one stays.
fn built() -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/stop/target.c");
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let program = folder.join("stop-target");
    let own = tempfile::NamedTempFile::new_in(folder)
        .unwrap()
        .into_temp_path();
    let mut command = Command::new("cc");
    command
        .args(["-O1", "-pthread", "-o"])
        .arg(&own)
        .arg(source);
    assert!(command.ends().success());
    own.persist(&program).unwrap();
    program
}

fn target(arguments: &[&str]) -> Job {
    Job::start(Command::new(built()).args(arguments))
}

/// A program whose threads count in its memory.
struct Counters {
    job: Job,
    /// Of whom memory is asked for: a first thread that has ended has none to show.
    reader: u32,
    address: u64,
    threads: usize,
}

impl Counters {
    fn of(threads: usize) -> Counters {
        Counters::start(&["counters", &threads.to_string()], threads)
    }

    fn start(arguments: &[&str], threads: usize) -> Counters {
        let mut job = target(arguments);
        let address = job.until("ready").parse().unwrap();
        let reader = match arguments {
            ["first"] => until("the first thread to end", || only_other(job.pid())),
            _ => job.pid(),
        };
        let counters = Counters {
            job,
            reader,
            address,
            threads,
        };
        counters.goes_on();
        counters
    }

    fn pid(&self) -> u32 {
        self.job.pid()
    }

    fn values(&self) -> Vec<u64> {
        let proc = Proc::at("/proc").unwrap();
        let live = Live::open(&proc, self.reader, Deadline::none()).unwrap();
        let mut bytes = vec![0; self.threads * 8];
        assert_eq!(live.read(self.address, &mut bytes), bytes.len());
        let (words, _) = bytes.as_chunks::<8>();
        words.iter().map(|word| u64::from_le_bytes(*word)).collect()
    }

    /// Waits until every thread has counted on.
    fn goes_on(&self) {
        let before = self.values();
        until("every thread to count on", || {
            let now = self.values();
            now.iter()
                .zip(&before)
                .all(|(now, before)| now > before)
                .then_some(())
        });
    }

    /// No thread counts while ten turns of theirs would pass.
    fn stands_still(&self) {
        let before = self.values();
        std::thread::sleep(Duration::from_millis(5));
        assert_eq!(self.values(), before);
    }

    fn state(&self) -> char {
        state(self.pid())
    }

    fn send(&self, signal: Signal) {
        send(self.pid(), signal);
    }
}

/// The other thread, once the first has ended.
fn only_other(pid: u32) -> Option<u32> {
    let threads = std::fs::read_dir(format!("/proc/{pid}/task")).unwrap();
    let mut numbers = threads.map(|thread| {
        thread
            .unwrap()
            .file_name()
            .into_string()
            .unwrap()
            .parse()
            .unwrap()
    });
    (state(pid) == 'Z').then(|| numbers.find(|tid| *tid != pid).unwrap())
}

fn send(pid: u32, signal: Signal) {
    kill_process(Pid::from_raw(pid as i32).unwrap(), signal).unwrap();
}

fn state(pid: u32) -> char {
    let text = std::fs::read(format!("/proc/{pid}/stat")).unwrap();
    char::from(stat::parse(&text).unwrap().state)
}

fn tracer(pid: u32) -> Option<u32> {
    status::tracer(&std::fs::read(format!("/proc/{pid}/status")).unwrap())
}
