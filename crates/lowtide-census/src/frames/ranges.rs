//! Where a `range` began, by the code that makes it: from 3.12 on its iterator does not keep that. But `range(n)` begins
//! at nothing and `range(1, n)` has it written down, in the instructions right before the loop.
//!
//! Values are counted from the name `range` to its call. What else stands there than names, attributes, numbers,
//! operators and calls is not followed, and then it is not known where the loop began.

/// What an instruction does to the stack of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Does {
    /// Puts a global there, and room for whom a call is made for if its number is odd.
    Global,
    /// A name of a module, or of a class.
    Name,
    /// Room for whom a call is made for.
    Room,
    /// What is written down, by its place.
    Constant,
    /// A small number, which is its own.
    Number,
    One,
    Two,
    /// Puts an attribute in the place of its owner, and the owner there too if its number is odd.
    Attribute,
    /// Makes one of two.
    Joins,
    Calls,
    MakesIterator,
    Else,
}

/// First and last of a row, and what they do.
type Row = (u8, u8, Does);

/// As `dis` and `_opcode_metadata` of each version have them, with their specialized forms.
#[rustfmt::skip]
const TWELVE: &[Row] = &[
    (111, 112, Does::Global), (116, 116, Does::Global), (101, 101, Does::Name), (2, 2, Does::Room),
    (84, 84, Does::Constant), (100, 100, Does::Constant), (86, 86, Does::One), (88, 88, Does::One),
    (124, 124, Does::One), (127, 127, Does::One), (137, 137, Does::One), (70, 70, Does::Attribute),
    (72, 73, Does::Attribute), (76, 82, Does::Attribute), (106, 106, Does::Attribute), (6, 8, Does::Joins),
    (10, 10, Does::Joins), (13, 13, Does::Joins), (16, 16, Does::Joins), (18, 22, Does::Joins), (25, 25, Does::Joins),
    (122, 122, Does::Joins), (23, 24, Does::Calls), (28, 29, Does::Calls), (34, 34, Does::Calls),
    (38, 48, Does::Calls), (56, 56, Does::Calls), (171, 171, Does::Calls), (68, 68, Does::MakesIterator),
];
#[rustfmt::skip]
const THIRTEEN: &[Row] = &[
    (91, 91, Does::Global), (203, 204, Does::Global), (92, 92, Does::Name), (34, 34, Does::Room),
    (83, 83, Does::Constant), (84, 85, Does::One), (87, 87, Does::One), (88, 88, Does::Two), (82, 82, Does::Attribute),
    (191, 202, Does::Attribute), (5, 5, Does::Joins), (45, 45, Does::Joins), (150, 161, Does::Joins),
    (53, 53, Does::Calls), (162, 181, Does::Calls), (19, 19, Does::MakesIterator),
];
#[rustfmt::skip]
const FOURTEEN: &[Row] = &[
    (92, 92, Does::Global), (192, 193, Does::Global), (93, 93, Does::Name), (33, 33, Does::Room),
    (82, 82, Does::Constant), (190, 191, Does::Constant), (94, 94, Does::Number), (83, 84, Does::One),
    (86, 86, Does::One), (88, 88, Does::One), (87, 87, Does::Two), (89, 89, Does::Two), (80, 80, Does::Attribute),
    (177, 189, Does::Attribute), (44, 44, Does::Joins), (129, 142, Does::Joins), (52, 52, Does::Calls),
    (143, 150, Does::Calls), (154, 165, Does::Calls), (16, 16, Does::MakesIterator),
];
#[rustfmt::skip]
const FIFTEEN: &[Row] = &[
    (91, 91, Does::Global), (196, 197, Does::Global), (92, 92, Does::Name), (31, 31, Does::Room),
    (81, 81, Does::Constant), (93, 93, Does::Number), (82, 83, Does::One), (85, 85, Does::One), (87, 87, Does::One),
    (86, 86, Does::Two), (88, 88, Does::Two), (79, 79, Does::Attribute), (183, 195, Does::Attribute),
    (42, 42, Does::Joins), (129, 143, Does::Joins), (50, 50, Does::Calls), (144, 150, Does::Calls),
    (153, 153, Does::Calls), (157, 168, Does::Calls), (70, 70, Does::MakesIterator), (179, 180, Does::MakesIterator),
];

