//! `psrecord --log FILE`: names in a comment (or, as CSV, in a header), then elapsed seconds, CPU,
//! real and virtual memory. Its "MB" are 1,024 x 1,024 bytes: psrecord divides by 1024**2.

use lowtide_core::point::{Point, Track};
use lowtide_core::verdict::{Axis, Meter};

use super::kept::Kept;
use super::{Feed, ImportError, Imported, Who, order};

pub(super) fn is(start: &[u8]) -> bool {
    real_column(&first_line(start)).is_some()
}

fn first_line(bytes: &[u8]) -> String {
    let line = bytes.split(|b| *b == b'\n').next().unwrap_or_default();
    String::from_utf8_lossy(line).into_owned()
}

/// Where the real memory stands, and what separates the cells.
fn real_column(line: &str) -> Option<(usize, char)> {
    if line.starts_with("elapsed_time,") {
        return Some((line.split(',').position(|n| n.trim() == "mem_real")?, ','));
    }
    let names = line.strip_prefix('#')?;
    let before = &names[..names.find("Real (MB)")?];
    // The names hold blanks themselves: `Elapsed time`, `CPU (%)`; two blanks part them.
    let columns = before.split("  ").filter(|n| !n.trim().is_empty()).count();
    names.contains("Elapsed time").then_some((columns, ' '))
}

pub(super) fn read(feed: &mut Feed<'_>, name: &str) -> Result<Imported, ImportError> {
    let (real, separator) = real_column(&first_line(feed.start()))
        .ok_or_else(|| ImportError::new("it does not begin as psrecord's logs do"))?;
    let mut points = Kept::by(|point: &Point| point.bytes);
    let mut skipped = 0;
    let mut header_left = true;
    feed.each_line(|line| {
        let line = String::from_utf8_lossy(line);
        if std::mem::take(&mut header_left) || line.trim().is_empty() || line.starts_with('#') {
            return;
        }
        let cells: Vec<f64> = line
            .split(separator)
            .filter(|c| !c.trim().is_empty())
            .map_while(|c| c.trim().parse().ok())
            .collect();
        match (cells.first(), cells.get(real)) {
            (Some(time), Some(real)) if time.is_finite() && real.is_finite() && *real >= 0.0 => {
                points.push(Point::new(*time, real * 1024.0 * 1024.0));
            }
            _ => skipped += 1,
        }
    })?;
    let (seen, _) = points.seen();
    if seen == 0 {
        return Err(ImportError::new("the psrecord log has no readings"));
    }
    let thinned = points.thinned();
    let (points, order) = order::settled(points.values().to_vec(), Axis::Time)?;
    Ok(Imported {
        who: Who::of("psrecord"),
        how: format!(
            "{seen} points of psrecord: seconds and real memory in MiB{}{thinned}{order}",
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
