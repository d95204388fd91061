//! What `scripts/fuzz` tries of this crate: memory of another process, which can hold anything. Only tests and fuzzers see
//! this module. `fuzz/corpus/census` has inputs for each target, which the tests run.

use std::cell::Cell;
use std::sync::OnceLock;

use lowtide_core::look::PythonVersion;
use lowtide_sys::memory::{Image, Memory, Pages, Piece};
use rustix::io::Errno;

use crate::synthetic::{BASE, KINDS, Made, Seen, World, read};

/// Panics if these bytes make a reader break its promise.
pub type Target = fn(&[u8]);

/// By name.
pub const TARGETS: &[(&str, Target)] =
    &[("image", image), ("objects", objects), ("writers", writers)];

/// No memory of the size that is tried here takes more reads than this: those of one tick are a few hundred, of a
/// search one for each chunk.
const MOST_READS: u64 = 2_000_000;

/// Counts what is read.
struct Counted {
    image: Image,
    reads: Cell<u64>,
}

impl Counted {
    fn note(&self) {
        self.reads.set(self.reads.get() + 1);
        assert!(self.reads.get() < MOST_READS, "it does not end");
    }
}

impl Memory for Counted {
    fn page(&self) -> u64 {
        self.image.page()
    }

    fn resident(&self, start: u64, end: u64) -> Result<Pages, Errno> {
        self.note();
        self.image.resident(start, end)
    }

    fn read(&self, address: u64, out: &mut [u8]) -> usize {
        self.note();
        self.image.read(address, out)
    }

    fn read_pieces(&self, pieces: &[Piece], out: &mut [u8], came: &mut Vec<usize>) {
        self.note();
        self.image.read_pieces(pieces, out, came);
    }

    fn swapped(&self, start: u64, end: u64) -> Result<u64, Errno> {
        self.image.swapped(start, end)
    }

    fn in_common(&self, start: u64, end: u64) -> Result<u64, Errno> {
        self.image.in_common(start, end)
    }

    fn gone(&self) -> u64 {
        self.image.gone()
    }

    fn refused(&self) -> Option<Errno> {
        None
    }

    fn is_late(&self) -> bool {
        false
    }
}

/// Reads all, and holds what is read to what can be: memory that stands still is the same a second time.
fn try_all(image: impl Fn() -> Image, runtime: u64, minor: u32) {
    let once = || {
        let memory = Counted {
            image: image(),
            reads: Cell::new(0),
        };
        let version = PythonVersion { minor, micro: None };
        read(&memory, runtime, Some(version))
    };
    let seen = once();
    if let Ok(seen) = &seen {
        is_sane(seen);
    }
    assert_eq!(once(), seen);
}

fn is_sane(seen: &Seen) {
    let inside = &seen.inside;
    for one in &inside.trainers {
        assert!(one.max_steps == 0 || one.step <= one.max_steps, "{one:?}");
        assert!(one.epoch.is_none_or(f64::is_finite), "{one:?}");
        assert!(one.epochs.is_none_or(f64::is_finite), "{one:?}");
    }
    for one in &inside.bars {
        assert!(one.started.is_finite(), "{one:?}");
        let mut letters = one.label.chars().chain(one.unit.chars());
        assert!(letters.all(|c| (' '..='~').contains(&c)), "{one:?}");
        assert!(one.label.len() <= 200 && one.unit.len() <= 200);
    }
    let sizes = [
        inside.trainers.len(),
        inside.fits.len(),
        inside.bars.len(),
        inside.loader_lengths.len(),
    ];
    assert!(sizes.into_iter().all(|size| size <= 2048), "{sizes:?}");
}

/// Memory as it should be, with words of it overwritten: a byte for which, one for how, then rows of a place (three
/// bytes) and a word (eight). A place in the last row may be cut short.
fn objects(bytes: &[u8]) {
    let Some(([which, how], rows)) = bytes.split_first_chunk() else {
        return;
    };
    let whole = &whole()[usize::from(*which) % (2 * KINDS.len())];
    let mut made = whole.clone();
    for row in rows.chunks_exact(11).take(64) {
        let place = u64::from_le_bytes([row[0], row[1], row[2], 0, 0, 0, 0, 0]);
        let length = made.bytes.len() as u64;
        // Words lie at multiples of eight; the highest bit asks for any place.
        let at = match place >> 23 {
            0 => place * 8 % (length - 8),
            _ => (place & 0x7f_ffff) % (length - 8),
        };
        let word = u64::from_le_bytes(*row[3..].first_chunk().expect("eight bytes"));
        // Most words lead nowhere: by these ways they lead to what is there.
        let word = match word >> 56 {
            0x80..0xc0 => BASE + word % (length / 8) * 8,
            0xc0..0xe0 => made.word(BASE + word % (length / 8 - 1) * 8),
            _ => word,
        };
        made = made.with(BASE + at, word);
    }
    // A page that is not there, and where memory ends.
    let hole = (how & 0x80 != 0).then(|| BASE + u64::from(how & 0x7f) * 4096);
    let image = || match hole {
        Some(at) => made.image().vanishing(at, at + 4096),
        None => made.image(),
    };
    try_all(image, made.runtime, made.kind.minor);
}

fn whole() -> &'static [Made] {
    static WHOLE: OnceLock<Vec<Made>> = OnceLock::new();
    WHOLE.get_or_init(|| {
        let each = KINDS
            .into_iter()
            .flat_map(|kind| [(kind, false), (kind, true)]);
        each.map(|(kind, own_dicts)| {
            let mut world = World::new(kind);
            world.own_dicts = own_dicts;
            world.loops();
            world.finish()
        })
        .collect()
    })
}

/// Memory that is nothing but these bytes, behind one that says which version it is.
fn image(bytes: &[u8]) {
    let Some((version, bytes)) = bytes.split_first() else {
        return;
    };
    let minor = 9 + u32::from(version % 7);
    try_all(|| Image::default().with(BASE, bytes), BASE, minor);
}

/// Code that is nothing but these bytes: a version, how many are instructions, and then those, what is caught and lines.
fn writers(bytes: &[u8]) {
    let Some(([version, low, high], bytes)) = bytes.split_first_chunk() else {
        return;
    };
    let length = usize::from(u16::from_le_bytes([*low, *high])).min(bytes.len());
    let (instructions, rest) = bytes.split_at(length);
    crate::writers::any(9 + u32::from(version % 7), instructions, rest);
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_corpora_pass() {
        lowtide_testing::corpora("census", super::TARGETS);
    }

    /// What the corpus of `objects` is built on.
    #[test]
    fn memory_as_it_should_be_is_read() {
        for made in super::whole() {
            let seen = super::read(&made.image(), made.runtime, made.version());
            assert_eq!(seen.expect("all is there").inside.trainers.len(), 1);
        }
    }
}
