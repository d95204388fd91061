//! What a user sees: the job's bytes and ours, read by a terminal of its own.

use std::num::NonZeroU16;
use std::time::Instant;

use proptest::prelude::*;

use super::*;

const SAID: &str = "lowtide: leak in trainer 7\r\n";

/// The user's terminal, and what we know of it.
struct Seen {
    terminal: vt100::Parser,
    screen: Screen,
}

impl Seen {
    fn new(rows: u16, columns: u16) -> Seen {
        let number = |n| NonZeroU16::new(n).unwrap();
        let mut screen = Screen::new();
        screen.resize((rows, columns));
        Seen {
            terminal: vt100::Parser::new(number(rows), number(columns), 0),
            screen,
        }
    }

    fn prints(&mut self, bytes: &str) -> &mut Seen {
        self.terminal.process(bytes.as_bytes());
        self.screen.feed(bytes.as_bytes());
        self
    }

    fn says(&mut self, text: &str) -> &mut Seen {
        let Composed::Bytes(bytes) = self.screen.compose(text, false) else {
            panic!("not now");
        };
        self.terminal.process(&bytes);
        self.screen.composed(&bytes);
        self
    }

    fn rows(&self) -> Vec<String> {
        let (_, columns) = self.terminal.screen().size();
        let rows = self.terminal.screen().rows(0, columns.get());
        let mut rows: Vec<String> = rows.map(|row| row.trim_end().to_owned()).collect();
        while rows.last().is_some_and(String::is_empty) {
            rows.pop();
        }
        rows
    }

    fn cursor(&self) -> (u16, u16) {
        self.terminal.screen().cursor_position()
    }
}

#[test]
fn nothing_is_added_where_a_line_begins() {
    let mut screen = Screen::new();
    assert_eq!(
        screen.compose(SAID, false),
        Composed::Bytes(SAID.as_bytes().to_vec())
    );
    screen.feed(b"a line\r\n");
    assert_eq!(
        screen.compose(SAID, false),
        Composed::Bytes(SAID.as_bytes().to_vec())
    );
}

#[test]
fn a_bar_stays_below_and_goes_on() {
    let mut seen = Seen::new(6, 40);
    seen.prints("begin\r\n\r 10%|█    | loss=2.219]").says(SAID);
    let said = SAID.trim_end();
    assert_eq!(seen.rows(), ["begin", said, " 10%|█    | loss=2.219]"]);
    seen.prints("\r 20%|██   | loss=2.1]  ").says(SAID);
    assert_eq!(seen.rows(), ["begin", said, said, " 20%|██   | loss=2.1]"]);
    seen.prints("\r 30%|███  | loss=2.05] ")
        .prints("\r\nover\r\n");
    assert_eq!(seen.rows()[3..], [" 30%|███  | loss=2.05]", "over"]);
}

#[test]
fn a_prompt_keeps_its_colour_and_what_follows_it() {
    let mut seen = Seen::new(6, 40);
    seen.prints("\x1b[1;32manswer 世界? ")
        .says(SAID)
        .prints("yes");
    assert_eq!(seen.rows(), [SAID.trim_end(), "answer 世界? yes"]);
    let cell = |row, column| seen.terminal.screen().cell(row, column).unwrap().clone();
    assert_eq!(cell(0, 0).fgcolor(), vt100::Color::Default);
    for column in [0, 14] {
        let cell = cell(1, column);
        assert!(cell.bold() && cell.fgcolor() == vt100::Color::Idx(2));
    }
}

#[test]
fn bars_of_tqdm_that_stand_below_the_cursor_follow_the_message() {
    let mut seen = Seen::new(5, 40);
    let inner = |n| format!("\n\r\x1b[32minner {n}\x1b[m\x1b[A");
    seen.prints("\repochs 1/4").prints(&inner(1)).says(SAID);
    assert_eq!(seen.rows(), [SAID.trim_end(), "epochs 1/4", "inner 1"]);
    // The screen is full now, and scrolls.
    seen.prints(&inner(2)).says(SAID).says(SAID).says(SAID);
    let said = SAID.trim_end();
    assert_eq!(seen.rows(), [said, said, said, "epochs 1/4", "inner 2"]);
    seen.prints(&inner(3)).prints("\repochs 2/4");
    assert_eq!(seen.rows()[3..], ["epochs 2/4", "inner 3"]);
}

#[test]
fn a_block_of_rich_is_redrawn_below_and_not_over_the_message() {
    let mut seen = Seen::new(8, 40);
    let block = |n| format!("load {n}\r\ntrain {n}\r\ncook {n}");
    let up = "\r\x1b[2K\x1b[1A\x1b[2K\x1b[1A\x1b[2K";
    seen.prints("begin\r\n").prints(&block(1));
    seen.prints(up).prints(&block(2)).says(SAID);
    let said = SAID.trim_end();
    assert_eq!(seen.rows(), ["begin", said, "load 2", "train 2", "cook 2"]);
    seen.prints(up).prints(&block(3));
    assert_eq!(seen.rows(), ["begin", said, "load 3", "train 3", "cook 3"]);
}

