//! One sign of a signature, and the signs that many entries share.

use crate::judge::words::{pace, percent, place, stretch, unit, with_article};
use crate::look::MemoryClass;
use crate::units::show_bytes;
use crate::verdict::Class;

use super::super::hook::Hook;
use super::super::signs::{ReservedSign, Signs};

/// A kind of memory carries the growth from this share on.
pub(super) const CARRIES: f64 = 0.5;
/// Below this share it does not take part.
pub(super) const FLAT: f64 = 0.1;
/// Growth elsewhere below this share of it is its echo (what ranks and workers share), and not the same thing.
pub(super) const ECHO: f64 = 0.3;
/// A size is worth a claim from this share of the job's level on.
const LARGE: f64 = 0.1;
/// Growth was a matter of the start if it was over in this share of what was watched.
pub(super) const START: f64 = 0.1;
/// Objects that the collector knows have grown in number from this factor on.
pub(super) const MORE_OBJECTS: f64 = 1.05;
/// Tensors explain a growth from this share of it on: what is kept with them is never all of it.
const TENSOR_SHARE: f64 = 0.3;
/// Tensors with a graph that are left over from each step, at least, when graphs are kept.
const GRAPHS_A_STEP: f64 = 0.5;

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Sign {
    /// Measured, and it fits.
    Seen(String),
    /// Measured, and it contradicts: whatever else is true, this is not the cause.
    Not(String),
    /// Measured, and it speaks against, but a cause of this kind may look like that too. It makes no candidate, and
    /// rules nothing out.
    Doubt(String),
    /// Not measured; what would show it.
    Unknown(String),
    /// Measured, but something commoner and harmless looks the same; what would part them. As a key it
    /// is no claim, and is told as untested whoever blames the entry.
    Open(String),
}

impl Sign {
    pub(crate) fn seen(&self) -> Option<String> {
        match self {
            Sign::Seen(says) => Some(says.clone()),
            _ => None,
        }
    }

    pub(crate) fn not(&self) -> Option<&str> {
        match self {
            Sign::Not(says) => Some(says),
            _ => None,
        }
    }

    pub(crate) fn unknown(&self) -> Option<&str> {
        match self {
            Sign::Unknown(says) | Sign::Open(says) => Some(says),
            _ => None,
        }
    }

    pub(crate) fn doubt(&self) -> Option<&str> {
        match self {
            Sign::Doubt(says) => Some(says),
            _ => None,
        }
    }

    /// What was measured holds for a part of what could be the cause, and not for all of it.
    pub(super) fn or_doubt(self) -> Sign {
        match self {
            Sign::Not(says) => Sign::Doubt(says),
            other => other,
        }
    }
}

pub(super) fn seen(says: impl Into<String>) -> Sign {
    Sign::Seen(says.into())
}

pub(super) fn not(says: impl Into<String>) -> Sign {
    Sign::Not(says.into())
}

pub(super) fn doubt(says: impl Into<String>) -> Sign {
    Sign::Doubt(says.into())
}

pub(super) fn unknown(says: impl Into<String>) -> Sign {
    Sign::Unknown(says.into())
}

pub(super) fn open(says: impl Into<String>) -> Sign {
    Sign::Open(says.into())
}

/// A key that a store which fills up to its size has too: it counts once the growth is known to be a
/// leak. `part` says what would part them before that.
pub(super) fn of_a_leak(signs: &Signs, says: String, part: &str) -> Sign {
    if signs.class == Class::Leak {
        seen(says)
    } else {
        open(format!("{says}; {part}"))
    }
}

pub(super) const BARE: &str =
    "a bare log shows one number; `lowtide run -- …` records what would tell";
const NO_LOOKS: &str = "no two whole looks into the process show where the bytes are";

/// It has not stopped, and no end is in sight.
pub(super) fn not_ended(signs: &Signs) -> Sign {
    let axis = signs.axis;
    let rate = || pace(axis, signs.course.rate);
    if let Some(reserved) = signs.fills() {
        return not(being_filled(signs, reserved));
    }
    match (signs.class, signs.course.settled) {
        (Class::WarmUp, Some(at)) => not(format!(
            "growth ended at {} and the loop went on for {}: what every step does would have gone on",
            place(axis, at),
            stretch(axis, signs.after())
        )),
        (Class::WarmUp, None) => not(match &signs.bound {
            Some(bound) => format!("its end is known, though not reached yet: {}", bound.why),
            None => "its end is known, though not reached yet".to_owned(),
        }),
        (Class::Leak, _) => seen(format!("{}, and it goes on", rate())),
        (Class::TooEarly, _) if signs.growing => seen(format!(
            "{} now; whether it ends is not known: a store that fills up to its size looks the same until then",
            rate()
        )),
        (Class::TooEarly, _) => unknown(match signs.course.decides_at {
            Some(at) => format!(
                "whether it goes on is not decided before {}",
                place(axis, at)
            ),
            None => "whether it goes on is not decided yet".to_owned(),
        }),
        (Class::Spikes | Class::Stable, _) => not("the floor does not grow"),
    }
}

