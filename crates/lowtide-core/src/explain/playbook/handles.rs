//! Threads and files that a job opens and does not let go of.

use crate::units::show_bytes;
use crate::verdict::Class;

use super::super::signs::{Climb, Signs};
use super::KnownCause;
use super::experiment::{Expect, Recipe, Trial};
use super::sign::{BARE, Sign, doubt, goes_on, not, open, seen, unknown};

/// Threads or open files that are more than a pool that starts late: so many, and so many times.
const MANY: f64 = 10.0;
const TIMES: f64 = 2.0;
/// What an open file holds, at most: a buffer is 8 kB by default, that of a reader some hundred. A loader
/// worker has a dozen files open for the batches on their way, and leaks megabytes for other reasons.
const MOST_A_FILE: f64 = 1e6;
/// A count climbs with the work if so much of its rise came in the second half; a pool that starts late
/// (threads of BLAS, a loader's queues, shards that are opened once) is there and stays. Files are counted
/// every few seconds, so that in a short run the first and the last count are all there is.
const STILL: f64 = 0.2;

pub(super) const CAUSES: &[KnownCause] = &[
    KnownCause {
        id: "P41",
        title: "threads are started and never end",
        cause: "a thread or pool made in each step, or that waits and does not end; each has a stack, an arena and what it holds",
        fix: "one pool for the run; join threads; daemon threads that get an end signal",
        sources: &["https://docs.python.org/3/library/threading.html"],
        blamed: None,
        spike: false,
        unseen: false,
        signature: threads,
        experiment: Trial {
            says: "threading.enumerate() or py-spy dump at two steps",
            change: Recipe::Probe(&[]),
            expect: Expect::Says("the same waiting function, ever more often"),
        },
    },
    KnownCause {
        id: "P42",
        title: "files are opened and never closed",
        cause: "open() without close() in the loader or logger; each file has a buffer",
        fix: "`with open(…)`; close readers",
        sources: &["https://docs.python.org/3/library/functions.html#open"],
        blamed: None,
        spike: false,
        unseen: false,
        signature: open_files,
        experiment: Trial {
            says: "the same job with warnings about unclosed files",
            change: Recipe::Env(&[
                ("PYTHONWARNINGS", "always::ResourceWarning"),
                ("PYTHONTRACEMALLOC", "5"),
            ]),
            expect: Expect::Says("the warning names where they were opened"),
        },
    },
];

fn threads(signs: &Signs) -> Vec<Sign> {
    match &signs.threads {
        Some(threads) => vec![more(signs, "threads", threads), goes_on(signs)],
        None => vec![unknown(BARE)],
    }
}

fn open_files(signs: &Signs) -> Vec<Sign> {
    match &signs.files {
        Some(files) => vec![
            more(signs, "open files", files),
            goes_on(signs),
            a_file_holds(signs.course.grew / (files.last - files.first).max(1.0)),
        ],
        None => vec![unknown("open files were not counted")],
    }
}

fn a_file_holds(bytes: f64) -> Sign {
    let told = format!("{} of growth for each", show_bytes(bytes));
    if bytes <= MOST_A_FILE {
        seen(told)
    } else {
        doubt(told)
    }
}

fn more(signs: &Signs, what: &str, count: &Climb) -> Sign {
    let (first, last) = (count.first, count.last);
    let told = format!("{what} {first:.0} -> {last:.0}");
    if last - first < MANY || last < TIMES * first {
        not(told)
    } else if signs.class != Class::Leak && last - count.half < STILL * (last - first) {
        open(format!(
            "{told}, and {:.0} by halfway: a pool that starts late stays like that; another look in a while would tell",
            count.half
        ))
    } else {
        seen(told)
    }
}
