//! Sizes inside a line of text, each with the words that say what it is.

use std::ops::Range;

use lowtide_core::units::unit_factor;

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
    /// The words behind a size with a unit, where they are not the name of the next number: `5 GB of RAM`.
    pub behind: Vec<String>,
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

fn is_change(word: &str) -> bool {
    // Most words have another beginning.
    word.starts_with(['d', 'g', 'i', 'c', 'l']) && CHANGES.contains(&word)
}

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

/// Calls for every number of a line that has a unit of size, or no unit but words before it. Each byte of
/// the line is looked at a few times, however many numbers there are.
pub(super) fn each_size(line: &str, words: &mut Words, mut each: impl FnMut(&Found<'_>)) {
    words.clear();
    if let Some((value, factor)) = free(line) {
        words.take("mem used", false);
        return each(&Found {
            value,
            digits: 0..0,
            factor: Some(factor),
            words,
            near: 0,
            far: 0,
            behind: "",
        });
    }
    let bytes = line.as_bytes();
    // Where the text begins that may name the next number, and the words since the last size.
    let (mut near_from, mut far, mut at) = (0, 0, 0);
    let mut behind_number = false;
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
        // A comma ends what was said of the number before: `500 MB RAM, loss 0.3`.
        let clause = near_text
            .rfind([',', ';', '|'])
            .map_or(0, |comma| comma + 1);
        words.take(&near_text[..clause], behind_number);
        let near = words.len();
        words.take(&near_text[clause..], behind_number && clause == 0);
        let change = matches!(sign, Some('+'))
            || (sign == Some('-') && near_text.ends_with(" -"))
            || words.last(near, false).any(is_change);
        let percent = line[end..].trim_start().starts_with('%');
        let total = near_text.trim() == "/" && factor.is_some();
        let glued =
            factor.is_none() && line[end..].starts_with(|c: char| c.is_alphabetic() || c == ':');
        let count = factor.is_none() && is_count(&line[end..]);
        let bar = whole.is_some() || unit.is_some() && line[after..].starts_with('/');
        let bar = bar && is_bar(&line[after..]);
        if !is_rate && !change && !percent && !total && !glued && !count && !bar {
            each(&Found {
                value,
                digits: at..end,
                factor,
                words,
                near,
                far,
                behind: if factor.is_some() {
                    behind(&line[after..])
                } else {
                    ""
                },
            });
        }
        at = after.max(end);
        near_from = at;
        behind_number = factor.is_none();
        if factor.is_some() {
            // `1234MiB / 15360MiB`: the second is the whole.
            far = words.len();
        }
    }
}

/// A size in a line, and the words of the line so far.
pub(super) struct Found<'w> {
    pub value: f64,
    /// Where it stands in the line; empty where [`is_free`].
    pub digits: Range<usize>,
    pub factor: Option<f64>,
    words: &'w Words,
    near: usize,
    far: usize,
    behind: &'w str,
}

impl Found<'_> {
    /// The words since the previous number.
    pub(super) fn near(&self) -> impl Iterator<Item = &str> {
        self.words.last(self.near, false)
    }

    /// The words since the previous size.
    pub(super) fn far(&self) -> impl Iterator<Item = &str> {
        self.words.last(self.far, true)
    }

    /// The text behind it that may name it.
    pub(super) fn behind(&self) -> &str {
        self.behind
    }

    pub(super) fn owned(&self) -> Size {
        let owned = |words: &mut dyn Iterator<Item = &str>| words.map(str::to_owned).collect();
        Size {
            value: self.value,
            factor: self.factor,
            near: owned(&mut self.near()),
            far: owned(&mut self.far()),
            behind: super::header::words(self.behind),
        }
    }
}

/// `512 tensors` counts things, `512 loss 0.3` and `512, loss` do not.
fn is_count(rest: &str) -> bool {
    let Some(word) = rest.strip_prefix(' ') else {
        return false;
    };
    let end = word
        .find(|c: char| !c.is_alphabetic())
        .unwrap_or(word.len());
    let after = word[end..].trim_start_matches(['s', '_', ' ']);
    end > 1 && !after.starts_with(|c: char| c.is_ascii_digit() || matches!(c, ':' | '=' | '['))
}

