//! Which of a file's series is judged: the one asked for, or the one that grows. Never silently a wrong one: the
//! choice is said, and sizes of different kinds are not compared but refused.

use lowtide_core::point::Point;

use super::{ImportError, Imported, Options, Who};

/// A series that grows by less than this share of itself, or by less than a megabyte, does not: every process
/// wobbles.
const GROWS: f64 = 0.002;
const WOBBLE: f64 = 1e6;

/// One that is in the file for less than this share of the longest is a passer-by (a compiler, a shell), as long
/// as it was not asked for.
const STAYS: f64 = 0.25;

/// Names longer than this are cut in hints; the beginning of a name is enough for `--name`.
const SHOWN: usize = 60;

/// Those that the flags ask for.
pub(super) fn asked_for(
    series: Vec<Imported>,
    options: &Options,
) -> Result<Vec<Imported>, ImportError> {
    let hint = hint(series.iter());
    let mut found = series;
    if let Some(pid) = options.pid {
        found.retain(|one| one.who.pid == Some(pid));
        if found.is_empty() {
            return Err(ImportError::new(format!("no reading is of process {pid}")).hint(hint));
        }
    }
    if let Some(name) = &options.name {
        let exact = |who: &Who| who.name == *name || who.command.as_ref() == Some(name);
        if found.iter().any(|one| exact(&one.who)) {
            found.retain(|one| exact(&one.who));
        } else {
            found.retain(|one| one.who.speaks_of(name));
        }
        if found.is_empty() {
            return Err(ImportError::new(format!("nothing in it is called `{name}`")).hint(hint));
        }
    }
    Ok(found)
}

/// The one to judge.
pub(super) fn one(series: Vec<Imported>) -> Result<Imported, ImportError> {
    let longest = series.iter().map(|one| one.track.points.len()).max();
    let enough = longest.unwrap_or(0) as f64 * STAYS;
    let (mut stay, passing): (Vec<_>, Vec<_>) = series
        .into_iter()
        .partition(|one| one.track.points.len() as f64 >= enough);
    let all = stay.len() + passing.len();
    if let [first, rest @ ..] = stay.as_slice()
        && let Some(other) = rest.iter().find(|one| one.who.kind != first.who.kind)
    {
        return Err(ImportError::new(format!(
            "it holds sizes of several kinds, such as {} and {}",
            first.who.kind, other.who.kind
        ))
        .hint(hint(stay.iter())));
    }
    let grown = |one: &Imported| {
        let grown = growth(&one.track.points);
        let counts = grown >= (GROWS * level(one)).max(WOBBLE);
        if counts { grown } else { 0.0 }
    };
    let grown: Vec<f64> = stay.iter().map(grown).collect();
    let before = |a: usize, b: usize| {
        let by_growth = grown[a].total_cmp(&grown[b]);
        by_growth
            .then(level(&stay[a]).total_cmp(&level(&stay[b])))
            // The first of two that are the same.
            .then(b.cmp(&a))
    };
    let best = (0..stay.len())
        .max_by(|a, b| before(*a, *b))
        .ok_or_else(|| ImportError::new("it holds no series"))?;
    let grows = grown[best] > 0.0;
    let mut chosen = stay.swap_remove(best);
    if all > 1 {
        let why = if grows {
            "grows most"
        } else {
            "is largest, and none grows"
        };
        let another = if chosen.who.pid.is_some() {
            "--pid or --name"
        } else {
            "--name"
        };
        chosen.how +=
            &format!(" (of {all}, the one that {why}; {another} takes another, --all lists them)");
    }
    Ok(chosen)
}

fn level(one: &Imported) -> f64 {
    let bytes = one.track.points.iter().map(|point| point.bytes);
    bytes.fold(0.0, f64::max)
}

/// How far the floor of the last quarter lies above that of the first.
fn growth(points: &[Point]) -> f64 {
    let quarter = points.len().div_ceil(4);
    let floor = |points: &[Point]| points.iter().map(|p| p.bytes).fold(f64::MAX, f64::min);
    match points.len() {
        0 | 1 => 0.0,
        len => floor(&points[len - quarter..]) - floor(&points[..quarter]),
    }
}

/// Names to paste.
pub(super) fn hint<'a>(series: impl Iterator<Item = &'a Imported>) -> String {
    let mut names: Vec<String> = Vec::new();
    for one in series {
        let short: String = one.who.name.chars().take(SHOWN).collect();
        let name = quoted(&short);
        if !names.contains(&name) {
            names.push(name);
        }
    }
    format!(
        "name one: --name {}, or list all: --all",
        super::listed_by(&names, " or --name ")
    )
}

/// As the shell takes it.
pub(super) fn quoted(name: &str) -> String {
    format!("'{}'", name.replace('\'', "'\\''"))
}
