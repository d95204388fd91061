//! A copy against memory that changes as soon as it is taken.

use std::sync::Mutex;
use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::memory::{Image, Mapping};

const PAGE: u64 = 0x1000;
/// What the program writes to, from here on.
const HEAP: u64 = 0x100_0000;
const HEAP_END: u64 = 0x200_0000;
/// What nobody writes to.
const CODE: u64 = 0x400_0000;
const CODE_END: u64 = 0x401_0000;
const PLENTY: u64 = 1 << 30;

/// Memory that can be changed while somebody reads it. Pages of files are there, but not resident in our sense.
struct Changing {
    image: Mutex<Image>,
    of_file: (u64, u64),
}

impl Changing {
    fn of(image: Image) -> Changing {
        Changing {
            image: Mutex::new(image),
            of_file: (0, 0),
        }
    }

    fn write(&self, address: u64, bytes: &[u8]) {
        self.image.lock().unwrap().write(address, bytes);
    }
}

impl Memory for Changing {
    fn page(&self) -> u64 {
        PAGE
    }

    fn resident(&self, start: u64, end: u64) -> Result<Pages, Errno> {
        let all = self.image.lock().unwrap().resident(start, end)?;
        let mut own = Pages::none(start, end, PAGE);
        for (index, at) in (start..end).step_by(PAGE as usize).enumerate() {
            if all.has(at) && !(self.of_file.0..self.of_file.1).contains(&at) {
                own.set(index as u64);
            }
        }
        Ok(own)
    }

    fn read(&self, address: u64, out: &mut [u8]) -> usize {
        self.image.lock().unwrap().read(address, out)
    }

    fn read_pieces(&self, pieces: &[Piece], out: &mut [u8], came: &mut Vec<usize>) {
        self.image.lock().unwrap().read_pieces(pieces, out, came);
    }

    fn swapped(&self, _start: u64, _end: u64) -> Result<u64, Errno> {
        Ok(0)
    }

    fn in_common(&self, _start: u64, _end: u64) -> Result<u64, Errno> {
        Ok(0)
    }

    fn gone(&self) -> u64 {
        self.image.lock().unwrap().gone()
    }

    fn refused(&self) -> Option<Errno> {
        None
    }

    fn is_late(&self) -> bool {
        false
    }
}

fn mappings(list: &[(u64, u64, &str, u64)]) -> Mappings {
    let mut mappings = Mappings::default();
    for (start, end, rights, inode) in list {
        let mapping = Mapping {
            start: *start,
            end: *end,
            read: rights.contains('r'),
            write: rights.contains('w'),
            shared: rights.contains('s'),
            inode: *inode,
            ..Mapping::default()
        };
        mappings.push(mapping, b"");
    }
    mappings
}

fn plain() -> Mappings {
    mappings(&[(HEAP, HEAP_END, "rwp", 0), (CODE, CODE_END, "rp", 7)])
}

fn read(memory: &impl Memory, address: u64, length: usize) -> Vec<u8> {
    let mut out = vec![0; length];
    let came = memory.read(address, &mut out);
    out.truncate(came);
    out
}

/// Reads at these places, copies, and has `then` change the memory.
fn copied<'a>(
    memory: &'a Changing,
    places: &[u64],
    at_stop: Mappings,
    then: impl FnOnce(&Changing),
) -> Copied<'a, Changing> {
    let learned = Learned::new(memory, &plain());
    for place in places {
        read(&learned, *place, 8);
    }
    let ready = Recopy::prepare_for(&plain(), 1, learned, PLENTY).unwrap();
    let copied = ready.copy_of(at_stop, || Duration::MAX).unwrap();
    then(memory);
    copied
}

#[test]
fn what_was_read_before_is_of_the_moment() {
    let memory = Changing::of(Image::default().with(HEAP, &[1; 0x60_0000]));
    let place = HEAP + 0x30_0010;
    let copied = copied(&memory, &[place], plain(), |memory| {
        memory.write(HEAP, &[2; 0x60_0000]);
    });
    assert_eq!(read(&copied, place, 4), [1; 4]);
    // What lies around it was copied, too: its 16 KiB, and a mebibyte on either side.
    let (from, to) = (HEAP + 0x20_0000, HEAP + 0x40_4000);
    assert_eq!(read(&copied, from, 0x20_4000), [1; 0x20_4000]);
    assert_eq!((copied.asked_late(), copied.bytes()), (0, 0x20_4000));
    // What was not is of now, and is counted; over the seam each part is what it is.
    assert_eq!(read(&copied, to, 2), [2; 2]);
    assert_eq!(copied.asked_late(), 1);
    assert_eq!(read(&copied, to - 2, 4), [1, 1, 2, 2]);
    assert_eq!(copied.asked_late(), 2);
    assert_eq!(copied.gone(), 0);
    let copied = copied.with_late(Late::Refuse);
    assert_eq!(read(&copied, to - 2, 4), [1, 1]);
    assert_eq!((copied.asked_late(), copied.gone()), (3, 1));
    let pages = copied.resident(from - 0x1000, to + 0x2000).unwrap();
    assert_eq!(pages.bytes(0, u64::MAX), 0x20_4000);
    // The next copy has what this one lacked, also where it was refused.
    let ready = Recopy::prepare_for(&plain(), 1, copied.into_learned(), PLENTY).unwrap();
    let copied = ready.copy_of(plain(), || Duration::MAX).unwrap();
    memory.write(HEAP, &[3; 0x60_0000]);
    assert_eq!(read(&copied, to - 2, 4), [2; 4]);
    assert_eq!(copied.asked_late(), 0);
}

