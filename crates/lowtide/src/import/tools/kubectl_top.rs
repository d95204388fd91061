//! `kubectl top pod` and `kubectl top node` in a loop, with `--containers`, `-A` and `--no-headers`.

use lowtide_core::verdict::Meter;

use super::super::gather::{Gather, Whose};
use super::super::{Feed, ImportError, size, time};
use super::{Tool, each_text_line, first_lines};

pub(super) const TOOL: Tool = Tool {
    name: "kubectl top",
    is,
    read,
};

const HEAD: &str = "MEMORY(bytes)";
const LOOK: usize = 4;

fn is(start: &[u8]) -> bool {
    let lines = first_lines(start, LOOK);
    lines
        .iter()
        .any(|line| line.contains(HEAD) && line.contains("CPU(cores)"))
        || lines.iter().any(|line| bare(line).is_some())
}

fn read(feed: &mut Feed<'_>, gather: &mut Gather) -> Result<(), ImportError> {
    // How many words name a row, and where the memory stands.
    let mut columns: Option<(usize, usize)> = None;
    each_text_line(feed, |line| {
        if let Some(moment) = time::whole_line(line) {
            return gather.at(moment);
        }
        let words: Vec<&str> = line.split_whitespace().collect();
        if let Some(memory) = words.iter().position(|w| *w == HEAD) {
            let names = words.iter().position(|w| w.starts_with("CPU")).unwrap_or(1);
            columns = Some((names, memory));
            return gather.begin_round();
        }
        let row = match columns {
            Some((names, memory)) => bytes(words.get(memory)).map(|bytes| (names, bytes)),
            None => bare(line),
        };
        match row {
            Some((names, bytes)) => {
                let whose = Whose {
                    name: &words[..names.min(words.len())].join("/"),
                    pid: None,
                    command: None,
                    kind: "memory in use",
                    meter: Meter::Memory,
                };
                gather.take(whose, bytes);
            }
            None => gather.skip(),
        }
    })
}

fn bytes(cell: Option<&&str>) -> Option<f64> {
    match size::parse(cell?)? {
        (value, Some(factor)) => Some(value * factor),
        (value, None) => Some(value),
    }
}

/// `trainer-0   1998m   5432Mi`: thousandths of a core, then the memory.
fn bare(line: &str) -> Option<(usize, f64)> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let cores = words.iter().position(|word| {
        let thousandths = word.strip_suffix('m');
        thousandths.is_some_and(|n| n.parse::<u32>().is_ok())
    })?;
    let memory = words
        .get(cores + 1)
        .filter(|cell| cell.ends_with("Mi") || cell.ends_with("Gi"));
    let alone = words.len() == cores + 2;
    ((1..=3).contains(&cores) && alone).then_some((cores, bytes(memory)?))
}

#[cfg(test)]
mod tests {
    use super::super::tests::{all, judged, mib};

    #[test]
    fn pods_containers_and_rows_alone() {
        let sample = |n: u32| {
            format!(
                "NAME        CPU(cores)   MEMORY(bytes)   \ndb-0        12m          900Mi           \ntrainer-0   1998m        {}Mi          \n",
                500 + n
            )
        };
        let text: String = (0..4).map(sample).collect();
        let one = judged(&text);
        assert_eq!(
            (one.who.name.as_str(), mib(&one)),
            ("trainer-0", vec![500.0, 501.0, 502.0, 503.0])
        );
        let bare: String = text
            .lines()
            .filter(|l| !l.starts_with("NAME"))
            .map(|l| format!("{l}\n"))
            .collect();
        assert_eq!(mib(&judged(&bare)), mib(&one));
        let containers = "POD         NAME      CPU(cores)   MEMORY(bytes)   \ntrainer-0   main      1998m        500Mi\ntrainer-0   sidecar   1m           20Mi\n";
        let names: Vec<_> = all(containers).into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["trainer-0/main", "trainer-0/sidecar"]);
    }
}
