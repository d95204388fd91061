//! The memory of real processes, read as whoever wants to know what is in them would: a symbol of a mapped
//! file, structures behind it, many places at once, and what is not there.

#[path = "common/job.rs"]
#[expect(dead_code, reason = "no program here has to go on")]
mod job;

use std::time::Duration;

use job::Job;
use lowtide_sys::memory::elf::Elf;
use lowtide_sys::memory::{Batch, Deadline, Image, Live, Mappings, Memory, Piece, files};
use lowtide_sys::proc::Proc;
use rustix::io::Errno;

/// More time than anything here needs.
const LONG: Duration = Duration::from_secs(60);

fn opened(pid: u32, within: Duration) -> (Proc, Live) {
    let proc = Proc::at("/proc").unwrap();
    let live = Live::open(&proc, pid, Deadline::after(within)).unwrap();
    (proc, live)
}

fn word(memory: &impl Memory, address: u64) -> u64 {
    let mut bytes = [0; 8];
    assert_eq!(memory.read(address, &mut bytes), 8, "{address:#x}");
    u64::from_le_bytes(bytes)
}

/// Where a symbol of any mapped file lies.
fn symbol(proc: &Proc, pid: u32, name: &str) -> u64 {
    let mappings = Mappings::without_sizes(proc, pid, Deadline::after(LONG)).unwrap();
    assert!(!mappings.is_cut);
    let mut first = mappings.list.iter().filter(|mapping| mapping.offset == 0);
    let found = first.find_map(|mapping| {
        let file = files::open(proc, pid, mapping, mappings.name(mapping))?;
        let elf = Elf::open(&file)?;
        let symbol = elf.symbols()?.find(name)?;
        elf.in_memory(symbol.address, mapping.start)
    });
    found.unwrap_or_else(|| panic!("no file defines {name}"))
}

#[test]
fn a_structure_is_found_by_its_symbol() {
    let mut job = Job::python("print('ready', flush=True); input()");
    job.until("ready");
    let (proc, live) = opened(job.pid(), LONG);
    // `type` is an object of itself, and its name stands behind its head (tp_name).
    let kind = symbol(&proc, job.pid(), "PyType_Type");
    assert_eq!(word(&live, kind + 8), kind);
    let mut name = [0; 5];
    assert_eq!(live.read(word(&live, kind + 24), &mut name), 5);
    assert_eq!(&name, b"type\0");
    assert_eq!(live.gone(), 0);
}

/// Maps pages at addresses of its choice, one of two of them touched, and closes one again.
const PAGES: &str = "
import ctypes, mmap
page, count = mmap.PAGESIZE, 3000
block = mmap.mmap(-1, count * page, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
start = ctypes.addressof(ctypes.c_char.from_buffer(block))
for index in range(0, count, 2): block[index * page:index * page + 4] = index.to_bytes(4, 'little')
ctypes.CDLL(None).munmap(ctypes.c_void_p(start + 1000 * page), ctypes.c_size_t(page))
print(start); print('ready', flush=True); input()
";
const COUNT: u64 = 3000;
const HOLE: u64 = 1000;

#[test]
fn many_places_are_read_at_once_and_holes_cost_nothing_else() {
    let mut job = Job::python(PAGES);
    let start: u64 = job.until("ready").parse().unwrap();
    let (_, live) = opened(job.pid(), LONG);
    let page = live.page();
    let at = |index: u64| start + index * page;
    let pages = live.resident(start, at(COUNT)).unwrap();
    let touched = |index: &u64| index.is_multiple_of(2) && *index != HOLE;
    let resident: Vec<u64> = (0..COUNT).filter(|index| pages.has(at(*index))).collect();
    // A huge page would be there as a whole.
    assert!(
        (0..COUNT)
            .filter(touched)
            .all(|index| resident.contains(&index))
    );
    assert!(!resident.contains(&HOLE));

    // More than the kernel takes in one call.
    let asked: Vec<u64> = (0..COUNT).filter(|index| index.is_multiple_of(2)).collect();
    let addresses: Vec<u64> = asked.iter().map(|index| at(*index)).collect();
    let mut batch = Batch::<4>::default();
    let heads = batch.read(&live, &addresses);
    for (index, head) in asked.iter().zip(heads) {
        let expected = (*index != HOLE).then_some((*index as u32).to_le_bytes());
        assert_eq!(head.copied(), expected, "{index}");
    }
    assert_eq!((live.gone(), live.refused()), (1, None));

    // Of different lengths, one of which ends at the hole.
    let piece = |address: u64, length: usize| Piece { address, length };
    let pieces = [
        piece(at(2), 4),
        piece(at(HOLE) - page, page as usize + 8),
        piece(at(HOLE), 3),
        piece(at(4), 2),
    ];
    let mut out = vec![7; pieces.iter().map(|piece| piece.length).sum()];
    let mut came = Vec::new();
    live.read_pieces(&pieces, &mut out, &mut came);
    assert_eq!(came, [4, page as usize, 0, 2]);
    assert_eq!(
        (&out[..4], &out[out.len() - 5..]),
        (&[2, 0, 0, 0][..], &[7, 7, 7, 4, 0][..])
    );
    // Bytes at the same addresses answer the same.
    let image = Image::default()
        .with(at(2), &2u32.to_le_bytes())
        .with(at(HOLE - 1), &vec![0; page as usize])
        .with(at(4), &[4, 0]);
    let (mut same, mut also) = (vec![7; out.len()], Vec::new());
    image.read_pieces(&pieces, &mut same, &mut also);
    assert_eq!((same, also), (out, came));
}

#[test]
fn a_process_that_ended_refuses() {
    let mut job = Job::python(PAGES);
    let start: u64 = job.until("ready").parse().unwrap();
    let (_, live) = opened(job.pid(), LONG);
    drop(job);
    let mut batch = Batch::<8>::default();
    let addresses = vec![start; 5000];
    assert!(batch.read(&live, &addresses).all(|head| head.is_none()));
    assert_eq!(live.refused(), Some(Errno::SRCH));
    assert!(live.is_over());
}

/// What was asked for in one call comes; what the kernel would need another call for stays unread.
#[test]
fn no_time_is_left() {
    let mut job = Job::python(PAGES);
    let start: u64 = job.until("ready").parse().unwrap();
    let (_, live) = opened(job.pid(), Duration::ZERO);
    assert!(live.is_over() && live.refused().is_none());
    let mut batch = Batch::<4>::default();
    let addresses = vec![start; 5000];
    let came = batch.read(&live, &addresses).flatten().count();
    assert_eq!(came, 1024);
}
