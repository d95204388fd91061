//! What holds for every series, whatever its numbers.

use lowtide_core::judge::judge;
use lowtide_core::mark::{Geometry, Phase};
use lowtide_core::point::{Context, Point};
use lowtide_core::series::Series;
use lowtide_core::units::Bytes;
use lowtide_core::verdict::{Axis, Class, Meter, Verdict};
use proptest::prelude::*;

fn look(axis: Axis, points: &[(f64, f64)]) -> Verdict {
    let points: Vec<Point> = points.iter().map(|(x, y)| Point::new(*x, *y)).collect();
    judge(
        &Series::from_points(axis, Meter::Held, &points),
        &Context::default(),
    )
}

/// Noise that a seed repeats: between -1 and 1.
fn noise(seed: u64, i: usize) -> f64 {
    let mut z = seed.wrapping_add((i as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15));
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    ((z ^ (z >> 31)) as f64 / u64::MAX as f64) * 2.0 - 1.0
}

#[derive(Clone, Debug)]
enum Shape {
    Flat,
    /// Start-up, then growth by this share of the level.
    Leak(f64),
    /// A store that fills and slows down: its time constant as a share of the run. (A slow one is a
    /// straight line for minutes, and no series can tell; see the first epoch.)
    Fill(f64),
    /// Growth that ends at this share of the run.
    Ends(f64),
    /// Falls of this share of the level, so many of them.
    Teeth(f64, u32),
}

impl Shape {
    /// Level at a share of the run.
    fn at(&self, share: f64) -> f64 {
        let start_up = (share / 0.03).min(1.0);
        let over = match self {
            Shape::Flat => 0.0,
            Shape::Leak(size) => size * share,
            Shape::Fill(tau) => 0.8 * (1.0 - (-share / tau).exp()),
            Shape::Ends(end) => 0.5 * (share / end).min(1.0),
            Shape::Teeth(depth, count) => depth * (share * f64::from(*count)).fract(),
        };
        0.2 + 0.8 * start_up + over
    }
}

fn shapes() -> impl Strategy<Value = Shape> {
    prop_oneof![
        Just(Shape::Flat),
        (0.2..0.45f64).prop_map(Shape::Leak),
        (0.03..0.1f64).prop_map(Shape::Fill),
        (0.1..0.3f64).prop_map(Shape::Ends),
        (0.15..0.5f64, 12..30u32).prop_map(|(depth, count)| Shape::Teeth(depth, count)),
    ]
}

