//! The loops in a piece of code, by its instructions: where each begins and ends. A frame at an instruction is in those
//! that span it, and holds an iterator for each `for` of them. That needs no guess about how much of a frame's
//! stack of values is in use: what is above its top is left over from before.

use super::layout::{Instructions, Places};
use super::opcodes::{Does, Opcodes};
use super::ranges::{Ranges, Written};
use crate::object::Heap;
use crate::source::Source;

/// Code with more instructions than this is not read.
const LONGEST: u64 = 1 << 16;
/// Loops in one piece of code.
const MOST_LOOPS: usize = 512;
/// Names that are looked through.
const MOST_NAMES: usize = 1024;
/// Locals, and values on the stack, that are read.
pub(super) const MOST_SLOTS: u32 = 64;
/// Where an object of bytes has them.
const BYTES: u64 = 32;
const SIZE: u64 = 16;
/// In code, from 3.11 on: its constants, and what is caught where.
const CONSTANTS: u64 = 24;
const CAUGHT: u64 = 40;
/// Flags of code: it is that of a coroutine, or of a generator that is one.
const COROUTINE: u32 = 0x80 | 0x100 | 0x200;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    pub begin: usize,
    /// One behind its last.
    pub end: usize,
    /// It goes through an iterator; else it is a `while`.
    pub iterates: bool,
    /// Where its range begins, where the code says so (3.12 and later).
    pub start: Option<i64>,
}

/// A piece of code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Code {
    pub address: u64,
    pub name: String,
    /// Of its file, what is plain.
    pub file: String,
    pub(super) first: u64,
    pub(super) length: usize,
    /// None: it cannot be told.
    spans: Option<Vec<Span>>,
    /// From here on exceptions are dealt with, out of their place.
    out_of_place: usize,
    pub(super) locals: u32,
    pub(super) stack_size: u32,
    /// Whether it asks for the next of something itself.
    pub asks_next: bool,
    pub is_coroutine: bool,
}

impl Code {
    pub(super) fn read<S: Source>(
        heap: &Heap<'_, S>,
        places: &Places,
        address: u64,
    ) -> Option<Code> {
        if heap.type_of(address)?.name != "code" {
            return None;
        }
        let source = heap.source;
        let at = |offset: u64| address.checked_add(offset);
        let number = |offset: u64| Some(u32::from_le_bytes(source.array(at(offset)?)?));
        let pointer = |offset: u64| source.pointer(at(offset)?);
        let text = |offset: u64| heap.text(pointer(offset)?);
        let (first, length) = match places.instructions {
            Instructions::Apart(offset) => {
                let bytes = pointer(offset)?;
                if heap.type_of(bytes)?.name != "bytes" {
                    return None;
                }
                (bytes.checked_add(BYTES)?, source.word(bytes + SIZE)? / 2)
            }
            Instructions::Here(offset) => (at(offset)?, source.word(at(SIZE)?)?),
        };
        if length > LONGEST {
            return None;
        }
        let mut bytes = vec![0; length as usize * 2];
        if !source.fill(first, &mut bytes) {
            return None;
        }
        let names = heap.tuple(pointer(places.names)?, MOST_NAMES);
        let caught = match places.minor {
            ..=11 => Vec::new(),
            12.. => caught(&bytes_at(heap, pointer(CAUGHT)?)?),
        };
        let names = names.unwrap_or_default();
        let written = InCode {
            heap,
            names: &names,
            constants: pointer(CONSTANTS).and_then(|at| heap.tuple(at, MOST_NAMES)),
        };
        let (spans, out_of_place) = spans(&bytes, places.minor, &caught, &written);
        let locals = number(places.locals_count)?;
        Some(Code {
            address,
            name: text(places.name)?,
            file: text(places.file).unwrap_or_default(),
            first,
            length: length as usize,
            spans,
            out_of_place,
            locals,
            stack_size: number(places.stack_size)?,
            asks_next: names.iter().any(|name| heap.is_named(*name, "next")),
            is_coroutine: number(places.flags)? & COROUTINE != 0,
        })
    }

    /// The loops around an instruction, outermost first; none if that cannot be told.
    pub(super) fn around(&self, instruction: usize) -> Option<impl Iterator<Item = &Span>> {
        let spans = self.spans.as_ref()?;
        let is_in = move |span: &&Span| (span.begin..span.end).contains(&instruction);
        (instruction < self.out_of_place).then(|| spans.iter().filter(is_in))
    }

