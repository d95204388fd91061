//! Who holds what came: an early census of the process that grew against a late one. Told as facts; no verdict
//! follows from it.

use crate::census::{self, Growth};
use crate::judge::words::percent;
use crate::look::{By, Examiner};
use crate::run::Taken;
use crate::units::{show_bytes, show_duration};

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
    let moment = |taken: &Taken| Moment {
        seconds: taken.look.at.seconds(),
        step: taken.step.map(|step| step as f64),
    };
    let (from, to) = (moment(pair.first), moment(pair.last));
    if course > 0.0 && covered < COVERS {
        notes.push(match saw_it {
            true => saw_little(grew, course),
            false => elsewhere(from, to),
        });
    }
    (!lines.is_empty()).then(|| Held {
        censuses: pair.looks(),
        from,
        to,
        grew,
        explained,
        lines,
        notes,
    })
}

/// Two that lie in the stretch that is judged, and saw hardly any of its growth.
fn saw_little(grew: f64, course: f64) -> String {
    let whole = show_bytes(course);
    match grew > 0.0 {
        true => format!(
            "between the two the process grew by {} of the {whole} that are judged: the rest came before or after them",
            percent(grew / course)
        ),
        false => format!(
            "between the two the process did not grow: the {whole} that are judged came before or after them"
        ),
    }
}

/// Two that lie beside that stretch: what they saw is no share of it, and no less true for that.
fn elsewhere(from: Moment, to: Moment) -> String {
    let stretch = match from.step.zip(to.step) {
        Some((from, to)) => format!("step {from:.0} to step {to:.0}"),
        None => format!(
            "{} to {}",
            show_duration(from.seconds),
            show_duration(to.seconds)
        ),
    };
    format!(
        "the censuses were taken from {stretch}, and the growth that is judged is that of another stretch: what they \
         saw may have gone on there"
    )
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_censuses_saw_elsewhere_is_no_share_and_no_contradiction() {
        let at = |seconds: f64, step: Option<f64>| Moment { seconds, step };
        let by_step = elsewhere(at(1.0, Some(70.0)), at(13.5, Some(680.0)));
        assert_eq!(
            by_step,
            "the censuses were taken from step 70 to step 680, and the growth that is judged is that of another \
             stretch: what they saw may have gone on there"
        );
        let by_time = elsewhere(at(3.0, None), at(14.0, Some(680.0)));
        assert!(by_time.contains("from 3s to 14s, "), "{by_time}");
        let little = saw_little(10e6, 100e6);
        let says = "between the two the process grew by 10 % of the 100 MB that are judged: the rest came before or after them";
        assert_eq!(little, says);
        assert!(saw_little(-1.0, 100e6).contains("did not grow"));
    }
}
