//! Precision, recall and their kin on whole traces, with bootstrap intervals over sources: one
//! source may supply twenty traces, and they are not twenty witnesses.

use std::collections::BTreeMap;

use lowtide_core::verdict::Class;

use crate::rules::{Answer, Rule};
use crate::stats::{Random, quantile};
use crate::trace::{Confidence, Trace};

const RESAMPLES: usize = 2000;
const SEED: u64 = 3;

/// One trace as the score sees it: what it is and what was called.
#[derive(Clone, Copy)]
struct Call {
    leaks: bool,
    called: bool,
    decided: bool,
}

#[derive(Clone, Copy)]
struct Figures {
    precision: f64,
    recall: f64,
    f1: f64,
    accuracy: f64,
}

/// No verdict counts as "not a leak". A share of nothing is NaN, and shown as a dash.
fn figures<'a>(calls: impl Iterator<Item = &'a Call>) -> Figures {
    let (mut hit, mut alarm, mut miss, mut quiet) = (0.0, 0.0, 0.0, 0.0);
    for call in calls {
        match (call.leaks, call.called) {
            (true, true) => hit += 1.0,
            (false, true) => alarm += 1.0,
            (true, false) => miss += 1.0,
            (false, false) => quiet += 1.0,
        }
    }
    Figures {
        precision: hit / (hit + alarm),
        recall: hit / (hit + miss),
        f1: 2.0 * hit / (2.0 * hit + alarm + miss),
        accuracy: (hit + quiet) / (hit + alarm + miss + quiet),
    }
}

/// The table for the traces that `which` picks, among those with a yes-or-no label.
pub fn table(title: &str, rules: &[Rule], traces: &[Trace], which: fn(&Trace) -> bool) {
    let scored: Vec<&Trace> = traces.iter().filter(|t| t.decided() && which(t)).collect();
    let early: Vec<&Trace> = traces
        .iter()
        .filter(|t| t.counts() && t.label == Class::TooEarly && which(t))
        .collect();
    let leaks = scored.iter().filter(|t| t.leaks()).count();
    let mut groups: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (index, trace) in scored.iter().enumerate() {
        groups.entry(&trace.group).or_default().push(index);
    }
    println!(
        "\n{title}: {} traces, {leaks} leak, {} sources; {} whose honest answer is too early",
        scored.len(),
        groups.len(),
        early.len()
    );
    if scored.is_empty() {
        return;
    }
    println!(
        "{:28} {:>16} {:>16} {:>16} {:>16} {:>6} {:>11}",
        "rule", "precision", "recall", "F1", "accuracy", "cover", "over-claims"
    );
    let whole = |trace: &Trace, rule: &Rule| (rule.ask)(trace.until(trace.points.len()));
    for rule in rules {
        let calls: Vec<Call> = scored
            .iter()
            .map(|trace| {
                let answer = whole(trace, rule);
                Call {
                    leaks: trace.leaks(),
                    called: answer.leak(),
                    decided: answer.decided().is_some(),
                }
            })
            .collect();
        let point = figures(calls.iter());
        let spread = resampled(&calls, &groups);
        let interval = |pick: fn(&Figures) -> f64| {
            let values: Vec<f64> = spread.iter().map(pick).collect();
            let (low, high) = (quantile(&values, 0.025), quantile(&values, 0.975));
            format!("{} [{},{}]", share(pick(&point)), share(low), share(high))
        };
        let cover = calls.iter().filter(|c| c.decided).count() as f64 / calls.len() as f64;
        let over = early.iter().filter(|t| whole(t, rule).leak()).count();
        println!(
            "{:28} {:>16} {:>16} {:>16} {:>16} {:>6} {:>11}",
            rule.name,
            interval(|f| f.precision),
            interval(|f| f.recall),
            interval(|f| f.f1),
            interval(|f| f.accuracy),
            share(cover),
            format!("{over}/{}", early.len())
        );
    }
}

fn resampled(calls: &[Call], groups: &BTreeMap<&str, Vec<usize>>) -> Vec<Figures> {
    let groups: Vec<&Vec<usize>> = groups.values().collect();
    let mut random = Random(SEED);
    (0..RESAMPLES)
        .map(|_| {
            let drawn: Vec<&Call> = (0..groups.len())
                .flat_map(|_| groups[random.below(groups.len())])
                .map(|&index| &calls[index])
                .collect();
            figures(drawn.into_iter())
        })
        .collect()
}

