//! Secrets inside one text, whatever language it is written in: assignments, headers, URLs, calls, key blocks,
//! the words of a shell, and what is a secret by its look.

use std::ops::Range;

use super::names::{Holds, holds};
use super::shapes::{is_path, is_token};
use super::{Marked, by_their_neighbours, is_reference, is_secret, looks_secret};

/// What an `Authorization` header may begin with.
const SCHEMES: [&str; 7] = [
    "basic",
    "bearer",
    "token",
    "digest",
    "negotiate",
    "apikey",
    "aws4-hmac-sha256",
];
/// Calls whose first text is a secret, beside those whose name says so: `wandb.login("…")`.
const LOGINS: [&str; 4] = ["login", "authenticate", "authorize", "signin"];
/// Hosts whose paths are secrets.
const WEBHOOKS: [&str; 4] = [
    "hooks.slack.com/",
    "discord.com/api/webhooks/",
    "webhook.office.com/",
    "api.telegram.org/bot",
];
const KEY_BLOCK: (&str, &str) = ("-----BEGIN", "-----END");

/// `whole`: it is one argument, so that what begins with `--password=` is a password to its end.
pub(super) fn marked_text(text: &str, whole: bool) -> Marked {
    let mut marked = Marked::default();
    key_blocks(text, &mut marked);
    urls(text, &mut marked);
    assignments(text, whole, &mut marked);
    calls(text, &mut marked);
    if text.contains(char::is_whitespace) {
        shell_words(text, &mut marked);
    }
    piped(text, &mut marked);
    typed(text, &mut marked);
    looks(text, &mut marked);
    marked
}

/// `echo X | docker login --password-stdin`.
fn piped(text: &str, marked: &mut Marked) {
    let sinks = ["password-stdin", "token-stdin", "sudo -S", "passwd --stdin"];
    if !sinks.iter().any(|sink| text.contains(sink)) {
        return;
    }
    for (at, echo) in text
        .match_indices("echo ")
        .chain(text.match_indices("printf "))
    {
        let rest = &text[at + echo.len()..];
        let start = text.len() - rest.trim_start_matches("-n ").len();
        let plain = start..start + text[start..].find([' ', '|']).unwrap_or(text.len() - start);
        marked.secret.push(quoted(text, start).unwrap_or(plain));
    }
}

/// What expect types for somebody: `spawn ssh host; expect "word:"; send "X\r"`. Most of it answers such a question.
fn typed(text: &str, marked: &mut Marked) {
    if !text.contains("spawn ") && !text.contains("expect ") {
        return;
    }
    let of_word = |c: char| c.is_alphanumeric() || c == '_';
    for (at, send) in text.match_indices("send ") {
        if text[..at].ends_with(of_word) {
            continue;
        }
        let mut rest = text[at + send.len()..].trim_start();
        // `send -- "X"`, `send -h "X"`.
        while let Some((_, after)) =
            (rest.split_once(' ')).filter(|(option, _)| option.starts_with('-'))
        {
            rest = after.trim_start();
        }
        let start = text.len() - rest.len();
        let plain = start..start + rest.find([' ', ';', '\n']).unwrap_or(rest.len());
        let braced = rest
            .starts_with('{')
            .then(|| start + 1..start + rest.find('}').unwrap_or(rest.len()));
        let value = quoted(text, start).or(braced).unwrap_or(plain);
        if !is_reference(&text[value.clone()]) {
            marked.secret.push(value);
        }
    }
}

fn key_blocks(text: &str, marked: &mut Marked) {
    let (begin, end) = KEY_BLOCK;
    let mut from = 0;
    while let Some(start) = text[from..].find(begin).map(|at| from + at) {
        let inner = start + begin.len();
        let close = text[inner..].find(end).map(|at| inner + at + end.len());
        let until = close.map_or(text.len(), |close| {
            let rest = text[close..].find("-----");
            rest.map_or(text.len(), |rest| close + rest + 5)
        });
        marked.secret.push(start..until);
        from = until;
    }
}

/// `scheme://user:password@host`: the password goes, the rest stays.
fn urls(text: &str, marked: &mut Marked) {
    for (at, _) in text.match_indices("://") {
        let begin = at + 3;
        let ends = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '<' | '>' | '`');
        let end = text[begin..]
            .find(ends)
            .map_or(text.len(), |end| begin + end);
        let rest = &text[begin..end];
        if let Some(hook) = WEBHOOKS
            .iter()
            .find_map(|hook| Some(rest.find(hook)? + hook.len()))
        {
            marked.secret.push(begin + hook..end);
            continue;
        }
        let host = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let Some(user_end) = rest[..host]
            .rfind('@')
            .or_else(|| slash_in_password(rest, host))
        else {
            continue;
        };
        let secret = rest[..user_end].find(':').map_or(0, |colon| colon + 1);
        let web = text[..at].ends_with("http") || text[..at].ends_with("https");
        // `ssh://git@host` and `s3://bucket@region` have a name there; behind http it is a token.
        if secret > 0 || web && &rest[..user_end] != "git" {
            let value = &rest[secret..user_end];
            if !is_reference(value) {
                marked.secret.push(begin + secret..begin + user_end);
            }
        }
    }
}

