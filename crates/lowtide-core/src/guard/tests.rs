//! Each rule of the policy with a job for which it decides. Sizes are MB, times seconds.

mod requests;
mod spared;
mod warnings;

use super::*;
use crate::judge::judge;
use crate::mark::{Mark, MarkSource, Phase};
use crate::point::Context;
use crate::process::ProcId;
use crate::sample::{Cgroup, LimitFrom, Node, Pressure, Reading};
use crate::series::Series;
use crate::units::Bytes;
use crate::verdict::{Fits, Meter, Needs, Outlook};

const MB: f64 = 1e6;
const LIMIT: f64 = 1000.0;

fn bytes(mb: f64) -> Bytes {
    Bytes((mb * MB) as u64)
}

/// A job that is watched: time passes, steps are marked, its level is what the test says.
struct ScriptedJob {
    policy: Policy,
    at: f64,
    step: u64,
    limit: f64,
    verdict: Verdict,
    trainers: usize,
    stopped: bool,
    may_stop: bool,
    pressure: f32,
    peak: f64,
    swap: f64,
    late: f64,
}

impl ScriptedJob {
    fn new() -> ScriptedJob {
        ScriptedJob {
            policy: Policy::new(None),
            at: 0.0,
            step: 0,
            limit: LIMIT,
            verdict: verdict(Class::TooEarly),
            trainers: 1,
            stopped: false,
            may_stop: true,
            pressure: 0.0,
            peak: 0.0,
            swap: 0.0,
            late: 0.0,
        }
    }

    fn mark(&mut self, phase: Phase) {
        self.policy.mark(&Mark {
            at: Micros::from_seconds(self.at),
            source: MarkSource::Callback,
            step: Some(self.step),
            phase: Some(phase),
            ..Mark::default()
        });
    }

    fn sample(&self, used: f64) -> Sample {
        let reading = Reading {
            anon: bytes(used),
            swap: bytes(self.swap),
            vsize: bytes(1e5),
            peak: bytes(self.peak.max(used)),
            threads: 1,
            ..Reading::of(ProcId { pid: 7, start: 1 })
        };
        Sample {
            at: Micros::from_seconds(self.at),
            late: Micros::from_seconds(self.late),
            readings: vec![reading],
            cgroups: vec![Cgroup {
                path: "/job".to_owned(),
                current: bytes(used + 50.0),
                file: Some(bytes(50.0)),
                max: Some(bytes(self.limit)),
                pressure: Some(Pressure {
                    full_avg10: self.pressure,
                    ..Pressure::default()
                }),
                ..Cgroup::default()
            }],
            ..Sample::default()
        }
    }

    /// One tick, `seconds` after the last.
    fn tick(&mut self, seconds: f64, used: f64) -> Ruling {
        self.at += seconds;
        let sample = self.sample(used);
        self.policy.tick(&Situation {
            sample: &sample,
            verdict: &self.verdict,
            trainers: self.trainers,
            stopped: self.stopped,
            may_stop: self.may_stop,
        })
    }

    /// One step of a second: a tick each half of it, or as soon as the policy wants it. What was decided last.
    fn step(&mut self, used: f64) -> Ruling {
        self.step += 1;
        self.mark(Phase::Train);
        let end = self.at + 1.0;
        let mut pause: f64 = 0.5;
        let mut decided: Option<Ruling> = None;
        while self.at < end - 1e-6 {
            let ruling = self.tick(pause.min(end - self.at), used);
            pause = ruling.look_within.map_or(0.5, Micros::seconds).min(0.5);
            if decided.is_none() || ruling.decision != Decision::Watch {
                decided = Some(ruling);
            }
        }
        decided.expect("there was a tick")
    }

    /// Steps until something beyond a warning is decided: the level then, and what it was.
    fn until_decided(&mut self, most: u64, level: impl Fn(u64) -> f64) -> Option<(f64, Ruling)> {
        for _ in 0..most {
            let used = level(self.step + 1);
            let ruling = self.step(used);
            if !matches!(ruling.decision, Decision::Watch | Decision::Warn) {
                return Some((used, ruling));
            }
        }
        None
    }
}

