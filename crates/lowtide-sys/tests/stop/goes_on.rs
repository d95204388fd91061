//! A process that was stopped goes on.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use lowtide_sys::stop::{StopError, while_stopped, while_stopped_if};
use rustix::process::Signal;

use super::*;

#[test]
fn two_hundred_threads_stand_still_and_go_on() {
    let counters = Counters::of(200);
    let ((), held) = while_stopped(counters.pid(), LONG, |stopped| {
        assert_eq!((stopped.pid(), stopped.threads()), (counters.pid(), 201));
        assert!(!stopped.is_over());
        counters.stands_still();
    })
    .unwrap();
    assert_eq!((held.threads, held.in_vain), (201, 0));
    assert!(held.whole >= held.stopping + Duration::from_millis(5));
    assert_eq!(tracer(counters.pid()), None);
    counters.goes_on();
}

/// The kernel shows a first thread that has ended for as long as there are others.
#[test]
fn a_first_thread_that_ended_is_no_hindrance() {
    let counters = Counters::start(&["first"], 1);
    assert_eq!(counters.state(), 'Z');
    let ((), held) = while_stopped(counters.pid(), LONG, |_| counters.stands_still()).unwrap();
    assert_eq!(held.threads, 1);
    counters.goes_on();
}

#[test]
fn a_process_that_was_stopped_before_stays_so() {
    let counters = Counters::of(3);
    counters.send(Signal::STOP);
    until("the process to stop", || {
        (counters.state() == 'T').then_some(())
    });
    for _ in 0..20 {
        while_stopped(counters.pid(), LONG, |_| counters.stands_still()).unwrap();
        until("the process to be stopped again", || {
            (counters.state() == 'T').then_some(())
        });
        counters.stands_still();
    }
    counters.send(Signal::CONT);
    counters.goes_on();
}

#[test]
fn signals_that_stop_and_continue_count_when_it_is_over() {
    let counters = Counters::of(3);
    while_stopped(counters.pid(), LONG, |_| {
        counters.send(Signal::STOP);
        counters.stands_still();
    })
    .unwrap();
    until("the process to stop", || {
        (counters.state() == 'T').then_some(())
    });
    while_stopped(counters.pid(), LONG, |_| {
        counters.send(Signal::CONT);
        counters.stands_still();
    })
    .unwrap();
    counters.goes_on();
}

/// Asked while it runs until it may be stopped; and once more when it stands still.
#[test]
fn a_bad_moment_is_waited_out() {
    let counters = Counters::of(2);
    let asked = AtomicU32::new(0);
    let traced = AtomicU32::new(0);
    // No, no, yes, but no when it is stopped; no, yes, and yes when it is stopped.
    let answers = [false, false, true, false, false, true, true];
    let may_stop = || {
        let stopped = tracer(counters.pid()).is_some();
        traced.fetch_add(u32::from(stopped), Ordering::Relaxed);
        answers[asked.fetch_add(1, Ordering::Relaxed) as usize]
    };
    let work = |_: &_| counters.stands_still();
    let ((), held) = while_stopped_if(counters.pid(), LONG, LONG, may_stop, work).unwrap();
    assert_eq!(asked.into_inner(), 7);
    assert_eq!(traced.into_inner(), 2);
    assert_eq!(held.in_vain, 1);
    assert!(held.whole_in_vain > Duration::ZERO);
    counters.goes_on();
}

#[test]
fn a_moment_that_never_comes_is_given_up() {
    let counters = Counters::of(2);
    let touched = AtomicBool::new(false);
    let never = || false;
    let work = |_: &_| touched.store(true, Ordering::Relaxed);
    let patience = Duration::from_millis(5);
    let given_up = while_stopped_if(counters.pid(), LONG, patience, never, work);
    assert!(
        matches!(given_up, Err(StopError::NoMoment { in_vain: 0, .. })),
        "{given_up:?}"
    );
    // Good while it runs, bad whenever it stands still.
    let running = || tracer(counters.pid()).is_none();
    let given_up = while_stopped_if(counters.pid(), LONG, patience, running, work);
    assert!(
        matches!(given_up, Err(StopError::NoMoment { in_vain: 1.., .. })),
        "{given_up:?}"
    );
    assert!(!touched.into_inner());
    counters.goes_on();
}
