//! Draws series: a [`setting::Setting`] says how the job looks from outside, a kind says what it keeps
//! ([`shape::Shape`]), and [`render`] puts both into points. One file a family.

pub(crate) mod render;
pub mod setting;
pub mod shape;

mod expiry;
mod first_pass;
mod fragmentation;
mod high_water;
mod leak_beside;
mod leak_by_round;
mod leak_by_step;
mod leak_uneven;
mod level;
mod lru;
mod queue;
mod rounds;
mod sampling;
mod saw_tooth;
mod store;
mod trap;
mod vocabulary;
mod warm_up;
mod workers;

use super::Kind;

const FAMILIES: &[&[Kind]] = &[
    expiry::KINDS,
    first_pass::KINDS,
    fragmentation::KINDS,
    high_water::KINDS,
    leak_beside::KINDS,
    leak_by_round::KINDS,
    leak_by_step::KINDS,
    leak_uneven::KINDS,
    level::KINDS,
    lru::KINDS,
    queue::KINDS,
    rounds::KINDS,
    sampling::KINDS,
    saw_tooth::KINDS,
    store::KINDS,
    trap::KINDS,
    vocabulary::KINDS,
    warm_up::KINDS,
    workers::KINDS,
];

pub fn kinds() -> impl Iterator<Item = &'static Kind> {
    FAMILIES.iter().copied().flatten()
}
