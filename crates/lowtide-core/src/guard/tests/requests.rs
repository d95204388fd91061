//! What becomes of a request: heard, written late, not heard. Each was found by playing runs.

use super::super::request::ENDING;
use super::*;

impl ScriptedJob {
    /// A leak, until it is asked: the step at which it is to stop.
    fn asked(&mut self) -> u64 {
        let (_, ruling) = self.until_decided(400, leak).expect("it is asked");
        match ruling.decision {
            Decision::Ask {
                stop_at: Some(stop_at),
            } => stop_at,
            other => panic!("asked, not {other:?}"),
        }
    }

    /// So many seconds pass, with the same level: what was decided but watching.
    fn wait(&mut self, seconds: f64, used: f64) -> Option<Decision> {
        let until = self.at + seconds;
        while self.at < until {
            let decision = self.tick(0.5, used).decision;
            if decision != Decision::Watch {
                return Some(decision);
            }
        }
        None
    }
}

#[test]
fn a_save_of_its_own_before_the_stop_is_not_the_answer() {
    let mut job = ScriptedJob::new();
    job.trainers = 4;
    job.late = 2.0;
    let stop_at = job.asked();
    job.late = 0.0;
    assert!(stop_at > job.step + 2, "far ahead: {stop_at}");
    let used = leak(job.step);
    job.step += 1;
    job.mark(Phase::Save);
    job.tick(0.5, used);
    job.mark(Phase::Train);
    // The stop is still to come. Steps until then are no deafness, though memory is short.
    for level in [999.0] {
        job.step += 1;
        job.mark(Phase::Train);
        for rise in [0.0, 0.25, 0.5, 0.75] {
            let decision = job.tick(0.05, level - 50.0 + rise).decision;
            assert!(
                matches!(decision, Decision::Watch | Decision::Warn),
                "{decision:?}"
            );
        }
    }
    // And it gives no more time than the request does.
    job.step = stop_at;
    job.mark(Phase::Train);
    assert_eq!(job.wait(ENDING - 30.0, 949.0), Some(Decision::Stop));
}

#[test]
fn a_request_that_was_written_late_is_not_held_against_the_job() {
    let mut job = ScriptedJob::new();
    job.until_decided(40, leak);
    let mut tick = 0;
    let stop_at = loop {
        tick += 1;
        if tick % 20 == 0 {
            job.step += 1;
            job.mark(Phase::Train);
        }
        if let Decision::Ask { stop_at } = job.tick(0.05, leak(job.step)).decision {
            break stop_at.expect("steps are told");
        }
    };
    // Three steps passed before the next tick, and with it the request, came.
    job.step = stop_at + 3;
    job.mark(Phase::Train);
    job.tick(3.0, 930.0);
    assert!(!job.policy.is_deaf());
    job.step += 1;
    job.mark(Phase::Train);
    job.tick(0.5, 930.0);
    assert!(!job.policy.is_deaf(), "the step that had begun");
    job.step += 2;
    job.mark(Phase::Train);
    job.tick(0.5, 930.0);
    assert!(job.policy.is_deaf());
}

#[test]
fn steps_that_became_slow_since_the_request_are_waited_for() {
    let slow = 20.0;
    let mut job = ScriptedJob::new();
    let stop_at = job.asked();
    let used = leak(job.step);
    let mut decided = job.wait(slow, used);
    assert!(job.step < stop_at);
    job.step += 1;
    job.mark(Phase::Train);
    // The next one takes as long: together they are beyond the grace that was given.
    decided = decided.or_else(|| job.wait(slow, used));
    assert_eq!(decided, None);
}

#[test]
fn a_job_that_has_done_its_last_step_is_let_to_its_end() {
    let mut job = ScriptedJob::new();
    job.asked();
    let used = leak(job.step);
    job.policy.mark(&Mark {
        at: Micros::from_seconds(job.at),
        source: MarkSource::Callback,
        step: Some(job.step + 1),
        total_steps: Some(job.step + 1),
        ..Mark::default()
    });
    assert_eq!(job.wait(ENDING - 1.0, used), None);
    assert_eq!(
        job.wait(5.0, used),
        Some(Decision::Stop),
        "but not for ever"
    );
}

#[test]
fn a_job_that_does_not_listen_is_not_asked_earlier_the_next_time() {
    let mut job = ScriptedJob::new();
    job.asked();
    job.tick(0.5, 900.0);
    job.step += 4;
    job.mark(Phase::Train);
    job.tick(0.5, 900.0);
    job.policy.next_attempt(Went::Lost);
    assert_eq!(job.policy.caution, 1.0);
}

