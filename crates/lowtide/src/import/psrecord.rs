//! `psrecord --log FILE`: names in a comment (or, as CSV, in a header), then elapsed seconds, CPU,
//! real and virtual memory. Its "MB" are 1,024 x 1,024 bytes: psrecord divides by 1024**2.

use lowtide_core::point::{Point, Track};
use lowtide_core::verdict::{Axis, Meter};

use super::{ImportError, Imported};

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

pub(super) fn read(bytes: &[u8], name: &str) -> Result<Imported, ImportError> {
    let (real, separator) = real_column(&first_line(bytes))
        .ok_or_else(|| ImportError::new("it does not begin as psrecord's logs do"))?;
    let mut points = Vec::new();
    let mut skipped = 0;
    for line in bytes.split(|b| *b == b'\n').skip(1) {
        let line = String::from_utf8_lossy(line);
        if line.trim().is_empty() || line.starts_with('#') {
            continue;
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
    }
    if points.is_empty() {
        return Err(ImportError::new("the psrecord log has no readings"));
    }
    Ok(Imported {
        how: format!(
            "{} points of psrecord: seconds and real memory in MiB{}",
            points.len(),
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
