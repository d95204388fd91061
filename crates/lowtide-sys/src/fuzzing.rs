//! What `scripts/fuzz` tries of this crate: everything that reads bytes which another process can shape. Only
//! tests and fuzzers see this module, and where a parser is private its target stands beside it, so none
//! becomes public for it. `fuzz/corpus/sys` has inputs for each, which the tests run.

use crate::memory::elf::{Elf, ReadAt};
use crate::memory::mappings;
use crate::proc::{cmdline, environ, limits, maps, mask, meminfo};
use crate::proc::{pressure, smaps_rollup, stat, status};
use crate::{cgroup, gpu, klog, look};

/// Panics if these bytes make a parser break its promise.
pub type Target = fn(&[u8]);

/// By name.
pub const TARGETS: &[(&str, Target)] = &[
    ("cgroup", cgroup::fuzz::place),
    ("elf", elf),
    ("kernel-files", kernel_files),
    ("mask", masked),
    ("memory", look::fuzz::take_apart),
    ("smaps", smaps),
];

/// The small files of `/proc` and `/sys`: each parser is a few lines and gets the same bytes.
fn kernel_files(bytes: &[u8]) {
    let _ = status::parse(bytes);
    let _ = smaps_rollup::parse(bytes);
    let _ = meminfo::parse(bytes);
    let _ = limits::parse(bytes);
    let _ = pressure::parse(bytes);
    let _ = maps::parse(bytes);
    let _ = gpu::amd::parse_fdinfo(bytes);
    cgroup::fuzz::counters(bytes);
    look::fuzz::mounts(bytes);
    if let Some(stat) = stat::parse(bytes) {
        // The name stands there as it is, between the parentheses.
        let named = [b"(", stat.comm, b")"].concat();
        assert!(bytes.windows(named.len()).any(|window| window == named));
    }
    if let Some((_, kill)) = klog::parse(bytes) {
        assert!(kill.line.contains("Killed process"), "{kill:?}");
    }
    let kept = environ::parse(bytes);
    assert!(
        kept.is_sorted_by(|a, b| a.0 < b.0),
        "{kept:?} in order, once"
    );
    let mut names = kept.iter().map(|(name, _)| name.as_str());
    let is_secret = |name: &str| name.contains("TOKEN") && name != "TOKENIZERS_PARALLELISM";
    assert!(!names.any(is_secret), "{kept:?}");
}

/// A command line. Whatever stands before it, a token of a known shape does not come out.
fn masked(bytes: &[u8]) {
    let argv = cmdline::parse(&[bytes, b"\0", TOKEN.as_bytes()].concat());
    assert!(argv.len() <= 256 && argv.iter().all(|word| word.chars().count() <= 2000));
    assert!(!argv.iter().any(|word| word.contains(TOKEN)), "{argv:?}");
    let text = format!("{} {TOKEN}", String::from_utf8_lossy(bytes));
    let shown = mask::text(&text).expect("a token is seen");
    assert!(!shown.contains(TOKEN), "{shown}");
}

/// Like those of Hugging Face; of nobody. In two parts, or whoever looks for tokens in sources would find it.
const TOKEN: &str = concat!("hf", "_QwErTyUiOpAsDfGhJkLzXcVbNmQwErTyUi");

/// `smaps` and `maps`, which are read piece by piece: where the pieces end changes nothing.
fn smaps(bytes: &[u8]) {
    let parsed = |piece: usize| {
        let mut parser = mappings::Parser::default();
        bytes.chunks(piece).for_each(|piece| parser.feed(piece));
        parser.finish()
    };
    let whole = parsed(bytes.len().max(1));
    assert!(whole.list.is_sorted_by(|a, b| a.start < b.start));
    for mapping in &whole.list {
        assert!(mapping.start < mapping.end);
        assert!(whole.name(mapping).len() <= 3 * bytes.len());
    }
    for piece in [1, 7, 64] {
        let in_pieces = parsed(piece);
        assert_eq!(in_pieces.list, whole.list, "in pieces of {piece}");
        assert!(in_pieces.files().eq(whole.files()));
    }
}

/// A mapped file: no table in it keeps us busy.
fn elf(bytes: &[u8]) {
    /// Counts what is read.
    struct Counted<'a>(&'a [u8], std::cell::Cell<u32>);
    impl ReadAt for Counted<'_> {
        fn read_at(&self, at: u64, out: &mut [u8]) -> usize {
            self.1.set(self.1.get() + 1);
            self.0.read_at(at, out)
        }
    }
    let file = Counted(bytes, Default::default());
    let Some(elf) = Elf::open(&file) else { return };
    for (from, to) in elf.data(0x7f00_0000_0000) {
        assert!(from <= to);
    }
    for name in ["Py_Version", "_PyRuntime", ""] {
        let found = elf.symbols().and_then(|symbols| symbols.find(name));
        let _: Option<[u8; 8]> = found.and_then(|symbol| elf.initial(symbol.address));
    }
    // Segments, then for each name the dynamic section and a chain, three reads a link.
    let reads = file.1.replace(0);
    assert!(reads < 200 + 3 * (600 + 4 * 1024), "{reads} reads");
    for name in [".PyRuntime", "_PyRuntime", ""] {
        let _ = elf.section(name);
        let _ = elf.static_symbol(name);
    }
    // For each name all sections with their names, all sections again, and the symbols, each at most once.
    let (reads, symbols) = (file.1.get() as usize, bytes.len() / 24);
    assert!(reads < 3 * (3 * 513 + 2 + symbols), "{reads} reads");
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_corpora_pass() {
        lowtide_testing::corpora("sys", super::TARGETS);
    }
}
