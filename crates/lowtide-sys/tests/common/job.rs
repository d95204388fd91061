//! A real program for a test: it says when it is ready, and is ended with the test.

use std::io::{BufRead, BufReader, Write};
use std::process::{ChildStdin, ChildStdout, Command, Stdio};

use lowtide_testing::{Started, Starts};

/// A started program that is ended with the test.
pub(crate) struct Job {
    child: Started,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Job {
    pub(crate) fn start(command: &mut Command) -> Job {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).start();
        let input = child.stdin.take().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        Job {
            child,
            input,
            output,
        }
    }

    pub(crate) fn python(code: &str) -> Job {
        Job::start(Command::new("python3").args(["-c", code]))
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Waits until the program prints this line; returns the one before it.
    pub(crate) fn until(&mut self, word: &str) -> String {
        let mut before = String::new();
        loop {
            let mut line = String::new();
            let count = self.output.read_line(&mut line).unwrap();
            assert!(count > 0, "the program ended before it said `{word}`");
            if line.trim() == word {
                return before;
            }
            before = line.trim().to_owned();
        }
    }

    /// Lets the program go on.
    pub(crate) fn tell(&mut self) {
        self.input.write_all(b"\n").unwrap();
        self.input.flush().unwrap();
    }
}
