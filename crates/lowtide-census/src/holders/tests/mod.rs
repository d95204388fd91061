//! Holders of graphs by hand, and of real processes.

mod chosen;
mod live;
mod made;
mod shared;
