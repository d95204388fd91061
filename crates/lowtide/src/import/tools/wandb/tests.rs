//! Whole files of W&B, cut short and damaged ones.

use lowtide_core::verdict::Axis;

use super::super::super::{Feed, ImportError, Imported, Options, read};
use super::super::tests::{mib, xs};

fn open(bytes: &[u8]) -> Result<Imported, ImportError> {
    read(&mut Feed::bytes(bytes), "x", &Options::default())
}

/// Field `number` of a message.
fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
    // Keys above 15 take two bytes.
    let key = (u16::from(number) << 3) | 2;
    let mut out = match key {
        0..=127 => vec![key as u8],
        _ => vec![(key & 0x7f) as u8 | 0x80, (key >> 7) as u8],
    };
    let len = bytes.len();
    match len {
        0..=127 => out.push(len as u8),
        _ => out.extend([(len & 0x7f) as u8 | 0x80, (len >> 7) as u8]),
    }
    out.extend_from_slice(bytes);
    out
}

fn history(step: u32, mb: u32) -> Vec<u8> {
    let item = |key: &str, value: String| {
        field(
            1,
            &[field(2, key.as_bytes()), field(16, value.as_bytes())].concat(),
        )
    };
    let items = [
        item("_step", step.to_string()),
        item("rss_mb", mb.to_string()),
    ];
    field(2, &items.concat())
}

fn stats(seconds: u8, mib: u32) -> Vec<u8> {
    let item = [
        field(1, b"proc.memory.rssMB"),
        field(16, mib.to_string().as_bytes()),
    ]
    .concat();
    field(7, &[field(2, &[8, seconds]), field(3, &item)].concat())
}

/// A file of these records, each cut into pieces of at most `most` bytes.
fn file(records: &[Vec<u8>], most: usize) -> Vec<u8> {
    let mut out = b":W&B\xe1\xbe\0".to_vec();
    for record in records {
        let pieces: Vec<&[u8]> = record.chunks(most).collect();
        for (nth, piece) in pieces.iter().enumerate() {
            let kind = match (nth == 0, nth + 1 == pieces.len()) {
                (true, true) => 1,
                (true, false) => 2,
                (false, false) => 3,
                (false, true) => 4,
            };
            let sum = crc32fast::hash(&[&[kind], *piece].concat());
            out.extend(sum.to_le_bytes());
            out.extend((piece.len() as u16).to_le_bytes());
            out.push(kind);
            out.extend_from_slice(piece);
        }
    }
    out
}

#[test]
fn history_by_steps_and_the_system_by_time() {
    let records: Vec<Vec<u8>> = (0..5).map(|n| history(10 * n, 500 + n)).collect();
    for most in [9, 4096] {
        let read = open(&file(&records, most)).unwrap();
        assert_eq!(
            (read.track.axis, xs(&read)),
            (Axis::Step, vec![0.0, 10.0, 20.0, 30.0, 40.0])
        );
        assert_eq!(read.track.points[4].bytes, 504e6);
    }
    let system: Vec<Vec<u8>> = (0..5u8).map(|n| stats(2 * n, 60 + u32::from(n))).collect();
    let read = open(&file(&system, 4096)).unwrap();
    assert_eq!(
        (mib(&read), xs(&read)),
        (
            vec![60.0, 61.0, 62.0, 63.0, 64.0],
            vec![0.0, 2.0, 4.0, 6.0, 8.0]
        )
    );
    // Both: the system's are at the step that was logged last.
    let both: Vec<Vec<u8>> = (0..5u8)
        .flat_map(|n| {
            [
                stats(n, 900 + 9 * u32::from(n)),
                history(10 * u32::from(n), 500),
            ]
        })
        .collect();
    let read = open(&file(&both, 4096)).unwrap();
    assert_eq!(
        (read.track.axis, xs(&read)),
        (Axis::Step, vec![0.0, 0.0, 10.0, 20.0, 30.0])
    );
    assert_eq!(read.who.name, "proc.memory.rssMB");
}

#[test]
fn what_is_cut_off_or_damaged_costs_only_itself() {
    let records: Vec<Vec<u8>> = (0..5).map(|n| history(10 * n, 500 + n)).collect();
    let whole = file(&records, 4096);
    let read = open(&whole[..whole.len() - 3]).unwrap();
    assert_eq!(read.track.points.len(), 4);
    let mut damaged = whole.clone();
    let end = damaged.len() - 1;
    damaged[end] ^= 1;
    let read = open(&damaged).unwrap();
    assert_eq!(read.track.points.len(), 4);
    assert!(read.how.contains("1 line skipped"), "{}", read.how);
    assert!(open(b":W&B\xe1\xbe\0").is_err());
}

proptest::proptest! {
    #[test]
    fn no_bytes_break_it(
        bytes in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..300),
    ) {
        let _ = open(&[b":W&B\xe1\xbe\0".as_slice(), &bytes].concat());
        let _ = open(&file(std::slice::from_ref(&bytes), 50));
        let nested = [field(2, &bytes), field(7, &field(3, &bytes)), field(2, &field(1, &bytes))];
        let _ = open(&file(&nested, 50));
    }
}
