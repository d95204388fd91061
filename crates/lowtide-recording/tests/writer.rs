//! The recorder against real files: killed at any moment, on a full disk, on one that hangs.
//!
//! What must happen in a process of its own runs in this test binary again: the ignored tests
//! below are those processes, and do nothing unless they are told where to write.

use std::env;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use lowtide_core::entry::{Entry, Exit, Header};
use lowtide_core::process::ProcId;
use lowtide_core::sample::{GapWhy, Reading, Sample, TreeSum};
use lowtide_core::units::{Bytes, Micros};
use lowtide_recording::summary::{RunState, Summary};
use lowtide_recording::{FILE_NAME, Notice, Recorder, Recording};
use lowtide_testing::Starts;
use rustix::process::{Resource, Rlimit, Signal, getrlimit, kill_process, setrlimit};

const PLACE: &str = "LOWTIDE_TEST_PLACE";
/// Long enough for any disk that answers at all.
const PATIENCE: Duration = Duration::from_secs(60);

fn header() -> Header {
    Header {
        name: "a-run".to_owned(),
        started: Micros(1_700_000_000_000_000),
        command: vec!["python".to_owned(), "train.py".to_owned()],
        ..Header::default()
    }
}

/// A tick of 60 processes in which everything moves: some hundred bytes.
fn tick(seq: u64) -> Entry {
    let mut noise = seq.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        noise ^= noise << 13;
        noise ^= noise >> 7;
        noise ^= noise << 17;
        noise >> 24
    };
    let readings = (1..=60)
        .map(|pid| Reading {
            anon: Bytes(next()),
            file: Bytes(next()),
            vsize: Bytes(next()),
            peak: Bytes(next()),
            threads: 1,
            cpu: Micros(seq),
            minor_faults: next(),
            ..Reading::of(ProcId { pid, start: 1 })
        })
        .collect();
    Entry::Sample(Sample {
        seq,
        at: Micros(seq * 1_000_000),
        readings,
        tree: TreeSum {
            held: Bytes(1000 + seq),
            ..TreeSum::default()
        },
        ..Sample::default()
    })
}

fn entries(path: &Path) -> Vec<Entry> {
    Recording::open(path)
        .and_then(Iterator::collect)
        .unwrap_or_else(|error| panic!("{error}"))
}

fn seqs(entries: &[Entry]) -> Vec<u64> {
    entries
        .iter()
        .filter_map(|entry| match entry {
            Entry::Sample(sample) => Some(sample.seq),
            _ => None,
        })
        .collect()
}

fn end() -> Entry {
    Entry::End {
        at: Micros(99_000_000),
        exit: Some(Exit::Code(3)),
    }
}

#[test]
fn what_is_sent_is_read_and_the_summary_knows_it_without_reading_all() {
    let dir = tempfile::tempdir().unwrap();
    let recorder = Recorder::start(dir.path(), header(), |notice| panic!("{notice}")).unwrap();
    let path = recorder.path().to_owned();
    // Several keyframes and more than the tail that a summary looks at.
    let ticks: Vec<Entry> = (0..1500).map(tick).collect();
    // No faster than a disk takes them: nothing may be dropped here.
    let send = |range: std::ops::Range<usize>| {
        for chunk in range.collect::<Vec<_>>().chunks(100) {
            chunk.iter().for_each(|&seq| recorder.send(&ticks[seq]));
            wait_for(&path, chunk[chunk.len() - 1] as u64);
        }
    };
    send(0..700);
    let summary = Summary::read(&path).unwrap();
    assert_eq!(summary.state, RunState::Running);
    assert_eq!((summary.samples, summary.peak), (700, Bytes(1699)));
    send(700..1500);
    recorder.send(&end());
    recorder.finish(PATIENCE).unwrap();

    let mut expected = vec![Entry::Header(header())];
    expected.extend(ticks);
    expected.push(end());
    assert!(entries(&path) == expected, "not what was sent");
    let summary = Summary::read(&path).unwrap();
    assert_eq!(summary.state, RunState::Ended(Some(Exit::Code(3))));
    assert_eq!((summary.samples, summary.peak), (1500, Bytes(2499)));
    assert_eq!(summary.header, header());
}

/// A large thing that a job tells.
fn told() -> Entry {
    Entry::Record {
        at: Micros(1),
        pid: 7,
        json: "x".repeat(30_000),
    }
}