/// `.87`, `1.0`, or a dash for a share of nothing.
pub fn share(value: f64) -> String {
    if value.is_nan() {
        "-".to_owned()
    } else if value >= 0.995 {
        "1.0".to_owned()
    } else {
        format!("{value:.2}").trim_start_matches('0').to_owned()
    }
}

/// How the judge's classes fall on the labels, and the share of sure labels that it got right.
pub fn confusion(judge: &Rule, traces: &[Trace]) {
    const CLASSES: [Class; 5] = [
        Class::Leak,
        Class::TooEarly,
        Class::WarmUp,
        Class::Spikes,
        Class::Stable,
    ];
    println!(
        "\nConfusion on traces of 12 points or more (rows: label, columns: {})",
        judge.name
    );
    print!("{:12}", "");
    CLASSES.iter().for_each(|class| print!("{class:>11}"));
    println!();
    let long: Vec<(&Trace, Answer)> = traces
        .iter()
        .filter(|t| t.counts() && !t.short())
        .map(|t| (t, (judge.ask)(t.until(t.points.len()))))
        .collect();
    for label in CLASSES {
        print!("{label:12}");
        for class in CLASSES {
            let count = long
                .iter()
                .filter(|(trace, answer)| trace.label == label && answer.class == Some(class))
                .count();
            print!("{count:>11}");
        }
        println!();
    }
    let sure = |want: fn(&Trace) -> bool| {
        let of: Vec<_> = long.iter().filter(|(trace, _)| want(trace)).collect();
        let right = of.iter().filter(|(t, a)| a.class == Some(t.label)).count();
        format!("{right}/{}", of.len())
    };
    println!(
        "right: {} of the high-confidence labels, {} of all that count",
        sure(|t| t.sure == Confidence::High),
        sure(|_| true)
    );
}

/// Every answer on a trace under 12 points, with its label: too early is right for most of them.
pub fn short(judge: &Rule, traces: &[Trace]) {
    println!("\nTraces of 5 to 11 points ({})", judge.name);
    let mut right = [0; 3];
    let mut of = 0;
    for trace in traces.iter().filter(|t| t.counts() && t.short()) {
        let answer = (judge.ask)(trace.until(trace.points.len()));
        let verdict = match answer.class {
            Some(class) if class == trace.label => 0,
            Some(Class::TooEarly) | None => 1,
            _ => 2,
        };
        right[verdict] += 1;
        of += 1;
        println!(
            "  {:34} {:2} points  label {:10} called {:10} {}",
            trace.name,
            trace.points.len(),
            trace.label.to_string(),
            answer.class.map_or("-".to_owned(), |c| c.to_string()),
            ["right", "cautious", "WRONG"][verdict]
        );
    }
    println!(
        "  of {of}: {} as labelled, {} too early, {} wrong",
        right[0], right[1], right[2]
    );
}

/// What the judge gets wrong on whole traces, and what it says about it.
pub fn wrong(judge: &Rule, traces: &[Trace]) {
    println!(
        "\nCalls of {} that differ from the label (12 points or more)",
        judge.name
    );
    for trace in traces.iter().filter(|t| t.counts() && !t.short()) {
        let answer = (judge.ask)(trace.until(trace.points.len()));
        if answer.class == Some(trace.label) {
            continue;
        }
        println!(
            "  {} ({} points, {:?}): label {}, called {}\n    label: {}\n    judge: {}",
            trace.name,
            trace.points.len(),
            trace.sure,
            trace.label,
            answer.class.map_or("-".to_owned(), |c| c.to_string()),
            trace.why,
            answer.reason
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_follow_their_definitions() {
        let call = |leaks, called| Call {
            leaks,
            called,
            decided: true,
        };
        let calls = [
            call(true, true),
            call(true, true),
            call(true, false),
            call(false, true),
            call(false, false),
        ];
        let found = figures(calls.iter());
        assert!((found.precision - 2.0 / 3.0).abs() < 1e-12);
        assert!((found.recall - 2.0 / 3.0).abs() < 1e-12);
        assert!((found.f1 - 2.0 / 3.0).abs() < 1e-12);
        assert!((found.accuracy - 0.6).abs() < 1e-12);
    }

    #[test]
    fn shares_are_short() {
        assert_eq!(share(0.874), ".87");
        assert_eq!(share(1.0), "1.0");
        assert_eq!(share(f64::NAN), "-");
    }
}
