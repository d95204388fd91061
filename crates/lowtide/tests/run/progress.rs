//! A bar while a recording is read: on a terminal, gone when the work is done, and nowhere else.

use std::process::Command;

use crate::common::{LOWTIDE, Starts, User};

/// Makes a recording called `rec`.
const RECORD: &str = "\"$0\" run -q -o rec -- true";

#[test]
fn a_terminal_sees_a_bar_that_is_gone_before_the_answer() {
    let home = tempfile::tempdir().unwrap();
    let script = format!(
        "stty rows 24 cols 80; export TERM=xterm LOWTIDE_PROGRESS=always; {RECORD}; clear; \
         \"$0\" export rec -o out.csv; \"$0\" judge rec; echo code $?; read stay"
    );
    let mut user = User::at_terminal(home.path(), &script);
    user.screen.until("code 3");
    let bytes = String::from_utf8_lossy(&user.screen.seen).into_owned();
    for what in ["writing", "reading"] {
        let (_, after) = bytes.split_once(what).expect(what);
        assert!(
            after.contains('%') && after.contains("\r\u{1b}[K"),
            "{bytes}"
        );
    }
    let mut emulator = vt100::Parser::new(24.try_into().unwrap(), 80.try_into().unwrap(), 0);
    emulator.process(bytes.as_bytes());
    let left = emulator.screen().contents();
    assert!(
        left.contains("TOO EARLY") && left.contains("code 3"),
        "{left}"
    );
    for what in ["writing", "reading", " %"] {
        assert!(!left.contains(what), "{what} is still there: {left}");
    }
}

#[test]
fn nobody_else_does() {
    let home = tempfile::tempdir().unwrap();
    let script = format!("export LOWTIDE_PROGRESS=always; {RECORD}; \"$0\" judge rec; \"$0\" runs");
    let mut shell = Command::new("sh");
    shell.args(["-c", &script, LOWTIDE]);
    shell.env("LOWTIDE_HOME", home.path()).current_dir(&home);
    let done = shell.finish();
    assert_eq!(
        String::from_utf8_lossy(&done.stderr).matches('%').count(),
        0
    );
    let out = String::from_utf8_lossy(&done.stdout);
    assert!(out.contains("TOO EARLY") && !out.contains('\r'), "{out}");
}
