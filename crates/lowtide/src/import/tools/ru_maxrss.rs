//! `resource.getrusage(...).ru_maxrss`, printed: the highest that the resident memory has been so far. Linux writes KiB,
//! macOS bytes; whole pages tell them apart. A high-water mark never falls: it shows growth, and that a peak was not
//! passed again, and nothing about what was given back.

use lowtide_core::output::printed_step;
use lowtide_core::verdict::Meter;

use super::super::gather::{Gather, Whose};
use super::super::time::Moment;
use super::super::{Feed, ImportError, time};
use super::{Tool, each_text_line, first_lines};

pub(super) const TOOL: Tool = Tool {
    name: "ru_maxrss",
    is,
    read,
};

/// It is printed with the first steps, if at all.
const LOOK: usize = 40;

/// Readings that wait until the unit is known.
const MOST: usize = 500_000;

/// Bytes below this are no process that trains, and as KiB it is 10 GB.
const LEAST_BYTES: f64 = 1e7;

const PAGE: f64 = 4096.0;

fn is(start: &[u8]) -> bool {
    let lines = first_lines(start, LOOK);
    lines.iter().any(|line| reading(line).is_some()) && !lines.iter().any(|line| better(line))
}

/// The memory of now, beside its peak, is what to judge.
fn better(line: &str) -> bool {
    let line = line.to_ascii_lowercase().replace("maxrss", "");
    line.contains("rss")
}

fn read(feed: &mut Feed<'_>, gather: &mut Gather) -> Result<(), ImportError> {
    let mut found: Vec<(Option<u64>, Option<Moment>, f64)> = Vec::new();
    each_text_line(feed, |line| {
        if let Some(value) = reading(line)
            && found.len() < MOST
        {
            let step = printed_step(line).map(|(step, _)| step);
            found.push((step, time::line_moment(line), value));
        }
    })?;
    let pages = found.iter().all(|(.., value)| value % PAGE == 0.0);
    let bytes = pages && found.iter().any(|(.., value)| *value >= LEAST_BYTES);
    let factor = if bytes { 1.0 } else { 1024.0 };
    for (step, moment, value) in found {
        if let Some(step) = step {
            gather.at_step(step as f64);
        }
        if let Some(moment) = moment {
            gather.at(moment);
        }
        let whose = Whose {
            name: "the process",
            pid: None,
            command: None,
            kind: "peak resident memory so far (a high-water mark, which never falls)",
            meter: Meter::Rss,
        };
        gather.take(whose, value * factor);
    }
    Ok(())
}

/// `ru_maxrss 4050000`, `ru_maxrss=4050000`, `"maxrss": 4050000`: a whole number, without a unit behind it.
fn reading(line: &str) -> Option<f64> {
    let (_, rest) = line.split_once("maxrss")?;
    let rest = rest.trim_start_matches(['"', '\'', ':', '=', ' ', ')']);
    let end = rest
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(rest.len());
    let (digits, behind) = rest.split_at(end);
    let number = behind.is_empty() || behind.starts_with([',', ';', '|', '}', ')', ']', '\r', '"']);
    let next_word = behind.trim_start();
    let apart = behind.starts_with(' ') && !next_word.starts_with(|c: char| "kKmMgGbB".contains(c));
    (number || apart).then(|| digits.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::super::tests::{judged, mib, xs};

    #[test]
    fn kib_of_linux_and_bytes_of_macos() {
        let linux = "ru_maxrss 4050000\nru_maxrss 4051024\n";
        let read = judged(linux);
        assert_eq!(mib(&read), [4_050_000.0 / 1024.0, 4_051_024.0 / 1024.0]);
        assert!(read.how.contains("high-water"), "{}", read.how);
        let mac = "ru_maxrss=41943040\nru_maxrss=52428800\n";
        assert_eq!(mib(&judged(mac)), [40.0, 50.0]);
    }

    #[test]
    fn steps_are_those_of_the_lines() {
        let text = "step 10: loss=0.5 ru_maxrss=204800\nstep 20: loss=0.4 ru_maxrss=205824\n";
        let read = judged(text);
        assert_eq!(
            (mib(&read), xs(&read)),
            (vec![200.0, 201.0], vec![10.0, 20.0])
        );
    }
}
