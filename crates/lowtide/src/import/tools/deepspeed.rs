//! DeepSpeed's `see_memory_usage`: what the GPU has allocated (`MA`) and cached (`CA`), and what the machine uses,
//! after a message of the caller that may tell the step. Its GB are GiB: it divides by 1024³.

use lowtide_core::output::printed_step;
use lowtide_core::verdict::Meter;

use super::super::gather::{Gather, Whose};
use super::super::{Feed, ImportError, time};
use super::{Tool, each_text_line};

pub(super) const TOOL: Tool = Tool {
    name: "DeepSpeed",
    is,
    read,
};

const GIB: f64 = 1_073_741_824.0;

/// Only where nothing else in it may be the memory: DeepSpeed prints this a few times when it starts, and what the
/// loop prints later tells more.
fn is(start: &[u8]) -> bool {
    let start = start.to_ascii_lowercase();
    let has = |text: &str| start.windows(text.len()).any(|w| w == text.as_bytes());
    has("max_ma ") && has(" max_ca ") && !has("rss")
}

fn read(feed: &mut Feed<'_>, gather: &mut Gather) -> Result<(), ImportError> {
    each_text_line(feed, |line| {
        let of = |name, meter| Whose {
            name,
            pid: None,
            command: None,
            kind: "memory",
            meter,
        };
        let gpu = [("MA", "GPU, allocated (MA)"), ("CA", "GPU, cached (CA)")];
        let found = gpu.map(|(word, name)| (name, behind(line, word)));
        if found.iter().all(|(_, size)| size.is_some()) {
            if let Some(moment) = time::line_moment(line) {
                gather.at(moment);
            }
            for (name, size) in found {
                gather.take(of(name, Meter::Gpu), size.unwrap_or(0.0) * GIB);
            }
        } else if let Some(used) = machine(line) {
            gather.take(of("CPU, all of the machine", Meter::Memory), used * GIB);
        } else if let Some((step, _)) = printed_step(line) {
            gather.at_step(step as f64);
        }
    })
}

/// The number behind a word of its own, in GB.
fn behind(line: &str, word: &str) -> Option<f64> {
    let mut words = line.split_whitespace();
    words.find(|w| *w == word)?;
    let value = words.next()?.parse().ok()?;
    (words.next()? == "GB").then_some(value)
}

/// `CPU Virtual Memory:  used = 40.2 GB, percent = 31.4%`
fn machine(line: &str) -> Option<f64> {
    let (_, rest) = line.split_once("CPU Virtual Memory:")?;
    let (_, rest) = rest.split_once("used =")?;
    rest.split_once("GB")?.0.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use lowtide_core::verdict::Axis;

    use super::super::tests::{all, judged, mib, xs};

    fn call(step: u32, used: f64) -> String {
        format!(
            "step {step}: after backward\nMA 8.0 GB         Max_MA 9.0 GB         CA 10.0 GB         Max_CA 10 GB \nCPU Virtual Memory:  used = {used} GB, percent = 31.4%\n"
        )
    }

    #[test]
    fn what_grows_of_gpu_and_machine() {
        let text: String = (1..5)
            .map(|step| call(step, 40.0 + f64::from(step)))
            .collect();
        let read = judged(&text);
        assert_eq!(mib(&read), [41.0, 42.0, 43.0, 44.0].map(|gib| gib * 1024.0));
        assert_eq!(
            (read.track.axis, xs(&read)),
            (Axis::Step, vec![1.0, 2.0, 3.0, 4.0])
        );
        assert!(read.how.contains("machine"), "{}", read.how);
        assert_eq!(all(&text)[0].1, [8192.0; 4]);
    }

    #[test]
    fn by_its_logger() {
        let line = |second: u32, text: &str| {
            format!(
                "[2026-03-01 10:00:{second:02},100] [INFO] [utils.py:781:see_memory_usage] {text}\n"
            )
        };
        let text: String = (0..3)
            .map(|n| {
                let sizes = format!(
                    "MA {} GB         Max_MA 9.0 GB         CA 10 GB         Max_CA 14 GB ",
                    2 + n
                );
                line(n, "After step") + &line(n, &sizes)
            })
            .collect();
        let read = judged(&text);
        assert_eq!(
            (mib(&read), xs(&read)),
            (vec![2048.0, 3072.0, 4096.0], vec![0.0, 1.0, 2.0])
        );
    }
}
