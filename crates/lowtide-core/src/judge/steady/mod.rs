//! Is growth steady? The floor lasted in rising, kept its pace, came in many rises, and is no start-up or
//! fill that shows in its shape. Each rule here says what is missing for that, and where on the axis it could
//! be there. Whether steady growth ends is another question ([`super::ending`]).

pub(super) mod few_jumps;
pub(super) mod few_points;
pub(super) mod held_as_much_before;
pub(super) mod may_have_ended;
pub(super) mod not_steady;
pub(super) mod slows_down;

use super::line::FloorLine;
use super::tail::Tail;
use crate::verdict::{Axis, Evidence};

/// One thing that is missing before growth is steady, and where on the axis it could be there.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Lack {
    pub says: Evidence,
    pub decides_at: Option<f64>,
}

/// All that is missing, and where the last of it could be there.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Lacking {
    pub says: Vec<Evidence>,
    pub decides_at: Option<f64>,
}

impl Lacking {
    pub(crate) fn is_nothing(&self) -> bool {
        self.says.is_empty()
    }

    pub(super) fn add(&mut self, lack: Lack) {
        self.says.push(lack.says);
        if let Some(at) = lack.decides_at {
            self.decides_at = Some(self.decides_at.map_or(at, |known| known.max(at)));
        }
    }

    /// Its pace changes from end to end: no one rate describes it.
    pub(super) fn bends(&self) -> bool {
        let bend = |says: &Evidence| slows_down::RULE.said(says) || not_steady::RULE.said(says);
        self.says.iter().any(bend)
    }
}

impl FromIterator<Lack> for Lacking {
    fn from_iter<I: IntoIterator<Item = Lack>>(lacks: I) -> Lacking {
        let mut missing = Lacking::default();
        lacks.into_iter().for_each(|lack| missing.add(lack));
        missing
    }
}

/// Growth at the end of a line, with what its rules are asked beside its own shape.
#[derive(Clone, Copy, Debug)]
pub(super) struct GrowingEnd<'a> {
    pub axis: Axis,
    /// All that was watched.
    pub whole: &'a FloorLine,
    /// The line that grows: the whole one, or its valleys.
    pub line: &'a FloorLine,
    /// The line is made of the valleys of saw-teeth.
    pub toothed: bool,
}

impl GrowingEnd<'_> {
    fn last(&self) -> f64 {
        self.whole.last_x()
    }

    /// How far apart the points of the line lie.
    fn spacing(&self) -> f64 {
        self.whole.span() / (self.line.len().max(2) - 1) as f64
    }

    /// Asks every rule about one end of the line, those that weigh most first.
    pub(crate) fn missing(&self, tail: &Tail) -> Lacking {
        let lacks = [
            few_points::lacks(self, tail),
            held_as_much_before::lacks(self, tail),
            few_jumps::lacks(self, tail),
            self.one_pace(tail),
            may_have_ended::lacks(self, tail),
        ];
        lacks.into_iter().flatten().collect()
    }

    /// What speaks against one pace from end to end: the first that does says it best.
    fn one_pace(&self, tail: &Tail) -> Option<Lack> {
        slows_down::between_parts(self, tail)
            .or_else(|| not_steady::between_parts(self, tail))
            .or_else(|| slows_down::from_end_to_end(self, tail))
            .or_else(|| not_steady::unsure(self, tail))
    }
}
