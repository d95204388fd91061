//! Megatron-LM's `report_memory`: what torch has allocated and reserved on the GPU of a rank, after so many
//! iterations. Its MB are MiB: it divides by 1024².

use lowtide_core::verdict::Meter;

use super::super::gather::{Gather, Whose};
use super::super::{Feed, ImportError};
use super::{Tool, each_text_line};

pub(super) const TOOL: Tool = Tool {
    name: "Megatron-LM",
    is,
    read,
};

const MIB: f64 = 1_048_576.0;

/// Reports that make a series. Megatron prints one after the first iterations in any case, and what else the log
/// tells is more than that.
const REPORTS: usize = 3;

/// Only where nothing else in it may be the memory.
fn is(start: &[u8]) -> bool {
    let text = String::from_utf8_lossy(start);
    let mut iterations: Vec<u64> = text
        .lines()
        .filter_map(|l| Some(report(l)?.after))
        .collect();
    iterations.dedup();
    iterations.len() >= REPORTS && !text.to_lowercase().contains("rss")
}

struct Report<'a> {
    rank: &'a str,
    after: u64,
    sizes: &'a str,
}

/// `[Rank 0] (after 100 iterations) memory (MB) | allocated: 18233.5 | max allocated: 23445.0 | reserved: 24353.5`
fn report(line: &str) -> Option<Report<'_>> {
    let (_, rest) = line.split_once("[Rank ")?;
    let (rank, rest) = rest.split_once("] (after ")?;
    let (after, rest) = rest.split_once(" iterations) memory (MB) |")?;
    Some(Report {
        rank,
        after: after.trim().parse().ok()?,
        sizes: rest,
    })
}

fn read(feed: &mut Feed<'_>, gather: &mut Gather) -> Result<(), ImportError> {
    each_text_line(feed, |line| {
        let Some(report) = report(line) else {
            return;
        };
        gather.at_step(report.after as f64);
        for what in ["allocated", "reserved"] {
            // The peaks are called `max allocated` and `max reserved`.
            let mut named = report.sizes.split('|').filter_map(|s| s.split_once(':'));
            let size = named.find(|(name, _)| name.trim() == what);
            let Some(size) = size.and_then(|(_, size)| size.trim().parse::<f64>().ok()) else {
                continue;
            };
            let whose = Whose {
                name: &format!("rank {}, GPU, {what}", report.rank),
                pid: None,
                command: None,
                kind: "memory",
                meter: Meter::Gpu,
            };
            gather.take(whose, size * MIB);
        }
    })
}

#[cfg(test)]
mod tests {
    use super::super::super::Options;
    use super::super::tests::{all, asked, judged, mib, xs};

    fn report(rank: u32, after: u32, allocated: f64) -> String {
        format!(
            " [2026-03-01 10:00:00] iteration {after}/ 900 | lm loss: 9.1E+00 |\n[Rank {rank}] (after {after} iterations) memory (MB) | allocated: {allocated} | max allocated: 900.0 | reserved: 800.0 | max reserved: 950.0\n"
        )
    }

    #[test]
    fn what_grows_of_a_rank() {
        let text: String = (1..4)
            .map(|n| report(0, 100 * n, 500.5 + f64::from(n)) + &report(1, 100 * n, 500.0))
            .collect();
        let read = judged(&text);
        assert_eq!(
            (mib(&read), xs(&read)),
            (vec![501.5, 502.5, 503.5], vec![100.0, 200.0, 300.0])
        );
        assert_eq!(read.who.name, "rank 0, GPU, allocated");
        assert_eq!(all(&text).len(), 4);
    }

    #[test]
    fn the_one_report_of_every_run_is_no_series() {
        let one = report(0, 100, 500.0) + &report(1, 100, 500.0);
        assert!(asked(&one, &Options::default()).is_err());
    }
}
