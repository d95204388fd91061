//! `lowtide run` and `attach` as a user meets them: real processes, pipes and terminals.

#[path = "../common/mod.rs"]
mod common;

mod attach;
mod ended;
#[cfg(debug_assertions)]
mod faults;
mod hostile;
mod inherited;
mod killed;
mod messages;
mod pipes;
mod places;
mod progress;
mod signals;
mod terminal;
mod view;
