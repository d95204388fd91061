//! The case that lowtide was born from: five reports, five conclusions, and an epoch of 83 steps.
//! Figures from github.com/leokeba/model-garden, MEMORY_LEAK_REAL_ANALYSIS.md and test_run_output.txt.

use lowtide_core::judge::judge;
use lowtide_core::mark::Geometry;
use lowtide_core::point::{Context, Point};
use lowtide_core::series::Series;
use lowtide_core::units::Bytes;
use lowtide_core::verdict::{Axis, Class, Meter, Verdict};

const RUN1: [(f64, f64); 7] = [
    (10.0, 5552.0),
    (20.0, 7159.0),
    (30.0, 8851.0),
    (40.0, 10515.0),
    (50.0, 12227.0),
    (60.0, 13919.0),
    (70.0, 15736.0),
];
const RUN2: [f64; 24] = [
    5434.0, 7017.0, 8721.0, 10375.0, 12000.0, 13757.0, 15559.0, 17412.0, 17658.0, 17693.0, 17694.0,
    17694.0, 17437.0, 17437.0, 17437.0, 17378.0, 17378.0, 17229.0, 17229.0, 17051.0, 17052.0,
    17041.0, 17033.0, 17032.0,
];
const TEST300: [f64; 11] = [
    1917.9, 4993.4, 6388.6, 8039.3, 9432.4, 9450.9, 9461.5, 9472.9, 9503.2, 9539.1, 9565.7,
];

fn run2() -> Vec<(f64, f64)> {
    (1..).map(|i| f64::from(i) * 10.0).zip(RUN2).collect()
}

fn look(points: &[(f64, f64)], context: &Context) -> Verdict {
    let points: Vec<Point> = points
        .iter()
        .map(|(x, mb)| Point::new(*x, mb * 1e6))
        .collect();
    judge(
        &Series::from_points(Axis::Step, Meter::Rss, &points),
        context,
    )
}

fn examples(count: u64) -> Context {
    Context {
        geometry: Geometry {
            examples: Some(count),
            batch: Some(2),
            accumulate: Some(4),
            ..Geometry::default()
        },
        limit: Some(Bytes(32_000_000_000)),
        ..Context::default()
    }
}

/// Four points a step, on the straight lines between the logged ones.
fn dense(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    points
        .windows(2)
        .flat_map(|w| {
            let ((x0, y0), (x1, y1)) = (w[0], w[1]);
            let parts = ((x1 - x0) * 4.0) as u32;
            (0..parts).map(move |k| {
                let share = f64::from(k) / f64::from(parts);
                (x0 + (x1 - x0) * share, y0 + (y1 - y0) * share)
            })
        })
        .chain(points.last().copied())
        .collect()
}

#[test]
fn run_1_is_too_early_and_safe_to_go_on() {
    let verdict = look(&RUN1, &examples(663));
    assert_eq!(verdict.verdict, Class::TooEarly, "{:#?}", verdict.evidence);
    assert_eq!(verdict.leaking, None);
    let decides = verdict.decides_at.unwrap();
    assert!((83.0..=104.0).contains(&decides), "{decides}");
    let plateau = verdict.predicted_plateau.unwrap();
    assert!((17.5e9..=18.5e9).contains(&plateau), "{plateau}");
    assert_eq!(verdict.safe_until_then, Some(true));
    let growth = verdict.growth.unwrap();
    assert_eq!(growth.driver.as_deref(), Some("new-example"));
    assert!((20e6..=22e6).contains(&growth.per_unit.unwrap()));
}

#[test]
fn run_1_is_not_safe_under_a_small_limit() {
    let mut context = examples(663);
    context.limit = Some(Bytes(17_000_000_000));
    let verdict = look(&RUN1, &context);
    assert_eq!(verdict.verdict, Class::TooEarly);
    assert_eq!(verdict.safe_until_then, Some(false));
}

