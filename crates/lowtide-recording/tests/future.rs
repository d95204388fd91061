//! A file "from the future": what a later lowtide may write between ordinary ticks. This one reads every
//! tick of it, loses nothing that it understands, and says once how much it does not.

use std::fs;
use std::path::PathBuf;

use lowtide_core::entry::{Entry, EventKind, Exit};
use lowtide_core::mark::{Mark, MarkSource};
use lowtide_core::sample::{Basis, Gap, GapWhy, Limit, LimitFrom, Sample, TreeSum};
use lowtide_core::units::{Bytes, Micros};
use lowtide_recording::Recording;
use lowtide_recording::codec::{Encoder, WriterId};
use lowtide_recording::frame::{FRAME_HEAD, Frames, HEAD_LEN, Seen, file_head, look};

const TICKS: u64 = 40;
/// Numbers that nobody has given yet.
const UNKNOWN_KIND: u8 = 200;
const LATER_COLUMN: u64 = 1 << 40;
const JSON: u8 = 1;
const SAMPLE: u8 = 2;
const MARK: u8 = 3;

/// One record of a frame.
struct Record {
    kind: u8,
    body: Vec<u8>,
}

struct Frame {
    key: bool,
    records: Vec<Record>,
}

fn json(text: &str) -> Record {
    Record {
        kind: JSON,
        body: text.as_bytes().to_vec(),
    }
}

/// Ticks as today's lowtide writes them. Choices that it does not know itself are stored under a number
/// that has no meaning, as one of a later lowtide has none for a reader of today.
fn ticks() -> Vec<Entry> {
    (0..TICKS)
        .flat_map(|seq| {
            let at = Micros(seq * 1_000_000);
            let later = seq > 20;
            let sample = Sample {
                seq,
                at,
                limit: Some(Limit {
                    bytes: Bytes(1 << 30),
                    used: Bytes(seq),
                    from: match later {
                        true => LimitFrom::Other,
                        false => LimitFrom::Cgroup("/job".to_owned()),
                    },
                }),
                gaps: vec![Gap {
                    who: None,
                    what: "status".to_owned(),
                    why: if later { GapWhy::Other } else { GapWhy::Late },
                }],
                tree: TreeSum {
                    held: Bytes(seq << 20),
                    basis: if later { Basis::Other } else { Basis::Cgroup },
                },
                ..Sample::default()
            };
            let mark = Mark {
                at,
                step: Some(seq),
                source: match later {
                    true => MarkSource::Other,
                    false => MarkSource::Output,
                },
                ..Mark::default()
            };
            [Entry::Mark(mark), Entry::Sample(sample)]
        })
        .collect()
}

fn end() -> Entry {
    Entry::End {
        at: Micros(TICKS * 1_000_000),
        exit: Some(Exit::Code(0)),
    }
}

fn frames_of(entries: &[Entry]) -> Vec<Frame> {
    let mut frames = Frames::default();
    let mut encoder = Encoder::begin(&mut frames, &WriterId::default());
    for entry in entries {
        encoder.put(&mut frames, entry).unwrap();
    }
    let mut bytes = Vec::new();
    frames.swap_into(&mut bytes);
    let mut found = Vec::new();
    let mut rest = &bytes[..];
    while let Seen::Frame(length) = look(rest) {
        let payload = &rest[FRAME_HEAD..FRAME_HEAD + length];
        found.push(Frame {
            key: payload[0] == 1,
            records: records(&payload[1..]),
        });
        rest = &rest[FRAME_HEAD + length..];
    }
    assert!(rest.is_empty());
    found
}

fn records(mut payload: &[u8]) -> Vec<Record> {
    let mut found = Vec::new();
    while let Some((kind, rest)) = payload.split_first() {
        let (length, rest) = take_varint(rest);
        let (body, rest) = rest.split_at(length as usize);
        found.push(Record {
            kind: *kind,
            body: body.to_vec(),
        });
        payload = rest;
    }
    found
}

fn take_varint(bytes: &[u8]) -> (u64, &[u8]) {
    let last = bytes.iter().position(|byte| *byte < 0x80).unwrap();
    let value = bytes[..=last]
        .iter()
        .rev()
        .fold(0, |value, byte| value << 7 | u64::from(byte & 0x7f));
    (value, &bytes[last + 1..])
}

fn varint(mut value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
    bytes
}