/// Objects that are made before the stop lie between those that were read, where nothing was.
#[test]
fn small_gaps_are_copied_before_large_ones() {
    let end = HEAP + 0x1000_0000;
    let all = mappings(&[(HEAP, end, "rwp", 0)]);
    let memory = Changing::of(Image::default().with(HEAP, &vec![1; 0x1000_0000]));
    let learned = Learned::new(&memory, &all);
    // Each two mebibytes from the next, which is more than may be copied around all; and two that are near.
    for place in (HEAP..end).step_by(0x20_0000) {
        read(&learned, place, 8);
    }
    read(&learned, HEAP + 0x800_8000, 8);
    let ready = Recopy::prepare_for(&all, 1, learned, PLENTY).unwrap();
    let copied = ready.copy_of(all, || Duration::MAX).unwrap();
    memory.write(HEAP, &vec![2; 0x1000_0000]);
    assert_eq!(read(&copied, HEAP + 0x800_0000, 0xc000), [1; 0xc000]);
    assert!(copied.bytes() < 40 << 20, "{}", copied.bytes());
}

/// Python gives an arena back and gets one in the same place; glibc opens what it had reserved for a thread.
#[test]
fn what_was_given_back_or_closed_in_between_is_copied() {
    let (first, second) = (0x1000_0000, 0x1010_0000);
    let image = Image::default().with(first, &[1; 8]).with(second, &[1; 8]);
    let memory = Changing::of(image);
    let begun = mappings(&[
        (first, second, "rwp", 0),
        (second, second + 0x10_0000, "p", 0),
    ]);
    let learned = Learned::new(&memory, &begun);
    let ready = Recopy::prepare_for(&plain(), 1, learned, PLENTY).unwrap();
    let at_stop = mappings(&[(first, second + 0x10_0000, "rwp", 0)]);
    let copied = ready.copy_of(at_stop, || Duration::MAX).unwrap();
    for place in [first, second] {
        memory.write(place, &[2; 8]);
        assert_eq!(read(&copied, place, 8), [1; 8]);
    }
    assert_eq!(copied.asked_late(), 0);
}

/// A page that came later was not there at the moment, so it is not read at all.
#[test]
fn what_was_not_there_does_not_come() {
    let memory = Changing::of(Image::default().with(HEAP, &[1; 0x1000]));
    let copied = copied(&memory, &[HEAP], plain(), |memory| {
        memory.write(HEAP + 0x1000, &[2; 0x1000]);
    });
    assert_eq!(read(&copied, HEAP, 0x2000), [1; 0x1000]);
    assert!(read(&copied, HEAP + 0x1000, 8).is_empty());
    let pages = copied.resident(HEAP, HEAP + 0x4000).unwrap();
    assert_eq!(pages.bytes(0, u64::MAX), 0x1000);
    assert_eq!(copied.asked_late(), 0);
}

#[test]
fn what_nobody_writes_is_never_late() {
    let memory = Changing::of(Image::default().with(CODE, &[5; 0x2000]));
    let copied = copied(&memory, &[], plain(), |_| {}).with_late(Late::Refuse);
    assert_eq!(read(&copied, CODE + 0xffc, 8), [5; 8]);
    assert_eq!(copied.asked_late(), 0);
    assert!(copied.resident(CODE, CODE_END).unwrap().has(CODE));
    // Nor is what is no address at all.
    assert!(read(&copied, 0x666_0000, 8).is_empty());
    assert!(read(&copied, u64::MAX - 3, 8).is_empty());
    assert_eq!(copied.asked_late(), 0);
    assert!(read(&copied.with_late(Late::Read), 0x666_0000, 8).is_empty());
}

/// The heap grew between the two passes: that part is what leaks, and the first pass could not see it.
#[test]
fn what_was_mapped_since_is_copied() {
    let (new, large) = (HEAP_END, 0x1000_0000);
    let image = (Image::default().with(HEAP, &[1; 8]))
        .with(new, &[3; 0x8000])
        .with(large, &[4; 8]);
    let memory = Changing::of(image);
    let at_stop = mappings(&[
        (HEAP, HEAP_END + 0x10_0000, "rwp", 0),
        (CODE, CODE_END, "rp", 7),
        (large, large + 0x1000_0000, "rwp", 0),
    ]);
    let copied = copied(&memory, &[HEAP], at_stop, |memory| {
        memory.write(new, &[9; 0x8000]);
    });
    assert_eq!(read(&copied, new + 0x7ff8, 8), [3; 8]);
    assert_eq!(copied.asked_late(), 0);
    assert_eq!(copied.bytes(), 0x9000);
    assert_eq!(copied.mappings().list.len(), 3);
    // A large one is data: it would make the stop long.
    assert_eq!(read(&copied, large, 8), [4; 8]);
    assert_eq!(copied.asked_late(), 1);
}

