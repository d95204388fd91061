//! `nvidia-smi dmon -s m` and `pmon -s m`: heads behind `#`, repeated now and then. `fb` is the memory in use in MiB;
//! `mem` is the share of time in which it was busy, and no memory.

use super::super::super::gather::Gather;
use super::super::super::{Feed, ImportError, time};
use super::super::{Tool, each_text_line, first_lines};
use super::{MIB, of};

pub(in super::super) const TOOL: Tool = Tool {
    name: "nvidia-smi dmon",
    is,
    read,
};

fn is(start: &[u8]) -> bool {
    first_lines(start, 1)
        .iter()
        .any(|line| Columns::of(line).is_some())
}

fn read(feed: &mut Feed<'_>, gather: &mut Gather) -> Result<(), ImportError> {
    let mut columns = None;
    each_text_line(feed, |line| {
        if line.starts_with('#') {
            columns = Columns::of(line).or(columns.take());
            return;
        }
        let Some(columns) = &columns else { return };
        let cells: Vec<&str> = line.split_whitespace().collect();
        let cell = |at: Option<usize>| cells.get(at?).copied();
        if let Some(moment) = cell(columns.time).and_then(time::moment) {
            gather.at(moment);
        }
        let used: Option<f64> = cell(Some(columns.used)).and_then(|used| used.parse().ok());
        let (Some(used), Some(gpu)) = (used, cell(Some(columns.gpu))) else {
            // A GPU without a process has dashes.
            return;
        };
        let pid = cell(columns.pid).and_then(|pid| pid.parse().ok());
        let name = match (pid, cell(columns.command)) {
            (Some(_), Some(command)) => command.to_owned(),
            _ => format!("GPU {gpu}"),
        };
        gather.take(of(&name, pid), used * MIB);
    })
}

struct Columns {
    gpu: usize,
    used: usize,
    time: Option<usize>,
    pid: Option<usize>,
    command: Option<usize>,
}

impl Columns {
    fn of(line: &str) -> Option<Columns> {
        let heads: Vec<&str> = line.strip_prefix('#')?.split_whitespace().collect();
        let find = |name: &str| heads.iter().position(|head| *head == name);
        Some(Columns {
            gpu: find("gpu")?,
            used: find("fb")?,
            time: find("Time"),
            pid: find("pid"),
            command: find("command"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::super::Options;
    use super::super::super::tests::{all, asked, judged, mib, xs};

    #[test]
    fn the_frame_buffer_of_gpus_and_processes() {
        let dmon =
            "# gpu     fb   bar1\n# Idx     MB     MB\n    0   8000      5\n    0   8025      5\n";
        assert_eq!(mib(&judged(dmon)), [8000.0, 8025.0]);
        let timed = "#Time        gpu     fb   bar1\n#HH:MM:SS    Idx     MB     MB\n 10:00:00      0   8000      5\n 10:00:02      0   8025      5\n";
        assert_eq!(xs(&judged(timed)), [0.0, 2.0]);
        let pmon = "# gpu         pid   type     fb    command\n# Idx           #    C/G     MB    name\n    0       4242     C   8000    python\n    1          -     -      -    -\n    0       4300     C     12    python\n    0       4242     C   8025    python\n    1          -     -      -    -\n    0       4300     C     12    python\n";
        assert_eq!(mib(&judged(pmon)), [8000.0, 8025.0]);
        assert_eq!(all(pmon).len(), 2);
    }

    #[test]
    fn the_share_of_time_is_no_memory() {
        let text = "# gpu    pwr     sm    mem\n# Idx      W      %      %\n    0    250     97     30\n    0    251     97     31\n";
        assert!(asked(text, &Options::default()).is_err());
    }
}
