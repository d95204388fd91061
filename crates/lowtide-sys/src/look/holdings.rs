//! What a process holds, mapping by mapping: each is sorted by its name, and anonymous memory is taken
//! apart ([`super::anon`]).

use lowtide_core::look::{Counts, MemoryClass, Missing};
use lowtide_core::sample::GapWhy;
use lowtide_core::units::Bytes;

use super::anon::Anon;
use super::ledger::Ledger;
use super::programs::Programs;
use super::reserved::Reserves;
use super::subject::Subject;
use super::taxonomy::{self, Sort};
use crate::memory::{Mapping, Memory};

/// All of a process's memory but what is swapped out.
pub(super) struct Holdings {
    pub ledger: Ledger,
    /// `None` if something kept us from finding every piece: half a list would look like pieces that came
    /// or went between two looks.
    pub reserves: Option<Reserves>,
    pub counts: Counts,
    /// Counted where the parts were: the counters of `status` are read a look later, and a training loop
    /// takes and frees tens of megabytes in between. What it frees meanwhile is in no part.
    pub held: u64,
    /// What could not be seen.
    pub missing: Vec<Missing>,
}

impl Holdings {
    /// Without `memory`, mappings are all that is told apart.
    pub(super) fn of(subject: &Subject, memory: Option<&impl Memory>) -> Result<Holdings, GapWhy> {
        let mut anon = Anon::new(subject, memory);
        let mut counts = Counts {
            maps: subject.mappings.list.len() as u64,
            ..Counts::default()
        };
        let mut held: u64 = 0;
        let mut before: Option<&Mapping> = None;
        let reaches = subject.reaches();
        let mappings = subject.mappings.list.iter();
        for ((mapping, sort), reach) in mappings.zip(&subject.sorts).zip(reaches) {
            let name = subject.mappings.name(mapping);
            counts.code_maps += u64::from(mapping.execute);
            counts.huge = counts.huge + Bytes(mapping.huge);
            held += match sort {
                Sort::Shared => mapping.rss,
                _ => mapping.anon,
            };
            match sort {
                Sort::Heap | Sort::Anon => anon.take_apart(mapping, name, before, reach),
                Sort::Stack => anon.ledger.add(MemoryClass::Stack, mapping.anon),
                Sort::Kernel => {}
                Sort::Shared | Sort::File | Sort::Device => {
                    backed(&mut anon.ledger, *sort, mapping, name, &subject.programs);
                    if *sort == Sort::Shared {
                        anon.reserves.add_shared(mapping, name);
                    }
                }
            }
            before = Some(mapping);
        }
        if anon.has_ended() {
            return Err(GapWhy::Vanished);
        }
        counts.arenas = anon.arenas;
        let held = held.saturating_sub(anon.returned);
        let mut missing = Vec::new();
        anon.what_is_missing(held, &mut missing);
        let saw_all = anon.saw_all();
        Ok(Holdings {
            ledger: anon.ledger,
            reserves: saw_all.then_some(anon.reserves),
            counts,
            held,
            missing,
        })
    }
}

