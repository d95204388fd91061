//! The criteria of `check` on series made for them: the founding plateau, lines of a known rate, baselines.

use super::*;
use crate::judge::judge;
use crate::mark::Geometry;
use crate::point::{Context, Point};
use crate::verdict::{Lost, Meter};

/// The founding run: 5.4 GB at step 10, flat from step 83 on.
fn plateau(steps: u32, jump_at: Option<u32>) -> Series {
    let mut series = Series::new(Axis::Step, Meter::Rss);
    for step in (10..=steps).step_by(10) {
        let grown = f64::from(step.min(83)) * 165e6;
        let wobble = f64::from(step * 7 % 13) * 10e6;
        let jump = jump_at.is_some_and(|at| step >= at);
        series.push(Point::new(
            f64::from(step),
            4e9 + grown + wobble + if jump { 2e9 } else { 0.0 },
        ));
    }
    series
}

fn founding() -> Criteria {
    Criteria {
        settled_by: Some("step:90".parse().unwrap()),
        max_swing: Some("500MB".parse().unwrap()),
        min_steps: Some(120.0),
        ..Criteria::default()
    }
}

fn outcome_of(criteria: &Criteria, series: &Series, context: &Context) -> (Outcome, Vec<Finding>) {
    outcome_as(criteria, series, judge(series, context).verdict, context)
}

/// With the class said by hand: when growth is called a leak is the judge's matter, and tested there.
fn outcome_as(
    criteria: &Criteria,
    series: &Series,
    class: Class,
    context: &Context,
) -> (Outcome, Vec<Finding>) {
    let mut verdict = judge(series, context);
    verdict.verdict = class;
    let subject = JudgedSeries {
        series,
        verdict: &verdict,
    };
    let findings = check(criteria, subject, None);
    (overall(&findings), findings)
}

#[test]
fn the_plateau_test_of_the_founding_story() {
    let none = Context::default();
    let (outcome, findings) = outcome_of(&founding(), &plateau(120, None), &none);
    assert_eq!(outcome, Outcome::Pass, "{findings:#?}");
    let (outcome, findings) = outcome_of(&founding(), &plateau(240, None), &none);
    assert_eq!(outcome, Outcome::Pass, "{findings:#?}");
    let (outcome, findings) = outcome_of(&founding(), &plateau(70, None), &none);
    assert_eq!(outcome, Outcome::Inconclusive, "{findings:#?}");
    let (outcome, findings) = outcome_of(&founding(), &plateau(120, Some(110)), &none);
    assert_eq!(outcome, Outcome::Fail, "{findings:#?}");
}

#[test]
fn memory_given_back_is_no_swing() {
    let mut series = plateau(120, None);
    for step in (130..=240u32).step_by(10) {
        series.push(Point::new(f64::from(step), 17e9));
    }
    let (outcome, findings) = outcome_of(&founding(), &series, &Context::default());
    assert_eq!(outcome, Outcome::Pass, "{findings:#?}");
}

fn line(slope: f64) -> Series {
    let mut series = Series::new(Axis::Step, Meter::Rss);
    for step in 0..400u32 {
        let wobble = f64::from(step * 7919 % 13) * 1e5;
        series.push(Point {
            seconds: Some(f64::from(step) * 2.0),
            ..Point::new(f64::from(step), 1e9 + f64::from(step) * slope + wobble)
        });
    }
    series
}

#[test]
fn a_rate_is_compared_with_its_interval() {
    let bound = |text: &str| Criteria {
        max_rate: Some(text.parse().unwrap()),
        ..Criteria::default()
    };
    let none = Context::default();
    let grows = line(5e6);
    assert_eq!(
        outcome_of(&bound("10MB/step"), &grows, &none).0,
        Outcome::Pass
    );
    let leak = |text: &str| outcome_as(&bound(text), &grows, Class::Leak, &none).0;
    assert_eq!(leak("1MB/step"), Outcome::Fail);
    // Whether it ends is open, but nothing that is known will end it: it rises by more than allowed.
    assert_eq!(
        outcome_as(&bound("1MB/step"), &grows, Class::TooEarly, &none).0,
        Outcome::Fail
    );
    // Growth that may still end with its epoch is no failure yet.
    let epoch = Context {
        geometry: Geometry {
            epoch_steps: Some(390.0),
            ..Geometry::default()
        },
        ..Context::default()
    };
    assert_eq!(
        outcome_of(&bound("1MB/step"), &grows, &epoch).0,
        Outcome::Inconclusive
    );
    // 5 MB a step at 2 s a step are 150 MB a minute.
    assert_eq!(
        outcome_of(&bound("200MB/min"), &grows, &none).0,
        Outcome::Pass
    );
    assert_eq!(leak("100MB/min"), Outcome::Fail);
    assert_eq!(
        outcome_of(&bound("1MB/sample"), &grows, &none).0,
        Outcome::Inconclusive
    );
    assert_eq!(
        outcome_of(&bound("1MB/step"), &line(0.0), &none).0,
        Outcome::Pass
    );
}

