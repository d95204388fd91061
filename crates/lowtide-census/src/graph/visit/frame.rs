//! Frames, and generators that have one in them: what their locals and the values that they are at work with are.

use super::super::plan::Plan;
use super::{Found, HEAD, Visitor};
use crate::frames::{OfGenerator, Places};
use crate::source::{Source, is_pointer};

/// In a frame object of 3.9 and 3.10: the frame before it to its locals' names, what traces it, and where its stack of values
/// begins.
const OLD_FIELDS: [u64; 5] = [24, 32, 40, 48, 56];
const OLD_STACK: u64 = 64;
const OLD_TRACE: [u64; 2] = [80, 72];
const OLD_DEPTH: u64 = 80;
/// In a frame object of 3.11 and later: the frame before it, the frame itself, what traces it.
const BACK: u64 = 16;
const FRAME: u64 = 24;
const TRACE: u64 = 32;
/// In code up to 3.10: the frame that its last call has left for the next one.
const LEFT: u64 = 128;
const LAST_LEFT: u32 = 10;
/// Before every frame of those: what the collector keeps.
const LINKS: u64 = 16;
/// How many values a frame has: a number up to 3.13, the address of the next free place after.
const TOP: u64 = 64;
/// The last version that counts.
const COUNTS: u32 = 13;
/// Values in a frame.
const MOST_VALUES: u64 = 1 << 16;
/// The lowest bits of a word in a frame (3.14) are no part of the address.
const TAGS: u64 = 3;

/// The words of a frame that hold: function, locals, code and the object that stands for it; the others are borrowed.
fn held(minor: u32) -> [u64; 4] {
    match minor {
        ..=11 => [0, 24, 32, 40],
        12.. => [0, 16, 40, 48],
    }
}

impl<S: Source> Visitor<'_, S> {
    pub(super) fn generator(&self, object: u64, plan: &Plan, found: &mut Found) -> Option<()> {
        let Some(places) = self.places else {
            return self.scanned(object, plan, found);
        };
        let OfGenerator::Here { frame, state } = places.generator else {
            return self.scan(object, HEAD, plan.basic, plan, found);
        };
        self.scan(object, HEAD, frame, plan, found)?;
        let [state] = self.heap.source.array(object + state)?;
        let frame = object.checked_add(frame)?;
        if let Some(values) = self.room(&places, frame) {
            found.told += values * 8;
        }
        // What has ended, or is cleared, has left its words behind.
        if ended(&places, state as i8) {
            return Some(());
        }
        self.frame(&places, frame, found)
    }

    pub(super) fn frame_object(&self, object: u64, plan: &Plan, found: &mut Found) -> Option<()> {
        let Some(places) = self.places else {
            return self.scan(object, HEAD, plan.basic, plan, found);
        };
        let source = self.heap.source;
        if places.minor <= 10 {
            return self.old_frame(&places, object, found);
        }
        found.refers(source.word(object + BACK)?);
        found.refers(source.word(object + TRACE)?);
        let frame = source.pointer(object + FRAME)?;
        if let Some(values) = self.room(&places, frame) {
            found.told += values * 8;
        }
        // One that runs is its thread's, or its generator's; this object has it only when it has ended.
        let own = (object..object + plan.basic).contains(&frame);
        if own {
            self.frame(&places, frame, found)
        } else {
            Some(())
        }
    }

    /// The frame that it keeps is held by nobody, so it is none of the objects.
    pub(super) fn code_object(&self, object: u64, plan: &Plan, found: &mut Found) -> Option<()> {
        self.scanned(object, plan, found)?;
        if self.heap.layout.minor > LAST_LEFT {
            return Some(());
        }
        let source = self.heap.source;
        if let Some(left) = source.pointer(object + LEFT)
            && let Some(class) = self.heap.type_of(left)
            && class.name == "frame"
            && source.word(left)? == 0
        {
            let values = self.count(left)?;
            let bytes = LINKS + class.basic_size + values * class.item_size;
            found.leaves_out(left - LINKS, bytes);
        }
        Some(())
    }

    fn old_frame(&self, places: &Places, object: u64, found: &mut Found) -> Option<()> {
        let source = self.heap.source;
        for at in OLD_FIELDS {
            found.refers(source.word(object + at)?);
        }
        let nine = places.minor == 9;
        found.refers(source.word(object + OLD_TRACE[usize::from(!nine)])?);
        let locals = object + places.locals;
        let stack = source.pointer(object + OLD_STACK)?;
        let count = stack.checked_sub(locals)? / 8;
        (count <= MOST_VALUES).then_some(())?;
        if let Some(code) = self.code(places, object) {
            let depth = u32::from_le_bytes(source.array(code + places.stack_size)?);
            // One of them counts as part of every frame, and is not.
            let room = count + u64::from(depth).min(MOST_VALUES);
            found.told += room.saturating_sub(1) * 8;
            found.beside += 8;
        }
        self.words(locals, count, found)?;
        if !nine {
            let depth = i32::from_le_bytes(source.array(object + OLD_DEPTH)?);
            if let Ok(depth @ 1..=0xffff) = u64::try_from(depth) {
                self.words(stack, depth, found)?;
            }
        }
        Some(())
    }

    /// What a frame of 3.11 and later holds.
    fn frame(&self, places: &Places, frame: u64, found: &mut Found) -> Option<()> {
        let source = self.heap.source;
        let tags = if places.tagged { TAGS } else { 0 };
        for at in held(places.minor) {
            found.refers(source.word(frame + at)? & !tags);
        }
        let first = frame + places.locals;
        let count = match places.minor {
            ..=COUNTS => {
                let top = i32::from_le_bytes(source.array(frame + TOP)?);
                u64::try_from(top).ok()
            }
            _ => {
                let top = source.word(frame + TOP)?;
                top.checked_sub(first).map(|bytes| bytes / 8)
            }
        };
        let count = match count.filter(|count| *count <= MOST_VALUES) {
            Some(count) => count,
            None => self.locals(places, frame)?,
        };
        for word in source.words(first, count as usize)? {
            // A number in a word of its own, or an address with marks.
            if word & tags != TAGS || tags == 0 {
                let address = word & !tags;
                if is_pointer(address) {
                    found.words.push(address);
                }
            }
        }
        Some(())
    }

    /// How many locals the code of a frame has.
    fn locals(&self, places: &Places, frame: u64) -> Option<u64> {
        let code = self.code(places, frame)?;
        let count = u32::from_le_bytes(self.heap.source.array(code + places.locals_count)?);
        Some(u64::from(count)).filter(|count| *count <= MOST_VALUES)
    }

    /// Locals and values that there is room for.
    fn room(&self, places: &Places, frame: u64) -> Option<u64> {
        let code = self.code(places, frame)?;
        let depth = u32::from_le_bytes(self.heap.source.array(code + places.stack_size)?);
        Some(u64::from(depth).min(MOST_VALUES) + self.locals(places, frame)?)
    }

    fn code(&self, places: &Places, frame: u64) -> Option<u64> {
        let tags = if places.tagged { TAGS } else { 0 };
        let code = self.heap.source.word(frame + places.code as u64)? & !tags;
        let class = self
            .heap
            .type_of(Some(code).filter(|code| is_pointer(*code))?)?;
        (class.name == "code").then_some(code)
    }
}

/// Whether the frame of a generator is over.
fn ended(places: &Places, state: i8) -> bool {
    match places.minor {
        ..=14 => state > 0,
        15.. => !(0..=4).contains(&state),
    }
}
