//! One symbol of an ELF file, by name, from the table that the loader uses. Only what the name's hash leads
//! to is read: a dozen small reads, whatever the length of the file.

use super::{Elf, PT_DYNAMIC, ReadAt, bytes, word};

/// A symbol that the file defines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Symbol {
    /// As the file's own tables count addresses.
    pub address: u64,
    pub size: u64,
}

const DT_HASH: u64 = 4;
const DT_STRTAB: u64 = 5;
const DT_SYMTAB: u64 = 6;
const DT_STRSZ: u64 = 10;
const DT_GNU_HASH: u64 = 0x6fff_fef5;
/// Sizes of entries, 64-bit: of the dynamic section, of symbols.
const DYNAMIC: u64 = 16;
const SYMBOL: u64 = 24;
/// Real files have three dozen dynamic entries and chains of a few symbols: more than this is a file that
/// wants to keep us busy.
const MOST_DYNAMIC: u64 = 512;
const LONGEST_CHAIN: u32 = 1024;

/// The symbols of a file that others can use, and those that it uses of others.
pub struct Symbols<'a, R: ?Sized> {
    file: &'a R,
    /// Offsets in the file: of the table, of the names and their length, of the hashes.
    table: u64,
    strings: (u64, u64),
    gnu_hash: Option<u64>,
    hash: Option<u64>,
}