#[test]
fn without_criteria_the_verdict_decides() {
    let none = Context::default();
    let epoch = Context {
        geometry: Geometry {
            epoch_steps: Some(100.0),
            ..Geometry::default()
        },
        ..Context::default()
    };
    assert_eq!(
        outcome_of(&Criteria::default(), &line(5e6), &epoch).0,
        Outcome::Fail
    );
    // Nobody says where it would end.
    assert_eq!(
        outcome_of(&Criteria::default(), &line(5e6), &none).0,
        Outcome::Inconclusive
    );
    assert_eq!(
        outcome_of(&Criteria::default(), &line(0.0), &none).0,
        Outcome::Pass
    );
    assert_eq!(
        outcome_of(&Criteria::default(), &plateau(50, None), &none).0,
        Outcome::Inconclusive
    );
}

#[test]
fn peaks_and_headroom() {
    let series = plateau(240, None);
    let limited = Context {
        limit: Some(Bytes(20_000_000_000)),
        ..Context::default()
    };
    let peak = |size: &str| Criteria {
        max_peak: Some(size.parse().unwrap()),
        ..Criteria::default()
    };
    assert_eq!(
        outcome_of(&peak("18GB"), &series, &limited).0,
        Outcome::Pass
    );
    assert_eq!(
        outcome_of(&peak("17GB"), &series, &limited).0,
        Outcome::Fail
    );
    let headroom = |text: &str| Criteria {
        min_headroom: Some(text.parse().unwrap()),
        ..Criteria::default()
    };
    assert_eq!(
        outcome_of(&headroom("10%"), &series, &limited).0,
        Outcome::Pass
    );
    assert_eq!(
        outcome_of(&headroom("4GB"), &series, &limited).0,
        Outcome::Fail
    );
    let unlimited = Context::default();
    assert_eq!(
        outcome_of(&headroom("4GB"), &series, &unlimited).0,
        Outcome::Inconclusive
    );
}

#[test]
fn a_regression_needs_more_than_a_difference() {
    let none = Context::default();
    let against = |series: &Series, base: &Series| {
        let (verdict, base_verdict) = (judge(series, &none), judge(base, &none));
        let findings = check(
            &Criteria {
                tolerance: Some(Share(0.05)),
                ..Criteria::default()
            },
            JudgedSeries {
                series,
                verdict: &verdict,
            },
            Some(JudgedSeries {
                series: base,
                verdict: &base_verdict,
            }),
        );
        findings
            .into_iter()
            .find(|f| f.criterion == "baseline-level")
            .unwrap()
            .outcome
    };
    let shifted = |by: f64| {
        let mut series = Series::new(Axis::Step, Meter::Rss);
        for bucket in line(0.0).buckets() {
            series.push(Point::new(bucket.first, bucket.floor + by));
        }
        series
    };
    assert_eq!(
        against(&shifted(10e6), &line(0.0)),
        Outcome::Pass,
        "1 % more"
    );
    assert_eq!(
        against(&shifted(200e6), &line(0.0)),
        Outcome::Fail,
        "20 % more"
    );
    assert_eq!(against(&shifted(-200e6), &line(0.0)), Outcome::Pass, "less");
}

