//! `/metrics` scraped in a loop: the text exposition again and again, perhaps with `date` between, perhaps `grep`ped.
//! A name that comes again begins another sample.

use super::super::super::gather::Gather;
use super::super::super::time::{self, Moment};
use super::super::super::{Feed, ImportError};
use super::super::{Tool, each_text_line, first_lines};

pub(in super::super) const TOOL: Tool = Tool {
    name: "Prometheus metrics",
    is,
    read,
};

/// A line of `date`, and some metrics.
const LOOK: usize = 12;

fn is(start: &[u8]) -> bool {
    let lines = first_lines(start, LOOK);
    let typed = |line: &String| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let kinds = [
            "gauge",
            "counter",
            "untyped",
            "histogram",
            "summary",
            "unknown",
        ];
        matches!(words[..], ["#", "TYPE", _, kind] if kinds.contains(&kind))
    };
    lines.iter().any(typed)
        || lines
            .iter()
            .filter(|l| time::whole_line(l).is_none())
            .all(|l| grepped(l))
}

/// What `grep` left: only a name that carries its unit as Prometheus' do is sure to be one.
fn grepped(line: &str) -> bool {
    reading(line).is_some_and(|found| found.name.ends_with("_bytes"))
}

fn read(feed: &mut Feed<'_>, gather: &mut Gather) -> Result<(), ImportError> {
    let mut metrics = 0;
    let mut memory = 0;
    each_text_line(feed, |line| {
        if let Some(moment) = time::whole_line(line) {
            return gather.at(moment);
        }
        let Some(found) = reading(line) else {
            if !line.starts_with('#') {
                gather.skip();
            }
            return;
        };
        metrics += 1;
        let Some((whose, factor)) = super::metric(found.name, found.shown) else {
            return;
        };
        memory += 1;
        if let Some(moment) = found.moment {
            gather.at(moment);
        }
        gather.take(whose, found.value * factor);
    })?;
    match memory {
        0 => Err(ImportError::new(format!(
            "none of its {metrics} metrics says by its name that it is memory in use in bytes"
        ))
        .hint("process_resident_memory_bytes and container_memory_rss are such metrics")),
        _ => Ok(()),
    }
}

struct Reading<'a> {
    name: &'a str,
    shown: &'a str,
    value: f64,
    moment: Option<Moment>,
}

/// `name{labels} value [milliseconds]`
fn reading(line: &str) -> Option<Reading<'_>> {
    let end = match line.find('{') {
        Some(_) => line.rfind('}')? + 1,
        None => line.find(' ')?,
    };
    let (shown, rest) = line.split_at(end);
    let name = shown.split('{').next()?;
    let named = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == ':';
    if name.is_empty() || !name.chars().all(named) || name.starts_with(|c: char| c.is_ascii_digit())
    {
        return None;
    }
    let mut words = rest.split_whitespace();
    let value = words.next()?.parse().ok()?;
    let moment = match words.next() {
        None => None,
        Some(stamp) => Some(Moment {
            seconds: stamp.parse::<i64>().ok()? as f64 / 1e3,
            clock_only: false,
            len: 0,
        }),
    };
    words.next().is_none().then_some(Reading {
        name,
        shown,
        value,
        moment,
    })
}

#[cfg(test)]
mod tests {
    use super::super::super::super::Options;
    use super::super::super::tests::{asked, judged, mib, xs};

    fn scrape(mib: u64) -> String {
        format!(
            "# HELP process_virtual_memory_bytes Virtual memory size in bytes.\n# TYPE process_virtual_memory_bytes gauge\nprocess_virtual_memory_bytes 2.2e+08\n# TYPE process_resident_memory_bytes gauge\nprocess_resident_memory_bytes {}\n# TYPE process_cpu_seconds_total counter\nprocess_cpu_seconds_total 0.15\n",
            mib << 20
        )
    }

    #[test]
    fn scrapes_one_after_another() {
        let text: String = (0..4).map(|n| scrape(60 + n)).collect();
        assert_eq!(mib(&judged(&text)), [60.0, 61.0, 62.0, 63.0]);
        let stamped: String = (0..3)
            .map(|n| format!("10:00:{:02}\n{}", 5 * n, scrape(60)))
            .collect();
        assert_eq!(xs(&judged(&stamped)), [0.0, 5.0, 10.0]);
        let grepped =
            "process_resident_memory_bytes 1048576\nprocess_resident_memory_bytes 2097152\n";
        assert_eq!(mib(&judged(grepped)), [1.0, 2.0]);
    }

    #[test]
    fn free_and_total_are_no_memory_in_use() {
        let text = "# TYPE node_memory_MemFree_bytes gauge\nnode_memory_MemFree_bytes 2e9\n# TYPE node_memory_MemTotal_bytes gauge\nnode_memory_MemTotal_bytes 2e10\n";
        assert!(asked(&text.repeat(5), &Options::default()).is_err());
    }
}
