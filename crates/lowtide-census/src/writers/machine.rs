//! Goes through the instructions of a piece of code once, in their order, and follows where the values on its stack come
//! from: so `self.rows.append(x)` is a call of `append` of the attribute `rows` of the first argument, whatever stands
//! in between. Where two ways meet only what is the same on both is known; where an exception leads to, nothing is; an
//! instruction that is not known makes the stack forgotten. So what is not sure is left out, not made up.
//!
//! It goes twice: the first time it learns which variables are only ever given one thing (`rows = self.rows`).
//! Fed by [`super::read`]; what it finds ([`Site`]) is read by [`super::matching`].

use std::collections::HashMap;

use super::body::Body;
use super::jumps::{Loops, target};
use super::marks::Marks;
use super::opcodes::{Instruction, Op, Sign, Table};
use super::site::Site;
use super::state::State;
use super::value::Value;

/// Ways ahead that are remembered: each is the state of one jump.
const MOST_AHEAD: usize = 4096;
/// `BINARY_OP`'s arguments, from 3.11 on.
const ADD: usize = 0;
const OR: usize = 7;
const INPLACE: [(usize, Sign); 4] = [
    (13, Sign::Plus),
    (14, Sign::And),
    (20, Sign::Or),
    (23, Sign::Minus),
];
const INPLACE_ALL: std::ops::RangeInclusive<usize> = 13..=25;
const SUBSCRIPT: usize = 26;
/// `LOAD_COMMON_CONSTANT`'s, from 3.15 on.
const COMMON_NONE: usize = 7;
/// `CALL_INTRINSIC_1`'s: a list becomes a tuple.
const LIST_TO_TUPLE: usize = 6;

/// All places that add to something or empty it. None if the code cannot be read.
pub(super) fn sites(body: &Body) -> Option<Vec<Site>> {
    let instructions = Table::of(body.minor)?.read(&body.instructions)?;
    let loops = Loops::of(body.minor, &instructions);
    let mut first = Machine::new(body, &loops, HashMap::new());
    first.run(&instructions);
    let aliases = first.marks.aliases();
    let mut second = Machine::new(body, &loops, aliases);
    second.run(&instructions);
    Some(second.marks.sites)
}

/// A name is given something, and is deleted right after.
fn is_undone(stores: &Instruction, deletes: &Instruction) -> bool {
    let deleted = match stores.op {
        Op::StoreFast => Op::DeleteFast,
        Op::StoreDeref => Op::DeleteDeref,
        Op::StoreName => Op::DeleteName,
        Op::StoreGlobal => Op::DeleteGlobal,
        _ => return false,
    };
    deletes.op == deleted && deletes.argument == stores.argument
}

struct Machine<'a> {
    body: &'a Body,
    loops: &'a Loops,
    state: State,
    /// The instruction before leads here.
    is_reached: bool,
    /// The next instruction takes back what the last one did.
    is_undone: bool,
    ahead: HashMap<usize, State>,
    /// Where exceptions lead to, and what may raise them ends.
    caught: HashMap<usize, usize>,
    /// That of the last such place.
    raised_before: usize,
    marks: Marks<'a>,
}