#[test]
fn an_empty_series_passes_nothing() {
    let series = Series::new(Axis::Step, Meter::Rss);
    let criteria = Criteria {
        max_peak: Some(Bytes(1)),
        min_headroom: Some("1%".parse().unwrap()),
        max_rate: Some("1MB/min".parse().unwrap()),
        ..founding()
    };
    let (outcome, findings) = outcome_of(&criteria, &series, &Context::default());
    assert_ne!(outcome, Outcome::Pass, "{findings:#?}");
}

/// Reserved memory that is being touched: its end is known, and has not come.
fn under_way(series: &Series) -> Verdict {
    let mut verdict = judge(series, &Context::default());
    verdict.verdict = Class::WarmUp;
    verdict.leaking = Some(false);
    verdict.settled_at = None;
    verdict.growing = true;
    verdict.predicted_plateau = Some(3e9);
    verdict
}

#[test]
fn a_predicted_end_passes_nothing() {
    let series = line(5e6);
    let of = |criteria: &Criteria, verdict: &Verdict| {
        let subject = JudgedSeries {
            series: &series,
            verdict,
        };
        let findings = check(criteria, subject, None);
        (overall(&findings), findings)
    };
    let mut verdict = under_way(&series);
    let (outcome, findings) = of(&Criteria::default(), &verdict);
    assert_eq!(outcome, Outcome::Inconclusive, "{findings:#?}");
    assert!(findings[0].says.starts_with("warm-up under way"));

    let rate = Criteria {
        max_rate: Some("1MB/step".parse().unwrap()),
        ..Criteria::default()
    };
    let (outcome, findings) = of(&rate, &verdict);
    assert_eq!(outcome, Outcome::Inconclusive, "{findings:#?}");

    let settled = Criteria {
        settled_by: Some("step:90".parse().unwrap()),
        ..Criteria::default()
    };
    let (outcome, findings) = of(&settled, &verdict);
    assert_eq!(outcome, Outcome::Fail, "{findings:#?}");
    verdict.growing = false;
    let (outcome, findings) = of(&settled, &verdict);
    assert_eq!(outcome, Outcome::Inconclusive, "{findings:#?}");
}

#[test]
fn whether_it_fits_is_asked_for_by_itself() {
    let series = line(0.0);
    let mut verdict = judge(&series, &Context::default());
    verdict.verdict = Class::TooEarly;
    verdict.outlook = None;
    let criteria = Criteria {
        fits: true,
        ..Criteria::default()
    };
    let subject = JudgedSeries {
        series: &series,
        verdict: &verdict,
    };
    let names: Vec<String> = check(&criteria, subject, None)
        .into_iter()
        .map(|finding| finding.criterion)
        .collect();
    assert_eq!(names, ["fits"]);
}

#[test]
fn what_is_lost_passes_nothing_and_pardons_nothing() {
    let series = plateau(240, None);
    let whole = judge(&series, &Context::default());
    let damaged = Verdict {
        lost: Lost::of(0, true, 24),
        ..whole.clone()
    };
    let unrecorded = Verdict {
        lost: Lost::of(3, false, 21),
        ..whole.clone()
    };
    let subject = |verdict| JudgedSeries {
        series: &series,
        verdict,
    };
    let checked = |peak: &str, verdict, baseline: Option<_>| {
        let criteria = Criteria {
            max_peak: Some(peak.parse().unwrap()),
            min_steps: Some(120.0),
            ..Criteria::default()
        };
        let findings = check(&criteria, subject(verdict), baseline.map(subject));
        (overall(&findings), findings)
    };
    assert_eq!(checked("30GB", &whole, None).0, Outcome::Pass);
    for lost in [&damaged, &unrecorded] {
        let (outcome, findings) = checked("30GB", lost, None);
        assert_eq!(outcome, Outcome::Inconclusive);
        let passed = findings.iter().filter(|f| f.outcome == Outcome::Pass);
        assert!(
            passed.map(|f| &f.criterion).eq(["min-steps"]),
            "{findings:#?}"
        );
        let says = &lost.lost.as_ref().unwrap().says;
        assert!(findings.iter().any(|f| f.says == *says), "{findings:#?}");
        assert_eq!(checked("1GB", lost, None).0, Outcome::Fail);
    }
    assert_eq!(checked("30GB", &whole, Some(&whole)).0, Outcome::Pass);
    assert_eq!(
        checked("30GB", &whole, Some(&damaged)).0,
        Outcome::Inconclusive
    );
}
