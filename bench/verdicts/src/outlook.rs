//! What a run was said to need until its end, asked on the way, against what it needed in the end. The
//! length of every trace is told, as most jobs print it; nothing else is.

use lowtide_core::judge::judge;
use lowtide_core::point::Context;
use lowtide_core::series::Series;
use lowtide_core::verdict::Axis;

use crate::stats::{median, wilson};
use crate::trace::Trace;

/// Places at which it is asked, as shares of the run.
const ASKED: [f64; 5] = [0.1, 0.25, 0.5, 0.75, 0.9];
/// Shorter traces have too few points before these places.
const FEWEST: usize = 30;

#[derive(Default)]
struct Tally {
    inside: usize,
    below: usize,
    above: usize,
    widths: Vec<f64>,
}

pub fn table(traces: &[Trace]) {
    println!("\nWhat a run needs until its end, asked on the way");
    println!("asked at    held  too low  too high  of  median width");
    let mut all = Tally::default();
    for share in ASKED {
        let mut tally = Tally::default();
        for trace in traces.iter().filter(|t| t.points.len() >= FEWEST) {
            ask(trace, share, &mut tally);
        }
        row(&format!("{:.0} %", share * 100.0), &tally);
        all.inside += tally.inside;
        all.below += tally.below;
        all.above += tally.above;
        all.widths.extend(tally.widths);
    }
    row("all", &all);
    let asked = all.inside + all.below + all.above;
    let (low, high) = wilson(all.inside, asked);
    println!(
        "held: {:.3} [{low:.3}, {high:.3}]",
        all.inside as f64 / asked.max(1) as f64
    );
}

fn ask(trace: &Trace, share: f64, tally: &mut Tally) {
    let (first, last) = (trace.points[0].x, trace.points[trace.points.len() - 1].x);
    let until = first + share * (last - first);
    let seen = trace.points.partition_point(|point| point.x <= until);
    let context = Context {
        total_steps: Some(last),
        ..Context::default()
    };
    let series = Series::from_points(Axis::Step, trace.meter, &trace.points[..seen]);
    let verdict = judge(&series, &context);
    let Some(outlook) = verdict.outlook else {
        return;
    };
    let needed = trace.points.iter().map(|p| p.bytes).fold(0.0, f64::max);
    let needs = outlook.needs;
    if needs.high < needed {
        tally.below += 1;
    } else if needs.low > needed {
        tally.above += 1;
    } else {
        tally.inside += 1;
    }
    tally.widths.push((needs.high - needs.low) / needed);
}

fn row(name: &str, tally: &Tally) {
    let asked = tally.inside + tally.below + tally.above;
    println!(
        "{name:9} {:6}  {:7}  {:8}  {asked:3}  {:.0} %",
        tally.inside,
        tally.below,
        tally.above,
        median(&tally.widths) * 100.0
    );
}
