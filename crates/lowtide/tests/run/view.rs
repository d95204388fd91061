//! The live view on a real terminal, read by a terminal emulator: what the user sees, what keys do, and that the
//! terminal is as before whatever ends the view.

use std::path::Path;

use lowtide_sys::pty::{LEAVE_SCREEN, set_size};
use lowtide_sys::sigwait::send;
use std::os::fd::AsFd;
use std::time::Instant;

use crate::common::{PATIENCE, User, is_over, keeper_of, until};

/// A user who sees a screen instead of bytes.
pub(crate) struct Seeing {
    pub user: User,
    emulator: vt100::Parser,
    read: usize,
}

impl Seeing {
    pub(crate) fn new(home: &Path, (rows, columns): (u16, u16), script: &str) -> Self {
        let script = format!("stty rows {rows} cols {columns}; export TERM=xterm; {script}");
        let number = |n: u16| n.try_into().unwrap();
        Self {
            user: User::at_terminal(home, &script),
            emulator: vt100::Parser::new(number(rows), number(columns), 0),
            read: 0,
        }
    }

    fn resize(&mut self, rows: u16, columns: u16) {
        set_size(self.user.screen.fd.as_fd(), rows, columns).unwrap();
        let number = |n: u16| n.try_into().unwrap();
        self.emulator
            .screen_mut()
            .set_size(number(rows), number(columns));
    }

    pub(crate) fn screen(&mut self) -> &vt100::Screen {
        self.emulator.process(&self.user.screen.seen[self.read..]);
        self.read = self.user.screen.seen.len();
        self.emulator.screen()
    }

    /// Reads until the screen is as wanted.
    pub(crate) fn sees(&mut self, what: &str, is: impl Fn(&vt100::Screen) -> bool) {
        let deadline = Instant::now() + PATIENCE;
        while !is(self.screen()) {
            let shown = self.screen().contents();
            assert!(Instant::now() < deadline, "no {what}: {shown}");
            assert!(
                self.user.screen.more(65536),
                "no {what}, and the end came: {shown}"
            );
        }
    }

    pub(crate) fn reads(&mut self, text: &str) {
        self.sees(text, |screen| screen.contents().contains(text));
    }

    fn row(&mut self, nth: usize) -> String {
        self.screen()
            .contents()
            .lines()
            .nth(nth)
            .unwrap_or_default()
            .to_owned()
    }
}

const SIZE: (u16, u16) = (24, 80);
const PANE: &str = "the job's output";

// The view shows the job's command too: what jobs print here is not in it.

/// Waits for a file `go`, then ends with code 5.
const WAIT: &str = "until [ -e go ]; do sleep 0.02; done; echo bye; exit 5";
/// The same for jobs that are stopped: a shell whose child is stopped between vfork and exec cannot stop.
const WAIT_UNFORKED: &str = "mkfifo go; read line <go; echo bye; exit 5";

fn run_view(job: &str) -> (tempfile::TempDir, Seeing) {
    run_view_and(job, "")
}

/// `then` is what the shell does before it compares the terminal's modes.
fn run_view_and(job: &str, then: &str) -> (tempfile::TempDir, Seeing) {
    let home = tempfile::tempdir().unwrap();
    let script = format!(
        "a=$(stty -g); \"$0\" run -q --tui -i 50ms -- sh -c '{job}'; echo code $?; {then} \
         [ \"$a\" = \"$(stty -g)\" ] && echo same; read stay"
    );
    let user = Seeing::new(home.path(), SIZE, &script);
    (home, user)
}

fn go(home: &tempfile::TempDir) {
    std::fs::write(home.path().join("go"), "").unwrap();
}

fn is_view(screen: &vt100::Screen) -> bool {
    screen.alternate_screen() && screen.contents().contains(PANE)
}