#[test]
fn what_the_job_tells_takes_no_tick_and_goes_to_the_disk_without_one() {
    let dir = tempfile::tempdir().unwrap();
    let recorder = Recorder::start(dir.path(), header(), |notice| {
        assert_eq!(kind(&notice), "crowded", "{notice}")
    })
    .unwrap();
    let path = recorder.path().to_owned();
    // Far more than there is memory for, in one breath.
    for _ in 0..200 {
        recorder.send(&told());
    }
    // Some of it arrives though no tick follows.
    let records = |entries: &[Entry]| {
        let told = |entry: &&Entry| matches!(entry, Entry::Record { .. });
        entries.iter().filter(told).count()
    };
    while !path_has_head(&path) || records(&entries(&path)) == 0 {
        std::thread::yield_now();
    }
    for seq in 0..50 {
        recorder.send(&tick(seq));
        recorder.send(&told());
    }
    assert_eq!(recorder.dropped(), 0);
    // What is left out after the last tick is told before the end.
    for _ in 0..200 {
        recorder.send(&told());
    }
    recorder.send(&end());
    recorder.finish(PATIENCE).unwrap();
    let entries = entries(&path);
    assert!(seqs(&entries).into_iter().eq(0..50));
    let lost = |entry: &&Entry| matches!(entry, Entry::Gap { ticks, .. } if *ticks > 0);
    assert_eq!(entries.iter().find(lost), None);
    assert_eq!(entries.last(), Some(&end()));
}

/// Follows the recording until a tick is in it.
fn wait_for(path: &Path, seq: u64) {
    let mut recording = None;
    loop {
        if recording.is_none() {
            recording = Recording::open(path).ok();
        }
        match recording
            .as_mut()
            .and_then(Iterator::next)
            .transpose()
            .unwrap()
        {
            Some(Entry::Sample(sample)) if sample.seq >= seq => return,
            Some(_) => {}
            None => std::thread::yield_now(),
        }
    }
}

/// Runs one of the ignored tests below as a process.
fn this_binary(test: &str, place: &Path) -> Command {
    let mut command = Command::new(env::current_exe().unwrap());
    command.args([
        "--exact",
        test,
        "--ignored",
        "--nocapture",
        "--test-threads=1",
    ]);
    command.env(PLACE, place);
    command
}

fn place() -> Option<PathBuf> {
    env::var_os(PLACE).map(PathBuf::from)
}

#[test]
fn after_kill_9_at_any_moment_at_most_the_last_tick_is_missing() {
    for round in 0..100u64 {
        let dir = tempfile::tempdir().unwrap();
        let mut child = this_binary("records_until_killed", dir.path())
            .stdout(Stdio::piped())
            .start();
        // Killed somewhere in the tick that follows the line it waits for here.
        let stop_after = 1 + round % 7;
        let mut sent = None;
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        for line in lines.map_while(Result::ok) {
            if let Some(seq) = line.strip_prefix("sent ").and_then(|n| n.parse().ok()) {
                sent = Some(seq);
                if seq == stop_after {
                    for _ in 0..round * 97 {
                        std::hint::spin_loop();
                    }
                    kill_process(rustix::process::Pid::from_child(&child), Signal::KILL).unwrap();
                }
            }
        }
        child.wait().unwrap();
        let sent: u64 = sent.expect("the writer said what it sent");
        let path = dir.path().join(FILE_NAME);
        let seqs = seqs(&entries(&path));
        assert!(seqs.iter().copied().eq(0..seqs.len() as u64), "{seqs:?}");
        assert!(seqs.len() as u64 >= sent, "{} of {sent}", seqs.len());
        assert_eq!(Summary::read(&path).unwrap().state, RunState::CutOff);
    }
}

#[test]
#[ignore = "a process of after_kill_9_at_any_moment_at_most_the_last_tick_is_missing"]
fn records_until_killed() {
    let Some(dir) = place() else { return };
    let recorder = Recorder::start(&dir, header(), |notice| panic!("{notice}")).unwrap();
    for seq in 0.. {
        recorder.send(&tick(seq));
        println!("sent {seq}");
        std::io::stdout().flush().unwrap();
        // The clock of this test: a tick begins when the one before is on its way.
        wait_for(recorder.path(), seq);
    }
}

/// Fills the disk, goes on until ticks are dropped, makes room, and checks what was kept.
fn record_through_a_full_disk(dir: &Path, make_room: impl FnOnce()) {
    let (tell, notices) = mpsc::channel();
    let recorder =
        Recorder::start(dir, header(), move |notice| tell.send(notice).unwrap()).unwrap();
    let path = recorder.path().to_owned();
    let mut sent = 0;
    let mut send = || {
        recorder.send(&tick(sent));
        sent += 1;
        sent
    };
    // One tick at a time until one is not taken, then more than there is memory for.
    let first = loop {
        let sent = send();
        let taken = || seqs(&entries(&path)).len() as u64 == sent;
        let notice = std::iter::repeat_with(|| notices.try_recv().ok())
            .find(|notice| notice.is_some() || path_has_head(&path) && taken());
        if let Some(Some(notice)) = notice {
            break notice;
        }
    };
    assert_eq!(kind(&first), "failing", "{first}");
    while recorder.dropped() < 10 {
        send();
    }
    let heard: Vec<Notice> = notices.try_iter().collect();
    assert_eq!(heard.iter().map(kind).collect::<Vec<_>>(), ["dropping"]);
    let readable = seqs(&entries(&path));
    assert!(
        readable.iter().copied().eq(0..readable.len() as u64),
        "{readable:?}"
    );

    make_room();
    let recovered = notices.recv_timeout(PATIENCE).unwrap();
    assert_eq!(kind(&recovered), "recovered", "{recovered}");
    let dropped = recorder.dropped();
    recorder.send(&tick(sent));
    recorder.send(&end());
    recorder.finish(PATIENCE).unwrap();

    let entries = entries(&path);
    let seqs = seqs(&entries);
    let kept = sent - dropped;
    assert!(seqs.iter().copied().eq((0..kept).chain([sent])), "{seqs:?}");
    let gaps: Vec<&Entry> = entries
        .iter()
        .filter(|e| matches!(e, Entry::Gap { .. }))
        .collect();
    let [Entry::Gap { at, gap, ticks }] = gaps[..] else {
        panic!("{gaps:?}")
    };
    assert_eq!(
        (*at, gap.why, *ticks),
        (Micros(kept * 1_000_000), GapWhy::Dropped, dropped)
    );
    assert_eq!(entries.last(), Some(&end()));
}

