//! Cuts a job's output into lines a person would see: carriage returns and cursor moves end a line,
//! colours vanish, and the end of a progress bar ends a line too, because `print` in a loop lands
//! right behind the bar. Fed with chunks of any size; the cuts do not depend on the chunks.

/// What a line may hold before its rest is dropped. A Trainer dictionary with fifty metrics has
/// about 2 kB; base64 blobs and binary junk go far beyond.
const LINE_CAP: usize = 16 * 1024;

/// Titles and links (OSC sequences) are short; a stray `ESC ]` must not swallow the rest of a log.
const OSC_CAP: u16 = 512;

#[derive(Debug, Default)]
pub struct Lines {
    line: Vec<u8>,
    state: EscapeState,
    /// How much of the line was searched for what may open the end of a bar.
    searched: usize,
}

#[derive(Clone, Copy, Debug, Default)]
enum EscapeState {
    #[default]
    Text,
    Escape,
    Csi,
    Osc(u16),
}

impl Lines {
    /// Hands every line that `chunk` completes to `each`; empty ones are left out.
    pub fn feed(&mut self, chunk: &[u8], mut each: impl FnMut(&str)) {
        let mut rest = chunk;
        while let Some(&byte) = rest.first() {
            if let EscapeState::Text = self.state {
                // The common case in one stride: plain bytes up to the next one that means something.
                let plain = rest
                    .iter()
                    .position(|b| *b < 0x20 || *b == b']' || *b == 0x7f)
                    .unwrap_or(rest.len());
                if plain > 0 {
                    if self.line.is_empty() && matches!(rest.get(plain), Some(b'\n' | b'\r')) {
                        // A whole line, as nearly all are, is handed over from where it lies.
                        as_text(&rest[..plain.min(LINE_CAP)], &mut each);
                        rest = &rest[plain + 1..];
                        continue;
                    }
                    self.push(&rest[..plain]);
                    rest = &rest[plain..];
                    continue;
                }
            }
            rest = &rest[1..];
            self.one(byte, &mut each);
        }
    }

    /// The last line, when the source ended without a line end.
    pub fn finish(&mut self, mut each: impl FnMut(&str)) {
        self.end(&mut each);
    }

    fn push(&mut self, bytes: &[u8]) {
        let room = LINE_CAP - self.line.len().min(LINE_CAP);
        self.line.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }

    fn one(&mut self, byte: u8, each: &mut impl FnMut(&str)) {
        self.state = match (self.state, byte) {
            (EscapeState::Text, 0x1b) | (EscapeState::Osc(_), 0x1b) => EscapeState::Escape,
            // Keras redraws with backspaces.
            (EscapeState::Text, b'\n' | b'\r' | 0x08) => {
                self.end(each);
                EscapeState::Text
            }
            (EscapeState::Text, b'\t') => {
                self.push(b" ");
                EscapeState::Text
            }
            (EscapeState::Text, b']') => {
                self.push(b"]");
                if self.ends_a_bar() {
                    self.end(each);
                }
                EscapeState::Text
            }
            (EscapeState::Text, _) => EscapeState::Text,
            (EscapeState::Escape, b'[') => EscapeState::Csi,
            (EscapeState::Escape, b']') => EscapeState::Osc(0),
            (EscapeState::Escape, b'\n') => {
                self.end(each);
                EscapeState::Text
            }
            (EscapeState::Escape, _) => EscapeState::Text,
            (EscapeState::Csi, 0x20..=0x3f) => EscapeState::Csi,
            // Moves of the cursor to another line, and clearing of the screen.
            (EscapeState::Csi, b'A' | b'B' | b'E' | b'F' | b'H' | b'f' | b'J') => {
                self.end(each);
                EscapeState::Text
            }
            (EscapeState::Csi, b'\n' | b'\r') => {
                self.end(each);
                EscapeState::Text
            }
            (EscapeState::Csi, _) => EscapeState::Text,
            (EscapeState::Osc(_), 0x07 | b'\n') => EscapeState::Text,
            (EscapeState::Osc(seen), _) if seen >= OSC_CAP => EscapeState::Text,
            (EscapeState::Osc(seen), _) => EscapeState::Osc(seen + 1),
        };
    }

    fn end(&mut self, each: &mut impl FnMut(&str)) {
        if !self.line.is_empty() {
            as_text(&self.line, each);
            self.line.clear();
            self.searched = 0;
        }
    }

