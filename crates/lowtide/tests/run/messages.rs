//! Our messages among what the job prints: on lines of their own, whatever the job draws, and nothing of the job's
//! is torn or lost.

use std::fs;
use std::process::{Command, Stdio};

use rustix::fs::{CWD, Mode, mkfifoat};

use crate::common::{LOWTIDE, Reader, Starts, until};
use crate::view::Seeing;

/// What is said of any job that lives for two seconds.
const SAID: &str = "lowtide: watching";

/// Prints its bar once, again when it is told to, and ends when it is told to. Without children, so that there is no
/// doubt about whom we watch.
const BAR: &str =
    r#"printf "begin\n\r 10%% loss=2.219]"; read x <go; printf "\r 99%% loss=1.000]"; read x <end"#;

/// A folder with what [`BAR`] is told by.
fn home() -> tempfile::TempDir {
    let home = tempfile::tempdir().unwrap();
    for name in ["go", "end"] {
        let read_write = Mode::RUSR | Mode::WUSR;
        mkfifoat(CWD, home.path().join(name), read_write).unwrap();
    }
    home
}

/// Waits until the job reads it.
fn tell(home: &tempfile::TempDir, name: &str) {
    fs::write(home.path().join(name), "\n").unwrap();
}

fn rows(seeing: &mut Seeing) -> Vec<String> {
    let screen = seeing.screen();
    let (_, columns) = screen.size();
    screen
        .rows(0, columns.get())
        .map(|row| row.trim_end().to_owned())
        .collect()
}

/// Rows that say something of ours and do not begin with it.
fn torn(rows: &[String]) -> Vec<&String> {
    let ours = |row: &&String| row.find("lowtide: ").is_some_and(|at| at > 0);
    rows.iter().filter(ours).collect()
}

#[test]
fn a_bar_at_the_terminal_comes_back_below_the_message() {
    let home = home();
    for feed in ["", "</dev/null"] {
        let script = format!("\"$0\" run -- sh -c '{BAR}' {feed}; echo over; read stay");
        let mut seeing = Seeing::new(home.path(), (12, 200), &script);
        seeing.reads(SAID);
        let seen = rows(&mut seeing);
        let at = seen.iter().position(|row| row.starts_with(SAID)).unwrap();
        assert_eq!(seen[at - 1], "begin", "{seen:#?}");
        assert_eq!(seen[at + 1], " 10% loss=2.219]", "{seen:#?}");
        tell(&home, "go");
        seeing.sees("the next bar in its place", |screen| {
            let row = screen.rows(0, 200).nth(at + 1).unwrap();
            row.trim_end() == " 99% loss=1.000]"
        });
        tell(&home, "end");
        seeing.reads("over");
        let seen = rows(&mut seeing);
        assert!(torn(&seen).is_empty(), "{seen:#?}");
    }
}

#[test]
fn a_job_that_dies_in_the_middle_of_a_bar_leaves_the_verdict_its_own_line() {
    let home = tempfile::tempdir().unwrap();
    let script =
        r#""$0" run -- sh -c 'printf "\r 10%% loss=2.219]"; kill -9 $$'; echo over; read stay"#;
    let mut seeing = Seeing::new(home.path(), (50, 200), script);
    seeing.reads("over");
    let seen = rows(&mut seeing);
    assert_eq!(seen[0], " 10% loss=2.219]", "{seen:#?}");
}

#[test]
fn a_bar_that_never_rests_is_not_torn_either() {
    let home = tempfile::tempdir().unwrap();
    let job = r#"i=0; until [ -e end ]; do i=$((i+1)); printf "\r%05d of many]" $i; done; echo; echo last $i"#;
    let script = format!("\"$0\" run -- sh -c '{job}'; echo over; read stay");
    let mut seeing = Seeing::new(home.path(), (50, 200), &script);
    seeing.reads(SAID);
    fs::write(home.path().join("end"), "").unwrap();
    seeing.reads("over");
    let seen = rows(&mut seeing);
    assert!(seen[0].starts_with(SAID), "{seen:#?}");
    assert!(torn(&seen).is_empty(), "{seen:#?}");
    let bytes = String::from_utf8_lossy(&seeing.user.screen.seen).into_owned();
    let last = seen.iter().find_map(|row| row.strip_prefix("last "));
    let last: u32 = last.unwrap().parse().unwrap();
    let mut from = 0;
    for number in 1..=last {
        let bar = format!("\r{number:05} of many]");
        let at = bytes[from..].find(&bar);
        from += at.unwrap_or_else(|| panic!("{number} of {last} is torn")) + bar.len();
    }
}

#[test]
fn in_a_pipe_a_line_is_ended_first_and_the_jobs_bytes_stay() {
    let home = home();
    let mut command = Command::new(LOWTIDE);
    command.args(["run", "--", "sh", "-c", &format!("exec 2>&1; {BAR}")]);
    command.env("LOWTIDE_HOME", home.path());
    command.current_dir(home.path()).stdin(Stdio::null());
    let (ours, theirs) = std::io::pipe().unwrap();
    command.stdout(theirs.try_clone().unwrap()).stderr(theirs);
    let mut job = command.start();
    drop(command);
    let mut reader = Reader::new(ours);
    reader.until(SAID);
    tell(&home, "go");
    tell(&home, "end");
    reader.rest();
    job.wait().unwrap();
    let all = String::from_utf8_lossy(&reader.seen).into_owned();
    let lines: Vec<&str> = all.split('\n').collect();
    assert_eq!(lines[..2], ["begin", "\r 10% loss=2.219]"]);
    assert!(lines[2].starts_with(SAID), "{all:?}");
    assert_eq!(lines[3], "\r 99% loss=1.000]", "{all:?}");
}

#[test]
fn in_a_file_that_both_write_messages_have_lines_of_their_own() {
    let home = home();
    let log = home.path().join("log");
    let mut command = Command::new(LOWTIDE);
    command.args(["run", "--", "sh", "-c", BAR]);
    command.env("LOWTIDE_HOME", home.path());
    command.current_dir(home.path()).stdin(Stdio::null());
    let file = fs::File::create(&log).unwrap();
    command.stdout(file.try_clone().unwrap()).stderr(file);
    let mut job = command.start();
    let read = || fs::read_to_string(&log).unwrap();
    until("a message", || read().contains(SAID).then_some(()));
    tell(&home, "go");
    until("the next bar", || read().contains("99%").then_some(()));
    tell(&home, "end");
    job.wait().unwrap();
    let all = read();
    let lines: Vec<&str> = all.split('\n').collect();
    assert_eq!(lines[..2], ["begin", "\r 10% loss=2.219]"]);
    assert!(lines[2].starts_with(SAID), "{all:?}");
    assert_eq!(lines[3], "\r 99% loss=1.000]", "{all:?}");
    assert!(lines[4].starts_with("lowtide: "), "{all:?}");
}
