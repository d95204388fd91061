//! What the data rules out whatever the cause, and what it leaves open: said because people lose days
//! on the first and forget the second.

use crate::judge::words::{percent, place, stretch};
use crate::look::Kind;
use crate::units::show_bytes;
use crate::verdict::{Axis, Class};

use super::Statement;
use super::signs::Signs;

/// Below this share of the growth something is flat.
const FLAT: f64 = 0.1;
/// File pages that grew by this share of the level are worth a word.
const FILE_PAGES: f64 = 0.1;

pub(crate) fn ruled_out(signs: &Signs) -> Vec<Statement> {
    [
        not_a_leak(signs),
        not_tensors(signs),
        not_the_workers(signs),
        not_the_heap(signs),
        not_files(signs),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn say(about: &str, says: String) -> Option<Statement> {
    Some(Statement {
        about: about.to_owned(),
        says,
    })
}

fn not_a_leak(signs: &Signs) -> Option<Statement> {
    let at = signs
        .course
        .settled
        .filter(|_| signs.class == Class::WarmUp)?;
    let with = match signs.epoch {
        Some(epoch) if epoch.with_it => " with the first epoch",
        _ => "",
    };
    say(
        "a leak",
        format!(
            "growth ended at {}{with}, and nothing came in the {} since",
            place(signs.axis, at),
            stretch(signs.axis, signs.after())
        ),
    )
}

fn not_tensors(signs: &Signs) -> Option<Statement> {
    let inside = signs.inside.as_ref()?;
    let (first, last) = (inside.span.first.host_bytes, inside.span.last.host_bytes);
    (signs.course.grew > 0.0 && inside.held > 0.0 && last - first < FLAT * inside.held)
        .then(|| {
            say(
                "Python tensors",
                format!(
                    "tensor storages {} -> {} while memory grew by {}",
                    show_bytes(first),
                    show_bytes(last),
                    show_bytes(inside.held)
                ),
            )
        })
        .flatten()
}

fn not_the_workers(signs: &Signs) -> Option<Statement> {
    let workers = signs.role("loader-worker")?;
    let grew = signs.course.grew;
    if grew <= 0.0 {
        return None;
    }
    if signs.job.trains && workers.grew < FLAT * grew {
        return say(
            "loader workers",
            format!(
                "{} workers grew by {} in all: the growth is the trainer's",
                workers.count,
                show_bytes(workers.grew.max(0.0))
            ),
        );
    }
    let trainer = signs.watched_grew?;
    (signs.job.role == "loader-worker" && trainer < FLAT * grew)
        .then(|| {
            say(
                "the trainer",
                format!(
                    "it grew by {}: the growth is the worker's",
                    show_bytes(trainer.max(0.0))
                ),
            )
        })
        .flatten()
}

fn not_the_heap(signs: &Signs) -> Option<Statement> {
    let memory = signs.memory_that_grew()?;
    let heap = signs.share(&[
        Kind::PythonLive,
        Kind::PythonSlack,
        Kind::GlibcLive,
        Kind::GlibcFree,
        Kind::GlibcHoles,
        Kind::GlibcMapped,
    ])?;
    let largest = memory.parts.first()?;
    // Anonymous memory of no known kind may be a heap that the look did not know.
    (signs.course.grew > 0.0 && heap < FLAT && largest.kind == Kind::Shared)
        .then(|| {
            say(
                "the heap",
                format!(
                    "malloc and Python took {} of the growth; it is in {}",
                    percent(heap.max(0.0)),
                    largest.name
                ),
            )
        })
        .flatten()
}

fn not_files(signs: &Signs) -> Option<Statement> {
    let parts = signs.parts.as_ref()?;
    let file = parts.last.file - parts.first.file;
    (file >= FILE_PAGES * signs.course.level.max(1.0))
        .then(|| {
            say(
                "file pages",
                format!(
                    "{} more pages of mapped files: the kernel can drop them, they are no leak",
                    show_bytes(file)
                ),
            )
        })
        .flatten()
}

/// Gaps that stand behind many untested entries, said once.
pub(crate) fn untested(signs: &Signs) -> Vec<Statement> {
    let mut open = Vec::new();
    if signs.course.grew <= 0.0 {
        return open;
    }
    if signs.recorded && signs.memory.is_none() {
        open.extend(say(
            "where the bytes are",
            "there are no two looks into the process (runs of 20 s and more have them)".to_owned(),
        ));
    }
    if signs.axis != Axis::Step {
        open.extend(say(
            "what it grows with",
            "steps are not known: the callback tells them, or output like `step 10/500`".to_owned(),
        ));
    }
    if signs.job.libtorch && signs.job.trains {
        open.extend(say(
            "new input shapes",
            "shapes are not counted: a run with padded batches would tell".to_owned(),
        ));
    }
    open
}
