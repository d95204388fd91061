//! `lowtide run` as a user meets it: real processes, pipes and terminals.

#[path = "../common/mod.rs"]
mod common;

mod ended;
mod inherited;
mod killed;
mod pipes;
mod places;
mod progress;
mod signals;
mod terminal;
mod view;
