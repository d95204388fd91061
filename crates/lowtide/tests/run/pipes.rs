//! Pipes and files: every byte, in its stream, in its order.

use std::fs;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use lowtide_core::entry::Entry;
use lowtide_recording::{FILE_NAME, Recording};

use crate::common::{LOWTIDE, Reader, Starts, children, keeper_of, run, until};

#[test]
fn both_streams_stay_apart() {
    let home = tempfile::tempdir().unwrap();
    let out = run(home.path(), "echo to out; echo to err >&2").finish();
    assert_eq!(String::from_utf8_lossy(&out.stdout), "to out\n");
    assert!(
        String::from_utf8_lossy(&out.stderr)
            .lines()
            .any(|line| line == "to err")
    );
}

#[test]
fn two_streams_into_one_pipe_keep_their_order() {
    let home = tempfile::tempdir().unwrap();
    let job = "i=0; while [ $i -lt 1000 ]; do echo $i; i=$((i+1)); echo $i >&2; i=$((i+1)); done";
    let out = Command::new("sh")
        .args(["-c", "\"$0\" run -q -- sh -c \"$1\" 2>&1", LOWTIDE, job])
        .env("LOWTIDE_HOME", home.path())
        .finish();
    let text = String::from_utf8(out.stdout).unwrap();
    let numbers: Vec<u32> = text.lines().filter_map(|line| line.parse().ok()).collect();
    assert_eq!(numbers, (0..1000).collect::<Vec<_>>());
}

#[test]
fn fifty_megabytes_pass_unchanged() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("big");
    // A period that no buffer size divides, so that a lost or doubled block shows.
    let block: Vec<u8> = (0..1_000_003u32)
        .map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8)
        .collect();
    let big = block.repeat(50);
    fs::write(&file, &big).unwrap();
    let mut lowtide = run(home.path(), "exec cat big")
        .stdout(Stdio::piped())
        .start();
    let mut got = Vec::new();
    lowtide
        .stdout
        .take()
        .unwrap()
        .read_to_end(&mut got)
        .unwrap();
    assert!(got == big, "{} bytes of {}", got.len(), big.len());
    assert_eq!(lowtide.wait().unwrap().code(), Some(0));
}

#[test]
fn stdin_reaches_the_job_up_to_its_end() {
    let home = tempfile::tempdir().unwrap();
    let mut lowtide = run(home.path(), "cat; echo end")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .start();
    lowtide
        .stdin
        .take()
        .unwrap()
        .write_all(b"one\ntwo\n")
        .unwrap();
    assert_eq!(
        Reader::new(lowtide.stdout.take().unwrap()).rest(),
        "one\ntwo\nend\n"
    );
    assert_eq!(lowtide.wait().unwrap().code(), Some(0));
}

#[test]
fn a_writer_into_the_job_learns_that_it_reads_no_more() {
    let home = tempfile::tempdir().unwrap();
    let script = "exec </dev/null; echo closed; until [ -e go ]; do sleep 0.02; done";
    let mut lowtide = run(home.path(), script)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .start();
    let mut reader = Reader::new(lowtide.stdout.take().unwrap());
    reader.until("closed");
    let mut stdin = lowtide.stdin.take().unwrap();
    until("a broken pipe", || stdin.write_all(b"x").err());
    fs::write(home.path().join("go"), "").unwrap();
    assert_eq!(lowtide.wait().unwrap().code(), Some(0));
}

#[test]
fn a_file_is_the_jobs_own() {
    let home = tempfile::tempdir().unwrap();
    let file = fs::File::create(home.path().join("out")).unwrap();
    let status = run(home.path(), "readlink /proc/self/fd/1; echo more")
        .stdout(file)
        .ends();
    assert_eq!(status.code(), Some(0));
    let text = fs::read_to_string(home.path().join("out")).unwrap();
    assert_eq!(
        text,
        format!("{}\nmore\n", home.path().join("out").display())
    );
}

