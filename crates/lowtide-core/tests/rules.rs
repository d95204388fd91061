//! One case for each rule that keeps growth from being called a leak too soon, and for those that keep
//! a leak from being missed. Each breaks without its rule.

use lowtide_core::judge::{judge, worst};
use lowtide_core::mark::{Geometry, Phase};
use lowtide_core::point::{Context, Point};
use lowtide_core::series::Series;
use lowtide_core::units::Bytes;
use lowtide_core::verdict::{Axis, Class, Meter, Verdict};

fn look(axis: Axis, n: usize, shape: impl Fn(f64) -> f64) -> Verdict {
    let points: Vec<Point> = (0..n)
        .map(|i| Point::new(i as f64, 1e6 * shape(i as f64)))
        .collect();
    judge(
        &Series::from_points(axis, Meter::Held, &points),
        &Context::default(),
    )
}

fn names(verdict: &Verdict, rule: &str) -> bool {
    verdict.evidence.iter().any(|e| e.rule == rule)
}

#[track_caller]
fn is_held_back_by(verdict: &Verdict, rule: &str) {
    assert_eq!(verdict.verdict, Class::TooEarly, "{:#?}", verdict.evidence);
    assert!(!verdict.steady, "{:#?}", verdict.evidence);
    assert!(names(verdict, rule), "{:#?}", verdict.evidence);
}

/// Growth is shown; whether it ends is another question, which tests/ending.rs asks.
#[track_caller]
fn grows_steadily(verdict: &Verdict) {
    assert!(verdict.steady && verdict.growing, "{:#?}", verdict.evidence);
}

#[test]
fn eleven_steps_in_a_row_are_few() {
    is_held_back_by(&look(Axis::Step, 11, |x| 1000.0 + 50.0 * x), "few points");
    grows_steadily(&look(Axis::Step, 13, |x| 1000.0 + 50.0 * x));
}

/// A writer that keeps metadata until its file is closed: a straight line, 17 points, 13 %.
#[test]
fn few_points_need_a_large_growth() {
    is_held_back_by(&look(Axis::Step, 17, |x| 1000.0 + 8.0 * x), "few points");
}

/// A small store that fills for sixty steps, in a run whose epoch is not known.
#[test]
fn few_steps_need_much_growth() {
    let shape = |x: f64| 28.0 + x;
    is_held_back_by(&look(Axis::Step, 40, shape), "few steps");
    is_held_back_by(&look(Axis::Step, 60, shape), "few steps");
    grows_steadily(&look(Axis::Step, 90, shape));
}

/// After a start-up, straight growth needs less time; a fill that follows one is over sooner.
#[test]
fn straight_growth_after_a_start_up_needs_less_time() {
    let late = |x: f64| 100.0 + 0.5 * (x - 50.0).max(0.0);
    is_held_back_by(&look(Axis::Time, 85, late), "time stands for work");
    grows_steadily(&look(Axis::Time, 105, late));
}

/// Between two stairs the floor is level for as long as between the ones before.
#[test]
fn a_pause_between_stairs_is_no_end() {
    let stairs = |x: f64| 500.0 + 40.0 * (x / 200.0).floor();
    for n in [900, 960, 1100] {
        let verdict = look(Axis::Time, n, stairs);
        assert!(verdict.growing, "{verdict:#?}");
        assert!(verdict.rate.value > 0.0, "{verdict:#?}");
    }
    let ended = look(Axis::Time, 1400, |x| stairs(x.min(1000.0)));
    assert_eq!(ended.verdict, Class::WarmUp, "{ended:#?}");
}

/// A pace that is known to stay tells a leak of any size; a fill would double the process sooner.
#[test]
fn a_large_slow_ramp_is_found_like_a_small_one() {
    for height in [0.2, 0.5, 1.0] {
        let shape = |x: f64| 3000.0 * (1.0 + height * (x - 3500.0).max(0.0) / 6500.0);
        let verdict = look(Axis::Time, 10_000, shape);
        grows_steadily(&verdict);
    }
    let fill = |x: f64| 800.0 + (x - 500.0).max(0.0);
    is_held_back_by(
        &look(Axis::Time, 1000, fill),
        "growth must outlast what came before",
    );
}

#[test]
fn a_minute_of_growth_is_start_up() {
    let shape = |x: f64| 400.0 + x;
    is_held_back_by(&look(Axis::Time, 60, shape), "time stands for work");
    grows_steadily(&look(Axis::Time, 120, shape));
}

/// Ten times a minute is no horizon on which growth could be too slow to matter.
#[test]
fn a_minute_is_too_short_for_creep() {
    is_held_back_by(&look(Axis::Time, 60, |x| 1000.0 + 0.22 * x), "hardly begun");
    // What doubles the process in an hour is no creep, however short the look.
    let verdict = look(Axis::Time, 60, |x| 1000.0 + x);
    assert!(verdict.growing && !verdict.creep, "{verdict:#?}");
}

