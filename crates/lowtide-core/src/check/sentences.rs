//! What each criterion says: the value with its spread, what was allowed, by how much it is over, on
//! whom, and what would decide what is open.

use super::*;
use crate::judge::judge;
use crate::point::{Context, Point};
use crate::verdict::{Meter, Needs, Outlook, ProcessRef, Rate};

/// 400 steps around 1 GB, rising by `slope`.
fn line(slope: f64) -> Series {
    let mut series = Series::new(Axis::Step, Meter::Anon);
    for step in 0..400u32 {
        let wobble = f64::from(step * 7919 % 13) * 1e5;
        let bytes = 1e9 + f64::from(step) * slope + wobble;
        series.push(Point {
            seconds: Some(f64::from(step) * 2.0),
            ..Point::new(f64::from(step), bytes)
        });
    }
    series
}

/// Said by hand: when growth is called a leak is the judge's matter.
fn verdict(series: &Series, class: Class, rate: [f64; 3]) -> Verdict {
    let mut verdict = judge(series, &Context::default());
    verdict.verdict = class;
    verdict.growing = rate[1] > 0.0;
    verdict.settled_at = None;
    verdict.decides_at = None;
    let [low, value, high] = [rate[1], rate[0], rate[2]];
    verdict.rate = Rate {
        value,
        low,
        high,
        ..verdict.rate
    };
    verdict.process = Some(ProcessRef {
        pid: 4647,
        id: None,
        role: "trainer".to_owned(),
        command: "python train.py".to_owned(),
        why: String::new(),
    });
    verdict
}

const RISING: [f64; 3] = [61e3, 58e3, 64e3];

fn found(criteria: &Criteria, series: &Series, verdict: &Verdict, name: &str) -> (Outcome, String) {
    let findings = check(criteria, JudgedSeries { series, verdict }, None);
    let finding = findings.into_iter().find(|f| f.criterion == name);
    let finding = finding.expect("the criterion was asked");
    (finding.outcome, finding.sentence())
}

fn rate(text: &str) -> Criteria {
    Criteria {
        max_rate: Some(text.parse().unwrap()),
        ..Criteria::default()
    }
}

#[test]
fn a_leak_says_how_fast_and_who() {
    let series = line(61e3);
    let leak = verdict(&series, Class::Leak, RISING);
    let (outcome, says) = found(&Criteria::default(), &series, &leak, "no-leak");
    assert_eq!(outcome, Outcome::Fail);
    assert_eq!(
        says,
        "trainer 4647: leak: rises 61.0 kB/step (58.0 to 64.0), allowed 0"
    );
}

#[test]
fn what_is_open_says_what_would_decide_it() {
    let series = line(61e3);
    let mut open = verdict(&series, Class::TooEarly, RISING);
    open.decides_at = Some(500.0);
    let (outcome, says) = found(&Criteria::default(), &series, &open, "no-leak");
    assert_eq!(outcome, Outcome::Inconclusive);
    assert_eq!(
        says,
        "trainer 4647: growing, not decided: rises 61.0 kB/step (58.0 to 64.0), allowed 0; decidable at step 500"
    );
    // The judge knows what it waits for where it has no place for it.
    open.decides_at = None;
    let (_, says) = found(&Criteria::default(), &series, &open, "no-leak");
    let waits = open
        .evidence
        .iter()
        .find(|it| crate::judge::WOULD_CHANGE.said(it));
    assert!(says.contains(&waits.unwrap().says), "{says}");
    open.growing = false;
    let (_, says) = found(&Criteria::default(), &series, &open, "no-leak");
    assert!(
        says.starts_with("trainer 4647: too early, not decided: "),
        "{says}"
    );
    open.verdict = Class::WarmUp;
    let (outcome, says) = found(&Criteria::default(), &series, &open, "no-leak");
    assert_eq!(outcome, Outcome::Inconclusive);
    assert!(
        says.starts_with("trainer 4647: warm-up under way, its end is only predicted: rises 61.0")
    );
}

#[test]
fn what_passes_says_where_it_stands() {
    let series = line(0.0);
    let stable = verdict(&series, Class::Stable, [0.0, -1e3, 1e3]);
    let (outcome, says) = found(&Criteria::default(), &series, &stable, "no-leak");
    assert_eq!(outcome, Outcome::Pass);
    assert_eq!(says, "trainer 4647: stable, floor 1.00 GB");
    let mut settled = verdict(&series, Class::WarmUp, [0.0, -1e3, 1e3]);
    settled.settled_at = Some(82.0);
    settled.plateau = Some(17.1e9);
    let (_, says) = found(&Criteria::default(), &series, &settled, "no-leak");
    assert_eq!(
        says,
        "trainer 4647: warm-up, ended at step 82, plateau 17.1 GB"
    );
}

