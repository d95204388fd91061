//! Writes a recording anew: what the newest reader finds in it, through the newest writer, without what
//! names the machine. `corpus/record` uses it.
//!
//! `cargo run --release -p lowtide-verdicts --bin renew -- RUN OUT --hide FOLDER…`

use std::fs;
use std::path::PathBuf;

use anyhow::{Context as _, bail};
use clap::Parser;
use lowtide_core::entry::Entry;
use lowtide_core::sample::{Limit, LimitFrom};
use lowtide_recording::FILE_NAME;
use lowtide_recording::codec::{Encoder, WriterId};
use lowtide_recording::frame::{Frames, file_head};
use lowtide_verdicts::corpus;
use serde_json::Value;

/// Instead of the name of the machine.
const HOST: &str = "corpus";

#[derive(Parser)]
#[command(about = "Write a recording anew, without what names the machine")]
struct Options {
    /// A recording, or the folder of a run
    run: PathBuf,
    out: PathBuf,
    /// Paths below these are written without them
    #[arg(long, value_name = "FOLDER", num_args = 1..)]
    hide: Vec<String>,
}

fn main() -> anyhow::Result<()> {
    let options = Options::parse();
    let path = match options.run.is_dir() {
        true => options.run.join(FILE_NAME),
        false => options.run.clone(),
    };
    let mut frames = Frames::default();
    let mut encoder = Encoder::begin(&mut frames, &WriterId::default());
    for entry in corpus::read(&path)? {
        let entry = hidden(&entry, &options.hide)?;
        if encoder.put(&mut frames, &entry).is_err() {
            bail!("{}: an entry fits no frame", path.display());
        }
    }
    let mut bytes = Vec::new();
    frames.swap_into(&mut bytes);
    let file = [&file_head()[..], &bytes].concat();
    fs::write(&options.out, file).with_context(|| options.out.display().to_string())
}

fn hidden(entry: &Entry, hide: &[String]) -> anyhow::Result<Entry> {
    let mut value = serde_json::to_value(entry)?;
    shorten(&mut value, hide);
    let mut entry: Entry = serde_json::from_value(value)?;
    match &mut entry {
        Entry::Header(header) => {
            header.host = HOST.to_owned();
            header.cwd = String::new();
            let release = |c: char| !c.is_ascii_digit() && c != '.';
            let kernel = header.kernel.split(release).next().unwrap_or_default();
            header.kernel = kernel.to_owned();
        }
        Entry::Member(member) => {
            member.facts.env.clear();
            let facts = &mut member.facts;
            for word in facts.argv.iter_mut().chain(&mut facts.exe) {
                plain_name(word);
            }
        }
        Entry::Sample(sample) => {
            for group in &mut sample.cgroups {
                group.path = numbered(&group.path);
            }
            if let Some(Limit {
                from: LimitFrom::Cgroup(path),
                ..
            }) = &mut sample.limit
            {
                *path = numbered(path);
            }
        }
        _ => {}
    }
    Ok(entry)
}

/// The name of a file without its place.
fn plain_name(path: &mut String) {
    let name = path.rsplit('/').next().map(str::to_owned);
    if let Some(name) = name.filter(|_| path.starts_with('/')) {
        *path = name;
    }
}

/// The path of a group by its depth: `/a/b` becomes `/1/2`.
fn numbered(path: &str) -> String {
    let depth = path.split('/').filter(|part| !part.is_empty()).count();
    let numbers: String = (1..=depth).map(|nth| format!("/{nth}")).collect();
    if numbers.is_empty() {
        "/".to_owned()
    } else {
        numbers
    }
}

/// Every text in it, wherever it stands.
fn shorten(value: &mut Value, hide: &[String]) {
    match value {
        Value::String(text) => {
            for folder in hide {
                *text = text.replace(&format!("{}/", folder.trim_end_matches('/')), "");
            }
        }
        Value::Array(list) => list.iter_mut().for_each(|value| shorten(value, hide)),
        Value::Object(fields) => fields.values_mut().for_each(|value| shorten(value, hide)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
