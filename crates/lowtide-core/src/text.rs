//! Text that has to fit, and text of outside on its way to a terminal.
//!
//! Command lines, names of processes, paths, events and what an error quotes are written by others, and a
//! terminal obeys what it is sent: it can be cleared, renamed, or made to show words of ours that we never
//! said. So outside text is turned into plain characters here, and nowhere else. [`shown`] is for one field,
//! which is one line; [`for_terminal`] is the last door, through which whole texts of ours go.

use std::borrow::Cow;
use std::fmt::Write;

/// At most `width` characters; what is cut shows as `…`.
pub fn short(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    let kept: String = text.chars().take(width.saturating_sub(1)).collect();
    format!("{kept}…")
}

/// Text of outside as one line of characters that can be seen: `a\nb` for a line break between a and b.
pub fn shown(text: &str) -> Cow<'_, str> {
    if !text.contains(is_unseen) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    text.chars().for_each(|c| push_shown(&mut out, c));
    Cow::Owned(out)
}

/// The colours that our own views use. What ends a colour is the first.
pub const COLOURS: [&str; 6] = [
    "\x1b[0m",
    "\x1b[1m",
    "\x1b[2m",
    "\x1b[33m",
    "\x1b[34m",
    "\x1b[1;33m",
];

/// A whole text of ours, with its lines and its colours: the last door before a terminal. Nothing else that
/// a terminal would obey gets through, wherever it came in.
pub fn for_terminal(text: &str) -> Cow<'_, str> {
    if !text.contains(|c| c != '\n' && is_unseen(c)) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        if let Some(colour) = COLOURS.iter().find(|colour| rest.starts_with(**colour)) {
            out.push_str(colour);
            rest = &rest[colour.len()..];
            continue;
        }
        match c {
            '\n' => out.push(c),
            c => push_shown(&mut out, c),
        }
        rest = &rest[c.len_utf8()..];
    }
    Cow::Owned(out)
}

/// The same JSON, in which no character is left that a terminal would obey. JSON's own signs are ASCII, so what
/// is none of these stands within a string, where an escape means the same.
pub fn json_for_terminal(json: &str) -> Cow<'_, str> {
    let unsafe_there = |c: char| c >= '\x7f' && is_unseen(c);
    if !json.contains(unsafe_there) {
        return Cow::Borrowed(json);
    }
    let mut out = String::with_capacity(json.len() + 16);
    for c in json.chars() {
        if unsafe_there(c) {
            for unit in c.encode_utf16(&mut [0; 2]) {
                // Writing into a string cannot fail.
                let _ = write!(out, "\\u{unit:04x}");
            }
        } else {
            out.push(c);
        }
    }
    Cow::Owned(out)
}

fn push_shown(out: &mut String, c: char) {
    let _ = match c {
        '\n' => write!(out, "\\n"),
        '\r' => write!(out, "\\r"),
        '\t' => write!(out, "\\t"),
        c if is_unseen(c) && c.is_ascii() => write!(out, "\\x{:02x}", c as u32),
        c if is_unseen(c) => write!(out, "\\u{{{:x}}}", c as u32),
        c => write!(out, "{c}"),
    };
}

/// What a terminal obeys or does not show: control characters (also those above ASCII, which xterm takes for the
/// beginning of a command), line separators, what turns the direction of writing, what has no width. These are
/// Unicode's Cc, Zl, Zp and Cf, and of the other invisible ones those that fill a place. Selectors of a variant
/// (FE00 to FE0F) stay: signs like `⚠️` need them, and they do nothing alone.
pub fn is_unseen(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{34f}' | '\u{600}'..='\u{605}' | '\u{61c}' | '\u{6dd}' | '\u{70f}'
            | '\u{890}'..='\u{891}' | '\u{8e2}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
            | '\u{110bd}' | '\u{110cd}' | '\u{13430}'..='\u{1345f}' | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const HOSTILE: &str = "a\n\x1b]0;t\x07\x1b[2J\u{202e}\u{9b}31m\u{2028}é⚠️\x7f";

    #[test]
    fn a_field_is_one_line_that_can_be_seen() {
        assert_eq!(
            shown(HOSTILE),
            r"a\n\x1b]0;t\x07\x1b[2J\u{202e}\u{9b}31m\u{2028}é⚠️\x7f"
        );
        assert!(matches!(shown("python train.py é⚠️"), Cow::Borrowed(_)));
        assert_eq!(short(&shown("\n\n\n"), 4), r"\n\…");
    }

    #[test]
    fn lines_and_colours_of_ours_pass_the_door() {
        let ours = "one\n\x1b[1;33mtwo\x1b[0m\n";
        assert_eq!(for_terminal(ours), ours);
        assert_eq!(for_terminal("a\tb\x1b[31m\r"), r"a\tb\x1b[31m\r");
        assert_eq!(for_terminal("\x1b[1\x1b[2m"), "\\x1b[1\x1b[2m");
    }

    fn any_text() -> impl Strategy<Value = String> {
        // Characters of every kind are rarer than those that hurt.
        let pieces = prop_oneof![
            any::<char>().prop_map(String::from),
            (0u32..0x2100).prop_map(|n| char::from_u32(n).unwrap_or('x').to_string()),
            prop::sample::select(&COLOURS[..]).prop_map(str::to_owned),
            Just("\x1b[".to_owned()),
            Just("m".to_owned()),
        ];
        prop::collection::vec(pieces, 0..40).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #[test]
        fn nothing_unseen_is_left(text in any_text()) {
            prop_assert!(!shown(&text).contains(is_unseen));
            let mut left = for_terminal(&text).into_owned();
            for colour in COLOURS {
                left = left.replace(colour, "");
            }
            prop_assert!(!left.contains(|c| c != '\n' && is_unseen(c)), "{left:?}");
            // Twice is once.
            let (line, lines) = (shown(&text), for_terminal(&text));
            prop_assert_eq!(shown(&line), line.as_ref());
            prop_assert_eq!(for_terminal(&lines), lines.as_ref());
        }

        #[test]
        fn what_can_be_seen_stays(text in "[ -~à-ÿ中-文]{0,40}") {
            prop_assert_eq!(shown(&text), text.as_str());
            prop_assert_eq!(for_terminal(&text), text.as_str());
        }

        #[test]
        fn json_says_the_same(text in any_text()) {
            let json = serde_json::to_string(&[&text]).unwrap();
            let safe = json_for_terminal(&json);
            prop_assert!(!safe.contains(is_unseen), "{safe:?}");
            prop_assert_eq!(serde_json::from_str::<[String; 1]>(&safe).unwrap(), [text]);
        }
    }
}