impl<'a> Machine<'a> {
    fn new(body: &'a Body, loops: &'a Loops, aliases: HashMap<usize, Value>) -> Machine<'a> {
        let mut state = State::default();
        (0..body.arguments).for_each(|argument| state.give(argument));
        let mut caught = HashMap::new();
        for (to, end) in &body.caught {
            let before: &mut usize = caught.entry(*to).or_default();
            *before = (*before).max(*end);
        }
        Machine {
            body,
            loops,
            state,
            is_reached: true,
            is_undone: false,
            ahead: HashMap::new(),
            caught,
            raised_before: 0,
            marks: Marks::new(body, loops, aliases),
        }
    }

    fn run(&mut self, instructions: &[Instruction]) {
        for (nth, one) in instructions.iter().enumerate() {
            if let Some(before) = self.caught.get(&one.at) {
                self.raised_before = *before;
            }
            match self.ahead.remove(&one.at) {
                Some(state) if self.is_reached => self.state.meet(&state),
                Some(state) => self.state = state,
                None if self.is_reached => {}
                None => self.state = State::caught(self.raised_before),
            }
            self.is_reached = true;
            if self.loops.begins_at(one.at) {
                self.state.comes_again();
            }
            if self.loops.come_back_to(one.at) {
                self.state.fills();
            }
            self.marks.at = one.at;
            self.step(one, instructions.get(nth + 1));
        }
    }

    fn step(&mut self, one: &Instruction, next: Option<&Instruction>) {
        let argument = one.argument;
        match one.op {
            Op::Nothing | Op::Extends => {}
            Op::Forget | Op::Hides | Op::Catches => self.state.forget(),
            Op::Take(pops, pushes) => self.state.take(pops.into(), pushes.into()),
            Op::Ends => {
                let given_back = self.state.deep(1);
                self.marks.passed_on(&given_back);
                self.is_reached = false;
            }
            Op::Null => self.state.push(Value::Null),
            Op::Copy => {
                let value = self.state.deep(argument);
                self.state.push(value);
            }
            Op::Duplicate(count) => {
                for _ in 0..count {
                    let value = self.state.deep(count.into());
                    self.state.push(value);
                }
            }
            Op::Swap => self.state.swap(argument),
            Op::Rotate(depth) => self.state.rotate(depth.into()),
            Op::RotateMany => self.state.rotate(argument),
            Op::Make => self.make(argument),
            Op::MakePairs => self.make(argument.saturating_mul(2)),
            Op::MakeKeyed => self.make(argument.saturating_add(1)),
            Op::MakeSlice => {
                let cuts = argument != 3 && self.has_ends();
                self.state.take(if argument == 3 { 3 } else { 2 }, 0);
                self.state.push(Value::Slice { cuts });
            }
            Op::MakeInterpolation => self.state.take(2 + (argument & 1), 1),
            Op::MakeFunction => {
                let given = (argument & 15).count_ones() as usize;
                let own = if self.body.minor >= 11 { 1 } else { 2 };
                self.state.take(own + given, 1);
            }
            Op::Format => self.state.take(1 + usize::from(argument & 4 != 0), 1),
            Op::Spread => {
                let value = self.state.pop();
                self.state.change(argument, |made| match made {
                    Value::From(_) | Value::Of(_) => Value::from_two(made, &value),
                    other => other.clone(),
                });
            }
            Op::Intrinsic if argument == LIST_TO_TUPLE => {}
            Op::Intrinsic => self.state.take(1, 1),
            Op::Unpack => self.state.take(1, argument),
            Op::UnpackRest => self.state.take(1, (argument & 255) + 1 + (argument >> 8)),
            Op::Binary | Op::Sum | Op::Inplace(_) | Op::Subscript => self.binary(one.op, argument),
            Op::Slice => {
                let cuts = self.has_ends();
                self.state.take(2, 0);
                let part = self.state.pop().cut();
                self.state.push(if cuts { part } else { Value::Unknown });
            }
            Op::Call
            | Op::CallKw
            | Op::CallMethod
            | Op::CallFunction
            | Op::CallFunctionKw
            | Op::CallSpread => self.call(one.op, argument),
            Op::Jump
            | Op::JumpTo
            | Op::JumpBack
            | Op::PopJump
            | Op::PopJumpBack
            | Op::PopTwoJump
            | Op::JumpOrPop
            | Op::Iterate
            | Op::Send
            | Op::Setup => self.jump(one),
            // `except E as e` ends with `e = None; del e`, which nobody wrote.
            _ if std::mem::take(&mut self.is_undone) => {}
            op => {
                let is_constant = matches!(
                    self.state.deep(1),
                    Value::Constant(_) | Value::Common { .. }
                );
                self.is_undone = is_constant && next.is_some_and(|next| is_undone(one, next));
                self.named(op, argument, self.is_undone);
            }
        }
    }

    /// Of the two ends of a slice, which are on the stack, one is not `None`.
    fn has_ends(&self) -> bool {
        let ends = [self.state.deep(1), self.state.deep(2)];
        !ends.iter().all(|end| self.body.is_none(end))
    }

    fn make(&mut self, count: usize) {
        let items = self.state.pop_many(count);
        items.iter().for_each(|item| self.marks.passed_on(item));
        // What lay below what is known of the stack is not known.
        let made = match items.len() == count {
            true => Value::of_items(&items),
            false => Value::Unknown,
        };
        self.state.push(made);
    }

    fn binary(&mut self, op: Op, argument: usize) {
        let (right, left) = (self.state.pop(), self.state.pop());
        let op = match (op, argument) {
            (Op::Binary, ADD | OR) => Op::Sum,
            (Op::Binary, SUBSCRIPT) => Op::Subscript,
            (Op::Binary, argument) if INPLACE_ALL.contains(&argument) => {
                let known = INPLACE.iter().find(|(number, _)| *number == argument);
                Op::Inplace(known.map_or(Sign::Other, |(_, sign)| *sign))
            }
            (op, _) => op,
        };
        self.state.push(match op {
            Op::Sum => Value::from_two(&left, &right),
            // A slice is a copy.
            Op::Subscript if self.body.cuts(&right) => left.cut(),
            Op::Subscript if self.body.is_slice(&right) => Value::Unknown,
            Op::Subscript => left.item(),
            Op::Inplace(sign) => left.inplace(sign),
            _ => Value::Unknown,
        });
    }

    fn call(&mut self, op: Op, argument: usize) {
        let minor = self.body.minor;
        // How many values are arguments (names of them, too), and whether room for an object is beside the callee.
        let (above, has_room) = match op {
            Op::Call | Op::CallMethod => (argument, true),
            Op::CallKw => (argument.saturating_add(1), true),
            Op::CallFunction => (argument, false),
            Op::CallFunctionKw => (argument.saturating_add(1), false),
            _ if minor >= 14 => (2, true),
            _ => (1 + (argument & 1), minor >= 11),
        };
        let arguments = self.state.pop_many(above);
        arguments.iter().for_each(|one| self.marks.passed_on(one));
        let is_known = op != Op::CallSpread && arguments.len() == above;
        let mut callee = self.state.pop();
        if has_room {
            let below = self.state.pop();
            if below != Value::Null {
                callee = below;
            }
        }
        let result = self.marks.called(&callee, is_known.then_some(&arguments));
        self.state.push(result);
    }

    fn jump(&mut self, one: &Instruction) {
        let minor = self.body.minor;
        let to = target(minor, one);
        match one.op {
            Op::Jump | Op::JumpTo | Op::JumpBack => {
                self.leads(one, to);
                self.is_reached = false;
            }
            Op::PopJump | Op::PopJumpBack => {
                self.state.pop();
                self.leads(one, to);
            }
            Op::PopTwoJump => {
                self.state.take(2, 0);
                self.leads(one, to);
            }
            Op::JumpOrPop => {
                self.leads(one, to);
                self.state.pop();
            }
            Op::Iterate if minor >= 12 => {
                self.state.push(Value::Unknown);
                self.leads(one, to);
            }
            Op::Iterate => {
                let iterator = self.state.pop();
                self.leads(one, to);
                self.state.push(iterator);
                self.state.push(Value::Unknown);
            }
            Op::Send if minor >= 12 => {
                self.state.take(1, 1);
                self.leads(one, to);
            }
            Op::Send => {
                let mut sent = self.state.clone();
                sent.take(2, 1);
                std::mem::swap(&mut self.state, &mut sent);
                self.leads(one, to);
                std::mem::swap(&mut self.state, &mut sent);
                self.state.take(1, 1);
            }
            // Where exceptions lead to; what a `with` leaves on the stack is not asked for.
            _ => {
                let here = std::mem::replace(&mut self.state, State::caught(to.unwrap_or(0)));
                self.leads(one, to);
                self.state = here;
                self.state.forget();
            }
        }
    }

    /// The state at a place ahead is this one, or what this one and others have in common.
    fn leads(&mut self, one: &Instruction, to: Option<usize>) {
        let Some(to) = to.filter(|to| *to > one.at) else {
            return;
        };
        if let Some(other) = self.ahead.get_mut(&to) {
            other.meet(&self.state);
        } else if self.ahead.len() < MOST_AHEAD {
            self.ahead.insert(to, self.state.clone());
        }
    }

    /// What gives or takes something by its name.
    fn named(&mut self, op: Op, argument: usize, is_undone: bool) {
        let (high, low) = (argument >> 4, argument & 15);
        let (state, marks) = (&mut self.state, &mut self.marks);
        match op {
            Op::LoadFast => state.push(marks.load_fast(state, argument)),
            Op::LoadFastTwo => {
                state.push(marks.load_fast(state, high));
                state.push(marks.load_fast(state, low));
            }
            Op::LoadFastClear => {
                state.push(Value::Saved(argument));
                marks.hide(argument);
            }
            Op::StoreFast => {
                let value = state.pop();
                marks.store_fast(state, argument, value, is_undone);
            }
            Op::StoreFastLoad => {
                let value = state.pop();
                marks.store_fast(state, high, value, false);
                state.push(marks.load_fast(state, low));
            }
            Op::StoreFastStore => {
                for variable in [high, low] {
                    let value = state.pop();
                    marks.store_fast(state, variable, value, false);
                }
            }
            Op::LoadDeref => state.push(Value::Deref(argument)),
            Op::LoadName => state.push(Value::Name(argument)),
            Op::LoadConst => state.push(Value::Constant(argument)),
            Op::LoadCommon => state.push(Value::Common {
                is_none: argument == COMMON_NONE,
            }),
            Op::LoadNumber => state.push(Value::Common { is_none: false }),
            Op::LoadGlobal => match self.body.minor {
                ..=10 => state.push(Value::Global(argument)),
                minor => {
                    let (global, room) = (Value::Global(argument >> 1), argument & 1 == 1);
                    if room && minor <= 12 {
                        state.push(Value::Null);
                    }
                    state.push(global);
                    if room && minor > 12 {
                        state.push(Value::Null);
                    }
                }
            },
            Op::LoadAttr | Op::LoadMethod => {
                let (name, twice) = match (op, self.body.minor) {
                    (Op::LoadAttr, 12..) => (argument >> 1, argument & 1 == 1),
                    _ => (argument, op == Op::LoadMethod),
                };
                let value = state.pop().attribute(name);
                if twice {
                    state.push(value.clone());
                }
                state.push(value);
            }
            Op::LoadSuper => state.take(3, 1 + (argument & 1)),
            Op::StoreDeref => {
                let value = state.pop();
                marks.store_deref(state, argument, &value, is_undone);
            }
            Op::StoreName | Op::StoreGlobal => {
                let value = state.pop();
                let place = match op {
                    Op::StoreName => Value::Name(argument),
                    _ => Value::Global(argument),
                };
                if !is_undone {
                    marks.store(&place, &value);
                }
            }
            Op::StoreAttr => {
                let (owner, value) = (state.pop(), state.pop());
                marks.store(&owner.attribute(argument), &value);
            }
            Op::DeleteFast => marks.delete_fast(state, argument),
            Op::DeleteDeref => marks.delete(&Value::Deref(argument)),
            Op::DeleteName => marks.delete(&Value::Name(argument)),
            Op::DeleteGlobal => marks.delete(&Value::Global(argument)),
            Op::DeleteAttr => {
                let owner = state.pop();
                marks.delete(&owner.attribute(argument));
            }
            Op::StoreSubscript => {
                let (key, container, value) = (state.pop(), state.pop(), state.pop());
                marks.store_item(&container, &key, &value);
            }
            Op::DeleteSubscript => {
                let (_, container) = (state.pop(), state.pop());
                marks.delete_item(&container);
            }
            Op::StoreSlice => {
                let container = state.deep(3);
                state.take(4, 0);
                marks.store_item(&container, &Value::Slice { cuts: true }, &Value::Unknown);
            }
            _ => state.forget(),
        }
    }
}
