//! Loops as they are seen moment by moment: what is told, and when nothing is.

use super::seen::{BarSeen, ClockSeen, Enclosing, FitSeen, PassSeen, Stage, TrainerSeen};
use super::*;

const NONE: [u64; 0] = [];

/// Shows one moment every half second; the steps that were told.
fn steps(moments: impl IntoIterator<Item = Inside>) -> Vec<u64> {
    let marks = marks(moments).into_iter();
    marks.filter_map(|mark| mark.step).collect()
}

fn marks(moments: impl IntoIterator<Item = Inside>) -> Vec<Mark> {
    let mut reader = InsideReader::new(7);
    let moments = moments.into_iter().enumerate();
    let see = |(nth, inside): (usize, Inside)| reader.see(&inside, Micros(nth as u64 * 500_000));
    moments.filter_map(see).collect()
}

fn trainer(address: u64, step: u64) -> TrainerSeen {
    TrainerSeen {
        address,
        step,
        max_steps: 100,
        epoch: Some(step as f64 / 25.0),
        epochs: Some(4.0),
        batch: Some(2),
        accumulate: Some(1),
        ..TrainerSeen::default()
    }
}

fn trainers(trainers: Vec<TrainerSeen>) -> Inside {
    Inside {
        trainers,
        ..Inside::default()
    }
}

fn bar(address: u64, n: u64, total: u64) -> BarSeen {
    BarSeen {
        address,
        n,
        shown: n,
        total: Some(total),
        unit: "it".to_owned(),
        started: address as f64,
        ..BarSeen::default()
    }
}

fn bars(bars: Vec<BarSeen>) -> Inside {
    Inside {
        bars,
        ..Inside::default()
    }
}

#[test]
fn a_trainer_is_followed_from_its_first_step_on() {
    let seen = marks([10, 10, 12, 14].map(|step| trainers(vec![trainer(1, step)])));
    assert_eq!(
        seen.iter().filter_map(|mark| mark.step).collect::<Vec<_>>(),
        [12, 14]
    );
    assert_eq!(seen[0].total_steps, Some(100));
    assert_eq!(
        seen[0].geometry.and_then(|geometry| geometry.epoch_steps),
        Some(25.0)
    );
    assert_eq!(seen[0].object, Some(LoopObject::TrainerState));
}

#[test]
fn a_state_that_was_only_loaded_is_not_followed() {
    let both = |step| trainers(vec![trainer(1, 77), trainer(2, step)]);
    assert_eq!(steps([3, 4, 5].map(both)), [4, 5]);
    assert_eq!(steps([3, 3, 3].map(both)), NONE);
}

#[test]
fn the_bar_of_a_trainer_does_not_speak_for_it() {
    let both = |(step, n)| Inside {
        trainers: vec![TrainerSeen {
            in_train: true,
            ..trainer(1, step)
        }],
        bars: vec![bar(1, n, 100)],
        ..Inside::default()
    };
    let told = marks([(0, 1), (0, 2), (0, 3), (1, 4)].map(both));
    assert_eq!(told.len(), 1);
    assert_eq!(told[0].object, Some(LoopObject::TrainerState));
}

#[test]
fn two_trainers_at_once_are_none() {
    let both = |step| trainers(vec![trainer(1, step), trainer(2, 2 * step)]);
    assert_eq!(steps([3, 4, 5, 6].map(both)), NONE);
}

#[test]
fn a_second_search_for_parameters_begins_anew() {
    let one = |(address, step)| trainers(vec![trainer(address, step)]);
    let moments = [(1, 98), (1, 99), (1, 100), (2, 0), (2, 1), (2, 2)];
    assert_eq!(steps(moments.map(one)), [99, 100, 1, 2]);
}

