//! Work ends when the client leaves: what nobody waits for is not read to its end.

use std::fs::{read_dir, read_to_string};
use std::thread::sleep;
use std::time::Duration;

use super::*;

/// A recording in which a few bytes tell of many processes that do nothing: a megabyte that takes seconds.
const PROCESSES: u32 = 500;
const SAMPLES: u64 = 60_000;

/// So many times nothing moves in a server that rests.
const STILL: usize = 20;

/// A client may be so slow that all was read before it could leave. That tells nothing.
const TRIES: usize = 10;

fn sample(seq: u64) -> Entry {
    let id = |pid| ProcId { pid, start: 1 };
    Entry::Sample(Sample {
        seq,
        at: Micros(seq * 1_000_000),
        readings: (1..=PROCESSES).map(|pid| Reading::of(id(pid))).collect(),
        ..Sample::default()
    })
}

/// Frames of these entries, which begin with a keyframe.
fn frames(entries: &[Entry]) -> Vec<Vec<u8>> {
    let mut frames = Frames::default();
    let mut encoder = Encoder::begin(&mut frames, &WriterId::default());
    let each = entries.iter().map(|entry| {
        encoder.put(&mut frames, entry).unwrap();
        let mut bytes = Vec::new();
        frames.swap_into(&mut bytes);
        bytes
    });
    each.collect()
}

fn long_recording() -> Vec<u8> {
    let header = Entry::Header(Header::default());
    let first = frames(&[header, sample(0), sample(1), sample(2)]);
    // Each is the same difference to the one before it.
    let again = first.last().unwrap().repeat(SAMPLES as usize);
    // A keyframe near the end: what is asked for lists need not be looked for in all of it.
    let last = frames(&[sample(3 + SAMPLES)]);
    [file_head().to_vec(), first.concat(), again, last.concat()].concat()
}

impl Server {
    /// Bytes that it has read of anything so far.
    fn has_read(&self) -> u64 {
        let io = read_to_string(format!("/proc/{}/io", self.child.id())).unwrap();
        let read = io.lines().find_map(|line| line.strip_prefix("rchar: "));
        read.unwrap().parse().unwrap()
    }

    /// The processor time of all its threads, if each of them sleeps.
    fn asleep_at(&self) -> Option<u64> {
        let mut used = 0;
        for thread in read_dir(format!("/proc/{}/task", self.child.id())).unwrap() {
            // One that has ended in between is a change.
            let stat = read_to_string(thread.ok()?.path().join("stat")).ok()?;
            let (_, fields) = stat.rsplit_once(')')?;
            let fields: Vec<&str> = fields.split_ascii_whitespace().collect();
            if fields[0] != "S" {
                return None;
            }
            let ticks = |nth: usize| fields[nth].parse::<u64>().unwrap();
            used += ticks(11) + ticks(12);
        }
        Some(used)
    }

    fn rests(&self) -> Option<()> {
        let first = self.asleep_at()?;
        let same = (0..STILL).all(|_| {
            sleep(Duration::from_millis(10));
            self.asleep_at() == Some(first)
        });
        same.then_some(())
    }
}

/// How much was read for a client that left in the middle; none if it came too late for that.
fn read_for_one_who_left(recording: &[u8], path: &str, begun: u64) -> Option<u64> {
    let server = Server::start(&[]);
    let folder = server.home.path().join("runs/long");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join(FILE_NAME), recording).unwrap();
    let before = server.has_read();
    let read = || server.has_read() - before;
    let mut client = TcpStream::connect(&server.address).unwrap();
    let (host, token) = (&server.address, &server.token);
    let request =
        format!("GET {path} HTTP/1.1\r\nhost: {host}\r\nauthorization: Bearer {token}\r\n\r\n");
    client.write_all(request.as_bytes()).unwrap();
    until("it is being read", || (read() > begun).then_some(()));
    drop(client);
    if read() >= recording.len() as u64 {
        return None;
    }
    until("the server rests", || server.rests());
    Some(read())
}

#[test]
fn work_ends_when_the_client_leaves() {
    let recording = long_recording();
    // Metrics are of runs that go on: a look at the end of the recording, of 400 kB, tells that first.
    for (path, begun) in [("/api/v1/runs/long/report", 100_000), ("/metrics", 600_000)] {
        let mut tries = (0..TRIES).map(|_| read_for_one_who_left(&recording, path, begun));
        let read = tries.find_map(|read| read).expect("it takes a while");
        assert!(
            read < recording.len() as u64,
            "{path}: {read} of {}",
            recording.len()
        );
    }
}
