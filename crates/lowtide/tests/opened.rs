//! What lowtide opens by itself may be a FIFO with nobody at its other end: it must not wait for one. Without
//! that care every case here hangs.

use std::path::Path;
use std::process::{Command, Output};

use lowtide_recording::FILE_NAME;
use lowtide_testing::Starts;
use rustix::fs::{CWD, FileType, Mode, mknodat};

const LOWTIDE: &str = env!("CARGO_BIN_EXE_lowtide");

fn pipe(path: &Path) {
    mknodat(CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
}

fn asked(home: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(LOWTIDE);
    command.args(args).env("LOWTIDE_HOME", home);
    command.current_dir(home).finish()
}

fn log() -> String {
    let lines = (1..=40).map(|step| format!("Step {step}: RAM: {} MB\n", 1000 + 50 * step));
    lines.collect()
}

#[test]
fn a_pipe_in_the_place_of_a_recording_or_of_settings_holds_nobody_up() {
    let home = tempfile::tempdir().unwrap();
    let run = home.path().join("runs/20260101-000000-train-1");
    std::fs::create_dir_all(&run).unwrap();
    pipe(&run.join(FILE_NAME));
    for name in ["lowtide.toml", "pyproject.toml"] {
        pipe(&home.path().join(name));
    }
    std::fs::write(home.path().join("x.log"), log()).unwrap();
    assert!(asked(home.path(), &["runs"]).status.success());
    assert_eq!(
        asked(home.path(), &["judge", "last"]).status.code(),
        Some(4)
    );
    let folder = run.to_str().unwrap();
    assert_eq!(
        asked(home.path(), &["export", folder]).status.code(),
        Some(4)
    );
    let checked = asked(home.path(), &["check", "x.log", "--max-peak", "1TB"]);
    assert_eq!(checked.status.code(), Some(0), "{checked:?}");
}

#[test]
fn a_pipe_that_somebody_names_is_read_as_stdin_is() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("pipe");
    pipe(&path);
    let writer = std::thread::spawn(move || std::fs::write(path, log()).unwrap());
    let judged = asked(home.path(), &["judge", "pipe", "--json"]);
    writer.join().unwrap();
    let answer = String::from_utf8_lossy(&judged.stdout);
    assert!(answer.contains("40 points: steps from"), "{judged:?}");
}
