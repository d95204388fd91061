//! Rule "whose memory": which line decides a run's verdict, where it is not that of one process.

use super::rule::Rule;
use crate::verdict::Evidence;

pub const RULE: Rule = Rule::named("whose memory");

/// Of all processes of a role together.
pub fn role(role: &str) -> Evidence {
    RULE.says(format!("all {role} processes together"))
}

pub fn tree() -> Evidence {
    RULE.says("the whole tree, every page counted once")
}

pub fn gpu() -> Evidence {
    RULE.says("the GPU memory of the tree")
}
