//! What the judge would say of such a job: late, as it is, and mostly right. The policy is given its answers and
//! not the judge itself, which would take most of the time.

use lowtide_core::judge::judge;
use lowtide_core::point::Context;
use lowtide_core::series::Series;
use lowtide_core::verdict::{Axis, Class, Meter, Verdict};

use crate::job::Job;
use crate::plan::{Growth, LIMIT, World};
use crate::play::MB;

/// What a flat line may still rise by in a step, as a share of the limit.
const FLAT_RATE: f64 = 0.0005;
/// Steps after which a plateau is foretold, if it is.
const FORETOLD: u64 = 4;

pub(crate) fn nothing_yet() -> Verdict {
    judge(&Series::new(Axis::Step, Meter::Held), &Context::default())
}

pub(crate) fn say(verdict: &mut Verdict, world: &World, job: &Job) {
    let step = job.steps_here();
    let sure = world.judged_after;
    let leak_from = |from: u64| {
        if step > from + sure {
            Class::Leak
        } else {
            Class::TooEarly
        }
    };
    verdict.predicted_plateau = None;
    verdict.floor.last = job.floor * MB;
    verdict.verdict = match world.job.growth {
        Growth::Flat if step > sure => Class::Stable,
        Growth::Flat => Class::TooEarly,
        Growth::Leak { .. } | Growth::Uneven { .. } | Growth::Stairs { .. } => leak_from(0),
        Growth::Fill { each, until } if step <= until => {
            let plateau = world.job.base + world.job.first + each * until as f64;
            let foretold = world.foretells.filter(|_| step >= FORETOLD);
            verdict.predicted_plateau = foretold.map(|off| plateau * off * MB);
            Class::TooEarly
        }
        Growth::Fill { until, .. } if step > until + sure.min(10) => Class::WarmUp,
        Growth::Fill { .. } => Class::TooEarly,
        // It takes some steps to take a word back.
        Growth::Late { from, .. } if step <= from + 2 + sure / 10 && step > sure => Class::Stable,
        Growth::Late { from, .. } => leak_from(from),
    };
    verdict.steady = verdict.verdict == Class::Leak;
    verdict.settled_at = (verdict.verdict == Class::WarmUp).then_some(1.0);
    verdict.rate.high = FLAT_RATE * LIMIT * MB;
}
