//! `.wandb`, the file that W&B keeps of every run: its history (what the loop logged, by step) and the system's metrics
//! (`proc.memory.rssMB` and the GPUs', by time). [`log`] cuts it into records, [`protobuf`] those into fields.

mod log;
mod protobuf;

use super::super::gather::{Gather, Whose};
use super::super::header;
use super::super::meaning::{self, Meaning};
use super::super::time::Moment;
use super::super::{Feed, ImportError};
use super::Tool;
use protobuf::{Field, fields};

pub(super) const TOOL: Tool = Tool {
    name: "W&B",
    is: log::is,
    read,
};

/// Numbers of fields in wandb_internal.proto, the same since 2020.
mod number {
    pub(super) const HISTORY: u64 = 2;
    pub(super) const STATS: u64 = 7;
    pub(super) const HISTORY_ITEM: u64 = 1;
    pub(super) const HISTORY_STEP: u64 = 2;
    pub(super) const STATS_TIME: u64 = 2;
    pub(super) const STATS_ITEM: u64 = 3;
    pub(super) const KEY: u64 = 1;
    pub(super) const NESTED_KEY: u64 = 2;
    pub(super) const VALUE_JSON: u64 = 16;
}

/// Metrics of the system that come before the first step; they belong to it.
const WAITING: usize = 10_000;

fn read(feed: &mut Feed<'_>, gather: &mut Gather) -> Result<(), ImportError> {
    let mut waiting: Vec<Logged> = Vec::new();
    let mut stepped = false;
    let skipped = log::each_record(feed, |record| {
        for (field, value) in fields(record) {
            match (field, value) {
                (number::HISTORY, Field::Bytes(history)) => {
                    let logged = Logged::of_history(history);
                    if let (false, Some(step)) = (stepped, logged.step) {
                        stepped = true;
                        gather.at_step(step);
                        waiting.drain(..).for_each(|early| early.take(gather));
                    }
                    logged.take(gather);
                }
                (number::STATS, Field::Bytes(stats)) => {
                    let logged = Logged::of_stats(stats);
                    match stepped {
                        true => logged.take(gather),
                        false if waiting.len() < WAITING => waiting.push(logged),
                        false => gather.skip(),
                    }
                }
                _ => {}
            }
        }
    })?;
    waiting.drain(..).for_each(|early| early.take(gather));
    (0..skipped).for_each(|_| gather.skip());
    Ok(())
}

/// What one record tells.
#[derive(Default)]
struct Logged {
    step: Option<f64>,
    seconds: Option<f64>,
    values: Vec<(String, f64)>,
}

impl Logged {
    fn of_history(history: &[u8]) -> Logged {
        let mut logged = Logged::default();
        for (field, value) in fields(history) {
            match (field, value) {
                (number::HISTORY_ITEM, Field::Bytes(item)) => logged.item(item),
                (number::HISTORY_STEP, Field::Bytes(step)) => {
                    let number = fields(step).find_map(|field| match field {
                        (1, Field::Number(step)) => Some(step as f64),
                        _ => None,
                    });
                    // Zero is left out of a record.
                    logged.step.get_or_insert(number.unwrap_or(0.0));
                }
                _ => {}
            }
        }
        logged
    }

    fn of_stats(stats: &[u8]) -> Logged {
        let mut logged = Logged::default();
        for (field, value) in fields(stats) {
            match (field, value) {
                (number::STATS_TIME, Field::Bytes(time)) => {
                    let part = |wanted: u64| {
                        fields(time).find_map(|field| match field {
                            (number, Field::Number(n)) if number == wanted => Some(n as f64),
                            _ => None,
                        })
                    };
                    logged.seconds = Some(part(1).unwrap_or(0.0) + part(2).unwrap_or(0.0) / 1e9);
                }
                (number::STATS_ITEM, Field::Bytes(item)) => logged.item(item),
                _ => {}
            }
        }
        logged
    }

    fn item(&mut self, item: &[u8]) {
        let mut key = String::new();
        let mut number = None;
        for (field, value) in fields(item) {
            let Field::Bytes(bytes) = value else { continue };
            let text = String::from_utf8_lossy(bytes);
            match field {
                number::KEY => key = text.into_owned(),
                number::NESTED_KEY if key.is_empty() => key = text.into_owned(),
                number::NESTED_KEY => key = format!("{key}.{text}"),
                number::VALUE_JSON => number = text.parse::<f64>().ok().filter(|n| n.is_finite()),
                _ => {}
            }
        }
        match (key.as_str(), number) {
            ("_step", Some(step)) => self.step = Some(step),
            ("_timestamp", Some(seconds)) => self.seconds = Some(seconds),
            (_, Some(number)) => self.values.push((key, number)),
            _ => {}
        }
    }

    fn take(self, gather: &mut Gather) {
        if let Some(step) = self.step {
            gather.at_step(step);
        }
        if let Some(seconds) = self.seconds {
            gather.at(Moment {
                seconds,
                clock_only: false,
                len: 0,
            });
        }
        for (key, value) in &self.values {
            if let Some((whose, factor)) = memory(key) {
                gather.take(whose, value * factor);
            }
        }
    }
}

/// Whether a key is memory in use, and its unit. W&B's own `MB` are MiB.
fn memory(key: &str) -> Option<(Whose<'_>, f64)> {
    const OWN: &str = "proc.memory.rssMB";
    let words = header::words(key);
    let unit = header::unit_in(&words)?;
    let Meaning::Memory(meter, _) = meaning::of(&words, true) else {
        return None;
    };
    let factor = if key.ends_with(OWN) {
        1_048_576.0
    } else {
        unit
    };
    let whose = Whose {
        name: key,
        pid: None,
        command: None,
        kind: "memory",
        meter,
    };
    Some((whose, factor))
}

#[cfg(test)]
mod tests;
