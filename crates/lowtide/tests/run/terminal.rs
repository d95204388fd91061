//! At a terminal: the job has one too, keys have their meaning, the shell's job control works.

use lowtide_sys::sigwait::send_group;
use rustix::termios::{Winsize, tcsetwinsize};

use crate::common::{User, is_over, keeper_of, state, until};

fn at_terminal(script: &str) -> (tempfile::TempDir, User) {
    let home = tempfile::tempdir().unwrap();
    let user = User::at_terminal(home.path(), script);
    (home, user)
}

#[test]
fn the_job_has_a_terminal_of_its_own_with_our_size() {
    let job = "for fd in 0 1 2; do test -t $fd && echo terminal $fd; done; echo size $(stty size); : </dev/tty && echo controls";
    let script =
        format!("stty rows 33 cols 77; \"$0\" run -q -- sh -c '{job}'; echo code $?; read stay");
    let (_home, mut user) = at_terminal(&script);
    user.screen.until("code 0");
    for word in [
        "terminal 0",
        "terminal 1",
        "terminal 2",
        "size 33 77",
        "controls",
    ] {
        assert!(
            user.screen.text().contains(word),
            "{word}: {}",
            user.screen.text()
        );
    }
}

#[test]
fn a_new_size_reaches_the_job() {
    for feed in ["", "</dev/null"] {
        let job =
            "trap \"echo size \\$(stty size <&2)\" WINCH; echo ready; while :; do sleep 0.02; done";
        let script =
            format!("stty rows 20 cols 60; \"$0\" run -q -- sh -c '{job}' {feed}; read stay");
        let (_home, mut user) = at_terminal(&script);
        user.screen.until("ready");
        let size = Winsize {
            ws_row: 44,
            ws_col: 99,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        tcsetwinsize(&user.screen.fd, size).unwrap();
        user.screen.until("size 44 99");
    }
}

#[test]
fn bytes_for_the_terminal_pass_unchanged() {
    for feed in ["", "</dev/null"] {
        let job = r#"printf "a\tb\033[2K\rc\n""#;
        let (_home, mut user) = at_terminal(&format!(
            "\"$0\" run -q -- sh -c '{job}' {feed}; echo over; read stay"
        ));
        user.screen.until("over");
        let seen = String::from_utf8(user.screen.seen.clone()).unwrap();
        assert!(seen.contains("a\tb\x1b[2K\rc\r\n"), "{seen:?}");
    }
}

#[test]
fn keys_reach_the_job_and_the_terminal_is_as_before() {
    let script = "a=$(stty -g); \"$0\" run -q -- sh -c 'echo ready; read line; echo got $line'; [ \"$a\" = \"$(stty -g)\" ] && echo same; read stay";
    let (_home, mut user) = at_terminal(script);
    user.screen.until("ready");
    user.types(b"hello\r");
    user.screen.until("got hello");
    user.screen.until("same");
}

#[test]
fn the_end_of_input_is_a_key_too() {
    let (_home, mut user) =
        at_terminal("\"$0\" run -q -- sh -c 'echo ready; cat; echo end'; echo code $?; read stay");
    user.screen.until("ready");
    user.types(b"\x04");
    user.screen.until("end");
    user.screen.until("code 0");
}

#[test]
fn ctrl_c_interrupts_the_job_once_and_not_us() {
    let job = "trap \"echo got INT\" INT; echo ready; until [ -e go ]; do sleep 0.02; done; exit 5";
    let (home, mut user) = at_terminal(&format!(
        "\"$0\" run -q -- sh -c '{job}'; echo code $?; read stay"
    ));
    user.screen.until("ready");
    user.types(b"\x03");
    user.screen.until("got INT");
    std::fs::write(home.path().join("go"), "").unwrap();
    user.screen.until("code 5");
    assert_eq!(user.screen.text().matches("got INT").count(), 1);
}

#[test]
fn ctrl_c_in_a_pipeline_reaches_the_job_once() {
    let job =
        "trap \"echo got INT\" INT; echo ready >&2; until [ -e go ]; do sleep 0.02; done; exit 5";
    let script = format!(
        "trap : INT; \"$0\" run -q -- sh -c '{job}' | (trap '' INT; cat); echo over; read stay"
    );
    let (home, mut user) = at_terminal(&script);
    user.screen.until("ready");
    user.types(b"\x03");
    user.screen.until("got INT");
    std::fs::write(home.path().join("go"), "").unwrap();
    user.screen.until("over");
    assert_eq!(user.screen.text().matches("got INT").count(), 1);
}

/// Ctrl-Z gives the shell its prompt and its modes; `fg` goes on where the job was.
fn stop_and_go_on(pipeline: &str, code: i32) {
    let job = "echo ready; read line; echo got $line; exit 6";
    let script = format!(
        "set -m; a=$(stty -g); \"$0\" run -q -- sh -c '{job}' {pipeline}; echo stopped $?; \
         [ \"$a\" = \"$(stty -g)\" ] && echo same; read go; fg; echo code $?; read stay"
    );
    let (_home, mut user) = at_terminal(&script);
    user.screen.until("ready");
    user.types(b"\x1a");
    user.screen.until("stopped 148");
    user.screen.until("same");
    user.types(b"go\r");
    // The shell names the job that it continues.
    user.screen.until("sh -c");
    user.types(b"hello\r");
    user.screen.until("got hello");
    user.screen.until(&format!("code {code}"));
}

#[test]
fn ctrl_z_and_fg() {
    stop_and_go_on("", 6);
}

#[test]
fn ctrl_z_and_fg_in_a_pipeline() {
    stop_and_go_on("| cat", 0);
}

#[test]
fn ctrl_z_without_a_shell_that_could_continue_is_no_trap() {
    // The watcher leads the session itself, as under `ssh -t host lowtide run …`.
    let (_home, mut user) =
        at_terminal("exec \"$0\" run -q -- sh -c 'echo ready; read line; echo got $line; exit 6'");
    user.screen.until("ready");
    user.types(b"\x1a");
    user.screen.until("^Z");
    user.types(b"hello\r");
    user.screen.until("got hello");
    assert_eq!(user.ends().code(), Some(6));
}

#[test]
fn continuing_the_job_alone_continues_the_watcher() {
    // No loop over `sleep`: a shell whose child is stopped between vfork and exec cannot stop itself.
    let job = "mkfifo go; echo ready $$; read line <go; exit 6";
    let script = format!("set -m; \"$0\" run -q -- sh -c '{job}'; echo stopped $?; read stay");
    let (home, mut user) = at_terminal(&script);
    let watcher = user.watcher();
    user.screen.until("ready ");
    user.screen.until("\n");
    let text = user.screen.text();
    let job: u32 = text
        .split("ready ")
        .nth(1)
        .unwrap()
        .lines()
        .next()
        .unwrap()
        .parse()
        .unwrap();
    user.types(b"\x1a");
    user.screen.until("stopped 148");
    assert_eq!(state(watcher), Some('T'));
    send_group(job, 18).unwrap();
    until("the watcher to go on", || {
        (state(watcher) != Some('T')).then_some(())
    });
    std::fs::write(home.path().join("go"), "").unwrap();
    until("the watcher's end", || is_over(watcher).then_some(()));
}

#[test]
fn a_job_in_the_background_gets_the_keyboard_with_fg() {
    let job = "echo ready; read line; echo got $line; exit 6";
    let script =
        format!("set -m; \"$0\" run -q -- sh -c '{job}' & read go; fg; echo code $?; read stay");
    let (_home, mut user) = at_terminal(&script);
    user.screen.until("ready");
    user.types(b"go\r");
    user.screen.until("sh -c");
    // Until the keeper has the terminal, the shell's line discipline echoes; what is typed arrives either way.
    user.types(b"hello\r");
    user.screen.until("got hello");
    user.screen.until("code 6");
}

#[test]
fn closing_the_terminal_hangs_up_the_job() {
    let job = "trap \"echo hup > hup; exit\" HUP; echo ready; while :; do sleep 0.02; done";
    let (home, mut user) = at_terminal(&format!("\"$0\" run -q -- sh -c '{job}'; echo over"));
    user.screen.until("ready");
    let keeper = keeper_of(user.watcher());
    let _shell = user.closes_terminal();
    until("the hangup", || std::fs::read(home.path().join("hup")).ok());
    until("the keeper's end", || is_over(keeper).then_some(()));
    crate::killed::ticks_recorded(home.path());
}