fn verdict(class: Class) -> Verdict {
    let mut verdict = judge(&Series::new(Axis::Step, Meter::Held), &Context::default());
    verdict.verdict = class;
    verdict.steady = class == Class::Leak;
    verdict.settled_at = (class == Class::WarmUp).then_some(1.0);
    verdict
}

fn leak(step: u64) -> f64 {
    400.0 + 10.0 * step as f64
}

#[test]
fn a_leak_is_asked_while_steps_and_save_still_fit() {
    let mut job = ScriptedJob::new();
    let (used, ruling) = job.until_decided(100, leak).unwrap();
    assert_eq!(
        ruling.decision,
        Decision::Ask {
            stop_at: Some(job.step + 1)
        }
    );
    // The step that is named, one more for good measure, and a save of 5 %.
    assert!(used + 20.0 + 50.0 <= LIMIT, "asked at {used}: too late");
    assert!(used > 0.85 * LIMIT, "asked at {used}: too early");
    assert!(ruling.why.contains("left below"), "{}", ruling.why);
}

/// Ticks that come late leave room for others that do.
#[test]
fn on_a_busy_machine_it_is_asked_earlier() {
    let asked_at = |late: f64| {
        let mut job = ScriptedJob::new();
        job.late = late;
        // A step of ten ticks: what rises within a tick is what counts.
        for tick in 0..2000 {
            if tick % 10 == 0 {
                job.step += 1;
                job.mark(Phase::Train);
            }
            let used = 300.0 + f64::from(tick) * 5.0;
            if let Decision::Ask { .. } = job.tick(0.05, used).decision {
                return used;
            }
        }
        panic!("never asked");
    };
    // 100 MB a second, and two ticks that may be 0.4 s late.
    let (quiet, busy) = (asked_at(0.0), asked_at(0.4));
    assert!((quiet - busy - 80.0).abs() <= 10.0, "{quiet} {busy}");
    // A machine that slept for an hour was not busy.
    assert!(asked_at(3600.0) > 300.0 + 100.0);
}

#[test]
fn a_flat_job_near_its_limit_is_left_alone() {
    let mut job = ScriptedJob::new();
    let warmed = |step: u64| 970.0 + (step % 3) as f64;
    assert_eq!(job.until_decided(200, warmed), None);
}

#[test]
fn the_growth_of_the_first_steps_is_no_reason_to_restart() {
    let mut job = ScriptedJob::new();
    let optimizer_state = |step: u64| if step <= 2 { 600.0 } else { 970.0 };
    assert_eq!(job.until_decided(200, optimizer_state), None);
}

/// Straight growth until step 40, then flat: a first pass over the data.
fn fill(step: u64) -> f64 {
    400.0 + 13.0 * step.min(40) as f64
}

#[test]
fn a_warm_up_that_ends_below_the_limit_is_let_through() {
    let run = |foreseen: bool| {
        let mut job = ScriptedJob::new();
        job.until_decided_with(120, fill, |job, used| {
            job.verdict.floor.last = used * MB;
            job.verdict.predicted_plateau = (foreseen && job.step <= 40).then_some(fill(40) * MB);
            if job.step > 40 {
                job.verdict = verdict(Class::WarmUp);
            }
        })
    };
    assert_eq!(run(true), None);
    // The slope alone would cross the limit: without the prediction it is stopped.
    assert!(run(false).is_some());
}

#[test]
fn a_warm_up_that_ends_above_the_limit_is_stopped_in_time() {
    let mut job = ScriptedJob::new();
    let too_high = |step: u64| 400.0 + 20.0 * step as f64;
    let (used, _) = job
        .until_decided_with(120, too_high, |job, used| {
            job.verdict.floor.last = used * MB;
            job.verdict.predicted_plateau = Some(too_high(60) * MB);
        })
        .unwrap();
    assert!(used + 20.0 + 50.0 <= LIMIT, "asked at {used}");
}