/// A library's data: pages of the file until the program writes to them.
#[test]
fn a_page_of_a_file_is_copied_if_it_was_read() {
    let mut memory = Changing::of(Image::default().with(HEAP, &[1; 0x3000]));
    memory.of_file = (HEAP, HEAP + 0x2000);
    let at_stop = mappings(&[(HEAP, HEAP_END, "rwp", 7)]);
    let copied = copied(&memory, &[HEAP + 0x1000], at_stop, |memory| {
        memory.write(HEAP, &[2; 0x3000]);
    });
    // The second page was read, the third is the program's own, the first neither.
    assert_eq!(copied.bytes(), 0x2000);
    assert_eq!(read(&copied, HEAP + 0x1ffe, 4), [1; 4]);
    assert_eq!(copied.asked_late(), 0);
    assert_eq!(read(&copied, HEAP, 4), [2; 4]);
    assert_eq!(copied.asked_late(), 1);
}

/// What others write too has no moment.
#[test]
fn what_is_shared_is_read_late() {
    let memory = Changing::of(Image::default().with(HEAP, &[1; 0x1000]));
    let at_stop = mappings(&[(HEAP, HEAP_END, "rws", 0)]);
    let copied = copied(&memory, &[HEAP], at_stop, |_| {});
    assert_eq!(read(&copied, HEAP, 8), [1; 8]);
    assert_eq!((copied.asked_late(), copied.bytes()), (1, 0));
}

#[test]
fn limits_are_kept() {
    let memory = Changing::of(Image::default().with(HEAP, &[1; 0x10_0000]));
    let learned = Learned::new(&memory, &plain());
    read(&learned, HEAP, 0x10_0000);
    let refused = Recopy::prepare_for(&plain(), 1, learned, 0x8_0000);
    assert!(matches!(refused, Err(CopyError::TooLarge { .. })));
    let learned = Learned::new(&memory, &plain());
    read(&learned, HEAP, 8);
    let ready = Recopy::prepare_for(&plain(), 1, learned, PLENTY).unwrap();
    let late = ready.copy_of(plain(), || Duration::ZERO);
    assert!(matches!(late, Err(CopyError::Late { .. })));
}

proptest! {
    // Each case has 32 MB of room made ready: more of them would take longer than all other tests here.
    #![proptest_config(ProptestConfig::with_cases(32))]
    /// Whatever the first pass reads, the copy answers as the memory would have at that moment, in one piece or many.
    #[test]
    fn all_reads_are_of_one_moment(
        stretches in proptest::collection::vec((0u64..0x20_0000, 1usize..0x5000), 1..12),
        reads in proptest::collection::vec((0u64..0x20_0000, 1usize..0x9000), 1..12),
    ) {
        let mut image = Image::default();
        // Whole pages, as those of a process are.
        for (offset, length) in &stretches {
            let start = offset / PAGE * PAGE;
            let end = (offset + *length as u64).next_multiple_of(PAGE);
            image.write(HEAP + start, &vec![0; (end - start) as usize]);
        }
        for (nth, (offset, length)) in stretches.iter().enumerate() {
            let bytes: Vec<u8> = (0..*length).map(|at| (at * 7 + nth) as u8).collect();
            image.write(HEAP + offset, &bytes);
        }
        let memory = Changing::of(image);
        let all = mappings(&[(HEAP, HEAP + 0x30_0000, "rwp", 0)]);
        let learned = Learned::new(&memory, &all);
        let before: Vec<Vec<u8>> = reads.iter().map(|(offset, length)| read(&learned, HEAP + offset, *length)).collect();
        let ready = Recopy::prepare_for(&all, 1, learned, PLENTY).unwrap();
        let copied = ready.copy_of(all, || Duration::MAX).unwrap();
        memory.write(HEAP, &vec![0xff; 0x30_0000]);
        for ((offset, length), before) in reads.iter().zip(&before) {
            prop_assert_eq!(&read(&copied, HEAP + offset, *length), before);
            if let Some(bytes) = copied.borrow(HEAP + offset, *length) {
                prop_assert_eq!(bytes, &before[..]);
            } else {
                let page = |at: u64| at / PAGE * PAGE;
                let (first, last) = (page(HEAP + offset), page(HEAP + offset + *length as u64 - 1) + PAGE);
                let there = copied.resident(first, last).unwrap();
                prop_assert!(there.bytes(first, last) < last - first, "it was copied in one piece");
            }
        }
        let pieces: Vec<Piece> = reads.iter().map(|(offset, length)| Piece { address: HEAP + offset, length: *length }).collect();
        let mut out = vec![0; reads.iter().map(|(_, length)| length).sum()];
        let mut came = Vec::new();
        copied.read_pieces(&pieces, &mut out, &mut came);
        prop_assert_eq!(came, before.iter().map(Vec::len).collect::<Vec<_>>());
        prop_assert_eq!(copied.asked_late(), 0);
    }
}
