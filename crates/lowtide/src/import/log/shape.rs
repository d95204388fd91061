//! Lines that differ only in their numbers. A log says the same few things in millions of lines: what was
//! found in one of them holds for the others, and only the values have to be read anew.

/// Longer lines are printed arrays and dumps, of which no two are alike.
const LONGEST: usize = 512;

/// Shapes that are remembered, one for each remainder of a hash: whatever a log prints, it can neither fill
/// the memory nor make the search long. A log has dozens; half a megabyte at most.
const SHAPES: usize = 1024;

/// What is known of lines by their shapes.
pub(super) struct Shapes<T> {
    shapes: Vec<Shape<T>>,
    asked: Vec<u8>,
}

pub(super) struct Shape<T> {
    masked: Vec<u8>,
    known: Option<T>,
}

impl<T> Default for Shapes<T> {
    fn default() -> Shapes<T> {
        Shapes {
            shapes: Vec::new(),
            asked: Vec::new(),
        }
    }
}

impl<T> Shape<T> {
    /// What is known of it, or what is found out now.
    pub(super) fn known_or(&mut self, find_out: impl FnOnce() -> T) -> &T {
        self.known.get_or_insert_with(find_out)
    }
}

impl<T> Shapes<T> {
    /// The shape of a line, if it is one to remember.
    pub(super) fn of(&mut self, line: &str) -> Option<&mut Shape<T>> {
        if line.len() > LONGEST {
            return None;
        }
        if self.shapes.is_empty() {
            self.shapes.resize_with(SHAPES, || Shape {
                masked: Vec::new(),
                known: None,
            });
        }
        mask(line.as_bytes(), &mut self.asked);
        let shape = &mut self.shapes[hash(&self.asked) as usize % SHAPES];
        if shape.masked != self.asked {
            shape.masked.clone_from(&self.asked);
            shape.known = None;
        }
        Some(shape)
    }
}

/// The line with each digit of a number as a zero. A number is what [`super::super::size::each_size`] takes
/// for one: other digits (`gpu1`, `v2`) are parts of words and stay.
fn mask(line: &[u8], masked: &mut Vec<u8>) {
    masked.clear();
    masked.extend_from_slice(line);
    let mut at = 0;
    while at < masked.len() {
        if !starts_number(line, at) {
            at += 1;
            continue;
        }
        let mut zero = |from: usize| {
            let digits = masked[from..].iter_mut();
            let digits = digits.take_while(|b| b.is_ascii_digit());
            digits.map(|digit| *digit = b'0').count()
        };
        at += zero(at);
        if line.get(at) == Some(&b'.') {
            at += 1 + zero(at + 1);
        }
        // An exponent, whose sign tells it from a word.
        if matches!(line.get(at), Some(b'e' | b'E'))
            && matches!(line.get(at + 1), Some(b'+' | b'-'))
        {
            at += 2 + zero(at + 2);
        }
    }
}

/// Whether a digit stands at this place that is no part of a word or of another number.
fn starts_number(line: &[u8], at: usize) -> bool {
    line[at].is_ascii_digit()
        && (at == 0
            || !(line[at - 1].is_ascii_alphanumeric() || matches!(line[at - 1], b'.' | b'_')))
}

/// Eight bytes at a time. Nothing but the place in the table depends on it.
fn hash(bytes: &[u8]) -> u64 {
    const MIX: u64 = 0x9e37_79b9_7f4a_7c15;
    let (words, rest) = bytes.as_chunks::<8>();
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    let words = words.iter().chain([&last]);
    let mixed = words.fold(bytes.len() as u64, |hash, word| {
        (hash.rotate_left(5) ^ u64::from_le_bytes(*word)).wrapping_mul(MIX)
    });
    // The upper bits have seen all of the lower ones.
    mixed >> 32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn masked(line: &str) -> String {
        let mut masked = Vec::new();
        mask(line.as_bytes(), &mut masked);
        String::from_utf8(masked).unwrap()
    }

    #[test]
    fn numbers_are_masked_and_words_are_not() {
        assert_eq!(
            masked("2026-11-15 gpu1 step 12: 1,234.5 MB of_2 v2.3 (7.8.9)"),
            "0000-00-00 gpu1 step 00: 0,000.0 MB of_2 v2.3 (0.0.9)"
        );
        assert_eq!(masked("é7 .5 8."), "é0 .5 0.");
    }

    #[test]
    fn what_is_known_is_kept_by_shape_and_forgotten_for_another_at_its_place() {
        let mut shapes: Shapes<usize> = Shapes::default();
        let mut found_out = 0;
        let mut know = |line: &str| {
            let shape = shapes.of(line)?;
            Some(*shape.known_or(|| {
                found_out += 1;
                found_out
            }))
        };
        assert_eq!(
            (know("step 1"), know("step 7"), know("step 17")),
            (Some(1), Some(1), Some(2))
        );
        assert_eq!(know(&"x".repeat(LONGEST + 1)), None);
        // However many there are, no more are kept.
        let many = 3 * SHAPES;
        let all: Vec<usize> = (0..many)
            .filter_map(|n| know(&format!("word{n}")))
            .collect();
        assert_eq!(all, (3..3 + many).collect::<Vec<_>>());
        let again = (0..many).filter_map(|n| know(&format!("word{n}")));
        let forgotten = again.filter(|nth| *nth > 2 + many).count();
        assert!(forgotten >= many - SHAPES, "{forgotten}");
        assert_eq!(shapes.shapes.len(), SHAPES);
    }
}
