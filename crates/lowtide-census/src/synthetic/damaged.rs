//! Memory that is not as it should be gives nothing, and never something else.

use super::{BASE, KINDS, Kind, Loops, Made, Seen, Shape, World, read};
use crate::refusal::Refusal;

/// Nothing is mapped there.
const NOWHERE: u64 = 0x7000_0000_0000;

fn made(kind: Kind) -> (Loops, Made) {
    let mut world = World::new(kind);
    let loops = world.loops();
    (loops, world.finish())
}

fn seen(made: &Made) -> Result<Seen, Refusal> {
    read(&made.image(), made.runtime, made.version())
}

/// What is read when `damage` was done: no state of a Trainer.
#[track_caller]
fn no_trainer(what: &str, damage: impl Fn(&Loops, Made) -> Made) {
    for kind in KINDS {
        let (loops, made) = made(kind);
        assert!(!seen(&made).unwrap().inside.trainers.is_empty());
        if let Ok(seen) = seen(&damage(&loops, made)) {
            let trainers = seen.inside.trainers;
            assert!(trainers.is_empty(), "{what}, {kind:?}: {trainers:?}");
        }
    }
}

#[test]
fn a_number_that_is_none() {
    for (what, word) in [("nowhere", NOWHERE), ("nothing", 0), ("odd", BASE + 5)] {
        no_trainer(what, |loops, made| made.with(loops.step + 8, word));
    }
    // The type of a number is another object, or in the midst of a type.
    no_trainer("a type that is none", |loops, made| {
        made.with(loops.step + 8, loops.state)
    });
    no_trainer("beside a type", |loops, made| {
        let kind = made.word(loops.step + 8);
        made.with(loops.step + 8, kind + 8)
    });
}

#[test]
fn a_number_of_three_digits_and_digits_that_are_too_large() {
    no_trainer("three digits", |loops, made| {
        let tag = if made.kind.minor <= 11 { 3 } else { 3 << 3 };
        made.with(loops.step + 16, tag)
    });
    no_trainer("a digit of 31 bits", |loops, made| {
        made.with(loops.step + 24, 1 << 30)
    });
}

#[test]
fn a_step_above_the_last_one() {
    no_trainer("101 of 100", |loops, made| made.with(loops.step + 24, 101));
}

#[test]
fn attributes_that_lead_nowhere() {
    no_trainer("keys", |loops, made| {
        let at = loops.state_class + shared_keys(made.kind.minor);
        let made = made.with(at, NOWHERE);
        without_dict(loops, made)
    });
    no_trainer("keys that claim 2^60 entries", |loops, made| {
        let keys = made.word(loops.state_class + shared_keys(made.kind.minor));
        let at = if made.kind.minor <= 10 { 32 } else { 24 };
        made.with(keys + at, 1 << 60)
    });
    no_trainer("keys that claim an index of 2^255 bytes", |loops, made| {
        let keys = made.word(loops.state_class + shared_keys(made.kind.minor));
        match made.kind.minor {
            ..=10 => made.with(keys + 8, 1 << 63),
            _ => made.with(keys + 8, 0x02_ff_ff),
        }
    });
}

fn shared_keys(minor: u32) -> u64 {
    match minor {
        9 => 864,
        10 | 11 => 872,
        12..=14 => 880,
        _ => 888,
    }
}

/// Before 3.11 a dictionary has its keys' address itself.
fn without_dict(loops: &Loops, made: Made) -> Made {
    match made.kind.minor {
        ..=10 => {
            let dict = made.word(loops.state + 16);
            made.with(dict + 32, NOWHERE)
        }
        _ => made,
    }
}

#[test]
fn a_class_of_another_name_or_none() {
    no_trainer("a name that is nowhere", |loops, made| {
        made.with(loops.state_class + 24, NOWHERE)
    });
    no_trainer("a class that is not ready", |loops, made| {
        made.with(loops.state_class + 168, 0)
    });
    no_trainer("a class whose type makes no types", |loops, made| {
        let kind = made.word(loops.step + 8);
        made.with(loops.state_class + 8, kind)
    });
}

