//! Holds what the API sends against `web/openapi.json`, both ways: a field that is not described is a fault,
//! and so is a described one that no answer has. `web/types.d.ts` is made from the description.

use std::collections::BTreeSet;

use serde_json::Value;

const OPENAPI: &str = include_str!("../../../../web/openapi.json");
const COMPONENT: &str = "#/components/schemas/";

/// Numbers that are called seconds: beyond these they are something else.
const LONGEST_RUN: f64 = 1e7;
const WALL_CLOCK: std::ops::Range<f64> = 1.5e9..1e10;

pub(crate) struct Description {
    openapi: Value,
    /// Fields that some answer had, as `Component.field`.
    seen: BTreeSet<String>,
    /// Fields that some answer must have.
    wanted: BTreeSet<String>,
}

impl Description {
    pub(crate) fn read() -> Description {
        Description {
            openapi: serde_json::from_str(OPENAPI).expect("web/openapi.json is JSON"),
            seen: BTreeSet::new(),
            wanted: BTreeSet::new(),
        }
    }

    /// The addresses of a run that answer with JSON.
    pub(crate) fn addresses_of_a_run(&self) -> Vec<String> {
        let paths = self.openapi["paths"].as_object().expect("paths");
        let of_run = paths
            .keys()
            .filter(|path| path.starts_with("/api/v1/runs/{name}"));
        let json = of_run.filter(|path| self.schema(path, "get").is_object());
        json.cloned().collect()
    }

    fn schema(&self, path: &str, method: &str) -> &Value {
        let responses = &self.openapi["paths"][path][method]["responses"];
        let fine = ["200", "201"].map(|status| &responses[status]);
        let found = fine.into_iter().find(|response| response.is_object());
        found.map_or(&Value::Null, |response| {
            &response["content"]["application/json"]["schema"]
        })
    }

    /// What an address answered.
    #[track_caller]
    pub(crate) fn answered(&mut self, method: &str, path: &str, answer: &Value) {
        let schema = self.schema(path, method).clone();
        assert!(schema.is_object(), "{method} {path} is not described");
        self.holds(&schema, path, answer);
    }

    /// What stands in something else than an answer, by the name of its component.
    #[track_caller]
    pub(crate) fn sent(&mut self, component: &str, value: &Value) {
        let schema = serde_json::json!({"$ref": format!("{COMPONENT}{component}")});
        self.holds(&schema, component, value);
    }

    #[track_caller]
    fn holds(&mut self, schema: &Value, place: &str, value: &Value) {
        self.want(schema, place);
        if let Err(fault) = self.check(schema, place, value) {
            panic!("web/openapi.json: {fault}");
        }
    }

    /// Every field was there at least once.
    #[track_caller]
    pub(crate) fn all_was_seen(&self) {
        let missing: Vec<&String> = self.wanted.difference(&self.seen).collect();
        assert!(
            missing.is_empty(),
            "web/openapi.json describes what no answer of this test has: {missing:?}"
        );
    }

    fn component(&self, schema: &Value) -> Option<(String, Value)> {
        let name = schema["$ref"].as_str()?.strip_prefix(COMPONENT)?;
        let found = &self.openapi["components"]["schemas"][name];
        assert!(found.is_object(), "web/openapi.json lacks {name}");
        Some((name.to_owned(), found.clone()))
    }

    fn want(&mut self, schema: &Value, place: &str) {
        if let Some((name, component)) = self.component(schema) {
            if self.wanted.insert(name.clone()) {
                self.seen.insert(name.clone());
                self.want(&component, &name);
            }
            return;
        }
        for (field, inner) in schema["properties"].as_object().into_iter().flatten() {
            let place = format!("{place}.{field}");
            self.want(inner, &place);
            self.wanted.insert(place);
        }
        if schema["items"].is_object() {
            self.want(&schema["items"], &format!("{place}[]"));
        }
        // Of several shapes an answer has one: only those with a name of their own are asked for.
        for inner in schema["anyOf"].as_array().into_iter().flatten() {
            if inner["$ref"].is_string() {
                self.want(inner, place);
            }
        }
    }