/// The end of `user:pass/word` before `@host`; a port is no password.
fn slash_in_password(rest: &str, host: usize) -> Option<usize> {
    let (_, tail) = rest[..host].split_once(':')?;
    let port = tail.bytes().all(|byte| byte.is_ascii_digit());
    rest.rfind('@').filter(|_| !port && !tail.is_empty())
}

/// Every `name = value` and `name: value`, in whatever language, and `'name', 'value'` of a list of them.
fn assignments(text: &str, whole: bool, marked: &mut Marked) {
    let mut from = 0;
    while let Some(sign) = text[from..].find(['=', ':', ',']).map(|at| from + at) {
        from = sign + 1;
        let in_a_list = text.as_bytes()[sign] == b',';
        let rest = text[from..].trim_start_matches(' ');
        if in_a_list && !(text[..sign].ends_with(['"', '\'']) && rest.starts_with(['"', '\''])) {
            continue;
        }
        let Some(name) = name_before(text, sign) else {
            continue;
        };
        let holds = holds(&text[name.clone()]);
        if holds == Holds::Nothing || marked.has(name.start) {
            continue;
        }
        let leads = whole
            && text[..name.start].chars().all(|c| c == '-' || c == '+')
            && text.as_bytes()[sign] == b'=';
        let Some(value) = value_after(text, sign, holds, leads, name.start) else {
            continue;
        };
        if marked.has(value.start) {
            // A password in a URL, whose host stays.
            continue;
        }
        if holds == Holds::Hash {
            let end = text[value.clone()].find(',');
            let end = end.map_or(value.end, |end| value.start + end);
            marked.exempt.push(value.start..end);
        } else if is_secret(&text[value.clone()], holds) {
            from = from.max(value.end);
            marked.secret.push(value);
        }
    }
}

/// The name that a sign stands behind, without the quotes, brackets and spaces between them.
fn name_before(text: &str, sign: usize) -> Option<Range<usize>> {
    let between = |c: char| matches!(c, ' ' | '"' | '\'' | ']' | '\\' | ':' | '=' | '!');
    let end = text[..sign].trim_end_matches(between).len();
    let of_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
    let start = text[..end].trim_end_matches(of_name).len();
    (start < end).then_some(start..end)
}

fn value_after(
    text: &str,
    sign: usize,
    holds: Holds,
    leads: bool,
    name: usize,
) -> Option<Range<usize>> {
    let start = sign + 1 + text[sign + 1..].len() - text[sign + 1..].trim_start_matches('=').len();
    let spaced = start + text[start..].len() - text[start..].trim_start_matches(' ').len();
    if text[spaced..].starts_with("//") && text.as_bytes()[sign] == b':' {
        return None;
    }
    if holds == Holds::Header {
        return Some(header(text, spaced, name));
    }
    if leads {
        return Some(start..text.len());
    }
    if let Some(quoted) = quoted(text, spaced) {
        return Some(quoted);
    }
    // A shell's `A= B` gives A nothing.
    let apart = text.as_bytes()[sign] == b':' || text[..sign].ends_with(' ');
    let start = if apart { spaced } else { start };
    // `auth=("me", "X")`, `auth: {…}`.
    for (open, close) in [('{', '}'), ('(', ')')] {
        if holds > Holds::Perhaps && text[start..].starts_with(open) {
            let end = text[start..].find(close);
            return Some(start..end.map_or(text.len(), |end| start + end + 1));
        }
    }
    let ends = |c: char| c.is_whitespace() || "\"'&;|`<>".contains(c);
    let end = text[start..].find(ends);
    let end = end.map_or(text.len(), |end| start + end);
    Some(start..start + until_next_name(&text[start..end]))
}

/// Where a value ends that has another `name=…` behind a comma: `password=X,uid=1000`. Other commas are its own.
fn until_next_name(value: &str) -> usize {
    let named = |rest: &str| {
        let name = rest.split('=').next().unwrap_or_default();
        let of_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-');
        name.len() < rest.len() && !name.is_empty() && name.chars().all(of_name)
    };
    let mut commas = value.match_indices(',');
    let end = commas.find(|(at, _)| named(&value[at + 1..]));
    end.map_or(value.len(), |(at, _)| at)
}

/// The inside of a quoted text that begins here, also where the quotes are escaped (`\"`) or have a letter
/// before them (`r"…"`).
fn quoted(text: &str, at: usize) -> Option<Range<usize>> {
    let rest = &text[at..];
    let rest = rest
        .strip_prefix(['r', 'b', 'f', 'u'])
        .filter(|rest| rest.starts_with(['"', '\'']))
        .unwrap_or(rest);
    let open = ["\\\"", "\\'", "\"\"\"", "\"", "'"]
        .into_iter()
        .find(|open| rest.starts_with(open))?;
    let start = text.len() - rest.len() + open.len();
    let mut from = start;
    loop {
        let Some(end) = text[from..].find(open).map(|end| from + end) else {
            return Some(start..text.len());
        };
        let escaped = open.len() == 1 && text[start..end].ends_with('\\');
        if !escaped {
            return Some(start..end);
        }
        from = end + open.len();
    }
}