#[test]
fn a_trainer_that_is_kept_does_not_stand_in_the_way_of_the_next() {
    let both = |(first, second): (u64, Option<u64>)| {
        let one = |address, step, in_train| TrainerSeen {
            in_train,
            ..trainer(address, step)
        };
        let mut seen = vec![one(1, first, second.is_none())];
        seen.extend(second.map(|step| one(2, step, true)));
        trainers(seen)
    };
    let ends = [(98, None), (99, None), (100, None)];
    let next = [(100, Some(3)), (100, Some(5)), (100, Some(7))];
    assert_eq!(
        steps(ends.into_iter().chain(next).map(both)),
        [99, 100, 5, 7]
    );
}

#[test]
fn a_trainer_at_its_end_is_worth_a_search_for_the_next() {
    let mut reader = InsideReader::new(7);
    let mut seeks = |step, in_train, at: u64| {
        let state = TrainerSeen {
            in_train,
            ..trainer(1, step)
        };
        reader.see(&trainers(vec![state]), Micros(at * 500_000));
        reader.seeks()
    };
    assert!(!seeks(98, true, 0));
    assert!(!seeks(99, true, 1));
    // It evaluates.
    assert!(!seeks(99, true, 9));
    assert!(!seeks(100, false, 10));
    assert!(seeks(100, false, 12));
}

/// A process with torch in which something optimizes, and what its clock shows.
fn trained(updates: u64, seen: Inside) -> Inside {
    let clock = ClockSeen {
        optimizer: 9,
        address: 9,
        is_exact: true,
        is_plain: false,
        ticks: updates,
    };
    Inside {
        optimizes: Some(true),
        training: Some(true),
        clocks: Some(vec![clock]),
        ..seen
    }
}

fn objects(moments: impl IntoIterator<Item = Inside>) -> Vec<(u64, LoopObject)> {
    let marks = marks(moments).into_iter();
    marks
        .filter_map(|mark| Some((mark.step?, mark.object?)))
        .collect()
}

#[test]
fn a_bar_is_told_when_the_optimizer_agrees() {
    let seen = |n| trained(n, bars(vec![bar(1, n, 500)]));
    let told = objects((0..12).map(|n| seen(10 * n + n % 3)));
    assert!(told.len() >= 6, "{told:?}");
    assert!(told.iter().all(|(_, object)| *object == LoopObject::Bar));
}

#[test]
fn a_bar_beside_an_optimizer_that_stands_still_is_none() {
    let seen = |n| trained(40, bars(vec![bar(1, n, 500)]));
    assert_eq!(steps((0..40).map(|n| seen(10 * n))), NONE);
}

#[test]
fn the_optimizer_counts_where_a_bar_waits_for_it() {
    let seen = |n: u64| trained(28 * n, bars(vec![bar(1, 10 * n, 500)]));
    let told = objects((0..40).map(seen));
    assert!(told.len() > 10, "{told:?}");
    for (step, object) in told {
        assert_eq!((step % 28, object), (0, LoopObject::Optimizer));
    }
}

#[test]
fn an_epoch_that_was_left_early_takes_back_what_was_told_of_it() {
    // 60 of 200 batches, over and over.
    let seen = |n: u64| {
        let one = BarSeen {
            over_loader: true,
            inside: Enclosing::Range {
                value: (n / 60) as i64,
                end: 30,
                start: Some(0),
            },
            ..bar(1 + n / 60, n % 60, 200)
        };
        trained(n, bars(vec![one]))
    };
    let told = marks((0..60).map(|n| seen(5 * n + n % 2)));
    let lengths: Vec<f64> = (told.iter())
        .filter_map(|mark| mark.geometry?.epoch_steps)
        .collect();
    assert_eq!(lengths, [200.0, Geometry::UNKNOWN]);
    let last = told.last().unwrap();
    assert_eq!((last.step, last.total_steps), (Some(296), None));
    assert_eq!(last.object, Some(LoopObject::Optimizer));
}

#[test]
fn the_optimizer_counts_where_nothing_else_does() {
    let told = objects((0..40).map(|n| trained(7 * n, Inside::default())));
    assert_eq!(told.first(), Some(&(91, LoopObject::Optimizer)));
    assert_eq!(told.last(), Some(&(273, LoopObject::Optimizer)));
}

