//! What tests of all crates share: programs that find the same signals however the tests were started, and that are
//! over with their test, however it ends.
//!
//! Every process of a test is started here. [`Starts`] gives `Command` three further ways to run: [`Starts::start`]
//! for one that is held, [`Starts::finish`] and [`Starts::ends`] for one that is waited for.

mod corpora;
mod family;
mod wait;

use std::io::Read;
use std::ops::{Deref, DerefMut};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Output, Stdio};

use lowtide_sys::sigwait::SignalSet;
use lowtide_sys::spawn::{Dispositions, Start};

pub use corpora::corpora;
use family::{Family, Mark};
pub use wait::{PATIENCE, until};

/// Copies a program, by a process of its own. What a thread of ours starts meanwhile has our open files until it has
/// become its program, and a file that somebody may still write to cannot be run.
pub fn copy_program(from: impl AsRef<Path>, to: impl AsRef<Path>) {
    let mut copies = Command::new("cp");
    let status = copies.arg(from.as_ref()).arg(to.as_ref()).ends();
    assert!(status.success(), "{copies:?}: {status}");
}

/// A running program. When this is dropped (a failed assertion does that, too) the program has ended, and all that it
/// started: children of its children, and those in sessions of their own.
#[derive(Debug)]
pub struct Started {
    child: Child,
    family: Family,
}

impl Deref for Started {
    type Target = Child;

    fn deref(&self) -> &Child {
        &self.child
    }
}

impl DerefMut for Started {
    fn deref_mut(&mut self) -> &mut Child {
        &mut self.child
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        self.family.end();
        let _ = self.child.wait();
    }
}

impl Started {
    /// Waits for its end, and for that of what it writes into pipes.
    pub fn finish(mut self) -> Output {
        drop(self.child.stdin.take());
        let mut errors = self.child.stderr.take();
        let reader = std::thread::spawn(move || all(&mut errors));
        let stdout = all(&mut self.child.stdout.take());
        let stderr = reader.join().expect("reading does not panic");
        let status = self.child.wait().expect("a child that can be waited for");
        Output {
            status,
            stdout,
            stderr,
        }
    }
}

fn all(pipe: &mut Option<impl Read>) -> Vec<u8> {
    let mut bytes = Vec::new();
    if let Some(pipe) = pipe {
        pipe.read_to_end(&mut bytes).expect("a readable pipe");
    }
    bytes
}

/// Ways to run a command in a test.
pub trait Starts {
    /// Starts it with no signal ignored or blocked.
    fn start(&mut self) -> Started;

    /// The same with a place and signals that the test chooses.
    fn start_with(&mut self, start: Start) -> Started;

    /// Runs it to its end and takes what it prints; it has no input.
    fn finish(&mut self) -> Output;

    /// Runs it to its end.
    fn ends(&mut self) -> ExitStatus;
}

impl Starts for Command {
    fn start(&mut self) -> Started {
        self.start_with(Start {
            // A shell can neither trap nor reset what was ignored when it began.
            dispositions: Dispositions::Ignoring(SignalSet::default()),
            ..Start::default()
        })
    }

    fn start_with(&mut self, start: Start) -> Started {
        let mark = Mark::put(self);
        start.apply(self);
        let child = self
            .spawn()
            .unwrap_or_else(|error| panic!("{self:?}: {error}"));
        let family = Family::of(&child, mark);
        Started { child, family }
    }

    fn finish(&mut self) -> Output {
        self.stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        self.start().finish()
    }

    fn ends(&mut self) -> ExitStatus {
        self.start().wait().expect("a child that can be waited for")
    }
}
