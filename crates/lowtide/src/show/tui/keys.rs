//! What the keyboard sends, as keys. Only those that the view knows have a name.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Key {
    Char(char),
    Up,
    Down,
    Left,
    Right,
    Home,
    End,
    Tab,
    Escape,
    /// A control key by its letter: `Ctrl('c')`.
    Ctrl(char),
}

const ESC: u8 = 0x1b;

/// The keys in a piece of input. A lone Escape ends the piece: terminals send sequences in one.
pub(super) fn parse(mut bytes: &[u8]) -> Vec<Key> {
    let mut keys = Vec::new();
    while let Some((&first, rest)) = bytes.split_first() {
        bytes = rest;
        let key = match first {
            ESC => match rest.split_first() {
                Some((b'[' | b'O', rest)) => {
                    // Parameters, then the letter that names the key.
                    let end = rest.iter().position(|byte| (0x40..=0x7e).contains(byte));
                    let Some(end) = end else { break };
                    bytes = &rest[end + 1..];
                    match (&rest[..end], rest[end]) {
                        (_, b'A') => Key::Up,
                        (_, b'B') => Key::Down,
                        (_, b'C') => Key::Right,
                        (_, b'D') => Key::Left,
                        (_, b'H') | (b"1" | b"7", b'~') => Key::Home,
                        (_, b'F') | (b"4" | b"8", b'~') => Key::End,
                        _ => continue,
                    }
                }
                _ => Key::Escape,
            },
            b'\t' => Key::Tab,
            1..=26 => Key::Ctrl(char::from(b'a' + first - 1)),
            0x20..=0x7e => Key::Char(char::from(first)),
            _ => continue,
        };
        keys.push(key);
    }
    keys
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn keys_have_names() {
        assert_eq!(
            parse(b"q\x1b[A\x1bOB\x1b[1;5C\x1b[5~\x1b[1~\t\x03\x1b"),
            [
                Key::Char('q'),
                Key::Up,
                Key::Down,
                Key::Right,
                Key::Home,
                Key::Tab,
                Key::Ctrl('c'),
                Key::Escape
            ]
        );
    }

    proptest! {
        #[test]
        fn any_input_is_read(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
            prop_assert!(parse(&bytes).len() <= bytes.len());
        }
    }
}