#[test]
fn a_resumed_bar_that_comes_late_is_not_mixed_with_the_updates() {
    let seen = |n: u64| {
        let late = |n: u64| BarSeen {
            initial: 200,
            ..bar(1, 200 + n, 900)
        };
        let shown = if n < 30 * 7 { vec![] } else { vec![late(n)] };
        trained(n, bars(shown))
    };
    let told = objects((0..80).map(|n| seen(7 * n)));
    assert_eq!(told.last(), Some(&(553, LoopObject::Optimizer)));
    assert!(told.windows(2).all(|pair| pair[1].0 - pair[0].0 == 7));
}

#[test]
fn an_optimizer_that_is_over_is_not_told_late() {
    // Two at once say nothing; then one of them has stopped moments ago.
    let clock = |optimizer, ticks| ClockSeen {
        optimizer,
        address: optimizer,
        is_exact: true,
        is_plain: false,
        ticks,
    };
    let seen = |n: u64| Inside {
        clocks: Some(match n {
            0..30 => vec![clock(1, 5 * n), clock(2, 9 * n)],
            _ => vec![clock(1, 5 * 29)],
        }),
        ..trained(0, Inside::default())
    };
    assert_eq!(steps((0..50).map(seen)), NONE);
}

#[test]
fn what_is_found_of_an_optimizer_that_is_not_known_yet_is_no_step() {
    let seen = |n| Inside {
        optimizes: Some(true),
        clocks: Some(Vec::new()),
        ..bars(vec![bar(1, n, 500)])
    };
    let mut reader = InsideReader::new(7);
    for n in 0..20 {
        assert_eq!(reader.see(&seen(10 * n + n % 3), Micros(n * 500_000)), None);
    }
    assert!(reader.seeks());
}

#[test]
fn who_imports_torch_later_has_prepared_until_then() {
    let mut reader = InsideReader::new(7);
    let seen = |n: u64, optimizes| Inside {
        optimizes,
        ..bars(vec![bar(1, 10 * n + n % 3, 500)])
    };
    let mut told = 0;
    for n in 0..20 {
        let torch = (n >= 10).then_some(false);
        let mark = reader.see(&seen(n, torch), Micros(n * 500_000));
        told += usize::from(mark.is_some());
        // What was found before does not know what trains now.
        assert_eq!(reader.seeks(), n >= 10, "{n}");
        assert!(mark.is_none() || n < 10, "{n}");
    }
    assert!(told > 5);
}

#[test]
fn a_witness_that_cannot_be_heard_is_no_leave_to_tell() {
    let seen = |n: u64| Inside {
        optimizes: Some(true),
        clocks: None,
        ..bars(vec![bar(1, 10 * n + n % 3, 500)])
    };
    assert_eq!(steps((0..60).map(seen)), NONE);
}

#[test]
fn steps_that_nothing_counts_on_have_ended() {
    let mut reader = InsideReader::new(7);
    for n in 0..4 {
        let seen = bars(vec![bar(1, 10 * n + n / 3, 500)]);
        reader.see(&seen, Micros(n * 500_000));
    }
    reader.see(&bars(vec![]), Micros(2_000_000));
    assert_eq!(reader.lost_at(Micros(20_000_000)), None);
    assert_eq!(reader.lost_at(Micros(40_000_000)), Some(31));
    reader.see(&bars(vec![bar(1, 60, 500)]), Micros(41_000_000));
    assert_eq!(reader.lost_at(Micros(80_000_000)), None);
}

