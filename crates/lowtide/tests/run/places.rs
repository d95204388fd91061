//! The same as an ordinary user, in a pid namespace, and with little around us.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::process::geteuid;

use crate::common::{LOWTIDE, Starts, children, until};

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
    lowtide_testing::copy_program(LOWTIDE, &binary);
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

/// Every file below a folder.
fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        // The link to a recording that was put elsewhere leads to what is looked at anyway.
        if path.is_symlink() {
            continue;
        }
        if path.is_dir() {
            files(&path, found);
        } else {
            found.push(path);
        }
    }
}

/// The job kills itself, so that there is a post-mortem too; its child has the word in its own command line.
#[test]
fn with_no_command_nothing_of_it_is_written() {
    const WORD: &str = "xyzzyplugh";
    let script = "sh -c 'until [ -e go ]; do sleep 0.02; done' xyzzyplugh-child; kill -9 $$";
    let lowtide = |home: &Path, words: &[&str]| {
        let mut command = Command::new(LOWTIDE);
        command.args(words).env("LOWTIDE_HOME", home.join("home"));
        command.current_dir(home);
        command
    };
    for (no_command, is_there) in [(&["--no-command"][..], false), (&[], true)] {
        let home = tempfile::tempdir().unwrap();
        let run = ["run", "-i", "20ms", "-o", "by-run"];
        let job = [
            "--",
            "sh",
            "-c",
            script,
            "xyzzyplugh.py",
            "--key",
            "xyzzyplugh",
        ];
        let started = lowtide(home.path(), &[&run, no_command, &job].concat())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .start();
        let job = until("the job's child", || {
            let keeper = *children(started.id()).first()?;
            let job = *children(keeper).first()?;
            (!children(job).is_empty()).then_some(job)
        });
        let pid = job.to_string();
        let attach = [
            "attach",
            &pid,
            "--duration",
            "300ms",
            "-i",
            "20ms",
            "-o",
            "by-attach",
        ];
        lowtide(home.path(), &[&attach, no_command].concat()).finish();
        fs::write(home.path().join("go"), "").unwrap();
        started.finish();
        for name in ["by-run", "by-attach"] {
            for what in ["processes", "samples", "logs"] {
                let table = format!("{name}-{what}.csv");
                lowtide(home.path(), &["export", name, "--what", what, "-o", &table]).ends();
            }
            for ending in ["html", "md", "svg"] {
                let file = format!("{name}.{ending}");
                lowtide(home.path(), &["report", name, "-o", &file]).ends();
            }
            for verb in ["judge", "explain"] {
                let output = lowtide(home.path(), &[verb, name, "--json"]).finish();
                fs::write(home.path().join(format!("{name}-{verb}")), output.stdout).unwrap();
            }
        }
        let list = lowtide(home.path(), &["runs", "--json"]).finish();
        fs::write(home.path().join("list"), list.stdout).unwrap();
        let mut all = Vec::new();
        files(home.path(), &mut all);
        assert!(all.len() > 10, "{all:?}");
        let has_word = |path: &PathBuf| {
            let text = fs::read(path).unwrap();
            let word = WORD.as_bytes();
            text.windows(word.len()).any(|window| window == word)
                || path.to_string_lossy().contains(WORD)
        };
        let with_word: Vec<_> = all.iter().filter(|path| has_word(path)).collect();
        assert_eq!(!with_word.is_empty(), is_there, "{with_word:?}");
        let names = fs::read_dir(home.path().join("home/runs")).unwrap();
        let named = names
            .flatten()
            .any(|run| run.file_name().to_string_lossy().contains(WORD));
        assert_eq!(named, is_there);
    }
}