    /// Does the line, which ends in `]`, end in `12/240 [00:10<03:00, 1.2it/s]` or `12it [00:10, 1.2it/s]`?
    ///
    /// Each byte is asked once, however many `]` there are: what follows a ` [` that opened no bar at the
    /// first `]` behind it opens none at the second either.
    fn ends_a_bar(&mut self) -> bool {
        let new = self.searched.saturating_sub(1);
        self.searched = self.line.len();
        let open = self.line[new..].windows(2).rposition(|w| w == b" [");
        open.is_some_and(|open| opens_a_bar(&self.line, new + open))
    }
}

fn as_text(line: &[u8], each: &mut impl FnMut(&str)) {
    // Nearly all are right; that is known sooner than where one is not.
    match std::str::from_utf8(line) {
        Ok(text) => each(text),
        Err(_) => each(&String::from_utf8_lossy(line)),
    }
}

/// A ` [` stands in the line at `open`, and a `]` somewhere behind it.
fn opens_a_bar(line: &[u8], open: usize) -> bool {
    let inside = &line[open + 2..];
    let clock = inside
        .iter()
        .take_while(|b| b.is_ascii_digit() || **b == b':')
        .count();
    let before = line[..open].last().copied().unwrap_or(b' ');
    clock >= 4
        && inside[..clock].contains(&b':')
        && matches!(inside.get(clock), Some(b'<' | b','))
        && (before.is_ascii_alphanumeric())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(bytes: &[u8]) -> Vec<String> {
        let mut out = Vec::new();
        let mut lines = Lines::default();
        lines.feed(bytes, |l| out.push(l.to_owned()));
        lines.finish(|l| out.push(l.to_owned()));
        out
    }

    #[test]
    fn redraws_colours_and_cursor_moves_are_understood() {
        assert_eq!(lines(b"a\rb\r\nc"), ["a", "b", "c"]);
        assert_eq!(
            lines(b"\x1b[1mbold\x1b[0m text\x1b[A\rup"),
            ["bold text", "up"]
        );
        assert_eq!(lines(b"\x1b]0;title\x07shown\n"), ["shown"]);
        assert_eq!(
            lines(b"12/50 [==>]\x08\x08\x0813/50"),
            ["12/50 [==>]", "13/50"]
        );
    }

    #[test]
    fn a_print_behind_a_bar_is_a_line_of_its_own() {
        assert_eq!(
            lines(b"\r  5%|x  | 12/240 [00:10<03:00,  1.20it/s]Step 12: RAM 5552 MB\n"),
            [
                "  5%|x  | 12/240 [00:10<03:00,  1.20it/s]",
                "Step 12: RAM 5552 MB"
            ]
        );
        assert_eq!(lines(b"[10:12:33] step 3\n"), ["[10:12:33] step 3"]);
        assert_eq!(lines(b"Epoch [1][50/730] lr\n"), ["Epoch [1][50/730] lr"]);
    }

    /// The end of a bar was looked for in all of the line at each of these: a megabyte took eight seconds.
    #[test]
    fn each_byte_of_a_line_of_brackets_is_asked_once() {
        let mut reader = Lines::default();
        for _ in 0..100 {
            reader.feed(&[b']'; 1 << 16], |_| panic!("no line has ended"));
        }
        assert_eq!(reader.searched, LINE_CAP);
        assert_eq!(
            lines(b"a [1] b] 7 [00:10<00:20, x]c [2]]\n"),
            ["a [1] b] 7 [00:10<00:20, x]", "c [2]]"]
        );
        // A whole line after one in pieces, and cut as that would be.
        let mut long = b"x]".repeat(LINE_CAP);
        long.extend(b"\nnext\n");
        long.extend(b"y".repeat(2 * LINE_CAP));
        long.push(b'\n');
        let lengths: Vec<usize> = lines(&long).iter().map(String::len).collect();
        assert_eq!(lengths, [LINE_CAP, 4, LINE_CAP]);
    }

    #[test]
    fn a_line_without_an_end_stays_bounded() {
        let mut reader = Lines::default();
        for _ in 0..100 {
            reader.feed(&[b'x'; 4096], |_| panic!("no line has ended"));
        }
        assert!(reader.line.len() <= LINE_CAP);
    }
}