#[test]
fn an_epoch_with_a_remainder_is_rounded_up() {
    // 25 batches, four to a step: six steps and one of a single batch.
    let seen = |(step, epoch): (u64, f64)| {
        let state = TrainerSeen {
            step,
            epoch: Some(epoch),
            accumulate: Some(4),
            epochs: Some(3.5),
            ..trainer(1, step)
        };
        trainers(vec![state])
    };
    let places = [(9, 1.32), (10, 1.48), (11, 1.64)];
    let length = |mark: &Mark| mark.geometry.and_then(|geometry| geometry.epoch_steps);
    let told = marks(places.map(seen));
    assert_eq!(
        told.last()
            .and_then(length)
            .or(told.first().and_then(length)),
        Some(7.0)
    );
}

#[test]
fn data_without_a_length_has_no_epochs() {
    let endless = |step| {
        let state = TrainerSeen {
            epochs: Some(9.2e18),
            by_steps: true,
            epoch: Some(step as f64 / 100.0),
            ..trainer(1, step)
        };
        trainers(vec![state])
    };
    let told = marks([5, 6, 7].map(endless));
    let geometry = told[0].geometry.unwrap();
    assert_eq!(geometry.epoch_steps, None);
}

#[test]
fn lightning_tells_epochs_and_what_it_is_at() {
    let fit = |(step, stage)| Inside {
        fits: vec![FitSeen {
            address: 1,
            step,
            max_epochs: Some(10),
            batches: Some(25),
            accumulate: Some(2),
            stage: Some(stage),
            ..FitSeen::default()
        }],
        ..Inside::default()
    };
    let told = marks([(4, Stage::Train), (5, Stage::Train), (5, Stage::Other)].map(fit));
    assert_eq!(told[0].step, Some(5));
    assert_eq!(told[0].total_steps, Some(130));
    assert_eq!(told[1].phase, Some(Phase::Eval));
}

#[test]
fn a_lone_bar_counts_after_it_has_moved() {
    let seen = [4, 7, 11, 15].map(|n| bars(vec![bar(1, n, 500)]));
    assert_eq!(steps(seen), [11, 15]);
}

#[test]
fn a_unit_of_steps_is_one_however_it_is_written() {
    for unit in [
        "",
        "it",
        " steps",
        "batch",
        "batches",
        "optimizer step",
        "train_step",
    ] {
        let seen = |n| {
            let one = BarSeen {
                unit: unit.to_owned(),
                ..bar(1, n, 500)
            };
            bars(vec![one])
        };
        assert_eq!(steps([4, 7, 11, 15].map(seen)), [11, 15], "{unit}");
    }
}

#[test]
fn bars_that_load_or_count_bytes_are_no_steps() {
    for (label, unit) in [
        ("Map", "it"),
        ("Downloading", "it"),
        ("", "B"),
        ("", " examples"),
        ("", "samples"),
        ("Training", "tok"),
        ("", "pairs"),
        ("Evaluating", "it"),
        ("Epochs", "it"),
    ] {
        let seen = |n| {
            let one = BarSeen {
                label: label.to_owned(),
                unit: unit.to_owned(),
                ..bar(1, n, 500)
            };
            bars(vec![one])
        };
        assert_eq!(steps([4, 7, 11, 15, 20].map(seen)), NONE, "{label}{unit}");
    }
}

#[test]
fn a_bar_of_examples_is_no_bar_of_steps() {
    let seen = |n| {
        let one = BarSeen {
            shown: n - 1,
            ..bar(1, n, 6400)
        };
        bars(vec![one])
    };
    assert_eq!(steps([64, 128, 256, 320, 416, 512, 608].map(seen)), NONE);
    assert_eq!(steps([64, 128, 257, 320, 416].map(seen)), [257, 320, 416]);
}

#[test]
fn nothing_that_torch_does_before_it_optimizes_is_a_step() {
    let seen = |n| Inside {
        optimizes: Some(false),
        ..bars(vec![bar(1, n, 500)])
    };
    assert_eq!(steps([4, 7, 11, 15].map(seen)), NONE);
}