    /// The local of a name.
    pub(super) fn local<S: Source>(
        &self,
        heap: &Heap<'_, S>,
        places: &Places,
        name: &str,
    ) -> Option<usize> {
        let names = heap
            .source
            .pointer(self.address.checked_add(places.locals_names)?)?;
        let names = heap.tuple(names, MOST_NAMES)?;
        names.iter().position(|one| heap.is_named(*one, name))
    }
}

/// Names and constants that are objects in the process.
struct InCode<'a, 'h, S> {
    heap: &'a Heap<'h, S>,
    names: &'a [u64],
    constants: Option<Vec<u64>>,
}

impl<S: Source> Written for InCode<'_, '_, S> {
    fn is_range(&self, name: usize) -> bool {
        let object = self.names.get(name);
        object.is_some_and(|object| self.heap.is_named(*object, "range"))
    }

    fn number(&self, constant: usize) -> Option<i64> {
        self.heap.int(*self.constants.as_ref()?.get(constant)?)
    }
}

fn bytes_at<S: Source>(heap: &Heap<'_, S>, object: u64) -> Option<Vec<u8>> {
    let length = heap.source.word(object.checked_add(SIZE)?)?;
    if heap.type_of(object)?.name != "bytes" || length > LONGEST {
        return None;
    }
    let mut bytes = vec![0; length as usize];
    let came = heap.source.fill(object.checked_add(BYTES)?, &mut bytes);
    came.then_some(bytes)
}

/// What is caught: from where to where, and where it is dealt with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Caught {
    pub(crate) begin: usize,
    pub(crate) end: usize,
    pub(crate) to: usize,
}

/// Four numbers each, six bits a byte: the highest bit begins an entry, the next one says that a number goes on.
pub(crate) fn caught(bytes: &[u8]) -> Vec<Caught> {
    let mut numbers = Vec::new();
    let mut number = 0usize;
    for byte in bytes {
        number = (number << 6 | usize::from(byte & 0x3f)) & 0xff_ffff;
        if byte & 0x40 == 0 {
            numbers.push(std::mem::take(&mut number));
        }
    }
    let each = numbers.chunks_exact(4);
    each.map(|entry| Caught {
        begin: entry[0],
        end: entry[0] + entry[1],
        to: entry[2],
    })
    .collect()
}

/// All loops, outer ones first, and where exceptions begin to be dealt with.
fn spans(
    bytes: &[u8],
    minor: u32,
    caught: &[Caught],
    written: &impl Written,
) -> (Option<Vec<Span>>, usize) {
    let mut out_of_place = usize::MAX;
    let mut catches = 0;
    let Some(opcodes) = Opcodes::of(minor) else {
        return (None, out_of_place);
    };
    let (units, _) = bytes.as_chunks::<2>();
    let mut spans: Vec<Span> = Vec::new();
    let mut ranges = Ranges::new(written, minor);
    let (mut at, mut begin, mut more) = (0, 0, 0usize);
    while let Some([opcode, number]) = units.get(at) {
        let number = more << 8 | usize::from(*number);
        // 3.9 jumps by bytes.
        let number = if minor == 9 { number / 2 } else { number };
        let next = at + 1 + opcodes.followed_by(*opcode);
        let does = opcodes.does(*opcode);
        let back_to = match does {
            Does::Iterates => {
                spans.push(Span {
                    begin,
                    end: next.saturating_add(number),
                    iterates: true,
                    start: ranges.loop_begins(),
                });
                None
            }
            Does::JumpsBack => next.checked_sub(number),
            Does::JumpsTo => Some(number).filter(|to| *to <= begin),
            Does::Catches => {
                out_of_place = out_of_place.min(at);
                catches = at;
                None
            }
            Does::Hides => return (None, out_of_place),
            Does::Extends | Does::Else => None,
        };
        if let Some(to) = back_to {
            if at < out_of_place {
                jumped(&mut spans, to, next);
            } else {
                // Back into place: to what comes next, or to try once more.
                let again = caught.iter();
                let again = again.filter(|one| one.to == catches && one.begin >= to);
                if let Some(end) = again.map(|one| one.end).max() {
                    jumped(&mut spans, to, end);
                }
            }
        }
        match does {
            Does::Extends => more = (more << 8 | usize::from(units[at][1])) & 0xff_ffff,
            _ => {
                ranges.see(*opcode, number);
                (more, begin) = (0, next);
            }
        }
        at = next;
        if spans.len() > MOST_LOOPS {
            return (None, out_of_place);
        }
    }
    // Of two that begin at the same place, the longer is the outer one.
    spans.sort_by_key(|span| (span.begin, std::cmp::Reverse(span.end)));
    (Some(spans), out_of_place)
}

