//! `gpustat -i`, or in a loop: a line with the host and the date, then a line a GPU. Its MB are MiB.

use super::super::gather::Gather;
use super::super::{Feed, ImportError, time};
use super::nvidia_smi::{MIB, of};
use super::{Tool, each_text_line, first_lines};

pub(super) const TOOL: Tool = Tool {
    name: "gpustat",
    is,
    read,
};

/// A line of `date`, the host, and a GPU.
const LOOK: usize = 4;

fn is(start: &[u8]) -> bool {
    let lines = first_lines(start, LOOK);
    lines.iter().any(|line| row(line).is_some())
}

fn read(feed: &mut Feed<'_>, gather: &mut Gather) -> Result<(), ImportError> {
    each_text_line(feed, |line| {
        if let Some((gpu, used)) = row(line) {
            return gather.take(of(&format!("GPU {gpu}"), None), used * MIB);
        }
        match time::whole_line(line).or_else(|| host_line(line)) {
            Some(moment) => gather.at(moment),
            None => gather.skip(),
        }
    })
}

/// `[0] NVIDIA A100 | 66'C,  96 % | 18436 / 24564 MB | anna(18126M)`
fn row(line: &str) -> Option<(u32, f64)> {
    let (gpu, rest) = line.trim_start().strip_prefix('[')?.split_once(']')?;
    let gpu = gpu.parse().ok()?;
    let used = rest.split('|').skip(1).find_map(|cell| {
        let (used, total) = cell.split_once('/')?;
        let total = total.trim().strip_suffix("MB")?;
        total.trim().parse::<f64>().ok()?;
        used.trim().parse().ok()
    });
    Some((gpu, used?))
}

/// `node12   Mon Jun  3 14:05:07 2024   535.161.08`
fn host_line(line: &str) -> Option<time::Moment> {
    const DATE: usize = 5;
    let words: Vec<&str> = line.split_whitespace().collect();
    let date = words.get(1..=DATE)?;
    time::whole_line(&date.join(" "))
}

#[cfg(test)]
mod tests {
    use super::super::tests::{all, judged, mib, xs};

    #[test]
    fn the_usage_of_each_gpu() {
        let screen = |n: u32| {
            format!(
                "box   Sun Mar  1 10:00:{:02} 2026  550.54\n[0] NVIDIA L4 | 61'C,  97 % | {} / 23034 MB | anna(7900M)\n[1] NVIDIA L4 | 30'C,   0 % |     4 / 23034 MB |\n",
                5 * n,
                8000 + n
            )
        };
        let text: String = (0..3).map(screen).collect();
        let read = judged(&text);
        assert_eq!(
            (mib(&read), xs(&read)),
            (vec![8000.0, 8001.0, 8002.0], vec![0.0, 5.0, 10.0])
        );
        assert_eq!(all(&text)[1], ("GPU 1".to_owned(), vec![4.0; 3]));
    }
}