/// What a later lowtide would make of a record: longer, with a column more.
fn grown(record: &Record) -> Record {
    let body = match record.kind {
        // Further parts come after the last reading.
        SAMPLE => [&record.body[..], b"further parts"].concat(),
        MARK => {
            let (mask, codes) = take_varint(&record.body);
            [&varint(mask | LATER_COLUMN)[..], codes, &varint(12_345)].concat()
        }
        // Tally, writer, entries: one field more.
        _ => {
            let text = std::str::from_utf8(&record.body).unwrap();
            format!(r#"{{"later":[1,{{"x":2}}],{}"#, &text[1..]).into_bytes()
        }
    };
    Record {
        kind: record.kind,
        body,
    }
}

fn file(frames: &[Frame]) -> Vec<u8> {
    let mut out = file_head().to_vec();
    let mut batch = Vec::new();
    for frame in frames {
        let mut written = Frames::default();
        if frame.key {
            written.begin_key();
        }
        for record in &frame.records {
            written.record(record.kind, &record.body);
        }
        written.swap_into(&mut batch);
        out.extend_from_slice(&batch);
    }
    out
}

/// The file, and how many of its entries are beyond a reader of today.
fn from_the_future() -> (Vec<u8>, u64) {
    let mut frames = frames_of(&ticks());
    let mut beyond = 0;
    for (nth, frame) in frames.iter_mut().enumerate() {
        for record in &mut frame.records {
            *record = grown(record);
        }
        if nth % 3 == 1 {
            let unknown = Record {
                kind: UNKNOWN_KIND,
                body: vec![0xff; nth],
            };
            frame.records.insert(0, unknown);
            frame
                .records
                .push(json(r#"{"teleport":{"at":1,"to":"elsewhere"}}"#));
            frame.records.push(json(r#""nothing-more""#));
            beyond += 3;
        }
        if nth % 10 == 5 {
            let event = r#"{"event":{"at":1,"kind":"moved","text":"the job moved","to":"host"}}"#;
            frame.records.insert(0, json(event));
        }
    }
    frames.extend(frames_of(&[end()]).pop());
    (file(&frames), beyond)
}

struct Place {
    path: PathBuf,
    _dir: tempfile::TempDir,
}

fn on_disk(bytes: &[u8]) -> Place {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("recording.lowtide");
    fs::write(&path, bytes).unwrap();
    Place { path, _dir: dir }
}

fn is_damage(entry: &Entry) -> bool {
    matches!(entry, Entry::Gap { .. })
}

fn ordinary(entries: &[Entry]) -> Vec<&Entry> {
    entries
        .iter()
        .filter(|entry| matches!(entry, Entry::Sample(_) | Entry::Mark(_)))
        .collect()
}

#[test]
fn every_tick_of_a_later_lowtide_is_read_and_nothing_of_it_is_damage() {
    let (bytes, beyond) = from_the_future();
    let place = on_disk(&bytes);
    let mut recording = Recording::open(&place.path).unwrap();
    let got: Vec<Entry> = recording.by_ref().map(Result::unwrap).collect();
    assert_eq!(ordinary(&got), ticks().iter().collect::<Vec<_>>());
    assert!(!got.iter().any(is_damage));
    assert_eq!(recording.skipped(), beyond);
    assert_eq!(got.last(), Some(&end()));

    let events = got.iter().filter_map(|entry| match entry {
        Entry::Event { kind, text, .. } => Some((*kind, text.as_str())),
        _ => None,
    });
    let (moved, told): (Vec<_>, Vec<_>) = events.partition(|(kind, _)| *kind == EventKind::Other);
    assert_eq!(moved, vec![(EventKind::Other, "the job moved"); 4]);
    let says = format!("{beyond} entries of a newer lowtide were skipped");
    assert_eq!(told, [(EventKind::Info, says.as_str())]);
}

#[test]
fn a_recording_that_goes_on_is_told_of_once_too() {
    let (bytes, _) = from_the_future();
    let place = on_disk(&bytes[..bytes.len() / 2]);
    let mut recording = Recording::open(&place.path).unwrap();
    let mut got: Vec<Entry> = recording.by_ref().map(Result::unwrap).collect();
    fs::write(&place.path, &bytes).unwrap();
    got.extend(recording.by_ref().map(Result::unwrap));
    let told = got.iter().filter(|entry| {
        matches!(entry, Entry::Event { text, .. } if text.ends_with("of a newer lowtide were skipped"))
    });
    assert_eq!(told.count(), 1);
    assert_eq!(ordinary(&got).len() as u64, 2 * TICKS);
}

#[test]
fn a_broken_byte_among_it_is_still_damage() {
    let (mut bytes, _) = from_the_future();
    let middle = HEAD_LEN + (bytes.len() - HEAD_LEN) / 2;
    bytes[middle] ^= 0x55;
    let got: Vec<Entry> = Recording::open(&on_disk(&bytes).path)
        .unwrap()
        .map(Result::unwrap)
        .collect();
    assert!(got.iter().any(is_damage));
    assert!((ordinary(&got).len() as u64) < 2 * TICKS);
}
