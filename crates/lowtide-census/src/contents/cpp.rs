//! Objects of C++ name themselves: the first word of one that has virtual functions leads to a table, and in front of
//! that table stands its class, with its name and what it is made from (Itanium C++ ABI, 2.9.5). So no symbols
//! are needed, and libraries may be stripped. [`super::calibrate`] asks it first, then everybody who follows pointers.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use crate::source::{Source, is_pointer};

/// The class stands in the word before the table.
const CLASS_BEFORE: u64 = 8;
/// In a class: its name, and (where it has one base) the class of that.
const NAME: u64 = 8;
const BASE: u64 = 16;
/// Longer names are those of templates, which are none of ours.
const LONGEST: usize = 128;
const DEEPEST: usize = 8;
/// Tables that are remembered; programs have some thousand.
const REMEMBERED: usize = 20_000;

/// The class that says of every class with one base that it is one.
const ONE_BASE: &str = "N10__cxxabiv120__si_class_type_infoE";

/// What an object is, as far as it matters here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Tensor,
    /// The one that stands for none.
    NoTensor,
    Storage,
    /// What autograd knows of one tensor.
    Meta,
    /// The same for a view.
    ViewMeta,
    /// A step of autograd's graph.
    Step,
    /// A buffer of Arrow's.
    Buffer,
    Other,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CppClass {
    /// Without its namespaces: `AddBackward0`.
    pub name: Rc<str>,
    pub role: Role,
}

/// Classes by the address of their table.
pub(crate) struct Classes<'a, S> {
    source: &'a S,
    known: RefCell<HashMap<u64, Option<Rc<CppClass>>>>,
}

