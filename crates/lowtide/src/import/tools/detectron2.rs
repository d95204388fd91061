//! detectron2's lines of a step, which end in `max_mem: 9127M`: the most that torch has had allocated on the GPU so
//! far. Its M are MiB: it divides by 1024².

use lowtide_core::verdict::Meter;

use super::super::gather::{Gather, Whose};
use super::super::{Feed, ImportError};
use super::{Tool, each_text_line, first_lines};

pub(super) const TOOL: Tool = Tool {
    name: "detectron2",
    is,
    read,
};

const MIB: f64 = 1_048_576.0;

/// A run begins with its configuration, which may be longer: then it is a log like any other.
const LOOK: usize = 60;

/// Only where nothing else in it may be the memory of now.
fn is(start: &[u8]) -> bool {
    let lines = first_lines(start, LOOK);
    let better = |line: &String| line.to_lowercase().contains("rss");
    lines.iter().any(|line| row(line).is_some()) && !lines.iter().any(better)
}

/// The iteration and the MiB of ` eta: 9:59:12  iter: 19  total_loss: 3.926  …  max_mem: 9127M`.
fn row(line: &str) -> Option<(u64, f64)> {
    let mut words = line.split_whitespace();
    words.find(|word| *word == "iter:")?;
    let iteration = words.next()?.parse().ok()?;
    words.find(|word| *word == "max_mem:")?;
    let size = words.next()?.strip_suffix('M')?.parse().ok()?;
    Some((iteration, size))
}

fn read(feed: &mut Feed<'_>, gather: &mut Gather) -> Result<(), ImportError> {
    each_text_line(feed, |line| {
        let Some((iteration, size)) = row(line) else {
            return;
        };
        gather.at_step(iteration as f64);
        let whose = Whose {
            name: "GPU, allocated",
            pid: None,
            command: None,
            kind: "peak memory so far (a high-water mark, which never falls)",
            meter: Meter::Gpu,
        };
        gather.take(whose, size * MIB);
    })
}

#[cfg(test)]
mod tests {
    use super::super::tests::{judged, mib, xs};

    #[test]
    fn the_peak_along_its_iterations() {
        let text: String = (1..4)
            .map(|n| {
                format!(
                    "[03/01 10:00:0{n} d2.utils.events]:  eta: 1:00:00  iter: {}  total_loss: 3.1  time: 0.5  lr: 1e-05  max_mem: {}M\n",
                    20 * n - 1,
                    5000 + n
                )
            })
            .collect();
        let read = judged(&text);
        assert_eq!(
            (mib(&read), xs(&read)),
            (vec![5001.0, 5002.0, 5003.0], vec![19.0, 39.0, 59.0])
        );
        assert!(read.how.contains("high-water"), "{}", read.how);
    }
}
