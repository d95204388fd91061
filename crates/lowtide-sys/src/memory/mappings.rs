//! Which mappings a process has, from `/proc/PID/smaps` (with the resident bytes of each by kind) or
//! `/proc/PID/maps` (without, and much cheaper). Fed in pieces of any length, so that a process of 100,000
//! mappings (80 MB of text) needs no more than the list of them.

use rustix::io::Errno;

use super::Deadline;
use crate::proc::{Proc, number, words};

/// One mapping.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mapping {
    pub start: u64,
    pub end: u64,
    pub read: bool,
    pub write: bool,
    pub execute: bool,
    pub shared: bool,
    pub offset: u64,
    /// Major and minor number of the file system.
    pub device: (u32, u32),
    pub inode: u64,
    /// For [`Mappings::name`]; set by [`Mappings::push`].
    pub name: u32,
    pub rss: u64,
    /// Private pages that belong to no file, copies of file pages among them.
    pub anon: u64,
    pub swap: u64,
    /// In anonymous huge pages.
    pub huge: u64,
}

impl Mapping {
    pub fn size(&self) -> u64 {
        self.end - self.start
    }

    /// Reserved address space, or a guard below a stack.
    pub fn is_closed(&self) -> bool {
        !self.read && !self.write && !self.execute
    }
}

/// All mappings of a process, by address.
#[derive(Debug, Default)]
pub struct Mappings {
    pub list: Vec<Mapping>,
    /// Files are mapped in several pieces, one after the other: each name is kept once per row.
    names: Vec<String>,
    /// Time ran out before all were listed.
    pub is_cut: bool,
}

/// What one `read` asks for; the kernel hands over a page or so at a time all the same.
const PIECE: usize = 64 * 1024;

impl Mappings {
    /// Reads `smaps`: the kernel goes through the page tables of every mapping for it.
    pub fn with_sizes(proc: &Proc, pid: u32, deadline: Deadline) -> Result<Mappings, Errno> {
        Mappings::read(proc, pid, "smaps", deadline)
    }

    /// Reads `maps`: addresses, rights and names.
    pub fn without_sizes(proc: &Proc, pid: u32, deadline: Deadline) -> Result<Mappings, Errno> {
        Mappings::read(proc, pid, "maps", deadline)
    }

    fn read(proc: &Proc, pid: u32, name: &str, deadline: Deadline) -> Result<Mappings, Errno> {
        let file = proc.open(pid, name)?;
        let mut parser = Parser::default();
        let mut buffer = vec![0; PIECE];
        let mut is_cut = false;
        while !is_cut {
            let count = rustix::io::read(&file, &mut buffer[..])?;
            if count == 0 {
                break;
            }
            parser.feed(&buffer[..count]);
            is_cut = deadline.is_over();
        }
        let mut found = parser.finish();
        found.is_cut = is_cut;
        // The kernel gives an empty file for a process that has ended or has no memory.
        if found.list.is_empty() {
            return Err(Errno::SRCH);
        }
        Ok(found)
    }

    pub fn name(&self, mapping: &Mapping) -> &str {
        self.names
            .get(mapping.name as usize)
            .map_or("", String::as_str)
    }

    /// The paths of mapped files, those that are mapped several times several times.
    pub fn files(&self) -> impl Iterator<Item = &str> {
        let names = self.names.iter().map(String::as_str);
        names.filter(|name| name.starts_with('/'))
    }
}

/// The parser: `feed` takes the text piece by piece, `finish` hands over the list.
#[derive(Debug, Default)]
pub struct Parser {
    found: Mappings,
    /// The beginning of a line whose end has not come yet.
    rest: Vec<u8>,
}

/// The longest line is a header with a path (4 kB at most); longer ones are no smaps.
const LONGEST_LINE: usize = 16 * 1024;

impl Parser {
    pub fn feed(&mut self, mut bytes: &[u8]) {
        while let Some(end) = bytes.iter().position(|byte| *byte == b'\n') {
            let (line, after) = (&bytes[..end], &bytes[end + 1..]);
            if self.rest.is_empty() {
                self.found.line(line);
            } else {
                self.rest.extend_from_slice(line);
                let whole = std::mem::take(&mut self.rest);
                self.found.line(&whole);
                self.rest = whole;
                self.rest.clear();
            }
            bytes = after;
        }
        if self.rest.len() < LONGEST_LINE {
            self.rest.extend_from_slice(bytes);
        }
    }

    pub fn finish(self) -> Mappings {
        self.found
    }
}

impl Mappings {
    fn line(&mut self, line: &[u8]) {
        // Fields begin with a capital letter, mappings with a digit or a small one (hexadecimal).
        if line.first().is_some_and(u8::is_ascii_uppercase) {
            self.field(line);
        } else if let Some((mapping, name)) = header(line) {
            self.push(mapping, name);
        }
    }

    /// Adds the next mapping by address.
    pub fn push(&mut self, mut mapping: Mapping, name: &[u8]) {
        // The kernel goes on from where the last read ended: a mapping that has grown over that place
        // since (a thread's heap) is listed again, as a whole.
        while self
            .list
            .last()
            .is_some_and(|last| last.start >= mapping.start)
        {
            self.list.pop();
        }
        let same = self
            .names
            .last()
            .is_some_and(|last| last.as_bytes() == name);
        if !same {
            self.names.push(String::from_utf8_lossy(name).into_owned());
        }
        mapping.name = u32::try_from(self.names.len() - 1).unwrap_or(u32::MAX);
        self.list.push(mapping);
    }