/// `3.1M/10.0M [00:05<00:10, 1.2MB/s]`: what follows the first size is the end of a bar that counts bytes.
fn is_bar(rest: &str) -> bool {
    let Some(open) = rest.find('[') else {
        return false;
    };
    // Between them stands at most the whole.
    const WHOLE: usize = 16;
    open <= WHOLE && rest[open + 1..].starts_with(|c: char| c.is_ascii_digit() || c == '?')
}

/// The text behind a size, up to the next mark of a sentence, if no number follows.
fn behind(rest: &str) -> &str {
    let marks = |c: char| matches!(c, ',' | ';' | '|' | '(' | ')' | '[' | ']' | '/' | ':' | '=');
    let end = rest.find(|c| marks(c) || c.is_ascii_digit());
    match end {
        // It names what follows.
        Some(end) if rest[end..].starts_with([':', '=']) => "",
        Some(end) if rest[end..].starts_with(|c: char| c.is_ascii_digit()) => "",
        Some(end) => &rest[..end],
        None => rest,
    }
}

/// The words of a line before its numbers, as [`super::header::words`] cuts them. Used for line after line,
/// so that no word needs memory of its own.
#[derive(Default)]
pub(super) struct Words {
    text: String,
    words: Vec<Word>,
}

struct Word {
    from: usize,
    to: usize,
    /// It stands right behind a number, as in `12abc`: from further away it is a part of that.
    glued: bool,
}

impl Words {
    fn clear(&mut self) {
        self.text.clear();
        self.words.clear();
    }

    fn len(&self) -> usize {
        self.words.len()
    }

    /// The last few from the one of that number on.
    fn last(&self, first: usize, from_afar: bool) -> impl Iterator<Item = &str> {
        let words = &self.words[first..];
        let fits = move |word: &&Word| !(from_afar && word.glued);
        // Where the few begin.
        let few = words.iter().enumerate().rev();
        let few = few.filter(move |(_, word)| fits(word)).take(WORDS);
        let begin = few.last().map_or(words.len(), |(nth, _)| nth);
        let shown = words[begin..].iter().filter(fits);
        shown.map(|word| &self.text[word.from..word.to])
    }

    /// Takes in a stretch of text without numbers; it may stand right behind one.
    fn take(&mut self, text: &str, behind_number: bool) {
        let glued = |c: char| c.is_alphanumeric() && !c.is_uppercase();
        let mut glued = behind_number && text.starts_with(glued);
        let first = self.words.len();
        let mut joinable = false;
        let mut from = self.text.len();
        let mut was_lower = false;
        for c in text.chars() {
            if !c.is_alphanumeric() || (c.is_uppercase() && was_lower) {
                self.end_word(first, from, glued, &mut joinable);
                if self.text.len() > from {
                    glued = false;
                }
                from = self.text.len();
            }
            if c.is_ascii() {
                if c.is_ascii_alphanumeric() {
                    self.text.push(c.to_ascii_lowercase());
                }
            } else if c.is_alphanumeric() {
                self.text.extend(c.to_lowercase());
            }
            was_lower = c.is_lowercase() || c.is_ascii_digit();
        }
        self.end_word(first, from, glued, &mut joinable);
    }

    fn end_word(&mut self, first: usize, from: usize, glued: bool, joinable: &mut bool) {
        let word = &self.text[from..];
        if word.is_empty() {
            return;
        }
        if word.starts_with(|c: char| c.is_ascii_digit()) {
            *joinable = false;
            return;
        }
        let to = self.text.len();
        // `GiB` and `MiB` fall apart at the capital B: put them together again.
        if word == "b"
            && *joinable
            && let Some(last) = self.words[first..].last_mut()
            && unit_factor(&self.text[last.from..to]).is_some()
        {
            last.to = to;
            return;
        }
        *joinable = true;
        self.words.push(Word { from, to, glued });
    }
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
    end += exponent(&bytes[end..]);
    Some((value_of(&bytes[..end])?, end))
}

