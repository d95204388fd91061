//! A week at 1 Hz as fast as it goes: `soak FOLDER [TICKS]` watches a real tree with the real sampler, recorder, fold
//! and verdict, and only the time between two ticks is left out. Then it prints whether its own memory grew, as
//! `lowtide judge` says, what the recording took, and how late ticks are next to those of a loop that does nothing.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use lowtide_core::entry::{Entry, Header};
use lowtide_core::mark::{Mark, MarkSource};
use lowtide_core::run::Run;
use lowtide_core::sample::Sample;
use lowtide_core::units::{Micros, Share};
use lowtide_recording::{FILE_NAME, Recorder};
use lowtide_sys::sampler::{Change, Options, Sampler};

/// A week of seconds, nearly.
const WEEK: u64 = 600_000;
const SECOND: u64 = 1_000_000;
/// Points of our own memory: as many as a judge can make use of.
const POINTS: u64 = 2000;
/// Ticks whose lateness is measured, and the time between them: short, so that many fit into a minute.
const PACED: u32 = 3000;
const PACE: Duration = Duration::from_millis(20);
/// docs/recording.md: a day of 25 busy processes takes 225 bytes a tick; a tree of four takes less.
const PROMISED: u64 = 225;

struct Watcher {
    sampler: Sampler,
    recorder: Recorder,
    run: Run,
    sample: Sample,
    now: u64,
}

impl Watcher {
    fn new(pid: u32, folder: &Path) -> Watcher {
        let header = Header {
            how: "soak".to_owned(),
            command: vec!["soak.py".to_owned()],
            interval: Micros(SECOND),
            budget: Share(0.001),
            ..Header::default()
        };
        let mut run = Run::new();
        run.apply(&Entry::Header(header.clone()));
        Watcher {
            sampler: Sampler::new(Options::new(vec![pid])).expect("the tree runs"),
            recorder: Recorder::start(folder, header, |notice| eprintln!("{notice}"))
                .expect("a folder without a recording"),
            run,
            sample: Sample::default(),
            now: 0,
        }
    }

    /// One turn, as `session/watch` has it: a step, the tree, the verdict.
    fn tick(&mut self) {
        let at = Micros(self.now * SECOND);
        self.enter(&Entry::Mark(Mark {
            at,
            source: MarkSource::Callback,
            step: Some(self.now),
            ..Mark::default()
        }));
        let mut sample = std::mem::take(&mut self.sample);
        let changes = self.sampler.tick(at, &mut sample);
        for change in changes.expect("/proc can be listed") {
            self.enter(&match change {
                Change::Member(member) => Entry::Member(member),
                Change::Left(id) => Entry::Gone { id, at },
                Change::Watch { id, why } => Entry::Watch { at, id, why },
            });
        }
        let entry = Entry::Sample(sample);
        self.enter(&entry);
        if let Entry::Sample(sample) = entry {
            self.sample = sample;
        }
        std::hint::black_box(self.run.verdict());
        self.now += 1;
    }

    fn enter(&mut self, entry: &Entry) {
        self.recorder.send(entry);
        self.run.apply(entry);
    }
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (folder, ticks) = match &arguments[..] {
        [folder] => (Path::new(folder), WEEK),
        [folder, ticks] => (Path::new(folder), ticks.parse().expect("a number of ticks")),
        _ => panic!("usage: soak FOLDER [TICKS]"),
    };
    std::fs::create_dir_all(folder).expect("a folder can be made");
    let (mut tree, pid) = tree();
    let mut watcher = Watcher::new(pid, folder);
    let mut own = String::from("t,bytes\n");
    let began = Instant::now();
    for tick in 0..ticks {
        watcher.tick();
        if tick % ticks.div_ceil(POINTS) == 0 {
            writeln!(own, "{tick},{}", resident()).expect("text grows");
        }
    }
    let took = began.elapsed();
    let processes = watcher.run.processes().count();
    println!(
        "{ticks} ticks of {} processes in {:.0} s, {:.0} µs each; {} steps, {processes} processes remembered",
        watcher.sample.readings.len(),
        took.as_secs_f64(),
        took.as_secs_f64() * 1e6 / ticks as f64,
        watcher.run.step().unwrap_or(0),
    );
    let size = std::fs::metadata(folder.join(FILE_NAME)).expect("the recording is there");
    let per_tick = size.len() / ticks;
    println!(
        "recording: {:.1} MB, {per_tick} bytes a tick (promised: {PROMISED} for 25 processes); {} ticks dropped",
        size.len() as f64 / 1e6,
        watcher.recorder.dropped(),
    );
    lateness(&mut watcher);
    drop(tree.stdin.take());
    tree.wait().expect("the tree ends with its input");
    let dropped = watcher.recorder.dropped();
    watcher
        .recorder
        .finish(Duration::from_secs(60))
        .expect("the disk takes the end");
    let flat = own_memory(folder, &own);
    if flat && dropped == 0 && per_tick <= PROMISED {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

fn tree() -> (Child, u32) {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/soak.py");
    let mut child = Command::new("python3")
        .arg(script)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("python3 is there");
    let mut line = String::new();
    BufReader::new(child.stdout.take().expect("a pipe"))
        .read_line(&mut line)
        .expect("it prints its pid");
    let pid = line.trim().parse().expect("a pid");
    (child, pid)
}

/// Our own memory over all ticks, judged as any other series.
fn own_memory(folder: &Path, own: &str) -> bool {
    let csv = folder.join("own.csv");
    std::fs::write(&csv, own).expect("the folder can be written");
    let lowtide = std::env::current_exe()
        .expect("we have a path")
        .with_file_name("lowtide");
    println!("own memory (lowtide judge {}):", csv.display());
    let judged = Command::new(lowtide).arg("judge").arg(&csv).status();
    judged
        .expect("cargo build --release makes the program")
        .success()
}

fn resident() -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find(|line| line.starts_with("RssAnon:"));
    let kilobytes: Option<u64> = line.and_then(|line| line.split_whitespace().nth(1)?.parse().ok());
    kilobytes.unwrap_or(0) * 1024
}

/// Two loops side by side with the same times to wake up at: one watches, the other does nothing.
fn lateness(watcher: &mut Watcher) {
    let begin = Instant::now() + PACE;
    let idle = std::thread::spawn(move || late(begin, || {}));
    let watching = late(begin, || watcher.tick());
    let idle = idle.join().expect("a loop that does nothing");
    for (name, late) in [("watching", watching), ("idle", idle)] {
        let at = |share: f64| late[((late.len() - 1) as f64 * share) as usize].as_micros();
        println!(
            "late, {name} loop: median {} µs, 99 % within {} µs, at most {} µs",
            at(0.5),
            at(0.99),
            at(1.0)
        );
    }
}

fn late(begin: Instant, mut turn: impl FnMut()) -> Vec<Duration> {
    let mut all = Vec::new();
    for number in 0..PACED {
        let due = begin + PACE * number;
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
        all.push(Instant::now().saturating_duration_since(due));
        turn();
    }
    all.sort();
    all
}
