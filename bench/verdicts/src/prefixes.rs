//! What each rule would have said while the run was still going: a rule that is right at the end
//! and cried wolf before is not right.

use crate::rules::{Answer, Rule};
use crate::trace::{FEWEST, Trace};

const SHARES: [f64; 5] = [0.10, 0.25, 0.50, 0.75, 1.0];
/// Up to here every prefix is asked about.
const ALL: usize = 200;
/// Beyond, so many on a logarithmic and so many on an even scale: starts are where mistakes live.
const SPREAD: usize = 50;

/// The lengths at which a trace of `n` points is judged, ascending, from five points to all.
pub fn lengths(n: usize) -> Vec<usize> {
    if n <= ALL {
        return (FEWEST..=n).collect();
    }
    let mut lengths: Vec<usize> = (0..=SPREAD)
        .flat_map(|i| {
            let share = i as f64 / SPREAD as f64;
            let (first, last) = (FEWEST as f64, n as f64);
            [
                (first * (last / first).powf(share)).round() as usize,
                (first + (last - first) * share).round() as usize,
            ]
        })
        .collect();
    lengths.sort_unstable();
    lengths.dedup();
    lengths
}

/// The first prefix on which the rule says leak.
pub fn first_accusation(rule: &Rule, trace: &Trace) -> Option<(usize, Answer)> {
    lengths(trace.points.len())
        .into_iter()
        .map(|n| (n, (rule.ask)(trace.until(n))))
        .find(|(_, answer)| answer.leak())
}

pub fn table(rules: &[Rule], judge: &Rule, traces: &[Trace]) {
    let scored: Vec<&Trace> = traces.iter().filter(|t| t.decided()).collect();
    let long: Vec<&&Trace> = scored.iter().filter(|t| !t.short()).collect();
    let count = |leaks| long.iter().filter(|t| t.leaks() == leaks).count();
    println!(
        "\nPrefixes: leaks found, false alarms at each share of the trace ({} leak, {} not, 12 points \
         or more); not-leaks ever accused at any prefix of {FEWEST} points or more, and the same among \
         shorter traces; traces whose leak / not-leak call changed between prefixes, and leaks withdrawn",
        count(true),
        count(false)
    );
    print!("{:28}", "rule");
    SHARES
        .iter()
        .for_each(|share| print!(" {:>13}", format!("{:.0} %", share * 100.0)));
    println!(
        " {:>8} {:>8} {:>7} {:>9}",
        "ever", "short", "flips", "withdrawn"
    );
    for rule in rules {
        print!("{:28}", rule.name);
        let mut history: Vec<Vec<Option<bool>>> = vec![Vec::new(); long.len()];
        for share in SHARES {
            let (mut found, mut alarms) = (0, 0);
            for (trace, seen) in long.iter().zip(&mut history) {
                let n = ((trace.points.len() as f64 * share).round() as usize).max(1);
                let answer = (rule.ask)(trace.until(n));
                seen.push(answer.decided());
                if answer.leak() {
                    *if trace.leaks() {
                        &mut found
                    } else {
                        &mut alarms
                    } += 1;
                }
            }
            print!(
                " {:>13}",
                format!("{found}/{}, {alarms}/{}", count(true), count(false))
            );
        }
        let accused = |short: bool| {
            let of: Vec<_> = scored
                .iter()
                .filter(|t| !t.leaks() && t.short() == short)
                .collect();
            let ever = of
                .iter()
                .filter(|t| first_accusation(rule, t).is_some())
                .count();
            format!("{ever}/{}", of.len())
        };
        let changes = |from_to: fn(bool, bool) -> bool| {
            let changed = history.iter().filter(|seen| {
                let decided: Vec<bool> = seen.iter().flatten().copied().collect();
                decided.windows(2).any(|pair| from_to(pair[0], pair[1]))
            });
            changed.count()
        };
        println!(
            " {:>8} {:>8} {:>7} {:>9}",
            accused(false),
            accused(true),
            format!("{}/{}", changes(|a, b| a != b), long.len()),
            changes(|a, b| a && !b)
        );
    }
    println!("\nNot-leaks that {} accused at some prefix:", judge.name);
    let mut none = true;
    for trace in traces.iter().filter(|t| t.counts() && !t.leaks()) {
        if let Some((n, answer)) = first_accusation(judge, trace) {
            none = false;
            let x = trace.points[n - 1].x;
            let growing = match trace.grows_until {
                Some(end) if x <= end => format!("; it does grow steadily until {end}"),
                _ => String::new(),
            };
            println!(
                "  {} ({}): at {n} of {} points, x = {x}{growing}\n    judge: {}",
                trace.name,
                trace.label,
                trace.points.len(),
                answer.reason
            );
        }
    }
    if none {
        println!("  none");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_reach_from_five_points_to_all() {
        assert!(lengths(4).is_empty());
        assert_eq!(lengths(7), [5, 6, 7]);
        let many = lengths(30_000);
        assert_eq!((many[0], many[many.len() - 1]), (5, 30_000));
        assert!(many.len() > 80 && many.is_sorted());
    }
}
