//! The story that lowtide was born from, as far as its published points tell it: two runs of one
//! job and a shorter one, cut where people looked at them. Each line says what is asked.

use lowtide_core::judge::judge;
use lowtide_core::point::{Context, Point};
use lowtide_core::series::Series;
use lowtide_core::units::{Bytes, show_bytes};
use lowtide_core::verdict::{Class, Verdict};

use crate::trace::Trace;

/// What the machine had.
const LIMIT: Bytes = Bytes(32_000_000_000);
const CUTS: [f64; 6] = [30.0, 40.0, 50.0, 60.0, 70.0, 80.0];
/// Points from one logged step to the next, which is ten later: four a step. It shows whether more
/// samples of the same growth change the answer.
const FINER: usize = 40;

pub fn report(traces: &[Trace]) {
    let find = |name: &str| traces.iter().find(|t| t.name.ends_with(name));
    let (Some(first), Some(second), Some(small)) = (
        find("model-garden-run1"),
        find("model-garden-run2"),
        find("model-garden-test300"),
    ) else {
        return;
    };
    println!("\nThe founding case");
    let ask = |trace: &Trace, points: &[Point], known: bool| {
        let context = Context {
            limit: Some(LIMIT),
            ..if known {
                trace.context.clone()
            } else {
                Context::default()
            }
        };
        judge(
            &Series::from_points(trace.axis, trace.meter, points),
            &context,
        )
    };
    let early = ask(first, &first.points, true);
    let within = |value: Option<f64>, low: f64, high: f64| {
        value.is_some_and(|value| (low..=high).contains(&value))
    };
    line(
        "run 1: too-early, decides at 83-104, 17.5-18.5 GB, safe",
        &early,
        early.verdict == Class::TooEarly
            && within(early.decides_at, 83.0, 104.0)
            && within(early.predicted_plateau, 17.5e9, 18.5e9)
            && early.safe_until_then == Some(true),
    );
    let whole = ask(second, &second.points, true);
    let growth = whole.growth.as_ref();
    line(
        "run 2: warm-up, settled at 80-85, 20-22 MB per new example",
        &whole,
        whole.verdict == Class::WarmUp
            && within(whole.settled_at, 80.0, 85.0)
            && growth.is_some_and(|g| {
                g.driver.as_deref() == Some("new-example") && within(g.per_unit, 20e6, 22e6)
            }),
    );
    let short = ask(small, &small.points, true);
    line(
        "300 examples: settled at 37-39",
        &short,
        short.verdict == Class::WarmUp && within(short.settled_at, 37.0, 39.0),
    );
    let finer = interpolated(&second.points);
    for (what, points, known) in [
        ("with context", &second.points, true),
        ("without context", &second.points, false),
        ("four points a step, with context", &finer, true),
    ] {
        for cut in CUTS {
            let until = points.partition_point(|p| p.x <= cut);
            let verdict = ask(second, &points[..until], known);
            let right = verdict.verdict == Class::TooEarly;
            line(
                &format!("run 2 cut at {cut}, {what}: too-early"),
                &verdict,
                right,
            );
        }
    }
    let verdict = ask(second, &finer, true);
    let right = verdict.verdict == Class::WarmUp;
    line("run 2 whole, four points a step: warm-up", &verdict, right);
}

fn line(asked: &str, verdict: &Verdict, right: bool) {
    let number = |value: Option<f64>| value.map_or("-".to_owned(), |v| format!("{v:.1}"));
    let size = |value: Option<f64>| value.map_or("-".to_owned(), show_bytes);
    println!(
        "  {:5} {asked}: {}, settled {}, decides {}, predicted {}, safe {}, driver {} {}",
        if right { "ok" } else { "WRONG" },
        verdict.verdict,
        number(verdict.settled_at),
        number(verdict.decides_at),
        size(verdict.predicted_plateau),
        verdict
            .safe_until_then
            .map_or("-".to_owned(), |s| s.to_string()),
        verdict
            .growth
            .as_ref()
            .and_then(|g| g.driver.as_deref())
            .unwrap_or("-"),
        size(verdict.growth.as_ref().and_then(|g| g.per_unit)),
    );
}

/// Straight lines between the points: not data, only the same curve seen more often.
fn interpolated(points: &[Point]) -> Vec<Point> {
    let mut finer: Vec<Point> = points
        .windows(2)
        .flat_map(|pair| {
            (0..FINER).map(|i| {
                let share = i as f64 / FINER as f64;
                let between = |from: f64, to: f64| from + (to - from) * share;
                Point::new(
                    between(pair[0].x, pair[1].x),
                    between(pair[0].bytes, pair[1].bytes),
                )
            })
        })
        .collect();
    finer.extend(points.last());
    finer
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_steps_become_forty_points() {
        let finer = interpolated(&[Point::new(10.0, 0.0), Point::new(20.0, 80.0)]);
        assert_eq!(finer.len(), 41);
        assert_eq!((finer[1].x, finer[1].bytes), (10.25, 2.0));
        assert_eq!(finer[40], Point::new(20.0, 80.0));
    }
}
