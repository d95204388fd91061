//! Code objects in the process: what is needed of one to go through its instructions.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use super::body::{Body, Of};
use super::lines::Lines;
use crate::frames::{Instructions, Places, caught};
use crate::object::Heap;
use crate::source::Source;

/// Code with more instructions than this is not read, nor a table of its lines that is longer.
const LONGEST: u64 = 1 << 16;
/// Names, variables and constants of one piece of code.
const MOST: usize = 1 << 14;
/// Texts that are remembered.
const REMEMBERED: usize = 100_000;
/// Where an object of bytes has them.
const BYTES: u64 = 32;
const SIZE: u64 = 16;
/// Flags of code: its variables are a function's; it takes any number of arguments; and of named ones.
const FUNCTION: u32 = 0x1 | 0x2;
const MANY: u32 = 0x4;
const MANY_NAMED: u32 = 0x8;
/// A variable that is one of a function around it, among the kinds of variables (from 3.11 on).
const FREE: u8 = 0x80;

/// Where code has what [`Places`] does not know, in bytes.
#[derive(Clone, Copy, Debug)]
struct InCode {
    arguments: u64,
    named_arguments: u64,
    first_line: u64,
    constants: u64,
    lines: u64,
}

impl InCode {
    fn of(minor: u32) -> InCode {
        match minor {
            ..=10 => InCode {
                arguments: 16,
                named_arguments: 24,
                first_line: 40,
                constants: 56,
                lines: 120,
            },
            11 => InCode {
                arguments: 56,
                named_arguments: 64,
                first_line: 72,
                constants: 24,
                lines: 136,
            },
            12.. => InCode {
                arguments: 52,
                named_arguments: 60,
                first_line: 68,
                constants: 24,
                lines: 136,
            },
        }
    }
}

/// Up to 3.10: names of variables that are of a function around, and that functions within share.
const FREE_NAMES: u64 = 80;
const CELL_NAMES: u64 = 88;
/// From 3.11 on: what is caught where, kinds of variables, and the name with those of the functions and classes around.
const CAUGHT: u64 = 40;
const KINDS: u64 = 104;
const QUALIFIED: u64 = 128;

/// In a function, up to 3.9 and later: its code, its globals, its name with those around it.
const IN_FUNCTION_9: [u64; 3] = [16, 24, 104];
const IN_FUNCTION: [u64; 3] = [48, 16, 40];

/// In a slice: where it begins, where it ends, by what steps.
const IN_SLICE: [u64; 3] = [16, 24, 32];
/// The type of `None`.
const NONE: &str = "NoneType";

/// A function's code, globals and qualified name.
pub(super) struct Function {
    pub code: u64,
    pub globals: Option<u64>,
    pub name: Option<String>,
}

/// Reads code.
pub(super) struct Reader<'a, 'h, S> {
    pub heap: &'a Heap<'h, S>,
    pub places: &'a Places,
    texts: RefCell<HashMap<u64, Rc<str>>>,
}

impl<'a, 'h, S: Source> Reader<'a, 'h, S> {
    pub(super) fn new(heap: &'a Heap<'h, S>, places: &'a Places) -> Reader<'a, 'h, S> {
        Reader {
            heap,
            places,
            texts: RefCell::default(),
        }
    }

    pub(super) fn is(&self, object: u64, kind: &str) -> bool {
        let class = self.heap.type_of(object);
        class.is_some_and(|class| class.name == kind)
    }

    pub(super) fn function(&self, function: u64) -> Option<Function> {
        let [code, globals, name] = match self.places.minor {
            ..=9 => IN_FUNCTION_9,
            _ => IN_FUNCTION,
        };
        let name = self.pointer(function, name);
        Some(Function {
            code: self.pointer(function, code)?,
            globals: self.pointer(function, globals),
            name: name.and_then(|name| self.heap.text(name)),
        })
    }

    /// Code that stands among the constants of code.
    pub(super) fn within(&self, code: u64) -> Vec<u64> {
        let constants = self.items(code, InCode::of(self.places.minor).constants);
        let constants = constants.unwrap_or_default().into_iter();
        constants.filter(|one| self.is(*one, "code")).collect()
    }

    pub(super) fn file(&self, code: u64) -> String {
        self.text_at(code, self.places.file)
    }

    pub(super) fn name(&self, code: u64) -> String {
        self.text_at(code, self.places.name)
    }

    /// With the functions and classes around it, where the code itself says so.
    pub(super) fn qualified_name(&self, code: u64) -> Option<String> {
        if self.places.minor <= 10 {
            return None;
        }
        self.heap.text(self.pointer(code, QUALIFIED)?)
    }

    pub(super) fn of(&self, code: u64) -> Option<Of> {
        let flags = self.number(code, self.places.flags)?;
        Some(match flags & FUNCTION == FUNCTION {
            true => Of::Function,
            false if self.name(code) == "<module>" => Of::Module,
            false => Of::Class,
        })
    }

    /// The addresses of names of globals and attributes.
    pub(super) fn names(&self, code: u64) -> Option<Vec<u64>> {
        self.items(code, self.places.names)
    }

