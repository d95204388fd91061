//! Secrets in command lines, masked before anyone sees them: by the name of what they are given to
//! (`--token X`, `PGPASSWORD=X`, `"api_key": "X"`, `Authorization: Basic X`, `mysql -pX`), and by their look
//! (tokens of well-known services, keys in hexadecimal, passwords in URLs, what no person would type).
//! In doubt a value is masked; names, paths, revisions and what tells one job from another stay.

mod inside;
mod names;
mod programs;
mod shapes;

use std::ops::Range;

use inside::marked_text;
use names::{Holds, holds};
use programs::{Part, Place};
use shapes::{is_hex, is_path, is_random, is_suspicious, is_token};

const MASK: &str = "***";

/// Values that are no secret, whatever they are called.
const PLAIN: [&str; 12] = [
    "", "true", "false", "none", "null", "nil", "yes", "no", "on", "off", "auto", "***",
];
/// What stands before the hash of a commit or a container.
const OBJECTS: [&str; 18] = [
    "checkout",
    "reset",
    "--hard",
    "show",
    "exec",
    "logs",
    "inspect",
    "attach",
    "stop",
    "kill",
    "rm",
    "cherry-pick",
    "revert",
    "merge",
    "rebase",
    "-it",
    "-i",
    "origin",
];

/// Pieces of a text to be masked, and pieces whose look is no matter (hashes).
#[derive(Default)]
struct Marked {
    secret: Vec<Range<usize>>,
    exempt: Vec<Range<usize>>,
}

impl Marked {
    fn has(&self, place: usize) -> bool {
        let mut all = self.secret.iter().chain(&self.exempt);
        all.any(|range| range.contains(&place))
    }

    /// None where there is nothing to mask.
    fn apply(mut self, text: &str) -> Option<String> {
        self.secret.retain(|range| !range.is_empty());
        self.secret.sort_by_key(|range| range.start);
        let mut masked = String::with_capacity(text.len());
        let mut from = 0;
        for range in &self.secret {
            if range.start >= from {
                masked.push_str(&text[from..range.start]);
                masked.push_str(MASK);
            }
            from = from.max(range.end);
        }
        masked.push_str(&text[from..]);
        (!self.secret.is_empty()).then_some(masked)
    }
}

/// Masks what is secret in an argument list, in place.
pub fn arguments(argv: &mut [String]) {
    let words: Vec<&str> = argv.iter().map(String::as_str).collect();
    let masked = by_their_neighbours(&words)
        .into_iter()
        .zip(&words)
        .map(|(place, word)| {
            let mut marked = place.marked;
            if !place.known {
                let inner = marked_text(word, !place.script);
                marked.secret.extend(inner.secret);
            }
            marked.apply(word)
        });
    let masked: Vec<Option<String>> = masked.collect();
    for (argument, masked) in argv.iter_mut().zip(masked) {
        if let Some(masked) = masked {
            *argument = masked;
        }
    }
}

/// Masks secrets inside a text (a script, a value); `None` when there is none.
pub fn text(original: &str) -> Option<String> {
    marked_text(original, false).apply(original)
}

/// What a word is to those before it.
#[derive(Clone, Copy)]
enum Expected {
    Anything,
    Value(Holds),
    Part(Part),
    Script,
}

/// A word of an argument list or of a script.
#[derive(Default)]
struct Word {
    marked: Marked,
    /// What it is is known from the word before it: nobody need look inside.
    known: bool,
    /// The word before it says that it is a script.
    script: bool,
}

/// What words say of the next ones: options and their values.
fn by_their_neighbours(words: &[&str]) -> Vec<Word> {
    let mut programs = Vec::new();
    let mut expected = Expected::Anything;
    let mut all: Vec<Word> = Vec::with_capacity(words.len());
    for (nth, word) in words.iter().enumerate() {
        let mut this = Word::default();
        let marked = &mut this.marked;
        let before = nth.checked_sub(1).map(|before| words[before]);
        let object = before.is_some_and(|before| OBJECTS.contains(&before)) && is_hex(word);
        this.known = object
            || match expected {
                Expected::Value(holds) => value_of_an_option(word, holds, marked),
                Expected::Part(part) => {
                    marked.secret.extend(secret_part(word, 0, part));
                    !marked.secret.is_empty()
                }
                Expected::Anything | Expected::Script => false,
            };
        this.script = matches!(expected, Expected::Script);
        expected = Expected::Anything;
        if !this.known {
            programs.extend(programs::program(word));
            expected = follows(word, &mut programs, words, &mut this.marked);
        }
        all.push(this);
    }
    for place in programs::by_place(words) {
        all[place].marked.secret.push(0..words[place].len());
        all[place].known = true;
    }
    all
}

