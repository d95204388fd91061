//! Who holds what came: an early census of the process that grew against a late one. Told as facts; no verdict
//! follows from it.

use crate::census::{self, Growth};
use crate::judge::words::percent;
use crate::look::{By, Examiner};
use crate::run::Taken;
use crate::units::show_bytes;

use super::memory::Pair;
use super::seen::was_cut_short;
use super::signs::COVERS;
use super::{Held, HeldLine, Moment};

/// Lines that are told: nobody reads further.
const LINES: usize = 8;
/// What is less than this share of the growth is not told, unless nothing else is.
const LEAST: f64 = 0.005;
/// A diff that explains less than this share of the growth says so in words.
const MOST: f64 = 0.8;

/// The pair of looks that has two heaps: of two censuses, or where none could be taken those of the package, which
/// sees holders from inside.
pub(crate) fn of_pairs<'a, 'b>(pairs: &'b [Pair<'a>]) -> Option<&'b Pair<'a>> {
    let has_heap = |taken: &Taken| taken.look.heap.is_some();
    let has_heaps = |pair: &&Pair| has_heap(pair.first) && has_heap(pair.last);
    let is_census = |pair: &&Pair| pair.last.look.examiner == Examiner::Census;
    let heaps = || pairs.iter().filter(has_heaps);
    let whole = heaps().find(|pair| is_census(pair) && *pair.by == By::PythonType);
    whole.or_else(|| heaps().find(|pair| *pair.by == By::Holder))
}

/// What the two say of a growth of so many bytes. `saw_it`: it was between them.
pub(crate) fn held(pair: &Pair, course: f64, saw_it: bool) -> Option<Held> {
    let diff = census::diff(&pair.first.look, &pair.last.look);
    let grew = pair.grew()?;
    let covered = if saw_it { grew / course } else { 0.0 };
    let conclusive = course > 0.0 && grew > 0.0 && covered >= COVERS && !was_cut_short(pair);
    let rises: f64 = diff.grew.iter().map(bytes).sum();
    // Where others shrank, those that grew did so by more than the process: none is above all of it.
    let gross = rises.max(grew);
    let line = |growth: &Growth| {
        let bytes = bytes(growth);
        let share = if conclusive { bytes / gross } else { 0.0 };
        told(growth, bytes, share.clamp(0.0, 1.0))
    };
    let matters = |(nth, line): &(usize, HeldLine)| *nth == 0 || line.bytes >= LEAST * gross;
    let lines = diff.grew.iter().map(line).enumerate();
    let lines: Vec<HeldLine> = lines
        .filter(matters)
        .map(|(_, line)| line)
        .take(LINES)
        .collect();
    let fell: f64 = diff.shrank.iter().map(bytes).sum();
    let heap = diff.from.bytes.zip(diff.to.bytes);
    let heap = heap.map(|(from, to)| to.as_f64() - from.as_f64());
    let explained = heap.unwrap_or(rises + fell) / grew;
    let explained = conclusive.then_some(explained.clamp(0.0, 1.0));
    let mut notes = diff.notes;
    notes.extend(explained.filter(|share| *share < MOST).map(|share| {
        format!(
            "Python's objects explain {} of the {} that it grew by between the two: the rest is held by native code \
             or kept by an allocator",
            percent(share),
            show_bytes(grew)
        )
    }));
    if course > 0.0 && covered < COVERS {
        notes.push(format!(
            "the two saw {} of the growth: they came before or after it",
            percent(covered.max(0.0))
        ));
    }
    let moment = |taken: &Taken| Moment {
        seconds: taken.look.at.seconds(),
        step: taken.step.map(|step| step as f64),
    };
    (!lines.is_empty()).then(|| Held {
        censuses: pair.looks(),
        from: moment(pair.first),
        to: moment(pair.last),
        grew,
        explained,
        lines,
        notes,
    })
}

/// Of a line, with what came along.
fn bytes(growth: &Growth) -> f64 {
    let all = std::iter::once(&growth.group).chain(&growth.with);
    all.filter_map(|change| change.bytes)
        .map(|bytes| bytes as f64)
        .sum()
}

fn told(growth: &Growth, bytes: f64, share: f64) -> HeldLine {
    let holder = growth.holders.first();
    HeldLine {
        says: growth.says.clone(),
        bytes,
        share,
        // What others hold of it is not this one's.
        holders: growth
            .holders
            .iter()
            .map(|one| one.now.name.clone())
            .collect(),
        held: growth.held,
        path: holder.map_or_else(Vec::new, |holder| holder.now.path.clone()),
        facts: holder.map_or_else(Vec::new, |holder| census::facts(&holder.now)),
    }
}