/// An hour of it on a process of one to four gigabytes.
fn sampled(shape: &Shape, n: usize, level: f64, ripple: f64, seed: u64) -> Vec<(f64, f64)> {
    (0..n)
        .map(|i| {
            let share = i as f64 / (n - 1) as f64;
            let y = level * (shape.at(share) + ripple * noise(seed, i));
            (3600.0 * share, y)
        })
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn clear_shapes_are_named(shape in shapes(), level in 1e9..4e9f64, seed: u64) {
        let verdict = look(Axis::Time, &sampled(&shape, 720, level, 0.002, seed));
        let wanted: &[Class] = match shape {
            // An hour of it is shown, and may still be a fill: no epoch is known.
            Shape::Leak(_) => &[Class::Leak, Class::TooEarly],
            Shape::Flat | Shape::Fill(_) | Shape::Ends(_) => &[Class::WarmUp],
            // With its start-up in view a saw-tooth is a warm-up with spikes, or spikes.
            Shape::Teeth(..) => &[Class::Spikes, Class::WarmUp],
        };
        prop_assert!(wanted.contains(&verdict.verdict), "{:#?}", verdict);
        prop_assert_eq!(verdict.steady, matches!(shape, Shape::Leak(_)), "{:#?}", verdict);
        prop_assert!((3..=6).contains(&verdict.evidence.len()), "{:#?}", verdict.evidence);
        prop_assert_eq!(verdict.leaking == Some(true), verdict.verdict == Class::Leak);
    }

    #[test]
    fn a_leak_has_its_rate_and_its_interval(size in 0.2..0.45f64, level in 1e9..4e9f64, seed: u64) {
        let verdict = look(Axis::Time, &sampled(&Shape::Leak(size), 720, level, 0.002, seed));
        let rate = size * level / 3600.0;
        prop_assert!((verdict.rate.value / rate - 1.0).abs() < 0.05, "{:?} for {rate}", verdict.rate);
        prop_assert!(verdict.rate.low <= rate && rate <= verdict.rate.high);
    }

    #[test]
    fn a_constant_on_top_does_not_change_the_pace(
        size in 0.25..0.4f64, more in 0.0..0.2f64, seed: u64
    ) {
        let points = sampled(&Shape::Leak(size), 720, 2e9, 0.002, seed);
        let lifted: Vec<(f64, f64)> = points.iter().map(|(x, y)| (*x, y + more * 2e9)).collect();
        let (a, b) = (look(Axis::Time, &points), look(Axis::Time, &lifted));
        prop_assert_eq!(a.steady, b.steady);
        prop_assert!((a.rate.value / b.rate.value - 1.0).abs() < 0.02);
    }

    #[test]
    fn the_unit_does_not_matter(shape in shapes(), seed: u64) {
        let points = sampled(&shape, 500, 2e9, 0.002, seed);
        // Megabytes of a thousand or of 1,024 kilobytes; seconds stay what they are.
        let other: Vec<(f64, f64)> = points.iter().map(|(x, y)| (*x, y * 1.048_576)).collect();
        prop_assert_eq!(look(Axis::Time, &points).verdict, look(Axis::Time, &other).verdict);
    }

    #[test]
    fn sampling_twice_as_often_keeps_the_verdict(shape in shapes(), seed: u64) {
        let slow = look(Axis::Time, &sampled(&shape, 500, 2e9, 0.001, seed));
        let fast = look(Axis::Time, &sampled(&shape, 1000, 2e9, 0.001, seed));
        prop_assert_eq!(slow.verdict, fast.verdict, "{:#?} {:#?}", slow.evidence, fast.evidence);
    }

    #[test]
    fn a_flat_tail_ends_every_accusation(size in 0.2..0.45f64, seed: u64) {
        let mut points = sampled(&Shape::Leak(size), 400, 2e9, 0.002, seed);
        let (end, level) = points[points.len() - 1];
        points.extend((1..=400).map(|i| {
            let x = end + 9.0 * f64::from(i);
            (x, level * (1.0 + 0.002 * noise(seed, 1000 + i as usize)))
        }));
        let verdict = look(Axis::Time, &points);
        prop_assert_eq!(verdict.verdict, Class::WarmUp, "{:#?}", verdict.evidence);
        let settled = verdict.settled_at.unwrap();
        prop_assert!((3000.0..4200.0).contains(&settled), "{settled}");
    }

    #[test]
    fn a_fill_is_never_accused(tau in 0.01..0.06f64, seed: u64, cut in 5usize..700) {
        let points = sampled(&Shape::Fill(tau), 720, 2e9, 0.0005, seed);
        let verdict = look(Axis::Time, &points[..cut]);
        prop_assert_ne!(verdict.verdict, Class::Leak, "{:#?}", verdict.evidence);
    }

    #[test]
    fn batch_and_live_agree(shape in shapes(), seed: u64) {
        let points = sampled(&shape, 900, 2e9, 0.002, seed);
        let mut live = Series::new(Axis::Time, Meter::Held);
        for (x, y) in &points {
            live.push(Point::new(*x, *y));
            if live.count().is_multiple_of(97) {
                judge(&live, &Context::default());
            }
        }
        prop_assert_eq!(judge(&live, &Context::default()), look(Axis::Time, &points));
    }

    #[test]
    fn any_numbers_get_a_sensible_answer(
        points in prop::collection::vec((any::<f64>(), any::<f64>(), any::<Option<f64>>()), 0..400),
        marked: bool,
        first_step in any::<Option<f64>>(),
        limit in any::<Option<u64>>(),
        epoch in any::<Option<f64>>(),
        axis in prop_oneof![Just(Axis::Step), Just(Axis::Time), Just(Axis::Sample)],
    ) {
        let mut series = Series::new(axis, Meter::Rss);
        for (i, (x, bytes, seconds)) in points.iter().enumerate() {
            let phase = [None, Some(Phase::Train), Some(Phase::Eval)][i % 3];
            series.push(Point { x: *x, bytes: *bytes, seconds: *seconds, phase });
        }
        let context = Context {
            geometry: Geometry { epoch_steps: epoch, ..Geometry::default() },
            limit: limit.map(Bytes),
            marked,
            first_step,
            resumed: marked && epoch.is_some(),
            ..Context::default()
        };
        let verdict = judge(&series, &context);
        prop_assert!(!verdict.evidence.is_empty());
        serde_json::to_string(&verdict).unwrap();
    }

    #[test]
    fn small_whole_numbers_get_a_sensible_answer(
        values in prop::collection::vec(0u32..4, 0..200),
        axis in prop_oneof![Just(Axis::Step), Just(Axis::Time), Just(Axis::Sample)],
    ) {
        let points: Vec<(f64, f64)> = values
            .iter()
            .enumerate()
            .map(|(i, v)| ((i / 2) as f64, f64::from(*v) * 1e6))
            .collect();
        prop_assert_ne!(look(axis, &points).verdict, Class::Leak);
    }
}

