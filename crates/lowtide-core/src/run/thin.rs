//! A bounded part of a stream: the first of it, every n-th, and the newest. What a run remembers for
//! explaining is kept this way, so a week of it costs as much as a minute.

#[derive(Clone, Debug)]
pub(crate) struct Thin<T, const CAP: usize> {
    kept: Vec<T>,
    newest: Option<T>,
    stride: u64,
    count: u64,
}

impl<T, const CAP: usize> Default for Thin<T, CAP> {
    fn default() -> Thin<T, CAP> {
        Thin {
            kept: Vec::new(),
            newest: None,
            stride: 1,
            count: 0,
        }
    }
}

impl<T, const CAP: usize> Thin<T, CAP> {
    pub(crate) fn push(&mut self, item: T) {
        if self.count.is_multiple_of(self.stride) {
            self.newest = None;
            self.kept.push(item);
            if self.kept.len() > CAP {
                let mut nth = 0;
                self.kept.retain(|_| {
                    nth += 1;
                    nth % 2 == 1
                });
                self.stride *= 2;
            }
        } else {
            self.newest = Some(item);
        }
        self.count += 1;
    }

    /// All that came, kept or not.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// One of so many is kept.
    pub(crate) fn stride(&self) -> u64 {
        self.stride
    }

    pub(crate) fn kept(&self) -> &[T] {
        &self.kept
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.kept.iter().chain(&self.newest)
    }

    /// Changes all that are kept.
    pub(crate) fn each(&mut self, change: impl FnMut(&mut T)) {
        self.kept
            .iter_mut()
            .chain(&mut self.newest)
            .for_each(change);
    }

    pub(crate) fn first(&self) -> Option<&T> {
        self.kept.first()
    }

    pub(crate) fn last(&self) -> Option<&T> {
        self.newest.as_ref().or(self.kept.last())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_stream_keeps_its_ends_and_stays_small() {
        let mut thin: Thin<u64, 16> = Thin::default();
        for n in 0..10_001 {
            thin.push(n);
        }
        assert_eq!((thin.first(), thin.last()), (Some(&0), Some(&10_000)));
        assert!(thin.iter().count() <= 18);
        assert_eq!(thin.count(), 10_001);
        assert!(thin.iter().is_sorted());
    }
}
