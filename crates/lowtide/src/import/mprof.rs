//! `mprof run`'s `.dat`: `MEM <MiB> <epoch seconds>` for the main process, `CHLD <n> <MiB> <time>`
//! for children, `FUNC` for profiled functions. Sizes are MiB: memory_profiler divides by 2**20.

use lowtide_core::point::{Point, Track};
use lowtide_core::verdict::{Axis, Meter};

use super::kept::Kept;
use super::{Feed, ImportError, Imported, Options, Who, order};

/// Children that are told apart; a tree has some dozens.
const CHILDREN: usize = 500;

pub(super) fn is(start: &[u8]) -> bool {
    start
        .split(|b| *b == b'\n')
        .find(|l| !l.trim_ascii().is_empty())
        .is_some_and(|line| line.starts_with(b"CMDLINE ") || reading(line).is_some())
}

/// Whose reading it is (None: the main process), its size and its time.
fn reading(line: &[u8]) -> Option<(Option<&str>, f64, f64)> {
    let line = std::str::from_utf8(line).ok()?;
    let mut words = line.split_ascii_whitespace();
    let child = match words.next()? {
        "MEM" => None,
        "CHLD" => Some(words.next()?),
        _ => return None,
    };
    let (size, time): (f64, f64) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
    (size.is_finite() && size >= 0.0 && time.is_finite()).then_some((child, size, time))
}

fn nothing_read(wanted: Option<&str>, children: &[String]) -> ImportError {
    let error = match wanted {
        Some(child) => ImportError::new(format!("mprof's file has no child `{child}`")),
        None => ImportError::new("mprof's file has no MEM line"),
    };
    if children.is_empty() {
        return error;
    }
    let names = super::listed(children);
    error.hint(format!("children: --column with one of {names}"))
}

/// The main process, or with `--column N` the child of that number.
pub(super) fn read(
    feed: &mut Feed<'_>,
    name: &str,
    options: &Options,
) -> Result<Imported, ImportError> {
    let wanted = options
        .column
        .as_deref()
        .filter(|c| *c != "MEM")
        .map(|c| c.trim_start_matches("CHLD").trim());
    let mut points = Kept::by(|point: &Point| point.bytes);
    let mut children: Vec<String> = Vec::new();
    let mut skipped = 0;
    let mut first = None;
    feed.each_line(|line| match reading(line) {
        Some((child, size, time)) => {
            // Mostly that of the line before.
            if let Some(child) = child
                && children.len() < CHILDREN
                && !children.iter().rev().any(|c| c == child)
            {
                children.push(child.to_owned());
            }
            if child == wanted {
                let origin = *first.get_or_insert(time);
                points.push(Point::new(time - origin, size * 1024.0 * 1024.0));
            }
        }
        None => {
            let known = [&b"CMDLINE"[..], b"FUNC"]
                .iter()
                .any(|w| line.starts_with(w));
            skipped += usize::from(!known && !line.trim_ascii().is_empty());
        }
    })?;
    let (seen, _) = points.seen();
    if seen == 0 {
        return Err(nothing_read(wanted, &children));
    }
    let thinned = points.thinned();
    let (points, order) = order::settled(points.values().to_vec(), Axis::Time)?;
    let whose = match wanted {
        Some(child) => format!("child {child}"),
        None if children.is_empty() => "MEM lines".to_owned(),
        None => format!(
            "MEM lines ({} children left out, see --column)",
            children.len()
        ),
    };
    Ok(Imported {
        who: Who::of(wanted.unwrap_or("MEM")),
        how: format!(
            "{seen} points of mprof: {whose} in MiB, seconds from the first{}{thinned}{order}",
            super::skipped(skipped)
        ),
        track: Track {
            name: name.to_owned(),
            axis: Axis::Time,
            meter: Meter::Rss,
            points,
        },
        geometry: None,
        total_steps: None,
    })
}
