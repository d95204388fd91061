//! Whether what comes until a stop still fits below the limit.

use crate::sample::{Limit, LimitFrom, Sample};
use crate::units::show_bytes;
use crate::verdict::{Axis, Class};

use super::{CLOSE_LOOK, Policy, Situation, growth_per_step, left, of_host};

/// Near is what the newest growth would reach within this time: ten ticks of the usual interval would
/// be one.
const CLOSE_SECONDS: f64 = 10.0;
/// With less than so many close ticks to go the kernel would act first: one may come late.
const LAST_LOOKS: f64 = 2.0;
/// A slope between ticks says nothing of what comes after a second: steps are up and down.
const SLOPE_LASTS: f64 = 1.0;
/// A step may go so many times as far above its floor as those before it did.
const UNUSUAL: f64 = 2.0;
/// And so many times when it was asked, and will soon stop by itself.
const UNHEARD_OF: f64 = 4.0;
/// Waiting for memory in more than this share of the last ten seconds is the beginning of thrashing
/// (earlyoom and systemd-oomd act between 5 and 60 %) ...
const PRESSURE: f32 = 10.0;
/// ... when there is that little room, or that much of the job was swapped out.
const PRESSURE_ROOM: f64 = 0.20;
const PRESSURE_SWAP: f64 = 0.01;
/// A restart pays when the job has grown by this share of the limit since its first steps, or by that
/// share of the room it had then. A job that sits flat below its limit is left alone.
const PAYS_LIMIT: f64 = 0.05;
const PAYS_ROOM: f64 = 0.25;

impl Policy {
    /// What is left above the need will not last for the usual interval between ticks.
    pub(super) fn is_close(&self, now: &Situation, limit: &Limit) -> bool {
        let slope = self.learnt.raw_slope();
        if slope > 0.0 && self.is_unusual(limit) && left(limit) < slope * CLOSE_SECONDS {
            return true;
        }
        let soon = self.learnt.steps_within(CLOSE_SECONDS);
        let growth = self.learnt.levels().any_growth_within(soon);
        growth > 0.0 && self.top(now, limit) + growth > limit.bytes.as_f64()
    }

    /// The level is higher than steps are known to go, if they are known.
    pub(super) fn is_unusual(&self, limit: &Limit) -> bool {
        let asked = self.is_asked();
        let times = if asked { UNHEARD_OF } else { UNUSUAL };
        !self.learnt.levels().knows_steps()
            || limit.used.as_f64() > self.learnt.expected(times, asked)
    }

    /// Two close ticks from now the kernel acts. Only in training: before the first steps a restart
    /// would meet the same, and in a save the kernel's word is no worse than ours. A job that has been asked and
    /// rises as its steps do is about to stop: killing it would cost what the kernel might not take. The same
    /// holds for all it does below the limit of a group: there the kernel kills within the group, and the
    /// machine is not in danger.
    pub(super) fn runs_out(&self, limit: &Limit) -> bool {
        let growth = self.learnt.raw_slope() * LAST_LOOKS * CLOSE_LOOK.seconds();
        growth > 0.0
            && left(limit) < growth
            && self.learnt.slope_is_fresh()
            && !self.learnt.is_saving()
            && !self.learnt.is_evaluating()
            && (self.is_deaf() || (self.is_unusual(limit) && !self.may_still_stop(limit)))
    }

    /// It was asked, and what it takes until it stops does not harm the machine, or may be usual.
    pub(super) fn may_still_stop(&self, limit: &Limit) -> bool {
        let in_group = matches!(limit.from, LimitFrom::Cgroup(_));
        self.is_asked() && (in_group || !self.learnt.levels().knows_steps())
    }

    /// Why the job has to be asked now; none when a later tick will do.
    pub(super) fn too_tight(&self, now: &Situation, limit: &Limit) -> Option<String> {
        let known = self.learnt.levels().knows_steps() || self.step_of_this_attempt().is_none();
        if !known || !self.trains(now) || !self.pays(limit) || self.ends_soon(now) {
            return None;
        }
        if self.top(now, limit) > limit.bytes.as_f64() {
            return Some(format!(
                "{} left below {} ({}); until the stop it may grow by {}, and a save may take {}",
                show_bytes(left(limit)),
                limit.bytes,
                limit.from,
                show_bytes(self.coming(now)),
                show_bytes(self.learnt.save_reserve(limit))
            ));
        }
        let by_slope = self.learnt.raw_slope() * self.seconds_to_stop(now);
        // What the judge knows to have ended swings, and does not run away.
        let trains = !self.learnt.is_saving()
            && !self.learnt.is_evaluating()
            && growth_per_step(now.verdict).is_none();
        if trains
            && self.learnt.levels().knows_steps()
            && self.is_unusual(limit)
            && left(limit) < by_slope
        {
            return Some(format!(
                "{} left below {} ({}), and growing by {} a second",
                show_bytes(left(limit)),
                limit.bytes,
                limit.from,
                show_bytes(self.learnt.raw_slope())
            ));
        }
        let pressure = thrashing(now.sample, limit)?;
        Some(format!(
            "the machine begins to thrash: {pressure:.0} % of the last ten seconds went by waiting for memory, {} left below {}",
            show_bytes(left(limit)),
            limit.bytes
        ))
    }

