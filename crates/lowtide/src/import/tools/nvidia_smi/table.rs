//! The big table of `nvidia-smi -l 5`, or of a loop: two lines a GPU, the second with `8000MiB / 40960MiB`.

use super::super::super::gather::Gather;
use super::super::super::{Feed, ImportError, time};
use super::super::{Tool, each_text_line, first_lines};
use super::{MIB, of};

pub(in super::super) const TOOL: Tool = Tool {
    name: "nvidia-smi",
    is,
    read,
};

/// A line of `date`, a frame and the banner.
const LOOK: usize = 4;

fn is(start: &[u8]) -> bool {
    let lines = first_lines(start, LOOK);
    lines.iter().any(|line| banner(line))
}

fn banner(line: &str) -> bool {
    line.starts_with("| NVIDIA-SMI ")
}

fn read(feed: &mut Feed<'_>, gather: &mut Gather) -> Result<(), ImportError> {
    let mut gpu = None;
    each_text_line(feed, |line| {
        if let Some(moment) = time::whole_line(line) {
            return gather.at(moment);
        }
        if banner(line) {
            return gather.begin_round();
        }
        let Some(cell) = line
            .strip_prefix('|')
            .and_then(|rest| rest.split('|').next())
        else {
            return;
        };
        if let Some(used) = usage(line) {
            if let Some(gpu) = gpu.take() {
                gather.take(of(&format!("GPU {gpu}"), None), used * MIB);
            }
        } else {
            gpu = cell
                .split_whitespace()
                .next()
                .and_then(|first| first.parse::<u32>().ok());
        }
    })
}

/// `8000MiB / 40960MiB` of a cell, in MiB. Rows of processes have one size.
fn usage(line: &str) -> Option<f64> {
    line.split('|').find_map(|cell| {
        let (used, total) = cell.split_once('/')?;
        total.trim().strip_suffix("MiB")?.parse::<f64>().ok()?;
        used.trim().strip_suffix("MiB")?.parse().ok()
    })
}

#[cfg(test)]
mod tests {
    use super::super::super::tests::{all, judged, mib, xs};

    fn screen(second: u32, used: u32) -> String {
        format!(
            "Sun Mar  1 10:00:{second:02} 2026       \n+------+\n| NVIDIA-SMI 550.54.15   Driver Version: 550.54.15   CUDA Version: 12.4 |\n|   0  NVIDIA A100-SXM4-40GB          On  |   00000000:07:00.0 Off |                    0 |\n| N/A   61C    P0            258W /  400W |   {used}MiB /  40960MiB |     97%      Default |\n|                                         |                        |             Disabled |\n|   1  NVIDIA A100-SXM4-40GB          On  |   00000000:08:00.0 Off |                    0 |\n| N/A   61C    P0            258W /  400W |   12MiB /  40960MiB |     97%      Default |\n|    0   N/A  N/A      4242      C   python                                     7988MiB |\n"
        )
    }

    #[test]
    fn the_usage_of_each_gpu() {
        let text: String = (0..3).map(|n| screen(5 * n, 8000 + n)).collect();
        let read = judged(&text);
        assert_eq!(
            (mib(&read), xs(&read)),
            (vec![8000.0, 8001.0, 8002.0], vec![0.0, 5.0, 10.0])
        );
        assert_eq!(all(&text)[1], ("GPU 1".to_owned(), vec![12.0; 3]));
    }
}
