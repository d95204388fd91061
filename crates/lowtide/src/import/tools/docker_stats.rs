//! `docker stats` and `podman stats`: streaming (the screen is drawn anew for every sample), `--no-stream` in a
//! loop, and what `--format` makes of it. The memory is the first of a pair: `3.1MiB / 15.5GiB` is usage / limit.
//! Network and disk are pairs too: docker writes them in decimal units (`1.2kB / 0B`), memory in binary ones.

use lowtide_core::verdict::Meter;

use super::super::gather::{Gather, Whose};
use super::super::{Feed, ImportError, size, time};
use super::{Tool, each_text_line, first_lines};

pub(super) const TOOL: Tool = Tool {
    name: "docker stats",
    is,
    read,
};

/// The head of the memory's column, and its name in JSON.
const HEAD: &str = "MEM USAGE / LIMIT";
const FIELD: &str = "\"MemUsage\":";

/// A line of `date`, a header and a first row.
const LOOK: usize = 4;

fn is(start: &[u8]) -> bool {
    let lines = first_lines(start, LOOK);
    lines.iter().any(|line| {
        line.contains(HEAD)
            || (line.starts_with('{') && line.contains(FIELD))
            || bare(line).is_some()
    })
}

fn read(feed: &mut Feed<'_>, gather: &mut Gather) -> Result<(), ImportError> {
    let mut columns = None;
    each_text_line(feed, |line| {
        if let Some(moment) = time::whole_line(line) {
            return gather.at(moment);
        }
        if let Some(found) = Columns::of(line) {
            columns = Some(found);
            return gather.begin_round();
        }
        let row = match &columns {
            _ if line.starts_with('{') => object(line),
            Some(columns) => columns.row(line),
            None => bare(line).map(|(name, bytes)| (name.to_owned(), bytes)),
        };
        match row {
            Some((name, bytes)) => {
                if columns.is_none()
                    && let Some(moment) = time::line_moment(line)
                {
                    gather.at(moment);
                }
                let whose = Whose {
                    name: &name,
                    pid: None,
                    command: None,
                    kind: "memory in use",
                    meter: Meter::Memory,
                };
                gather.take(whose, bytes);
            }
            // A container that was created and does not run has no numbers.
            None if line.contains("--") => {}
            None => gather.skip(),
        }
    })
}

/// Where the columns stand: the head says it, and cells have two blanks between them.
struct Columns {
    name: usize,
    memory: usize,
}

impl Columns {
    fn of(line: &str) -> Option<Columns> {
        let heads: Vec<&str> = cells(line).collect();
        let find = |head: &str| heads.iter().position(|h| *h == head);
        Some(Columns {
            memory: find(HEAD)?,
            name: find("NAME")
                .or_else(|| find("CONTAINER"))
                .or_else(|| find("CONTAINER ID"))
                .or_else(|| find("ID"))
                .unwrap_or(0),
        })
    }

    fn row(&self, line: &str) -> Option<(String, f64)> {
        let name = cells(line).nth(self.name)?;
        let bytes = usage(cells(line).nth(self.memory)?)?;
        Some((name.to_owned(), bytes))
    }
}

fn cells(line: &str) -> impl Iterator<Item = &str> {
    line.split("  ")
        .map(str::trim)
        .filter(|cell| !cell.is_empty())
}

/// `3.1MiB / 15.5GiB` as bytes in use.
fn usage(pair: &str) -> Option<f64> {
    let (used, limit) = pair.split_once(" / ")?;
    let sized = |text: &str| match size::parse(text)? {
        (value, Some(factor)) => Some(value * factor),
        _ => None,
    };
    sized(limit)?;
    sized(used)
}

/// `--format json`, or `{{json .}}`.
fn object(line: &str) -> Option<(String, f64)> {
    let row: serde_json::Value = serde_json::from_str(line).ok()?;
    let name = row.get("Name").or_else(|| row.get("Container"))?.as_str()?;
    Some((name.to_owned(), usage(row.get("MemUsage")?.as_str()?)?))
}

/// `--format '{{.Name}} {{.MemUsage}}'` in any order and with anything between: the one pair in binary units, and
/// the first word that is neither a time nor a number.
fn bare(line: &str) -> Option<(&str, f64)> {
    let mut found = None;
    for (slash, _) in line.match_indices(" / ") {
        let used = line[..slash]
            .rsplit([' ', ',', ';', '=', '|', '"'])
            .next()?;
        let limit = line[slash + 3..].split([' ', ',', ';', '|', '"']).next()?;
        if limit.ends_with("iB") && (used.ends_with("iB") || used.ends_with('B')) {
            let pair = (used, limit);
            if found.replace(pair).is_some() {
                return None;
            }
        }
    }
    let (used, limit) = found?;
    let bytes = usage(&format!("{used} / {limit}"))?;
    let words = line.split([' ', ',', ';', '|', '"', '=']);
    let mut words = words.map(|word| word.trim_end_matches(':'));
    let name = words
        .find(|word| word.starts_with(|c: char| c.is_alphabetic()) && time::moment(word).is_none());
    Some((
        name.filter(|name| *name != used).unwrap_or("container"),
        bytes,
    ))
}

