//! Where each version keeps its threads, frames and code, in bytes. Up to 3.12 from tables, checked against the process
//! by [`super::threads`]; from 3.13 on from the offsets with which `_PyRuntime` begins.

use crate::source::Source;

/// How a thread leads to its innermost frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Innermost {
    At(u64),
    /// By a structure on the C stack (3.11, 3.12).
    Through(u64, u64),
}

/// Where a frame says which instruction it is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum At {
    /// The instruction's address.
    Address(usize),
    /// Its number (3.10), or that of its byte (3.9).
    Index(usize),
    Byte(usize),
}

/// Where the instructions of code are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Instructions {
    /// In an object of bytes.
    Apart(u64),
    Here(u64),
}

/// Where a generator has its frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OfGenerator {
    Pointer(u64),
    /// In itself, and a byte that says how it goes.
    Here {
        frame: u64,
        state: u64,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Places {
    pub minor: u32,
    /// In an interpreter: its first thread. In a thread: the next one, and its interpreter.
    pub threads: u64,
    pub next: u64,
    pub interpreter: u64,
    pub innermost: Innermost,
    /// In a frame: the bytes before its locals, its code, the frame that called it.
    pub head: usize,
    pub code: usize,
    pub previous: usize,
    pub at: At,
    /// The address of its stack of values; none where that follows the locals.
    pub stack: Option<usize>,
    pub locals: u64,
    /// Words carry tags in their lowest bits.
    pub tagged: bool,
    pub instructions: Instructions,
    pub generator: OfGenerator,
    /// In code: room on the stack of values, number of locals, their names, names of all else, file, name, flags.
    pub stack_size: u64,
    pub locals_count: u64,
    pub locals_names: u64,
    pub names: u64,
    pub file: u64,
    pub name: u64,
    pub flags: u64,
}

/// The lowest bits of a word that carries tags.
const TAGS: u64 = 3;
/// Offsets into threads and frames beyond this are none; the interpreter itself is some hundred kilobytes.
const SMALL: u64 = 4096;
const LARGE: u64 = 1 << 20;

impl Places {
    pub(crate) fn of(source: &impl Source, runtime: u64, minor: u32) -> Option<Places> {
        match minor {
            9 | 10 => Some(with_frame_objects(minor)),
            11 => Some(eleven()),
            12 => Some(twelve()),
            13 => described(source, runtime, minor, [9, 21, 22, 23, 29, 30, 31, 32, 43]),
            14 => described(source, runtime, minor, [9, 24, 25, 26, 32, 33, 34, 35, 48]),
            15 => described(source, runtime, minor, [9, 24, 25, 26, 40, 41, 42, 43, 56]),
            _ => None,
        }
    }
}

impl Places {
    /// The code that a frame runs.
    pub(crate) fn code_of(&self, source: &impl Source, frame: u64) -> Option<u64> {
        let word = source.word(frame.checked_add(self.code as u64)?)?;
        Some(if self.tagged { word & !TAGS } else { word })
    }
}

fn with_frame_objects(minor: u32) -> Places {
    let nine = minor == 9;
    Places {
        minor,
        threads: 8,
        next: 8,
        interpreter: 16,
        innermost: Innermost::At(24),
        head: 112,
        code: 32,
        previous: 24,
        at: if nine { At::Byte(104) } else { At::Index(96) },
        stack: Some(64),
        locals: if nine { 360 } else { 352 },
        tagged: false,
        instructions: Instructions::Apart(48),
        generator: OfGenerator::Pointer(16),
        stack_size: 32,
        locals_count: 28,
        locals_names: 72,
        names: 64,
        file: 104,
        name: 112,
        flags: 36,
    }
}

fn eleven() -> Places {
    Places {
        minor: 11,
        threads: 16,
        innermost: Innermost::Through(56, 8),
        code: 32,
        previous: 48,
        instructions: Instructions::Here(184),
        generator: OfGenerator::Here {
            frame: 80,
            state: 75,
        },
        stack_size: 68,
        locals_count: 76,
        ..twelve()
    }
}

fn twelve() -> Places {
    Places {
        minor: 12,
        threads: 72,
        next: 8,
        interpreter: 16,
        innermost: Innermost::Through(56, 0),
        head: 72,
        code: 0,
        previous: 8,
        at: At::Address(56),
        stack: None,
        locals: 72,
        tagged: false,
        instructions: Instructions::Here(192),
        generator: OfGenerator::Here {
            frame: 72,
            state: 67,
        },
        stack_size: 64,
        locals_count: 72,
        locals_names: 96,
        names: 32,
        file: 112,
        name: 120,
        flags: 48,
    }
}

/// `words` are the places in the table of: the first thread, the next, a thread's interpreter and innermost frame, a
/// frame's caller, code, instruction and locals, and the instructions of code.
fn described(source: &impl Source, runtime: u64, minor: u32, words: [u64; 9]) -> Option<Places> {
    let word = |nth: usize, most: u64| {
        let at = runtime.checked_add(words[nth].checked_mul(8)?)?;
        let even = source.word(at).filter(|word| word.is_multiple_of(8));
        even.filter(|word| *word < most)
    };
    let (locals, at) = (word(7, SMALL)?, word(6, SMALL)?);
    let (previous, code) = (word(4, SMALL)?, word(5, SMALL)?);
    // What is read of a frame lies before its locals.
    if [previous, code, at].iter().any(|one| *one + 8 > locals) {
        return None;
    }
    Some(Places {
        minor,
        threads: word(0, LARGE)?,
        next: word(1, SMALL)?,
        interpreter: word(2, SMALL)?,
        innermost: Innermost::At(word(3, SMALL)?),
        head: locals as usize,
        code: code as usize,
        previous: previous as usize,
        at: At::Address(at as usize),
        locals,
        tagged: minor >= 14,
        instructions: Instructions::Here(word(8, SMALL)?),
        ..twelve()
    })
}
