//! What `scripts/fuzz` tries of this crate. Only tests and fuzzers see this module. `fuzz/corpus/recording` has
//! inputs for each target, which the tests run.

use std::fs;
use std::path::Path;

use lowtide_core::entry::Entry;
use lowtide_core::report::{Detail, Picture};

use crate::frame::{FRAME_HEAD, HEAD_LEN, checksum};
use crate::reader::Recording;
use crate::summary::Summary;

/// Panics if these bytes make a parser break its promise.
pub type Target = fn(&[u8]);

/// By name.
pub const TARGETS: &[(&str, Target)] = &[
    ("frames", frames),
    ("glance", crate::glance::fuzz),
    ("recording", recording),
];

/// A file as it is, its checksums too: mostly damage.
fn recording(bytes: &[u8]) {
    as_file("recording", bytes, |path| {
        let entries = read(path, bytes.len());
        assert_eq!(read(path, bytes.len()), entries, "read once more");
        let summary = Summary::read(path);
        assert_eq!(summary.is_ok(), entries.is_some_and(|count| count > 0));
    });
}

/// How many entries there are; `None` if it is no recording.
fn read(path: &Path, length: usize) -> Option<usize> {
    let mut recording = Recording::open(path).ok()?;
    let mut count = 0;
    for entry in recording.by_ref() {
        let entry = entry.expect("the file can be read");
        // Nothing is said of the same damage for ever: each entry has its bytes.
        count += 1;
        assert!(count <= length, "{count} entries, the last {entry:?}");
    }
    assert!(recording.done() <= length as u64);
    // Asked again, a reader that came to the end has nothing new to say.
    assert!(recording.next().is_none());
    Some(count)
}

/// Few columns: what is tried is how they come about.
const FEW: Detail = Detail { main: 32, other: 8 };

/// A file whose checksums are right, whatever its frames say: what somebody would make who means harm. It is
/// read, and a run made of it can be shown.
fn frames(bytes: &[u8]) {
    as_file("frames", &with_checksums(bytes), |path| {
        let Ok(recording) = Recording::open(path) else {
            return;
        };
        let mut picture = Picture::new(FEW);
        for entry in recording {
            let entry = entry.expect("the file can be read");
            if let Entry::Sample(sample) = &entry {
                // A row takes at least a bit.
                assert!(sample.readings.len() <= 8 * bytes.len());
                assert!(sample.gaps.len() <= 8 * bytes.len());
            }
            serde_json::to_vec(&entry).expect("entries are plain data");
            picture.apply(&entry);
        }
        picture.report(FEW);
    });
}

/// Makes the checksum of every frame right, as far as lengths lead from one to the next.
fn with_checksums(bytes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    let mut at = HEAD_LEN;
    while let Some(frame) = bytes.get_mut(at..)
        && let Some((length, rest)) = frame.split_first_chunk_mut::<4>()
        && let Some((sum, rest)) = rest.split_first_chunk_mut::<4>()
        && let Some(payload) = rest.get(..u32::from_le_bytes(*length) as usize)
    {
        *sum = checksum(*length, payload).to_le_bytes();
        at += FRAME_HEAD + payload.len();
    }
    bytes
}

/// Readers take a path.
fn as_file(name: &str, bytes: &[u8], read: impl FnOnce(&Path)) {
    let name = format!("lowtide-fuzz-{}-{name}", std::process::id());
    let path = std::env::temp_dir().join(name);
    fs::write(&path, bytes).expect("a folder for temporary files");
    read(&path);
    fs::remove_file(&path).expect("our own file");
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_corpora_pass() {
        lowtide_testing::corpora("recording", super::TARGETS);
    }
}