/// What doubles a process in minutes fills it, until it went on for eight of them.
#[test]
fn a_fast_leak_is_told_after_a_bounded_while() {
    let shape = |x: f64| 600.0 + 4.0 * x;
    is_held_back_by(&look(Axis::Time, 300, shape), "time stands for work");
    grows_steadily(&look(Axis::Time, 600, shape));
    grows_steadily(&look(Axis::Time, 900, |x| 350.0 + x));
}

/// The last attempt of a guarded leak: nine steps of 5 MB each under the noise of its batches. Seen to
/// rise, at a pace that matters, and hidden by noise: neither flat nor creep.
#[test]
fn growth_that_noise_hides_is_not_called_flat() {
    let held = [
        (30.0, 546.7),
        (31.0, 555.9),
        (32.0, 561.6),
        (33.0, 567.6),
        (34.0, 565.7),
        (35.0, 575.3),
        (36.0, 581.0),
        (37.0, 585.6),
        (38.0, 588.1),
        (39.0, 594.8),
    ];
    let mut series = Series::new(Axis::Step, Meter::Held);
    for (nth, (step, megabytes)) in held.into_iter().enumerate() {
        for above in [0.0, 18.0] {
            series.push(Point {
                seconds: Some(nth as f64 * 0.42),
                ..Point::new(step, 1e6 * (megabytes + above))
            });
        }
    }
    let context = Context {
        marked: true,
        first_step: Some(30.0),
        total_steps: Some(40.0),
        over: true,
        ..Context::default()
    };
    let verdict = judge(&series, &context);
    assert_eq!(verdict.verdict, Class::TooEarly, "{verdict:#?}");
    assert!(!verdict.creep);
}

#[test]
fn late_growth_has_to_last() {
    let shape = |x: f64| 1000.0 + 0.3 * (x - 800.0).max(0.0);
    is_held_back_by(
        &look(Axis::Time, 1050, shape),
        "growth must outlast what came before",
    );
    let verdict = look(Axis::Time, 1500, shape);
    grows_steadily(&verdict);
    assert!((verdict.rate.value / 0.3e6 - 1.0).abs() < 0.02);
}

/// The place that is told is a place where it will be decided, if it goes on like this.
#[test]
fn what_is_promised_is_kept() {
    let shape = |x: f64| 1000.0 + 0.3 * (x - 800.0).max(0.0);
    let at = look(Axis::Time, 1100, shape).decides_at.unwrap();
    assert!((11_000.0..12_500.0).contains(&at), "{at}");
    let verdict = look(Axis::Time, (at * 1.05) as usize, shape);
    assert_eq!(verdict.verdict, Class::Leak, "{verdict:#?}");
}

#[test]
fn growth_that_slows_is_no_leak_yet() {
    let verdict = look(Axis::Time, 1000, |x| 1000.0 + 40.0 * x.sqrt());
    assert_ne!(verdict.verdict, Class::Leak, "{:#?}", verdict.evidence);
}

/// It only wins back what it held before.
#[test]
fn a_refill_is_no_leak() {
    let shape = |x: f64| {
        if x < 200.0 {
            1300.0
        } else {
            1000.0 + 0.35 * (x - 200.0)
        }
    };
    is_held_back_by(&look(Axis::Time, 1000, shape), "it held as much before");
}

/// Memory that is handed back at the end of the process is no low-water mark.
#[test]
fn the_exit_does_not_hide_a_leak() {
    let shape = |x: f64| if x < 594.0 { 1000.0 + 0.5 * x } else { 80.0 };
    grows_steadily(&look(Axis::Time, 600, shape));
}

#[test]
fn creep_is_told_and_not_an_alarm() {
    let verdict = look(Axis::Time, 2000, |x| 1000.0 + 0.015 * x);
    assert_eq!(verdict.verdict, Class::Stable, "{:#?}", verdict.evidence);
    assert!(verdict.creep);
    assert!((verdict.rate.value / 0.015e6 - 1.0).abs() < 0.05);
}

#[test]
fn the_worst_verdict_stands_for_all() {
    let flat = look(Axis::Time, 300, |_| 1000.0);
    let leak = look(Axis::Time, 12_000, |x| 1000.0 + x);
    let early = look(Axis::Time, 5, |_| 1000.0);
    let all = [flat, early, leak];
    assert_eq!(worst(&all).unwrap().verdict, Class::Leak);
    assert_eq!(worst(&all[..2]).unwrap().verdict, Class::TooEarly);
    assert_eq!(worst([]), None);
}

/// A straight line has not ended anywhere, however slow it is.
#[test]
fn a_straight_ramp_is_never_a_warm_up() {
    for n in (20..=200).step_by(10) {
        for pace in [0.2, 0.5, 1.0, 2.0] {
            let verdict = look(Axis::Step, n, |x| 1000.0 + pace * x);
            assert_ne!(verdict.verdict, Class::WarmUp, "{n} points at {pace}");
            assert_eq!(verdict.settled_at, None, "{n} points at {pace}");
        }
    }
}

