//! `nvidia-smi --query-gpu=… --format=csv -l 1` and `--query-compute-apps=…`: a head names the columns and their unit
//! (`memory.used [MiB]`), rows of several GPUs or processes follow each other.

use super::super::super::gather::Gather;
use super::super::super::{Feed, ImportError, size, time};
use super::super::{Tool, each_text_line, first_lines};
use super::{MIB, of};

pub(in super::super) const TOOL: Tool = Tool {
    name: "nvidia-smi",
    is,
    read,
};

const USED: [&str; 3] = [
    "memory.used [MiB]",
    "used_gpu_memory [MiB]",
    "used_memory [MiB]",
];

/// What tells GPUs apart, the best first: a name such as `NVIDIA A100` is everybody's.
const WHICH: [&str; 5] = ["index", "uuid", "gpu_uuid", "pci.bus_id", "gpu_bus_id"];

fn is(start: &[u8]) -> bool {
    first_lines(start, 1)
        .iter()
        .any(|line| Columns::of(line).is_some() || headless(line))
}

fn read(feed: &mut Feed<'_>, gather: &mut Gather) -> Result<(), ImportError> {
    let mut columns = None;
    each_text_line(feed, |line| {
        if let Some(found) = Columns::of(line) {
            // Again with every round of a loop.
            columns = Some(found);
            return;
        }
        let Some(columns) = &columns else { return };
        let cells: Vec<&str> = line.split(',').map(str::trim).collect();
        let cell = |at: Option<usize>| cells.get(at?).copied();
        if let Some(moment) = cell(columns.time).and_then(time::moment) {
            gather.at(moment);
        }
        let Some((used, _)) = cell(Some(columns.used)).and_then(size::parse) else {
            return gather.skip();
        };
        let pid = cell(columns.pid).and_then(|pid| pid.parse().ok());
        let name = match (pid, cell(columns.name), cell(columns.which)) {
            (Some(_), Some(name), _) => name.to_owned(),
            (_, _, Some(which)) => format!("GPU {which}"),
            _ => "the GPU".to_owned(),
        };
        gather.take(of(&name, pid), used * MIB);
    })?;
    match columns {
        Some(_) => Ok(()),
        None => Err(ImportError::new(
            "nvidia-smi wrote it without a header: which of the sizes is in use cannot be known",
        )
        .hint("leave `noheader` out of its format next time")),
    }
}

/// `noheader`: sizes of which nobody knows what they are.
fn headless(line: &str) -> bool {
    let sized = |cell: &str| {
        let number = cell.trim().strip_suffix(" MiB");
        number.is_some_and(|number| number.parse::<u64>().is_ok())
    };
    line.contains(',') && line.split(',').any(sized)
}

struct Columns {
    used: usize,
    time: Option<usize>,
    which: Option<usize>,
    pid: Option<usize>,
    name: Option<usize>,
}

impl Columns {
    fn of(line: &str) -> Option<Columns> {
        let heads: Vec<&str> = line.split(',').map(str::trim).collect();
        let find = |name: &str| heads.iter().position(|head| *head == name);
        Some(Columns {
            used: USED.iter().find_map(|name| find(name))?,
            time: find("timestamp"),
            which: WHICH.iter().find_map(|name| find(name)),
            pid: find("pid"),
            name: find("process_name").or_else(|| find("name")),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::super::Options;
    use super::super::super::tests::{all, asked, judged, mib, xs};

    #[test]
    fn gpus_are_told_apart() {
        let text = "timestamp, index, memory.used [MiB], memory.total [MiB]\n2026/03/01 10:00:00.000, 0, 8000 MiB, 40960 MiB\n2026/03/01 10:00:00.000, 1, 900 MiB, 40960 MiB\n2026/03/01 10:00:01.000, 0, 8025 MiB, 40960 MiB\n2026/03/01 10:00:01.000, 1, 900 MiB, 40960 MiB\n";
        let read = judged(text);
        assert_eq!(
            (mib(&read), xs(&read)),
            (vec![8000.0, 8025.0], vec![0.0, 1.0])
        );
        assert_eq!(all(text)[1], ("GPU 1".to_owned(), vec![900.0, 900.0]));
        let apps = "pid, process_name, used_gpu_memory [MiB]\n42, python, 800\n43, python, 7\n42, python, 801\n43, python, 7\n";
        assert_eq!(mib(&judged(apps)), [800.0, 801.0]);
        let headless = "8000 MiB, 40960 MiB\n8025 MiB, 40960 MiB\n";
        assert!(asked(headless, &Options::default()).is_err());
    }
}
