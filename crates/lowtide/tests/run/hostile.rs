//! A job that calls itself what a terminal would obey, seen by every command: only characters that can be seen
//! come out, and our own line breaks.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::path::Path;
use std::process::{Command, Stdio};

use lowtide_core::text::is_unseen;

use crate::common::{LOWTIDE, Started, Starts, User, until};

/// A line of ours that nobody said, a title, a cleared screen, a turned line, a colour by one character.
const NAME: &str =
    "evil\nlowtide: all is well\x1b]0;title\x07\x1b[2J\u{202e}\u{9b}31m\u{2028}\u{200b}x";
/// What is seen of it where there is room.
const SEEN: &str =
    r"evil\nlowtide: all is well\x1b]0;title\x07\x1b[2J\u{202e}\u{9b}31m\u{2028}\u{200b}x";

/// Names the process itself (fifteen bytes count), says that it is there, and goes on until it is told to end.
const JOB: &str = r#"printf 'a\n\033[2J\302\233\007' >/proc/$$/comm; echo ready; until [ -e go ]; do sleep 0.02; done"#;

fn lowtide(home: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(LOWTIDE);
    command.args(words).env("LOWTIDE_HOME", home);
    command.current_dir(home).env_remove("GITHUB_ACTIONS");
    command
}

/// What a command prints, on stdout and stderr, after it was looked at.
fn printed(what: &str, output: std::process::Output) -> String {
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8(text).unwrap();
    assert!(!text.is_empty(), "{what} says nothing");
    plain(what, &text);
    text
}

fn plain(what: &str, text: &str) {
    let unseen = text.lines().find(|line| line.contains(is_unseen));
    assert_eq!(unseen, None, "{what}: {text}");
    let forged = text
        .lines()
        .find(|line| line.starts_with("lowtide: all is"));
    assert_eq!(forged, None, "{what}: {text}");
}

/// A run of the hostile job that is over, in a folder with such a name too.
fn recorded(home: &Path) -> String {
    fs::write(home.join("go"), "").unwrap();
    let words = ["run", "-i", "20ms", "-o", NAME, "--", "sh", "-c", JOB, NAME];
    printed("run", lowtide(home, &words).finish())
}

#[test]
fn what_a_job_calls_itself_is_shown_and_not_obeyed() {
    let home = tempfile::tempdir().unwrap();
    let told = recorded(home.path());
    assert!(told.contains(SEEN), "{told}");
    for words in [
        &["judge", "last"][..],
        &["judge", NAME],
        &["explain", "last"],
        &["explain", NAME],
        &["check", NAME],
        &["runs"],
        &["runs", "prune", "--keep", "0", "--dry-run"],
        &["report", "last", "--format", "md"],
        &["report", "last", "--format", "svg"],
        &["doctor"],
    ] {
        printed(&words.join(" "), lowtide(home.path(), words).finish());
    }
    let judged = printed("judge", lowtide(home.path(), &["judge", NAME]).finish());
    assert!(judged.contains(SEEN), "{judged}");
    // JSON says the same in its own escapes.
    let json = printed("json", lowtide(home.path(), &["runs", "--json"]).finish());
    let runs: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(runs["runs"][0]["command"][3], NAME);
}

#[test]
fn what_an_error_quotes_is_shown_and_not_obeyed() {
    let home = tempfile::tempdir().unwrap();
    let table = home.path().join("table.csv");
    fs::write(&table, format!("step,{} MB\n1,\x1b[2Jx\n", &NAME[5..])).unwrap();
    let toml = "[check]\n\"\u{202e}a\\nb\" = 1\n";
    fs::write(home.path().join("lowtide.toml"), toml).unwrap();
    for words in [
        &["judge", NAME][..],
        &["explain", NAME],
        &["judge", "table.csv"],
        &["judge", "table.csv", "--column", NAME],
        &["judge", "table.csv", "--unit", NAME],
        &["check", "table.csv"],
        &["export", NAME],
        &["attach", "--find", NAME],
        &["attach", NAME],
        &[NAME],
        &["run", "--", NAME],
        &["run", "--limit", NAME, "--", "true"],
        &["run", "--on", NAME, "true", "--", "true"],
        &["run", "-o", "/dev/null/\x1b[2J\nx", "--", "true"],
        &["serve", "--token-file", "/dev/null/\x1b[2J\nx"],
        &["report", "table.csv", "-o", "/dev/null/\x1b[2J\nx"],
    ] {
        printed(&words.join(" "), lowtide(home.path(), words).finish());
    }
}

