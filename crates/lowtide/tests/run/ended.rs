//! How a run ends: exit codes, commands that cannot start, and what the job leaves running.

use std::fs;
use std::process::{Command, Stdio};

use crate::common::{LOWTIDE, Reader, Starts, User, is_over, keeper_of, run, until};

#[test]
fn the_jobs_code_is_ours() {
    let home = tempfile::tempdir().unwrap();
    for (script, code) in [
        ("exit 0", 0),
        ("exit 3", 3),
        ("exit 255", 255),
        ("kill -9 $$", 137),
        ("kill -TERM $$", 143),
    ] {
        assert_eq!(
            run(home.path(), script).ends().code(),
            Some(code),
            "{script}"
        );
    }
}

#[test]
fn a_job_that_is_over_at_once_keeps_its_code() {
    let home = tempfile::tempdir().unwrap();
    for _ in 0..20 {
        let mut lowtide = Command::new(LOWTIDE);
        lowtide
            .args(["run", "-q", "--", "false"])
            .env("LOWTIDE_HOME", home.path());
        assert_eq!(lowtide.ends().code(), Some(1));
    }
}

#[test]
fn a_command_that_cannot_start_says_why_with_a_hint() {
    let home = tempfile::tempdir().unwrap();
    let plain = home.path().join("plain");
    let lost = home.path().join("lost");
    fs::write(&plain, "echo hello").unwrap();
    fs::write(&lost, "#!/no/such/interpreter\n").unwrap();
    Command::new("chmod").arg("+x").arg(&lost).ends();
    for (command, code, says) in [
        ("no-such-command", 127, "not found"),
        ("/no/such/path", 127, "check the path"),
        ("two words", 127, "separate words"),
        (lost.to_str().unwrap(), 127, "interpreter"),
        (plain.to_str().unwrap(), 126, "chmod +x"),
        (home.path().to_str().unwrap(), 126, "cannot be executed"),
    ] {
        let mut lowtide = Command::new(LOWTIDE);
        let out = lowtide
            .args(["run", "-q", "--", command])
            .env("LOWTIDE_HOME", home.path())
            .finish();
        let talk = String::from_utf8_lossy(&out.stderr);
        assert_eq!(out.status.code(), Some(code), "{command}: {talk}");
        assert!(
            talk.contains(says) && talk.contains("\nhint: "),
            "{command}: {talk}"
        );
        assert!(out.stdout.is_empty());
    }
}

#[test]
fn a_command_that_cannot_start_leaves_the_terminal_as_it_was() {
    let home = tempfile::tempdir().unwrap();
    let mut user = User::at_terminal(
        home.path(),
        "a=$(stty -g); \"$0\" run -q -- nope; [ \"$a\" = \"$(stty -g)\" ] && echo same",
    );
    user.screen.until("same");
    assert!(user.screen.text().contains("nope: command not found"));
}

#[test]
fn descendants_keep_their_pipe_after_the_main_process() {
    let home = tempfile::tempdir().unwrap();
    let script = "(until [ -e go ]; do sleep 0.02; done; echo late) & echo early; exit 4";
    let mut lowtide = run(home.path(), script).stdout(Stdio::piped()).start();
    let mut reader = Reader::new(lowtide.stdout.take().unwrap());
    // The watcher ends at once; `late` cannot have been printed, because `go` is not there.
    assert_eq!(lowtide.wait().unwrap().code(), Some(4));
    reader.until("early");
    fs::write(home.path().join("go"), "").unwrap();
    assert_eq!(reader.rest(), "early\nlate\n");
}

#[test]
fn descendants_keep_their_terminal_after_the_main_process() {
    let home = tempfile::tempdir().unwrap();
    let script = "\"$0\" run -q -- sh -c '(until [ -e go ]; do sleep 0.02; done; echo late) & exit 4'; echo code $?; read stay";
    let mut user = User::at_terminal(home.path(), script);
    user.screen.until("code 4");
    fs::write(home.path().join("go"), "").unwrap();
    user.screen.until("late");
}

#[test]
fn descendants_that_let_go_of_the_terminal_are_not_hung_up() {
    let home = tempfile::tempdir().unwrap();
    let left =
        "(until [ -e go ]; do sleep 0.02; done; echo alive > left) </dev/null >/dev/null 2>&1 &";
    let script = format!(
        "\"$0\" run -q -- sh -c '{left} until [ -e end ]; do sleep 0.02; done'; echo over; read stay"
    );
    let mut user = User::at_terminal(home.path(), &script);
    let keeper = keeper_of(user.watcher());
    fs::write(home.path().join("end"), "").unwrap();
    user.screen.until("over");
    until("the keeper's end", || is_over(keeper).then_some(()));
    fs::write(home.path().join("go"), "").unwrap();
    until("the descendant's word", || {
        fs::read(home.path().join("left"))
            .ok()
            .filter(|text| text == b"alive\n")
    });
}

#[test]
fn what_the_job_printed_comes_before_the_shells_next_word() {
    let home = tempfile::tempdir().unwrap();
    let job = "i=0; while [ $i -lt 2000 ]; do echo line $i; i=$((i+1)); done";
    let mut user = User::at_terminal(
        home.path(),
        &format!("\"$0\" run -q -- sh -c '{job}'; echo next; read stay"),
    );
    user.screen.until("next");
    let text = user.screen.text();
    let (before, _) = text.split_once("next").unwrap();
    let lines: Vec<_> = before
        .lines()
        .filter(|line| line.starts_with("line "))
        .collect();
    assert_eq!(lines.len(), 2000);
    assert!(
        lines
            .iter()
            .enumerate()
            .all(|(at, line)| *line == format!("line {at}"))
    );
}

#[test]
fn a_stderr_that_cannot_be_written_changes_no_code() {
    let home = tempfile::tempdir().unwrap();
    let full = || {
        std::fs::File::options()
            .write(true)
            .open("/dev/full")
            .unwrap()
    };
    let code = |arguments: &[&str]| {
        let mut command = Command::new(LOWTIDE);
        command.args(arguments).env("LOWTIDE_HOME", home.path());
        command
            .stderr(full())
            .stdin(Stdio::null())
            .finish()
            .status
            .code()
    };
    assert_eq!(code(&["run", "--", "/no/such/command"]), Some(127));
    assert_eq!(code(&["run", "--", "sh", "-c", "exit 3"]), Some(3));
    assert_eq!(code(&["judge", "/no/such/file"]), Some(4));
    assert_eq!(code(&["judge", "--no-such-flag"]), Some(2));
    assert_eq!(code(&["run", "--nonsense", "--", "true"]), Some(2));
}
