//! The JSON that `/api/v1/query_range` answers: a matrix, one series for each set of labels.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{BufReader, Read as _};

use serde::de::{Deserialize, Deserializer, Visitor};

use super::super::super::gather::Gather;
use super::super::super::time::Moment;
use super::super::super::{Feed, ImportError};
use super::super::Tool;

pub(in super::super) const TOOL: Tool = Tool {
    name: "Prometheus",
    is,
    read,
};

/// Prometheus itself answers at most 11,000 points a series; this is some thousand series.
const LONGEST: u64 = 256 << 20;

fn is(start: &[u8]) -> bool {
    let start = start.trim_ascii_start();
    let has = |text: &str| start.windows(text.len()).any(|w| w == text.as_bytes());
    start.starts_with(b"{")
        && (has("\"resultType\"") || (has("\"errorType\"") && has("\"status\"")))
}

#[derive(serde::Deserialize)]
struct Answer {
    error: Option<String>,
    data: Option<Data>,
    /// As `jq .data` leaves it.
    #[serde(flatten)]
    bare: Option<Data>,
}

#[derive(serde::Deserialize)]
struct Data {
    #[serde(rename = "resultType")]
    kind: String,
    result: Vec<Line>,
}

#[derive(serde::Deserialize)]
struct Line {
    #[serde(default)]
    metric: BTreeMap<String, String>,
    #[serde(default)]
    values: Vec<(f64, Value)>,
}

/// A number in quotes, as Prometheus writes it.
struct Value(f64);

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Value, D::Error> {
        struct Text;
        impl Visitor<'_> for Text {
            type Value = Value;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number in quotes")
            }
            fn visit_str<E>(self, text: &str) -> Result<Value, E> {
                Ok(Value(text.parse().unwrap_or(f64::NAN)))
            }
        }
        deserializer.deserialize_str(Text)
    }
}

fn read(feed: &mut Feed<'_>, gather: &mut Gather) -> Result<(), ImportError> {
    let answer: Answer = serde_json::from_reader(BufReader::new(feed.by_ref().take(LONGEST)))
        .map_err(|error| {
            ImportError::new(format!("it is no whole answer of query_range: {error}"))
        })?;
    if let Some(error) = answer.error {
        return Err(ImportError::new(format!(
            "Prometheus answered with an error: {error}"
        )));
    }
    let data = answer.data.or(answer.bare);
    let data = data.ok_or_else(|| ImportError::new("Prometheus' answer holds no data"))?;
    if data.kind != "matrix" {
        return Err(
            ImportError::new(format!("it is a {} of one moment, not a series", data.kind))
                .hint("ask /api/v1/query_range, with start, end and step"),
        );
    }
    if data.result.is_empty() {
        return Err(ImportError::new("the query found no series"));
    }
    let mut others = Vec::new();
    for line in &data.result {
        if !take(line, gather) {
            others.push(shown(line));
        }
    }
    match others.len() == data.result.len() {
        true => Err(ImportError::new(format!(
            "no metric's name says memory in use in bytes: {}",
            super::super::super::listed(&others)
        ))
        .hint("query a metric by its name, such as process_resident_memory_bytes, and nothing around it")),
        false => Ok(()),
    }
}

/// Whether the series is memory.
fn take(line: &Line, gather: &mut Gather) -> bool {
    let name = line.metric.get("__name__").map_or("", String::as_str);
    let shown = shown(line);
    let Some((whose, factor)) = super::metric(name, &shown) else {
        return false;
    };
    for (seconds, Value(value)) in &line.values {
        gather.at(Moment {
            seconds: *seconds,
            clock_only: false,
            len: 0,
        });
        gather.take(whose, value * factor);
    }
    true
}

/// As Prometheus writes it: `process_resident_memory_bytes{job="train"}`.
fn shown(line: &Line) -> String {
    let name = line.metric.get("__name__").map_or("", String::as_str);
    let labels: Vec<String> = line
        .metric
        .iter()
        .filter(|(key, _)| *key != "__name__")
        .map(|(key, value)| format!("{key}=\"{value}\""))
        .collect();
    match labels.is_empty() {
        true => name.to_owned(),
        false => format!("{name}{{{}}}", labels.join(",")),
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::super::Options;
    use super::super::super::tests::{all, asked, judged, mib, named, xs};

    fn line(labels: &str, sizes: &[u64]) -> String {
        let values: Vec<String> = (0..)
            .zip(sizes)
            .map(|(n, size)| format!("[{},\"{}\"]", 1_794_961_919 + 15 * n, size << 20))
            .collect();
        format!(
            "{{\"metric\":{{{labels}}},\"values\":[{}]}}",
            values.join(",")
        )
    }

    fn matrix(lines: &[String]) -> String {
        format!(
            "{{\"status\":\"success\",\"data\":{{\"resultType\":\"matrix\",\"result\":[{}]}}}}",
            lines.join(",")
        )
    }

    const RSS: &str = "\"__name__\":\"process_resident_memory_bytes\",\"job\":";

    #[test]
    fn the_metric_that_grows_of_those_that_are_memory() {
        let text = matrix(&[
            line(&format!("{RSS}\"node\""), &[15, 15, 15]),
            line(&format!("{RSS}\"train\""), &[500, 510, 520]),
            line(
                "\"__name__\":\"process_virtual_memory_bytes\"",
                &[9000, 9100, 9200],
            ),
            line("\"__name__\":\"process_max_fds\"", &[1, 1, 1]),
        ]);
        let read = judged(&text);
        assert_eq!(
            (mib(&read), xs(&read)),
            (vec![500.0, 510.0, 520.0], vec![0.0, 15.0, 30.0])
        );
        assert_eq!(all(&text).len(), 2);
        assert_eq!(mib(&asked(&text, &named("node")).unwrap()), [15.0; 3]);
    }

    #[test]
    fn what_does_not_say_memory_is_refused() {
        for labels in [
            "",
            "\"job\":\"train\"",
            "\"__name__\":\"node_memory_MemAvailable_bytes\"",
            "\"__name__\":\"machine_memory_bytes\"",
            "\"__name__\":\"container_fs_usage_bytes\"",
            "\"__name__\":\"container_network_receive_bytes_total\"",
            "\"__name__\":\"process_virtual_memory_bytes\"",
            "\"__name__\":\"container_spec_memory_limit_bytes\"",
            "\"__name__\":\"kube_pod_container_resource_requests_memory_bytes\"",
        ] {
            let text = matrix(&[line(labels, &[500, 510])]);
            let refused = asked(&text, &Options::default());
            assert!(refused.is_err(), "{labels}: {}", refused.unwrap().how);
        }
        for text in [
            "{\"status\":\"error\",\"errorType\":\"bad_data\",\"error\":\"parse error\"}",
            "{\"status\":\"success\",\"data\":{\"resultType\":\"vector\",\"result\":[]}}",
            "{\"status\":\"success\",\"data\":{\"resultType\":\"matrix\",\"result\":[]}}",
            "{\"status\":\"success\",\"data\":{\"resultType\":\"matrix\",\"result\":[",
        ] {
            assert!(asked(text, &Options::default()).is_err(), "{text}");
        }
    }
}