fn path_has_head(path: &Path) -> bool {
    Recording::open(path).is_ok()
}

fn kind(notice: &Notice) -> &'static str {
    match notice {
        Notice::Failing { .. } => "failing",
        Notice::Dropping { .. } => "dropping",
        Notice::Crowded { .. } => "crowded",

        Notice::Recovered { .. } => "recovered",
    }
}

/// Runs a test with a limit on the size of files, which writes meet as they meet a full disk.
fn with_small_files(test: &str) {
    let dir = tempfile::tempdir().unwrap();
    let command = this_binary(test, dir.path());
    let mut shell = Command::new("sh");
    // Without the signal that comes with it, the limit is an error like any other.
    shell.args(["-c", "trap '' XFSZ; ulimit -S -f 40; exec \"$@\"", "sh"]);
    shell.arg(command.get_program()).args(command.get_args());
    shell.env(PLACE, dir.path());
    passes(&mut shell);
}

fn passes(command: &mut Command) {
    let output = command.finish();
    let stdout = String::from_utf8_lossy(&output.stdout);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() && stdout.contains("1 passed"),
        "{stdout}{stderr}"
    );
}

#[test]
fn a_disk_that_takes_no_more_costs_ticks_and_nothing_else() {
    with_small_files("records_with_small_files");
}

#[test]
#[ignore = "a process of a_disk_that_takes_no_more_costs_ticks_and_nothing_else"]
fn records_with_small_files() {
    let Some(dir) = place() else { return };
    record_through_a_full_disk(&dir, || {
        let Rlimit { maximum, .. } = getrlimit(Resource::Fsize);
        let raised = Rlimit {
            current: maximum,
            maximum,
        };
        setrlimit(Resource::Fsize, raised).unwrap();
    });
}

#[test]
fn a_full_tmpfs_costs_ticks_and_nothing_else() {
    let dir = tempfile::tempdir().unwrap();
    // A mount namespace of its own: nothing is left mounted, and root is not always needed.
    let may = Command::new("unshare").args(["-rm", "true"]).finish();
    if !may.status.success() {
        eprintln!("skipped: no right to mount here");
        return;
    }
    let command = this_binary("records_on_a_small_tmpfs", dir.path());
    let mut unshare = Command::new("unshare");
    unshare
        .args(["-rm", "sh", "-c"])
        .arg("mount -t tmpfs -o size=128k none \"$0\" && exec \"$@\"")
        .arg(dir.path())
        .arg(command.get_program())
        .args(command.get_args())
        .env(PLACE, dir.path());
    passes(&mut unshare);
}

#[test]
#[ignore = "a process of a_full_tmpfs_costs_ticks_and_nothing_else"]
fn records_on_a_small_tmpfs() {
    let Some(dir) = place() else { return };
    let here = dir.clone();
    record_through_a_full_disk(&dir, move || {
        let grown = Command::new("mount")
            .args(["-o", "remount,size=64m"])
            .arg(&here)
            .ends();
        assert!(grown.success());
    });
}

#[test]
fn a_disk_that_hangs_holds_up_neither_the_sampler_nor_the_end() {
    with_small_files("records_on_a_hanging_disk");
}

#[test]
#[ignore = "a process of a_disk_that_hangs_holds_up_neither_the_sampler_nor_the_end"]
fn records_on_a_hanging_disk() {
    let Some(dir) = place() else { return };
    // The writer's thread tells that writing failed and never comes back from that: to the
    // sampler this is a write that hangs.
    let recorder = Recorder::start(&dir, header(), |notice| {
        if kind(&notice) == "failing" {
            loop {
                std::thread::park();
            }
        }
    })
    .unwrap();
    recorder.send(&tick(0));
    wait_for(recorder.path(), 0);
    // Whatever the job tells meanwhile takes no room of the ticks: those that fit without it still do.
    for _ in 0..200 {
        recorder.send(&told());
    }
    let mut sent = 1;
    while recorder.dropped() < 10 {
        recorder.send(&tick(sent));
        sent += 1;
    }
    assert!(sent > 100, "{sent} ticks found room");
    let unfinished = recorder.finish(Duration::from_millis(10)).unwrap_err();
    assert!(unfinished.to_string().contains("readable up to there"));
    assert!(!seqs(&entries(&dir.join(FILE_NAME))).is_empty());
}
