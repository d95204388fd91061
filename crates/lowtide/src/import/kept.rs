//! Points in bounded memory: of more than fit, the lowest and the highest of every few stay. The judge folds
//! points into some hundreds of floors and crests, so it sees no difference.

/// As many as two weeks at one a second are half of: with all that is made of them under 100 MB.
pub(super) const MOST: usize = 1 << 19;
/// Neighbours of which two stay.
const GROUP: usize = 4;

#[derive(Debug)]
pub(super) struct Kept<T> {
    kept: Vec<T>,
    /// Where the part begins that was begun last.
    part: usize,
    /// How many there were, and how many of them before that part.
    seen: usize,
    before: usize,
    level: fn(&T) -> f64,
    most: usize,
}

impl<T: Copy> Kept<T> {
    /// `level` tells what is low and what is high.
    pub(super) fn by(level: fn(&T) -> f64) -> Kept<T> {
        Kept {
            kept: Vec::new(),
            part: 0,
            seen: 0,
            before: 0,
            level,
            most: MOST,
        }
    }

    pub(super) fn push(&mut self, value: T) {
        if self.kept.len() >= self.most {
            self.thin();
        }
        self.kept.push(value);
        self.seen += 1;
    }

    /// Another part begins, which may be asked for alone.
    pub(super) fn begin_part(&mut self) {
        self.part = self.kept.len();
        self.before = self.seen;
    }

    /// How many there were, and how many of them in the last part.
    pub(super) fn seen(&self) -> (usize, usize) {
        (self.seen, self.seen - self.before)
    }

    pub(super) fn forget_all_but_the_last_part(&mut self) {
        self.kept.drain(..self.part);
        self.seen -= self.before;
        (self.part, self.before) = (0, 0);
    }

    pub(super) fn values(&self) -> &[T] {
        &self.kept
    }

    /// ", thinned to N" where not all are left.
    pub(super) fn thinned(&self) -> String {
        match self.kept.len() {
            all if all == self.seen => String::new(),
            left => format!(", thinned to {left} lows and highs"),
        }
    }

    /// Halves what is kept, as [`Kept::push`] does when it is full.
    pub(super) fn thin(&mut self) {
        let level = self.level;
        let mut thinned = Vec::with_capacity(self.most);
        let (before, part) = self.kept.split_at(self.part);
        let mut groups = |values: &[T]| {
            for group in values.chunks(GROUP) {
                let by = |a: &&T, b: &&T| level(a).total_cmp(&level(b));
                let place = |value: Option<&T>| {
                    let value = value?;
                    group.iter().position(|there| std::ptr::eq(there, value))
                };
                let (low, high) = (group.iter().min_by(by), group.iter().max_by(by));
                let mut ends = [place(low), place(high)];
                ends.sort_unstable();
                let both = if ends[0] == ends[1] {
                    &ends[..1]
                } else {
                    &ends
                };
                thinned.extend(both.iter().flatten().map(|at| group[*at]));
            }
            thinned.len()
        };
        self.part = groups(before);
        groups(part);
        self.kept = thinned;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lows_and_highs_stay_in_order() {
        let mut kept = Kept::by(|value: &i64| *value as f64);
        kept.most = 64;
        for value in 0..1000 {
            if value == 600 {
                kept.begin_part();
            }
            kept.push(if value == 777 { -5 } else { value });
        }
        let values = kept.values();
        assert!(values.len() <= 64 && values.contains(&-5) && values.contains(&999));
        let rising: Vec<i64> = values.iter().copied().filter(|v| *v >= 0).collect();
        assert!(rising.is_sorted());
        assert_eq!(kept.seen(), (1000, 400));
        assert!(kept.thinned().contains("thinned to"));
        kept.forget_all_but_the_last_part();
        assert_eq!(kept.seen(), (400, 400));
        assert!(kept.values().iter().all(|v| *v >= 600 || *v == -5));
    }
}