#[test]
fn a_bar_as_wide_as_the_terminal_and_a_message_that_is_wider() {
    let mut seen = Seen::new(6, 10);
    seen.prints("\r100%|█| 9]").says("lowtide: growing\r\n");
    assert_eq!(seen.rows(), ["lowtide: g", "rowing", "100%|█| 9]"]);
    seen.prints("\r100%|█| 8]");
    assert_eq!(seen.rows()[2..], ["100%|█| 8]"]);
}

#[test]
fn not_in_the_middle_of_a_sequence_nor_on_a_full_screen() {
    let mut screen = Screen::new();
    screen.feed(b"bar \xe2\x96");
    assert_eq!(screen.compose(SAID, false), Composed::Soon);
    assert!(matches!(screen.compose(SAID, true), Composed::Bytes(_)));
    screen.feed(b"\x88\x1b[?1049h");
    assert_eq!(screen.compose(SAID, true), Composed::Later);
    screen.feed(b"\x1b[?1049l");
    assert!(matches!(screen.compose(SAID, false), Composed::Bytes(_)));
}

#[test]
fn after_the_end_everything_drawn_is_left_above() {
    for (printed, lead) in [
        ("", ""),
        ("over\r\n", ""),
        ("\r 50%|██", "\r\n"),
        ("\x1b[31mred\r\n", "\x1b[m"),
        ("\router\n\rinner\x1b[A", "\r\n\r\n"),
        ("working\r", "\r\n"),
    ] {
        let mut screen = Screen::new();
        screen.feed(printed.as_bytes());
        assert_eq!(screen.lead(), lead, "{printed:?}");
    }
}

#[test]
fn the_keeper_is_asked_again_where_the_job_went_on() {
    let mut voice = Voice::among(Stream::Stderr, Route::Pipe).unwrap();
    let now = Instant::now();
    voice.heard(Stream::Stdout, b"not our place\nx");
    voice.heard(Stream::Stderr, b"\r 10%");
    assert!(voice.insertion(now).is_none());
    voice.say("lowtide: one\n", now);
    let asked = voice.insertion(now).unwrap();
    assert_eq!((asked.at, &asked.bytes[..]), (5, &b"\nlowtide: one\n"[..]));
    // Said while the keeper thinks about it.
    voice.say("lowtide: two\n", now);
    assert!(voice.insertion(now).is_none(), "one at a time");
    voice.heard(Stream::Stderr, b"\r 20%\n");
    voice.answered(false, 11);
    let asked = voice.insertion(now).unwrap();
    let both = b"lowtide: one\nlowtide: two\n";
    assert_eq!((asked.at, &asked.bytes[..]), (11, &both[..]));
    voice.say("lowtide: three\n", now);
    voice.answered(true, 11);
    let asked = voice.insertion(now).unwrap();
    assert_eq!(asked.bytes, b"lowtide: three\n");
    voice.answered(true, 11);
    assert!(voice.insertion(now).is_none());
}

#[test]
fn a_line_that_has_begun_gets_its_time_and_not_more() {
    let mut voice = Voice::among(Stream::Stdout, Route::Pipe).unwrap();
    let now = Instant::now();
    voice.heard(Stream::Stdout, b"step 1 ");
    voice.say("lowtide: one\n", now);
    assert!(voice.insertion(now).is_none());
    let late = voice.insertion(now + PATIENCE).unwrap();
    assert_eq!(
        (late.at, &late.bytes[..]),
        (ANYWHERE, &b"\nlowtide: one\n"[..])
    );
    // The end comes before the answer: it is not lost.
    let (lead, waiting) = voice.rest();
    assert_eq!((&lead[..], &waiting[..]), ("\n", "lowtide: one\n"));
}

proptest! {
    /// Whatever a job draws with lines, bars and ways up: its last row and its cursor's column are as they
    /// were, and the message is there.
    #[test]
    fn what_is_drawn_is_there_again(
        parts in proptest::collection::vec(
            prop_oneof!["[a-z]{0,9}", Just("\r".into()), Just("\r\n".into()), Just("\x1b[A".into()),
                Just("世".into()), Just("\x1b[33m".into()), Just("\x1b[K".into()), Just("\n\rx\x1b[A".into())],
            0..30,
        ),
    ) {
        let mut seen = Seen::new(60, 30);
        seen.prints("\r\n\r\n");
        parts.iter().for_each(|part| { seen.prints(part); });
        let (before, (row, column)) = (seen.rows(), seen.cursor());
        let colour = seen.terminal.screen().attributes_formatted();
        seen.says(SAID);
        prop_assert!(seen.rows().iter().any(|row| row == SAID.trim_end()), "{:?}", seen.rows());
        prop_assert_eq!(seen.cursor(), (row + 1, column));
        prop_assert_eq!(seen.terminal.screen().attributes_formatted(), colour);
        let rest: Vec<String> = seen.rows().into_iter().filter(|row| row != SAID.trim_end()).collect();
        let text = |rows: Vec<String>| rows.concat().trim().to_owned();
        prop_assert_eq!(text(rest), text(before));
    }
}