/// What of the growth lies in reserved space, and where that ends.
pub(super) fn being_filled(signs: &Signs, reserved: &ReservedSign) -> String {
    let what = match (&reserved.name, reserved.pieces) {
        (Some(name), 1) => name.clone(),
        (_, 1) => "one block".to_owned(),
        (_, pieces) => format!("{pieces} pieces"),
    };
    format!(
        "{} of the growth touched {what} of {} that was reserved before: {} of it are in use, {} are left, and there it ends",
        percent(signs.reserved_share().min(1.0)),
        show_bytes(reserved.size),
        show_bytes(reserved.touched),
        show_bytes((reserved.size - reserved.touched).max(0.0))
    )
}

/// It grows with the work of every step, and has not stopped.
pub(super) fn goes_on(signs: &Signs) -> Sign {
    let steady = ["step", "time", "new-example"];
    let event = signs
        .drivers
        .first()
        .filter(|_| !steady.iter().any(|name| signs.may_be_driven_by(name)));
    match (not_ended(signs), event) {
        // What an evaluation keeps may be of the same kind.
        (Sign::Seen(_), Some(event)) => doubt(format!(
            "it grows with each {}, not with each step",
            unit(&event.name)
        )),
        (sign, _) => sign,
    }
}

/// These kinds of memory carry the growth.
pub(super) fn carried_by(signs: &Signs, kinds: &[MemoryClass], name: &str) -> Sign {
    let (Some(memory), Some(share)) = (signs.memory_that_grew(), signs.share(kinds)) else {
        return unknown(if signs.recorded { NO_LOOKS } else { BARE });
    };
    let grew = share * memory.grew;
    let largest = memory.parts.first();
    if share >= CARRIES {
        seen(format!(
            "{name}: {} more, {} of the growth",
            show_bytes(grew),
            percent(share)
        ))
    } else {
        let instead = largest.map_or(String::new(), |part| format!("; it is in {}", part.name));
        let says = format!(
            "{name} took {} of the growth{instead}",
            percent(share.max(0.0))
        );
        // A part of it is a cause of a part, and what lies in no known kind of memory may be of any.
        match share + signs.of_no_known_kind() < FLAT {
            true => not(says),
            false => doubt(says),
        }
    }
}

pub(super) const MALLOC: [MemoryClass; 4] = [
    MemoryClass::GlibcLive,
    MemoryClass::GlibcMapped,
    MemoryClass::GlibcFree,
    MemoryClass::GlibcHoles,
];
/// Freed by the program, and still there.
pub(super) const FREED: [MemoryClass; 2] = [MemoryClass::GlibcFree, MemoryClass::GlibcHoles];
pub(super) const MALLOC_IN_USE: [MemoryClass; 2] =
    [MemoryClass::GlibcLive, MemoryClass::GlibcMapped];

/// Python's own count of tensors.
pub(super) enum Tensors {
    /// Those that hang on a graph: no buffer and no cache keeps them like that.
    Graphs(String),
    Grow(String),
    Flat(String),
    Unknown(String),
}

pub(super) fn tensors(signs: &Signs) -> Tensors {
    let Some(counted) = &signs.objects else {
        return Tensors::Unknown(match signs.recorded {
            true => format!(
                "tensors were not counted: {} does",
                signs.hook(Hook::Counts)
            ),
            false => BARE.to_owned(),
        });
    };
    let (first, last) = (&counted.span.first, &counted.span.last);
    let bytes = last.host_bytes - first.host_bytes;
    let graphs = last.with_graph - first.with_graph;
    let steps = match (first.at.step, last.at.step) {
        (Some(from), Some(to)) if to > from => to - from,
        _ => f64::INFINITY,
    };
    let told = format!(
        "tensors {:.0} -> {:.0}, their storages {} -> {} in {} looks",
        first.tensors,
        last.tensors,
        show_bytes(first.host_bytes),
        show_bytes(last.host_bytes),
        counted.looks
    );
    if counted.held <= 0.0 {
        return Tensors::Unknown("nothing grew between the looks from inside".to_owned());
    }
    if graphs >= GRAPHS_A_STEP * steps {
        let told = format!("{told}, {graphs:.0} more of them with a graph");
        return Tensors::Graphs(told);
    }
    if bytes >= TENSOR_SHARE * counted.held {
        return Tensors::Grow(told);
    }
    if bytes < FLAT * counted.held {
        return Tensors::Flat(format!(
            "{told} while memory grew by {}",
            show_bytes(counted.held)
        ));
    }
    Tensors::Unknown("tensors took a part of the growth, neither most of it nor none".to_owned())
}

/// Of a process with torch.
pub(super) fn is_trainer(signs: &Signs) -> Sign {
    if !signs.recorded {
        return unknown(BARE);
    }
    if signs.job.trains {
        seen("the growing process trains with torch")
    } else {
        not(format!(
            "the growth is in {}, not in the trainer",
            with_article(&signs.job.role)
        ))
    }
}

/// Whether so many bytes are worth a claim.
pub(super) fn large(signs: &Signs, bytes: f64) -> bool {
    bytes >= LARGE * signs.course.level.max(1.0)
}
