//! The account of a look: bytes by class of memory, each with its members. All readers of a look write here, the
//! `Look` is made from it.

use std::collections::{BTreeMap, HashMap};

use lowtide_core::look::{MemoryClass, Part, PartMember};
use lowtide_core::units::{Bytes, show_bytes};

use super::sizes::Sizes;

/// Members that a part names: enough to find in two looks the one that grew, small enough to record.
const MEMBERS: usize = 24;

#[derive(Debug, Default)]
pub(crate) struct Ledger {
    parts: BTreeMap<MemoryClass, Account>,
}

#[derive(Debug, Default)]
struct Account {
    bytes: u64,
    members: HashMap<String, Sum>,
}

/// What goes by one name.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sum {
    pub count: u64,
    pub bytes: u64,
    /// Of blocks whose class has more than one.
    sizes: Sizes,
}

impl Ledger {
    /// Adds bytes that have no member worth naming.
    pub(crate) fn add(&mut self, class: MemoryClass, bytes: u64) {
        if bytes > 0 {
            self.parts.entry(class).or_default().bytes += bytes;
        }
    }

    pub(crate) fn add_member(&mut self, class: MemoryClass, name: &str, count: u64, bytes: u64) {
        if bytes == 0 {
            return;
        }
        let Account {
            bytes: total,
            members,
        } = self.parts.entry(class).or_default();
        *total += bytes;
        if !members.contains_key(name) {
            members.insert(name.to_owned(), Sum::default());
        }
        if let Some(member) = members.get_mut(name) {
            member.count += count;
            member.bytes += bytes;
        }
    }

    pub(crate) fn add_blocks(&mut self, class: MemoryClass, blocks: &Blocks) {
        for (name, of_class) in blocks.classes() {
            self.add_member(class, &name, of_class.count, of_class.bytes);
            let members = self.parts.get_mut(&class).map(|part| &mut part.members);
            if let Some(member) = members.and_then(|members| members.get_mut(&name)) {
                member.sizes.merge(&of_class.sizes);
            }
        }
    }

    pub(crate) fn into_parts(self) -> Vec<Part> {
        let part = |(class, account): (MemoryClass, Account)| {
            let mut members: Vec<PartMember> = account
                .members
                .into_iter()
                .map(|(name, sum)| PartMember {
                    usual: sum.sizes.usual(),
                    ..PartMember::new(name, sum.count, Bytes(sum.bytes))
                })
                .collect();
            members.sort_by(|a, b| (b.bytes, &a.name).cmp(&(a.bytes, &b.name)));
            members.truncate(MEMBERS);
            Part::of_class(class, Bytes(account.bytes), members)
        };
        self.parts.into_iter().map(part).collect()
    }
}

/// Blocks of an allocator, counted by size: exact up to 1 KiB, then eight classes for each doubling, so
/// that a class has the same name in every look.
#[derive(Clone, Debug, Default)]
pub(crate) struct Blocks {
    classes: Vec<Sum>,
    pub bytes: u64,
}

const EXACT: u64 = 1024;
const STEP: u64 = 16;
const EXACT_CLASSES: u64 = EXACT / STEP;

impl Blocks {
    /// `bytes` are the resident ones of the blocks.
    pub(crate) fn add(&mut self, size: u64, count: u64, bytes: u64) {
        let index = Blocks::class(size) as usize;
        if self.classes.len() <= index {
            self.classes.resize(index + 1, Sum::default());
        }
        let class = &mut self.classes[index];
        class.count += count;
        class.bytes += bytes;
        if size > EXACT {
            class.sizes.add(size, count);
        }
        self.bytes += bytes;
    }

    fn class(size: u64) -> u64 {
        if size <= EXACT {
            return size.div_ceil(STEP);
        }
        let octave = u64::from((size - 1).ilog2());
        let eighth = ((size - 1) >> (octave - 3)) & 7;
        EXACT_CLASSES + 1 + (octave - 10) * 8 + eighth
    }

    fn name(class: u64) -> String {
        if class <= EXACT_CLASSES {
            return format!("{} B blocks", class * STEP);
        }
        let above = class - EXACT_CLASSES - 1;
        let (octave, eighth) = (10 + above / 8, above % 8);
        let edge = |eighths: u64| show_bytes((eighths << (octave - 3)) as f64);
        format!("blocks of {} to {}", edge(8 + eighth), edge(9 + eighth))
    }

    pub(crate) fn classes(&self) -> impl Iterator<Item = (String, &Sum)> {
        let seen = self.classes.iter().enumerate();
        // The rest of a block that began in another mapping has bytes, but counts as none.
        seen.filter(|(_, class)| class.count + class.bytes > 0)
            .map(|(nth, class)| (Blocks::name(nth as u64), class))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_exact_below_and_narrow_above() {
        for (size, name) in [
            (16, "16 B blocks"),
            (80, "80 B blocks"),
            (1024, "1024 B blocks"),
            (1040, "blocks of 1.02 kB to 1.15 kB"),
            (1152, "blocks of 1.02 kB to 1.15 kB"),
            (1168, "blocks of 1.15 kB to 1.28 kB"),
            (1 << 20, "blocks of 983 kB to 1.05 MB"),
            ((1 << 20) + 16, "blocks of 1.05 MB to 1.18 MB"),
        ] {
            assert_eq!(Blocks::name(Blocks::class(size)), name, "{size}");
        }
        let mut last = 0;
        for size in (16..100_000_000).step_by(4096) {
            assert!(Blocks::class(size) >= last);
            last = Blocks::class(size);
        }
    }

    #[test]
    fn the_largest_members_are_named() {
        let mut ledger = Ledger::default();
        for index in 0..100 {
            ledger.add_member(MemoryClass::Shared, &format!("{index}"), 1, index);
        }
        let parts = ledger.into_parts();
        assert_eq!(parts[0].bytes, Some(Bytes(99 * 100 / 2)));
        assert_eq!(parts[0].members.len(), MEMBERS);
        assert_eq!(parts[0].members[0].name, "99");
    }
}
