//! What the Python package measured inside the job: tensors, storages, the collector, what a clean-up
//! freed. Records feed it; `explain` compares the first with the last.

use std::collections::BTreeMap;

use serde_json::Value;

use super::occurrences::At;
use super::thin::Thin;

/// Looks kept of one process.
const KEPT: usize = 48;
/// Processes whose records are kept: the ranks of one machine; others count for nothing here.
const PROCESSES: usize = 16;
/// Lines of what grew that are kept, and characters of each.
const GREW: usize = 8;
const GREW_LENGTH: usize = 200;

/// One look from inside.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Inside {
    pub at: At,
    /// Tensors that Python knows, on all devices.
    pub tensors: f64,
    pub storages: f64,
    /// Of storages in host memory.
    pub host_bytes: f64,
    pub with_graph: f64,
    /// Objects that the garbage collector knows.
    pub objects: f64,
    pub cuda: Option<Cuda>,
}

/// torch's own counters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Cuda {
    pub allocated: f64,
    pub reserved: f64,
    pub pinned: Option<f64>,
}

/// One part of a clean-up over the run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Cleaned {
    pub calls: u64,
    pub freed: f64,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Records {
    pub looks: Thin<Inside, KEPT>,
    /// By part: `gc`, `trim`, `empty_cache`, …
    pub cleaned: BTreeMap<String, Cleaned>,
    /// What grew by type, in the package's words.
    pub grew: Vec<String>,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct AllRecords(BTreeMap<u32, Records>);

impl AllRecords {
    pub fn of(&self, pid: u32) -> Option<&Records> {
        self.0.get(&pid)
    }

    /// True when it was a log call.
    pub fn push(&mut self, pid: u32, json: &str, at: At) -> bool {
        let Ok(Value::Object(record)) = serde_json::from_str(json) else {
            return false;
        };
        if self.0.len() >= PROCESSES && !self.0.contains_key(&pid) {
            return false;
        }
        let moment = record.get("moment").and_then(Value::as_str).unwrap_or("");
        if moment == "log" {
            return true;
        }
        let kept = self.0.entry(pid).or_default();
        if record.contains_key("tensors") {
            kept.looks.push(Inside {
                at,
                tensors: sum(record.get("tensors")),
                storages: sum(record.get("storages")),
                host_bytes: number(&record, &["storage_bytes", "cpu"]).unwrap_or(0.0),
                with_graph: number(&record, &["tensors_with_graph"]).unwrap_or(0.0),
                objects: number(&record, &["gc_objects"]).unwrap_or(0.0),
                cuda: cuda(&record),
            });
        }
        if moment == "cleanup"
            && let Some(Value::Object(parts)) = record.get("cleanup")
        {
            for (part, freed) in parts.iter().take(GREW) {
                let cleaned = kept.cleaned.entry(part.clone()).or_default();
                cleaned.calls += 1;
                cleaned.freed += freed.as_f64().unwrap_or(0.0);
            }
        }
        if moment == "end"
            && let Some(Value::Object(grew)) = record.get("grew")
        {
            let short = |line: &String| line.chars().take(GREW_LENGTH).collect();
            kept.grew = grew.keys().take(GREW).map(short).collect();
        }
        false
    }
}

fn sum(value: Option<&Value>) -> f64 {
    match value {
        Some(Value::Object(devices)) => devices.values().filter_map(Value::as_f64).sum(),
        _ => 0.0,
    }
}

fn number(record: &serde_json::Map<String, Value>, path: &[&str]) -> Option<f64> {
    let (first, rest) = path.split_first()?;
    let mut value = record.get(*first)?;
    for name in rest {
        value = value.get(name)?;
    }
    value.as_f64()
}

fn cuda(record: &serde_json::Map<String, Value>) -> Option<Cuda> {
    Some(Cuda {
        allocated: number(record, &["cuda", "allocated"])?,
        reserved: number(record, &["cuda", "reserved"])?,
        pinned: number(record, &["cuda", "pinned"]),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT: At = At {
        seconds: 1.0,
        step: Some(10.0),
    };

    #[test]
    fn a_step_record_is_understood() {
        let mut all = AllRecords::default();
        let json = r#"{"moment":"step","tensors":{"cpu":12,"cuda":3},"storages":{"cpu":10},
            "storage_bytes":{"cpu":4000},"tensors_with_graph":2,"gc_objects":500,
            "cuda":{"allocated":7,"reserved":9,"peak":9}}"#;
        assert!(!all.push(7, json, AT));
        let look = *all.of(7).unwrap().looks.last().unwrap();
        assert_eq!(
            (look.tensors, look.storages, look.host_bytes),
            (15.0, 10.0, 4000.0)
        );
        assert_eq!((look.with_graph, look.objects), (2.0, 500.0));
        assert_eq!(look.cuda.unwrap().reserved, 9.0);
    }

    #[test]
    fn clean_ups_add_up_and_logs_are_told() {
        let mut all = AllRecords::default();
        for freed in [0, 4096] {
            let json = format!(r#"{{"cleanup":{{"gc":{freed}}},"moment":"cleanup"}}"#);
            all.push(7, &json, AT);
        }
        let gc = all.of(7).unwrap().cleaned["gc"];
        assert_eq!((gc.calls, gc.freed), (2, 4096.0));
        assert!(all.push(7, r#"{"log":{"loss":1.5},"moment":"log"}"#, AT));
        assert!(!all.push(7, "no json", AT));
    }
}
