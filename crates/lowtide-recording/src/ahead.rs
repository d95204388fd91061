//! Reads a long recording on two threads: one decodes, the other one takes entries in. A day of 25
//! processes is two million readings, and people wait for them. `source` and `serve` read this way.

use std::sync::mpsc::sync_channel;

use lowtide_core::entry::Entry;

use crate::reader::{Recording, RecordingError};

/// Less than this is read faster than a thread starts and both have warmed up.
const WORTH_IT: u64 = 1 << 20;
/// Entries handed over at a time, fewer where samples have many readings, and how many such lots may wait:
/// 1 MB of a tree of 25 processes, 30 MB of the largest that a file can tell of.
const LOT: usize = 64;
const LOT_READINGS: usize = 4096;
const LOTS: usize = 1;

impl Recording {
    /// Hands over every entry from here to the end of what is there now, in order, with the number of
    /// bytes of the file that are done. An error comes after all that could be read before it.
    pub fn read_on(&mut self, take: impl FnMut(Entry, u64)) -> Result<(), RecordingError> {
        self.read_while(|| true, take).map(drop)
    }

    /// The same as long as somebody wants it: whether the end was reached. It can be read on from there.
    pub fn read_while(
        &mut self,
        wanted: impl Fn() -> bool + Send,
        mut take: impl FnMut(Entry, u64),
    ) -> Result<bool, RecordingError> {
        let left = self
            .size()
            .map_or(0, |size| size.saturating_sub(self.done()));
        if left < WORTH_IT {
            while wanted() {
                let (lot, result) = self.lot();
                let last = lot.is_empty();
                lot.into_iter().for_each(|entry| take(entry, self.done()));
                result?;
                if last {
                    return Ok(true);
                }
            }
            return Ok(false);
        }
        std::thread::scope(|scope| {
            let (lots, waiting) = sync_channel(LOTS);
            let decoder = scope.spawn(move || -> Result<bool, RecordingError> {
                while wanted() {
                    let (lot, result) = self.lot();
                    let last = lot.is_empty();
                    // Nobody takes them any more only when the other side panics.
                    if lots.send((lot, self.done())).is_err() {
                        break;
                    }
                    result?;
                    if last {
                        return Ok(true);
                    }
                }
                Ok(false)
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

    /// The next few entries, none at the end, and what went wrong behind them.
    fn lot(&mut self) -> (Vec<Entry>, Result<(), RecordingError>) {
        let mut lot = Vec::with_capacity(LOT);
        let mut readings = 0;
        while lot.len() < LOT && readings < LOT_READINGS {
            match self.next() {
                Some(Ok(entry)) => {
                    if let Entry::Sample(sample) = &entry {
                        readings += sample.readings.len();
                    }
                    lot.push(entry);
                }
                Some(Err(error)) => return (lot, Err(error)),
                None => break,
            }
        }
        (lot, Ok(()))
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