#[test]
fn the_job_prints_into_a_pane_and_goes_on_plainly_after_q() {
    let shrinks =
        "while [ \"$(stty size)\" = \"24 80\" ]; do sleep 0.02; done; echo pane $(stty size)";
    let (home, mut user) = run_view(&format!("echo hello $((40+2)); {shrinks}; {WAIT}"));
    user.sees("the view", is_view);
    user.reads("hello 42");
    assert!(user.row(0).contains("lowtide"), "{}", user.row(0));
    // Its terminal is as large as the pane: all columns, some rows.
    user.sees("the pane's size", |screen| {
        let text = screen.contents();
        let size = text
            .split("pane ")
            .nth(1)
            .and_then(|rest| rest.lines().next());
        size.is_some_and(|size| size.trim().ends_with(" 80"))
    });
    user.user.types(b"?");
    user.reads("any key closes this");
    user.user.types(b"?");
    user.sees("the view", |screen| {
        !screen.contents().contains("any key closes")
    });
    user.user.types(b"q");
    user.sees("the screen from before", |screen| {
        !screen.alternate_screen()
    });
    user.reads("hello 42");
    go(&home);
    user.reads("code 5");
    user.reads("same");
    let shown = user.screen().contents();
    assert!(!shown.contains(PANE), "{shown}");
    let bytes = String::from_utf8_lossy(&user.user.screen.seen).into_owned();
    let (_, after) = bytes.rsplit_once("\x1b[?1049l").unwrap();
    assert!(after.contains("pane ") && after.contains("bye"), "{after}");
}

#[test]
fn when_the_job_ends_the_terminal_is_as_before() {
    let (home, mut user) = run_view(&format!("echo hello $((40+2)); {WAIT}"));
    user.reads(PANE);
    user.reads("hello 42");
    go(&home);
    user.reads("code 5");
    user.reads("same");
    assert!(!user.screen().alternate_screen() && !user.screen().hide_cursor());
}

#[test]
fn a_new_size_reaches_the_view_and_the_job() {
    let job = format!("trap \"echo now \\$(stty size)\" WINCH; echo ready $((40+2)); {WAIT}");
    let (home, mut user) = run_view(&job);
    user.reads("ready 42");
    user.resize(40, 120);
    user.sees("the footer in its new place", |screen| {
        screen
            .rows(0, 120)
            .nth(39)
            .is_some_and(|row| row.contains("help"))
    });
    user.sees("the job's new size", |screen| {
        screen.contents().contains(" 120")
    });
    go(&home);
    user.reads("code 5");
}

#[test]
fn ctrl_c_goes_to_the_job_once() {
    let (home, mut user) = run_view(&format!(
        "trap \"echo got \\$((40+2))\" INT; echo ready $((40+2)); {WAIT}"
    ));
    user.sees("the view", is_view);
    user.reads("ready 42");
    user.user.types(b"\x03");
    user.reads("got 42");
    assert!(is_view(user.screen()));
    go(&home);
    user.reads("code 5");
    let bytes = String::from_utf8_lossy(&user.user.screen.seen).into_owned();
    let (_, after) = bytes.rsplit_once("\x1b[?1049l").unwrap();
    assert_eq!(after.matches("got 42").count(), 1, "{after}");
}

#[test]
fn ctrl_z_gives_the_shell_its_terminal_and_fg_brings_the_view_back() {
    let home = tempfile::tempdir().unwrap();
    let script = format!(
        "set -m; a=$(stty -g); \"$0\" run --tui -i 50ms -- sh -c 'echo hello $((40+2)); {WAIT_UNFORKED}'; echo stopped $?; \
         [ \"$a\" = \"$(stty -g)\" ] && echo same; read go; fg; echo code $?; read stay"
    );
    let mut user = Seeing::new(home.path(), SIZE, &script);
    user.sees("the view", is_view);
    user.user.types(b"\x1a");
    user.reads("stopped 148");
    user.reads("same");
    assert!(!user.screen().alternate_screen());
    user.user.types(b"go\r");
    user.sees("the view", is_view);
    user.reads("hello 42");
    go(&home);
    user.reads("code 5");
    assert!(!user.screen().alternate_screen());
}

#[test]
fn a_killed_watcher_leaves_no_trace_on_the_terminal() {
    let job = format!("echo hello $((40+2)); {WAIT}");
    let (home, mut user) = run_view_and(&job, "read now;");
    user.sees("the view", is_view);
    user.reads("hello 42");
    let watcher = user.user.watcher();
    let keeper = keeper_of(watcher);
    send(watcher, 9).unwrap();
    user.sees("the screen from before", |screen| {
        !screen.alternate_screen()
    });
    // The shell may be faster than the keeper: its word may be on the screen that went away.
    user.user.screen.until("code 137");
    user.user.types(b"\n");
    user.reads("same");
    assert!(
        user.user
            .screen
            .seen
            .windows(LEAVE_SCREEN.len())
            .any(|bytes| bytes == LEAVE_SCREEN)
    );
    go(&home);
    user.reads("bye");
    until("the keeper's end", || is_over(keeper).then_some(()));
}

