//! Copies of one moment of a process that writes without a pause.

use lowtide_sys::memory::{Copied, CopyError, Learned, Mappings, Recopy};
use lowtide_sys::stop::{StopError, while_stopped};
use rustix::process::Signal;

use super::*;

const WORDS: u64 = 4000;
const STRIDE: u64 = 4096;
const PLENTY: u64 = 1 << 30;

struct Writer {
    job: Job,
    start: u64,
    proc: Proc,
    live: Live,
}

impl Writer {
    fn start() -> Writer {
        let mut job = target(&["moments", &WORDS.to_string()]);
        let start = job.until("ready").parse().unwrap();
        let proc = Proc::at("/proc").unwrap();
        let live = Live::open(&proc, job.pid(), Deadline::none()).unwrap();
        Writer {
            job,
            start,
            proc,
            live,
        }
    }

    fn words(&self, memory: &impl Memory) -> Vec<u64> {
        let word = |nth: u64| {
            let mut bytes = [0; 8];
            assert_eq!(memory.read(self.start + nth * STRIDE, &mut bytes), 8);
            u64::from_le_bytes(bytes)
        };
        (0..WORDS).map(word).collect()
    }

    /// The first pass.
    fn learn(&self) -> Learned<'_, Live> {
        let mappings = Mappings::without_sizes(&self.proc, self.job.pid(), Deadline::none());
        let learned = Learned::new(&self.live, &mappings.unwrap());
        self.words(&learned);
        learned
    }

    fn copy<'a>(&'a self, learned: Learned<'a, Live>) -> Copied<'a, Live> {
        let pid = self.job.pid();
        let ready = Recopy::prepare(&self.proc, pid, learned, PLENTY).unwrap();
        let (copied, held) =
            while_stopped(pid, LONG, |stopped| ready.copy(&self.proc, stopped)).unwrap();
        assert_eq!(held.threads, 2);
        copied.unwrap()
    }
}

/// At any moment the first words have a number and all others the one before it.
fn is_of_one_moment(words: &[u64]) -> bool {
    let (first, last) = (words[0], words[words.len() - 1]);
    words.is_sorted_by(|one, other| one >= other) && first - last <= 1
}

#[test]
fn a_copy_is_of_one_moment() {
    let writer = Writer::start();
    for _ in 0..30 {
        let copied = writer.copy(writer.learn());
        let words = writer.words(&copied);
        assert!(is_of_one_moment(&words), "{words:?}");
        // It stays what it is while the process goes on.
        until("the process to write on", || {
            let now = writer.words(&writer.live);
            (now[0] > words[0] + 1).then_some(())
        });
        assert_eq!(writer.words(&copied), words);
        assert_eq!((copied.asked_late(), copied.gone()), (0, 0));
    }
}

#[test]
fn what_grew_since_the_first_pass_is_in_it() {
    let mut writer = Writer::start();
    // What a first pass knows of the process is kept, and the process goes on.
    let before = Mappings::without_sizes(&writer.proc, writer.job.pid(), Deadline::none()).unwrap();
    writer.job.tell();
    let later: u64 = writer.job.until("grown").parse().unwrap();
    let copied = writer.copy(Learned::new(&writer.live, &before));
    let mut bytes = vec![0; 1 << 20];
    assert_eq!(copied.read(later, &mut bytes), bytes.len());
    let (words, _) = bytes.as_chunks::<8>();
    assert!(words.iter().all(|word| u64::from_le_bytes(*word) == 42));
    assert_eq!(copied.asked_late(), 0);
    let mapped = |mappings: &Mappings| {
        (mappings.list.iter()).any(|one| (one.start..one.end).contains(&later))
    };
    assert!(mapped(copied.mappings()) && !mapped(&before));
}

/// A copy of a process that dies is none.
#[test]
fn a_process_that_dies_leaves_no_copy() {
    let writer = Writer::start();
    let pid = writer.job.pid();
    let ready = Recopy::prepare(&writer.proc, pid, writer.learn(), PLENTY).unwrap();
    let result = while_stopped(pid, LONG, |stopped| {
        send(pid, Signal::KILL);
        until("its memory to be gone", || {
            let mappings = Mappings::without_sizes(&writer.proc, pid, Deadline::none());
            mappings.is_err().then_some(())
        });
        let copied = ready.copy(&writer.proc, stopped);
        assert!(
            matches!(copied, Err(CopyError::Refused { .. })),
            "{copied:?}"
        );
    });
    assert!(matches!(result, Err(StopError::Ended { .. })), "{result:?}");
}