#[test]
fn a_rate_says_by_how_much() {
    let series = line(61e3);
    let leak = verdict(&series, Class::Leak, RISING);
    assert_eq!(
        found(&rate("20kB/step"), &series, &leak, "max-rate").1,
        "trainer 4647: rises 61.0 kB/step (58.0 to 64.0), allowed 20.0 kB/step: 41.0 kB/step too much"
    );
    let (outcome, says) = found(&rate("1MB/step"), &series, &leak, "max-rate");
    assert_eq!(outcome, Outcome::Pass);
    assert!(!says.contains("too much"), "{says}");
    // The bound lies within the spread.
    let (outcome, says) = found(&rate("60kB/step"), &series, &leak, "max-rate");
    assert_eq!(outcome, Outcome::Inconclusive);
    assert!(
        says.contains("; not decided: a longer run narrows"),
        "{says}"
    );
    // Growth that may still end.
    let mut open = verdict(&series, Class::TooEarly, RISING);
    (open.steady, open.decides_at) = (false, Some(500.0));
    let (outcome, says) = found(&rate("1kB/step"), &series, &open, "max-rate");
    assert_eq!(outcome, Outcome::Inconclusive);
    assert!(
        says.contains("; not decided, growth may still end: decidable at step 500"),
        "{says}"
    );
    let (_, says) = found(&rate("1kB/sample"), &series, &leak, "max-rate");
    assert!(
        says.contains("a bound like 1MB/step can be decided"),
        "{says}"
    );
}

#[test]
fn settling_says_when_and_how_late() {
    let series = line(0.0);
    let by = |text: &str| Criteria {
        settled_by: Some(text.parse().unwrap()),
        ..Criteria::default()
    };
    let mut settled = verdict(&series, Class::WarmUp, [0.0, -1e3, 1e3]);
    settled.settled_at = Some(120.0);
    let (outcome, says) = found(&by("step:90"), &series, &settled, "settled-by");
    assert_eq!(outcome, Outcome::Fail);
    assert!(
        says.starts_with("trainer 4647: settled at step 120 (step "),
        "{says}"
    );
    assert!(
        says.contains("allowed step 90: 30 steps too late"),
        "{says}"
    );
    let (outcome, says) = found(&by("step:200"), &series, &settled, "settled-by");
    assert_eq!(outcome, Outcome::Pass);
    assert!(!says.contains("too late"), "{says}");
    let leak = verdict(&series, Class::Leak, RISING);
    assert_eq!(
        found(&by("step:90"), &series, &leak, "settled-by").1,
        "trainer 4647: not settled: rises 61.0 kB/step (58.0 to 64.0) after step 90, allowed 0"
    );
    for (bound, waits) in [
        (
            "step:399",
            "not decided: 0 of 3 points from step 399 on; a longer run has them",
        ),
        (
            "time:10min",
            "the bound counts time, and the source knows steps only; a bound like step:90 can",
        ),
    ] {
        let (outcome, says) = found(&by(bound), &series, &settled, "settled-by");
        assert_eq!(outcome, Outcome::Inconclusive);
        assert!(says.contains(waits), "{says}");
    }
    // Where the judge leaves it open, the floor after the bound is measured.
    let steep = line(1e6);
    let open = verdict(&steep, Class::TooEarly, RISING);
    let (outcome, says) = found(&by("step:90"), &steep, &open, "settled-by");
    assert_eq!(outcome, Outcome::Fail);
    assert!(
        says.starts_with("trainer 4647: after step 90 the floor moves by "),
        "{says}"
    );
    assert!(says.contains(" too much"), "{says}");
}