/// Whatever page is lost, what is read otherwise is what was laid out.
#[test]
fn a_page_of_zeros() {
    for kind in KINDS {
        let (loops, made) = made(kind);
        let whole = seen(&made).unwrap().inside;
        for page in 0..made.bytes.len() / 4096 {
            let mut damaged = made.clone();
            damaged.bytes[page * 4096..][..4096].fill(0);
            let Ok(seen) = seen(&damaged) else { continue };
            for trainer in seen.inside.trainers {
                assert_eq!(trainer.address, loops.state, "{kind:?} {page}");
                assert_eq!(trainer.step, 40, "{kind:?} {page}");
                assert_eq!(trainer.max_steps, 100, "{kind:?} {page}");
            }
            for bar in &seen.inside.bars {
                assert_eq!((bar.address, bar.n), (loops.bar, 7), "{kind:?} {page}");
            }
            for fit in &seen.inside.fits {
                assert_eq!((fit.step, fit.epoch), (30, 2), "{kind:?} {page}");
            }
            let lengths = seen.inside.loader_lengths;
            assert!(lengths.is_empty() || lengths == whole.loader_lengths);
        }
    }
}

/// The list that an object hangs in is torn, or goes round without its head.
#[test]
fn torn_lists_and_circles() {
    no_trainer("a torn list", |loops, made| {
        // Both ways to it: its own, and that of its trainer.
        let made = leave_out(made, loops.state, NOWHERE);
        leave_out(made, loops.trainer, NOWHERE)
    });
    no_trainer("a circle", |loops, made| {
        let before = |made: &Made, object: u64| made.word(object - 8) & !3;
        let (one, other) = (before(&made, loops.state), before(&made, loops.trainer));
        let made = leave_out(made, loops.state, one);
        leave_out(made, loops.trainer, other)
    });
}

/// The link of the one before leads elsewhere.
fn leave_out(made: Made, object: u64, to: u64) -> Made {
    let before = made.word(object - 8) & !3;
    made.with(before, to)
}

#[test]
fn two_collectors_that_both_fit() {
    for kind in KINDS {
        let mut world = World::new(kind);
        world.loops();
        let mut made = world.finish();
        let behind = made.interpreter + (12 << 10);
        // Empty lists, with the words of the first one behind them.
        let second = behind + (made.collector - made.interpreter) % 8;
        for at in (0..264).step_by(4) {
            let (from, to) = (made.collector + at - BASE, second + at - BASE);
            let bytes: [u8; 4] = *made.bytes[from as usize..].first_chunk().unwrap();
            made.bytes[to as usize..][..4].copy_from_slice(&bytes);
        }
        for list in 0..3 {
            let head = second + list * 24;
            made = made.with(head, head).with(head + 8, head);
        }
        let youngest = match kind.shape {
            Shape::Generations => Some(72),
            Shape::LooseGenerations => Some(76),
            Shape::Incremental => None,
            Shape::GenerationsAgain => Some(232),
            Shape::Rings => Some(160),
        };
        if let Some(at) = youngest {
            made = made.with(second + at, second);
        }
        let why = Refusal::NotAsExpected("no collector was found in it");
        assert_eq!(seen(&made), Err(why), "{kind:?}");
    }
}

#[test]
fn what_no_table_here_is_for_is_refused() {
    for kind in KINDS {
        let (_, made) = made(kind);
        let at = |minor: u32| {
            let version = lowtide_core::look::PythonVersion { minor, micro: None };
            read(&made.image(), made.runtime, Some(version))
        };
        // Its version says that it begins with its own offsets, and it does not, or the other way round.
        let other = if kind.minor <= 12 { 13 } else { 12 };
        let differ = Refusal::NotAsExpected("its version and its tables differ");
        assert_eq!(at(other), Err(differ), "{kind:?}");
        assert_eq!(at(8), Err(Refusal::Version(8)));
        assert_eq!(at(16), Err(Refusal::Version(16)));
        let none = read(&made.image(), made.runtime, None);
        assert_eq!(none, Err(Refusal::NoVersion));
        if kind.minor >= 13 {
            let free = made.clone().with(made.runtime + 16, 1);
            assert_eq!(seen(&free), Err(Refusal::FreeThreaded), "{kind:?}");
            for word in [40, 64] {
                let broken = made.clone().with(made.runtime + word, u64::MAX);
                assert!(seen(&broken).is_err(), "{kind:?}");
            }
        }
    }
}

/// A loader that is said to wrap itself.
#[test]
fn a_loader_around_itself() {
    for kind in KINDS {
        let mut world = World::new(kind);
        world.own_dicts = true;
        let class = world.class("DataLoaderShard", "accelerate.data_loader", &[]);
        let inner = world.none();
        let loader = world.object(class, &[("base_dataloader", inner)]);
        let mut made = world.finish();
        // Wherever the inner one is told, the loader itself is.
        let places = made.bytes.len() as u64 / 8;
        for at in (0..places).map(|nth| BASE + nth * 8) {
            if made.word(at) == inner {
                made = made.with(at, loader);
            }
        }
        assert!(seen(&made).unwrap().inside.loader_lengths.is_empty());
    }
}
