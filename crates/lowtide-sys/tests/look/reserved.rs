//! Pieces of memory that were reserved as a whole, in a real program that touches them bit by bit.

use std::os::unix::fs::FileExt;
use std::process::Command;
use std::time::Duration;

use lowtide_core::look::{Look, Reserved};
use tempfile::NamedTempFile;

use crate::job::Job;
use crate::{built, held, id, layout, look_into, sum, try_look};

const MIB: u64 = 1 << 20;

/// The target with a file in shared memory of which somebody else wrote 5 MiB.
fn start() -> (Job, NamedTempFile) {
    let file = NamedTempFile::new_in("/dev/shm").unwrap();
    file.as_file().set_len(80 * MIB).unwrap();
    let others = vec![1; 5 * MIB as usize];
    file.as_file().write_all_at(&others, 60 * MIB).unwrap();
    let mut command = Command::new(built(&[]));
    let mut job = Job::start(command.arg("reserved").arg(file.path()));
    job.until("ready");
    (job, file)
}

/// Size and touched bytes in MiB, rounded; heads and alignment add a page or two.
fn pieces(look: &Look) -> Vec<(u64, u64)> {
    let mib = |bytes: u64| (bytes + MIB / 2) / MIB;
    let of = |piece: &Reserved| (mib(piece.size.0), mib(piece.touched.0));
    layout(look).reserved.iter().map(of).collect()
}

#[test]
fn reserved_pieces_are_found_and_arenas_are_not() {
    let (mut job, file) = start();
    let first = look_into(&job);
    let mut expected = [
        (5000, 8),
        (512, 100),
        (256, 30),
        (128, 20),
        (96, 10),
        // The file: ten of the program's, mapped twice, and five of somebody else's.
        (80, 15),
        (64, 0),
        (48, 6),
        (32, 4),
        (24, 24),
    ];
    assert_eq!(pieces(&first), expected, "{first:#?}");
    let names: Vec<&str> = (layout(&first).reserved.iter())
        .filter_map(|piece| piece.name.as_deref())
        .collect();
    assert_eq!(names[0], file.path().to_str().unwrap());
    assert_eq!(names[1..], ["/memfd:ring", "/dev/zero"]);
    let parts = sum(&first);
    assert!(crate::near(parts, held(&first), 0.02), "{first:#?}");

    job.tell();
    job.until("grown");
    let second = look_into(&job);
    expected[1].1 += 50;
    expected[3].1 += 40;
    assert_eq!(pieces(&second), expected, "{second:#?}");
    // They are the same pieces, by address. The arena grew too, and no piece says so.
    let starts = |look: &Look| -> Vec<u64> {
        let pieces = layout(look).reserved.iter();
        pieces.map(|piece| piece.start).collect()
    };
    assert_eq!(starts(&first), starts(&second));
    let grew = held(&second) - held(&first);
    assert!(crate::near(grew, 140.0 * MIB as f64, 0.02), "{grew}");
}

/// Half a list would look like pieces that came or went.
#[test]
fn a_look_without_time_lists_none() {
    let (job, _file) = start();
    let look = try_look(id(job.pid()), Duration::ZERO).unwrap();
    assert_eq!(layout(&look).reserved, [], "{look:#?}");
}