    fn field(&mut self, line: &[u8]) {
        let Some(mapping) = self.list.last_mut() else {
            return;
        };
        let Some(colon) = line.iter().position(|byte| *byte == b':') else {
            return;
        };
        let slot = match &line[..colon] {
            b"Rss" => &mut mapping.rss,
            b"Anonymous" => &mut mapping.anon,
            b"Swap" => &mut mapping.swap,
            b"AnonHugePages" => &mut mapping.huge,
            _ => return,
        };
        if let Some(kib) = words(&line[colon + 1..]).next().and_then(number) {
            *slot = kib.saturating_mul(1024);
        }
    }
}

/// `7f00-7f01 rw-p 00000000 fe:00 12   /usr/lib/libc.so.6`
fn header(line: &[u8]) -> Option<(Mapping, &[u8])> {
    let mut parts = line.splitn(6, |byte| *byte == b' ');
    let (start, end) = split(parts.next()?, b'-')?;
    let rights = parts.next()?;
    let offset = hexadecimal(parts.next()?)?;
    let (major, minor) = split(parts.next()?, b':')?;
    let inode = number(parts.next()?)?;
    let [read, write, execute, shared] = *rights.first_chunk::<4>()?;
    let mapping = Mapping {
        start,
        end: (end > start).then_some(end)?,
        read: read == b'r',
        write: write == b'w',
        execute: execute == b'x',
        shared: shared == b's',
        offset,
        device: (u32::try_from(major).ok()?, u32::try_from(minor).ok()?),
        inode,
        ..Mapping::default()
    };
    // A name may hold anything but a line end; blanks before it fill the column.
    let name = parts.next().unwrap_or_default().trim_ascii_start();
    Some((mapping, name))
}

fn split(bytes: &[u8], at: u8) -> Option<(u64, u64)> {
    let middle = bytes.iter().position(|byte| *byte == at)?;
    Some((
        hexadecimal(&bytes[..middle])?,
        hexadecimal(&bytes[middle + 1..])?,
    ))
}

fn hexadecimal(bytes: &[u8]) -> Option<u64> {
    if bytes.is_empty() || bytes.len() > 16 {
        return None;
    }
    bytes.iter().try_fold(0u64, |sum, byte| {
        let digit = char::from(*byte).to_digit(16)?;
        Some(sum << 4 | u64::from(digit))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TEXT: &[u8] =
        b"55d0c5a00000-55d0c5a21000 rw-p 00000000 00:00 0                          [heap]
Size:                132 kB
Rss:                 100 kB
Anonymous:            96 kB
AnonHugePages:         0 kB
Swap:                  4 kB
VmFlags: rd wr mr mw me ac sd
7f0000000000-7f0000001000 ---p 00000000 00:00 0
Rss:                   0 kB
7f0000001000-7f0000009000 rw-s 00001000 00:1b 77                         /dev/shm/a b (deleted)
Rss:                  32 kB
";

    fn parsed(pieces: impl Iterator<Item = usize>, text: &[u8]) -> Mappings {
        let mut parser = Parser::default();
        let mut rest = text;
        for piece in pieces {
            let (now, later) = rest.split_at(piece.min(rest.len()));
            parser.feed(now);
            rest = later;
        }
        parser.feed(rest);
        parser.finish()
    }

    #[test]
    fn mappings_have_sizes_rights_and_names() {
        let found = parsed(std::iter::empty(), TEXT);
        let [heap, guard, shared] = &found.list[..] else {
            panic!("{found:?}");
        };
        assert_eq!(found.name(heap), "[heap]");
        assert_eq!(
            (heap.rss, heap.anon, heap.swap),
            (100 << 10, 96 << 10, 4 << 10)
        );
        assert!(heap.read && heap.write && !heap.execute && !heap.shared);
        assert!(guard.is_closed() && found.name(guard).is_empty());
        assert_eq!(guard.size(), 4096);
        assert_eq!(found.name(shared), "/dev/shm/a b (deleted)");
        assert_eq!(
            (shared.device, shared.inode, shared.offset),
            ((0, 0x1b), 77, 0x1000)
        );
        assert!(shared.shared);
    }

    #[test]
    fn a_mapping_that_grew_under_the_read_counts_once() {
        let text = b"7f0000000000-7f0000001000 rw-p 00000000 00:00 0
Rss:                   4 kB
7f0000001000-7f0000005000 rw-p 00000000 00:00 0
Rss:                  16 kB
7f0000001000-7f0000009000 rw-p 00000000 00:00 0
Rss:                  32 kB
";
        let found = parsed(std::iter::empty(), text);
        let list: Vec<(u64, u64)> = (found.list.iter())
            .map(|mapping| (mapping.size(), mapping.rss))
            .collect();
        assert_eq!(list, [(0x1000, 4 << 10), (0x8000, 32 << 10)]);
    }

    proptest! {
        #[test]
        fn any_bytes_are_survived(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
            parsed([3, 50].into_iter(), &bytes);
        }

        /// The kernel hands the file over in pieces that end anywhere.
        #[test]
        fn pieces_do_not_matter(pieces in proptest::collection::vec(0usize..90, 0..20)) {
            let (whole, cut) = (parsed(std::iter::empty(), TEXT), parsed(pieces.into_iter(), TEXT));
            prop_assert_eq!(whole.list, cut.list);
        }
    }
}
