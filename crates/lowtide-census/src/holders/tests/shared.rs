//! What two containers of graphs by hand hold.

use lowtide_core::units::Bytes;

use super::made::{Made, attribute};
use crate::holders::Step;

const LARGE: u64 = 100_000;

#[test]
fn what_two_lists_have_is_told_with_the_one_that_has_most() {
    let mut made = Made::default();
    let train = made.module("train", true);
    let first = made.global(train, "FIRST", "list", 1000);
    let things = made.fill(first, 100, "bytes", LARGE);
    let second = made.global(train, "SECOND", "list", 1000);
    for (nth, thing) in (0..).zip(&things[..80]) {
        made.link(second, *thing, Step::Index(nth));
    }
    // A local has the last one, too.
    let main = made.frame("main");
    made.link(main, things[99], Step::Local("thing".to_owned()));
    let found = made.found();
    let holders: Vec<_> = found
        .holders
        .iter()
        .map(|spotted| &spotted.holder)
        .collect();
    assert_eq!(holders.len(), 1, "{holders:#?}");
    assert_eq!(holders[0].name, "train.FIRST");
    assert_eq!(holders[0].keeps, Bytes(1000 + 100 * LARGE));
    assert_eq!(holders[0].also_held_by.as_deref(), Some("train.SECOND"));
    assert_eq!(holders[0].of[0].count, 100);
}

#[test]
fn what_records_of_two_lists_have_is_told_with_a_list() {
    let mut made = Made::default();
    let train = made.module("train", true);
    let first = made.global(train, "FIRST", "list", 1000);
    let second = made.global(train, "SECOND", "list", 1000);
    for nth in 0..50 {
        let thing = made.node("bytes", LARGE);
        for list in [first, second] {
            let record = made.part(list, "tuple", 56, Step::Index(nth));
            made.link(record, thing, Step::Index(0));
        }
    }
    let found = made.found();
    let holder = &found.holders[0].holder;
    assert_eq!(holder.name, "train.FIRST");
    assert_eq!(holder.keeps, Bytes(1000 + 50 * (56 + LARGE)));
    assert_eq!(holder.also_held_by.as_deref(), Some("train.SECOND"));
}

#[test]
fn what_is_shared_is_told_with_the_one_that_has_little_else() {
    let mut made = Made::default();
    let train = made.module("train", true);
    let state = made.global(train, "state", "dict", 1000);
    made.fill(state, 50, "bytes", 3 * LARGE);
    let list = made.global(train, "parameters", "list", 1000);
    for (nth, parameter) in (0..).zip(made.fill(list, 50, "torch.Tensor", LARGE)) {
        made.link(state, parameter, Step::Index(50 + nth));
    }
    let found = made.found();
    let told = |nth: usize| {
        let holder = &found.holders[nth].holder;
        (
            holder.name.as_str(),
            holder.keeps.0,
            holder.also_held_by.as_deref(),
        )
    };
    assert_eq!(told(0), ("train.state", 1000 + 150 * LARGE, None));
    let expected = ("train.parameters", 1000 + 50 * LARGE, Some("train.state"));
    assert_eq!(told(1), expected);
}

#[test]
fn a_part_that_refers_to_its_whole_does_not_hold_it() {
    let mut made = Made::default();
    let (main, inner) = (made.frame("main"), made.frame("inner"));
    let trainer = made.part(main, "train.Trainer", 50, Step::Local("trainer".to_owned()));
    made.link(inner, trainer, Step::Local("self".to_owned()));
    made.part(trainer, "bytes", LARGE, attribute("buffer"));
    let callbacks = made.part(trainer, "list", 500, attribute("callbacks"));
    for callback in made.fill(callbacks, 20, "train.Callback", 50) {
        made.link(callback, trainer, attribute("trainer"));
    }
    assert_eq!(made.names(), ["trainer in main() train.py:41"]);
}

#[test]
fn what_lists_of_one_object_share_is_told_with_them() {
    let mut made = Made::default();
    let (main, inner) = (made.frame("main"), made.frame("inner"));
    let trainer = made.part(main, "train.Trainer", 50, Step::Local("trainer".to_owned()));
    made.link(inner, trainer, Step::Local("self".to_owned()));
    let rows = made.part(trainer, "list", 500, attribute("rows"));
    let again = made.part(trainer, "list", 500, attribute("again"));
    for (nth, row) in (0..).zip(made.fill(rows, 50, "bytes", LARGE)) {
        made.link(again, row, Step::Index(nth));
    }
    let found = made.found();
    let holder = &found.holders[0].holder;
    assert_eq!(holder.name, "Trainer.rows of trainer in main() train.py:41");
    assert_eq!(holder.keeps, Bytes(500 + 50 * LARGE));
    let also = "Trainer.again of trainer in main() train.py:41";
    assert_eq!(holder.also_held_by.as_deref(), Some(also));
}