#[test]
fn a_terminal_that_is_not_read_holds_up_neither_job_nor_ticks() {
    let home = tempfile::tempdir().unwrap();
    let flood = "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); echo line $i of a flood; done; echo > flooded;";
    let script = format!(
        "\"$0\" run --tui -i 20ms -o rec -- sh -c '{flood} {WAIT}'; echo code $?; read stay"
    );
    let mut user = Seeing::new(home.path(), (150, 400), &script);
    // Nothing of the terminal is read until here: 400 kB are more than it holds.
    until("the end of the flood", || {
        home.path().join("flooded").exists().then_some(())
    });
    let size = || -> u64 {
        let files = std::fs::read_dir(home.path().join("rec")).unwrap();
        files
            .map(|file| file.unwrap().metadata().unwrap().len())
            .sum()
    };
    for _ in 0..3 {
        let before = size();
        until("further ticks", || (size() > before).then_some(()));
    }
    go(&home);
    user.reads("code 5");
    let text = user.user.screen.text();
    assert!(text.contains("bye"), "{text}");
}

fn attach_view(end: &str) -> (tempfile::TempDir, Seeing) {
    let home = tempfile::tempdir().unwrap();
    let script = format!(
        "sleep 1000 & job=$!; a=$(stty -g); \"$0\" attach -i 50ms $job {end}; echo code $?; \
         [ \"$a\" = \"$(stty -g)\" ] && echo same; kill $job && echo lives; read stay"
    );
    let user = Seeing::new(home.path(), SIZE, &script);
    (home, user)
}

#[test]
fn attach_shows_a_view_and_q_ends_it() {
    let (_home, mut user) = attach_view("");
    user.reads("processes");
    user.sees("a size", |screen| screen.contents().contains("headroom"));
    assert!(user.screen().alternate_screen());
    user.user.types(b"q");
    user.reads("code 0");
    user.reads("same");
    user.reads("lives");
    assert!(!user.screen().alternate_screen());
    assert!(user.screen().contents().contains("recording"));
}

#[test]
fn signals_that_end_attach_end_the_view() {
    for signal in [15, 1, 2] {
        let (_home, mut user) = attach_view("");
        user.reads("processes");
        send(user.user.watcher(), signal).unwrap();
        user.reads("code 0");
        user.reads("same");
        user.reads("lives");
        assert!(!user.screen().alternate_screen());
    }
}

#[test]
fn ctrl_z_stops_attach_and_fg_goes_on() {
    let home = tempfile::tempdir().unwrap();
    let script = "set -m; sleep 1000 & job=$!; a=$(stty -g); \"$0\" attach -i 50ms $job; echo stopped $?; \
        [ \"$a\" = \"$(stty -g)\" ] && echo same; read go; fg %2; echo code $?; kill $job; read stay";
    let mut user = Seeing::new(home.path(), SIZE, script);
    user.reads("processes");
    user.user.types(b"\x1a");
    user.reads("stopped 148");
    user.reads("same");
    user.user.types(b"go\r");
    user.sees("the view", |screen| {
        screen.alternate_screen() && screen.contents().contains("processes")
    });
    user.user.types(b"q");
    user.reads("code 0");
}

#[test]
fn lines_where_a_view_is_not_wanted_or_not_possible() {
    for end in [
        "--no-tui --duration 200ms",
        "--json --duration 200ms",
        "--duration 200ms | cat",
        "--duration 200ms </dev/null",
    ] {
        let (_home, mut user) = attach_view(end);
        user.reads("code 0");
        user.reads("lives");
        let bytes = String::from_utf8_lossy(&user.user.screen.seen).into_owned();
        assert!(!bytes.contains("\x1b[?1049h"), "{end}: {bytes}");
    }
}

#[test]
fn run_goes_on_without_a_view_where_there_is_no_terminal_for_it() {
    let home = tempfile::tempdir().unwrap();
    let script = "\"$0\" run --tui -- echo hello </dev/null; echo code $?; read stay";
    let mut user = Seeing::new(home.path(), SIZE, script);
    user.user.screen.until("code 0");
    let text = user.user.screen.text();
    assert!(
        text.contains("hello")
            && text.contains("--tui needs one terminal")
            && !text.contains("1049h"),
        "{text}"
    );
}
