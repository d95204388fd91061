//! A user for tests of `lowtide run`: starts the real binary on pipes or at a terminal of its own, reads what comes,
//! types, and waits for conditions.

use std::fs;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};

use lowtide_sys::pty::Pty;
use lowtide_sys::sigwait::SignalSet;
use lowtide_sys::spawn::{Dispositions, Place, Start};
pub(crate) use lowtide_testing::{PATIENCE, Started, Starts, until};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{read, write};

pub(crate) const LOWTIDE: &str = env!("CARGO_BIN_EXE_lowtide");

/// `lowtide run -- sh -c SCRIPT`, with its recordings out of the way.
pub(crate) fn run(home: &Path, script: &str) -> Command {
    let mut command = Command::new(LOWTIDE);
    command.args(["run", "-q", "-i", "20ms", "--", "sh", "-c", script]);
    command.env("LOWTIDE_HOME", home).current_dir(home);
    command.stdin(Stdio::null());
    command
}

/// Reads a pipe or terminal piece by piece.
pub(crate) struct Reader {
    pub fd: OwnedFd,
    pub seen: Vec<u8>,
}

impl Reader {
    pub(crate) fn new(fd: impl Into<OwnedFd>) -> Self {
        Self {
            fd: fd.into(),
            seen: Vec::new(),
        }
    }

    /// Reads on, at most this much; false at the end.
    pub(crate) fn more(&mut self, most: usize) -> bool {
        let mut fds = [PollFd::new(&self.fd, PollFlags::IN)];
        let patience = Timespec::try_from(PATIENCE).unwrap();
        assert!(
            poll(&mut fds, Some(&patience)).unwrap() > 0,
            "nothing came after: {}",
            self.text()
        );
        let mut buffer = vec![0; most];
        // EIO: the terminal's other side is closed.
        let got = read(&self.fd, &mut buffer[..]).unwrap_or(0);
        self.seen.extend(&buffer[..got]);
        got > 0
    }

    /// Reads until this text has come.
    pub(crate) fn until(&mut self, text: &str) {
        while !self.text().contains(text) {
            assert!(
                self.more(4096),
                "the end came before {text:?}: {}",
                self.text()
            );
        }
    }

    pub(crate) fn rest(&mut self) -> String {
        while self.more(65536) {}
        self.text()
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.seen).replace('\r', "")
    }
}

/// Somebody at a terminal, with a shell that runs a script.
pub(crate) struct User {
    pub screen: Reader,
    pub shell: Started,
}

impl User {
    /// `$0` in the script is lowtide.
    pub(crate) fn at_terminal(home: &Path, script: &str) -> Self {
        let Pty { master, slave } = Pty::open().unwrap();
        let mut shell = Command::new("sh");
        shell
            .args(["-c", script, LOWTIDE])
            .env("LOWTIDE_HOME", home)
            .current_dir(home);
        shell.stdin(slave.try_clone().unwrap());
        shell.stdout(slave.try_clone().unwrap());
        shell.stderr(slave.try_clone().unwrap());
        let start = Start {
            place: Place::Leader(slave),
            dispositions: Dispositions::Ignoring(SignalSet::default()),
            ..Start::default()
        };
        let user = Self {
            screen: Reader::new(master),
            shell: shell.start_with(start),
        };
        // The command still holds the terminal's other side, whose end tests read to.
        drop(shell);
        user
    }

    /// Closes the terminal; what ran at it is seen to by the kernel, and is ours until the shell is dropped.
    pub(crate) fn closes_terminal(self) -> Started {
        self.shell
    }

    pub(crate) fn types(&self, keys: &[u8]) {
        assert_eq!(write(&self.screen.fd, keys).unwrap(), keys.len());
    }

    pub(crate) fn ends(&mut self) -> ExitStatus {
        self.shell.wait().unwrap()
    }

    pub(crate) fn watcher(&self) -> u32 {
        child_named(self.shell.id(), "lowtide")
    }
}

pub(crate) fn children(pid: u32) -> Vec<u32> {
    let list = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    list.split_whitespace()
        .map(|word| word.parse().unwrap())
        .collect()
}

/// The child by this name, when it is there.
fn child_named(parent: u32, name: &str) -> u32 {
    until(name, || {
        let comm = |pid| fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
        children(parent)
            .into_iter()
            .find(|pid| comm(*pid).trim() == name)
    })
}

pub(crate) fn keeper_of(watcher: u32) -> u32 {
    child_named(watcher, "lowtide-keeper")
}

/// The letter for a process's state (`T` stopped, `Z` ended but not waited for); None when it is gone.
pub(crate) fn state(pid: u32) -> Option<char> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(") ")?.1.chars().next()
}

pub(crate) fn is_over(pid: u32) -> bool {
    state(pid).is_none_or(|state| state == 'Z')
}