#[cfg(test)]
mod tests {
    use lowtide_core::verdict::Axis;

    use super::super::tests::{all, asked, judged, mib, named, xs};

    const HEADER: &str = "CONTAINER ID   NAME      CPU %     MEM USAGE / LIMIT     MEM %     NET I/O           BLOCK I/O         PIDS\n";

    fn row(name: &str, mib: u32) -> String {
        format!(
            "0f2f0a2fd9f6   {name:<9} 101.20%   {mib}MiB / 31.27GiB   1.62%     1.05GB / 24.6kB   12.3MB / 4.1kB    23\n"
        )
    }

    /// Network traffic was taken for the memory, and a leak was called stable.
    #[test]
    fn the_memory_is_read_and_not_the_traffic() {
        let text: String = (0..5)
            .map(|n| format!("{HEADER}{}{}", row("db", 900), row("trainer", 500 + 3 * n)))
            .collect();
        let judged = judged(&text);
        assert_eq!(judged.who.name, "trainer");
        assert_eq!(mib(&judged), [500.0, 503.0, 506.0, 509.0, 512.0]);
        assert_eq!(judged.track.axis, Axis::Sample);
        assert!(
            judged.how.contains("of 2, the one that grows most"),
            "{}",
            judged.how
        );
        assert_eq!(all(&text)[0], ("db".to_owned(), vec![900.0; 5]));
        assert_eq!(mib(&asked(&text, &named("DB")).unwrap()), [900.0; 5]);
        let hint = asked(&text, &named("web")).unwrap_err().hint.unwrap();
        assert!(hint.contains("--name 'db' or --name 'trainer'"), "{hint}");
    }

    /// As a terminal's output is kept by `docker stats > file`: the screen is drawn anew.
    #[test]
    fn a_stream_of_screens() {
        let text: String = (0..4)
            .map(|n| {
                let screen =
                    format!("{HEADER}{}", row("trainer", 500 + n)).replace('\n', "\u{1b}[K\n");
                format!("\u{1b}[H{screen}\u{1b}[J")
            })
            .collect();
        let judged = judged(&format!("\u{1b}[2J{text}"));
        assert_eq!(mib(&judged), [500.0, 501.0, 502.0, 503.0]);
        // Before the first sample is there.
        let waiting = row("trainer", 1).replace("1MiB / 31.27GiB", "-- / --");
        assert_eq!(
            mib(&super::super::tests::judged(&format!(
                "{HEADER}{waiting}{text}"
            )))
            .len(),
            4
        );
    }

    #[test]
    fn formats_and_times_of_a_loop() {
        for (text, name) in [
            (
                "trainer: 500MiB / 31GiB\ntrainer: 501MiB / 31GiB\n",
                "trainer",
            ),
            (
                "trainer,0.1%,500MiB / 31GiB,1kB / 0B\ntrainer,0.1%,501MiB / 31GiB,1kB / 0B\n",
                "trainer",
            ),
            (
                "{\"Name\":\"trainer\",\"MemUsage\":\"500MiB / 31GiB\",\"NetIO\":\"1kB / 0B\"}\n{\"Name\":\"trainer\",\"MemUsage\":\"501MiB / 31GiB\",\"NetIO\":\"1kB / 0B\"}\n",
                "trainer",
            ),
            ("500MiB / 31GiB\n501MiB / 31GiB\n", "container"),
        ] {
            let judged = judged(text);
            assert_eq!(
                (judged.who.name.as_str(), mib(&judged)),
                (name, vec![500.0, 501.0]),
                "{text}"
            );
        }
        let dated = format!(
            "Wed Nov 18 00:00:00 UTC 2026\n{HEADER}{}Wed Nov 18 00:00:10 UTC 2026\n{HEADER}{}",
            row("trainer", 500),
            row("trainer", 501)
        );
        let judged_by_time = judged(&dated);
        assert_eq!(
            (judged_by_time.track.axis, xs(&judged_by_time)),
            (Axis::Time, vec![0.0, 10.0])
        );
        let stamped = "2026-11-18 00:00:00 trainer 500MiB / 31GiB\n2026-11-18 00:00:10 trainer 501MiB / 31GiB\n";
        assert_eq!(xs(&judged(stamped)), [0.0, 10.0]);
    }
}
