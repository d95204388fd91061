//! What `scripts/fuzz` tries of this crate. Only tests and fuzzers see this module, and private parsers have their
//! target beside them. `fuzz/corpus/session` has inputs for each, which the tests run.

use crate::{guard, keeper, marks, watch};

/// Panics if these bytes make a parser break its promise.
pub type Target = fn(&[u8]);

/// By name.
pub const TARGETS: &[(&str, Target)] = &[
    ("checkpoints", guard::checkpoints::fuzz::files),
    ("marks", marks::fuzz),
    ("screen", watch::voice::fuzz),
    ("wire", keeper::fuzz),
];

#[cfg(test)]
mod tests {
    #[test]
    fn the_corpora_pass() {
        lowtide_testing::corpora("session", super::TARGETS);
    }
}
