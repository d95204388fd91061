//! One sign of a signature, and the signs that many entries share.

use crate::judge::words::{pace, percent, place, stretch, unit};
use crate::look::Kind;
use crate::units::show_bytes;
use crate::verdict::Class;

use super::super::Experiment;
use super::super::signs::{ReservedSign, Signs};

/// A kind of memory carries the growth from this share on.
pub(super) const CARRIES: f64 = 0.5;
/// Below this share it does not take part.
pub(super) const FLAT: f64 = 0.1;
/// Tensors explain a growth from this share of it on: what is kept with them is never all of it.
const TENSOR_SHARE: f64 = 0.3;
/// Tensors with a graph that are left over from each step, at least, when graphs are kept.
const GRAPHS_A_STEP: f64 = 0.5;

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Sign {
    /// Measured, and it fits.
    Seen(String),
    /// Measured, and it contradicts.
    Not(String),
    /// Not measured; what would show it.
    Unknown(String),
    /// Measured, but something commoner and harmless looks the same; what would part them. As a key it
    /// is no claim, and is told as untested whoever blames the entry.
    Open(String),
}

impl Sign {
    pub fn seen(&self) -> Option<String> {
        match self {
            Sign::Seen(says) => Some(says.clone()),
            _ => None,
        }
    }

    pub fn not(&self) -> Option<&str> {
        match self {
            Sign::Not(says) => Some(says),
            _ => None,
        }
    }

    pub fn unknown(&self) -> Option<&str> {
        match self {
            Sign::Unknown(says) | Sign::Open(says) => Some(says),
            _ => None,
        }
    }
}

pub(super) fn seen(says: impl Into<String>) -> Sign {
    Sign::Seen(says.into())
}

pub(super) fn not(says: impl Into<String>) -> Sign {
    Sign::Not(says.into())
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
const NO_TENSORS: &str = "tensors were not counted: lowtide.hf.LowtideCallback() does";

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
        (Sign::Seen(_), Some(event)) => not(format!(
            "it grows with each {}, not with each step",
            unit(&event.name)
        )),
        (sign, _) => sign,
    }
}

/// These kinds of memory carry the growth.
pub(super) fn carried_by(signs: &Signs, kinds: &[Kind], name: &str) -> Sign {
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
        not(format!(
            "{name} took {} of the growth{instead}",
            percent(share.max(0.0))
        ))
    }
}

pub(super) const MALLOC: [Kind; 4] = [
    Kind::GlibcLive,
    Kind::GlibcMapped,
    Kind::GlibcFree,
    Kind::GlibcHoles,
];
/// Freed by the program, and still there.
pub(super) const FREED: [Kind; 2] = [Kind::GlibcFree, Kind::GlibcHoles];
pub(super) const MALLOC_IN_USE: [Kind; 2] = [Kind::GlibcLive, Kind::GlibcMapped];

/// Python's own count of tensors.
pub(super) enum Tensors {
    /// Those that hang on a graph: no buffer and no cache keeps them like that.
    Graphs(String),
    Grow(String),
    Flat(String),
    Unknown(&'static str),
}

pub(super) fn tensors(signs: &Signs) -> Tensors {
    let Some(inside) = &signs.inside else {
        return Tensors::Unknown(if signs.recorded { NO_TENSORS } else { BARE });
    };
    let (first, last) = (&inside.span.first, &inside.span.last);
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
        inside.looks
    );
    if inside.held <= 0.0 {
        return Tensors::Unknown("nothing grew between the looks from inside");
    }
    if graphs >= GRAPHS_A_STEP * steps {
        let told = format!("{told}, {graphs:.0} more of them with a graph");
        return Tensors::Graphs(told);
    }
    if bytes >= TENSOR_SHARE * inside.held {
        return Tensors::Grow(told);
    }
    if bytes < FLAT * inside.held {
        return Tensors::Flat(format!(
            "{told} while memory grew by {}",
            show_bytes(inside.held)
        ));
    }
    Tensors::Unknown("tensors took a part of the growth, neither most of it nor none")
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
            "the growth is in a {}, not in the trainer",
            signs.job.role
        ))
    }
}

/// A share of the job's level that is worth a claim.
pub(super) fn large(signs: &Signs, bytes: f64) -> bool {
    bytes >= 0.1 * signs.course.level.max(1.0)
}

/// The same job with something changed, for a shell.
fn rerun(signs: &Signs, prefix: &[&str], command: &[String], arm: &str) -> Option<String> {
    if command.is_empty() {
        return None;
    }
    let words: Vec<String> = prefix
        .iter()
        .map(|word| quoted(word))
        .chain(command.iter().map(|word| quoted(word)))
        .collect();
    Some(format!(
        "lowtide run -o {arm} -- {}; lowtide check {arm} --baseline {}",
        words.join(" "),
        quoted(&signs.job.name)
    ))
}

/// An experiment that sets environment variables.
pub(super) fn with_env(signs: &Signs, set: &[&str], says: &str, expect: &str) -> Experiment {
    let mut prefix = vec!["env"];
    prefix.extend(set);
    let name = set
        .first()
        .and_then(|set| set.split('=').next())
        .unwrap_or("arm");
    let arm = name.trim_matches('_').to_lowercase().replace('_', "-");
    Experiment {
        says: says.to_owned(),
        command: rerun(signs, &prefix, &signs.job.command, &arm),
        expect: expect.to_owned(),
    }
}

/// An experiment that changes the value of a flag, if the command has one of these.
pub(super) fn with_flag(
    signs: &Signs,
    flags: &[&str],
    change: impl Fn(&str) -> Option<String>,
    arm: &str,
    says: &str,
    expect: String,
) -> Experiment {
    let mut command = signs.job.command.clone();
    let mut changed = false;
    for at in 0..command.len() {
        let word = command[at].clone();
        let (name, value) = match word.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (word.as_str(), None),
        };
        if !flags.contains(&name.replace('-', "_").trim_start_matches('_'))
            || !word.starts_with('-')
        {
            continue;
        }
        let new = match value {
            Some(value) => change(value).map(|new| (at, format!("{name}={new}"))),
            None => command
                .get(at + 1)
                .and_then(|v| change(v))
                .map(|new| (at + 1, new)),
        };
        if let Some((at, new)) = new {
            command[at] = new;
            changed = true;
        }
    }
    Experiment {
        says: says.to_owned(),
        command: if changed {
            rerun(signs, &[], &command, arm)
        } else {
            None
        },
        expect,
    }
}

pub(super) fn in_words(says: &str, expect: &str) -> Experiment {
    Experiment {
        says: says.to_owned(),
        command: None,
        expect: expect.to_owned(),
    }
}

/// As a shell reads it back.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,@%+".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}
