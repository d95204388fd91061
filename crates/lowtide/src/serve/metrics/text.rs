//! Prometheus' text format, version 0.0.4: all values of a family together, below its help and type.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::{Kind, Metric};

pub(super) fn encode(metrics: &[Metric]) -> String {
    let mut families: BTreeMap<&str, Vec<&Metric>> = BTreeMap::new();
    for metric in metrics {
        families.entry(&metric.name).or_default().push(metric);
    }
    let mut out = String::new();
    for (name, values) in families {
        let kind = match values[0].kind {
            Kind::Gauge => "gauge",
            Kind::Counter => "counter",
        };
        let help = escaped(values[0].help);
        // Writing to a string cannot fail.
        let _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} {kind}");
        for metric in values {
            let labels: Vec<String> = metric
                .labels
                .iter()
                .map(|(key, text)| format!("{key}=\"{}\"", escaped(text).replace('"', "\\\"")))
                .collect();
            let value = number(metric.value);
            let _ = writeln!(out, "{name}{{{}}} {value}", labels.join(","));
        }
    }
    out
}

/// A label's text may hold anything a job can name itself.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('\n', "\\n")
}

fn number(value: f64) -> String {
    if value == f64::INFINITY {
        "+Inf".to_owned()
    } else if value == f64::NEG_INFINITY {
        "-Inf".to_owned()
    } else {
        value.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metric(name: &'static str, help: &'static str, label: &str, value: f64) -> Metric {
        Metric {
            name: name.into(),
            help,
            kind: Kind::Gauge,
            labels: vec![("command", label.to_owned())],
            value,
        }
    }

    #[test]
    fn labels_and_help_cannot_break_out_of_their_places() {
        let evil = metric("x_total", "one\ntwo \\", "a\"} 1\nevil{x=\"\\", 2.0);
        let evil = Metric {
            kind: Kind::Counter,
            ..evil
        };
        assert_eq!(
            encode(&[evil]),
            "# HELP x_total one\\ntwo \\\\\n# TYPE x_total counter\nx_total{command=\"a\\\"} 1\\nevil{x=\\\"\\\\\"} 2\n"
        );
    }

    #[test]
    fn a_family_stands_together_and_odd_numbers_have_their_words() {
        let text = encode(&[
            metric("b", "B", "1", f64::INFINITY),
            metric("a", "A", "1", f64::NAN),
            metric("b", "B", "2", f64::NEG_INFINITY),
        ]);
        let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
        assert_eq!(
            lines,
            [
                "a{command=\"1\"} NaN",
                "b{command=\"1\"} +Inf",
                "b{command=\"2\"} -Inf"
            ]
        );
        assert_eq!(text.matches("# TYPE b gauge").count(), 1);
    }
}
