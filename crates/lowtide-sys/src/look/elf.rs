//! Where the data of a program or library ends in memory. The kernel and the loader map the file's
//! data and zero-filled memory behind it; only the file's own table says how far that goes. (A rule
//! "what follows a library is its data" once swallowed 120 MB of somebody else's memory.)

/// Stretches of addresses that hold a file's writable data, as offsets from its first mapping.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Data {
    /// Of `PT_LOAD` entries that can be written: where the file's bytes begin, where the memory ends.
    pub spans: Vec<(u64, u64)>,
}

const PT_LOAD: u32 = 1;
const PF_W: u32 = 2;
/// Size of the file header and of one table entry, 64-bit.
const HEADER: usize = 64;
const ENTRY: usize = 56;
/// What is read of a file: the header and the table, which linkers put right behind it.
pub const HEAD: usize = 4096;

/// Reads the beginning of an ELF file; `None` for anything that is not a 64-bit little-endian one.
pub fn parse(head: &[u8]) -> Option<Data> {
    if head.get(..6)? != b"\x7fELF\x02\x01" || head.len() < HEADER {
        return None;
    }
    let table = usize::try_from(word(head, 32)?).ok()?;
    let entry = usize::from(u16::from_le_bytes(head[54..56].try_into().ok()?));
    let count = usize::from(u16::from_le_bytes(head[56..58].try_into().ok()?));
    if entry < ENTRY {
        return None;
    }
    let mut lowest: Option<u64> = None;
    let mut spans = Vec::new();
    for index in 0..count {
        let at = table.checked_add(index.checked_mul(entry)?)?;
        let Some(row) = head.get(at..at.checked_add(ENTRY)?) else {
            break;
        };
        let kind = u32::from_le_bytes(row[..4].try_into().ok()?);
        let flags = u32::from_le_bytes(row[4..8].try_into().ok()?);
        let (address, memory) = (word(row, 16)?, word(row, 40)?);
        if kind != PT_LOAD {
            continue;
        }
        lowest = Some(lowest.map_or(address, |lowest| lowest.min(address)));
        if flags & PF_W != 0 {
            spans.push((address, address.checked_add(memory)?));
        }
    }
    let base = lowest?;
    for (from, to) in &mut spans {
        // The first mapping begins at a page, the first entry perhaps a little later.
        let page = base & !0xfff;
        (*from, *to) = (from.saturating_sub(page), to.saturating_sub(page));
    }
    Some(Data { spans })
}

fn word(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_real_program_has_writable_data() {
        let head = std::fs::read("/proc/self/exe").unwrap();
        let data = parse(&head[..HEAD]).unwrap();
        // A static of this program lies in it.
        static mut HERE: u64 = 0;
        let here = (&raw const HERE) as u64;
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let base = u64::from_str_radix(maps.split('-').next().unwrap(), 16).unwrap();
        let mut spans = data.spans.iter();
        assert!(spans.any(|(from, to)| (base + from..base + to).contains(&here)));
    }

    proptest! {
        #[test]
        fn any_bytes_are_survived(tail in proptest::collection::vec(any::<u8>(), 0..400)) {
            let _ = parse(&tail);
            let _ = parse(&[&b"\x7fELF\x02\x01"[..], &tail].concat());
        }
    }
}
