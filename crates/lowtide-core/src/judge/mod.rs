//! The judge: from the bounded summary of a series to a verdict with its evidence. The program feeds
//! it series and context and fills in source and process; every view shows what comes out.
//!
//! Three questions, answered apart. Does the floor rise now? That is statistics: the end of the floor
//! line, how sure its slope is, whether it lasted and kept its pace (`steady`); and if it does not rise,
//! whether flatness is shown and what came before (`flat`). Will it end? Only knowledge answers that
//! (`ending`): the length of an epoch, reserved memory, rounds of the same work. Does it fit?
//! (`outlook`). `rule` lists every rule that an evidence line can name; each has a file of its own.

pub mod confidence;
mod decide;
pub(crate) mod earlier_attempt;
mod ending;
pub(crate) mod epoch;
pub mod excursion;
mod fields;
mod flat;
mod floor_grows;
mod hardly_begun;
mod leak;
mod limit;
pub(crate) mod line;
pub(crate) mod outlook;
pub mod prior;
mod rule;
mod steady;
mod tail;
mod teeth;
#[cfg(test)]
pub(crate) mod testing;
mod too_short;
pub(crate) mod whose_memory;
pub mod words;
mod would_change;

use decide::Case;
use epoch::Epoch;
use line::FloorLine;

use crate::point::Context;
use crate::series::Series;
use crate::verdict::{Axis, Evidence, Verdict};

/// What views set apart from the rest: the line of evidence that tells which points were judged, and the one
/// that looks ahead.
pub use line::RULE as FLOOR_LINE;
pub use rule::{RULES, Rule};
pub(crate) use whose_memory::RULE as WHOSE_MEMORY;
pub use would_change::RULE as WOULD_CHANGE;

/// The verdict on one series. `source` and `process` are the caller's to fill in.
pub fn judge(series: &Series, context: &Context) -> Verdict {
    let case = Case::of(series, context);
    let whole = case.fine.coarse();
    let mut verdict = case.decide(&whole);
    case.within_the_run(&mut verdict);
    confidence::tell(&mut verdict, &whole);
    let pace = limit::pace(series);
    verdict.outlook = outlook::of(series, &whole, &verdict, context, pace);
    verdict
}

/// What the rules looked at, for those who explain the verdict.
pub(crate) struct Examined {
    pub fine: FloorLine,
    /// Low points, where memory is handed back again and again.
    pub valleys: Option<FloorLine>,
    pub epoch: Option<Epoch>,
}

pub(crate) fn examined(series: &Series, context: &Context) -> Examined {
    let (fine, _) = FloorLine::fine(series, context);
    let epoch = Epoch::of(series.axis, context, &fine.coarse());
    // Examples are counted by steps.
    let epoch = epoch.filter(|_| series.axis != Axis::Time);
    Examined {
        valleys: teeth::teeth(&fine).map(|teeth| teeth.valleys),
        fine,
        epoch,
    }
}

/// Evidence that describes the line and decides nothing.
pub fn describes_the_line(evidence: &Evidence) -> bool {
    [line::RULE, floor_grows::RULE, teeth::RULE]
        .iter()
        .any(|rule| rule.said(evidence))
}