    fn check(&mut self, schema: &Value, place: &str, value: &Value) -> Result<(), String> {
        if let Some((name, component)) = self.component(schema) {
            return self.check(&component, &name, value);
        }
        let wrong = |what: &str| Err(format!("{place} is {what}: {value}"));
        if let Some(shapes) = schema["anyOf"].as_array() {
            let faults: Vec<String> = shapes
                .iter()
                .map_while(|shape| self.check(shape, place, value).err())
                .collect();
            let fits = faults.len() < shapes.len();
            return if fits { Ok(()) } else { Err(faults.join("; ")) };
        }
        if !schema["const"].is_null() && schema["const"] != *value {
            return wrong("not its constant");
        }
        if let Some(words) = schema["enum"].as_array()
            && !words.contains(value)
        {
            return wrong("no word of its list");
        }
        if !has_type(&schema["type"], value) {
            return wrong("of another type");
        }
        if let (Some(about), Some(number)) = (schema["description"].as_str(), value.as_f64())
            && about.starts_with("Seconds")
            && !(about.contains("Unix epoch") && WALL_CLOCK.contains(&number)
                || number <= LONGEST_RUN)
        {
            return wrong("no plausible number of seconds");
        }
        match value {
            Value::Object(fields) if schema["properties"].is_object() => {
                let required = schema["required"].as_array().into_iter().flatten();
                for field in required.filter_map(Value::as_str) {
                    if !fields.contains_key(field) {
                        return Err(format!("{place}.{field} is required, and not there"));
                    }
                }
                for (field, inner) in fields {
                    let place = format!("{place}.{field}");
                    let described = &schema["properties"][field];
                    if !described.is_object() {
                        return Err(format!("{place} is sent, and not described"));
                    }
                    self.check(described, &place, inner)?;
                    self.seen.insert(place);
                }
                Ok(())
            }
            Value::Object(_) if schema.get("type").is_some() => wrong("an object without fields"),
            Value::Array(items) if schema["items"].is_object() => {
                let place = format!("{place}[]");
                items
                    .iter()
                    .try_for_each(|item| self.check(&schema["items"], &place, item))
            }
            _ => Ok(()),
        }
    }

    /// `web/types.d.ts`, whole.
    pub(crate) fn types(&self) -> String {
        let mut out = String::from(
            "// Made from web/openapi.json, for the type checker alone. To make it again:\n\
             // LOWTIDE_BLESS=1 cargo test -p lowtide --test serve types\n\n",
        );
        let components = self.openapi["components"]["schemas"]
            .as_object()
            .expect("components");
        for (name, schema) in components {
            if let Some(about) = schema["description"].as_str() {
                out += &format!("/** {about} */\n");
            }
            out += &format!("type {} = {};\n", own_name(name), in_typescript(schema, 0));
        }
        out
    }
}

/// Browsers have types of some of these names already.
fn own_name(name: &str) -> String {
    match name {
        "Event" | "Report" | "Error" => format!("Run{name}"),
        "Run" => "RunRow".to_owned(),
        other => other.to_owned(),
    }
}

fn has_type(wanted: &Value, value: &Value) -> bool {
    let is = |name: &str| match name {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_u64() || value.is_i64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        _ => false,
    };
    match wanted {
        Value::String(name) => is(name),
        Value::Array(names) => names.iter().filter_map(Value::as_str).any(is),
        _ => true,
    }
}

fn in_typescript(schema: &Value, depth: usize) -> String {
    if let Some(name) = schema["$ref"].as_str() {
        return own_name(name.trim_start_matches(COMPONENT));
    }
    let any_of = |shapes: &Vec<Value>| -> Vec<String> {
        shapes
            .iter()
            .map(|shape| in_typescript(shape, depth))
            .collect()
    };
    if let Some(shapes) = schema["anyOf"].as_array() {
        return any_of(shapes).join(" | ");
    }
    if let Some(words) = schema["enum"].as_array() {
        let words: Vec<String> = words.iter().map(Value::to_string).collect();
        return words.join(" | ");
    }
    if !schema["const"].is_null() {
        return schema["const"].to_string();
    }
    let named = |name: &str| match name {
        "integer" | "number" => "number".to_owned(),
        "array" => list(schema, depth),
        "object" => fields(schema, depth),
        plain => plain.to_owned(),
    };
    match &schema["type"] {
        Value::String(name) => named(name),
        Value::Array(names) => {
            let names: Vec<String> = names.iter().filter_map(Value::as_str).map(named).collect();
            names.join(" | ")
        }
        _ => "unknown".to_owned(),
    }
}

fn list(schema: &Value, depth: usize) -> String {
    if let Some(places) = schema["prefixItems"].as_array() {
        let places: Vec<String> = places
            .iter()
            .map(|place| in_typescript(place, depth))
            .collect();
        return format!("[{}]", places.join(", "));
    }
    let item = in_typescript(&schema["items"], depth);
    let fixed = schema["minItems"]
        .as_u64()
        .filter(|least| Some(*least) == schema["maxItems"].as_u64());
    match fixed {
        Some(many) => format!("[{}]", vec![item; many as usize].join(", ")),
        None if item.contains('|') => format!("({item})[]"),
        None => format!("{item}[]"),
    }
}

fn fields(schema: &Value, depth: usize) -> String {
    let Some(properties) = schema["properties"].as_object() else {
        let values = &schema["additionalProperties"];
        let values = if values.is_object() {
            in_typescript(values, depth)
        } else {
            "unknown".to_owned()
        };
        return format!("Record<string, {values}>");
    };
    let required: Vec<&str> = schema["required"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let indent = "  ".repeat(depth + 1);
    let mut out = String::from("{\n");
    for (name, inner) in properties {
        if let Some(about) = inner["description"].as_str() {
            out += &format!("{indent}/** {about} */\n");
        }
        let maybe = if required.contains(&name.as_str()) {
            ""
        } else {
            "?"
        };
        let quoted = if name.contains('-') {
            format!("\"{name}\"")
        } else {
            name.clone()
        };
        out += &format!(
            "{indent}{quoted}{maybe}: {};\n",
            in_typescript(inner, depth + 1)
        );
    }
    out + &"  ".repeat(depth) + "}"
}
