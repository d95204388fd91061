//! Instructions by what they do to the stack of values, for all versions alike.

use super::tables;
use crate::frames::Opcodes;

/// First and last of a row, and what they do.
pub(super) type Row = (u8, u8, Op);

/// What stands before the `=` of an augmented assignment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sign {
    Plus,
    Or,
    Minus,
    And,
    Other,
}

/// What an instruction does to the stack of values. The argument says which variable, name or constant, how many
/// values, or how far to jump.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Op {
    Nothing,
    /// It is not known what it does to the stack: what was there is forgotten.
    Forget,
    /// What stands there is somewhere else: a debugger's, or compiled code's.
    Hides,
    /// More of the next one's argument.
    Extends,
    /// Takes so many values and leaves so many that nothing is known of.
    Take(u8, u8),
    Null,
    LoadFast,
    LoadFastTwo,
    /// Before a comprehension that is written into its function: its variable is the same as one of the function, whose
    /// value is kept on the stack until it is over.
    LoadFastClear,
    StoreFast,
    StoreFastLoad,
    StoreFastStore,
    DeleteFast,
    LoadDeref,
    StoreDeref,
    DeleteDeref,
    LoadName,
    StoreName,
    DeleteName,
    LoadGlobal,
    StoreGlobal,
    DeleteGlobal,
    LoadConst,
    /// `None` and others that the interpreter has itself.
    LoadCommon,
    LoadNumber,
    LoadAttr,
    LoadMethod,
    LoadSuper,
    StoreAttr,
    DeleteAttr,
    Subscript,
    /// `x[y:z]`.
    Slice,
    StoreSubscript,
    DeleteSubscript,
    StoreSlice,
    /// By its argument: +, |, += and the others.
    Binary,
    Sum,
    Inplace(Sign),
    Make,
    MakePairs,
    MakeKeyed,
    MakeSlice,
    MakeInterpolation,
    MakeFunction,
    /// Puts all of the last one into one that was made before.
    Spread,
    /// A function of the interpreter's own, by its argument: a list becomes a tuple.
    Intrinsic,
    Call,
    CallKw,
    CallMethod,
    CallFunction,
    CallFunctionKw,
    CallSpread,
    Copy,
    Swap,
    Duplicate(u8),
    Rotate(u8),
    RotateMany,
    Jump,
    JumpTo,
    JumpBack,
    PopJump,
    PopJumpBack,
    PopTwoJump,
    JumpOrPop,
    Iterate,
    Send,
    Format,
    Unpack,
    UnpackRest,
    /// The next instruction is not reached from here.
    Ends,
    /// Where an exception is dealt with.
    Catches,
    /// From here on an exception leads to another place (up to 3.10).
    Setup,
}

/// One instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Instruction {
    /// In words of two bytes: its first, before what extends its argument, and one behind its last.
    pub at: usize,
    pub next: usize,
    pub op: Op,
    pub argument: usize,
}

/// A version's instructions.
#[derive(Clone, Copy)]
pub(super) struct Table {
    words: Opcodes,
    rows: &'static [Row],
    watched: &'static [(u8, u8)],
}

impl Table {
    pub(super) fn of(minor: u32) -> Option<Table> {
        let (rows, watched): (_, &[(u8, u8)]) = match minor {
            9 => (tables::NINE, &[]),
            10 => (tables::TEN, &[]),
            11 => (tables::ELEVEN, &[]),
            12 => (tables::TWELVE, tables::TWELVE_WATCHED),
            13 => (tables::THIRTEEN, tables::THIRTEEN_WATCHED),
            14 => (tables::FOURTEEN, tables::FOURTEEN_WATCHED),
            15 => (tables::FIFTEEN, tables::FIFTEEN_WATCHED),
            _ => return None,
        };
        Some(Table {
            words: Opcodes::of(minor)?,
            rows,
            watched,
        })
    }

    /// All instructions; none if some are hidden.
    pub(super) fn read(&self, bytes: &[u8]) -> Option<Vec<Instruction>> {
        let (units, _) = bytes.as_chunks::<2>();
        let mut all = Vec::with_capacity(units.len() / 2);
        let (mut at, mut begin, mut more) = (0, 0, 0usize);
        while let Some([opcode, argument]) = units.get(at) {
            let opcode = self.plain(*opcode);
            let argument = more << 8 | usize::from(*argument);
            let next = at + 1 + self.words.followed_by(opcode);
            match self.op(opcode) {
                Op::Hides => return None,
                Op::Extends => more = argument & 0xff_ffff,
                op => {
                    all.push(Instruction {
                        at: begin,
                        next,
                        op,
                        argument,
                    });
                    (more, begin) = (0, next);
                }
            }
            at = next;
        }
        Some(all)
    }

    fn plain(&self, opcode: u8) -> u8 {
        let found = self.watched.iter().find(|(watched, _)| *watched == opcode);
        found.map_or(opcode, |(_, plain)| *plain)
    }

    fn op(&self, opcode: u8) -> Op {
        let after = self.rows.partition_point(|(_, last, _)| *last < opcode);
        match self.rows.get(after) {
            Some((first, _, op)) if *first <= opcode => *op,
            _ => Op::Forget,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_in_order() {
        for minor in 9..=15 {
            let rows = Table::of(minor).unwrap().rows;
            assert!(rows.iter().all(|(first, last, _)| first <= last));
            assert!(rows.windows(2).all(|two| two[0].1 < two[1].0), "3.{minor}");
        }
        assert!(Table::of(8).is_none() && Table::of(16).is_none());
    }

    #[test]
    fn debuggers_forms_are_read_and_what_they_hide_is_not() {
        let twelve = Table::of(12).unwrap();
        // INSTRUMENTED_RESUME, then INSTRUMENTED_CALL 2 with its three words.
        let read = twelve
            .read(&[240, 0, 241, 2, 0, 0, 0, 0, 0, 0, 83, 0])
            .unwrap();
        let ops: Vec<Op> = read.iter().map(|one| one.op).collect();
        assert_eq!(ops, [Op::Nothing, Op::Call, Op::Ends]);
        assert_eq!(read[2].at, 5);
        assert_eq!(twelve.read(&[254, 0]), None);
    }

    #[test]
    fn an_extended_argument_belongs_to_the_next_instruction() {
        let read = Table::of(13).unwrap().read(&[71, 1, 85, 4]).unwrap();
        let [one] = read[..] else { panic!("{read:?}") };
        assert_eq!((one.at, one.next, one.argument), (0, 2, 260));
    }
}