#[test]
fn nested_bars_wait_until_they_show_how_they_hang_together() {
    let both = |(outer, address, n)| bars(vec![bar(1, outer, 10), bar(address, n, 40)]);
    // The fourth epoch begins with the next inner bar.
    let moments = [
        (3, 5, 11),
        (3, 5, 20),
        (3, 5, 30),
        (4, 6, 5),
        (4, 6, 15),
        (4, 6, 25),
    ];
    assert_eq!(steps(moments.map(both)), [165, 175, 185]);
}

#[test]
fn the_length_of_a_round_is_no_end_of_the_run() {
    let seen = |(address, n)| {
        let one = BarSeen {
            over_loader: true,
            ..bar(address, n, 40)
        };
        bars(vec![one])
    };
    let told = marks([(1, 5), (1, 15), (1, 25), (1, 35), (2, 5), (2, 15)].map(seen));
    assert_eq!(
        told.iter().filter_map(|mark| mark.step).collect::<Vec<_>>(),
        [25, 35, 45, 55]
    );
    assert!(told.iter().all(|mark| mark.total_steps.is_none()));
    assert_eq!(
        told[0].geometry.and_then(|geometry| geometry.epoch_steps),
        Some(40.0)
    );
}

#[test]
fn a_bar_that_says_where_it_goes_on_from_is_no_round() {
    let seen = |(address, n)| {
        let one = BarSeen {
            initial: 4000,
            ..bar(address, n, 4245)
        };
        bars(vec![one])
    };
    let moments = [(1, 4201), (1, 4220), (1, 4240), (2, 4010), (2, 4020)];
    assert_eq!(steps(moments.map(seen)), [4240, 4010, 4020]);
}

#[test]
fn an_epoch_that_goes_back_is_another_training() {
    let seen = |(address, epoch, n)| {
        let one = BarSeen {
            label: format!("epoch {epoch} loss 1.25"),
            ..bar(address, n, 40)
        };
        bars(vec![one])
    };
    let moments = [
        (1, 1, 9),
        (1, 1, 18),
        (1, 1, 28),
        (1, 1, 38),
        (2, 2, 5),
        (3, 1, 7),
    ];
    assert_eq!(steps(moments.map(seen)), [28, 38, 45, 7]);
}

#[test]
fn an_outer_bar_is_never_the_counter() {
    let nested = |outer, inner: Option<u64>| {
        let inner = inner.map(|n| bar(10 + outer, n, 40));
        bars([bar(1, outer, 10)].into_iter().chain(inner).collect())
    };
    let moments = [
        nested(3, Some(11)),
        nested(3, Some(25)),
        nested(3, Some(39)),
        nested(4, Some(10)),
        nested(5, None),
        nested(5, Some(10)),
    ];
    assert_eq!(steps(moments), [170, 210]);
}

#[test]
fn nested_bars_tell_the_end_of_the_run() {
    let both = |(outer, address, n)| {
        let mut outer = bar(1, outer, 10);
        outer.label = "Epochs".to_owned();
        bars(vec![outer, bar(address, n, 40)])
    };
    let told = marks([(3, 5, 11), (3, 5, 20), (3, 5, 30)].map(both));
    assert_eq!(told[0].step, Some(150));
    assert_eq!(told[0].total_steps, Some(400));
    assert_eq!(
        told[0].geometry.and_then(|geometry| geometry.epoch_steps),
        Some(40.0)
    );
}

#[test]
fn a_bar_that_was_left_is_set_aside_where_loops_are_known() {
    let seen = |inside| {
        move |n| {
            let one = BarSeen {
                inside,
                ..bar(2, n, 500)
            };
            bars(vec![bar(1, 333, 900), one])
        }
    };
    assert_eq!(
        steps([4, 7, 11, 15].map(seen(Enclosing::Nothing))),
        [11, 15]
    );
    assert_eq!(steps([4, 7, 11, 15].map(seen(Enclosing::Bar(1)))), NONE);
    assert_eq!(steps([4, 7, 11, 15].map(seen(Enclosing::Unknown))), NONE);
}

