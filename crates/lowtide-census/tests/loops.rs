//! Loops that a real Python is in, by its frames: what goes through data, how far it is, and what is around it.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::Duration;

use lowtide_census::Follower;
use lowtide_core::inside::seen::{Enclosing, Inside};
use lowtide_core::process::ProcId;
use lowtide_sys::proc::Proc;
use lowtide_testing::Starts;

/// A way of looping, in the midst of its fourth batch.
fn inside(way: &str) -> Inside {
    let program = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/loops.py");
    let mut job = Command::new("python3")
        .args([program, way])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .start();
    let mut line = String::new();
    let mut output = BufReader::new(job.stdout.take().unwrap());
    output.read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n", "{way}");
    let id = ProcId {
        pid: job.id(),
        start: 0,
    };
    let mut follower = Follower::open(Proc::at("/proc").unwrap(), id).unwrap();
    follower.search(Duration::from_secs(60)).unwrap();
    follower.read().unwrap().inside
}

/// The fifth epoch of `range(2, 9)`. From 3.12 on an iterator does not tell where it began, but its code does.
fn is_fifth(around: Enclosing) -> bool {
    let Enclosing::Range { value, end, start } = around else {
        return false;
    };
    (value, end, start) == (5, 9, Some(2))
}

#[test]
fn a_pass_is_seen_with_the_epochs_around_it() {
    let plain = inside("plain");
    let [pass] = &plain.passes[..] else {
        panic!("{plain:?}");
    };
    assert_eq!(pass.batches, 4);
    assert!(is_fifth(pass.inside), "{pass:?}");
}

#[test]
fn a_bar_over_data_has_the_loop_around_it_and_its_pass_the_same() {
    let barred = inside("barred");
    let ([bar], [pass]) = (&barred.bars[..], &barred.passes[..]) else {
        panic!("{barred:?}");
    };
    assert!(is_fifth(bar.inside) && is_fifth(pass.inside), "{barred:?}");
    assert_eq!((bar.n, pass.batches), (3, 4));
}

#[test]
fn a_bar_in_a_bar_is_in_it_and_the_outer_one_in_nothing() {
    let nested = inside("nested");
    let outer = nested
        .bars
        .iter()
        .find(|bar| bar.inside == Enclosing::Nothing);
    let outer = outer.unwrap_or_else(|| panic!("{nested:?}"));
    let within = Enclosing::Bar(outer.address);
    assert!(nested.bars.iter().any(|bar| bar.inside == within));
    assert_eq!(nested.passes[0].inside, within);
}

#[test]
fn what_is_tried_until_it_works_is_in_a_loop() {
    assert_eq!(inside("again").bars[0].inside, Enclosing::Other);
}

#[test]
fn batches_that_are_asked_for_by_hand_are_seen_and_what_is_around_them_not() {
    let asked = inside("asked");
    assert_eq!(asked.passes[0].batches, 4);
    assert_eq!(asked.passes[0].inside, Enclosing::Unknown);
    let handed = inside("handed");
    assert_eq!(handed.passes[0].batches, 4);
    assert_eq!(handed.passes[0].inside, Enclosing::Other);
}

#[test]
fn a_generator_that_runs_is_where_it_was_when_it_waited() {
    let fetching = inside("fetching");
    let ([bar], [pass]) = (&fetching.bars[..], &fetching.passes[..]) else {
        panic!("{fetching:?}");
    };
    assert!(matches!(
        bar.inside,
        Enclosing::Range {
            value: 0,
            end: 7,
            start: Some(0),
        }
    ));
    assert_eq!((pass.inside, pass.batches), (bar.inside, 4));
}

#[test]
fn what_a_thread_fetches_for_a_loop_is_no_pass_of_that_loop() {
    let ahead = inside("fetched_ahead");
    assert_eq!(ahead.passes, []);
    // One that trains while the main thread waits for it is.
    let threaded = inside("threaded");
    assert_eq!(threaded.passes.len(), 1, "{threaded:?}");
}
