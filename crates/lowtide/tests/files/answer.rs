//! What `lowtide judge` answers.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

pub(crate) enum Answer {
    Read(Read),
    Refused {
        message: String,
        hint: Option<String>,
    },
    /// Neither a verdict nor a refusal in words.
    Broken(String),
}

pub(crate) struct Read {
    /// "24 points: steps from column `step`, …"
    pub(crate) how: String,
    pub(crate) points: Option<u64>,
    pub(crate) axis: String,
    pub(crate) first: f64,
    pub(crate) last: f64,
    pub(crate) verdict: String,
    pub(crate) growing: bool,
    pub(crate) creep: bool,
}

/// No leak, a leak, too early: everything else is no verdict.
const VERDICTS: [i32; 3] = [0, 1, 3];

pub(crate) fn ask(folder: &Path, file: &str, flags: &[String]) -> Answer {
    let output = judge(folder, file, flags, &["--json"]);
    let refusal = String::from_utf8_lossy(&output.stderr).into_owned();
    match output.status.code() {
        Some(code) if VERDICTS.contains(&code) => match read(&output.stdout) {
            Some(read) => Answer::Read(read),
            None => Answer::Broken(format!("a verdict without its fields: {refusal}")),
        },
        Some(_) if refusal.contains("error") || refusal.contains("lowtide:") => Answer::Refused {
            message: first_line(&refusal, file),
            hint: hint(&refusal),
        },
        code => Answer::Broken(format!("ended with {code:?}: {refusal}")),
    }
}

/// The names that `--all` lists.
pub(crate) fn names(folder: &Path, file: &str) -> Vec<String> {
    let output = judge(folder, file, &[], &["--all", "--json"]);
    let listed: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    let series = listed["series"].as_array().cloned().unwrap_or_default();
    let names = series.iter().filter_map(|one| one["name"].as_str());
    names.map(str::to_owned).collect()
}

/// In the folder, so that messages hold no path.
fn judge(folder: &Path, file: &str, flags: &[String], more: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lowtide"));
    command.current_dir(folder).arg("judge").arg(file);
    command
        .args(flags)
        .args(more)
        .output()
        .expect("lowtide starts")
}

fn read(stdout: &[u8]) -> Option<Read> {
    let answer: Value = serde_json::from_slice(stdout).ok()?;
    let how = answer["read"].as_str()?.to_owned();
    Some(Read {
        points: how
            .split_once(" point")
            .and_then(|(count, _)| count.parse().ok()),
        axis: answer["axis"].as_str()?.to_owned(),
        first: answer["floor"]["first"].as_f64()?,
        last: answer["floor"]["last"].as_f64()?,
        verdict: answer["verdict"].as_str()?.to_owned(),
        growing: answer["growing"].as_bool()?,
        creep: answer["creep"].as_bool()?,
        how,
    })
}

fn first_line(refusal: &str, file: &str) -> String {
    let line = refusal.lines().next().unwrap_or_default();
    let line = line.trim_start_matches("lowtide: ");
    let line = line.trim_start_matches("error: ");
    line.trim_start_matches(&format!("{file}: ")).to_owned()
}

fn hint(refusal: &str) -> Option<String> {
    let at = refusal.find("hint: ")? + "hint: ".len();
    Some(refusal[at..].trim().replace('\n', " "))
}
