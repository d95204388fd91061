//! What `runs` says of damage, from the frames alone.

use lowtide_core::entry::{Entry, Exit, Header};
use lowtide_core::units::Micros;
use lowtide_recording::codec::{Encoder, WriterId};
use lowtide_recording::frame::{Frames, file_head};
use lowtide_recording::summary::Summary;

/// A recording whose writer was quick: its own name is on the disk before the header is.
fn recording() -> Vec<u8> {
    let mut bytes = file_head().to_vec();
    let (mut frames, mut batch) = (Frames::default(), Vec::new());
    let mut encoder = Encoder::begin(&mut frames, &WriterId::default());
    frames.swap_into(&mut batch);
    assert!(!batch.is_empty(), "a frame of its own");
    bytes.append(&mut batch);
    let end = Entry::End {
        at: Micros(1),
        exit: Some(Exit::Code(0)),
    };
    for entry in [Entry::Header(Header::default()), end] {
        encoder.put(&mut frames, &entry).unwrap();
        frames.swap_into(&mut batch);
        bytes.append(&mut batch);
    }
    bytes
}

fn is_damaged(bytes: &[u8]) -> bool {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("recording.lowtide");
    std::fs::write(&path, bytes).unwrap();
    let losses = Summary::read(&path).unwrap().losses(&path).unwrap();
    losses.expect("it has ended").damaged
}

#[test]
fn a_header_in_the_second_frame_is_no_damage() {
    assert!(!is_damaged(&recording()));
}

#[test]
fn a_second_header_is() {
    let head = file_head().len();
    let joined = [recording(), recording()[head..].to_vec()].concat();
    assert!(is_damaged(&joined));
}
