//! What the data rules out whatever the cause, and what it leaves open: said because people lose days
//! on the first and forget the second.

use crate::judge::words::{percent, place, stretch};
use crate::look::MemoryClass;
use crate::units::show_bytes;
use crate::verdict::{Axis, Class};

use super::Statement;
use super::hook::Hook;
use super::playbook;
use super::signs::Signs;

/// Below this share of the growth something is flat.
const FLAT: f64 = 0.1;
/// A kind of memory carries the growth from this share on.
const CARRIES: f64 = 0.5;
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
    if signs.class != Class::WarmUp {
        return None;
    }
    let Some(at) = signs.course.settled else {
        let bound = signs.bound.as_ref()?;
        let says = format!("its end is known, though not reached yet: {}", bound.why);
        return say("a leak", says);
    };
    let with = match signs.epoch {
        Some(epoch) if epoch.with_it => " with the first epoch",
        _ => "",
    };
    let since = match signs.course.creeps {
        true => "it only creeps",
        false => "nothing came",
    };
    say(
        "a leak",
        format!(
            "growth ended at {}{with}, and {since} in the {} since",
            place(signs.axis, at),
            stretch(signs.axis, signs.after())
        ),
    )
}

fn not_tensors(signs: &Signs) -> Option<Statement> {
    let counted = signs.objects.as_ref()?;
    let (first, last) = (counted.span.first.host_bytes, counted.span.last.host_bytes);
    (signs.course.grew > 0.0 && counted.held > 0.0 && last - first < FLAT * counted.held)
        .then(|| {
            say(
                "Python tensors",
                format!(
                    "tensor storages {} -> {} while memory grew by {}",
                    show_bytes(first),
                    show_bytes(last),
                    show_bytes(counted.held)
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
    if signs.job.trains && workers.known && workers.grew < FLAT * grew {
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
        MemoryClass::PythonLive,
        MemoryClass::PythonSlack,
        MemoryClass::GlibcLive,
        MemoryClass::GlibcFree,
        MemoryClass::GlibcHoles,
        MemoryClass::GlibcMapped,
    ])?;
    let largest = memory.parts.first()?;
    // Anonymous memory of no known kind may be a heap that the look did not know.
    (signs.course.grew > 0.0 && heap < FLAT && largest.class == Some(MemoryClass::Shared))
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
    let levels = signs.levels.as_ref()?;
    let file = levels.last.file - levels.first.file;
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
    if signs.recorded && signs.mapped().is_none() {
        open.extend(say(
            "where the bytes are",
            "there are no two looks into the process (runs of 20 s and more have them)".to_owned(),
        ));
    }
    let excursion = signs.drivers.first().filter(|d| d.name == "excursion");
    if let Some(driver) = excursion {
        open.extend(say(
            "what the excursions are",
            format!(
                "{} stay with each of {:.0} rises that nobody marked: {} tells evaluations and saves, or output at the time",
                show_bytes(driver.per_unit),
                driver.units,
                signs.hook(Hook::Phases)
            ),
        ));
    }
    open.extend(whose_arena(signs));
    if signs.axis != Axis::Step {
        open.extend(say(
            "what it grows with",
            format!(
                "steps are not known: {} tells them, or output like `step 10/500`",
                signs.hook(Hook::Steps)
            ),
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

/// Several libraries keep arenas where it grows: none of them is named alone.
fn whose_arena(signs: &Signs) -> Option<Statement> {
    let share = signs.share(&[MemoryClass::OtherAnon])?;
    if signs.pools.len() < 2 || share < CARRIES || signs.fills().is_some() {
        return None;
    }
    let owners: Vec<&str> = signs
        .pools
        .iter()
        .map(|pool| playbook::owner(*pool))
        .collect();
    say(
        "whose arena grows",
        format!(
            "{} of the growth is anonymous memory outside malloc and Python, and {} all keep arenas there: pa.total_allocated_bytes() for Arrow, jcmd PID GC.heap_info for Java, torch's own count of tensors ({}) would tell",
            percent(share),
            owners.join(", "),
            signs.hook(Hook::Counts)
        ),
    )
}
