//! Which pages of a mapping are resident, one bit each. [`Memory`](super::Memory) fills it; everything that
//! reads or counts memory asks it first, because a page that is read while it is not there would be
//! brought in, and reading would change the job.

/// The resident pages of one stretch of addresses.
#[derive(Clone, Debug)]
pub struct Pages {
    start: u64,
    end: u64,
    page: u64,
    bits: Vec<u64>,
}

impl Pages {
    /// Nothing resident yet. `start` and `end` are multiples of the page size, a power of two.
    pub fn none(start: u64, end: u64, page: u64) -> Pages {
        let count = end.saturating_sub(start) / page;
        Pages {
            start,
            end,
            page,
            bits: vec![0; count.div_ceil(64) as usize],
        }
    }

    pub fn start(&self) -> u64 {
        self.start
    }

    pub fn end(&self) -> u64 {
        self.end
    }

    pub fn page(&self) -> u64 {
        self.page
    }

    /// Marks the page with this index as resident.
    pub fn set(&mut self, index: u64) {
        if let Some(word) = self.bits.get_mut((index / 64) as usize) {
            *word |= 1 << (index % 64);
        }
    }

    fn at(&self, index: u64) -> bool {
        let word = self.bits.get((index / 64) as usize);
        word.is_some_and(|word| word >> (index % 64) & 1 == 1)
    }

    pub fn has(&self, address: u64) -> bool {
        (self.start..self.end).contains(&address) && self.at((address - self.start) / self.page)
    }

    /// Resident bytes between two addresses; of a page that lies there in part, that part.
    pub fn bytes(&self, from: u64, to: u64) -> u64 {
        let (from, to) = (from.max(self.start), to.min(self.end));
        if from >= to {
            return 0;
        }
        let (first, last) = (
            (from - self.start) / self.page,
            (to - 1 - self.start) / self.page,
        );
        let mut pages = 0;
        for word in first / 64..=last / 64 {
            let mut bits = self.bits[word as usize];
            if word == first / 64 {
                bits &= u64::MAX << (first % 64);
            }
            if word == last / 64 {
                bits &= u64::MAX >> (63 - last % 64);
            }
            pages += u64::from(bits.count_ones());
        }
        let mut bytes = pages * self.page;
        if self.at(first) {
            bytes -= (from - self.start) % self.page;
        }
        if self.at(last) {
            bytes -= (self.page - (to - self.start) % self.page) % self.page;
        }
        bytes
    }

    /// The beginning of the first resident page at or after an address.
    pub fn next(&self, address: u64) -> Option<u64> {
        let address = address.max(self.start);
        if address >= self.end {
            return None;
        }
        let first = (address - self.start).div_ceil(self.page);
        let mut word = first / 64;
        let mut bits = self.bits.get(word as usize)? & (u64::MAX << (first % 64));
        while bits == 0 {
            word += 1;
            bits = *self.bits.get(word as usize)?;
        }
        let index = word * 64 + u64::from(bits.trailing_zeros());
        Some(self.start + index * self.page)
    }

    /// Where the row of resident pages around an address ends, at most `most` bytes on.
    pub fn row_end(&self, address: u64, most: u64) -> u64 {
        let stop = address.saturating_add(most).min(self.end);
        let mut at = address;
        while at < stop && self.has(at) {
            at = (at - self.start) / self.page * self.page + self.page + self.start;
        }
        at.min(stop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Against the plain way: asking every byte.
        #[test]
        fn bytes_are_counted_as_asking_each_would(
            resident in proptest::collection::vec(any::<bool>(), 1..200),
            from in 0u64..3300, length in 0u64..3300,
        ) {
            let page = 16;
            let start = 4096;
            let mut pages = Pages::none(start, start + resident.len() as u64 * page, page);
            for (index, is) in resident.iter().enumerate() {
                if *is {
                    pages.set(index as u64);
                }
            }
            let (from, to) = (start + from, start + from + length);
            let plain = (from..to).filter(|at| pages.has(*at)).count() as u64;
            prop_assert_eq!(pages.bytes(from, to), plain);
            let next = (from.div_ceil(page) * page..pages.end()).step_by(page as usize).find(|at| pages.has(*at));
            prop_assert_eq!(pages.next(from), next);
            let row = (from..(from + 70).min(pages.end())).find(|at| !pages.has(*at));
            prop_assert_eq!(pages.row_end(from, 70), row.unwrap_or((from + 70).min(pages.end())).max(from.min(pages.end())));
        }
    }
}
