//! Recorded processes, judged at every moment as a live watch would have judged them.

use lowtide_core::judge::prior::{Lasted, Prior};
use lowtide_core::mark::Geometry;
use lowtide_core::verdict::Class;

use super::{Gathered, Now, Scored, matters};
use crate::corpus::{Case, Moment};

/// Harmless growth that is that far is as good as over.
const NEARLY: f64 = 0.9;
/// A leak is material when the run has grown by this share since it began.
const MATERIAL: f64 = 0.05;

/// What a job counts of what it keeps and what the kernel counts differ by this much: allocators round up.
const ALLOCATORS: f64 = 0.1;

/// `told` is what its user would tell on the command line, where that is asked for.
pub fn score(case: &Case, prior: Prior, told: Geometry) -> Scored {
    let truth = &case.truth;
    let moments = case.moments_by(prior, told);
    let last = moments.last();
    let needed = last
        .and_then(|last| last.verdict.outlook.as_ref())
        .map_or(0.0, |outlook| outlook.needs.value);
    let length = case.length().seconds();
    let mut gathered = Gathered::default();
    for moment in &moments {
        let since = match (truth.leak, truth.onset_seconds, truth.settles_seconds) {
            (true, onset, _) => Some(moment.seconds - onset.unwrap_or(0.0)),
            (false, _, settles) => settles.map(|settles| moment.seconds - settles),
        };
        gathered.take(
            &moment.verdict,
            now(case, moment, &moments),
            moment.seconds,
            since,
        );
        gathered
            .outlook
            .ask(&moment.verdict, moment.seconds / length, needed);
    }
    let end = last.map_or(Class::TooEarly, |last| last.verdict.verdict);
    let rate = last
        .zip(truth.rate)
        .filter(|(last, _)| truth.leak && last.verdict.steady);
    Scored {
        name: truth.run.clone(),
        kind: truth.kind.clone(),
        family: truth.family.clone(),
        leak: truth.leak,
        knowable: is_knowable(case, &moments, &prior, told),
        accused: gathered.accused,
        because: gathered.because,
        last: last.map_or(String::new(), |last| super::said(&last.verdict)),
        answered: gathered.answered,
        end,
        missed: truth.leak && matches!(end, Class::WarmUp | Class::Spikes | Class::Stable),
        rate: rate.map(|(last, truth)| {
            let told = &last.verdict.rate;
            let held =
                told.low <= (1.0 + ALLOCATORS) * truth && told.high >= (1.0 - ALLOCATORS) * truth;
            (held, (told.high - told.low) / truth)
        }),
        outlook: gathered.outlook,
        calls: gathered.calls,
        moments: moments.len(),
    }
}

fn began(case: &Case, moment: &Moment) -> bool {
    let truth = &case.truth;
    let by_step = truth
        .onset
        .zip(moment.step)
        .is_none_or(|(onset, step)| step >= onset);
    let by_time = truth
        .onset_seconds
        .is_none_or(|onset| moment.seconds >= onset);
    truth.leak && by_step && by_time
}

fn now(case: &Case, moment: &Moment, moments: &[Moment]) -> Now {
    let truth = &case.truth;
    let begun = began(case, moment);
    let fills = match truth.settles_seconds {
        Some(settles) => moment.seconds < NEARLY * settles,
        None => truth.ends_growing,
    };
    let grown = grown(case, moment, moments);
    let here = moment.verdict.floor.last;
    let end = moments.last().map_or(here, |last| last.verdict.floor.last);
    let left = (end - here) / here.max(1.0);
    let pace = truth
        .rate
        .zip(moment.step)
        .map_or(f64::INFINITY, |(rate, step)| rate * step / moment.seconds);
    let counts = matters(pace, moment.seconds, moment.verdict.floor.last);
    Now {
        leaks: begun && counts && grown >= MATERIAL,
        begun,
        fills: !truth.leak && truth.fills_in.is_some() && fills && left >= MATERIAL,
    }
}

/// By how much the floor rose since the leak began, as a share of it.
fn grown(case: &Case, moment: &Moment, moments: &[Moment]) -> f64 {
    let first = moments.iter().find(|one| began(case, one));
    let here = moment.verdict.floor.last;
    first.map_or(0.0, |first| {
        (here - first.verdict.floor.last) / here.max(1.0)
    })
}

/// A leak that is material, for longer than what fills would take, by what the job tells or its user.
fn is_knowable(case: &Case, moments: &[Moment], prior: &Prior, told: Geometry) -> bool {
    let truth = &case.truth;
    let Some(last) = moments.last() else {
        return false;
    };
    let steps = last.step.map(|step| step - truth.onset.unwrap_or(0.0));
    let prints = truth.prints.iter().any(|what| what == "epochs");
    let length = truth
        .told
        .epoch_steps
        .filter(|_| prints)
        .or(told.epoch_steps);
    let lasted = Lasted {
        told: told.epoch_steps.is_some(),
        epochs: steps.zip(length).map(|(steps, length)| steps / length),
        steps,
        seconds: Some(last.seconds - truth.onset_seconds.unwrap_or(0.0)),
    };
    now(case, last, moments).leaks && prior.leaks(lasted) >= prior.sure
}
