//! `ps` in a loop: `ps aux`, `ps -o pid,rss,cmd`, with heads or, for `ps aux | grep …`, without. Sizes are KiB.
//! What `ps -o rss=` prints alone is read in `numbers`.

use super::super::gather::Gather;
use super::super::{Feed, ImportError, time};
use super::listing::{Listing, kib};
use super::{Tool, each_text_line, first_lines};

pub(super) const TOOL: Tool = Tool {
    name: "ps",
    is,
    read,
};

/// A line of `date`, the command as it was typed, a head and a row.
const LOOK: usize = 6;

fn is(start: &[u8]) -> bool {
    let lines = first_lines(start, LOOK);
    lines.iter().any(|line| head(line).is_some()) || lines.iter().any(|line| usual_row(line))
}

/// Words of a head are in capitals: `rss` in lower case is somebody's own table.
fn head(line: &str) -> Option<Listing> {
    if line
        .bytes()
        .any(|b| b.is_ascii_lowercase() || matches!(b, b',' | b'|' | b'(' | b'=' | b'/'))
    {
        return None;
    }
    Listing::head(line)
}

fn read(feed: &mut Feed<'_>, gather: &mut Gather) -> Result<(), ImportError> {
    let mut listing = Listing::head(USUAL);
    each_text_line(feed, |line| {
        if let Some(moment) = time::whole_line(line) {
            return gather.at(moment);
        }
        if let Some(found) = head(line) {
            listing = Some(found);
            return gather.begin_round();
        }
        // `$ ps aux` as it was typed is no row, and neither is what else stands between.
        if let Some(listing) = &listing
            && !listing.take(line, kib, gather)
        {
            gather.skip();
        }
    })
}

const USUAL: &str = "USER PID %CPU %MEM VSZ RSS TTY STAT START TIME COMMAND";

/// A row of `ps aux`.
fn usual_row(line: &str) -> bool {
    let cells: Vec<&str> = line.split_whitespace().collect();
    let [_, pid, cpu, mem, vsz, rss, tty, state, _, time, _, ..] = cells.as_slice() else {
        return false;
    };
    let numbers = [pid, vsz, rss]
        .iter()
        .all(|cell| cell.parse::<u64>().is_ok());
    // From 100 % on it prints no fraction.
    let share = |cell: &str| {
        let share = cell.parse::<f64>();
        share.is_ok_and(|share| cell.contains('.') || share >= 100.0)
    };
    let shares = share(cpu) && share(mem);
    let tty = *tty == "?" || tty.starts_with("pts/") || tty.starts_with("tty");
    let state = state.starts_with(['R', 'S', 'D', 'Z', 'T', 't', 'I', 'W']);
    numbers && shares && tty && state && time.contains(':')
}

#[cfg(test)]
mod tests {
    use lowtide_core::verdict::Axis;

    use super::super::super::Options;
    use super::super::tests::{all, asked, judged, mib, xs};

    const AUX: &str = "USER       PID %CPU %MEM    VSZ   RSS TTY      STAT START   TIME COMMAND\n";

    fn aux(pid: u32, mib: u32, command: &str) -> String {
        format!(
            "root     {pid:>7} 99.0  1.2 12345678 {} pts/0    Rl   10:00   1:23 {command}\n",
            mib * 1024
        )
    }

    #[test]
    fn loops_of_ps_aux() {
        let sample = |n: u32| {
            format!(
                "{AUX}{}{}{}",
                aux(1, 24, "/sbin/init"),
                aux(4242, 500 + n, "python train.py --lr 1"),
                aux(5000 + n, 2, "ps aux")
            )
        };
        let text: String = (0..5).map(sample).collect();
        let one = judged(&text);
        assert_eq!(
            (one.who.pid, one.who.name.as_str()),
            (Some(4242), "python train.py --lr 1")
        );
        assert_eq!(mib(&one), [500.0, 501.0, 502.0, 503.0, 504.0]);
        assert_eq!(one.track.axis, Axis::Sample);
        let first = Options {
            pid: Some(1),
            ..Options::default()
        };
        assert_eq!(mib(&asked(&text, &first).unwrap()), [24.0; 5]);
        let none = Options {
            pid: Some(77),
            ..Options::default()
        };
        assert!(
            asked(&text, &none)
                .unwrap_err()
                .hint
                .unwrap()
                .contains("python train.py")
        );
        // As grep leaves it, itself included.
        let grepped: String = (0..5)
            .map(|n| aux(4242, 500 + n, "python train.py") + &aux(5000 + n, 2, "grep python"))
            .collect();
        assert_eq!(mib(&judged(&grepped)), [500.0, 501.0, 502.0, 503.0, 504.0]);
    }

    #[test]
    fn columns_that_were_asked_for_and_times_between() {
        for head in [
            "  PID   RSS CMD\n",
            "  PID                  STARTED   RSS CMD\n",
        ] {
            let start = if head.contains("STARTED") {
                "Tue Nov 17 21:02:21 2026 "
            } else {
                ""
            };
            let text: String = (0..4)
                .map(|n| {
                    format!(
                        "Wed Nov 18 00:00:{:02} UTC 2026\n{head} 4242 {start}{} python train.py\n",
                        10 * n,
                        (500 + n) * 1024
                    )
                })
                .collect();
            let one = judged(&text);
            assert_eq!(
                (one.track.axis, xs(&one)),
                (Axis::Time, vec![0.0, 10.0, 20.0, 30.0]),
                "{text}"
            );
            assert_eq!(mib(&one), [500.0, 501.0, 502.0, 503.0]);
        }
        assert_eq!(
            mib(&judged("  RSS\n512000\n  RSS\n513024\n")),
            [500.0, 501.0]
        );
        assert_eq!(all("  PID   RSS CMD\n 7 1024 a\n 8 2048 b\n").len(), 2);
    }

    /// A process that gets another name stays the same; a number that was given anew is another process.
    #[test]
    fn a_process_is_its_number_as_long_as_it_is_there() {
        let row = |pid: u32, name: &str| format!(" {pid} 1024 {name}\n");
        let text: String = [
            row(7, "bash") + &row(8, "x"),
            row(7, "python") + &row(9, "y"),
            row(7, "python") + &row(9, "y"),
            row(7, "python") + &row(8, "z"),
        ]
        .iter()
        .map(|rows| format!("  PID   RSS CMD\n{rows}"))
        .collect();
        let all = all(&text);
        let names: Vec<_> = all
            .iter()
            .map(|(name, sizes)| (name.as_str(), sizes.len()))
            .collect();
        assert_eq!(names, [("python", 4), ("x", 1), ("y", 2), ("z", 1)]);
    }
}
