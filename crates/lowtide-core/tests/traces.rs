//! The judge on the shared traces: real series that people published, with labels. They are not part
//! of the repository; `LOWTIDE_TRACES` or `../shared/traces` says where they are, and without them
//! there is nothing to look at.

use std::path::{Path, PathBuf};

use lowtide_core::judge::judge;
use lowtide_core::mark::Geometry;
use lowtide_core::point::{Context, Point};
use lowtide_core::series::Series;
use lowtide_core::verdict::{Axis, Class, Meter};
use serde::Deserialize;

#[derive(Deserialize)]
struct Label {
    file: String,
    verdict: Class,
    confidence: String,
    axis: String,
    context: Option<Geometry>,
}

struct Trace {
    label: Label,
    points: Vec<Point>,
    axis: Axis,
    context: Context,
}

fn folder() -> Option<PathBuf> {
    let told = std::env::var_os("LOWTIDE_TRACES").map(PathBuf::from);
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/traces");
    told.or(Some(beside))
        .filter(|path| path.join("index.jsonl").is_file())
}

fn traces() -> Vec<Trace> {
    let Some(folder) = folder() else {
        eprintln!("no traces: set LOWTIDE_TRACES to the folder with index.jsonl");
        return Vec::new();
    };
    let index = std::fs::read_to_string(folder.join("index.jsonl")).unwrap();
    index
        .lines()
        .map(|line| {
            let label: Label = serde_json::from_str(line).unwrap();
            let text = std::fs::read_to_string(folder.join(&label.file)).unwrap();
            let points = text
                .lines()
                .skip(1)
                .filter_map(|row| {
                    let (x, mb) = row.split_once(',')?;
                    Some(Point::new(x.parse().ok()?, mb.parse::<f64>().ok()? * 1e6))
                })
                .collect();
            let axis = match label.axis.as_str() {
                "second" => Axis::Time,
                "sample" => Axis::Sample,
                _ => Axis::Step,
            };
            let mut geometry = label.context.unwrap_or_default();
            if label.axis == "epoch" {
                // Each point is one pass over the data.
                geometry.epoch_steps = Some(1.0);
            }
            let context = Context {
                geometry,
                ..Context::default()
            };
            Trace {
                label,
                points,
                axis,
                context,
            }
        })
        .collect()
}

impl Trace {
    fn scored(&self) -> bool {
        self.label.confidence != "low"
    }
}

#[test]
fn nobody_is_accused_at_any_prefix() {
    for trace in traces() {
        if trace.label.verdict == Class::Leak || !trace.scored() {
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
                trace.label.file,
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
        if trace.label.confidence != "high" || trace.points.len() < 12 {
            continue;
        }
        let series = Series::from_points(trace.axis, Meter::Rss, &trace.points);
        let found = judge(&series, &trace.context);
        let verdict = found.verdict;
        all += 1;
        // A line without a known end is growing, which is all that its numbers can say.
        if verdict == trace.label.verdict || trace.label.verdict == Class::Leak && found.steady {
            right += 1;
        } else {
            eprintln!(
                "{}: {verdict}, labelled {}",
                trace.label.file, trace.label.verdict
            );
        }
    }
    assert!(right * 10 >= all * 9, "{right} of {all}");
}

/// From numbers alone: that they grow, steadily; and where each point is a whole pass over the data, that
/// they leak.
#[test]
fn leaks_of_twelve_points_are_shown_to_grow() {
    for trace in traces() {
        if trace.label.verdict == Class::Leak && trace.scored() && trace.points.len() >= 12 {
            let series = Series::from_points(trace.axis, Meter::Rss, &trace.points);
            let verdict = judge(&series, &trace.context);
            let says = format!("{}: {:#?}", trace.label.file, verdict.evidence);
            assert!(verdict.steady, "{says}");
            if trace.label.axis == "epoch" {
                assert_eq!(verdict.verdict, Class::Leak, "{says}");
            }
        }
    }
}