impl<'a, R: ReadAt + ?Sized> Symbols<'a, R> {
    pub(super) fn open(elf: &Elf<'a, R>) -> Option<Symbols<'a, R>> {
        let mut segments = elf.segments.iter();
        let dynamic = segments.find(|segment| segment.kind == PT_DYNAMIC)?;
        let (mut table, mut strings, mut room) = (None, None, 0);
        let (mut gnu_hash, mut hash) = (None, None);
        for index in 0..(dynamic.in_file / DYNAMIC).min(MOST_DYNAMIC) {
            let at = dynamic.offset.checked_add(index * DYNAMIC)?;
            let row: [u8; DYNAMIC as usize] = bytes(elf.file, at)?;
            let (tag, value) = (word(&row, 0)?, word(&row, 8)?);
            match tag {
                0 => break,
                DT_SYMTAB => table = elf.offset(value),
                DT_STRTAB => strings = elf.offset(value),
                DT_STRSZ => room = value,
                DT_GNU_HASH => gnu_hash = elf.offset(value),
                DT_HASH => hash = elf.offset(value),
                _ => {}
            }
        }
        Some(Symbols {
            file: elf.file,
            table: table?,
            strings: (strings?, room),
            gnu_hash,
            hash,
        })
    }

    pub fn find(&self, name: &str) -> Option<Symbol> {
        match (self.gnu_hash, self.hash) {
            (Some(table), _) => self.by_gnu_hash(table, name),
            (None, Some(table)) => self.by_hash(table, name),
            (None, None) => None,
        }
    }

    /// `DT_GNU_HASH`: four numbers, a filter, the buckets, then one hash for each symbol from `first` on.
    fn by_gnu_hash(&self, table: u64, name: &str) -> Option<Symbol> {
        let (buckets, first) = (self.number(table)?, self.number(table.checked_add(4)?)?);
        let filter = u64::from(self.number(table.checked_add(8)?)?);
        let start = table.checked_add(16 + filter * 8)?;
        let chains = start.checked_add(u64::from(buckets) * 4)?;
        let wanted = name.bytes().fold(5381u32, |hash, byte| {
            hash.wrapping_mul(33).wrapping_add(u32::from(byte))
        });
        let bucket = u64::from(wanted.checked_rem(buckets)?);
        let mut index = self.number(start.checked_add(bucket * 4)?)?;
        for _ in 0..LONGEST_CHAIN {
            let at = u64::from(index.checked_sub(first)?) * 4;
            let hash = self.number(chains.checked_add(at)?)?;
            // The lowest bit marks the end of a chain.
            if hash | 1 == wanted | 1
                && let Some(found) = self.symbol(index, name)
            {
                return Some(found);
            }
            if hash & 1 == 1 {
                return None;
            }
            index = index.checked_add(1)?;
        }
        None
    }

    /// `DT_HASH`, the older one: two numbers, the buckets, then the next of every symbol.
    fn by_hash(&self, table: u64, name: &str) -> Option<Symbol> {
        let buckets = self.number(table)?;
        let start = table.checked_add(8)?;
        let chains = start.checked_add(u64::from(buckets) * 4)?;
        let wanted = name.bytes().fold(0u32, |hash, byte| {
            let hash = (hash << 4).wrapping_add(u32::from(byte));
            let high = hash & 0xf000_0000;
            (hash ^ high >> 24) & !high
        });
        let bucket = u64::from(wanted.checked_rem(buckets)?);
        let mut index = self.number(start.checked_add(bucket * 4)?)?;
        for _ in 0..LONGEST_CHAIN {
            if index == 0 {
                return None;
            }
            if let Some(found) = self.symbol(index, name) {
                return Some(found);
            }
            index = self.number(chains.checked_add(u64::from(index) * 4)?)?;
        }
        None
    }

    /// The symbol at an index, if it has this name and is defined here.
    fn symbol(&self, index: u32, name: &str) -> Option<Symbol> {
        let at = self.table.checked_add(u64::from(index) * SYMBOL)?;
        let row: [u8; SYMBOL as usize] = bytes(self.file, at)?;
        let text = u64::from(u32::from_le_bytes(*row.first_chunk()?));
        let (strings, room) = self.strings;
        let defined = row[6..8] != [0, 0];
        if !defined || text.checked_add(name.len() as u64)? >= room {
            return None;
        }
        let mut found = vec![0; name.len() + 1];
        let got = self.file.read_at(strings.checked_add(text)?, &mut found);
        let same = found[..got].strip_suffix(&[0]) == Some(name.as_bytes());
        let symbol = Symbol {
            address: word(&row, 8)?,
            size: word(&row, 16)?,
        };
        same.then_some(symbol)
    }

    fn number(&self, at: u64) -> Option<u32> {
        bytes(self.file, at).map(u32::from_le_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{PT_LOAD, ROW};
    use super::*;
    use proptest::prelude::*;

    const BASE: u64 = 0x40_0000;
    const SEGMENT: u64 = ROW as u64;

    fn gnu(names: &[&str]) -> Vec<u8> {
        // One bucket with all of them, behind a filter of one word.
        let mut table: Vec<u32> = vec![1, 1, 1, 6, 0, 0, 1];
        for (index, name) in names.iter().enumerate() {
            let hash = name
                .bytes()
                .fold(5381u32, |h, b| h.wrapping_mul(33).wrapping_add(b.into()));
            table.push(hash & !1 | u32::from(index + 1 == names.len()));
        }
        table
            .iter()
            .flat_map(|number| number.to_le_bytes())
            .collect()
    }

    fn sysv(names: &[&str]) -> Vec<u8> {
        let count = names.len() as u32;
        let mut table: Vec<u32> = vec![1, count + 1, 1, 0];
        table.extend((1..=count).map(|index| (index + 1) % (count + 1)));
        table
            .iter()
            .flat_map(|number| number.to_le_bytes())
            .collect()
    }

    /// A file that defines `names` with the values 0x1111, 0x2222, …; an empty section means undefined.
    fn file(names: &[&str], tag: u64, hash: Vec<u8>, section: u16) -> Vec<u8> {
        let words =
            |words: &[u64]| -> Vec<u8> { words.iter().flat_map(|w| w.to_le_bytes()).collect() };
        let segment = |kind: u64, offset: u64, length: u64| {
            words(&[kind, offset, BASE + offset, 0, length, length, 8])
        };
        let (mut strings, mut symbols) = (vec![0], vec![0; SYMBOL as usize]);
        let tables = 64 + 2 * SEGMENT + 5 * DYNAMIC;
        let values = tables + (names.len() as u64 + 1) * SYMBOL;
        for (index, name) in names.iter().enumerate() {
            symbols.extend((strings.len() as u32).to_le_bytes());
            symbols.extend([0x11, 0]);
            symbols.extend(section.to_le_bytes());
            symbols.extend(words(&[BASE + values + index as u64 * 8, 8]));
            strings.extend(name.bytes().chain([0]));
        }
        let texts = values + names.len() as u64 * 8;
        let hashes = texts + strings.len() as u64;
        let end = hashes + hash.len() as u64;
        let mut file = b"\x7fELF\x02\x01".to_vec();
        file.resize(64, 0);
        file[32..40].copy_from_slice(&64u64.to_le_bytes());
        file[54..58].copy_from_slice(&[SEGMENT as u8, 0, 2, 0]);
        file.extend(segment(PT_LOAD.into(), 0, end));
        file.extend(segment(PT_DYNAMIC.into(), 64 + 2 * SEGMENT, 5 * DYNAMIC));
        file.extend(words(&[DT_SYMTAB, BASE + tables, DT_STRTAB, BASE + texts]));
        file.extend(words(&[
            DT_STRSZ,
            strings.len() as u64,
            tag,
            BASE + hashes,
            0,
            0,
        ]));
        file.extend(symbols);
        file.extend((1..=names.len() as u64).flat_map(|index| (index * 0x1111).to_le_bytes()));
        file.extend(strings);
        file.extend(hash);
        file
    }

    fn value(file: &[u8], name: &str) -> Option<u64> {
        let elf = Elf::open(file)?;
        let symbol = elf.symbols()?.find(name)?;
        elf.initial(symbol.address).map(u64::from_le_bytes)
    }

    const NAMES: [&str; 3] = ["PyLong_Type", "Py_Version", "_PyRuntime"];

    fn files() -> [Vec<u8>; 2] {
        [
            file(&NAMES, DT_GNU_HASH, gnu(&NAMES), 9),
            file(&NAMES, DT_HASH, sysv(&NAMES), 9),
        ]
    }

    #[test]
    fn a_symbol_is_found_by_either_hash() {
        for file in files() {
            assert_eq!(value(&file, "PyLong_Type"), Some(0x1111));
            assert_eq!(value(&file, "Py_Version"), Some(0x2222));
            assert_eq!(value(&file, "_PyRuntime"), Some(0x3333));
            // No other name, and no beginning of one.
            for name in ["Py_Versio", "Py_Version2", "PyRuntime", ""] {
                assert_eq!(value(&file, name), None, "{name}");
            }
        }
    }

    #[test]
    fn a_symbol_of_somebody_else_is_not_found() {
        let file = file(&NAMES, DT_GNU_HASH, gnu(&NAMES), 0);
        assert_eq!(value(&file, "Py_Version"), None);
    }

    /// The chain of the last symbol leads back to the first one.
    #[test]
    fn a_chain_that_goes_round_ends() {
        let mut hash = sysv(&NAMES);
        let last = hash.len() - 4;
        hash[last] = 1;
        assert_eq!(value(&file(&NAMES, DT_HASH, hash, 9), "missing"), None);
    }

    proptest! {
        #[test]
        fn any_bytes_are_survived(tail in proptest::collection::vec(any::<u8>(), 0..400)) {
            let _ = value(&tail, "Py_Version");
            let _ = value(&[&b"\x7fELF\x02\x01"[..], &tail].concat(), "Py_Version");
        }

        #[test]
        fn a_damaged_file_is_survived(
            which in 0usize..2,
            damage in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..12),
            cut in any::<prop::sample::Index>(),
        ) {
            let mut file = files()[which].clone();
            for (at, byte) in damage {
                let at = at.index(file.len());
                file[at] = byte;
            }
            let _ = value(&file, "Py_Version");
            let _ = value(&file[..cut.index(file.len())], "Py_Version");
        }
    }
}