    /// A text that is asked for again and again.
    pub(super) fn text(&self, object: u64) -> Rc<str> {
        if let Some(known) = self.texts.borrow().get(&object) {
            return known.clone();
        }
        let text: Rc<str> = self.heap.text(object).unwrap_or_default().into();
        let mut texts = self.texts.borrow_mut();
        if texts.len() < REMEMBERED {
            texts.insert(object, text.clone());
        }
        text
    }

    pub(super) fn lines(&self, code: u64) -> Option<Lines> {
        let minor = self.places.minor;
        let places = InCode::of(minor);
        let table = self.bytes(self.pointer(code, places.lines)?)?;
        Some(Lines::read(
            minor,
            &table,
            self.number(code, places.first_line)?,
        ))
    }

    pub(super) fn first_line(&self, code: u64) -> Option<u32> {
        self.number(code, InCode::of(self.places.minor).first_line)
    }

    pub(super) fn body(&self, code: u64) -> Option<Body> {
        if !self.is(code, "code") {
            return None;
        }
        let minor = self.places.minor;
        let places = InCode::of(minor);
        let flags = self.number(code, self.places.flags)?;
        let arguments = self.number(code, places.arguments)?;
        let named = self.number(code, places.named_arguments)?;
        let flag = |flag: u32| u32::from(flags & flag != 0);
        let arguments = arguments.checked_add(named)?;
        let arguments = arguments.checked_add(flag(MANY) + flag(MANY_NAMED))?;
        let fast = self.texts(code, self.places.locals_names)?;
        let (deref, free) = match minor {
            ..=10 => {
                let mut cells = self.texts(code, CELL_NAMES)?;
                let mut free = vec![false; cells.len()];
                cells.extend(self.texts(code, FREE_NAMES)?);
                free.resize(cells.len(), true);
                (cells, free)
            }
            11.. => {
                let kinds = self.bytes(self.pointer(code, KINDS)?)?;
                let free = kinds.iter().map(|kind| kind & FREE != 0).collect();
                (fast.clone(), free)
            }
        };
        let caught = match minor {
            ..=10 => Vec::new(),
            11.. => caught(&self.bytes(self.pointer(code, CAUGHT)?)?),
        };
        let constants = self.items(code, places.constants)?;
        let kept = |keep: &dyn Fn(u64) -> bool| -> Vec<usize> {
            let each = constants.iter().enumerate();
            each.filter_map(|(nth, one)| keep(*one).then_some(nth))
                .collect()
        };
        Some(Body {
            minor,
            of: self.of(code)?,
            name: self.name(code),
            instructions: self.instructions(code)?,
            names: self.texts(code, self.places.names)?,
            arguments: (arguments as usize).min(fast.len()),
            fast,
            deref,
            free,
            caught: caught.iter().map(|one| (one.to, one.end)).collect(),
            slices: kept(&|one| self.is(one, "slice")),
            cutting: kept(&|one| self.cuts(one)),
            nones: kept(&|one| self.is(one, NONE)),
        })
    }

    /// A slice that leaves out something, and goes step by step.
    fn cuts(&self, object: u64) -> bool {
        let is_none = |offset: u64| {
            let part = self.pointer(object, offset);
            part.is_none_or(|part| self.is(part, NONE))
        };
        let [start, stop, step] = IN_SLICE;
        self.is(object, "slice") && is_none(step) && !(is_none(start) && is_none(stop))
    }

    fn instructions(&self, code: u64) -> Option<Vec<u8>> {
        match self.places.instructions {
            Instructions::Apart(offset) => self.bytes(self.pointer(code, offset)?),
            Instructions::Here(offset) => {
                let length = self.heap.source.word(code.checked_add(SIZE)?)?;
                self.fill(code.checked_add(offset)?, length.checked_mul(2)?)
            }
        }
    }

    fn fill(&self, at: u64, length: u64) -> Option<Vec<u8>> {
        if length > 2 * LONGEST {
            return None;
        }
        let mut bytes = vec![0; length as usize];
        let came = self.heap.source.fill(at, &mut bytes);
        came.then_some(bytes)
    }

    fn bytes(&self, object: u64) -> Option<Vec<u8>> {
        if !self.is(object, "bytes") {
            return None;
        }
        let length = self.heap.source.word(object.checked_add(SIZE)?)?;
        self.fill(object.checked_add(BYTES)?, length)
    }

    fn texts(&self, code: u64, offset: u64) -> Option<Vec<Rc<str>>> {
        let items = self.items(code, offset)?;
        Some(items.into_iter().map(|item| self.text(item)).collect())
    }

    fn text_at(&self, code: u64, offset: u64) -> String {
        let text = self.pointer(code, offset);
        text.and_then(|text| self.heap.text(text))
            .unwrap_or_default()
    }

    fn items(&self, code: u64, offset: u64) -> Option<Vec<u64>> {
        let tuple = self.pointer(code, offset)?;
        self.is(tuple, "tuple")
            .then(|| self.heap.tuple(tuple, MOST))?
    }

    fn pointer(&self, object: u64, offset: u64) -> Option<u64> {
        self.heap.source.pointer(object.checked_add(offset)?)
    }

    fn number(&self, object: u64, offset: u64) -> Option<u32> {
        let bytes = self.heap.source.array(object.checked_add(offset)?)?;
        Some(u32::from_le_bytes(bytes))
    }
}
