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
        let given = flags.to_vec();
        let again = flag.iter().filter(|word| word.starts_with("--"));
        let mut pasted = again.fold(given, |given, word| without(&given, word));
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

/// What can be pasted of a hint: flags with their values, as a shell would take them, those that stand side by side
/// together. `--all` prints a list, not a verdict.
fn pasteable(hint: &str) -> Vec<Vec<String>> {
    let words = words(hint);
    let mut found: Vec<Vec<String>> = Vec::new();
    let mut end = None;
    for (at, word) in words.iter().enumerate() {
        if !word.starts_with("--") || BARE.contains(&word.as_str()) || word.len() == 2 {
            continue;
        }
        if let Some(value) = words.get(at + 1) {
            let pair = [word.clone(), value.clone()];
            match found.last_mut() {
                Some(before) if end == Some(at) => before.extend(pair),
                _ => found.push(pair.to_vec()),
            }
            end = Some(at + 2);
        }
    }
    found.dedup();
    found
}

/// Words as a shell cuts them; the commas and brackets of a sentence are words of their own.
fn words(text: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let (mut quoted, mut escaped) = (false, false);
    for c in text.chars() {
        let last = words.last_mut().expect("there is always one");
        match c {
            _ if escaped => {
                last.push(c);
                escaped = false;
            }
            '\'' => quoted = !quoted,
            '\\' if !quoted => escaped = true,
            _ if quoted => last.push(c),
            ' ' | ',' | ';' | '(' | ')' | '`' => {
                if c != ' ' {
                    words.push(c.to_string());
                }
                words.push(String::new());
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