impl<'a, S: Source> Classes<'a, S> {
    pub(crate) fn new(source: &'a S) -> Classes<'a, S> {
        Classes {
            source,
            known: RefCell::default(),
        }
    }

    /// The class of the object at an address, if it is one that has a class.
    pub(crate) fn of(&self, object: u64) -> Option<Rc<CppClass>> {
        self.at(self.source.pointer(object)?)
    }

    /// The class that a table belongs to.
    pub(crate) fn at(&self, table: u64) -> Option<Rc<CppClass>> {
        if let Some(known) = self.known.borrow().get(&table) {
            return known.clone();
        }
        let class = self.read(table).map(Rc::new);
        let mut known = self.known.borrow_mut();
        if known.len() < REMEMBERED {
            known.insert(table, class.clone());
        }
        class
    }

    /// The table of the object at an address, if it has a class.
    pub(crate) fn table(&self, object: u64) -> Option<u64> {
        let table = self.source.pointer(object)?;
        self.at(table).map(|_| table)
    }

    pub(crate) fn role(&self, object: u64) -> Option<Role> {
        self.of(object).map(|class| class.role)
    }

    fn read(&self, table: u64) -> Option<CppClass> {
        let mut class = self.pointer(table.checked_sub(CLASS_BEFORE)?)?;
        let name = self.name(class)?;
        let mut role = role_of(&name);
        for _ in 0..DEEPEST {
            if role != Role::Other {
                break;
            }
            // Only a class with one base has it there; others have none, or a list.
            let kind = self.pointer(class)?;
            let kind = self.pointer(kind.checked_sub(CLASS_BEFORE)?)?;
            if self.name(kind).as_deref() != Some(ONE_BASE) {
                break;
            }
            class = self.pointer(class.checked_add(BASE)?)?;
            role = role_of(&self.name(class)?);
        }
        Some(CppClass {
            name: Rc::from(plain(&name)),
            role,
        })
    }

    /// These words are the loader's work, so they are private pages of the process; those that it never
    /// had to touch are its file's.
    fn pointer(&self, at: u64) -> Option<u64> {
        let mut word = [0; 8];
        let came = self.source.fill_constant(at, &mut word);
        came.then(|| u64::from_le_bytes(word))
            .filter(|word| is_pointer(*word))
    }

    fn name(&self, class: u64) -> Option<String> {
        let mut at = [0; 8];
        // Names are letters: they begin anywhere.
        if !(self.source).fill_constant(class.checked_add(NAME)?, &mut at) {
            return None;
        }
        let at = u64::from_le_bytes(at);
        let room = (4096 - at % 4096) as usize;
        let mut bytes = vec![0; LONGEST];
        let came = self.source.fill_constant(at, &mut bytes);
        if !came {
            bytes.truncate(room.min(LONGEST));
            if !self.source.fill_constant(at, &mut bytes) {
                return None;
            }
        }
        let name = bytes.split(|byte| *byte == 0).next()?;
        // A star marks a name that is not alone in the program.
        let name = name.strip_prefix(b"*").unwrap_or(name);
        let letters = name
            .iter()
            .all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
        let named = letters && matches!(name.first(), Some(b'N' | b'0'..=b'9' | b'S'));
        named.then(|| String::from_utf8(name.to_vec()).ok())?
    }
}

fn role_of(name: &str) -> Role {
    match name {
        "N3c1010TensorImplE" => Role::Tensor,
        "N3c1019UndefinedTensorImplE" => Role::NoTensor,
        "N3c1011StorageImplE" => Role::Storage,
        "N5torch8autograd12AutogradMetaE" => Role::Meta,
        "N5torch8autograd22DifferentiableViewMetaE" => Role::ViewMeta,
        "N5torch8autograd4NodeE" => Role::Step,
        "N5arrow6BufferE" => Role::Buffer,
        _ => Role::Other,
    }
}

/// The last part of a name as compilers write it: `N5torch8autograd4NodeE` is `Node`.
fn plain(name: &str) -> &str {
    let mut rest = name.strip_prefix('N').unwrap_or(name);
    let mut last = None;
    loop {
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let part = rest[..digits]
            .parse::<usize>()
            .ok()
            .and_then(|length| rest.get(digits..digits.checked_add(length)?));
        let Some(part) = part.filter(|part| !part.is_empty()) else {
            break;
        };
        last = Some(part);
        rest = &rest[digits + part.len()..];
    }
    last.unwrap_or(name)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::source::Direct;
    use lowtide_sys::memory::Image;
    use proptest::prelude::*;

    #[test]
    fn the_last_part_of_a_name_is_what_people_know() {
        for (name, known) in [
            (
                "N5torch8autograd9generated14AddmmBackward0E",
                "AddmmBackward0",
            ),
            ("N3c1010TensorImplE", "TensorImpl"),
            ("7Reducer", "Reducer"),
            ("N99cut", "N99cut"),
            ("", ""),
        ] {
            assert_eq!(plain(name), known);
        }
    }

    /// A class, its base's class and the class of both.
    pub(in crate::contents) fn with_class(
        image: Image,
        at: u64,
        name: &str,
        base: u64,
    ) -> (Image, u64) {
        let words = |words: &[u64]| -> Vec<u8> {
            words.iter().flat_map(|word| word.to_le_bytes()).collect()
        };
        // Its table at 0x18, itself at 0x20, its name at 0x40; the class of classes at 0x100.
        let image = image
            .with(at, &[0; 0x1000])
            .with(at + 0x10, &words(&[at + 0x20]))
            .with(at + 0x20, &words(&[at + 0x118, at + 0x40, base]))
            .with(at + 0x40, &[name.as_bytes(), &[0]].concat())
            .with(at + 0x110, &words(&[at + 0x120]))
            .with(at + 0x120, &words(&[0, at + 0x140]))
            .with(at + 0x140, &[ONE_BASE.as_bytes(), &[0; 200]].concat());
        (image, at + 0x18)
    }

    #[test]
    fn a_class_is_known_by_its_base() {
        let image = Image::default();
        let (image, _) = with_class(image, 0x1_0000, "N5torch8autograd4NodeE", 0);
        let (image, table) = with_class(
            image,
            0x2_0000,
            "N5torch8autograd9generated12AddBackward0E",
            0x1_0020,
        );
        let image = image.with(0x3_0000, &table.to_le_bytes());
        let source = Direct(&image);
        let classes = Classes::new(&source);
        let found = classes.of(0x3_0000).unwrap();
        assert_eq!((&*found.name, found.role), ("AddBackward0", Role::Step));
        // Of itself alone it would be another.
        let (alone, table) = with_class(
            Image::default(),
            0x2_0000,
            "N5torch8autograd9generated12AddBackward0E",
            0,
        );
        let alone = alone.with(0x3_0000, &table.to_le_bytes());
        let source = Direct(&alone);
        assert_eq!(
            Classes::new(&source).role(0x3_0000),
            None,
            "its base is nowhere"
        );
    }

    proptest! {
        #[test]
        fn any_name_is_survived(name in "[N0-9A-Za-z_]{0,40}") {
            plain(&name);
        }

        #[test]
        fn any_bytes_are_survived(bytes in proptest::collection::vec(any::<u8>(), 64..400)) {
            let image = Image::default().with(0x1_0000, &bytes).with(0x2_0000, &0x1_0010u64.to_le_bytes());
            let source = Direct(&image);
            Classes::new(&source).role(0x2_0000);
        }
    }
}