/// The length of `e+3` behind a number, as Lightning's bars print `1.39e+3`.
fn exponent(bytes: &[u8]) -> usize {
    let [b'e' | b'E', b'+' | b'-', rest @ ..] = bytes else {
        return 0;
    };
    let digits = rest.iter().take_while(|b| b.is_ascii_digit()).count();
    let word = rest.get(digits).is_some_and(u8::is_ascii_alphabetic);
    // More digits than a float's exponent has are none.
    if digits == 0 || digits > 3 || word {
        return 0;
    }
    2 + digits
}

/// So many digits a float holds exactly, and so many places behind the point a power of ten.
const EXACT: usize = 15;

/// The value of digits, commas, a point and an exponent. A quotient of two exact floats is the nearest one, as parsing gives
/// it, in a fraction of the time: a long log has a number or five in each line.
pub(super) fn value_of(text: &[u8]) -> Option<f64> {
    if text.len() > EXACT || text.contains(&b'e') || text.contains(&b'E') {
        let digits = std::str::from_utf8(text).ok()?.replace(',', "");
        return digits.parse().ok();
    }
    let (mut whole, mut scale, mut behind) = (0_u64, 1_u64, false);
    for byte in text {
        match byte {
            b',' => {}
            b'.' => behind = true,
            digit => {
                whole = whole * 10 + u64::from(digit - b'0');
                scale *= if behind { 10 } else { 1 };
            }
        }
    }
    Some(whole as f64 / scale as f64)
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

/// Whether a line may be one of `free`, where the values say the unit.
pub(super) fn is_free(line: &str) -> bool {
    line.trim_start().starts_with("Mem:")
}

/// The `Mem:` line of `free`: total, used, … in a unit that its flag chose and the line does not say.
fn free(line: &str) -> Option<(f64, f64)> {
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
    Some((*used, factor))
}

#[cfg(test)]
mod tests {
    use super::*;

    proptest::proptest! {
        #[test]
        fn a_number_has_the_value_that_parsing_gives(text in "[0-9]{1,12}(\\.[0-9]{1,12})?") {
            let exact: f64 = text.parse().unwrap();
            proptest::prop_assert_eq!(number(text.as_bytes()), Some((exact, text.len())));
        }
    }

    #[track_caller]
    fn found(line: &str) -> Vec<(f64, Option<f64>, String)> {
        let mut found = Vec::new();
        each_size(line, &mut Words::default(), |size| {
            let size = size.owned();
            found.push((size.value, size.factor, size.near.join(" ")));
        });
        found
    }

    /// As the words of a whole stretch of text are cut.
    #[test]
    fn words_are_cut_as_in_names() {
        for text in [
            "RAM: ",
            "rssBytes",
            "mem [GiB] of ",
            "Mem GiB, MiB b",
            "a1 2b c_D.e",
            "éÉ ßS ",
            " one two three four five six seven eight ",
        ] {
            let mut words = Words::default();
            words.take(text, false);
            let cut: Vec<&str> = words.last(0, false).collect();
            let mut expected = super::super::header::words(text);
            expected.retain(|w| !w.starts_with(|c: char| c.is_ascii_digit()));
            expected.drain(..expected.len().saturating_sub(WORDS));
            assert_eq!(cut, expected, "{text}");
        }
    }

    #[test]
    fn a_size_is_named_from_afar_when_nothing_is_near() {
        let far = |line: &str| {
            let mut far = Vec::new();
            each_size(line, &mut Words::default(), |size| {
                far.push(size.owned().far.join(" "))
            });
            far
        };
        assert_eq!(far("gpu 3 | 12 MB | 9"), ["gpu", "gpu", ""]);
        assert_eq!(far("gpu 0abc 7"), ["gpu"]);
    }

    #[test]
    fn sizes_with_their_words() {
        assert_eq!(
            found("Step 10: 6529 tensors (12.1 GB), RAM: 5,552 MB"),
            [
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
        assert_eq!(found("rss_mb=1.39e+3]"), [(1390.0, None, "rss mb".into())]);
        assert_eq!(found("lr=2.0e-05, rss 7 MB")[1].0, 7.0);
    }
}