fn passes(passes: Vec<PassSeen>) -> Inside {
    Inside {
        passes,
        training: Some(true),
        optimizes: Some(true),
        ..Inside::default()
    }
}

/// In epoch `epoch` of ten, of 26 batches each.
fn pass(loader: u64, iterator: u64, epoch: i64, batches: u64) -> PassSeen {
    PassSeen {
        loader,
        iterator,
        batches,
        length: Some(26),
        inside: Enclosing::Range {
            value: epoch,
            end: 10,
            start: Some(0),
        },
        ..PassSeen::default()
    }
}

#[test]
fn passes_that_are_over_before_the_next_look_are_counted_by_their_epochs() {
    let seen = |epoch: u64| {
        let (iterator, batches) = (7 + epoch % 2, 12 - epoch);
        let pass = pass(1, iterator, epoch as i64, batches);
        trained(26 * epoch + batches, passes(vec![pass]))
    };
    let told = marks((0..10).map(seen));
    let steps: Vec<u64> = told.iter().filter_map(|mark| mark.step).collect();
    assert!(
        steps.len() > 3 && steps.ends_with(&[8 * 26 + 4, 9 * 26 + 3]),
        "{steps:?}"
    );
    assert_eq!(told[0].total_steps, Some(260));
}

#[test]
fn two_passes_over_the_same_data_are_none() {
    let seen = [3, 5, 7, 9].map(|batches| {
        let (outer, inner) = (pass(1, 7, 0, 2), pass(1, 8, 0, batches));
        passes(vec![outer, inner])
    });
    assert_eq!(steps(seen), NONE);
}

#[test]
fn a_bar_around_one_that_is_not_shown_counts_no_steps() {
    let seen = |(n, around_hidden)| {
        let one = BarSeen {
            around_hidden,
            inside: Enclosing::Nothing,
            ..bar(1, n, 9)
        };
        bars(vec![one])
    };
    assert_eq!(
        steps([(1, true), (2, true), (3, false), (4, true), (5, false)].map(seen)),
        NONE
    );
    // An evaluation in a loop of steps is only that.
    assert_eq!(
        steps([(1, false), (2, false), (3, false), (4, true), (5, false)].map(seen)),
        [3, 5]
    );
}

#[test]
fn of_three_bars_only_the_innermost_can_be_the_one() {
    let three = |fold, epoch, inner: Option<u64>| {
        let inner = inner.map(|n| bar(30, n, 30));
        bars(
            [bar(1, fold, 5), bar(2, epoch, 9)]
                .into_iter()
                .chain(inner)
                .collect(),
        )
    };
    let moments = [
        three(0, 1, Some(9)),
        three(0, 1, Some(20)),
        three(0, 2, None),
        three(0, 3, None),
        three(1, 4, None),
        three(2, 5, None),
    ];
    assert_eq!(steps(moments), NONE);
}

#[test]
fn a_bar_by_hand_that_comes_again_was_not_the_run() {
    let seen = |(address, n)| {
        let one = BarSeen {
            shown: n - 1,
            ..bar(address, n, 40)
        };
        bars(vec![one])
    };
    let moments = [(1, 11), (1, 21), (1, 31), (1, 39), (2, 5), (2, 15)];
    assert_eq!(steps(moments.map(seen)), [31, 39]);
}

#[test]
fn what_goes_round_epochs_counts_no_steps() {
    let folds = |(fold, with_inner): (u64, bool)| {
        let mut epochs = bar(2, 1, 3);
        epochs.label = "Epoch".to_owned();
        let outer = BarSeen {
            label: "Fold".to_owned(),
            inside: Enclosing::Nothing,
            ..bar(1, fold, 9)
        };
        let inner = with_inner.then(|| bar(3, 7, 30));
        bars([outer, epochs].into_iter().chain(inner).collect())
    };
    assert_eq!(
        steps([(1, true), (2, false), (3, false), (4, false)].map(folds)),
        NONE
    );
}
