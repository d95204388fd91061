//! Hints that name a flag are held to it: pasted behind the command, the flag has to lead to a verdict, perhaps by
//! way of another hint (`--column X`, and then `--unit MB`).

use std::path::Path;

use crate::answer::{Answer, ask};

/// A column, its unit, an axis: nobody follows more.
const ROUNDS: usize = 3;

/// Flags that take no value.
const BARE: [&str; 1] = ["--all"];

/// What happened when a hint was pasted and did not lead to a verdict.
pub(crate) fn broken(
    folder: &Path,
    file: &str,
    flags: &[String],
    hint: Option<&str>,
) -> Option<String> {
    follow(folder, file, flags, hint, ROUNDS)
}

fn follow(
    folder: &Path,
    file: &str,
    flags: &[String],
    hint: Option<&str>,
    rounds: usize,
) -> Option<String> {
    let hint = hint?;
    for flag in pasteable(hint) {
        let mut pasted: Vec<String> = without(flags, &flag[0]);
        pasted.extend(flag.clone());
        let shown = flag.join(" ");
        match ask(folder, file, &pasted) {
            Answer::Read(_) => {}
            Answer::Broken(what) => return Some(format!("pasted `{shown}`: {what}")),
            Answer::Refused { message, hint } => {
                let next = hint.as_deref().filter(|hint| !pasteable(hint).is_empty());
                if rounds == 0 || next.is_none() {
                    return Some(format!("the hint `{shown}` does not work: {message}"));
                }
                if let Some(broken) = follow(folder, file, &pasted, next, rounds - 1) {
                    return Some(broken);
                }
            }
        }
    }
    None
}

/// The flags of a hint, each with its value as a shell would take them. `--all` prints a list, not a verdict.
fn pasteable(hint: &str) -> Vec<Vec<String>> {
    let words = words(hint);
    let mut found: Vec<Vec<String>> = Vec::new();
    for (at, word) in words.iter().enumerate() {
        if !word.starts_with("--") || BARE.contains(&word.as_str()) || word.len() == 2 {
            continue;
        }
        if let Some(value) = words.get(at + 1) {
            found.push(vec![word.clone(), value.clone()]);
        }
    }
    found.dedup();
    found
}

/// Words as a shell cuts them; the commas and brackets of a sentence are not part of a bare one.
fn words(text: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let (mut quoted, mut escaped, mut was_quoted) = (false, false, false);
    for c in text.chars() {
        let last = words.last_mut().expect("there is always one");
        match c {
            _ if escaped => {
                last.push(c);
                escaped = false;
            }
            '\'' => {
                quoted = !quoted;
                was_quoted = true;
            }
            '\\' if !quoted => escaped = true,
            _ if quoted => last.push(c),
            ' ' | ',' | ';' | '(' | ')' | '`' => {
                if !last.is_empty() || was_quoted {
                    words.push(String::new());
                }
                was_quoted = false;
            }
            _ => last.push(c),
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

fn without(flags: &[String], flag: &str) -> Vec<String> {
    match flags.iter().position(|given| given == flag) {
        Some(at) => [&flags[..at], &flags[(at + 2).min(flags.len())..]].concat(),
        None => flags.to_vec(),
    }
}
