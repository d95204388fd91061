//! What clean-ups freed, part by part, as the Python package measured it. `explain` asks whether trims
//! and collections gave anything back.

use std::collections::BTreeMap;

use crate::entry::Cleanup;

/// Processes whose clean-ups are kept: the ranks of one machine; others count for nothing here.
const PROCESSES: usize = 16;
/// Parts that a clean-up has; more are not ours.
const PARTS: usize = 8;

/// One part of a clean-up over the run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Cleaned {
    pub calls: u64,
    pub freed: f64,
}

/// By part: `gc`, `trim`, `empty_cache`, …
pub(crate) type Parts = BTreeMap<String, Cleaned>;

#[derive(Clone, Debug, Default)]
pub(crate) struct Cleanups(BTreeMap<u32, Parts>);

impl Cleanups {
    pub(crate) fn of(&self, pid: u32) -> Option<&Parts> {
        self.0.get(&pid)
    }

    pub(crate) fn push(&mut self, cleanup: &Cleanup) {
        if self.0.len() >= PROCESSES && !self.0.contains_key(&cleanup.pid) {
            return;
        }
        let parts = self.0.entry(cleanup.pid).or_default();
        for (part, freed) in &cleanup.freed {
            if parts.len() >= PARTS && !parts.contains_key(part) {
                continue;
            }
            let cleaned = parts.entry(part.clone()).or_default();
            cleaned.calls += 1;
            cleaned.freed += *freed as f64;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Micros;

    #[test]
    fn clean_ups_add_up() {
        let mut all = Cleanups::default();
        for freed in [0, 4096] {
            all.push(&Cleanup {
                at: Micros(1),
                pid: 7,
                freed: BTreeMap::from([("gc".to_owned(), freed)]),
            });
        }
        let gc = all.of(7).unwrap()["gc"];
        assert_eq!((gc.calls, gc.freed), (2, 4096.0));
    }
}
