//! What is known at one instruction: the top of the stack of values, what variables were given, and which of them may
//! have a value at all.

use super::value::Value;

/// Values that are followed: what lies deeper is not known any more.
const MOST_VALUES: usize = 64;
/// Variables of which it is remembered what they were given.
const MOST_KEPT: usize = 32;

#[derive(Clone, Debug, Default)]
pub(super) struct State {
    /// Its end is the top. Below its beginning there may be more, of which nothing is known.
    stack: Vec<Value>,
    kept: Vec<(usize, Value)>,
    /// One bit for each variable that may have been given a value before.
    given: Vec<u64>,
    /// An exception led here: whatever was given before that instruction may have been.
    given_before: usize,
}

impl State {
    /// Where an exception leads to that was raised before an instruction: nothing else is known there.
    pub(super) fn caught(before: usize) -> State {
        State {
            given_before: before,
            ..State::default()
        }
    }

    pub(super) fn push(&mut self, value: Value) {
        if self.stack.len() == MOST_VALUES {
            self.stack.remove(0);
        }
        self.stack.push(value);
    }

    pub(super) fn pop(&mut self) -> Value {
        self.stack.pop().unwrap_or(Value::Beneath)
    }

    /// Takes so many away, of which the deepest is handed out last.
    pub(super) fn pop_many(&mut self, count: usize) -> Vec<Value> {
        let known = count.min(self.stack.len());
        let mut taken = self.stack.split_off(self.stack.len() - known);
        taken.reverse();
        taken
    }

    pub(super) fn take(&mut self, pops: usize, pushes: usize) {
        self.stack.truncate(self.stack.len().saturating_sub(pops));
        if pushes > MOST_VALUES {
            return self.forget();
        }
        for _ in 0..pushes {
            self.push(Value::Unknown);
        }
    }

    pub(super) fn forget(&mut self) {
        self.stack.clear();
    }

    /// The value that is so deep, the top being 1.
    pub(super) fn deep(&self, depth: usize) -> Value {
        let place = self.stack.len().checked_sub(depth);
        let value = place.and_then(|place| self.stack.get(place));
        value.cloned().unwrap_or(Value::Beneath)
    }

    pub(super) fn change(&mut self, depth: usize, change: impl FnOnce(&Value) -> Value) {
        if let Some(place) = self.stack.len().checked_sub(depth)
            && let Some(value) = self.stack.get_mut(place)
        {
            *value = change(value);
        }
    }

    /// The top and one that is so deep change places.
    pub(super) fn swap(&mut self, depth: usize) {
        if self.reaches(depth) {
            let top = self.stack.len() - 1;
            self.stack.swap(top, top + 1 - depth);
        }
    }

    /// The top goes below so many others.
    pub(super) fn rotate(&mut self, depth: usize) {
        if self.reaches(depth) {
            let end = self.stack.len();
            self.stack[end - depth..].rotate_right(1);
        }
    }

    /// Whether the stack goes so deep; made so with values of which nothing is known.
    fn reaches(&mut self, depth: usize) -> bool {
        if depth == 0 || depth > MOST_VALUES {
            self.forget();
            return false;
        }
        while self.stack.len() < depth {
            self.stack.insert(0, Value::Beneath);
        }
        true
    }

    pub(super) fn kept(&self, variable: usize) -> Option<&Value> {
        let mut kept = self.kept.iter();
        kept.find(|(one, _)| *one == variable)
            .map(|(_, value)| value)
    }

    pub(super) fn keep(&mut self, variable: usize, value: Option<Value>) {
        self.kept.retain(|(one, _)| *one != variable);
        if let Some(value) = value
            && self.kept.len() < MOST_KEPT
        {
            self.kept.push((variable, value));
        }
    }

    /// A loop comes back here, with whatever variables were given in it.
    pub(super) fn comes_again(&mut self) {
        self.kept.clear();
    }

    /// The same, as for what was made and lies on the stack meanwhile: a comprehension fills it.
    pub(super) fn fills(&mut self) {
        for value in &mut self.stack {
            if matches!(value, Value::From(_) | Value::Of(_)) {
                *value = Value::Unknown;
            }
        }
    }

    /// `first` is the first instruction that gives it something.
    pub(super) fn is_given(&self, variable: usize, first: Option<usize>) -> bool {
        let word = self.given.get(variable / 64);
        let before = first.is_some_and(|first| first < self.given_before);
        before || word.is_some_and(|word| word >> (variable % 64) & 1 == 1)
    }

    pub(super) fn give(&mut self, variable: usize) {
        let word = variable / 64;
        if self.given.len() <= word {
            self.given.resize(word + 1, 0);
        }
        self.given[word] |= 1 << (variable % 64);
    }

    /// Two ways lead here.
    pub(super) fn meet(&mut self, other: &State) {
        let known = self.stack.len().min(other.stack.len());
        self.stack.drain(..self.stack.len() - known);
        let theirs = &other.stack[other.stack.len() - known..];
        for (value, their) in self.stack.iter_mut().zip(theirs) {
            *value = value.met(their);
        }
        self.kept.retain(|one| other.kept.contains(one));
        self.given_before = self.given_before.max(other.given_before);
        let longer = self.given.len().max(other.given.len());
        self.given.resize(longer, 0);
        for (word, their) in self.given.iter_mut().zip(&other.given) {
            *word |= their;
        }
    }
}
