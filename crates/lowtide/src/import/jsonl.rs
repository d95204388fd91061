//! One JSON object per line, or one array of objects. Nested names are joined by dots.

use std::borrow::Cow;
use std::collections::HashSet;
use std::io::BufReader;

use serde::Deserializer;
use serde::de::{SeqAccess, Visitor};
use serde_json::Value;

use super::table::{Cell, Holds, Place, Plan, plans};
use super::tables::Tables;
use super::{Feed, ImportError, Imported, Options};

/// How many objects are looked at to know the fields.
const SAMPLE: usize = 50;

/// Most of the first lines are objects; a log with a few dictionaries in it is a log.
pub(super) fn is(start: &[u8]) -> bool {
    let text = String::from_utf8_lossy(start);
    let trimmed = text.trim_start();
    if let Some(inside) = trimmed.strip_prefix('[') {
        return inside.trim_start().starts_with('{') && trimmed.contains("\":");
    }
    let mut lines: Vec<&str> = text
        .lines()
        .filter(|l| !l.trim().is_empty())
        .take(SAMPLE)
        .collect();
    if lines.len() > 1 {
        lines.pop();
    }
    let objects = lines
        .iter()
        .filter(|l| l.starts_with('{') && serde_json::from_str::<Value>(l).is_ok())
        .count();
    objects * 2 > lines.len()
}

pub(super) fn read(
    feed: &mut Feed<'_>,
    name: &str,
    options: &Options,
) -> Result<Vec<Imported>, ImportError> {
    let mut table = Table {
        first: Vec::new(),
        planned: None,
        bad: 0,
        options,
    };
    if feed.start().trim_ascii_start().starts_with(b"[") {
        let reader = BufReader::new(feed);
        serde_json::Deserializer::from_reader(reader)
            .deserialize_seq(Each(&mut table))
            .map_err(|e| ImportError::new(format!("its JSON array cannot be read: {e}")))??;
    } else {
        let mut failed = Ok(());
        feed.each_line(|line| {
            if failed.is_err() || line.trim_ascii().is_empty() {
                return;
            }
            match serde_json::from_slice::<Value>(line) {
                Ok(value @ Value::Object(_)) => failed = table.object(value),
                _ => table.bad += 1,
            }
        })?;
        failed?;
    }
    table.finish(name)
}

/// Objects in, rows out. The first ones wait until it is known what they are.
struct Table<'a> {
    first: Vec<Value>,
    planned: Option<Planned>,
    bad: usize,
    options: &'a Options,
}

struct Planned {
    names: Vec<String>,
    tables: Tables,
    plans: Vec<Plan>,
}

impl Table<'_> {
    fn object(&mut self, object: Value) -> Result<(), ImportError> {
        if let Some(planned) = &mut self.planned {
            planned.row(&object);
            return Ok(());
        }
        self.first.push(object);
        if self.first.len() >= SAMPLE {
            self.plan()?;
        }
        Ok(())
    }

    /// The fields of the first objects say what the columns are.
    fn plan(&mut self) -> Result<&mut Planned, ImportError> {
        let mut known = HashSet::new();
        let mut names: Vec<String> = Vec::new();
        let mut holds = Vec::new();
        for object in &self.first {
            fields(object, "", &mut |name, value| {
                let useful = value.is_number() || value.as_str().is_some_and(number_or_moment);
                if useful && known.insert(name.clone().into_owned()) {
                    names.push(name.into_owned());
                    let date = |text| matches!(Place::parse(text), Some(Place::Date(_)));
                    holds.push(match value.as_str().is_some_and(date) {
                        true => Holds::OneMoment,
                        false => Holds::Numbers,
                    });
                }
            });
        }
        if names.is_empty() {
            return Err(ImportError::new("its objects hold no numbers"));
        }
        let plans = plans(names.clone(), &holds, self.options)?;
        let mut planned = Planned {
            names,
            tables: Tables::new(plans.clone()),
            plans,
        };
        for object in self.first.drain(..) {
            planned.row(&object);
        }
        Ok(self.planned.insert(planned))
    }

    fn finish(mut self, name: &str) -> Result<Vec<Imported>, ImportError> {
        if self.planned.is_none() {
            self.plan()?;
        }
        let mut tables = self.planned.expect("it was planned").tables;
        (0..self.bad).for_each(|_| tables.skip());
        tables.finish(name, self.options)
    }
}

impl Planned {
    fn row(&mut self, object: &Value) {
        let Planned {
            names,
            tables,
            plans,
        } = self;
        let cell = |at: Option<usize>| at.and_then(|at| lookup(object, &names[at]));
        let size = |plan: &Plan| {
            let size = cell(Some(plan.value))?;
            let number = size.as_f64().map(Cell::Number);
            number.or_else(|| Cell::parse(size.as_str()?))
        };
        // Events without the value stand between the rows of many logs: they are no bad lines.
        if plans.iter().all(|plan| cell(Some(plan.value)).is_none()) {
            return;
        }
        let values: Vec<Option<Cell>> = plans.iter().map(size).collect();
        let place = |v: Option<&Value>| match v? {
            Value::String(text) => Place::parse(text),
            number => number.as_f64().map(Place::Number),
        };
        let owner = cell(plans[0].owner).map(|owner| match owner {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        });
        let (x, seconds) = (place(cell(plans[0].x)), place(cell(plans[0].seconds)));
        tables.row(owner.as_deref(), x, &values, seconds);
    }
}

/// The elements of an array, one after the other.
struct Each<'t, 'a>(&'t mut Table<'a>);

impl<'de> Visitor<'de> for Each<'_, '_> {
    type Value = Result<(), ImportError>;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("an array of objects")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let mut result = Ok(());
        // To the end also when it cannot be used: a broken array is told first.
        while let Some(value) = seq.next_element::<Value>()? {
            if result.is_ok() {
                result = self.0.object(value);
            }
        }
        Ok(result)
    }
}

fn number_or_moment(text: &str) -> bool {
    Place::parse(text).is_some() || Cell::parse(text).is_some()
}

fn fields<'a>(value: &'a Value, prefix: &str, each: &mut impl FnMut(Cow<'a, str>, &'a Value)) {
    let Value::Object(map) = value else { return };
    for (name, value) in map {
        let full = if prefix.is_empty() {
            Cow::Borrowed(name.as_str())
        } else {
            Cow::Owned(format!("{prefix}.{name}"))
        };
        if value.is_object() {
            fields(value, &full, each);
        } else {
            each(full, value);
        }
    }
}

fn lookup<'a>(object: &'a Value, name: &str) -> Option<&'a Value> {
    if let Some(value) = object.get(name) {
        return Some(value);
    }
    let (first, rest) = name.split_once('.')?;
    lookup(object.get(first)?, rest)
}
