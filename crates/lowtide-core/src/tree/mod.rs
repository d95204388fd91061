//! What the processes of a tree are to each other: the [`roles`] they play, and which one to watch
//! ([`choose`]). `lowtide-sys` asks on every change of the tree; both are pure functions.

pub mod assign;
pub mod choose;
pub mod program;
pub mod roles;
