//! How a job moves its cursor: whether it is in the middle of a character or an escape sequence, and how far
//! it will go up to draw its lines anew. Several bars are drawn as a block: rich stays below it and goes up to
//! its first line for each redraw, tqdm stays at its first line and comes back up to it. What is said has to
//! stand above such a block, or the next redraw would write over it.

/// No terminal has so many lines: a larger number in a sequence means its edge.
const MOST: i64 = 10_000;

#[derive(Debug, Default)]
pub(super) struct Moves {
    state: State,
    /// Bytes that are missing of a character.
    missing: u8,
    /// The cursor's line, counted from where it was at first.
    line: i64,
    /// Where the last way up began, while nothing led down since.
    from: Option<i64>,
    block: Option<Block>,
}

/// Lines that were drawn again after a way up.
#[derive(Clone, Copy, Debug)]
struct Block {
    top: i64,
    height: i64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Text,
    Escape,
    /// `ESC [`, with its first number and whether that is over.
    Control {
        number: i64,
        over: bool,
    },
    /// A title or another string, which ends with BEL or `ESC \`.
    String,
    StringEscape,
}

impl Moves {
    pub(super) fn feed(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.state = self.next(*byte);
        }
    }

    /// Whether something can be put in here without tearing a character or a sequence.
    pub(super) fn is_at_rest(&self) -> bool {
        self.state == State::Text && self.missing == 0
    }

    /// How many lines above the cursor the job's block begins.
    pub(super) fn reach(&self) -> u16 {
        let lines = self.block.map_or(0, |block| self.line - block.top);
        lines.clamp(0, MOST) as u16
    }

    fn next(&mut self, byte: u8) -> State {
        match (self.state, byte) {
            // These two end any sequence.
            (_, 0x18 | 0x1a) => State::Text,
            (State::String, 0x1b) => State::StringEscape,
            (State::String, 0x07) | (State::StringEscape, b'\\') => State::Text,
            (State::String | State::StringEscape, _) => State::String,
            (_, 0x1b) => {
                self.missing = 0;
                State::Escape
            }
            (State::Text, _) => self.text(byte),
            (State::Escape, _) => self.escape(byte),
            (State::Control { number, over }, _) => self.control(number, over, byte),
        }
    }

    fn text(&mut self, byte: u8) -> State {
        self.missing = match byte {
            0x80..=0xbf => self.missing.saturating_sub(1),
            0xc2..=0xdf => 1,
            0xe0..=0xef => 2,
            0xf0..=0xf4 => 3,
            _ => 0,
        };
        if matches!(byte, b'\n' | 0x0b | 0x0c) {
            self.down(1);
        }
        State::Text
    }

    fn escape(&mut self, byte: u8) -> State {
        match byte {
            b'[' => {
                return State::Control {
                    number: 0,
                    over: false,
                };
            }
            b']' | b'P' | b'X' | b'^' | b'_' => return State::String,
            0x20..=0x2f => return State::Escape,
            b'M' => self.up(1),
            b'D' | b'E' => self.down(1),
            _ => {}
        }
        State::Text
    }

    fn control(&mut self, number: i64, over: bool, byte: u8) -> State {
        match byte {
            b'0'..=b'9' if !over => {
                let number = (number * 10 + i64::from(byte - b'0')).min(MOST);
                return State::Control { number, over };
            }
            0x20..=0x3f => return State::Control { number, over: true },
            b'A' | b'F' => self.up(number.max(1)),
            b'B' | b'E' => self.down(number.max(1)),
            // A place on the screen instead of a way: nothing is known of a block.
            b'H' | b'f' | b'd' => (self.block, self.from) = (None, None),
            _ => {}
        }
        State::Text
    }

    fn up(&mut self, lines: i64) {
        let from = *self.from.get_or_insert(self.line);
        self.line -= lines;
        self.block = Some(Block {
            top: self.line,
            height: from - self.line,
        });
    }

    fn down(&mut self, lines: i64) {
        self.from = None;
        self.line += lines;
        // Below its last line the block is over.
        self.block = self
            .block
            .filter(|block| self.line <= block.top + block.height);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(bytes: &str) -> Moves {
        let mut moves = Moves::default();
        moves.feed(bytes.as_bytes());
        moves
    }

    #[test]
    fn a_block_reaches_up_to_its_first_line_until_it_is_left() {
        let drawn = "one\ntwo\nthree";
        let up = "\r\x1b[2K\x1b[1A\x1b[2K\x1b[1A\x1b[2K";
        assert_eq!(after(drawn).reach(), 0);
        assert_eq!(after(&format!("{drawn}{up}{drawn}")).reach(), 2);
        assert_eq!(after(&format!("{drawn}{up}{drawn}\nover\n")).reach(), 0);
        assert_eq!(after(&format!("{drawn}\x1b[2A")).reach(), 0);
        assert_eq!(after(&format!("{drawn}\x1b[2A{drawn}\x1b[H")).reach(), 0);
    }

    #[test]
    fn the_middle_of_a_character_or_sequence_is_no_place() {
        for torn in [
            "\x1b",
            "\x1b[",
            "\x1b[3",
            "\x1b[1;31",
            "\x1b]0;title",
            "\x1b]0;x\x1b",
        ] {
            assert!(!after(torn).is_at_rest(), "{torn:?}");
        }
        for whole in [
            "",
            "bar",
            "\x1b[1;31m",
            "\x1b]0;title\x07",
            "\x1b]0;x\x1b\\",
            "█",
        ] {
            assert!(after(whole).is_at_rest(), "{whole:?}");
        }
        let mut moves = Moves::default();
        for (byte, rest) in "█".bytes().zip([false, false, true]) {
            moves.feed(&[byte]);
            assert_eq!(moves.is_at_rest(), rest);
        }
        moves.feed(b"\xe2\x1b[m");
        assert!(
            moves.is_at_rest(),
            "a broken character ends with what follows"
        );
    }
}
