//! `lowtide help words`: what the words in all answers mean. The page has the same list (web/glossary.js).

use std::collections::BTreeMap;
use std::ffi::OsString;

use crate::show::page::GLOSSARY;
use crate::show::style::{Paint, Style};
use crate::show::text::wrapped;

/// What `help words` prints, if that is what was asked for; words behind it choose among them.
pub(super) fn asked_for(arguments: &[OsString], style: Style) -> Option<Result<String, String>> {
    let words: Vec<String> = arguments
        .iter()
        .map(|word| word.to_string_lossy().to_lowercase())
        .collect();
    let [help, topic, wanted @ ..] = words.as_slice() else {
        return None;
    };
    (help == "help" && topic == "words").then(|| explained(&wanted.join(" "), style))
}

fn explained(wanted: &str, style: Style) -> Result<String, String> {
    let glossary = glossary();
    let is_meant = |word: &str| word.contains(wanted) || wanted.trim_end_matches('s') == word;
    let mut out = String::new();
    for (word, says) in glossary.iter().filter(|(word, _)| is_meant(word)) {
        out.push_str(&style.paint(Paint::Bold, word));
        out.push('\n');
        out.push_str(&wrapped(says, "  ", style.width));
    }
    if out.is_empty() {
        let known: Vec<&str> = glossary.keys().map(String::as_str).collect();
        return Err(format!(
            "`{wanted}` is not among the words: {}",
            known.join(", ")
        ));
    }
    Ok(out)
}

/// The object between the braces of the page's module.
fn glossary() -> BTreeMap<String, String> {
    let object = GLOSSARY
        .split_once("(\n{")
        .and_then(|(_, rest)| rest.rsplit_once('}'));
    let words = object.map(|(inside, _)| serde_json::from_str(&format!("{{{inside}}}")));
    // A test reads it: what is in the binary can be read.
    words.and_then(Result::ok).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(words: &str) -> Option<Result<String, String>> {
        let words: Vec<OsString> = words.split_whitespace().map(OsString::from).collect();
        asked_for(&words, Style::PLAIN)
    }

    #[test]
    fn every_word_of_a_verdict_is_explained_in_a_line_or_two() {
        let words = glossary();
        for word in [
            "confidence",
            "floor",
            "start-up",
            "held",
            "driver",
            "look",
            "creeps",
            "plateau",
            "outlook",
            "settled",
            "excursion",
            "warm-up",
            "held by others",
            "tree",
            "trainer",
            "mark",
            "leak",
            "growing",
            "census",
            "holder",
            "spikes",
            "stable",
            "too early",
        ] {
            assert!(words.contains_key(word), "{word}");
        }
        for (word, says) in &words {
            assert!(says.ends_with('.') && says.len() < 200, "{word}: {says}");
        }
    }

    #[test]
    fn all_words_or_the_one_that_is_wanted() {
        let all = asked("help words").unwrap().unwrap();
        assert!(all.starts_with("census\n  A look at every object"), "{all}");
        let one = asked("help words Floor").unwrap().unwrap();
        assert!(
            one.starts_with("floor\n  The lowest") && !one.contains("warm-up\n"),
            "{one}"
        );
        assert!(
            asked("help words tides")
                .unwrap()
                .unwrap_err()
                .contains("floor")
        );
        assert!(asked("help judge").is_none() && asked("words").is_none() && asked("").is_none());
    }
}
