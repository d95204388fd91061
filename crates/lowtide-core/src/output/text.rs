//! Small readers of numbers inside a line of text, shared by the formats.

/// How everything begins that lowtide says beside a job. Where the job's errors go to a file, these lines
/// stand in it too, with steps and sizes that are not the job's.
pub const OUR_LEAD: &str = "lowtide: ";

/// The part of a line that the job wrote: ours may come behind the unfinished line of a bar.
pub fn jobs_own(line: &str) -> &str {
    // Whether it is there at all is known much sooner than where.
    if !line.contains(OUR_LEAD) {
        return line;
    }
    line.find(OUR_LEAD).map_or(line, |at| &line[..at])
}

/// Whether a line can tell a [`super::StepReader`] anything: it has a number, or is one of those that tell
/// what the job does (`***** Running training *****`, `Traceback`, `{'loss': nan}`). Most lines of some logs
/// do not, and need not be taken apart.
pub fn may_tell(line: &str) -> bool {
    let mut may_be_told_by_a_word = false;
    for byte in line.bytes() {
        match byte {
            b'0'..=b'9' | b'{' => return true,
            // How those words begin.
            b'*' | b'S' | b'T' => may_be_told_by_a_word = true,
            _ => {}
        }
    }
    let words = ["*****", "Saving model", "Traceback"];
    may_be_told_by_a_word && words.iter().any(|word| line.contains(word))
}

/// A whole number at the start, and what follows: `12/240` -> (12, "/240").
pub(crate) fn leading_number(text: &str) -> Option<(u64, &str)> {
    let end = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    Some((text[..end].parse().ok()?, &text[end..]))
}

/// A whole number that may have thousands separators: `1,234 |` -> (1234, " |").
pub(crate) fn leading_grouped(text: &str) -> Option<(u64, &str)> {
    let (mut value, mut rest) = leading_number(text)?;
    while let Some(group) = rest.strip_prefix(',') {
        let digits = group
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(group.len());
        if digits != 3 {
            break;
        }
        value = value
            .checked_mul(1000)?
            .checked_add(group[..3].parse().ok()?)?;
        rest = &group[3..];
    }
    Some((value, rest))
}

/// `… 12/240` at the end of a text -> (what stands before, 12, 240).
pub(crate) fn trailing_fraction(text: &str) -> Option<(&str, u64, u64)> {
    let (left, total) = text.rsplit_once('/')?;
    let total: u64 = total.trim().parse().ok()?;
    let start = left
        .char_indices()
        .rev()
        .take_while(|(_, c)| c.is_ascii_digit())
        .last()?
        .0;
    // `1.20/4.98` is no count.
    if left[..start].ends_with('.') {
        return None;
    }
    Some((&left[..start], left[start..].parse().ok()?, total))
}

/// `00:10` or `1:02:03` at the start, in seconds, and what follows.
pub(super) fn clock(text: &str) -> Option<(f64, &str)> {
    let (mut total, mut rest) = leading_number(text)?;
    let mut parts = 1;
    while let Some((part, after)) = rest.strip_prefix(':').and_then(leading_number) {
        total = total.checked_mul(60)?.checked_add(part)?;
        rest = after;
        parts += 1;
    }
    (parts >= 2).then_some((total as f64, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_text() {
        assert_eq!(leading_number("12/240"), Some((12, "/240")));
        assert_eq!(leading_number("x"), None);
        assert_eq!(leading_grouped("1,234 |"), Some((1234, " |")));
        assert_eq!(leading_grouped("1,23"), Some((1, ",23")));
        assert_eq!(trailing_fraction("bar| 12/240"), Some(("bar| ", 12, 240)));
        assert_eq!(trailing_fraction("1.2/4"), None);
        assert_eq!(clock("1:02:03<"), Some((3723.0, "<")));
        assert_eq!(clock("10<"), None);
        assert_eq!(leading_number("99999999999999999999"), None);
    }

    #[test]
    fn lines_that_may_tell_something() {
        for line in [
            "step 1",
            "{'loss': nan}",
            "***** Running training *****",
            "Saving model checkpoint to x",
            "Traceback (most recent call last):",
        ] {
            assert!(may_tell(line), "{line}");
        }
        for line in ["", "y", "Starting", "** note **", "The end", "é½"] {
            assert!(!may_tell(line), "{line}");
        }
    }

    #[test]
    fn what_lowtide_says_is_not_the_jobs() {
        assert_eq!(jobs_own("step 12/240"), "step 12/240");
        assert_eq!(jobs_own("lowtide: growing until step 3300"), "");
        assert_eq!(jobs_own("5%|# | 12/240 lowtide: leak"), "5%|# | 12/240 ");
    }
}
