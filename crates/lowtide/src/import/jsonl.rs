//! One JSON object per line, or one array of objects. Nested names are joined by dots.

use std::borrow::Cow;

use serde_json::Value;

use super::table::{Cell, Place, Rows, plan};
use super::{ImportError, Imported, Options};

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

pub(super) fn read(bytes: &[u8], name: &str, options: &Options) -> Result<Imported, ImportError> {
    let (objects, bad) = objects(bytes)?;
    let mut names: Vec<String> = Vec::new();
    for object in objects.iter().take(SAMPLE) {
        fields(object, "", &mut |name, value| {
            let useful = value.is_number() || value.as_str().is_some_and(number_or_moment);
            if useful && !names.iter().any(|n| *n == name) {
                names.push(name.into_owned());
            }
        });
    }
    if names.is_empty() {
        return Err(ImportError::new("its objects hold no numbers"));
    }
    let numeric = vec![true; names.len()];
    let plan = plan(names.clone(), &numeric, options)?;
    let mut rows = Rows::new(plan, objects.len());
    (0..bad).for_each(|_| rows.skip());
    let (x, value, seconds, owner) = {
        let plan = rows.plan();
        (plan.x, plan.value, plan.seconds, plan.owner)
    };
    for object in &objects {
        let cell = |at: Option<usize>| at.and_then(|at| lookup(object, &names[at]));
        // Events without the value stand between the rows of many logs: they are no bad lines.
        let Some(size) = cell(Some(value)) else {
            continue;
        };
        if let Some(owner) = cell(owner) {
            rows.owner(&owner.to_string());
        }
        let size = size
            .as_f64()
            .map(Cell::Number)
            .or_else(|| Cell::parse(size.as_str()?));
        let place = |v: Option<&Value>| match v? {
            Value::String(text) => Place::parse(text),
            number => number.as_f64().map(Place::Number),
        };
        let (at_x, at_seconds) = (place(cell(x)), place(cell(seconds)));
        rows.push(at_x, size, at_seconds);
    }
    rows.finish(name, options)
}

fn objects(bytes: &[u8]) -> Result<(Vec<Value>, usize), ImportError> {
    if bytes.trim_ascii_start().starts_with(b"[") {
        let all: Vec<Value> = serde_json::from_slice(bytes)
            .map_err(|e| ImportError::new(format!("its JSON array cannot be read: {e}")))?;
        return Ok((all, 0));
    }
    let mut objects = Vec::new();
    let mut bad = 0;
    for line in bytes.split(|b| *b == b'\n') {
        if line.trim_ascii().is_empty() {
            continue;
        }
        match serde_json::from_slice::<Value>(line) {
            Ok(value @ Value::Object(_)) => objects.push(value),
            _ => bad += 1,
        }
    }
    Ok((objects, bad))
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
