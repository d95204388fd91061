//! Real process trees for tests: small Python programs that say when they are ready.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use lowtide_core::sample::Sample;
use lowtide_core::units::Micros;
use lowtide_sys::sampler::{Change, Options, Sampler};

/// A started program that is ended with the test.
pub struct Job {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Job {
    pub fn start(command: &mut Command) -> Job {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("{command:?}: {error}"));
        let input = child.stdin.take().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        Job {
            child,
            input,
            output,
        }
    }

    pub fn python(code: &str) -> Job {
        Job::start(Command::new("python3").args(["-c", code]))
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Waits until the program prints this line.
    pub fn until(&mut self, word: &str) {
        let mut line = String::new();
        loop {
            line.clear();
            let count = self.output.read_line(&mut line).unwrap();
            assert!(count > 0, "the program ended before it said `{word}`");
            if line.trim() == word {
                return;
            }
        }
    }

    /// Lets the program go on.
    pub fn tell(&mut self) {
        self.input.write_all(b"\n").unwrap();
        self.input.flush().unwrap();
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A sampler with a clock of its own: one second per tick.
pub struct Eye {
    pub sampler: Sampler,
    pub sample: Sample,
    pub changes: Vec<Change>,
    now: Micros,
}

impl Eye {
    pub fn on(options: Options) -> Eye {
        Eye {
            sampler: Sampler::new(options).unwrap(),
            sample: Sample::default(),
            changes: Vec::new(),
            now: Micros(0),
        }
    }

    pub fn tick(&mut self) -> &Sample {
        self.now = Micros(self.now.0 + 1_000_000);
        let changes = self.sampler.tick(self.now, &mut self.sample).unwrap();
        self.changes.extend(changes);
        &self.sample
    }

    /// Ticks until something is so; the clock of the sampler moves on, the test does not sleep.
    pub fn until(&mut self, what: &str, mut done: impl FnMut(&Sampler, &Sample) -> bool) {
        for _ in 0..100_000 {
            self.tick();
            if done(&self.sampler, &self.sample) {
                return;
            }
        }
        panic!("never came: {what}");
    }
}