/// What lowtide says stands in the file that it reads steps from; the job's own name is quoted in it, with a step.
#[test]
fn what_we_write_into_the_jobs_file_is_not_read_as_the_jobs() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("log");
    let file = fs::File::create(&path).unwrap();
    // It goes on until something was said of it.
    let job = "import time\nfor i in range(1, 31): print(f'step {i}/120 RAM: {100 + i} MB', flush=True)\n\
         while 'lowtide: watching' not in open('log').read(): time.sleep(0.02)\n\
         print('step 31/120 RAM: 131 MB')";
    let status = Command::new(LOWTIDE)
        .args(["run", "-i", "20ms", "-o", "rec", "--probe", "trim", "--"])
        .args(["python3", "-c", job, "step 394/120 RAM: 394 MB"])
        .env("LOWTIDE_HOME", home.path())
        .current_dir(home.path())
        .stdin(Stdio::null())
        .stdout(file.try_clone().unwrap())
        .stderr(file)
        .ends();
    assert_eq!(status.code(), Some(0));
    let text = fs::read_to_string(&path).unwrap();
    assert!(
        text.contains("lowtide:   watched"),
        "the end is there: {text}"
    );
    let others = text.lines().filter(|line| !line.starts_with("step "));
    for line in others {
        assert!(line.starts_with("lowtide: "), "{line:?} in {text}");
    }
    let recording = Recording::open(&home.path().join("rec").join(FILE_NAME)).unwrap();
    let steps: Vec<u64> = recording
        .filter_map(|entry| match entry.unwrap() {
            Entry::Mark(mark) => mark.step,
            _ => None,
        })
        .collect();
    assert_eq!(steps.last(), Some(&31), "{steps:?}");
    assert!(steps.is_sorted(), "{steps:?}");
    // The file judged afterwards is the job's too.
    let judged = Command::new(LOWTIDE)
        .args(["judge", "log", "--json"])
        .current_dir(home.path())
        .finish();
    let judged: serde_json::Value = serde_json::from_slice(&judged.stdout).unwrap();
    let read = judged["read"].as_str().unwrap();
    assert!(read.starts_with("31 points"), "{read}");
}

#[test]
fn the_job_notices_that_nobody_reads() {
    let home = tempfile::tempdir().unwrap();
    // 141: ended by SIGPIPE, as `yes | head -1` does.
    let mut lowtide = run(home.path(), "echo first; exec yes")
        .stdout(Stdio::piped())
        .start();
    let mut reader = Reader::new(lowtide.stdout.take().unwrap());
    reader.until("first");
    drop(reader);
    assert_eq!(lowtide.wait().unwrap().code(), Some(141));
}

#[test]
fn a_job_that_ignores_sigpipe_gets_an_error_instead() {
    let home = tempfile::tempdir().unwrap();
    let script = "trap '' PIPE; echo first; while echo x; do :; done 2>/dev/null; exit 9";
    let mut lowtide = run(home.path(), script).stdout(Stdio::piped()).start();
    let mut reader = Reader::new(lowtide.stdout.take().unwrap());
    reader.until("first");
    drop(reader);
    assert_eq!(lowtide.wait().unwrap().code(), Some(9));
}

#[test]
fn a_stopped_watcher_does_not_hold_up_the_job() {
    let home = tempfile::tempdir().unwrap();
    // Far more than the socket between keeper and watcher holds.
    let script = "echo ready; until [ -e go ]; do sleep 0.02; done; head -c 3000000 /dev/zero; echo done > done";
    let mut lowtide = run(home.path(), script).stdout(Stdio::piped()).start();
    let mut reader = Reader::new(lowtide.stdout.take().unwrap());
    reader.until("ready");
    lowtide_sys::sigwait::send(lowtide.id(), 19).unwrap();
    fs::write(home.path().join("go"), "").unwrap();
    while reader.seen.len() < 3_000_006 {
        assert!(reader.more(65536));
    }
    until("the job's end", || fs::read(home.path().join("done")).ok());
    lowtide_sys::sigwait::send(lowtide.id(), 18).unwrap();
    assert_eq!(lowtide.wait().unwrap().code(), Some(0));
}

