//! `top -b` of procps: for every sample a summary of the machine, then a row a process. The machine's own numbers
//! (`MiB Mem : 24105.6 total`) are no process's, and its total was once judged as one.

use super::super::gather::Gather;
use super::super::{Feed, ImportError, time};
use super::listing::Listing;
use super::{Tool, each_text_line, first_lines};

pub(super) const TOOL: Tool = Tool {
    name: "top",
    is,
    read,
};

/// The summary is at most so long, with a line for each core.
const LOOK: usize = 80;

const SUMMARY: &str = "top - ";

fn is(start: &[u8]) -> bool {
    let lines = first_lines(start, LOOK);
    lines.iter().any(|line| {
        (line.starts_with(SUMMARY) && line.contains("load average"))
            || (line.contains(" RES ") && line.contains("%MEM") && Listing::head(line).is_some())
    }) || lines.first().is_some_and(|line| usual_row(line))
}

fn read(feed: &mut Feed<'_>, gather: &mut Gather) -> Result<(), ImportError> {
    // `top -b | grep python` leaves rows alone.
    let mut listing = Listing::head(USUAL);
    let mut in_list = true;
    each_text_line(feed, |line| {
        if let Some(rest) = line.strip_prefix(SUMMARY) {
            gather.begin_round();
            in_list = false;
            if let Some(moment) = time::moment(rest) {
                gather.at(moment);
            }
            return;
        }
        if let Some(moment) = time::whole_line(line) {
            return gather.at(moment);
        }
        if let Some(found) = Listing::head(line) {
            listing = Some(found);
            in_list = true;
            return;
        }
        if let Some(listing) = &listing
            && in_list
            && !listing.take(line, size, gather)
        {
            gather.skip();
        }
    })
}

const USUAL: &str = "PID USER PR NI VIRT RES SHR S %CPU %MEM TIME+ COMMAND";

/// A row with the columns that top has unless told otherwise.
fn usual_row(line: &str) -> bool {
    let cells: Vec<&str> = line.split_whitespace().collect();
    let [
        pid,
        _,
        _,
        nice,
        virt,
        res,
        shr,
        state,
        cpu,
        mem,
        time,
        _,
        ..,
    ] = cells.as_slice()
    else {
        return false;
    };
    let sizes = [virt, res, shr].iter().all(|cell| size(cell).is_some());
    let state = matches!(*state, "R" | "S" | "D" | "Z" | "T" | "t" | "I");
    let shares = [cpu, mem].iter().all(|cell| cell.parse::<f64>().is_ok());
    let time = time.contains([':', '.']) && time.starts_with(|c: char| c.is_ascii_digit());
    pid.parse::<u32>().is_ok() && nice.parse::<i32>().is_ok() && sizes && state && shares && time
}

/// KiB, or with a suffix: `5.4g`, `123.4m`.
fn size(cell: &str) -> Option<f64> {
    const KIB: f64 = 1024.0;
    let (number, factor) = match cell.as_bytes().last()? {
        b'k' => (&cell[..cell.len() - 1], KIB),
        b'm' => (&cell[..cell.len() - 1], KIB * KIB),
        b'g' => (&cell[..cell.len() - 1], KIB * KIB * KIB),
        b't' => (&cell[..cell.len() - 1], KIB * KIB * KIB * KIB),
        b'p' => (&cell[..cell.len() - 1], KIB * KIB * KIB * KIB * KIB),
        _ => (cell, KIB),
    };
    let number: f64 = number.parse().ok()?;
    Some(number * factor)
}

#[cfg(test)]
mod tests {
    use lowtide_core::verdict::Axis;

    use super::super::tests::{all, judged, mib, xs};

    fn sample(n: u32, trainer: &str) -> String {
        format!(
            "top - 23:59:{:02} up  3:41,  0 user,  load average: 11.56, 11.46, 9.32\n\
             Tasks: 133 total,   4 running, 121 sleeping,   0 stopped,   8 zombie\n\
             %Cpu(s): 50.0 us, 25.0 sy, 25.0 ni,  0.0 id,  0.0 wa,  0.0 hi,  0.0 si,  0.0 st \n\
             MiB Mem :  24105.6 total,   3140.6 free,   2689.8 used,  18679.4 buff/cache     \n\
             MiB Swap:      0.0 total,      0.0 free,      0.0 used.  21415.8 avail Mem \n\n  \
             PID USER      PR  NI    VIRT    RES    SHR S  %CPU  %MEM     TIME+ COMMAND\n    \
             1 root      20   0   54012  25600   3296 S   0.0   0.1   0:51.00 init\n \
             4242 root      20   0   12.1g {trainer:>6}  72472 R  99.0   1.1   1:23.45 python train.py\n\n",
            50 + n
        )
    }

    /// The machine's total was taken: stable, whatever a process did.
    #[test]
    fn the_process_that_grows_and_not_the_machine() {
        let text: String = ["500.0m", "1.5g", "2.5g", "3670016"]
            .iter()
            .zip(0..)
            .map(|(res, n)| sample(n, res))
            .collect();
        let one = judged(&text);
        assert_eq!(
            (one.who.pid, one.who.name.as_str()),
            (Some(4242), "python train.py")
        );
        assert_eq!(mib(&one), [500.0, 1536.0, 2560.0, 3584.0]);
        assert_eq!(
            (one.track.axis, xs(&one)),
            (Axis::Time, vec![0.0, 1.0, 2.0, 3.0])
        );
        assert_eq!(all(&text)[0], ("init".to_owned(), vec![25.0; 4]));
    }

    #[test]
    fn rows_alone_as_grep_leaves_them() {
        let text: String = (0..3)
            .map(|n| sample(n, "500.0m"))
            .flat_map(|text| {
                text.lines()
                    .last()
                    .map(str::to_owned)
                    .into_iter()
                    .chain(text.lines().rev().nth(1).map(|l| format!("{l}\n")))
                    .collect::<Vec<_>>()
            })
            .collect();
        assert_eq!(mib(&judged(&text)), [500.0; 3]);
    }
}