/// What names and constants of a piece of code are.
pub(super) trait Written {
    fn is_range(&self, name: usize) -> bool;
    fn number(&self, constant: usize) -> Option<i64>;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Nothing,
    /// `range` waits for its call. So many values are above it, the first of them as it is written down; below
    /// nothing while its own room is missing.
    Asked {
        above: i64,
        first: Option<i64>,
    },
    Called(Option<i64>),
    Iterator(Option<i64>),
}

/// Goes along the instructions of a piece of code.
pub(super) struct Ranges<'a, W> {
    written: &'a W,
    minor: u32,
    rows: &'static [Row],
    state: State,
}

impl<'a, W: Written> Ranges<'a, W> {
    pub(super) fn new(written: &'a W, minor: u32) -> Ranges<'a, W> {
        let rows = match minor {
            12 => TWELVE,
            13 => THIRTEEN,
            14 => FOURTEEN,
            15 => FIFTEEN,
            // Older iterators keep where they began.
            _ => &[],
        };
        Ranges {
            written,
            minor,
            rows,
            state: State::Nothing,
        }
    }

    /// Where the range begins that the loop at this instruction goes through, if the code says so.
    pub(super) fn loop_begins(&self) -> Option<i64> {
        match self.state {
            State::Iterator(start) => start,
            _ => None,
        }
    }

    pub(super) fn see(&mut self, opcode: u8, number: usize) {
        let mut rows = self.rows.iter();
        let row = rows.find(|(first, last, _)| (*first..=*last).contains(&opcode));
        let does = row.map_or(Does::Else, |(.., does)| *does);
        self.state = self.next(does, number).unwrap_or(State::Nothing);
    }

    fn next(&self, does: Does, number: usize) -> Option<State> {
        let asked = |above| State::Asked { above, first: None };
        match (does, self.state) {
            (Does::Global, _) if number & 1 == 1 && self.written.is_range(number >> 1) => {
                return Some(asked(0));
            }
            // From 3.13 on its room follows.
            (Does::Name, _) if self.written.is_range(number) => {
                return Some(asked(if self.minor >= 13 { -1 } else { 0 }));
            }
            (Does::MakesIterator, State::Called(start)) => return Some(State::Iterator(start)),
            _ => {}
        }
        let State::Asked { above, first } = self.state else {
            return None;
        };
        let odd = (number & 1) as i64;
        let put = match does {
            Does::Room if above < 0 => return Some(asked(0)),
            _ if above < 0 => return None,
            Does::Calls if above == number as i64 => {
                return Some(State::Called(match number {
                    1 => Some(0),
                    2 | 3 => first,
                    _ => None,
                }));
            }
            Does::Global => 1 + odd,
            Does::Name | Does::Room | Does::One | Does::Constant | Does::Number => 1,
            Does::Two => 2,
            Does::Attribute => odd,
            Does::Joins => -1,
            Does::Calls => -1 - number as i64,
            Does::MakesIterator | Does::Else => return None,
        };
        let now = above + put;
        let touches = matches!(does, Does::Attribute | Does::Joins | Does::Calls);
        if touches && (above == 0 || now < 1) {
            return None;
        }
        let first = match does {
            Does::Constant if above == 0 => self.written.number(number),
            Does::Number if above == 0 => i64::try_from(number).ok(),
            // It is another one by now: an attribute of it, a sum, what a call gave.
            _ if touches && now - odd_of(does, odd) <= 1 => None,
            _ => first,
        };
        Some(State::Asked { above: now, first })
    }
}

/// What an attribute puts there beside itself.
fn odd_of(does: Does, odd: i64) -> i64 {
    if does == Does::Attribute { odd } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Names are `range`, `n`; constants 1, 5.
    struct Few;

    impl Written for Few {
        fn is_range(&self, name: usize) -> bool {
            name == 0
        }
        fn number(&self, constant: usize) -> Option<i64> {
            [1, 5].get(constant).copied()
        }
    }

    fn begins(minor: u32, code: &[(u8, usize)]) -> Option<i64> {
        let mut ranges = Ranges::new(&Few, minor);
        for (opcode, number) in code {
            ranges.see(*opcode, *number);
        }
        ranges.loop_begins()
    }

    // 3.13.
    const RANGE: (u8, usize) = (91, 1);
    const OTHER: (u8, usize) = (91, 3);
    const ONE: (u8, usize) = (83, 0);
    const LOCAL: (u8, usize) = (85, 0);
    const ATTRIBUTE: (u8, usize) = (82, 2);
    const PLUS: (u8, usize) = (45, 0);
    const ITERATOR: (u8, usize) = (19, 0);

    fn call(count: usize) -> (u8, usize) {
        (53, count)
    }

    #[test]
    fn one_argument_begins_at_nothing() {
        assert_eq!(begins(13, &[RANGE, LOCAL, call(1), ITERATOR]), Some(0));
        let attribute = [RANGE, LOCAL, ATTRIBUTE, call(1), ITERATOR];
        assert_eq!(begins(13, &attribute), Some(0));
        let whole = [RANGE, OTHER, LOCAL, call(1), call(1), ITERATOR];
        assert_eq!(begins(13, &whole), Some(0));
        let sum = [RANGE, LOCAL, ONE, PLUS, call(1), ITERATOR];
        assert_eq!(begins(13, &sum), Some(0));
    }

    #[test]
    fn a_number_that_is_written_down_is_where_it_begins() {
        let to_sum = [RANGE, ONE, LOCAL, ONE, PLUS, call(2), ITERATOR];
        assert_eq!(begins(13, &to_sum), Some(1));
        let to_call = [RANGE, ONE, OTHER, LOCAL, call(1), call(2), ITERATOR];
        assert_eq!(begins(13, &to_call), Some(1));
        // 3.15: a small number of its own; and a module's, whose room follows the name.
        let small = [(91, 1), (93, 2), (85, 0), (50, 2), (70, 0)];
        assert_eq!(begins(15, &small), Some(2));
        let module = [(92, 0), (31, 0), (93, 1), (92, 1), (50, 2), (70, 0)];
        assert_eq!(begins(15, &module), Some(1));
        // 3.12: its room comes first.
        let module = [(2, 0), (101, 0), (100, 1), (171, 1), (68, 0)];
        assert_eq!(begins(12, &module), Some(0));
    }

    #[test]
    fn what_is_not_written_down_is_not_known() {
        for code in [
            // range(start, n); range(1 + start, n); range(1 .real, n)
            &[RANGE, LOCAL, LOCAL, call(2), ITERATOR][..],
            &[RANGE, ONE, LOCAL, PLUS, LOCAL, call(2), ITERATOR],
            &[RANGE, ONE, ATTRIBUTE, LOCAL, call(2), ITERATOR],
            // other(range(n)), and a loop over something else.
            &[OTHER, RANGE, LOCAL, call(1), call(1), ITERATOR],
            &[OTHER, LOCAL, call(1), ITERATOR],
            // One of two: where they meet again is not known.
            &[RANGE, LOCAL, (97, 2), LOCAL, call(1), ITERATOR],
            // Something comes between.
            &[RANGE, LOCAL, call(1), ITERATOR, LOCAL],
            &[RANGE, LOCAL, call(1), LOCAL, ITERATOR],
        ] {
            assert_eq!(begins(13, code), None, "{code:?}");
        }
        // other(range, n), by names.
        let handed = [(92, 1), (31, 0), (92, 0), (93, 1), (50, 2), (70, 0)];
        assert_eq!(begins(15, &handed), None);
        // Older iterators tell it themselves.
        assert_eq!(begins(11, &[RANGE, LOCAL, call(1), ITERATOR]), None);
    }

    #[test]
    fn garbage_is_followed_to_no_harm() {
        for minor in 12..=15 {
            let mut ranges = Ranges::new(&Few, minor);
            for seed in 0..100_000u32 {
                let word = seed.wrapping_mul(2_654_435_761) >> 7;
                ranges.see(word as u8, (word >> 8) as usize % 5);
            }
        }
    }
}
