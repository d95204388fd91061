//! Where jumps lead to, and the loops that they make.

use std::collections::HashSet;

use super::opcodes::{Instruction, Op};

/// Where jumps lead back to.
#[derive(Debug, Default)]
pub(super) struct Loops {
    spans: Vec<(usize, usize)>,
    heads: HashSet<usize>,
    /// With those that handlers have.
    all_heads: HashSet<usize>,
}

impl Loops {
    pub(super) fn of(minor: u32, instructions: &[Instruction]) -> Loops {
        let mut loops = Loops::default();
        let mut is_handler = false;
        for one in instructions {
            // From 3.12 on exceptions are dealt with behind all else, and jumps from there are not around what is
            // between.
            is_handler |= minor >= 12 && one.op == Op::Catches;
            let jumps = matches!(
                one.op,
                Op::JumpBack | Op::PopJumpBack | Op::JumpTo | Op::PopJump | Op::JumpOrPop
            );
            if let Some(to) = target(minor, one).filter(|to| jumps && *to <= one.at) {
                loops.all_heads.insert(to);
                if !is_handler {
                    loops.spans.push((to, one.at));
                }
            }
        }
        loops.heads = loops.spans.iter().map(|(to, _)| *to).collect();
        loops
    }

    pub(super) fn begins_at(&self, at: usize) -> bool {
        self.heads.contains(&at)
    }

    /// Code behind comes back here, be it a loop's or a handler's: a comprehension in one, for example.
    pub(super) fn come_back_to(&self, at: usize) -> bool {
        self.all_heads.contains(&at)
    }

    pub(super) fn around(&self, at: usize) -> bool {
        let mut spans = self.spans.iter();
        spans.any(|(begin, end)| (*begin..*end).contains(&at))
    }
}

/// Where a jump leads to, in words.
pub(super) fn target(minor: u32, one: &Instruction) -> Option<usize> {
    // 3.9 counts bytes.
    let argument = if minor == 9 {
        one.argument / 2
    } else {
        one.argument
    };
    match one.op {
        Op::JumpTo | Op::PopTwoJump => Some(argument),
        Op::PopJump | Op::JumpOrPop if minor <= 10 => Some(argument),
        Op::JumpBack | Op::PopJumpBack => one.next.checked_sub(argument),
        _ => one.next.checked_add(argument),
    }
}
