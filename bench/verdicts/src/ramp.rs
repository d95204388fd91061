//! The case that matters: a start-up, then a modest leak. A straight ramp is added to real logs
//! believed free of leaks, from a fifth of the run on. Who notices, and is the rate right?

use lowtide_core::point::Point;

use crate::rules::{Answer, Question, Rule};
use crate::score::share;
use crate::stats::{median, wilson};
use crate::trace::Trace;

/// The ramp's height at the end, as a share of the log's median level.
const RAMPS: [f64; 6] = [0.0, 0.05, 0.10, 0.20, 0.50, 1.0];
const FROM: f64 = 0.2;
/// Misses are listed from here on: a smaller ramp may be called creep.
const ASKED: f64 = 0.10;
/// Logs shorter than this are no runs with a start-up.
const LOG: usize = 200;

struct Case {
    points: Vec<Point>,
    /// Bytes per unit of the axis that were added.
    rate: f64,
}

fn ramped(trace: &Trace, ramp: f64) -> Case {
    let xs = (trace.points[0].x, trace.points[trace.points.len() - 1].x);
    let from = xs.0 + (xs.1 - xs.0) * FROM;
    let level = median(&trace.points.iter().map(|p| p.bytes).collect::<Vec<_>>());
    let rate = ramp * level / (xs.1 - from);
    let points = trace
        .points
        .iter()
        .map(|p| Point::new(p.x, p.bytes + rate * (p.x - from).max(0.0)))
        .collect();
    Case { points, rate }
}

pub fn table(rules: &[Rule], judge: &Rule, traces: &[Trace]) {
    let logs: Vec<&Trace> = traces
        .iter()
        .filter(|t| t.decided() && !t.leaks() && t.points.len() >= LOG)
        .collect();
    println!(
        "\nRamps added to {} logs free of leaks, from {:.0} % of the run on: share called leak",
        logs.len(),
        FROM * 100.0
    );
    if logs.is_empty() {
        return;
    }
    let answers = |rule: &Rule, ramp: f64| -> Vec<(Answer, f64)> {
        logs.iter()
            .map(|trace| {
                let case = ramped(trace, ramp);
                let question = Question {
                    points: &case.points,
                    ..trace.until(0)
                };
                ((rule.ask)(question), case.rate)
            })
            .collect()
    };
    print!("{:28}", "rule");
    RAMPS
        .iter()
        .for_each(|ramp| print!(" {:>6}", format!("{:.0} %", ramp * 100.0)));
    println!();
    for rule in rules {
        print!("{:28}", rule.name);
        for ramp in RAMPS {
            let called = answers(rule, ramp).iter().filter(|(a, _)| a.leak()).count();
            print!(" {:>6}", share(called as f64 / logs.len() as f64));
        }
        println!();
    }
    print!("{:28}", format!("{}, shown to grow", judge.name));
    for ramp in RAMPS {
        let shown = answers(judge, ramp).iter().filter(|(a, _)| a.grows).count();
        print!(" {:>6}", share(shown as f64 / logs.len() as f64));
    }
    println!();
    let (mut errors, mut covered) = (Vec::new(), 0);
    for ramp in RAMPS.into_iter().filter(|ramp| *ramp > 0.0) {
        for (trace, (answer, rate)) in logs.iter().zip(answers(judge, ramp)) {
            if !answer.grows {
                if ramp < ASKED {
                    continue;
                }
                println!(
                    "  missed: {} at +{:.0} %: called {}; {}",
                    trace.name,
                    ramp * 100.0,
                    answer.class.map_or("-".to_owned(), |c| c.to_string()),
                    answer.reason
                );
            } else if let Some((value, low, high)) = answer.rate {
                errors.push((value / rate - 1.0).abs());
                covered += usize::from((low..=high).contains(&rate));
            }
        }
    }
    let (low, high) = wilson(covered, errors.len());
    println!(
        "{}: median rate error {:.2} % over {} that are shown to grow; the 95 % interval holds the added rate in \
         {covered}/{} = {:.3} [{low:.3}, {high:.3}] of them",
        judge.name,
        median(&errors) * 100.0,
        errors.len(),
        errors.len(),
        covered as f64 / errors.len() as f64,
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::Confidence;
    use lowtide_core::point::Context;
    use lowtide_core::verdict::{Axis, Class, Meter};

    #[test]
    fn a_ramp_starts_at_a_fifth_and_ends_at_its_share() {
        let flat = Trace {
            name: String::new(),
            label: Class::Stable,
            right: vec![Class::Stable],
            sure: Confidence::High,
            group: String::new(),
            why: String::new(),
            axis: Axis::Time,
            meter: Meter::Rss,
            points: (0..=100).map(|i| Point::new(f64::from(i), 1e9)).collect(),
            context: Context::default(),
            grows_until: None,
        };
        let case = ramped(&flat, 0.10);
        assert_eq!(case.points[20].bytes, 1e9);
        assert!((case.points[100].bytes - 1.1e9).abs() < 1.0);
        assert!((case.rate - 1e8 / 80.0).abs() < 1e-6);
    }
}