#[test]
fn levels_say_how_far_they_are_over() {
    let series = line(1e6);
    let it = verdict(&series, Class::Stable, [0.0, -1e3, 1e3]);
    let peak = |size: &str| Criteria {
        max_peak: Some(size.parse().unwrap()),
        ..Criteria::default()
    };
    let (outcome, says) = found(&peak("1.2GB"), &series, &it, "max-peak");
    assert_eq!(outcome, Outcome::Fail);
    assert!(
        says.starts_with("trainer 4647: peak 1.40 GB at step "),
        "{says}"
    );
    assert!(says.contains("allowed 1.20 GB: 200 MB too much"), "{says}");
    let swing = Criteria {
        max_swing: Some("100MB".parse().unwrap()),
        ..Criteria::default()
    };
    let (outcome, says) = found(&swing, &series, &it, "max-swing");
    assert_eq!(outcome, Outcome::Fail);
    assert!(
        says.starts_with("trainer 4647: climbs 400 MB above its low (at step "),
        "{says}"
    );
    assert!(says.contains("allowed 100 MB: 300 MB too much"), "{says}");
    let headroom = Criteria {
        min_headroom: Some("4GB".parse().unwrap()),
        ..Criteria::default()
    };
    let mut limited = it.clone();
    (limited.limit, limited.headroom) = (Some(3.4e9), None);
    let (outcome, says) = found(&headroom, &series, &limited, "min-headroom");
    assert_eq!(outcome, Outcome::Fail);
    assert!(
        says.starts_with("2.00 GB left at the peak of 1.40 GB"),
        "{says}"
    );
    assert!(
        says.ends_with("wanted 4.00 GB left: 2.00 GB too little"),
        "{says}"
    );
    let (outcome, says) = found(&headroom, &series, &it, "min-headroom");
    assert_eq!(outcome, Outcome::Inconclusive);
    assert!(says.contains("--limit 32GB"), "{says}");
}

#[test]
fn too_few_steps_say_how_many_are_missing() {
    let series = line(0.0);
    let it = verdict(&series, Class::Stable, [0.0, -1e3, 1e3]);
    let criteria = Criteria {
        min_steps: Some(500.0),
        ..Criteria::default()
    };
    assert_eq!(
        found(&criteria, &series, &it, "min-steps").1,
        "not decided: watched until step 399 of 500 steps; 101 steps more decide it"
    );
}

#[test]
fn what_does_not_fit_says_how_much_too_much() {
    let series = line(0.0);
    let mut it = verdict(&series, Class::Stable, [0.0, -1e3, 1e3]);
    let mut outlook = Outlook {
        ends_at: Some(600.0),
        seconds: Some(60.0),
        needs: Needs::new(17.4e9, 17.0e9, 18.0e9),
        fits: None,
        futures: Vec::new(),
        later: Vec::new(),
        others: None,
        others_hold: None,
        says: String::new(),
    };
    let criteria = Criteria {
        fits: true,
        ..Criteria::default()
    };
    let mut said = |limit: f64, fits| {
        it.limit = Some(limit);
        outlook.fits = fits;
        it.outlook = Some(outlook.clone());
        found(&criteria, &series, &it, "fits").1
    };
    use crate::verdict::Fits;
    assert_eq!(
        said(16e9, Some(Fits::No)),
        "needs 17.0 to 18.0 GB of 16.0 GB: 1.00 to 2.00 GB too much"
    );
    assert_eq!(
        said(17.5e9, Some(Fits::Tight)),
        "needs 17.0 to 18.0 GB of 17.5 GB; not decided: up to 500 MB too much, a longer run narrows it"
    );
    // Others hold the rest: the limit itself would do.
    assert!(said(20e9, Some(Fits::No)).ends_with(": more than others leave of the limit"));
    assert!(said(20e9, Some(Fits::Tight)).ends_with("others take of the same limit"));
    assert!(said(20e9, None).contains("; not decided: "));
}

/// This run against another one: what each finding says of the change.
fn against(this: (f64, f64), other: (f64, f64)) -> Vec<Finding> {
    let made = |(level, slope): (f64, f64)| {
        let mut series = Series::new(Axis::Step, Meter::Anon);
        for step in 0..400u32 {
            let wobble = f64::from(step * 7919 % 13) * 1e5;
            let bytes = level + f64::from(step) * slope + wobble;
            series.push(Point::new(f64::from(step), bytes));
        }
        let verdict = judge(&series, &Context::default());
        (series, verdict)
    };
    let ((series, verdict), (base, base_verdict)) = (made(this), made(other));
    let subject = JudgedSeries {
        series: &series,
        verdict: &verdict,
    };
    let base = JudgedSeries {
        series: &base,
        verdict: &base_verdict,
    };
    let findings = check(&Criteria::default(), subject, Some(base));
    findings
        .into_iter()
        .filter(|f| f.change.is_some())
        .collect()
}

