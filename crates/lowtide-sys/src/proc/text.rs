//! The two things every kernel text file needs: numbers and words, from bytes.

/// A decimal number that fills the whole slice.
pub fn number(bytes: &[u8]) -> Option<u64> {
    if bytes.is_empty() {
        return None;
    }
    bytes.iter().try_fold(0u64, |sum, byte| {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        sum.checked_mul(10)?.checked_add(u64::from(digit))
    })
}

/// The words of a line: runs of bytes without white space.
pub fn words(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(|byte| byte.is_ascii_whitespace())
        .filter(|word| !word.is_empty())
}

/// Calls `each` with name and first number of every `Name:  123 kB` line.
pub(super) fn each_field(bytes: &[u8], mut each: impl FnMut(&[u8], u64)) {
    for line in bytes.split(|byte| *byte == b'\n') {
        let Some(colon) = line.iter().position(|byte| *byte == b':') else {
            continue;
        };
        if let Some(value) = words(&line[colon + 1..]).next().and_then(number) {
            each(&line[..colon], value);
        }
    }
}
