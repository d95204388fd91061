//! Files that were made to keep their reader busy: work is bounded by what is there, and what is not told is
//! counted. Work is counted, not timed.

use std::fs::File;
use std::io::Write;
use std::path::PathBuf;

use lowtide_core::entry::{Entry, Exit, Header};
use lowtide_core::process::ProcId;
use lowtide_core::sample::{Gap, GapWhy, Reading, Sample, TreeSum};
use lowtide_core::units::{Bytes, Micros};
use lowtide_recording::codec::{Encoder, WriterId};
use lowtide_recording::frame::{Frames, file_head};
use lowtide_recording::summary::Summary;
use lowtide_recording::{FILE_NAME, Recording};

/// Readings that are told in any case, here.
const ALLOWED: u64 = 2_000_000;

struct Place {
    _folder: tempfile::TempDir,
    path: PathBuf,
}

fn on_disk(bytes: &[u8], size: Option<u64>) -> Place {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(FILE_NAME);
    let mut file = File::create(&path).unwrap();
    file.write_all(bytes).unwrap();
    if let Some(size) = size {
        file.set_len(size).unwrap();
    }
    Place {
        _folder: folder,
        path,
    }
}

fn sample(seq: u64, processes: u32) -> Sample {
    let id = |pid| ProcId { pid, start: 1 };
    Sample {
        seq,
        at: Micros(seq * 1_000_000),
        readings: (1..=processes).map(|pid| Reading::of(id(pid))).collect(),
        tree: TreeSum {
            held: Bytes(4096),
            ..TreeSum::default()
        },
        ..Sample::default()
    }
}

/// The bytes of entries, frame by frame.
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

/// Samples of so many processes, of which the last few come again and again.
fn repeated(samples: Vec<Sample>, last: usize, times: usize) -> Vec<u8> {
    let header = Entry::Header(Header::default());
    let samples = samples.into_iter().map(Entry::Sample);
    let entries: Vec<Entry> = std::iter::once(header).chain(samples).collect();
    let frames = frames(&entries);
    let again = frames[frames.len() - last..].concat().repeat(times);
    [file_head().to_vec(), frames.concat(), again].concat()
}

struct Read {
    samples: u64,
    readings: u64,
    missing: u64,
    damaged: bool,
}

fn read(place: &Place) -> Read {
    let mut read = Read {
        samples: 0,
        readings: 0,
        missing: 0,
        damaged: false,
    };
    let mut recording = Recording::open(&place.path).unwrap().allowing(ALLOWED);
    let take = |entry: Entry, _| match entry {
        Entry::Sample(sample) => {
            read.samples += 1;
            read.readings += sample.readings.len() as u64;
        }
        Entry::Gap { gap, ticks, .. } => {
            read.missing += ticks;
            read.damaged |= gap.is_damage();
        }
        _ => {}
    };
    recording.read_on(take).unwrap();
    read.damaged |= recording.broken_end().unwrap().is_some();
    read
}

#[test]
fn processes_that_do_nothing_are_told_as_far_as_the_budget_goes() {
    let bytes = repeated((0..3).map(|seq| sample(seq, 50_000)).collect(), 1, 1000);
    assert!(bytes.len() < 2 << 20, "{}", bytes.len());
    let place = on_disk(&bytes, None);
    let read = read(&place);
    assert!(read.readings < 5_000_000, "{}", read.readings);
    assert_eq!(read.samples + read.missing, 1003);
    assert!(read.missing > 900 && !read.damaged);
    let summary = Summary::read(&place.path).unwrap();
    assert_eq!(
        (summary.samples, summary.last),
        (1003, Micros(1002 * 1_000_000))
    );
    // A tree that exists is told whole.
    let place = on_disk(
        &repeated((0..3).map(|seq| sample(seq, 100)).collect(), 1, 10_000),
        None,
    );
    assert_eq!(self::read(&place).missing, 0);
}

#[test]
fn a_list_that_is_turned_over_again_and_again_ends_with_the_budget() {
    let samples = (0..6).map(|seq| sample(seq, 20_000 - (seq % 2) as u32));
    let place = on_disk(&repeated(samples.collect(), 2, 3000), None);
    let read = read(&place);
    assert!(read.readings < 5_000_000, "{}", read.readings);
    assert!(read.damaged && read.missing > 0);
}

#[test]
fn gaps_that_do_not_change_are_part_of_the_budget() {
    let gap = Gap {
        who: None,
        what: "status".to_owned(),
        why: GapWhy::Denied,
    };
    let samples = (0..3).map(|seq| Sample {
        gaps: vec![gap.clone(); 50_000],
        ..sample(seq, 1)
    });
    let place = on_disk(&repeated(samples.collect(), 1, 500), None);
    let read = read(&place);
    assert!(read.samples < 100, "{}", read.samples);
    assert_eq!(read.samples + read.missing, 503);
}

/// Without holes being stepped over this takes minutes, and twenty gigabytes of reads.
#[test]
fn what_was_never_written_is_not_read() {
    let entries = [
        Entry::Header(Header::default()),
        Entry::Sample(sample(0, 1)),
        Entry::End {
            at: Micros(1),
            exit: Some(Exit::Code(0)),
        },
    ];
    let bytes = [file_head().to_vec(), frames(&entries).concat()].concat();
    let place = on_disk(&bytes, Some(20 << 30));
    let read = read(&place);
    assert_eq!((read.samples, read.damaged), (1, true));
    assert_eq!(Summary::read(&place.path).unwrap().samples, 1);
}

/// A length that fits stands at every third offset; each would be summed up over megabytes.
#[test]
fn lengths_everywhere_do_not_make_it_read_the_file_again_and_again() {
    let header = frames(&[Entry::Header(Header::default())]).concat();
    let later = frames(&[Entry::Sample(sample(7, 1))]).concat();
    let noise = [0, 0, 8].repeat(1 << 20);
    let bytes = [file_head().to_vec(), header, noise, later].concat();
    let read = read(&on_disk(&bytes, None));
    assert!(read.damaged);
}

/// However many zeros there are, and however few behind them.
#[test]
fn zeros_are_stepped_over_to_the_very_end() {
    let whole = frames(&[
        Entry::Header(Header::default()),
        Entry::Sample(sample(0, 1)),
    ])
    .concat();
    let later = frames(&[Entry::Sample(sample(9, 1))]).concat();
    for zeros in [
        1, 3, 4, 7, 8, 9, 63, 64, 4096, 65_535, 65_536, 65_537, 200_000,
    ] {
        let head = [file_head().to_vec(), whole.clone(), vec![0; zeros]].concat();
        assert_eq!(read(&on_disk(&head, None)).samples, 1, "{zeros}");
        let found = read(&on_disk(&[head, later.clone()].concat(), None));
        assert_eq!((found.samples, found.damaged), (2, true), "{zeros}");
    }
}
