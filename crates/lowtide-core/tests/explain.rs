//! The founding case, explained from its log alone: drivers, the candidate, what it is not.
//! Figures from github.com/leokeba/model-garden, MEMORY_LEAK_REAL_ANALYSIS.md.

use lowtide_core::explain::{Explanation, of_series};
use lowtide_core::judge::judge;
use lowtide_core::mark::Geometry;
use lowtide_core::point::{Context, Point};
use lowtide_core::series::Series;
use lowtide_core::verdict::{Axis, Meter, Verdict};

const RUN2: [f64; 24] = [
    5434.0, 7017.0, 8721.0, 10375.0, 12000.0, 13757.0, 15559.0, 17412.0, 17658.0, 17693.0, 17694.0,
    17694.0, 17437.0, 17437.0, 17437.0, 17378.0, 17378.0, 17229.0, 17229.0, 17051.0, 17052.0,
    17041.0, 17033.0, 17032.0,
];

fn context(examples: Option<u64>) -> Context {
    Context {
        geometry: Geometry {
            examples,
            batch: Some(2),
            accumulate: Some(4),
            ..Geometry::default()
        },
        ..Context::default()
    }
}

fn explained(points: &[(f64, f64)], context: &Context) -> (Verdict, Explanation) {
    let points: Vec<Point> = points
        .iter()
        .map(|(x, mb)| Point::new(*x, mb * 1e6))
        .collect();
    let series = Series::from_points(Axis::Step, Meter::Rss, &points);
    let verdict = judge(&series, context);
    let explanation = of_series(&verdict, &series, context);
    (verdict, explanation)
}

fn run2() -> Vec<(f64, f64)> {
    (1..).map(|i| f64::from(i) * 10.0).zip(RUN2).collect()
}

#[test]
fn the_founding_case_is_first_touch() {
    let (verdict, explanation) = explained(&run2(), &context(Some(663)));
    let driver = &explanation.drivers[0];
    assert_eq!(driver.name, "new-example");
    assert_eq!(
        verdict.growth.unwrap().driver.as_deref(),
        Some("new-example")
    );
    assert!(
        driver.low < 20.9e6 && 20.9e6 < driver.high + 1e6,
        "{driver:?}"
    );
    assert!(driver.margin.unwrap() > 10.0, "{driver:?}");
    assert!(explanation.drivers.iter().skip(1).all(|other| !other.tied));
    let first = &explanation.candidates[0];
    assert_eq!(first.id, "P01");
    assert!(
        first
            .experiment
            .expect
            .starts_with("half the examples: the plateau moves to step 41"),
        "{:?}",
        first.experiment
    );
    assert_eq!(first.experiment.command, None);
    // The five conclusions of the five reports, and what has become of them.
    for (id, name) in [
        ("P15", "compile cache"),
        ("P16", "compile workers"),
        ("P39", "collator"),
        ("P09", "autograd"),
        ("P33", "CUDA"),
        ("P08", "CUDA"),
    ] {
        let spoken = explanation
            .ruled_out
            .iter()
            .chain(&explanation.untested)
            .find(|statement| statement.about.starts_with(id))
            .unwrap_or_else(|| panic!("nothing is said of {id}"));
        assert!(spoken.about.contains(name), "{spoken:?}");
        assert!(!spoken.says.is_empty());
    }
    let collator = explanation
        .ruled_out
        .iter()
        .find(|s| s.about.starts_with("P39"));
    assert!(collator.is_some_and(|s| s.says.contains("158 steps")));
}

#[test]
fn in_its_first_epoch_nothing_is_claimed_and_the_parting_is_told() {
    let (_, explanation) = explained(&run2()[..7], &context(Some(663)));
    assert!(explanation.candidates.is_empty());
    let names: Vec<&str> = explanation
        .drivers
        .iter()
        .map(|d| d.name.as_str())
        .collect();
    assert_eq!(names, ["new-example", "step"]);
    let step = &explanation.drivers[1];
    assert!(step.tied);
    assert!((step.parts_at.unwrap() - 82.875).abs() < 0.01);
    let open = explanation
        .untested
        .iter()
        .any(|s| s.about.starts_with("P01"));
    assert!(open);
}

#[test]
fn without_the_epoch_first_touch_is_untested() {
    let (_, explanation) = explained(&run2(), &context(None));
    assert!(explanation.candidates.is_empty());
    let first_touch = explanation
        .untested
        .iter()
        .find(|s| s.about.starts_with("P01"))
        .unwrap();
    assert!(first_touch.says.contains("--examples"), "{first_touch:?}");
}

#[test]
fn a_leak_beyond_its_epoch_is_no_first_touch() {
    let points: Vec<(f64, f64)> = (1..=400)
        .map(|i| (f64::from(i), 5000.0 + 20.0 * f64::from(i)))
        .collect();
    let (_, explanation) = explained(&points, &context(Some(663)));
    assert_eq!(explanation.drivers[0].name, "step");
    assert!((explanation.drivers[0].per_unit / 20e6 - 1.0).abs() < 0.01);
    assert!(
        explanation
            .ruled_out
            .iter()
            .any(|s| s.about.starts_with("P01"))
    );
    // A bare log shows a course, and no course alone is a cause.
    assert!(explanation.candidates.is_empty());
}

#[test]
fn nothing_is_said_of_a_level_series() {
    let points: Vec<(f64, f64)> = (1..=200)
        .map(|i| (f64::from(i), 5000.0 + f64::from(i % 7)))
        .collect();
    let (_, explanation) = explained(&points, &context(Some(663)));
    assert_eq!(explanation, Explanation::default());
}
