//! `sar -r` (also `ALL`, `-h`) and `sadf -d -- -r`: the machine's memory, by the heads of its columns.
//!
//! What `kbmemused` means has changed: since sysstat 12 it is without buffers and caches, before it was everything
//! that was not free. The numbers tell which: there, used and free are the whole, and `%memused` tells the whole.

use super::super::gather::Gather;
use super::super::{Feed, ImportError, size, time};
use super::{Tool, each_text_line, first_lines, the_machine};

pub(super) const TOOL: Tool = Tool {
    name: "sar",
    is,
    read,
};

/// A line about the machine and the head.
const LOOK: usize = 4;

const USED: &str = "kbmemused";

/// Numbers and a rounded share agree within this.
const ROUNDING: f64 = 0.02;

fn is(start: &[u8]) -> bool {
    let lines = first_lines(start, LOOK);
    lines.iter().any(|line| Columns::of(line).is_some())
}

fn read(feed: &mut Feed<'_>, gather: &mut Gather) -> Result<(), ImportError> {
    let mut columns = None;
    each_text_line(feed, |line| {
        if let Some(found) = Columns::of(line) {
            columns = Some(found);
            return;
        }
        let Some(columns) = &columns else { return };
        if line.starts_with("Average:") || line.contains("RESTART") {
            return;
        }
        let cells = cells(line);
        let moment = columns.moment(&cells);
        match (moment, columns.used(&cells)) {
            (Some(moment), Some(bytes)) => {
                gather.at(moment);
                gather.take(the_machine(), bytes);
            }
            _ => gather.skip(),
        }
    })
}

/// Counted from the end of a line: a time before them is one word, or two (`10:00:00 AM`).
struct Columns {
    time: Option<usize>,
    used: usize,
    free: Option<usize>,
    share: Option<usize>,
    buffers: Option<usize>,
    cached: Option<usize>,
}

impl Columns {
    fn of(line: &str) -> Option<Columns> {
        let heads = cells(line.trim_start_matches(['#', ' ']));
        let find = |name: &str| {
            let at = heads.iter().position(|head| *head == name)?;
            Some(heads.len() - at)
        };
        Some(Columns {
            used: find(USED)?,
            time: find("timestamp"),
            free: find("kbmemfree"),
            share: find("%memused"),
            buffers: find("kbbuffers"),
            cached: find("kbcached"),
        })
    }

    fn moment(&self, cells: &[&str]) -> Option<time::Moment> {
        if let Some(at) = self.time {
            let cell = cells.get(cells.len().checked_sub(at)?)?;
            return time::moment(cell);
        }
        let mut moment = time::moment(cells.first()?)?;
        const HALF_DAY: f64 = 43_200.0;
        match *cells.get(1)? {
            "PM" if moment.seconds < HALF_DAY => moment.seconds += HALF_DAY,
            "AM" if moment.seconds >= HALF_DAY => moment.seconds -= HALF_DAY,
            _ => {}
        }
        Some(moment)
    }

    fn used(&self, cells: &[&str]) -> Option<f64> {
        let cell = |at: Option<usize>| cells.get(cells.len().checked_sub(at?)?).copied();
        let used = bytes(cell(Some(self.used))?)?;
        let share: Option<f64> =
            cell(self.share).and_then(|c| c.trim_end_matches('%').parse().ok());
        let (Some(free), Some(share)) = (cell(self.free).and_then(bytes), share) else {
            return Some(used);
        };
        let whole = used * 100.0 / share;
        if (free + used - whole).abs() > ROUNDING * whole {
            return Some(used);
        }
        let held = |at| cell(at).and_then(bytes).unwrap_or(0.0);
        Some((used - held(self.buffers) - held(self.cached)).max(0.0))
    }
}

fn cells(line: &str) -> Vec<&str> {
    match line.contains(';') {
        true => line.split(';').map(str::trim).collect(),
        false => line.split_whitespace().collect(),
    }
}

/// kB of the kernel, which are KiB; `-h` writes `3.1G`, of 1,024 each.
fn bytes(cell: &str) -> Option<f64> {
    Some(match size::parse(cell)? {
        (value, None) => value * 1024.0,
        (value, Some(1e3)) => value * 1024.0,
        (value, Some(1e6)) => value * 1024f64.powi(2),
        (value, Some(1e9)) => value * 1024f64.powi(3),
        (value, Some(factor)) => value * factor,
    })
}

#[cfg(test)]
mod tests {
    use super::super::tests::{judged, mib, xs};

    #[test]
    fn what_the_machine_uses() {
        let new = "Linux 6.1 (trainbox) \t11/18/26 \t_x86_64_\t(2 CPU)\n\n10:00:00    kbmemfree   kbavail kbmemused  %memused kbbuffers  kbcached\n10:00:01      6048116  20868672   3317760     13.44    131296  14132644\n10:00:03      6048116  20868672   3318784     13.44    131296  14132644\nAverage:      1 1 1 1 1 1\n";
        let read = judged(new);
        assert_eq!(mib(&read), [3240.0, 3241.0]);
        assert_eq!(xs(&read), [0.0, 2.0]);
        assert!(read.how.contains("the machine"), "{}", read.how);
        // 18,874,368 used of 20,971,520, 10,485,760 of it caches: as sysstat 11 counts.
        let old = "09:59:59 AM kbmemfree kbmemused  %memused kbbuffers  kbcached\n12:00:01 AM   2097152  18874368     90.00    1048576  9437184\n12:00:02 PM   2097152  18874368     90.00    1048576  9437184\n";
        assert_eq!(mib(&judged(old)), [8192.0, 8192.0]);
        assert_eq!(xs(&judged(old)), [0.0, 43_201.0]);
        let sadf = "# hostname;interval;timestamp;kbmemfree;kbavail;kbmemused;%memused\ntrainbox;1;2026-11-18 10:00:01 UTC;6048116;20868672;3317760;13.44\n";
        assert_eq!(mib(&judged(sadf)), [3240.0]);
    }
}