/// A hostile job that was not started by us and goes on until it is dropped: in its command line are `NAME`, bytes
/// that are no text and a word to find it by; and it calls itself what clears a screen.
fn found_job(home: &Path, word: &str) -> Started {
    let code = "open('/proc/self/comm', 'w').write('a\\n\\x1b[2J\\x07'); input()";
    let name = OsString::from_vec([NAME.as_bytes(), b"\x9b31m\xff"].concat());
    fs::write(home.join(&name), code).unwrap();
    let mut command = Command::new("python3");
    command.arg(name).arg(word).current_dir(home);
    let job = command.stdin(Stdio::piped()).start();
    let comm = format!("/proc/{}/comm", job.id());
    until("its name", || {
        let comm = fs::read_to_string(&comm).ok()?;
        comm.contains("[2J").then_some(())
    });
    job
}

#[test]
fn a_job_that_was_found_is_shown_and_not_obeyed() {
    let home = tempfile::tempdir().unwrap();
    // Nobody else's job has this in its name.
    let word = home.path().to_str().unwrap();
    let job = found_job(home.path(), word);
    let ps = printed("ps", lowtide(home.path(), &["ps", word]).finish());
    assert!(ps.contains(r"evil\n"), "{ps}");
    let json = lowtide(home.path(), &["ps", word, "--json"]).finish();
    printed("ps --json", json);
    // Two of them: all are listed.
    let twin = found_job(home.path(), word);
    let many = lowtide(home.path(), &["attach", "--find", word]).finish();
    let many = printed("attach --find", many);
    assert!(many.contains("2 training jobs"), "{many}");
    assert_eq!(many.matches(r"evil\n").count(), 2, "{many}");
    drop(twin);
    let pid = job.id().to_string();
    let words = [
        "attach",
        &pid,
        "--no-tui",
        "--duration",
        "400ms",
        "-i",
        "20ms",
    ];
    let attached = printed("attach", lowtide(home.path(), &words).finish());
    assert!(attached.contains("watched"), "{attached}");
}

#[test]
fn the_live_view_and_a_terminal_obey_nothing() {
    let home = tempfile::tempdir().unwrap();
    fs::write(home.path().join("job"), JOB).unwrap();
    fs::write(home.path().join("name"), NAME).unwrap();
    let view = "stty rows 40 cols 160; export TERM=xterm; name=$(cat name); \
        \"$0\" run --tui -i 50ms -- sh job \"$name\"; \
        \"$0\" judge last; \"$0\" explain last; \"$0\" runs; \"$0\" export last --what processes; \
        echo code $?; read stay";
    let mut user = User::at_terminal(home.path(), view);
    // The view draws what the job printed, and the job's name.
    user.screen.until("ready");
    user.screen.until(r"evil\nlow");
    fs::write(home.path().join("go"), "").unwrap();
    user.screen.until("code 0");
    let seen = String::from_utf8_lossy(&user.screen.seen).into_owned();
    for obeyed in [
        "\x1b]0;title",
        "\u{202e}",
        "\u{9b}",
        "\u{2028}",
        "\u{200b}",
        "\x07",
    ] {
        assert!(!seen.contains(obeyed), "{obeyed:?} in {seen:?}");
    }
    // The view clears its screen itself; the name would have done it between two letters.
    assert!(
        !seen.contains("\x1b[2J\\u{202e}") && !seen.contains("\x07\x1b[2J"),
        "{seen:?}"
    );
    assert!(seen.contains(r"\x1b[2J\u{202e}"), "{seen:?}");
}
