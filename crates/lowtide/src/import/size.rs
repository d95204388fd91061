//! Sizes inside a line of text, each with the words that say what it is.

use lowtide_core::units::unit_factor;

use super::header::words;

/// A number that is, or may be, an amount of memory.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Size {
    pub value: f64,
    /// Bytes per unit, when a unit follows.
    pub factor: Option<f64>,
    /// The words since the previous number.
    pub near: Vec<String>,
    /// The words since the previous size.
    pub far: Vec<String>,
}

/// How many words before a number can say what it is.
const WORDS: usize = 6;

/// Words before a number that is a change, not a level.
const CHANGES: [&str; 9] = [
    "delta",
    "diff",
    "grew",
    "growth",
    "increase",
    "increased",
    "change",
    "changed",
    "leaked",
];

/// A whole text that is a number, perhaps with a unit: `5,552 MB` -> (5552, Some(1e6)).
pub(super) fn parse(text: &str) -> Option<(f64, Option<f64>)> {
    let text = text.trim();
    let (value, len) = number(text.as_bytes())?;
    let rest = text[len..].trim();
    if rest.is_empty() {
        return Some((value, None));
    }
    Some((value, Some(unit_factor(rest)?)))
}

/// Every number of a line that has a unit of size, or no unit but words before it.
pub(super) fn sizes(line: &str) -> Vec<Size> {
    if let Some(size) = free(line) {
        return vec![size];
    }
    let bytes = line.as_bytes();
    let mut found = Vec::new();
    let (mut near_from, mut far_from, mut at) = (0, 0, 0);
    while at < bytes.len() {
        let starts = bytes[at].is_ascii_digit()
            && (at == 0
                || !(bytes[at - 1].is_ascii_alphanumeric()
                    || matches!(bytes[at - 1], b'.' | b'_')));
        let Some((value, len)) = starts.then(|| number(&bytes[at..])).flatten() else {
            at += 1;
            continue;
        };
        let end = at + len;
        let (unit, after) = unit_at(line, end);
        let whole = unit.is_none().then(|| of_a_whole(line, end)).flatten();
        let (factor, after) = match (unit, whole) {
            (Some(factor), _) => (Some(factor), after),
            (None, Some((factor, after))) => (Some(factor), after),
            (None, None) => (None, after),
        };
        let is_rate = factor.is_some() && line[after..].trim_start().starts_with('/') && {
            let behind = line[after..].trim_start()[1..].trim_start();
            behind.starts_with(|c: char| c.is_alphabetic())
        };
        let sign = line[..at].chars().next_back();
        let near_text = &line[near_from..at];
        let near = last_words(near_text);
        let change = matches!(sign, Some('+'))
            || (sign == Some('-') && near_text.ends_with(" -"))
            || near.iter().any(|w| CHANGES.contains(&w.as_str()));
        let percent = line[end..].trim_start().starts_with('%');
        let total = near_text.trim() == "/" && factor.is_some();
        let glued =
            factor.is_none() && line[end..].starts_with(|c: char| c.is_alphabetic() || c == ':');
        if !is_rate && !change && !percent && !total && !glued {
            found.push(Size {
                value,
                factor,
                near,
                far: last_words(&line[far_from..at]),
            });
        }
        at = after.max(end);
        near_from = at;
        if factor.is_some() {
            // `1234MiB / 15360MiB`: the second is the whole.
            far_from = at;
        }
    }
    found
}

fn last_words(text: &str) -> Vec<String> {
    let mut words = words(text);
    words.retain(|w| !w.starts_with(|c: char| c.is_ascii_digit()));
    words.drain(..words.len().saturating_sub(WORDS));
    words
}

/// Digits with thousands separators and a fraction, and their length.
fn number(bytes: &[u8]) -> Option<(f64, usize)> {
    let digits = |from: usize| {
        bytes[from.min(bytes.len())..]
            .iter()
            .take_while(|b| b.is_ascii_digit())
            .count()
    };
    let mut end = digits(0);
    if end == 0 {
        return None;
    }
    if end <= 3 {
        while bytes.get(end) == Some(&b',') && digits(end + 1) == 3 {
            end += 4;
        }
    }
    if bytes.get(end) == Some(&b'.') && digits(end + 1) > 0 {
        end += 1 + digits(end + 1);
    }
    let text: String = bytes[..end]
        .iter()
        .filter(|b| **b != b',')
        .map(|b| char::from(*b))
        .collect();
    Some((text.parse().ok()?, end))
}