/// Looks that met nothing but the evaluation at their step.
#[test]
fn evaluations_that_marks_tell_are_still_spikes() {
    let points: Vec<Point> = (0..60)
        .map(|step| {
            let evaluates = step % 10 == 9;
            Point {
                phase: Some(if evaluates { Phase::Eval } else { Phase::Train }),
                ..Point::new(f64::from(step), if evaluates { 1.3e9 } else { 0.5e9 })
            }
        })
        .collect();
    let context = Context {
        marked: true,
        first_step: Some(0.0),
        ..Context::default()
    };
    let series = Series::from_points(Axis::Step, Meter::Held, &points);
    assert_eq!(judge(&series, &context).verdict, Class::Spikes);
}

/// Memory that is given back little by little rose nowhere.
#[test]
fn a_fall_is_no_spike() {
    let verdict = look(Axis::Step, 100, |x| 5000.0 - 30.0 * x);
    assert_ne!(verdict.verdict, Class::Spikes, "{:#?}", verdict.evidence);
    assert_eq!(verdict.leaking, Some(false));
}

#[test]
fn uneven_valleys_do_not_hide_that_all_of_it_is_flat() {
    // A real fine-tune: batches come and go between 545 and 575 MB, with few clear valleys.
    let wobble = |i: usize| (i as u64).wrapping_mul(2_654_435_761) % 1000;
    for seed in 0..20 {
        let verdict = look(Axis::Step, 120, |x| {
            let i = x as usize + 1000 * seed;
            let bump = if (x as usize) % 29 < 2 { 24.0 } else { 0.0 };
            548.0 + 0.016 * wobble(i / 2) as f64 + bump
        });
        assert_ne!(verdict.verdict, Class::TooEarly, "{seed}: {verdict:#?}");
    }
}

/// A loop that keeps four pictures a step, sampled within its steps: those of the step that runs are
/// there already, and the newest window caught a moment at which the step held more.
#[test]
fn the_plateau_is_predicted_from_the_line_and_not_from_its_newest_point() {
    let held = |examples: f64| 566.0 + 4.2 * examples;
    let points: Vec<Point> = (0..14)
        .map(|step| {
            let momentary = if step == 13 { 30.0 } else { 0.0 };
            let seen = f64::from(4 * (step + 1));
            Point::new(f64::from(step), 1e6 * (held(seen) + momentary))
        })
        .collect();
    let context = Context {
        marked: true,
        first_step: Some(0.0),
        geometry: Geometry {
            examples: Some(80),
            batch: Some(4),
            ..Geometry::default()
        },
        ..Context::default()
    };
    let series = Series::from_points(Axis::Step, Meter::Held, &points);
    let plateau = judge(&series, &context).predicted_plateau.unwrap();
    let comes = 1e6 * held(80.0);
    assert!((plateau / comes - 1.0).abs() < 0.02, "{plateau} {comes}");
}

/// A short attempt: a first step, then 4.6 MB a step under a limit that is twenty steps away: too slow
/// to double, but nothing that may be called flat.
#[test]
fn growth_that_meets_the_limit_soon_is_never_flat() {
    let points: Vec<Point> = (0..36)
        .map(|sample| {
            let step = f64::from(sample / 4);
            let first = if step == 0.0 { 25.0 } else { 0.0 };
            Point::new(step, 1e6 * (550.0 - first + 4.6 * step))
        })
        .collect();
    let series = Series::from_points(Axis::Step, Meter::Held, &points);
    let under = |limit: u64| {
        let context = Context {
            limit: Some(Bytes(limit)),
            ..Context::default()
        };
        judge(&series, &context).verdict
    };
    assert_eq!(under(680_000_000), Class::TooEarly);
    assert_eq!(under(20_000_000_000), Class::Stable);
}

/// A real fine-tune that keeps its graphs: the last quarter looks level, but its bound still allows the
/// pace of the quarter before.
#[test]
fn a_stair_is_no_end_of_growth() {
    let floor = [
        534.9, 582.5, 585.5, 585.7, 598.2, 605.3, 605.3, 605.3, 609.7, 609.9, 612.0, 627.7, 627.7,
        628.1, 628.1, 628.1, 628.1, 628.1, 628.1, 629.2, 632.0, 637.1, 637.7, 637.1, 637.2, 640.9,
        644.9, 644.9, 644.9, 648.8, 653.9, 657.8, 653.9, 652.7, 664.2, 664.2, 664.2, 664.2, 664.2,
        664.2, 664.3, 668.2, 665.5, 665.5, 669.3, 669.3, 678.0, 670.5,
    ];
    let verdict = look(Axis::Step, floor.len(), |x| floor[x as usize]);
    assert_eq!(verdict.verdict, Class::TooEarly, "{verdict:#?}");
}