#[test]
fn less_than_the_baseline_is_an_improvement() {
    let found = against((3.0e9, 0.0), (4.48e9, 0.0));
    let level = &found[0];
    assert_eq!(
        (level.outcome, level.change),
        (Outcome::Pass, Some(Change::Improvement))
    );
    assert_eq!(level.brief.as_deref(), Some("plateau 1.48 GB lower"));
    assert!(level.says.ends_with(", an improvement"), "{}", level.says);
    let found = against((1e9, 0.0), (1e9, 5e6));
    let rate = &found[1];
    assert_eq!(rate.change, Some(Change::Improvement), "{}", rate.says);
    assert!(rate.brief.as_deref().unwrap().contains("MB/step lower"));
    // A baseline that still grew has no plateau, and had got further than this one.
    assert_eq!(found[0].outcome, Outcome::Pass, "{}", found[0].says);
    assert_eq!(found[0].brief.as_deref(), Some("plateau not higher"));
    assert!(
        found[0]
            .says
            .ends_with("had reached 2.96 GB and still grew"),
        "{}",
        found[0].says
    );
}

#[test]
fn more_than_the_baseline_is_a_regression_with_its_amount() {
    let found = against((1.2e9, 0.0), (1e9, 0.0));
    let level = &found[0];
    assert_eq!(
        (level.outcome, level.change),
        (Outcome::Fail, Some(Change::Regression))
    );
    assert_eq!(level.brief.as_deref(), Some("plateau 200 MB higher"));
    assert!(
        level
            .says
            .contains("allowed 5.0% = 50.0 MB more: 150 MB too much"),
        "{}",
        level.says
    );
    let found = against((1e9, 5e6), (1e9, 0.0));
    let rate = &found[1];
    assert_eq!(
        (rate.outcome, rate.change),
        (Outcome::Fail, Some(Change::Regression))
    );
    assert!(rate.says.contains("/step too much"), "{}", rate.says);
}

#[test]
fn no_difference_is_called_none() {
    for finding in against((1e9, 0.0), (1.001e9, 0.0)) {
        assert_eq!(
            (finding.outcome, finding.change),
            (Outcome::Pass, Some(Change::None))
        );
        assert!(
            finding.brief.unwrap().ends_with(" as before"),
            "{}",
            finding.says
        );
    }
}

#[test]
fn axes_that_differ_leave_the_rate_open() {
    let steps = line(0.0);
    let mut time = Series::new(Axis::Time, Meter::Anon);
    for second in 0..400u32 {
        time.push(Point::new(f64::from(second), 2e9));
    }
    let (this, other) = (
        judge(&steps, &Context::default()),
        judge(&time, &Context::default()),
    );
    let subject = JudgedSeries {
        series: &steps,
        verdict: &this,
    };
    let base = JudgedSeries {
        series: &time,
        verdict: &other,
    };
    let findings = check(&Criteria::default(), subject, Some(base));
    let rate = findings
        .iter()
        .find(|f| f.criterion == "baseline-rate")
        .unwrap();
    assert_eq!(rate.brief.as_deref(), Some("rate not decided"));
    assert!(
        rate.says.contains("--axis time compares both"),
        "{}",
        rate.says
    );
    let level = findings
        .iter()
        .find(|f| f.criterion == "baseline-level")
        .unwrap();
    assert_eq!(level.brief.as_deref(), Some("plateau 1.00 GB lower"));
}

#[test]
fn what_grows_has_no_level_to_compare() {
    // Its average is lower only because it has just begun.
    let found = against((0.5e9, 2e6), (2e9, 0.0));
    let level = &found[0];
    assert_eq!(
        (level.outcome, level.change),
        (Outcome::Inconclusive, Some(Change::NotDecided))
    );
    assert!(level.says.contains("it still grows"), "{}", level.says);
    // It is above already.
    let found = against((3e9, 2e6), (2e9, 0.0));
    assert_eq!(found[0].outcome, Outcome::Fail, "{}", found[0].says);
    let found = against((1e9, 2e6), (1e9, 2e6));
    assert_eq!(found[0].outcome, Outcome::Inconclusive);
    assert!(
        found[0].says.contains("both still grow"),
        "{}",
        found[0].says
    );
    assert_eq!(found[1].change, Some(Change::None), "{}", found[1].says);
    // Higher than a baseline that would have come there too.
    let found = against((4e9, 0.0), (1e9, 2e6));
    assert_eq!(found[0].outcome, Outcome::Inconclusive);
    assert!(
        found[0].says.contains("a baseline that settles"),
        "{}",
        found[0].says
    );
}
