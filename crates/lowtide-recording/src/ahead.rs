//! Reads a long recording on two threads: one decodes, the other one takes entries in. A day of 25
//! processes is two million readings, and people wait for them. `source` and `serve` read this way.

use std::sync::mpsc::sync_channel;

use lowtide_core::entry::Entry;

use crate::reader::{Recording, RecordingError};

/// Less than this is read faster than a thread starts and both have warmed up.
const WORTH_IT: u64 = 1 << 20;
/// Entries handed over at a time, and how many such lots may wait: 3 MB of a tree of 25 processes.
const LOT: usize = 64;
const LOTS: usize = 8;

impl Recording {
    /// Hands over every entry from here to the end of what is there now, in order, with the number of
    /// bytes of the file that are done. An error comes after all that could be read before it.
    pub fn read_on(&mut self, mut take: impl FnMut(Entry, u64)) -> Result<(), RecordingError> {
        let left = self
            .size()
            .map_or(0, |size| size.saturating_sub(self.done()));
        if left < WORTH_IT {
            while let Some(entry) = self.next() {
                take(entry?, self.done());
            }
            return Ok(());
        }
        std::thread::scope(|scope| {
            let (lots, waiting) = sync_channel(LOTS);
            let decoder = scope.spawn(move || -> Result<(), RecordingError> {
                let mut result = Ok(());
                while result.is_ok() {
                    let mut lot = Vec::with_capacity(LOT);
                    while lot.len() < LOT {
                        match self.next() {
                            Some(Ok(entry)) => lot.push(entry),
                            Some(Err(error)) => {
                                result = Err(error);
                                break;
                            }
                            None => break,
                        }
                    }
                    let last = lot.len() < LOT;
                    // Nobody takes them any more only when the other side panics.
                    if lots.send((lot, self.done())).is_err() || last {
                        break;
                    }
                }
                result
            });
            for (lot, position) in waiting {
                for entry in lot {
                    take(entry, position);
                }
            }
            match decoder.join() {
                Ok(result) => result,
                Err(panic) => std::panic::resume_unwind(panic),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FILE_NAME;
    use crate::codec::{Encoder, WriterId};
    use crate::frame::{Frames, file_head};
    use lowtide_core::entry::Exit;
    use lowtide_core::sample::{Reading, Sample};
    use lowtide_core::units::{Bytes, Micros};

    /// A file that is worth two threads.
    fn long_file() -> Vec<u8> {
        let mut frames = Frames::default();
        let mut encoder = Encoder::begin(&mut frames, &WriterId::default());
        let noise =
            |seq: u64, pid: u32| Bytes(seq.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ u64::from(pid));
        let reading = |pid: u32, seq: u64| Reading {
            anon: noise(seq, pid),
            file: noise(seq + 1, pid),
            vsize: Bytes(1),
            peak: Bytes(seq),
            threads: 1,
            minor_faults: seq,
            ..Reading::of(lowtide_core::process::ProcId { pid, start: 1 })
        };
        for seq in 0..4000 {
            let sample = Sample {
                seq,
                at: Micros(seq * 1_000_000),
                readings: (0..25).map(|pid| reading(pid, seq)).collect(),
                ..Sample::default()
            };
            encoder.put(&mut frames, &Entry::Sample(sample)).unwrap();
        }
        let end = Entry::End {
            at: Micros(4_000_000_000),
            exit: Some(Exit::Code(0)),
        };
        encoder.put(&mut frames, &end).unwrap();
        let mut bytes = Vec::new();
        frames.swap_into(&mut bytes);
        [&file_head()[..], &bytes].concat()
    }

    fn both_ways(bytes: &[u8]) -> (Vec<Entry>, Vec<Entry>) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(FILE_NAME);
        std::fs::write(&path, bytes).unwrap();
        let mut two = Vec::new();
        let mut recording = Recording::open(&path).unwrap();
        recording.read_on(|entry, _| two.push(entry)).unwrap();
        assert_eq!(recording.done(), bytes.len() as u64);
        let one = Recording::open(&path).unwrap();
        (one.map(Result::unwrap).collect(), two)
    }

    #[test]
    fn two_threads_read_what_one_does_whole_or_damaged() {
        let mut bytes = long_file();
        assert!(bytes.len() as u64 > WORTH_IT);
        let (one, two) = both_ways(&bytes);
        assert_eq!(one.len(), 4001);
        assert!(one == two);
        let middle = bytes.len() / 2;
        bytes[middle..middle + 9].fill(0xff);
        let (one, two) = both_ways(&bytes);
        assert!(one.iter().any(|entry| matches!(entry, Entry::Gap { .. })));
        assert!(one == two);
    }
}