impl ScriptedJob {
    fn until_decided_with(
        &mut self,
        most: u64,
        level: impl Fn(u64) -> f64,
        judge: impl Fn(&mut ScriptedJob, f64),
    ) -> Option<(f64, Ruling)> {
        for _ in 0..most {
            let used = level(self.step + 1);
            judge(self, used);
            if let Some(found) = self.until_decided(1, |_| used) {
                return Some(found);
            }
        }
        None
    }
}

#[test]
fn a_settled_job_whose_level_swings_inside_its_steps_is_left_alone() {
    let asked = |class: Class| {
        let mut job = ScriptedJob::new();
        job.until_decided(30, |step| 500.0 + 10.0 * step as f64);
        job.verdict = verdict(class);
        (0..400).any(|tick| {
            if tick % 8 == 0 {
                job.step += 1;
                job.mark(Phase::Train);
            }
            let used = 800.0 + 15.0 * f64::from(tick % 4);
            matches!(job.tick(0.05, used).decision, Decision::Ask { .. })
        })
    };
    assert!(!asked(Class::WarmUp));
    assert!(
        asked(Class::TooEarly),
        "the same rise would be a reason elsewhere"
    );
}

/// Where a leak is asked after a save that took `spike`.
fn asked_after_save(spike: f64) -> f64 {
    let mut job = ScriptedJob::new();
    job.until_decided(5, leak);
    job.mark(Phase::Save);
    job.tick(1.0, leak(5) + spike);
    job.mark(Phase::Train);
    job.tick(0.1, leak(5));
    job.until_decided(100, leak).unwrap().0
}

#[test]
fn the_spike_of_a_save_is_learnt() {
    let (small, large) = (asked_after_save(10.0), asked_after_save(200.0));
    assert!(small > 930.0, "{small}");
    assert!(large + 200.0 < LIMIT, "{large}");
}

#[test]
fn a_peak_between_two_looks_counts() {
    let mut job = ScriptedJob::new();
    let (used, _) = job
        .until_decided_with(100, leak, |job, used| job.peak = used + 150.0)
        .unwrap();
    assert!(used + 150.0 < LIMIT, "{used}");
}

#[test]
fn ranks_stop_two_beyond_the_furthest() {
    let mut job = ScriptedJob::new();
    job.trainers = 2;
    let ahead_of_us = |job: &mut ScriptedJob, _| {
        job.policy.mark(&Mark {
            at: Micros::from_seconds(job.at),
            rank: Some(1),
            step: Some(job.step + 2),
            ..Mark::default()
        });
    };
    let (_, ruling) = job.until_decided_with(100, leak, ahead_of_us).unwrap();
    let furthest = job.policy.step_of_this_attempt().unwrap();
    assert_eq!(
        ruling.decision,
        Decision::Ask {
            stop_at: Some(furthest + 2)
        }
    );
}

#[test]
fn one_look_is_no_reason_to_ask() {
    let mut job = ScriptedJob::new();
    job.until_decided(30, leak);
    let blip = job.tick(0.5, 990.0);
    assert!(!matches!(blip.decision, Decision::Ask { .. }), "{blip:?}");
    assert_eq!(blip.look_within, Some(CLOSE_LOOK));
    for _ in 0..4 {
        assert_eq!(job.tick(0.05, leak(30)).decision, Decision::Watch);
    }
}

#[test]
fn a_leak_of_a_gigabyte_a_second_never_reaches_the_limit() {
    let mut job = ScriptedJob::new();
    job.limit = 8000.0;
    job.until_decided(5, |_| 1000.0);
    let (mut used, mut pause) = (1000.0, 0.5);
    loop {
        used += 1000.0 * pause;
        assert!(used < job.limit, "it was reached");
        let ruling = job.tick(pause, used);
        if ruling.decision == Decision::Kill {
            break;
        }
        pause = ruling.look_within.map_or(0.5, Micros::seconds);
    }
    assert!(used > 7500.0, "killed at {used}");
}

