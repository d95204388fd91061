//! `pidstat -r` of sysstat, also with `-h` (one line a process, the head behind `#`) and `-l` (command lines). Every
//! row begins with its time; averages stand at the end.

use super::super::gather::Gather;
use super::super::{Feed, ImportError};
use super::listing::{Listing, kib};
use super::{Tool, each_text_line, first_lines};

pub(super) const TOOL: Tool = Tool {
    name: "pidstat",
    is,
    read,
};

const LOOK: usize = 6;

fn is(start: &[u8]) -> bool {
    let lines = first_lines(start, LOOK);
    lines.iter().any(|line| head(line).is_some())
}

fn head(line: &str) -> Option<Listing> {
    (line.contains("minflt/s") && line.contains("PID")).then(|| Listing::head(line))?
}

fn read(feed: &mut Feed<'_>, gather: &mut Gather) -> Result<(), ImportError> {
    let mut listing = None;
    each_text_line(feed, |line| {
        if line.starts_with("Average:") || line.starts_with("Linux ") {
            return;
        }
        if let Some(found) = head(line) {
            listing = Some(found);
        } else if line.contains(" PID ") {
            // With -u beside -r another head comes in turn, whose rows have no sizes.
            listing = None;
        } else if let Some(listing) = &listing
            && !listing.take(line, kib, gather)
        {
            gather.skip();
        }
    })
}

#[cfg(test)]
mod tests {
    use lowtide_core::verdict::Axis;

    use super::super::tests::{judged, mib, xs};

    #[test]
    fn rows_with_their_times() {
        let plain: String = (0..4)
            .map(|n| {
                format!(
                    "00:45:{:02}      UID       PID  minflt/s  majflt/s     VSZ     RSS   %MEM  Command\n\
                     00:45:{:02}        0      4242    420.59      0.00  996088  {}   1.92  python\n\n",
                    10 + n, 11 + n, (500 + n) * 1024
                )
            })
            .collect();
        let half_day = plain
            .replace(" UID", " PM UID")
            .replace("  0      4242", " PM  0      4242");
        let long: String = (0..4)
            .map(|n| format!("# Time        UID       PID  minflt/s  majflt/s     VSZ     RSS   %MEM  Command\n{}        0      4242    420.59      0.00  996088  {}   1.92  python\n", 1_794_961_457 + n, (500 + n) * 1024))
            .collect();
        for text in [plain, half_day, long] {
            let text = format!(
                "Linux 6.18.44 (vm) \t11/18/26 \t_x86_64_\t(2 CPU)\n\n{text}Average:        0      4242    420.59      0.00  996088  999999   1.92  python\n"
            );
            let one = judged(&text);
            assert_eq!(mib(&one), [500.0, 501.0, 502.0, 503.0], "{text}");
            assert_eq!(
                (one.track.axis, xs(&one)),
                (Axis::Time, vec![0.0, 1.0, 2.0, 3.0]),
                "{text}"
            );
            assert_eq!((one.who.pid, one.who.name.as_str()), (Some(4242), "python"));
        }
    }
}
