//! The judge on bare lines of memory whose truth is known: the corpus, and the folders that `LOWTIDE_TRACES`
//! names (real series that people published, with labels, are not part of the repository).

use lowtide_core::judge::judge;
use lowtide_core::series::Series;
use lowtide_core::verdict::{Class, Meter};
use lowtide_verdicts::trace::{self, Confidence, Trace};

fn traces() -> Vec<Trace> {
    let folders = trace::folders();
    let all = folders
        .iter()
        .flat_map(|folder| trace::load(folder).unwrap());
    all.collect()
}

#[test]
fn nobody_is_accused_at_any_prefix() {
    for trace in traces() {
        if trace.leaks() || !trace.counts() {
            continue;
        }
        let mut series = Series::new(trace.axis, Meter::Rss);
        // Every look of a short trace; of a long one, every look while it is short and then one in
        // each half per cent of it, as a live watch would at a slower pace.
        let mut next = 5;
        for (i, point) in trace.points.iter().enumerate() {
            series.push(*point);
            if i + 1 < next && i + 1 < trace.points.len() {
                continue;
            }
            next = (i + 2).max((i + 1) + (i + 1) / 200);
            let verdict = judge(&series, &trace.context);
            assert_ne!(
                verdict.verdict,
                Class::Leak,
                "{} at point {}: {:#?}",
                trace.name,
                i + 1,
                verdict.evidence
            );
        }
    }
}

#[test]
fn the_labels_of_high_confidence_are_right() {
    let (mut right, mut all) = (0, 0);
    for trace in traces() {
        // Five points in a row are not enough to know: short traces are scored apart.
        if trace.sure != Confidence::High || trace.short() {
            continue;
        }
        let series = Series::from_points(trace.axis, Meter::Rss, &trace.points);
        let found = judge(&series, &trace.context);
        let verdict = found.verdict;
        all += 1;
        // A line without a known end is growing, which is all that its numbers can say.
        if trace.right.contains(&verdict) || trace.leaks() && found.steady {
            right += 1;
        } else {
            eprintln!("{}: {verdict}, labelled {}", trace.name, trace.label);
        }
    }
    assert!(right * 10 >= all * 9, "{right} of {all}");
}

/// From numbers alone: that they grow, steadily; and where each point is a whole pass over the data, that
/// they leak.
#[test]
fn leaks_of_twelve_points_are_shown_to_grow() {
    for trace in traces() {
        if trace.leaks() && trace.counts() && !trace.short() {
            let series = Series::from_points(trace.axis, Meter::Rss, &trace.points);
            let verdict = judge(&series, &trace.context);
            let says = format!("{}: {:#?}", trace.name, verdict.evidence);
            assert!(verdict.steady, "{says}");
            if trace.context.geometry.epoch_steps == Some(1.0) {
                assert_eq!(verdict.verdict, Class::Leak, "{says}");
            }
        }
    }
}