/// Mappings of files, devices and shared memory: their names say it all.
fn backed(ledger: &mut Ledger, sort: Sort, mapping: &Mapping, name: &str, programs: &Programs) {
    let of_file = mapping.rss.saturating_sub(mapping.anon);
    let file = taxonomy::file_name(name);
    if programs.files.contains(name) {
        ledger.add_member(MemoryClass::Program, file, 1, mapping.anon);
    } else {
        ledger.add_member(MemoryClass::FileDirty, file, 1, mapping.anon);
    }
    match sort {
        Sort::Shared => {
            ledger.add_member(
                MemoryClass::Shared,
                &taxonomy::shared_name(name),
                1,
                of_file,
            );
        }
        Sort::Device => ledger.add_member(MemoryClass::Device, file, 1, of_file),
        _ => ledger.add_member(MemoryClass::FileClean, file, 1, of_file),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::{Image, Mappings};
    use lowtide_core::look::{Allocator, Part};
    use proptest::prelude::*;

    const PAGE: u64 = 4096;
    /// Of glibc's heap, of two mappings in a row, and of one where a thread's heap can begin.
    const PLACES: [(u64, &str); 4] = [
        (0x5555_5556_0000, "[heap]"),
        (0x7f00_0010_0000, ""),
        (0x7f00_0010_8000, ""),
        (0x7f00_0400_0000, ""),
    ];
    const LENGTH: u64 = 8 * PAGE;

    /// A process of Python and glibc whose mappings hold these bytes, all resident.
    fn process(contents: [&[u8]; 4]) -> (Subject, Image) {
        let (mut mappings, mut image) = (Mappings::default(), Image::default());
        for ((start, name), bytes) in PLACES.into_iter().zip(contents) {
            image.write(start, &[0x5a; LENGTH as usize]);
            image.write(start, bytes);
            let mapping = Mapping {
                start,
                end: start + LENGTH,
                read: true,
                write: true,
                rss: LENGTH,
                anon: LENGTH,
                ..Mapping::default()
            };
            mappings.push(mapping, name.as_bytes());
        }
        let subject = Subject {
            mappings,
            sorts: vec![Sort::Heap, Sort::Anon, Sort::Anon, Sort::Anon],
            programs: Programs::default(),
            allocator: Allocator::Glibc,
            python: Some(taxonomy::Python::default()),
            stack: 8 << 20,
        };
        (subject, image)
    }

    fn apart(subject: &Subject, memory: Option<&Image>) -> (u64, Vec<Part>) {
        let holdings = Holdings::of(subject, memory).unwrap();
        (holdings.held, holdings.ledger.into_parts())
    }

    fn bytes(parts: &[Part], class: MemoryClass) -> u64 {
        let parts = parts.iter().filter(|part| part.class == Some(class));
        parts
            .filter_map(|part| part.bytes)
            .map(|bytes| bytes.0)
            .sum()
    }

    fn words(words: &[u64]) -> Vec<u8> {
        let words = words.iter();
        words.flat_map(|word| word.to_le_bytes()).collect()
    }

    #[test]
    fn every_owner_claims_its_own() {
        // A heap of one block in use and the end; a block of its own over both mappings in the row but for
        // the first page; nobody's.
        let heap = {
            let mut heap = words(&[0, 0x1001]);
            heap.resize(0x1000, 1);
            heap.extend(words(&[0, (LENGTH - 0x1000) | 1]));
            heap
        };
        let block = {
            let mut block = vec![0x5a; 7 * PAGE as usize];
            block.extend(words(&[0, (9 * PAGE) | 2]));
            block
        };
        let (subject, image) = process([&heap, &block, &[], &[]]);
        let (held, parts) = apart(&subject, Some(&image));
        assert_eq!(bytes(&parts, MemoryClass::GlibcLive), 0x1000);
        assert_eq!(bytes(&parts, MemoryClass::GlibcMapped), 9 * PAGE);
        assert_eq!(bytes(&parts, MemoryClass::OtherAnon), (7 + 8) * PAGE);
        let sum: u64 = parts
            .iter()
            .filter_map(|part| part.bytes)
            .map(|bytes| bytes.0)
            .sum();
        assert_eq!((sum, image.gone()), (held, 0));
        // Without a way to its memory, all is nobody's but what names say.
        let (held, blind) = apart(&subject, None);
        assert_eq!(bytes(&blind, MemoryClass::OtherAnon), held);
    }

    proptest! {
        // Each is four heaps, with some thousand places where something could begin.
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// Whatever a process writes, the parts are what it holds, no byte more, and no page is read that
        /// is not there.
        #[test]
        fn any_bytes_are_taken_apart(
            contents in proptest::array::uniform4(
                proptest::collection::vec(prop_oneof![any::<u64>(), 0u64..0x4000, Just(0)], 0..500),
            ),
        ) {
            let contents = contents.map(|content| words(&content));
            let [a, b, c, d] = &contents;
            let (subject, image) = process([a, b, c, d]);
            let (held, parts) = apart(&subject, Some(&image));
            let sum: u64 = parts.iter().filter_map(|part| part.bytes).map(|bytes| bytes.0).sum();
            prop_assert_eq!(sum, held, "{:#?}", parts);
            prop_assert_eq!(image.gone(), 0);
        }
    }
}