#[test]
fn bursts_before_the_first_steps_are_not_killed() {
    let mut job = ScriptedJob::new();
    job.limit = 8000.0;
    let mut used = 0.0;
    while used < 7900.0 {
        used += 100.0;
        let ruling = job.tick(0.05, used);
        assert!(
            matches!(ruling.decision, Decision::Watch | Decision::Warn),
            "{ruling:?}"
        );
    }
}

#[test]
fn a_job_without_steps_is_asked_for_a_leak_and_not_for_loading_its_model() {
    let decided = |class: Class| {
        let mut job = ScriptedJob::new();
        job.verdict = verdict(class);
        (0..120).any(|second| {
            let ruling = job.tick(1.0, 200.0 + 6.0 * f64::from(second));
            !matches!(ruling.decision, Decision::Watch | Decision::Warn)
        })
    };
    assert!(!decided(Class::TooEarly));
    assert!(decided(Class::Leak));
}

#[test]
fn a_lowered_limit_is_the_limit() {
    let mut job = ScriptedJob::new();
    assert_eq!(job.until_decided(30, leak), None);
    job.limit = 740.0;
    assert!(job.until_decided(2, leak).is_some());
}

#[test]
fn pressure_is_a_reason_where_room_is_short() {
    let asked = |pressure: f32, level: f64| {
        let mut job = ScriptedJob::new();
        job.until_decided(30, |step| 400.0 + 5.0 * step as f64);
        job.pressure = pressure;
        job.until_decided(10, |_| level)
    };
    let (_, ruling) = asked(30.0, 850.0).unwrap();
    assert!(ruling.why.contains("thrash"), "{}", ruling.why);
    assert_eq!(asked(1.0, 850.0), None);
    assert_eq!(asked(30.0, 600.0), None);
}

#[test]
fn swapping_under_pressure_is_a_reason_too() {
    let mut job = ScriptedJob::new();
    job.until_decided(30, |step| 400.0 + 5.0 * step as f64);
    job.pressure = 30.0;
    job.swap = 100.0;
    assert!(job.until_decided(10, |_| 600.0).is_some());
}

#[test]
fn restart_every_counts_steps_and_time_of_the_attempt() {
    let decided_at = |every: Every| {
        let mut job = ScriptedJob::new();
        job.policy = Policy::new(Some(every));
        job.until_decided(100, |_| 300.0).unwrap();
        let first = job.step;
        job.policy.next_attempt(Went::AsAsked);
        job.until_decided(100, |_| 300.0).unwrap();
        (first, job.step - first)
    };
    assert_eq!(decided_at(Every::Steps(20)), (21, 21));
    assert_eq!(decided_at(Every::Seconds(10.0)), (11, 11));
}

#[test]
fn what_a_save_takes_is_known_to_the_next_attempt() {
    let mut job = ScriptedJob::new();
    job.until_decided(5, leak);
    job.mark(Phase::Save);
    job.tick(1.0, leak(5) + 200.0);
    job.mark(Phase::Train);
    job.tick(0.1, leak(5));
    job.policy.next_attempt(Went::AsAsked);
    job.step = 0;
    let (used, _) = job.until_decided(100, leak).unwrap();
    assert!(used + 200.0 < LIMIT, "{used}");
}

#[test]
fn the_limit_with_the_least_room_counts() {
    let job = ScriptedJob::new();
    let mut sample = job.sample(400.0);
    sample.node = Node {
        total: bytes(4000.0),
        available: bytes(100.0),
        ..Node::default()
    };
    assert_eq!(tightest(&sample).unwrap().from, LimitFrom::Node);
    sample.node.available = bytes(3000.0);
    let limit = tightest(&sample).unwrap();
    assert_eq!(limit.from, LimitFrom::Cgroup("/job".to_owned()));
    assert_eq!(limit.used, bytes(400.0), "page cache is not in use");
}

