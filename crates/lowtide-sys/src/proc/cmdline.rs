//! `/proc/PID/cmdline`: the command line, with secrets masked before anyone sees it.

use super::mask;

/// Enough for any training command; a longer one (thousands of files) says nothing more.
const MOST_ARGUMENTS: usize = 256;
/// An argument may be a whole program (`python -c`).
const LONGEST_ARGUMENT: usize = 1024;

pub fn parse(bytes: &[u8]) -> Vec<String> {
    let bytes = bytes.strip_suffix(b"\0").unwrap_or(bytes);
    if bytes.is_empty() {
        return Vec::new();
    }
    let mut argv: Vec<String> = bytes
        .split(|byte| *byte == 0)
        .take(MOST_ARGUMENTS)
        .map(|argument| {
            let text = String::from_utf8_lossy(argument);
            match text.char_indices().nth(LONGEST_ARGUMENT) {
                Some((end, _)) => format!("{}…", &text[..end]),
                None => text.into_owned(),
            }
        })
        .collect();
    // A process that writes its own title pads what is left of the space with zeros.
    while argv.last().is_some_and(String::is_empty) && argv.len() > 1 {
        argv.pop();
    }
    mask::arguments(&mut argv);
    argv
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn arguments_end_with_zeros() {
        assert_eq!(parse(b"python\0train.py\0"), ["python", "train.py"]);
        assert_eq!(parse(b"python\0\0x\0"), ["python", "", "x"]);
        assert_eq!(parse(b"ray::Worker\0\0\0\0\0"), ["ray::Worker"]);
        assert!(parse(b"").is_empty());
    }

    #[test]
    fn secrets_do_not_get_past_here() {
        assert_eq!(
            parse(b"python\0--hub_token\0hf_abcdefghijklmnop\0"),
            ["python", "--hub_token", "***"]
        );
    }

    proptest! {
        #[test]
        fn any_bytes_are_survived(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
            let _ = parse(&bytes);
        }
    }
}