/// The rest of a header, without its scheme, up to the end of its quotes or line.
fn header(text: &str, at: usize, name: usize) -> Range<usize> {
    let (value, before) = (quoted(text, at), text[..name].chars().next_back());
    let at = value.as_ref().map_or(at, |value| value.start);
    let end = match (&value, before) {
        (Some(value), _) => value.end - at,
        (None, Some(quote @ ('"' | '\''))) => {
            text[at..].find([quote, '\n']).unwrap_or(text.len() - at)
        }
        (None, _) => text[at..].find('\n').unwrap_or(text.len() - at),
    };
    let scheme = text[at..at + end].split(' ').next().unwrap_or_default();
    let known = SCHEMES.contains(&scheme.to_lowercase().as_str()) && scheme.len() < end;
    let skip = if known { scheme.len() + 1 } else { 0 };
    at + skip..at + end
}

/// `login("…")`, `set_token('…')`.
fn calls(text: &str, marked: &mut Marked) {
    for (open, _) in text.match_indices('(') {
        let Some(name) = name_before(text, open).filter(|name| name.end == open) else {
            continue;
        };
        let name = &text[name];
        let last = name.rsplit(['.', '_']).next().unwrap_or_default();
        if holds(name) < Holds::Secret && !LOGINS.contains(&last.to_lowercase().as_str()) {
            continue;
        }
        if let Some(value) =
            quoted(text, open + 1).filter(|value| is_secret(&text[value.clone()], Holds::Secret))
        {
            marked.secret.push(value);
        }
    }
}

/// The words of a script, as a shell would part them: options and their values are those of an argument list.
fn shell_words(text: &str, marked: &mut Marked) {
    let mut words: Vec<Range<usize>> = Vec::new();
    let mut at = 0;
    while at < text.len() {
        let rest = &text[at..];
        let skipped = rest.len()
            - rest
                .trim_start_matches(|c: char| c.is_whitespace() || matches!(c, ';' | '|' | '('))
                .len();
        if skipped > 0 {
            at += skipped;
            continue;
        }
        let word = match quoted(text, at).filter(|_| rest.starts_with(['"', '\''])) {
            Some(inner) => inner,
            None => {
                at..at
                    + rest
                        .find(|c: char| c.is_whitespace() || matches!(c, ';' | '|'))
                        .unwrap_or(rest.len())
            }
        };
        at = word.end.max(at)
            + usize::from(rest.starts_with(['"', '\''])).min(text.len() - word.end);
        words.push(word);
    }
    if words.len() < 2 {
        return;
    }
    let pieces: Vec<&str> = words.iter().map(|range| &text[range.clone()]).collect();
    for (place, range) in by_their_neighbours(&pieces).into_iter().zip(words) {
        if place.known && place.marked.secret.is_empty() {
            marked.exempt.push(range.clone());
        }
        let moved = |own: Range<usize>| range.start + own.start..range.start + own.end;
        marked
            .secret
            .extend(place.marked.secret.into_iter().map(moved));
    }
}

/// Words that are secrets by their look, wherever they stand.
fn looks(text: &str, marked: &mut Marked) {
    for word in parted(text, 0..text.len(), |c| {
        c.is_whitespace() || "\"',;()[]{}<>|&?`\\".contains(c)
    }) {
        let whole = &text[word.clone()];
        for piece in parted(text, word.clone(), |c| matches!(c, '=' | ':')) {
            let before = &text[..piece.start];
            let hash = ["sha256:", "sha1:", "md5:"]
                .iter()
                .any(|kind| before.ends_with(kind));
            if hash || marked.has(piece.start) {
                continue;
            }
            let leads_somewhere =
                is_path(whole) || whole.contains("://") && piece.start > word.start;
            if !leads_somewhere && looks_secret(&text[piece.clone()]) {
                marked.secret.push(piece);
                continue;
            }
            // In a path or an address only the token itself goes.
            for part in parted(text, piece, |c| matches!(c, '/' | '@')) {
                if is_token(&text[part.clone()]) && !marked.has(part.start) {
                    marked.secret.push(part);
                }
            }
        }
    }
}

/// The pieces of a part of the text between separators, but for empty ones.
fn parted(text: &str, within: Range<usize>, separates: impl Fn(char) -> bool) -> Vec<Range<usize>> {
    let mut pieces = Vec::new();
    let mut start = within.start;
    for (at, c) in text[within.clone()]
        .char_indices()
        .filter(|(_, c)| separates(*c))
    {
        pieces.push(start..within.start + at);
        start = within.start + at + c.len_utf8();
    }
    pieces.push(start..within.end);
    pieces.retain(|piece| !piece.is_empty());
    pieces
}
