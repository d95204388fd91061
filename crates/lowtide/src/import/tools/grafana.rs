//! Grafana's "Download CSV": series as rows (`"Series";"Time";"Value"`) or one column a series behind `"Time"`, each named
//! by its legend. A series counts if the legend says memory in use.

use lowtide_core::verdict::Meter;

use super::super::gather::{Gather, Whose};
use super::super::meaning::{self, Meaning};
use super::super::{Feed, ImportError, header, listed, size, time};
use super::{Tool, each_text_line, first_lines};

pub(super) const TOOL: Tool = Tool {
    name: "Grafana",
    is,
    read,
};

/// Without a unit in legend or cell, numbers from here on are bytes, which is what the sources of Grafana's panels
/// count in; as KiB they were 100 GB.
const BYTES: f64 = 1e8;

/// Columns; a panel with more is none that anybody reads.
const MOST: usize = 1000;

fn is(start: &[u8]) -> bool {
    first_lines(start, 2)
        .iter()
        .any(|line| Layout::of(line).is_some())
}

enum Layout {
    Rows { by: char },
    Columns { by: char, names: Vec<String> },
}

impl Layout {
    /// By the first line, or the second behind `sep=,`, which is written for Excel.
    fn of(line: &str) -> Option<Layout> {
        let by = [';', ',', '\t'].into_iter().find(|by| line.contains(*by))?;
        let names = cells(line, by);
        let quoted = line.starts_with('"');
        let is = |at: usize, name: &str| names.get(at).is_some_and(|n| n == name);
        if is(0, "Series") && is(1, "Time") && is(2, "Value") && names.len() == 3 {
            return Some(Layout::Rows { by });
        }
        // A legend of Prometheus' makes it Grafana's; other tables have a column `Time` too.
        let legend = |name: &String| name.contains('{') && name.ends_with('}');
        (quoted
            && is(0, "Time")
            && names.len() <= MOST
            && names[1..].iter().all(legend)
            && names.len() > 1)
            .then_some(Layout::Columns { by, names })
    }
}

fn read(feed: &mut Feed<'_>, gather: &mut Gather) -> Result<(), ImportError> {
    let mut layout = None;
    let mut others: Vec<String> = Vec::new();
    let mut taken = 0;
    each_text_line(feed, |line| {
        let Some(found) = &layout else {
            layout = Layout::of(line);
            return;
        };
        let row: Vec<(String, String)>;
        let at;
        match found {
            Layout::Rows { by } => {
                let [name, when, value] = &cells(line, *by)[..] else {
                    return gather.skip();
                };
                at = when.clone();
                row = vec![(name.clone(), value.clone())];
            }
            Layout::Columns { by, names } => {
                let cells = cells(line, *by);
                at = cells[0].clone();
                row = names.iter().cloned().zip(cells).skip(1).collect();
            }
        }
        let Some(moment) = moment(&at) else {
            return gather.skip();
        };
        gather.at(moment);
        for (name, value) in row.iter().filter(|(_, value)| !value.is_empty()) {
            match memory(name).zip(bytes(name, value)) {
                Some((meter, bytes)) => {
                    taken += 1;
                    gather.take(whose(name, meter), bytes);
                }
                None if others.len() < MOST && !others.contains(name) => others.push(name.clone()),
                None => {}
            }
        }
    })?;
    match taken {
        0 => Err(ImportError::new(format!(
            "no series of the panel says that it is memory in use, and in which unit: {}",
            listed(&others)
        ))
        .hint("write the metric's name into the panel's legend and download it again")),
        _ => Ok(()),
    }
}

fn whose(name: &str, meter: Meter) -> Whose<'_> {
    Whose {
        name,
        pid: None,
        command: None,
        kind: "memory",
        meter,
    }
}

/// The words before the labels: a pod may be called `memory-hog`.
fn words(name: &str) -> Vec<String> {
    let (metric, _) = name.split_once('{').unwrap_or((name, ""));
    header::words(if metric.is_empty() { name } else { metric })
}

fn memory(name: &str) -> Option<Meter> {
    let words = words(name);
    match meaning::of(&words, header::unit_in(&words).is_some()) {
        Meaning::Memory(meter, _) => Some(meter),
        _ => None,
    }
}

fn bytes(name: &str, cell: &str) -> Option<f64> {
    match size::parse(cell) {
        Some((value, Some(factor))) => Some(value * factor),
        Some((value, None)) => scale(name, value),
        None => scale(name, cell.parse().ok()?),
    }
}

fn scale(name: &str, value: f64) -> Option<f64> {
    match header::unit_in(&words(name)) {
        Some(factor) => Some(value * factor),
        None => (value >= BYTES).then_some(value),
    }
}

/// A date, or milliseconds since 1970.
fn moment(cell: &str) -> Option<time::Moment> {
    let number: Option<f64> = cell.parse().ok();
    match number {
        Some(stamp) => Some(time::Moment {
            seconds: stamp * time::epoch_factor(stamp),
            clock_only: false,
            len: 0,
        }),
        None => time::moment(cell),
    }
}

/// Cells of a line, `""` in quotes being one quote.
fn cells(line: &str, by: char) -> Vec<String> {
    let mut cells = vec![String::new()];
    let mut quoted = false;
    let mut chars = line.trim_end().chars().peekable();
    while let Some(c) = chars.next() {
        let cell = cells.last_mut().expect("there is always one");
        match c {
            '"' if quoted && chars.peek() == Some(&'"') => {
                chars.next();
                cell.push('"');
            }
            '"' => quoted = !quoted,
            _ if c == by && !quoted => cells.push(String::new()),
            _ => cell.push(c),
        }
    }
    cells
}

#[cfg(test)]
mod tests {
    use super::super::super::Options;
    use super::super::tests::{all, asked, judged, mib, xs};

    #[test]
    fn series_as_rows_and_as_columns() {
        let rows = "\"Series\";\"Time\";\"Value\"\n\"rss trainer\";2026-03-01T10:00:00+00:00;524288000\n\"rss trainer\";2026-03-01T10:00:15+00:00;525336576\n";
        let read = judged(rows);
        assert_eq!(
            (mib(&read), xs(&read)),
            (vec![500.0, 501.0], vec![0.0, 15.0])
        );
        let wide = "\"Time\",\"container_memory_rss{pod=\"\"train-0\"\"}\",\"container_memory_rss{pod=\"\"redis-0\"\"}\"\n1772359200000,524288000,209715200\n1772359215000,525336576,209715200\n";
        assert_eq!(mib(&judged(wide)), [500.0, 501.0]);
        assert_eq!(xs(&judged(wide)), [0.0, 15.0]);
        assert_eq!(all(wide).len(), 2);
    }

    #[test]
    fn what_does_not_say_memory_is_refused() {
        for legend in [
            "requests",
            "container_fs_usage_bytes",
            "free memory",
            "trainer",
        ] {
            let rows = format!(
                "\"Series\";\"Time\";\"Value\"\n\"{legend}\";2026-03-01T10:00:00+00:00;524288000\n"
            );
            assert!(asked(&rows, &Options::default()).is_err(), "{legend}");
        }
    }
}
