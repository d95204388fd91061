//! Every kind draws, the same by its seed, and its truth is that of its floor.

use lowtide_core::verdict::Axis;

use super::chance::Chance;
use super::generate::kinds;
use super::generate::render::{Rendered, render};
use super::{draw, one};
use crate::stats::Random;

const SEEDS: usize = 30;

fn cases(scale: f64) -> impl Iterator<Item = Rendered> {
    kinds().flat_map(move |kind| {
        let mut seeds = Random(7);
        (0..SEEDS).map(move |_| render(kind, seeds.fork().0, scale))
    })
}

#[test]
fn kinds_have_names_of_their_own() {
    let mut names: Vec<&str> = kinds().map(|kind| kind.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), kinds().count());
}

#[test]
fn every_kind_draws_series_that_could_have_been_read() {
    for scale in [0.3, 1.0, 10.0] {
        for case in cases(scale) {
            let (drawn, name) = (&case.drawn, case.drawn.kind);
            let points = &drawn.points;
            assert!(
                (200..=3000).contains(&points.len()),
                "{name}: {}",
                points.len()
            );
            // Readings stand above what is kept, but for noise: of the level's hundredth at most, and of
            // levels that wander.
            let low = points
                .iter()
                .zip(&case.floor)
                .filter(|(point, floor)| point.bytes < 0.85 * **floor);
            let started = case
                .setting
                .start
                .map_or(0.0, |start| 3.0 * start.steps / case.setting.steps);
            assert!(
                low.count() as f64 <= (started + 0.01) * points.len() as f64,
                "{name}"
            );
            for point in points {
                assert!(point.bytes.is_finite() && point.bytes > 0.0, "{name}");
                assert!(point.bytes < 1e14, "{name}: {:e}", point.bytes);
                assert_eq!(point.seconds.is_some(), drawn.axis == Axis::Step);
            }
            let rises = |pair: &[lowtide_core::point::Point]| {
                pair[0].x < pair[1].x && pair[0].seconds <= pair[1].seconds
            };
            assert!(points.windows(2).all(rises), "{name}");
            let hours = points.last().unwrap();
            let seconds = hours.seconds.unwrap_or(hours.x);
            assert!((500.0..=260_000.0).contains(&seconds), "{name}: {seconds}");
        }
    }
}

#[test]
fn the_truth_holds_for_the_floor() {
    for scale in [0.3, 1.0, 10.0] {
        for case in cases(scale) {
            let (drawn, floor) = (&case.drawn, &case.floor);
            let name = format!("{} {}", drawn.kind, drawn.seed);
            let (first, last) = (drawn.points[0].x, drawn.points[floor.len() - 1].x);
            if drawn.leak {
                assert!(
                    drawn.settles.is_none() && drawn.fills_in.is_none(),
                    "{name}"
                );
                let (onset, rate) = (drawn.onset.unwrap(), drawn.rate.unwrap());
                assert!(onset < last && rate > 0.0, "{name}: {onset} {rate}");
                let rise = rate * (last - onset);
                assert!(rise > 0.05 * case.setting.base, "{name}: {rise:e}");
                let from = drawn.points.partition_point(|point| point.x < onset);
                let rose = floor[floor.len() - 1] - floor[from.saturating_sub(1)];
                // Beside something harmless that grows, the floor rises by more.
                assert!(rose > 0.9 * rise, "{name}: {rose:e} of {rise:e}");
                continue;
            }
            assert!(drawn.onset.is_none() && drawn.rate.is_none(), "{name}");
            if let Some(length) = drawn.fills_in {
                assert!(length >= 0.0 && length.is_finite(), "{name}: {length}");
            }
            if let Some(settles) = drawn.settles {
                assert!(settles <= last, "{name}");
                let from = drawn.points.partition_point(|point| point.x < settles);
                let highest = floor[from..].iter().copied().fold(0.0, f64::max);
                let rose = highest / floor[from] - 1.0;
                assert!(
                    rose < 0.006,
                    "{name}: {rose} after {settles} of {first} to {last}"
                );
            }
        }
    }
}

/// What is drawn as growth is seen as growth: by the run's end, or when it settles.
#[test]
fn growth_is_as_large_as_drawn() {
    let mut small = 0;
    let mut count = 0;
    for case in cases(1.0).filter(|case| case.drawn.fills_in.is_some()) {
        let bytes = case.drawn.points.iter().map(|point| point.bytes);
        count += 1;
        let highest = bytes.fold(0.0, f64::max);
        small += usize::from(highest < 1.05 * case.setting.base);
    }
    assert!(small * 50 < count, "{small} of {count}");
}

#[test]
fn the_same_seed_draws_the_same() {
    let (one_way, again) = (draw(2, 5, 1.0), draw(2, 5, 1.0));
    assert!(one_way == again);
    assert!(one_way != draw(2, 6, 1.0));
    let case = &one_way[3];
    let kind = kinds().find(|kind| kind.name == case.kind).unwrap();
    assert!(one(kind, case.seed, 1.0) == *case);
}

#[test]
fn a_watch_knows_no_round_before_it_comes() {
    let case = draw(10, 1, 1.0)
        .into_iter()
        .find(|case| case.context.rounds.len() > 5 && case.context.epoch_ends.len() > 5)
        .unwrap();
    let (points, context) = case.until(case.points.len() / 2);
    let now = points.last().unwrap().x;
    assert!(!context.rounds.is_empty() && context.rounds.iter().all(|round| round.x <= now));
    assert!(context.epoch_ends.iter().all(|x| *x <= now));
    assert!(context.rounds.len() < case.context.rounds.len());
}