/// A jump back is the end of a `for`, or makes a `while` loop of its own. There may be several for one loop.
fn jumped(spans: &mut Vec<Span>, to: usize, end: usize) {
    match spans.iter_mut().find(|span| span.begin == to) {
        Some(span) if span.iterates => {}
        Some(span) => span.end = span.end.max(end),
        None => spans.push(Span {
            begin: to,
            end,
            iterates: false,
            start: None,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(begin: usize, end: usize, iterates: bool) -> Span {
        Span {
            begin,
            end,
            iterates,
            start: None,
        }
    }

    /// Code without names.
    struct Nameless;

    impl Written for Nameless {
        fn is_range(&self, _: usize) -> bool {
            false
        }
        fn number(&self, _: usize) -> Option<i64> {
            None
        }
    }

    #[test]
    fn a_for_in_a_while_in_a_for_is_three_loops() {
        // 3.10: for: while: for: pass, with jumps to absolute places.
        let code = [
            68, 0, 93, 5, 68, 0, 93, 1, 113, 3, 114, 2, 113, 1, 100, 0, 83, 0,
        ];
        let (spans, _) = spans(&code, 10, &[], &Nameless);
        let expected = [span(1, 7, true), span(2, 6, false), span(3, 5, true)];
        assert_eq!(spans.unwrap(), expected);
    }

    #[test]
    fn a_long_loop_begins_before_its_extended_number() {
        // 3.13: EXTENDED_ARG 1, FOR_ITER 4 with a word behind it: 260 instructions.
        let mut code = vec![71, 1, 72, 4, 0, 0];
        code.extend([27, 0].repeat(256));
        // EXTENDED_ARG 1, JUMP_BACKWARD 6 with a word behind it, to the first EXTENDED_ARG.
        code.extend([71, 1, 77, 6, 0, 0]);
        let (spans, _) = spans(&code, 13, &[], &Nameless);
        assert_eq!(spans.unwrap(), [span(0, 3 + 260, true)]);
    }

    #[test]
    fn words_that_follow_an_instruction_are_none() {
        // 3.13: LOAD_ATTR with nine words that look like FOR_ITER.
        let mut code = vec![82, 0];
        code.extend([72, 9].repeat(9));
        code.extend([36, 0]);
        assert_eq!(spans(&code, 13, &[], &Nameless).0.unwrap(), []);
    }

    #[test]
    fn to_try_once_more_is_a_loop_and_to_go_on_is_none() {
        // 3.13: NOP, what is tried, RETURN_CONST; PUSH_EXC_INFO, POP_EXCEPT, JUMP_BACKWARD.
        let code = |back: u8| [30, 0, 27, 0, 103, 0, 33, 0, 31, 0, 77, back, 0, 0];
        let caught = super::caught(&[0x80 | 1, 1, 3, 0]);
        assert_eq!((caught[0].begin, caught[0].end, caught[0].to), (1, 2, 3));
        let (again, out_of_place) = spans(&code(6), 13, &caught, &Nameless);
        assert_eq!((again.unwrap(), out_of_place), (vec![span(1, 2, false)], 3));
        let (on, _) = spans(&code(5), 13, &caught, &Nameless);
        assert_eq!(on.unwrap(), []);
    }

    #[test]
    fn watched_code_is_not_told() {
        assert_eq!(spans(&[254, 0, 93, 0], 12, &[], &Nameless).0, None);
    }

    #[test]
    fn garbage_has_an_end() {
        for minor in 9..=15 {
            for seed in 0..=255u8 {
                let bytes: Vec<u8> = (0..4000u32)
                    .map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8 ^ seed)
                    .collect();
                spans(&bytes, minor, &super::caught(&bytes), &Nameless);
            }
        }
    }
}