/// Whether the word was the value of the option before it.
fn value_of_an_option(word: &str, holds: Holds, marked: &mut Marked) -> bool {
    let letter = word.len() == 2 && word.starts_with('-');
    if word.starts_with("--") || letter {
        return false;
    }
    if holds == Holds::Hash {
        return !is_token(word) && !word.contains(char::is_whitespace);
    }
    if is_secret(word, holds) {
        marked.secret.push(0..word.len());
    }
    !marked.secret.is_empty()
}

/// What a word says of the next one; secrets of its own are marked.
fn follows<'a>(
    word: &'a str,
    known: &mut Vec<&'a str>,
    words: &[&str],
    marked: &mut Marked,
) -> Expected {
    let place = programs::secret_of(known, words, word);
    if matches!(
        place,
        Some(Place::Next(Part::Whole) | Place::Here(_, Part::Whole))
    ) {
        // `sshpass -p X ssh -p 22`: the next one is another program's.
        known.clear();
    }
    match place {
        Some(Place::Next(part)) => return Expected::Part(part),
        Some(Place::Here(from, part)) => marked.secret.extend(secret_part(word, from, part)),
        None => {}
    }
    if word.contains(['=', ':', ' ']) {
        return Expected::Anything;
    }
    let dashed = word.starts_with('-');
    // `sh -lc SCRIPT`, `python -c CODE`.
    if dashed && !word.starts_with("--") && word.ends_with('c') && word.len() <= 4 {
        return Expected::Script;
    }
    match holds(word) {
        Holds::Nothing => Expected::Anything,
        // `aws configure set aws_secret_access_key X`.
        holds if dashed || holds >= Holds::Secret && word.contains('_') => Expected::Value(holds),
        _ => Expected::Anything,
    }
}

fn secret_part(word: &str, from: usize, part: Part) -> Option<Range<usize>> {
    let start = match part {
        Part::Whole => from,
        Part::After(sign) => from + word[from..].find(sign)? + sign.len_utf8(),
    };
    let value = &word[start..];
    // `--user 1000:1000` are numbers of a user and a group.
    let number = part != Part::Whole && value.bytes().all(|byte| byte.is_ascii_digit());
    (!value.is_empty() && !number && !is_reference(value)).then_some(start..word.len())
}

/// Whether the value of something that is called like this is a secret.
fn is_secret(value: &str, holds: Holds) -> bool {
    let bare = value.trim_end_matches([')', ']', '}', ',']);
    if PLAIN.contains(&bare.to_lowercase().as_str()) || is_reference(value) {
        return false;
    }
    match holds {
        Holds::Mode => !bare.bytes().all(|byte| byte.is_ascii_lowercase()),
        Holds::Nothing => looks_secret(value),
        Holds::Hash => is_token(value),
        Holds::Perhaps => is_suspicious(value) && !is_path(value),
        // `/run/secrets/token` is where it stands, and `/x9` may be one.
        Holds::Secret => {
            !(value.starts_with(['/', '.', '~']) && value.len() > 5 && is_path(value))
                || is_random(value)
        }
        Holds::Header => true,
    }
}

fn looks_secret(word: &str) -> bool {
    let part = |part: &str| is_token(part);
    word.split(['/', '@', ':']).any(part) || !is_path(word) && (is_random(word) || is_hex(word))
}

/// `$TOKEN`, `${TOKEN}` and openssl's `file:…` say where it is.
fn is_reference(value: &str) -> bool {
    if ["file:", "env:", "fd:"]
        .iter()
        .any(|kind| value.starts_with(kind))
    {
        return true;
    }
    let Some(name) = value.strip_prefix('$') else {
        return false;
    };
    let name = name
        .strip_prefix('{')
        .and_then(|name| name.strip_suffix('}'))
        .unwrap_or(name);
    !name.is_empty() && name.chars().all(|c| c.is_ascii_uppercase() || c == '_')
}

#[cfg(test)]
mod tests;
