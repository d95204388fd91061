//! What only a file's table of sections tells: where a named section is loaded, and symbols that the loader does
//! not need. Programs run without it, so it may be missing.

use super::{Elf, ReadAt, bytes, number, word};

/// Size of a row of the table of sections and of a symbol, 64-bit.
const ROW: u64 = 64;
const SYMBOL: u64 = 24;
const SYMTAB: u32 = 2;
/// The kind of a symbol that is data, in the lower half of a byte: functions are most of a program's symbols.
const OBJECT: u8 = 1;
/// Real files have some dozens of sections and, at most, some hundred thousand symbols.
const MOST_SECTIONS: u64 = 512;
const MOST_SYMBOLS: u64 = 1 << 20;
/// Symbols that are read at once.
const AT_ONCE: u64 = 4096;
const LONGEST_NAME: usize = 32;

struct Section {
    name: u32,
    kind: u32,
    address: u64,
    offset: u64,
    size: u64,
    link: u32,
}

impl<R: ReadAt + ?Sized> Elf<'_, R> {
    /// The address of a section that is loaded, as the file's own tables count.
    pub fn section(&self, name: &str) -> Option<u64> {
        let (sections, names) = self.sections()?;
        let names = sections.get(names)?.offset;
        let mut named = sections.iter().filter(|section| {
            let at = names.checked_add(section.name.into());
            at.is_some_and(|at| self.is_named(at, name))
        });
        named.find(|one| one.address != 0).map(|one| one.address)
    }

    /// The address of data by its symbol, from the table that `strip` removes.
    pub fn static_symbol(&self, name: &str) -> Option<u64> {
        let (sections, _) = self.sections()?;
        let table = sections.iter().find(|section| section.kind == SYMTAB)?;
        let strings = sections.get(table.link as usize)?;
        let count = (table.size / SYMBOL).min(MOST_SYMBOLS);
        let mut buffer = vec![0; (AT_ONCE * SYMBOL) as usize];
        let mut first = 0;
        while first < count {
            let at = table.offset.checked_add(first * SYMBOL)?;
            let wanted = ((count - first).min(AT_ONCE) * SYMBOL) as usize;
            let got = self.file.read_at(at, &mut buffer[..wanted]);
            for row in buffer[..got].chunks_exact(SYMBOL as usize) {
                let defined = row[6..8] != [0, 0] && row[4] & 0xf == OBJECT;
                let text = u64::from(number(row, 0)?);
                if defined
                    && text < strings.size
                    && self.is_named(strings.offset.checked_add(text)?, name)
                {
                    return word(row, 8);
                }
            }
            if got < wanted {
                return None;
            }
            first += AT_ONCE;
        }
        None
    }

    /// All sections, and which of them holds their names.
    fn sections(&self) -> Option<(Vec<Section>, usize)> {
        let header: [u8; 64] = bytes(self.file, 0)?;
        let half = |at: usize| u64::from(u16::from_le_bytes([header[at], header[at + 1]]));
        let (table, length, count) = (word(&header, 40)?, half(58), half(60));
        if table == 0 || length < ROW {
            return None;
        }
        let mut sections = Vec::new();
        for index in 0..count.min(MOST_SECTIONS) {
            let row: [u8; ROW as usize] = bytes(self.file, table.checked_add(index * length)?)?;
            sections.push(Section {
                name: number(&row, 0)?,
                kind: number(&row, 4)?,
                address: word(&row, 16)?,
                offset: word(&row, 24)?,
                size: word(&row, 32)?,
                link: number(&row, 40)?,
            });
        }
        Some((sections, half(62) as usize))
    }

    fn is_named(&self, at: u64, name: &str) -> bool {
        let mut text = [0; LONGEST_NAME];
        let wanted = (name.len() + 1).min(LONGEST_NAME);
        let got = self.file.read_at(at, &mut text[..wanted]);
        text[..got].strip_suffix(&[0]) == Some(name.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[unsafe(no_mangle)]
    static LOWTIDE_FINDS_THIS: u64 = 17;

    #[test]
    fn sections_and_symbols_of_a_real_program() {
        let file = std::fs::read("/proc/self/exe").unwrap();
        let elf = Elf::open(&file[..]).unwrap();
        let found = elf.static_symbol("LOWTIDE_FINDS_THIS").unwrap();
        assert_eq!(
            elf.initial(found).map(u64::from_le_bytes),
            Some(LOWTIDE_FINDS_THIS)
        );
        assert_eq!(elf.static_symbol("LOWTIDE_FINDS_THI"), None);
        assert!(elf.section(".text").is_some_and(|at| at != 0));
        assert_eq!(elf.section(".no-such"), None);
    }

    proptest! {
        /// A real header, and anything behind it.
        #[test]
        fn any_table_is_survived(at in 0u64..500, tail in proptest::collection::vec(any::<u8>(), 0..900)) {
            let mut file = std::fs::read("/proc/self/exe").unwrap()[..64].to_vec();
            file[40..48].copy_from_slice(&at.to_le_bytes());
            file.extend(tail);
            if let Some(elf) = Elf::open(&file[..]) {
                elf.section(".PyRuntime");
                elf.static_symbol("_PyRuntime");
            }
        }
    }
}
