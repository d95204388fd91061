//! Growth that comes with excursions that nobody marked is told per excursion, and growth that only
//! shares the run with them is not.

use lowtide_core::explain::{Explanation, of_series};
use lowtide_core::judge::judge;
use lowtide_core::point::{Context, Point};
use lowtide_core::series::Series;
use lowtide_core::verdict::{Axis, Meter, Verdict};

const MB: f64 = 1e6;
const EVERY: f64 = 237.0;
const STEPS: f64 = 3600.0;
/// What 14 MB with every 237th step come to.
const EACH: f64 = 14.0;

/// Within 3 MB, and without a pattern that a count could follow.
fn noise(n: usize) -> f64 {
    let mixed = (n as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
    (mixed % 3000) as f64 / 1000.0
}

/// `floor` in MB at a step, under a spike of 300 MB at every 237th.
fn run(each: f64, floor: impl Fn(f64) -> f64) -> (Verdict, Explanation) {
    explained((0..).map(|n| n as f64 * each), |x| {
        let over = x % EVERY;
        let spike = if x >= EVERY && over < each.max(5.0) {
            300.0
        } else {
            0.0
        };
        floor(x) + spike
    })
}

fn explained(
    places: impl Iterator<Item = f64>,
    shape: impl Fn(f64) -> f64,
) -> (Verdict, Explanation) {
    let points: Vec<Point> = places
        .take_while(|x| *x <= STEPS)
        .enumerate()
        .map(|(n, x)| Point {
            seconds: Some(x / 5.0),
            ..Point::new(x, (shape(x) + noise(n)) * MB)
        })
        .collect();
    let series = Series::from_points(Axis::Step, Meter::Held, &points);
    let verdict = judge(&series, &Context::default());
    let explanation = of_series(&verdict, &series, &Context::default());
    (verdict, explanation)
}

/// 3600 steps in twelve minutes: three samples a second, or one for every five steps.
const SAMPLED: [f64; 2] = [5.0 / 3.0, 5.0];

#[test]
fn stairs_at_unmarked_excursions_are_told_per_excursion() {
    for each in SAMPLED {
        let (verdict, explanation) = run(each, |x| 900.0 + EACH * (x / EVERY).floor());
        assert!(verdict.growth.is_some(), "{verdict:#?}");
        let driver = &explanation.drivers[0];
        assert_eq!(driver.name, "excursion", "{:#?}", explanation.drivers);
        assert!(
            (driver.per_unit / (EACH * MB) - 1.0).abs() < 0.1,
            "{driver:#?}"
        );
        assert!(explanation.drivers.iter().skip(1).all(|other| !other.tied));
        assert!(
            driver.says.contains("per unmarked excursion"),
            "{}",
            driver.says
        );
        let open = explanation.untested.iter();
        let open: Vec<_> = open
            .filter(|s| s.about == "what the excursions are")
            .collect();
        assert_eq!(open.len(), 1, "{:#?}", explanation.untested);
    }
}

#[test]
fn a_straight_leak_under_the_same_spikes_grows_with_steps() {
    for each in SAMPLED {
        let (_, explanation) = run(each, |x| 900.0 + EACH / EVERY * x);
        assert_eq!(
            explanation.drivers[0].name, "step",
            "{:#?}",
            explanation.drivers
        );
        let other = explanation.drivers.iter().find(|d| d.name == "excursion");
        assert!(other.is_none_or(|d| !d.tied), "{:#?}", explanation.drivers);
    }
}

#[test]
fn saw_teeth_are_no_excursions() {
    for each in SAMPLED {
        for period in [60.0, EVERY, 500.0] {
            let places = (0..).map(|n| n as f64 * each);
            let (_, explanation) = explained(places, |x| {
                900.0 + EACH / EVERY * x + 200.0 * (x % period) / period
            });
            let named = explanation.drivers.iter().any(|d| d.name == "excursion");
            assert!(!named, "teeth every {period}: {:#?}", explanation.drivers);
        }
    }
}

#[test]
fn spikes_over_a_level_floor_explain_nothing() {
    for each in SAMPLED {
        let (_, explanation) = run(each, |_| 900.0);
        assert!(explanation.drivers.is_empty(), "{explanation:#?}");
    }
}
