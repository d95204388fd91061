//! Slurm's `sstat` in a loop: the highest resident memory of a step's tasks so far (`MaxRSS`), or their average
//! (`AveRSS`), in a list or between bars (`-P`). Its K are KiB.

use lowtide_core::verdict::Meter;

use super::super::gather::{Gather, Whose};
use super::super::{Feed, ImportError, size, time};
use super::{Tool, each_text_line, first_lines};

pub(super) const TOOL: Tool = Tool {
    name: "sstat",
    is,
    read,
};

/// A line of `date`, the command as it was typed, and a head.
const LOOK: usize = 4;

fn is(start: &[u8]) -> bool {
    let lines = first_lines(start, LOOK);
    lines.iter().any(|line| Head::of(line).is_some())
}

struct Head {
    columns: usize,
    job: usize,
    size: usize,
    peak: bool,
}

impl Head {
    fn of(line: &str) -> Option<Head> {
        if !line.contains("JobID") {
            return None;
        }
        let cells = cells(line);
        let find = |name: &str| cells.iter().position(|cell| *cell == name);
        let peak = find("MaxRSS");
        Some(Head {
            columns: cells.len(),
            job: find("JobID")?,
            size: peak.or_else(|| find("AveRSS"))?,
            peak: peak.is_some(),
        })
    }

    /// The job of a row and its memory. A row with fewer cells than the head leaves some out, and nobody knows which.
    fn row<'a>(&self, line: &'a str) -> Option<(&'a str, f64)> {
        let cells = cells(line);
        let (value, unit) = size::parse(cells.get(self.size)?)?;
        // The decimal factors of the letters, and what Slurm means by them.
        let unit = match unit? {
            1e3 => 1024.0,
            1e6 => 1024.0 * 1024.0,
            1e9 => 1024.0 * 1024.0 * 1024.0,
            other => other,
        };
        (cells.len() == self.columns).then(|| (cells[self.job], value * unit))
    }
}

fn cells(line: &str) -> Vec<&str> {
    match line.contains('|') {
        true => line.trim().trim_end_matches('|').split('|').collect(),
        false => line.split_whitespace().collect(),
    }
}

fn read(feed: &mut Feed<'_>, gather: &mut Gather) -> Result<(), ImportError> {
    let mut head: Option<Head> = None;
    each_text_line(feed, |line| {
        if let Some(moment) = time::whole_line(line) {
            return gather.at(moment);
        }
        if let Some(found) = Head::of(line) {
            head = Some(found);
            return gather.begin_round();
        }
        if line.bytes().all(|b| matches!(b, b'-' | b' ')) {
            return;
        }
        let Some((head, (job, bytes))) = head.as_ref().and_then(|h| Some((h, h.row(line)?))) else {
            return gather.skip();
        };
        let whose = Whose {
            name: job,
            pid: None,
            command: None,
            kind: if head.peak {
                "peak resident memory so far (a high-water mark, which never falls)"
            } else {
                "average resident memory of its tasks"
            },
            meter: Meter::Rss,
        };
        gather.take(whose, bytes);
    })
}

#[cfg(test)]
mod tests {
    use super::super::tests::{judged, mib, xs};

    #[test]
    fn lists_and_bars() {
        let list = |n: u32| {
            format!(
                "2026-03-01 10:{:02}\nJobID            MaxRSS     AveCPU MaxDiskWrite\n------------ ---------- ---------- ------------\n77.0         {}K   00:01:00      {}.00M\n",
                10 * n,
                (500 + n) * 1024,
                100 * n
            )
        };
        let read = judged(&(0..3).map(list).collect::<String>());
        assert_eq!(
            (mib(&read), xs(&read)),
            (vec![500.0, 501.0, 502.0], vec![0.0, 600.0, 1200.0])
        );
        assert!(read.how.contains("high-water"), "{}", read.how);
        let bars = "JobID|AveRSS|MaxDiskWrite|\n77.0|500M|9G|\nJobID|AveRSS|MaxDiskWrite|\n77.0|1.5G|10G|\n";
        assert_eq!(mib(&judged(bars)), [500.0, 1536.0]);
    }
}