/// Where a leak is asked in an attempt after one that went like this.
fn asked_after(went: &[Went]) -> f64 {
    let mut job = ScriptedJob::new();
    job.until_decided(10, leak);
    for went in went {
        job.policy.next_attempt(*went);
        job.step = 0;
    }
    job.until_decided(100, leak).unwrap().0
}

#[test]
fn a_stop_that_failed_makes_the_next_come_earlier() {
    let usual = asked_after(&[Went::AsAsked]);
    let (once, twice) = (
        asked_after(&[Went::Lost]),
        asked_after(&[Went::Lost, Went::Lost]),
    );
    assert!(usual > once && once > twice, "{usual} {once} {twice}");
    assert_eq!(asked_after(&[Went::Lost, Went::AsAsked]), usual);
}

/// Found by the simulation: a save that met the limit was expected to take what all do.
#[test]
fn a_save_that_met_the_limit_needs_more_than_there_was() {
    let mut job = ScriptedJob::new();
    let (used, _) = job.until_decided(100, leak).unwrap();
    job.mark(Phase::Save);
    job.tick(0.05, used);
    job.policy.next_attempt(Went::Lost);
    job.policy.next_attempt(Went::AsAsked);
    job.step = 0;
    let (next, _) = job.until_decided(100, leak).unwrap();
    assert!(next < used - 10.0, "{used} {next}");
}

/// Found by the simulation (a step of 2 GB a second, over after a tenth): asked in time, and then killed on
/// the way up to a crest that fits.
#[test]
fn a_step_that_rises_as_steps_do_is_not_killed() {
    let mut job = ScriptedJob::new();
    let mut floor = 400.0;
    for tick in 0..4000 {
        let within = tick % 20;
        if within == 0 {
            job.step += 1;
            job.mark(Phase::Train);
            floor += 6.0;
        }
        // Up by 200 MB within four ticks, and down again.
        let used = floor + 50.0 * f64::from(4 - (within - 4_i32).abs()).max(0.0);
        job.peak = job.peak.max(used);
        let ruling = job.tick(0.05, used);
        assert_ne!(ruling.decision, Decision::Kill, "{}", ruling.why);
        if let Decision::Ask { .. } = ruling.decision {
            assert!(floor + 12.0 + 200.0 < LIMIT, "asked at {floor}: too late");
            // The step that it was asked in goes up as all do.
            for up in 0..8 {
                let used = (floor + 206.0).min(floor + 50.0 * f64::from(up));
                assert_ne!(job.tick(0.05, used).decision, Decision::Kill);
            }
            return;
        }
    }
    panic!("never asked");
}

/// Found by the simulation: the save that went on was taken for the answer, and the real one was cut.
#[test]
fn a_save_that_went_on_when_it_was_asked_is_not_the_answer() {
    let mut job = ScriptedJob::new();
    job.until_decided(50, leak);
    job.step = 53;
    job.mark(Phase::Save);
    let asked = (0..100).any(|_| {
        let ruling = job.tick(0.05, 930.0);
        matches!(ruling.decision, Decision::Ask { .. })
    });
    assert!(asked);
    // The rest of it, one more step, and a save of its own that is as long.
    for phase in [Phase::Save, Phase::Train, Phase::Save, Phase::Train] {
        job.mark(phase);
        let seconds = if phase == Phase::Save { 150 } else { 2 };
        for _ in 0..seconds {
            assert_eq!(job.tick(1.0, 930.0).decision, Decision::Watch, "{phase:?}");
        }
        job.step += u64::from(phase == Phase::Train && job.step == 53);
    }
}

/// Found by the simulation: on a busy machine the request was written when the first rank had passed the step.
#[test]
fn ranks_are_asked_further_ahead_where_ticks_are_late() {
    let ahead = |late: f64| {
        let mut job = ScriptedJob::new();
        job.trainers = 2;
        job.late = late;
        let (_, ruling) = job.until_decided(100, leak).unwrap();
        let Decision::Ask { stop_at } = ruling.decision else {
            panic!("{ruling:?}")
        };
        stop_at.unwrap() - job.step
    };
    assert!(ahead(3.0) >= ahead(0.0) + 2);
}
