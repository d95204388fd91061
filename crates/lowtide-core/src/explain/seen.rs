//! What two looks saw of the growth that a verdict speaks of: all of it, a part, or something else that grew at
//! another time.

use super::BreakdownGrowth;
use super::memory::{self, Pair};
use super::signs::{COVERS, Course};
use crate::look::{Missing, Said};
use crate::run::Taken;
use crate::units::Share;

pub(super) fn was_cut_short(pair: &Pair) -> bool {
    pair.missing().into_iter().any(Missing::is_cut_short)
}

/// Looks between which less than this share of the growth's stretch lies saw something else grow.
const MEETS: f64 = 0.1;

/// Whether growth and looks fall together: two looks at a start-up may differ by as much as the loop grew by since.
pub(super) fn meets(pair: &Pair, course: &Course, on_steps: bool) -> bool {
    let place = |taken: &Taken| match on_steps {
        true => taken.step.map(|step| step as f64),
        false => Some(taken.look.at.seconds()),
    };
    let Some((first, last)) = place(pair.first).zip(place(pair.last)) else {
        return false;
    };
    let both = last.min(course.to) - first.max(course.from);
    both > 0.0 && both >= MEETS * (course.to - course.from)
}

/// What two looks say of a growth of so many bytes: shares only where they saw it, and all of it.
pub(super) fn grown(pair: &Pair, course: f64, saw_it: bool) -> Option<BreakdownGrowth> {
    let mut growth = pair.growth()?;
    let covered = match saw_it {
        true => growth.grew / course,
        false => 0.0,
    };
    if course > 0.0 && covered < COVERS {
        let seen = Share(covered.max(0.0));
        growth
            .missing
            .push(Said::from(&Missing::Elsewhere { seen }));
    }
    let tells = course > 0.0 && growth.grew > 0.0 && covered >= COVERS;
    if !tells || was_cut_short(pair) {
        memory::without_shares(&mut growth);
    }
    Some(growth)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::look::{Breakdown, By, Examiner, Look, LookWhy};
    use crate::process::ProcId;
    use crate::units::Micros;

    /// A start-up of 118 MB between two looks, and 98 MB that the loop grew by since: nobody saw what those are.
    #[test]
    fn looks_at_the_start_up_saw_nothing_of_the_growth() {
        let at = |second: u64| {
            let at = Micros(second * 1_000_000);
            let id = ProcId { pid: 7, start: 1 };
            let mut look = Look::new(at, id, LookWhy::Due, Examiner::Mappings);
            look.breakdowns
                .push(Breakdown::new(By::Mapping, Vec::new()));
            Taken { look, step: None }
        };
        let course = Course {
            from: 20.0,
            to: 74.0,
            ..Course::default()
        };
        for (first, last, saw) in [(5, 18, false), (5, 24, false), (18, 60, true)] {
            let looks = [at(first), at(last)];
            let pairs = memory::pairs(&looks, |_| None);
            assert_eq!(meets(&pairs[0], &course, false), saw, "{first} to {last}");
        }
    }
}
