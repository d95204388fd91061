//! The last line of a pipe or a file, as far as it matters to whoever wants to add one of their own.

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Line {
    /// The next byte begins a line.
    #[default]
    New,
    /// The job has more to say on this line.
    Begun,
    /// It is drawn again and again, after a carriage return: there is no end to wait for.
    Redrawn,
}

impl Line {
    pub(super) fn feed(&mut self, bytes: &[u8]) {
        let rest = match bytes.iter().rposition(|byte| *byte == b'\n') {
            Some(end) => {
                *self = Line::New;
                &bytes[end + 1..]
            }
            None => bytes,
        };
        if rest.contains(&b'\r') {
            *self = Line::Redrawn;
        } else if *self == Line::New && !rest.is_empty() {
            *self = Line::Begun;
        }
    }

    /// What ends the line.
    pub(super) fn lead(self) -> &'static str {
        match self {
            Line::New => "",
            Line::Begun | Line::Redrawn => "\n",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn in_pieces_as_in_one() {
        for (text, line) in [
            ("", Line::New),
            ("step 1\n", Line::New),
            ("step 1\r\n", Line::New),
            ("step 1\nstep", Line::Begun),
            ("\r 10%", Line::Redrawn),
            ("a\r 10%\nb", Line::Begun),
            ("10%\r", Line::Redrawn),
        ] {
            let mut whole = Line::default();
            whole.feed(text.as_bytes());
            let mut pieces = Line::default();
            text.bytes().for_each(|byte| pieces.feed(&[byte]));
            assert_eq!((whole, pieces), (line, line), "{text:?}");
        }
    }
}
