//! `free` in a loop, or with `-s`: the row `Mem:` under its head, in whichever unit was asked for (`-k`, `-m`, `-g`,
//! `-b` write bare numbers, `-h` a suffix). It is the memory of the machine: everybody's, and said so.

use super::super::gather::Gather;
use super::super::{Feed, ImportError, size, time};
use super::{Tool, each_text_line, first_lines, the_machine};

pub(super) const TOOL: Tool = Tool {
    name: "free",
    is,
    read,
};

/// A line of `date`, the head and its row.
const LOOK: usize = 3;

/// Without a head: `free | grep Mem`.
const USED: usize = 1;

fn is(start: &[u8]) -> bool {
    let lines = first_lines(start, LOOK);
    lines.iter().any(|line| row(line).is_some())
}

fn read(feed: &mut Feed<'_>, gather: &mut Gather) -> Result<(), ImportError> {
    let mut used = USED;
    let mut unclear = None;
    each_text_line(feed, |line| {
        if let Some(moment) = time::whole_line(line) {
            return gather.at(moment);
        }
        let Some(cells) = row(line) else {
            used = head(line).unwrap_or(used);
            return;
        };
        let sized = |cell: Option<&&str>| size::parse(cell?);
        match (sized(cells.first()), sized(cells.get(used))) {
            (Some(_), Some((value, Some(factor)))) => {
                gather.take(the_machine(), value * binary(factor));
            }
            (Some((total, _)), Some((value, None))) => match unit(total) {
                Some(factor) => gather.take(the_machine(), value * factor),
                None => unclear = Some(total),
            },
            _ => gather.skip(),
        }
    })?;
    match unclear {
        None => Ok(()),
        Some(total) => Err(ImportError::new(format!(
            "`free` does not say its unit, and {total} may be MiB or another"
        ))
        .hint("write it with its units next time: free -h -s 1")),
    }
}

/// The cells of the row, without its name.
fn row(line: &str) -> Option<Vec<&str>> {
    let (_, cells) = line.split_once("Mem:")?;
    let cells: Vec<&str> = cells.split_whitespace().collect();
    let numbers = cells.iter().all(|cell| size::parse(cell).is_some());
    (numbers && (3..=7).contains(&cells.len())).then_some(cells)
}

/// Where the head says that `used` stands.
fn head(line: &str) -> Option<usize> {
    let mut words = line.split_whitespace();
    let total = line.trim_start().starts_with("total ");
    total.then(|| words.position(|word| word == "used"))?
}

/// `-h` writes `3.2Gi`; older ones `3.2G`, which is the same.
fn binary(factor: f64) -> f64 {
    match factor {
        1e3 => 1024.0,
        1e6 => 1024f64.powi(2),
        1e9 => 1024f64.powi(3),
        1e12 => 1024f64.powi(4),
        other => other,
    }
}

/// Bytes per unit, by the machine's total: between 2 GiB and 5 TB only one unit is possible, and where a small machine
/// in one unit is a large one in the next, none.
fn unit(total: f64) -> Option<f64> {
    match total {
        t if t >= 5e9 => Some(1.0),
        t if t >= 5e6 => Some(1024.0),
        t if (2e3..1.5e6).contains(&t) => Some(1024f64.powi(2)),
        t if (2.0..200.0).contains(&t) => Some(1024f64.powi(3)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::Options;
    use super::super::tests::{asked, judged, mib, xs};

    const HEAD: &str =
        "               total        used        free      shared  buff/cache   available\n";

    #[test]
    fn rows_under_their_head_in_every_unit() {
        let text = format!(
            "{HEAD}Mem:           24105        3308        6542          12       14657       20797\nSwap:              0           0           0\n\n{HEAD}Mem:           24105        3310        6542          12       14657       20797\n"
        );
        let read = judged(&text);
        assert_eq!(mib(&read), [3308.0, 3310.0]);
        assert!(read.how.contains("the machine"), "{}", read.how);
        let suffixed = format!(
            "{HEAD}Mem:            23Gi       3.2Gi       6.4Gi        12Mi        14Gi        20Gi\n"
        );
        assert_eq!(mib(&judged(&suffixed)), [3276.8]);
        let kib = "Mem: 24684000 2048 6 1 1 1\n";
        assert_eq!(mib(&judged(kib)), [2.0]);
        let stamped = "10:00:00\nMem: 24105 100 6 1 1 1\n10:00:05\nMem: 24105 101 6 1 1 1\n";
        assert_eq!(xs(&judged(stamped)), [0.0, 5.0]);
    }

    /// 3,000,000 KiB are a small machine, and as many MiB a large one.
    #[test]
    fn what_may_be_two_units_is_refused() {
        let text = "Mem: 3000000 100000 6 1 1 1\n";
        assert!(asked(text, &Options::default()).is_err());
    }
}
