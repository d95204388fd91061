//! What is worth a word to the user before anything has to be done.

use crate::sample::Limit;
use crate::units::{show_bytes, show_duration};
use crate::verdict::{Class, Fits};

use super::{Decision, NOTHING, Policy, SHORTEST_STEP, Situation, left, of_host};

/// Less than this share of the limit left is worth a word, and this much makes it worth another.
pub const NEAR: f64 = 0.10;
const NEAR_AGAIN: f64 = 0.12;
/// A leak that reaches the limit within this many seconds is worth a word, however much is left.
const WARN_SECONDS: f64 = 300.0;

impl Policy {
    pub(super) fn warning(&mut self, now: &Situation, limit: &Limit) -> (Decision, String) {
        match self.worth_a_word(now, limit) {
            Some(why) => (Decision::Warn, why),
            None => NOTHING,
        }
    }

    pub(super) fn worth_a_word(&mut self, now: &Situation, limit: &Limit) -> Option<String> {
        let share = left(limit) / limit.bytes.as_f64().max(1.0);
        if self.near && share > NEAR_AGAIN {
            self.near = false;
        }
        let near = share <= NEAR && !self.near;
        let soon = self.soon(now, limit).filter(|_| !self.foretold);
        if !near && soon.is_none() {
            return None;
        }
        self.near |= near;
        self.foretold |= soon.is_some();
        let forecast = soon.or_else(|| self.soon(now, limit));
        let what = if near { "limit near" } else { "limit ahead" };
        Some(format!(
            "{what}: {} of {} in use ({}){}",
            limit.used,
            limit.bytes,
            limit.from,
            forecast.map(|text| format!("; {text}")).unwrap_or_default()
        ))
    }

    /// When the job's own growth meets the limit, in words, if that is soon. What others take is told
    /// apart: a machine that fills with other jobs says nothing of this one.
    pub(super) fn soon(&self, now: &Situation, limit: &Limit) -> Option<String> {
        let verdict = now.verdict;
        let outlook = verdict.outlook.as_ref()?;
        if !of_host(verdict) || !verdict.steady || matches!(outlook.fits, None | Some(Fits::Yes)) {
            return None;
        }
        let per_second = verdict.rate.per_minute.filter(|pace| *pace > 0.0)? / 60.0;
        let seconds = left(limit).max(0.0) / per_second;
        if seconds > WARN_SECONDS {
            return None;
        }
        let steps = self
            .learnt
            .step_seconds()
            .map(|step| format!("{:.0} steps, ", seconds / step.max(SHORTEST_STEP)))
            .unwrap_or_default();
        let open = match verdict.verdict {
            Class::Leak => "",
            _ => " if the growth goes on",
        };
        let others = outlook.others.map_or(String::new(), |others| {
            format!("; others take {} a minute", show_bytes(others))
        });
        Some(format!(
            "at its own pace it is reached in {steps}{}{open}{others}",
            show_duration(seconds)
        ))
    }
}