/// A unit behind a number, with at most one blank between, and where it ends.
fn unit_at(line: &str, end: usize) -> (Option<f64>, usize) {
    let rest = &line[end..];
    let blank = rest.starts_with(' ');
    let word_at = usize::from(blank);
    let len = rest[word_at..]
        .find(|c: char| !c.is_ascii_alphabetic())
        .unwrap_or(rest.len() - word_at);
    let word = &rest[word_at..word_at + len];
    let known = match word.len() {
        0 => false,
        // `5.4G` is a size, `5 m` and `30 s` are not.
        1 => !blank && matches!(word, "K" | "M" | "G" | "T"),
        2 if word.ends_with('i') => !blank,
        _ => true,
    };
    match known.then(|| unit_factor(word)).flatten() {
        Some(factor) => (Some(factor), end + word_at + len),
        None => (None, end),
    }
}

/// `5.4/32.0 GB`: the unit behind the whole is the part's too.
fn of_a_whole(line: &str, end: usize) -> Option<(f64, usize)> {
    let rest = &line[end..];
    let after = rest.trim_start().strip_prefix('/')?.trim_start();
    let at = end + (rest.len() - after.len());
    let (_, len) = number(after.as_bytes())?;
    let (factor, end) = unit_at(line, at + len);
    Some((factor?, end))
}

/// The `Mem:` line of `free`: total, used, … in a unit that its flag chose and the line does not say.
fn free(line: &str) -> Option<Size> {
    let rest = line.trim_start().strip_prefix("Mem:")?;
    let cells: Vec<(f64, Option<f64>)> = rest.split_whitespace().map_while(parse).collect();
    let [(total, _), (used, unit), _, ..] = cells.as_slice() else {
        return None;
    };
    const KIB: f64 = 1024.0;
    // By the machine's size: from 512 MiB to some TiB only one of the flags fits.
    let factor = unit.unwrap_or(match *total {
        t if t < 512.0 => KIB * KIB * KIB,
        t if t < 5e6 => KIB * KIB,
        t if t < 5e9 => KIB,
        _ => 1.0,
    });
    let near = vec!["mem".to_owned(), "used".to_owned()];
    Some(Size {
        value: *used,
        factor: Some(factor),
        far: near.clone(),
        near,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn found(line: &str) -> Vec<(f64, Option<f64>, String)> {
        sizes(line)
            .into_iter()
            .map(|s| (s.value, s.factor, s.near.join(" ")))
            .collect()
    }

    #[test]
    fn sizes_with_their_words() {
        assert_eq!(
            found("Step 10: 6529 tensors (12.1 GB), RAM: 5,552 MB"),
            [
                (6529.0, None, "".into()),
                (12.1, Some(1e9), "tensors".into()),
                (5552.0, Some(1e6), "ram".into()),
            ]
        );
        assert_eq!(found("RAM: 5.4/32.0 GB"), [(5.4, Some(1e9), "ram".into())]);
        assert_eq!(
            found("| 1234MiB / 15360MiB |"),
            [(1234.0, Some(1_048_576.0), "".into())]
        );
        assert_eq!(found("reading at 120 MB/s"), []);
        assert_eq!(found("grew +12 MB"), []);
        assert_eq!(found("took 3m 20s, 45 %"), []);
        assert_eq!(
            found("rss=123456789"),
            [(123_456_789.0, None, "rss".into())]
        );
        assert_eq!(
            found("Mem:  64219  5552  1000  12  300  58000"),
            [(5552.0, Some(1_048_576.0), "mem used".into())]
        );
        assert_eq!(
            found("Mem:  62Gi  5.4Gi  1Gi"),
            [(5.4, Some(1024f64.powi(3)), "mem used".into())]
        );
        assert_eq!(parse("5,552 MB"), Some((5552.0, Some(1e6))));
        assert_eq!(parse("12 parsecs"), None);
    }
}
