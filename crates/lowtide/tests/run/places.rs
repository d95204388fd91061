//! The same as an ordinary user, in a pid namespace, and with little around us.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use rustix::process::geteuid;

use crate::common::{LOWTIDE, Starts};

const JOB: &str = "echo user $(id -u); echo pid $$; exit 5";

fn says(mut command: Command, home: &Path) -> (Option<i32>, String) {
    let out = command.env("LOWTIDE_HOME", home).current_dir(home).finish();
    let text = String::from_utf8_lossy(&out.stdout).into_owned();
    (
        out.status.code(),
        text + &String::from_utf8_lossy(&out.stderr),
    )
}

#[test]
fn as_an_ordinary_user() {
    let home = tempfile::tempdir().unwrap();
    if !geteuid().is_root() {
        let mut plain = Command::new(LOWTIDE);
        plain.args(["run", "-q", "--", "sh", "-c", JOB]);
        assert_eq!(says(plain, home.path()).0, Some(5));
        return;
    }
    // The build directory may be closed to others; a place of theirs is not.
    let binary = home.path().join("lowtide");
    fs::copy(LOWTIDE, &binary).unwrap();
    fs::set_permissions(home.path(), fs::Permissions::from_mode(0o777)).unwrap();
    let mut other = Command::new("setpriv");
    other
        .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
        .arg(&binary);
    other.args(["run", "-q", "--", "sh", "-c", JOB]);
    let (code, text) = says(other, home.path());
    assert_eq!(code, Some(5), "{text}");
    assert!(text.contains("user 65534"), "{text}");
}

#[test]
fn in_a_pid_namespace() {
    let home = tempfile::tempdir().unwrap();
    let unshare = ["-r", "-p", "-f", "--mount-proc"];
    let possible = Command::new("unshare")
        .args(unshare)
        .arg("true")
        .finish()
        .status
        .success();
    if !possible {
        eprintln!("not run: this machine allows no pid namespaces");
        return;
    }
    let mut inside = Command::new("unshare");
    inside
        .args(unshare)
        .args([LOWTIDE, "run", "-q", "--", "sh", "-c", JOB]);
    let (code, text) = says(inside, home.path());
    assert_eq!(code, Some(5), "{text}");
    // The watcher is 1, the keeper 2.
    assert!(text.contains("pid 3"), "{text}");
}

#[test]
fn the_job_gets_our_environment_and_directory() {
    let home = tempfile::tempdir().unwrap();
    let mut lowtide = Command::new(LOWTIDE);
    lowtide
        .args(["run", "-q", "--", "sh", "-c", "echo $WORD; pwd"])
        .env("WORD", "for the job");
    let (code, text) = says(lowtide, home.path());
    assert_eq!(code, Some(0));
    assert!(
        text.starts_with(&format!("for the job\n{}\n", home.path().display())),
        "{text}"
    );
}

#[test]
fn the_private_words_are_no_commands() {
    for word in ["__keeper", "__leader"] {
        let out = Command::new(LOWTIDE).arg(word).finish();
        assert_eq!(out.status.code(), Some(125));
        assert!(String::from_utf8_lossy(&out.stderr).contains("hint: use `lowtide run"));
    }
}
