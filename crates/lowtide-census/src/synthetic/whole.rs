//! Memory that is as it should be is read right, in every version and shape.

use lowtide_core::inside::seen::{BarSeen, Enclosing, FitSeen, Stage, TrainerSeen};

use super::runtime::{COLLECTIONS, OLD, PENDING, YOUNG};
use super::{KINDS, Kind, Loops, Made, Seen, World, read};
use crate::interpreter::Counts;
use crate::refusal::Refusal;

fn made(kind: Kind, own_dicts: bool) -> (Loops, Made) {
    let mut world = World::new(kind);
    world.own_dicts = own_dicts;
    let loops = world.loops();
    (loops, world.finish())
}

fn seen(made: &Made) -> Result<Seen, Refusal> {
    read(&made.image(), made.runtime, made.version())
}

#[test]
fn every_loop_is_read_in_every_version() {
    for kind in KINDS {
        for own_dicts in [false, true] {
            let (loops, made) = made(kind, own_dicts);
            let seen = seen(&made).unwrap_or_else(|why| panic!("{kind:?}: {why}"));
            as_laid_out(kind, &loops, &seen);
        }
    }
}

fn as_laid_out(kind: Kind, loops: &Loops, seen: &Seen) {
    let inside = &seen.inside;
    let trainer = TrainerSeen {
        address: loops.state,
        step: 40,
        max_steps: 100,
        epoch: Some(1.25),
        epochs: Some(3.0),
        by_steps: false,
        batch: Some(8),
        accumulate: Some(2),
        examples: Some(640),
        training: Some(true),
        in_train: true,
    };
    assert_eq!(inside.trainers, [trainer], "{kind:?}");
    let bar = BarSeen {
        address: loops.bar,
        n: 7,
        initial: 0,
        total: Some(51),
        label: "train".to_owned(),
        unit: "it".to_owned(),
        started: 1_700_000_000.5,
        shown: 7,
        over_loader: true,
        inside: Enclosing::Unknown,
        around_hidden: false,
    };
    assert_eq!(inside.bars, [bar], "{kind:?}");
    let fit = FitSeen {
        address: loops.fit,
        step: 30,
        max_steps: None,
        max_epochs: Some(4),
        epoch: 2,
        batches: Some(51),
        accumulate: Some(1),
        batch: Some(20),
        examples: Some(1001),
        stage: Some(Stage::Train),
    };
    assert_eq!(inside.fits, [fit], "{kind:?}");
    assert_eq!(inside.loader_lengths, [51], "{kind:?}");
    assert_eq!(inside.training, Some(true), "{kind:?}");
    assert_eq!(inside.optimizes, Some(true), "{kind:?}");
    let counts = Counts {
        objects: OLD + PENDING + YOUNG,
        collections: Some(COLLECTIONS),
    };
    assert_eq!(seen.counts, Some(counts), "{kind:?}");
}

/// Counts of both are added; objects are found in whichever has them.
#[test]
fn a_second_interpreter_is_counted() {
    for kind in KINDS {
        let mut world = World::new(kind);
        let loops = world.loops();
        let seen = seen(&world.finish_with(2)).unwrap();
        assert_eq!(seen.inside.trainers[0].address, loops.state, "{kind:?}");
        let counts = seen.counts.unwrap();
        assert_eq!(counts.objects, 2 * (OLD + PENDING + YOUNG), "{kind:?}");
        assert_eq!(counts.collections, Some([140, 12, 4]), "{kind:?}");
    }
}

#[test]
fn numbers_of_one_and_two_digits_are_read_and_longer_ones_are_not() {
    for kind in KINDS {
        for (step, read) in [
            (0, true),
            ((1 << 30) - 1, true),
            (1 << 30, true),
            (1 << 39, true),
            (1 << 60, false),
            (i64::MAX, false),
            (-1, false),
        ] {
            let mut world = World::new(kind);
            let loops = world.loops();
            let (step_at, most) = (world.int(step), world.int(0));
            let class = world.class("TrainerState", "transformers.trainer_callback", &[]);
            let names = [("global_step", step_at), ("max_steps", most)];
            let state = world.object(class, &names);
            let inside = seen(&world.finish()).unwrap().inside;
            let found = inside.trainers.iter().find(|one| one.address == state);
            let expected = read.then_some(step as u64);
            assert_eq!(found.map(|one| one.step), expected, "{kind:?} {step}");
            assert!(inside.trainers.iter().any(|one| one.address == loops.state));
        }
    }
}

/// Also where nothing of it was there when objects were gone over.
#[test]
fn torch_is_known_by_what_was_imported() {
    for kind in KINDS {
        for (imported, optimizes) in [(&["os", "re"][..], None), (&["os", "torch"], Some(false))] {
            let mut world = World::new(kind);
            world.class("Rows", "__main__", &[]);
            world.sys(imported);
            let inside = seen(&world.finish()).unwrap().inside;
            assert_eq!(inside.optimizes, optimizes, "{kind:?}");
        }
    }
}

/// An interpreter that has begun and has nothing yet.
#[test]
fn one_without_any_class_may_pass() {
    for kind in KINDS {
        let why = seen(&World::new(kind).finish()).unwrap_err();
        assert!(why.may_pass(), "{kind:?}: {why}");
    }
}