#[test]
fn who_was_asked_is_not_killed_below_the_limit_of_a_group() {
    let mut job = ScriptedJob::new();
    job.asked();
    let mut used = leak(job.step);
    while used < 999.0 {
        let ruling = job.tick(0.05, used);
        assert_ne!(ruling.decision, Decision::Kill, "at {used}: {}", ruling.why);
        used += 20.0;
    }
}

#[test]
fn a_request_that_is_not_served_becomes_term_and_then_kill() {
    let mut job = ScriptedJob::new();
    let (used, _) = job.until_decided(100, leak).unwrap();
    let mut decided = Vec::new();
    for second in 0..100 {
        let ruling = job.step(used);
        if !matches!(ruling.decision, Decision::Watch | Decision::Warn) {
            decided.push((second, ruling.decision));
        }
    }
    let [(stop, Decision::Stop), (kill, Decision::Kill)] = decided[..] else {
        panic!("{decided:?}");
    };
    // Steps of a second and no save seen: the least that is given, twice.
    assert!((28..34).contains(&stop), "{stop}");
    assert!((58..66).contains(&kill), "{kill}");
}

/// Found by the simulation: a step that stalled for longer than any before it, and a job that was about to save was
/// ended with plenty of room.
#[test]
fn a_step_that_stalls_before_the_stop_is_waited_for() {
    let mut job = ScriptedJob::new();
    let stop_at = job.asked();
    let used = leak(job.step);
    assert_eq!(job.wait(300.0, used), None);
    job.step = stop_at;
    job.mark(Phase::Save);
    assert_eq!(job.wait(25.0, used), None, "the grace begins here");
    job.mark(Phase::Train);
    assert_eq!(job.wait(ENDING - 5.0, used), None);
    // But not for ever.
    let mut hangs = ScriptedJob::new();
    hangs.asked();
    let used = leak(hangs.step);
    assert_eq!(hangs.wait(700.0, used), Some(Decision::Stop));
}

#[test]
fn a_stopped_job_is_not_asked_and_its_grace_does_not_run() {
    let mut job = ScriptedJob::new();
    job.until_decided(30, leak);
    job.stopped = true;
    for _ in 0..10 {
        assert_eq!(job.tick(1.0, 980.0).decision, Decision::Watch);
    }
    job.stopped = false;
    let (used, _) = job.until_decided(10, |_| 940.0).unwrap();
    job.stopped = true;
    for _ in 0..500 {
        assert_eq!(job.tick(1.0, used).decision, Decision::Watch);
    }
}

#[test]
fn a_clock_that_jumps_is_not_the_jobs_time() {
    let mut job = ScriptedJob::new();
    let (used, _) = job.until_decided(100, leak).unwrap();
    assert_eq!(job.tick(7200.0, used).decision, Decision::Watch);
}

#[test]
fn a_save_that_has_begun_is_let_to_its_end() {
    let decided = |saves: bool| {
        let mut job = ScriptedJob::new();
        let (used, _) = job.until_decided(100, leak).unwrap();
        job.step += 1;
        job.mark(if saves { Phase::Save } else { Phase::Train });
        (0..45).any(|_| job.tick(1.0, used).decision == Decision::Stop)
    };
    assert!(decided(false));
    assert!(!decided(true));
}

#[test]
fn a_job_that_has_saved_is_given_time_to_end() {
    let mut job = ScriptedJob::new();
    let (used, _) = job.until_decided(100, leak).unwrap();
    job.step += 1;
    job.mark(Phase::Save);
    job.tick(1.0, used);
    job.mark(Phase::Train);
    for _ in 0..100 {
        assert_eq!(job.tick(1.0, used).decision, Decision::Watch);
    }
    assert!((0..40).any(|_| job.tick(1.0, used).decision == Decision::Stop));
}

#[test]
fn a_long_start_up_is_forgotten_with_the_first_step() {
    let mut job = ScriptedJob::new();
    for second in 0..60 {
        job.tick(1.0, 100.0 + 8.0 * f64::from(second));
    }
    // The level of the model, and no growth at all.
    assert_eq!(job.until_decided(60, |_| 860.0), None);
}

#[test]
fn a_run_that_ends_in_the_next_step_is_not_asked() {
    let mut job = ScriptedJob::new();
    job.policy.mark(&Mark {
        total_steps: Some(55),
        ..Mark::default()
    });
    assert!(leak(54) > 930.0);
    assert_eq!(
        job.until_decided(55, |step| if step < 54 {
            leak(step.min(50))
        } else {
            leak(step)
        }),
        None
    );
}