#[test]
fn one_point_and_equal_points() {
    assert_eq!(look(Axis::Step, &[]).verdict, Class::TooEarly);
    assert_eq!(look(Axis::Step, &[(1.0, 5e8)]).verdict, Class::TooEarly);
    let same: Vec<(f64, f64)> = (0..50).map(|i| (f64::from(i), 5e8)).collect();
    assert_eq!(look(Axis::Step, &same).verdict, Class::Stable);
    let still: Vec<(f64, f64)> = (0..50).map(|_| (7.0, 5e8)).collect();
    assert_eq!(look(Axis::Step, &still).verdict, Class::TooEarly);
}

/// A counter of 32 bits starts again at nothing; a counter below zero shows as a huge number.
#[test]
fn counters_that_wrap_are_no_leak() {
    let wrap: Vec<(f64, f64)> = (0..300)
        .map(|i| (f64::from(i), (4e9 + 2e6 * f64::from(i)) % 4_294_967_296.0))
        .collect();
    assert_ne!(look(Axis::Time, &wrap).verdict, Class::Leak);
    let huge: Vec<(f64, f64)> = (0..300)
        .map(|i| (f64::from(i), if i % 90 == 5 { 1.8e19 } else { 1e9 }))
        .collect();
    let verdict = look(Axis::Time, &huge);
    assert!(
        matches!(verdict.verdict, Class::Spikes | Class::Stable),
        "{verdict:#?}"
    );
}

/// Growth before the first step is start-up when marks tell where that is.
#[test]
fn marks_tell_the_start_up() {
    let points: Vec<Point> = (0..200)
        .map(|i| Point::new(f64::from(i), 1e9 * (f64::from(i) / 50.0).min(1.0) + 1e8))
        .collect();
    let series = Series::from_points(Axis::Time, Meter::Held, &points);
    assert_eq!(judge(&series, &Context::default()).verdict, Class::WarmUp);
    let marked = Context {
        marked: true,
        first_step: Some(60.0),
        ..Context::default()
    };
    assert_eq!(judge(&series, &marked).verdict, Class::Stable);
}

/// Evaluation that takes ten times what leaks is left out by its phase, and by the floor without.
#[test]
fn a_leak_under_evaluation_spikes_is_found() {
    for told in [true, false] {
        let points: Vec<Point> = (0..1200)
            .map(|i| {
                let eval = i % 60 < 8;
                let spike = if eval { 2e9 } else { 0.0 };
                Point {
                    phase: told.then_some(if eval { Phase::Eval } else { Phase::Train }),
                    ..Point::new(f64::from(i), 1e9 + 0.17e6 * f64::from(i) + spike)
                }
            })
            .collect();
        let verdict = judge(
            &Series::from_points(Axis::Time, Meter::Held, &points),
            &Context::default(),
        );
        assert!(verdict.steady, "{:#?}", verdict.evidence);
        assert!(
            (verdict.rate.value / 0.17e6 - 1.0).abs() < 0.05,
            "{:?}",
            verdict.rate
        );
    }
}

#[test]
fn a_leak_under_saw_teeth_and_in_stairs_is_found() {
    let teeth: Vec<(f64, f64)> = (0..1200)
        .map(|i| {
            (
                f64::from(i),
                1e9 + 0.2e6 * f64::from(i) + 5e6 * f64::from(i % 60),
            )
        })
        .collect();
    let verdict = look(Axis::Time, &teeth);
    assert!(verdict.steady, "{:#?}", verdict.evidence);
    assert!(
        (verdict.rate.value / 0.2e6 - 1.0).abs() < 0.05,
        "{:?}",
        verdict.rate
    );
    let stairs: Vec<(f64, f64)> = (0..1200)
        .map(|i| (f64::from(i), 1e9 + 30e6 * f64::from(i / 100)))
        .collect();
    let verdict = look(Axis::Time, &stairs);
    assert!(verdict.steady, "{:#?}", verdict.evidence);
    // Four stairs may be a heap that resizes itself.
    assert!(!look(Axis::Time, &stairs[..400]).steady);
}