    /// The next tick, as late as it may be, is too late: the steps of a request alone would need all that is left.
    pub(super) fn is_urgent(&self, now: &Situation, limit: &Limit) -> bool {
        let levels = self.learnt.levels();
        let served = levels.any_growth_within((self.ahead(now.trainers) + 1) as f64);
        let late = self.learnt.steps_within(self.learnt.late_by()) >= 1.0;
        late && levels.next_crest() + served > limit.bytes.as_f64()
    }

    /// Ticks have met the floor of steps, or the peaks that the kernel kept are enough.
    pub(super) fn is_sure(&self, now: &Situation, limit: &Limit) -> bool {
        let crest = self.learnt.levels().crest_within(self.steps_to_stop(now));
        self.learnt.is_dense(limit) || crest + self.learnt.margin(limit) > limit.bytes.as_f64()
    }

    pub(super) fn pays(&self, limit: &Limit) -> bool {
        let (Some(baseline), Some(grown)) = (
            self.learnt.baseline(),
            self.learnt.grown(limit.used.as_f64()),
        ) else {
            return false;
        };
        let bytes = limit.bytes.as_f64();
        grown >= (PAYS_LIMIT * bytes).min(PAYS_ROOM * (bytes - baseline).max(0.0))
    }

    /// The highest that a request made now would let it come, with the margin: a save on top of the floor, or the
    /// next step. The kernel keeps peaks, so how high steps go is known even where ticks are few and meet
    /// them anywhere.
    pub(super) fn top(&self, now: &Situation, limit: &Limit) -> f64 {
        let used = limit.used.as_f64();
        let reserve = self.learnt.save_reserve(limit);
        let kept = reserve + self.coming(now);
        let save = self.learnt.floor(used) + reserve;
        let more = (self.caution - 1.0) * kept;
        save.max(self.learnt.levels().next_crest())
            + self.coming(now)
            + more
            + self.learnt.margin(limit)
    }

    /// What the floor may rise by until the job has stopped: by its pace, and at most what is missing to
    /// a predicted plateau.
    pub(super) fn coming(&self, now: &Situation) -> f64 {
        let steps = self.steps_to_stop(now);
        let mut coming = self.learnt.levels().any_growth_within(steps);
        if let Some(each) = growth_per_step(now.verdict) {
            // The judge is late with taking that back.
            let since = self.ended_at.unwrap_or(0);
            coming =
                coming.min((each * steps).max(self.learnt.levels().growth_since(since, steps)));
        }
        match missing_to_plateau(now) {
            Some(missing) => coming.min(missing.max(self.learnt.levels().growth_within(1.0))),
            None => coming,
        }
    }

    /// How long the newest slope is believed to last: the ticks until the request stands, and the
    /// steps until it is served.
    pub(super) fn seconds_to_stop(&self, now: &Situation) -> f64 {
        let ahead = self.ahead(now.trainers);
        let steps = self
            .learnt
            .step_seconds()
            .map_or(0.0, |step| (ahead + 1) as f64 * step);
        self.seconds_to_ask().min(SLOPE_LASTS) + steps.min(SLOPE_LASTS)
    }
}

/// Growth that the judge expects to end, with the first pass over the data or with what was reserved, has
/// this much to come.
fn missing_to_plateau(now: &Situation) -> Option<f64> {
    let verdict = now.verdict;
    let expected = verdict.verdict == Class::TooEarly || verdict.is_under_way();
    if !expected || verdict.axis != Axis::Step || !of_host(verdict) {
        return None;
    }
    let missing = (verdict.predicted_plateau? - verdict.floor.last).max(0.0);
    // The verdict speaks of one rank, and the others do the same.
    Some(missing * now.trainers.max(1) as f64)
}

/// The pressure, in per cent, when it shows that memory is short for this job.
pub(super) fn thrashing(sample: &Sample, limit: &Limit) -> Option<f32> {
    let own = sample.cgroups.first().and_then(|group| group.pressure);
    let pressure = match limit.from {
        LimitFrom::Cgroup(_) => own.or(sample.node.pressure),
        _ => sample.node.pressure,
    }?;
    let swapped: f64 = sample
        .readings
        .iter()
        .map(|reading| reading.swap.as_f64())
        .sum();
    let short = left(limit) < PRESSURE_ROOM * limit.bytes.as_f64()
        || swapped > PRESSURE_SWAP * limit.bytes.as_f64();
    (short && pressure.full_avg10 >= PRESSURE).then_some(pressure.full_avg10)
}
