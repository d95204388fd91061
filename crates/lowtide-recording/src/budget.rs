//! What reading a recording may cost. A sample says in a few bytes that a hundred thousand processes did not
//! change, and telling that takes as long as if they had: bytes do not bound the work by themselves.
//!
//! What is beyond the budget is not told, and counted: a file that was made to keep its reader busy loses
//! ticks, and the longest runs of the largest machines do not.

/// Readings that any recording may have: a day of 400 processes that do nothing.
const FREE: u64 = 32 << 20;
/// And for every byte: those of 25 processes at work have ten bytes each.
const PER_BYTE: u64 = 2;

#[derive(Debug)]
pub(crate) struct Budget(u64);

impl Default for Budget {
    fn default() -> Budget {
        Budget(FREE)
    }
}

impl Budget {
    pub(crate) fn of(free: u64) -> Budget {
        Budget(free)
    }

    /// Bytes were read.
    pub(crate) fn earn(&mut self, bytes: usize) {
        self.0 = self.0.saturating_add(PER_BYTE * bytes as u64);
    }

    /// Takes what a work costs, if there is enough.
    pub(crate) fn pays(&mut self, readings: usize) -> bool {
        match self.0.checked_sub(readings as u64) {
            Some(left) => {
                self.0 = left;
                true
            }
            None => false,
        }
    }
}