#[test]
fn steps_that_a_late_watcher_hears_keep_their_time_and_come_before_its_next_sample() {
    let home = tempfile::tempdir().unwrap();
    let script = "echo step 1/10; until [ -e go ]; do sleep 0.02; done; \
        for i in 2 3 4 5 6 7 8 9 10; do echo step $i/10; sleep 0.15; done; \
        until [ -e end ]; do sleep 0.02; done";
    let mut lowtide = run(home.path(), script).stdout(Stdio::piped()).start();
    let mut reader = Reader::new(lowtide.stdout.take().unwrap());
    reader.until("step 1/10");
    until("a sample", || {
        let seen = samples_and_steps(home.path());
        seen.into_iter().find(|(step, _)| step.is_none())
    });
    lowtide_sys::sigwait::send(lowtide.id(), 19).unwrap();
    fs::write(home.path().join("go"), "").unwrap();
    reader.until("step 10/10");
    lowtide_sys::sigwait::send(lowtide.id(), 18).unwrap();
    until("the last step", || {
        let seen = samples_and_steps(home.path());
        seen.into_iter().find(|(step, _)| *step == Some(10))
    });
    fs::write(home.path().join("end"), "").unwrap();
    assert_eq!(lowtide.wait().unwrap().code(), Some(0));
    let seen = samples_and_steps(home.path());
    let spread = 8.0 * 0.15;
    let steps: Vec<(u64, f64)> = seen
        .iter()
        .filter_map(|(step, at)| Some(((*step)?, *at)))
        .collect();
    let [.., (2, second), _, _, _, _, _, _, _, (10, last)] = steps[..] else {
        panic!("{seen:?}")
    };
    assert!(last - second >= spread, "nine steps in {} s", last - second);
    for (i, (_, sampled)) in seen.iter().enumerate().filter(|(_, one)| one.0.is_none()) {
        let later = seen[i..].iter().filter(|(step, _)| step.is_some());
        let printed = later.map(|(_, at)| *at).fold(f64::INFINITY, f64::min);
        assert!(
            sampled - printed < spread,
            "a sample before steps that were long printed: {seen:?}"
        );
    }
}

/// Samples, and marks with their step, as they stand in the only recording, each with its time.
fn samples_and_steps(home: &Path) -> Vec<(Option<u64>, f64)> {
    let run = fs::read_dir(home.join("runs")).into_iter().flatten();
    let Some(Ok(run)) = run.into_iter().next() else {
        return Vec::new();
    };
    let recording = Recording::open(&run.path().join(FILE_NAME));
    let entries = recording.into_iter().flatten().flatten();
    entries
        .filter_map(|entry| match entry {
            Entry::Sample(sample) => Some((None, sample.at.seconds())),
            Entry::Mark(mark) => Some((Some(mark.step?), mark.at.seconds())),
            _ => None,
        })
        .collect()
}

#[test]
fn the_keeper_stays_small() {
    let home = tempfile::tempdir().unwrap();
    let mut lowtide = run(home.path(), "echo ready; cat")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .start();
    let mut reader = Reader::new(lowtide.stdout.take().unwrap());
    reader.until("ready");
    let keeper = keeper_of(lowtide.id());
    assert_eq!(children(keeper).len(), 1);
    let status = fs::read_to_string(format!("/proc/{keeper}/status")).unwrap();
    let anon = status
        .lines()
        .find_map(|line| line.strip_prefix("RssAnon:"))
        .unwrap();
    let anon: u64 = anon.trim().trim_end_matches(" kB").parse().unwrap();
    assert!(anon < 2048, "{anon} kB of its own");
    assert!(status.contains("Threads:\t1\n"));
    drop(lowtide.stdin.take());
    lowtide.wait().unwrap();
}