#[test]
fn run_2_warmed_up_with_its_first_epoch() {
    let verdict = look(&run2(), &examples(663));
    assert_eq!(verdict.verdict, Class::WarmUp, "{:#?}", verdict.evidence);
    let settled = verdict.settled_at.unwrap();
    assert!((80.0..=85.0).contains(&settled), "{settled}");
    let growth = verdict.growth.unwrap();
    assert_eq!(growth.driver.as_deref(), Some("new-example"));
    let each = growth.per_unit.unwrap();
    assert!((20e6..=22e6).contains(&each), "{each}");
    assert!((3..=6).contains(&verdict.evidence.len()));
    assert!(
        verdict
            .evidence
            .iter()
            .any(|e| e.rule == "growth ends at the epoch")
    );
}

#[test]
fn three_hundred_examples_settle_at_step_38() {
    let points: Vec<(f64, f64)> = (0..).map(|i| f64::from(i) * 10.0).zip(TEST300).collect();
    let verdict = look(&points, &examples(300));
    assert_eq!(verdict.verdict, Class::WarmUp, "{:#?}", verdict.evidence);
    let settled = verdict.settled_at.unwrap();
    assert!((37.0..=39.0).contains(&settled), "{settled}");
}

#[test]
fn run_2_is_never_accused_however_often_it_is_sampled() {
    let full = dense(&run2());
    for n in 5..=full.len() {
        let verdict = look(&full[..n], &examples(663));
        let step = full[n - 1].0;
        assert_ne!(
            verdict.verdict,
            Class::Leak,
            "at step {step}: {:#?}",
            verdict.evidence
        );
        if (20.0..80.0).contains(&step) {
            assert_eq!(verdict.verdict, Class::TooEarly, "at step {step}");
        }
    }
    assert_eq!(look(&full, &examples(663)).verdict, Class::WarmUp);
}

#[test]
fn without_the_epoch_run_2_is_too_early_until_it_ends() {
    for step in [30.0, 40.0, 50.0, 60.0, 70.0, 80.0] {
        let points: Vec<(f64, f64)> = run2().into_iter().filter(|p| p.0 <= step).collect();
        let verdict = look(&points, &Context::default());
        assert_eq!(verdict.verdict, Class::TooEarly, "at step {step}");
        let said = verdict
            .evidence
            .iter()
            .any(|e| e.says.contains("first pass over the data"));
        assert!(said || points.len() < 6, "{:#?}", verdict.evidence);
    }
}

/// The same line that goes on beyond its epoch is a leak, and the range of its end is told.
#[test]
fn growth_that_outlasts_the_epoch_is_a_leak() {
    let points: Vec<(f64, f64)> = (1..=400)
        .map(|i| (f64::from(i), 5000.0 + 20.0 * f64::from(i)))
        .collect();
    let early = look(&points[..100], &examples(663));
    assert_eq!(early.verdict, Class::TooEarly, "{:#?}", early.evidence);
    let verdict = look(&points, &examples(663));
    assert_eq!(verdict.verdict, Class::Leak, "{:#?}", verdict.evidence);
    assert!((verdict.rate.value / 20e6 - 1.0).abs() < 0.01);
    let oom = verdict.oom.unwrap();
    assert!(
        (oom.at - 1350.0).abs() < 10.0 && oom.low <= oom.at,
        "{oom:?}"
    );
    assert!(oom.high.is_some_and(|high| high >= oom.at));
}

/// A floor that stopped because nothing is left is no plateau.
#[test]
fn full_memory_is_no_plateau() {
    let points: Vec<(f64, f64)> = (1..=300)
        .map(|i| (f64::from(i), (5000.0 + 50.0 * f64::from(i)).min(15_900.0)))
        .collect();
    let mut context = Context::default();
    assert_eq!(look(&points, &context).verdict, Class::WarmUp);
    context.limit = Some(Bytes(16_000_000_000));
    let verdict = look(&points, &context);
    assert_ne!(verdict.verdict, Class::WarmUp, "{:#?}", verdict.evidence);
    assert!(verdict.evidence.iter().any(|e| e.rule == "memory is full"));
}
