//! What follows the end of an attempt: nothing, because the job is done or the user ended it; another
//! attempt from a complete checkpoint; or giving up, with a word on what is left to resume from.

use std::ffi::OsString;
use std::time::Duration;

use lowtide_core::entry::{Attempt, Exit};
use lowtide_core::guard::Went;
use lowtide_core::postmortem::{Cause, PostMortem};
use lowtide_core::process::ProcId;
use lowtide_core::units::show_duration;
use rustix::process::Signal;

use crate::failure::code::RESUMABLE;
use crate::fault;
use crate::watch::Watch;

use super::checkpoints::{Checkpoint, Checkpoints};
use super::contained::{contained, tell_failed};
use super::resume::Resume;
use super::{Guard, Mode, act};

pub enum Next {
    /// End with this code.
    Done(i32),
    Again(Restart),
}

/// The job as it is started again.
pub struct Restart {
    pub command: Vec<String>,
    pub env: Vec<(OsString, OsString)>,
    pub attempt: Attempt,
    /// How the attempt before it ended.
    pub went: Went,
    pub pause: Duration,
}

/// Pauses before a restart that was not planned: 1 s, 2 s, 4 s, …
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// What outlives its main process is given this long to end, and again after SIGTERM.
const LINGERS: Duration = Duration::from_secs(5);
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// Broken checkpoints that are named; the rest is counted.
const NAMED: usize = 3;

impl Guard {
    /// Decides what follows, as [`Guard::decide`] does. If that fails, a job that was stopped or killed is started
    /// again from what is known, and any other is let go.
    pub fn ended(
        &mut self,
        watch: &mut Watch,
        exit: Option<Exit>,
        mortem: Option<&PostMortem>,
    ) -> Next {
        let asked = self.asked.is_some();
        let decided = contained(|| {
            fault::panic_if_named("ended");
            self.decide(watch, exit, mortem)
        });
        decided.unwrap_or_else(|panic| {
            let unfinished =
                (asked || ran_out(mortem)) && !self.interrupted && !is_done(watch, exit);
            self.after_failure(watch, exit, asked, unfinished, &panic)
        })
    }

    /// The guard's own code has failed, after the job's end.
    fn after_failure(
        &mut self,
        watch: &mut Watch,
        exit: Option<Exit>,
        asked: bool,
        unfinished: bool,
        panic: &str,
    ) -> Next {
        const WHILE: &str = "decided what follows";
        self.asked = None;
        self.planned = false;
        let code = exit.map_or(1, Exit::code);
        if !unfinished {
            tell_failed(watch, WHILE, panic, "the job has ended, and is let go");
            return Next::Done(code);
        }
        let code = if asked { RESUMABLE } else { code };
        let Some(known) = self.what_is_known(watch) else {
            let then = "no checkpoint is known, so the job is not started again";
            tell_failed(watch, WHILE, panic, then);
            watch.teller().hint(
                "your checkpoints were not touched: start the job again yourself from the newest one",
            );
            return Next::Done(code);
        };
        let then = "it goes on from the last checkpoint that it knows";
        tell_failed(watch, WHILE, panic, then);
        let again = contained(|| self.restart(watch, exit, asked, Some(&known)));
        again.unwrap_or_else(|panic| {
            let then = format!("the job is not started again from {}", known.path.display());
            tell_failed(watch, "prepared the next attempt", &panic, &then);
            Next::Done(code)
        })
    }

    /// What the job can go on from when the usual way has failed: the newest that a look finds now, if that does not
    /// fail as well, else what was found or used before.
    fn what_is_known(&self, watch: &Watch) -> Option<Checkpoint> {
        let found = contained(|| {
            fault::panic_if_named("look");
            self.look(watch)
        });
        let newest = found
            .ok()
            .and_then(|found| found.complete.into_iter().next());
        newest
            .or_else(|| self.known.clone())
            .or_else(|| self.resumed.clone())
    }

    /// The checkpoints of this job, as they are now.
    fn look(&self, watch: &Watch) -> Checkpoints {
        let found = self.places(watch).look(self.since.earliest());
        found.of_this_job(watch.run.furthest_step())
    }

    /// Decides what follows. `exit` is none for a job that is not our child: only its parent learns it.
    /// `mortem` says how the attempt died, if it did.
    fn decide(
        &mut self,
        watch: &mut Watch,
        exit: Option<Exit>,
        mortem: Option<&PostMortem>,
    ) -> Next {
        let asked = self.asked.take();
        if self.interrupted {
            self.count(watch);
            return Next::Done(exit.map_or(1, Exit::code));
        }
        let ran_out = ran_out(mortem);
        let total = watch.run.total_steps().filter(|total| *total > 0);
        let all_steps = all_steps(watch);
        if is_done(watch, exit) || (asked.is_none() && !ran_out) {
            let Some(exit) = exit else {
                return self.ended_unseen(watch, total, all_steps);
            };
            if exit != Exit::Code(0) {
                self.count(watch);
            }
            return Next::Done(exit.code());
        }
        let found = self.look(watch);
        let newest = found.complete.first();
        self.known = newest.cloned().or(self.known.take());
        self.name_broken(watch, &found);
        if let Some(asked) = asked.filter(|asked| !asked.forced && !ran_out) {
            let since = asked.at.earliest() - COARSE;
            // The one that it went on from may be as young as that, and is not its answer.
            let saved = newest.is_some_and(|newest| {
                let resumed = self.resumed.as_ref();
                newest.written >= since && resumed.is_none_or(|resumed| !newest.is(resumed))
            });
            let unfinished = exit == Some(Exit::Code(0)) && watch.run.total_steps().is_some();
            if !saved && !unfinished {
                return self.not_saved(watch, exit, newest);
            }
        }
        self.planned = asked.is_some_and(|asked| asked.cannot_hear) && !ran_out;
        self.restart(watch, exit, asked.is_some(), newest)
    }

    /// Nobody asked it to end, and its code is not known: its steps are.
    fn ended_unseen(&self, watch: &mut Watch, total: Option<u64>, all_steps: bool) -> Next {
        const UNKNOWN: &str = "its exit code is not known, since it was no child of ours";
        let Some(total) = total.filter(|_| !all_steps) else {
            let steps = if all_steps { " with all its steps" } else { "" };
            self.tell(watch, &format!("the job ended by itself{steps}; {UNKNOWN}"));
            return Next::Done(0);
        };
        let done = watch.policy().step_of_this_attempt().unwrap_or(0);
        let text = format!(
            "the job ended by itself at step {done} of {total}; {UNKNOWN}, and it is not started again"
        );
        self.tell(watch, &text);
        self.count(watch);
        Next::Done(1)
    }

    /// Asked, and ended without a checkpoint: it was done anyway, or it failed in the attempt.
    fn not_saved(
        &self,
        watch: &mut Watch,
        exit: Option<Exit>,
        newest: Option<&Checkpoint>,
    ) -> Next {
        if exit == Some(Exit::Code(0)) {
            self.tell(watch, "the job ended by itself before it was to stop");
            return Next::Done(0);
        }
        let code = exit.map_or("its code is not known".to_owned(), |exit| {
            format!("code {}", exit.code())
        });
        let text = format!(
            "the job failed ({code}) instead of saving; it is not started again. {}",
            left_to_resume(watch, newest)
        );
        self.tell(watch, &text);
        self.say_by_hand(watch, newest);
        Next::Done(exit.map_or(1, Exit::code))
    }

    fn restart(
        &mut self,
        watch: &mut Watch,
        exit: Option<Exit>,
        asked: bool,
        newest: Option<&Checkpoint>,
    ) -> Next {
        let code = exit.map_or(1, Exit::code);
        let Some(newest) = newest else {
            let looked = self.places(watch).shown();
            let text = format!(
                "no complete checkpoint of this job was found; it is not started again (looked in {looked}, and below)"
            );
            self.tell(watch, &text);
            watch.teller().hint(
                "--checkpoints DIR says where they are; if there is one, start the job by hand from it",
            );
            // A job that stopped as asked has not done its work, whatever its code says.
            return Next::Done(code.max(1));
        };
        let resume = match self.may_restart(watch, newest) {
            Ok(resume) => resume,
            Err(refusal) => {
                let left = left_to_resume(watch, Some(newest));
                self.tell(watch, &format!("{}. {left}", refusal.why));
                if let Some(hint) = refusal.hint {
                    watch.teller().hint(hint);
                }
                self.say_by_hand(watch, Some(newest));
                return Next::Done(if asked { RESUMABLE } else { code });
            }
        };
        let repeated = repeated(watch, newest);
        // Who cannot be asked repeats steps however early it is stopped: that is no stop that failed.
        self.rough = if asked && (repeated == 0 || self.planned) {
            0
        } else {
            self.rough + 1
        };
        self.restarts += 1;
        self.repeated += repeated;
        self.restarted_at = watch.run.furthest_step();
        self.resumed = Some(newest.clone());
        self.prospect.next_attempt();
        Next::Again(self.next_attempt(watch, newest, &resume, repeated))
    }

    /// How to go on from the checkpoint, or why not.
    fn may_restart(&self, watch: &Watch, newest: &Checkpoint) -> Result<Resume, Refusal> {
        if self.plan.mode == Mode::Stop {
            return Err(Refusal {
                why: "the job is not started again, as --guard=stop says".to_owned(),
                hint: None,
            });
        }
        let resume = self.resume(watch).ok_or_else(|| Refusal {
            why: "how this job resumes is not known, so it is not started again".to_owned(),
            hint: Some("say it with --resume-arg '--resume {checkpoint}'"),
        })?;
        if self.restarts >= self.plan.max_restarts {
            return Err(Refusal {
                why: format!("{} restarts were made, as many as allowed", self.restarts),
                hint: None,
            });
        }
        let furthest = watch.run.furthest_step();
        let no_new_step = furthest.is_none() || furthest <= self.restarted_at;
        let resumed = self.resumed.as_ref();
        let same = resumed.is_some_and(|resumed| resumed.path == newest.path);
        if self.restarts > 0 && no_new_step && same {
            return Err(Refusal {
                why: "no new step since the last restart: giving up".to_owned(),
                hint: None,
            });
        }
        Ok(resume)
    }

    /// What to start by hand, where we do not. The command itself is the user's own, and may hold secrets.
    pub fn say_by_hand(&self, watch: &Watch, newest: Option<&Checkpoint>) {
        let Some(newest) = newest else { return };
        let path = &newest.path;
        let how = self.resume(watch).map_or_else(
            || format!("start it so that it loads {}", path.display()),
            |resume| resume.by_hand(path),
        );
        watch.teller().hint(&format!("to go on by hand: {how}"));
    }

    /// A restart did not come about.
    pub fn not_started(&self, watch: &Watch) {
        self.say_by_hand(watch, self.resumed.as_ref());
    }

    /// Tells of the restart that was counted just now, and says what to start.
    fn next_attempt(
        &self,
        watch: &mut Watch,
        newest: &Checkpoint,
        resume: &Resume,
        repeated: u64,
    ) -> Restart {
        let pause = pause(self.rough);
        let again = match repeated {
            0 => "no step is repeated".to_owned(),
            1 => "1 step since then is done again".to_owned(),
            steps => format!("{steps} steps since then are done again"),
        };
        let text = format!(
            "starting again from {} (restart {} of at most {}); {again}{}",
            newest.path.display(),
            self.restarts,
            self.plan.max_restarts,
            if pause.is_zero() {
                String::new()
            } else {
                format!(", in {}", show_duration(pause.as_secs_f64()))
            }
        );
        self.tell(watch, &text);
        let number = self.restarts + 1;
        Restart {
            command: resume.command(&self.command, &newest.path),
            env: vec![
                ("LOWTIDE_ATTEMPT".into(), number.to_string().into()),
                ("LOWTIDE_CHECKPOINT".into(), newest.path.clone().into()),
            ],
            attempt: Attempt {
                at: watch.now(),
                number,
                checkpoint: Some(newest.path.display().to_string()),
                step: newest.step,
                repeated,
                why: text,
            },
            went: if self.rough == 0 {
                Went::AsAsked
            } else {
                Went::Lost
            },
            pause,
        }
    }

    /// Sees to it that nothing of the attempt lives on: its memory must be free for the next one.
    /// Those who stay are told to end, and then made to. `end_within` waits for a signal that
    /// wants us to end; false when one came. If that fails, the next attempt begins all the same.
    pub fn clear(
        &mut self,
        watch: &mut Watch,
        end_within: &mut dyn FnMut(Duration) -> bool,
        pause: Duration,
    ) -> bool {
        let cleared = contained(|| self.clear_away(watch, end_within, pause));
        cleared.unwrap_or_else(|panic| {
            let then = "the job is started again all the same";
            tell_failed(watch, "waited for what is left of it", &panic, then);
            !self.interrupted
        })
    }

    fn clear_away(
        &mut self,
        watch: &mut Watch,
        end_within: &mut dyn FnMut(Duration) -> bool,
        pause: Duration,
    ) -> bool {
        let orders = [None, Some(Signal::TERM), Some(Signal::KILL)];
        for order in orders {
            let alive: Vec<ProcId> = alive(watch);
            if alive.is_empty() {
                break;
            }
            if let Some(signal) = order {
                self.tell(
                    watch,
                    &format!(
                        "still running after the job's end: {}; signal {}",
                        alive
                            .iter()
                            .map(|id| id.pid.to_string())
                            .collect::<Vec<_>>()
                            .join(", "),
                        signal.as_raw()
                    ),
                );
                act::send(&alive, signal);
            }
            let mut waited = Duration::ZERO;
            while waited < LINGERS && !self::alive(watch).is_empty() {
                if !self.wait(end_within, LOOK_EVERY) {
                    return false;
                }
                waited += LOOK_EVERY;
                watch.tick(Duration::ZERO);
            }
        }
        self.wait(end_within, pause)
    }

    /// False when the user wants an end.
    fn wait(&mut self, end_within: &mut dyn FnMut(Duration) -> bool, time: Duration) -> bool {
        self.interrupted |= end_within(time);
        !self.interrupted
    }

    /// What the guard did in all, for the end of the run.
    pub fn summary(&self) -> String {
        let plural = |count: u64, what: &str| match count {
            1 => format!("1 {what}"),
            count => format!("{count} {what}s"),
        };
        format!(
            "{}, {} done again",
            plural(self.restarts.into(), "restart"),
            plural(self.repeated, "step")
        )
    }

    /// Says what an end that was not ours costs.
    fn count(&self, watch: &mut Watch) {
        let found = self.look(watch);
        self.name_broken(watch, &found);
        let text = left_to_resume(watch, found.complete.first());
        self.tell(watch, &text);
        self.say_by_hand(watch, found.complete.first());
    }

    fn name_broken(&self, watch: &mut Watch, found: &Checkpoints) {
        for (path, why) in found.broken.iter().take(NAMED) {
            self.tell(watch, &format!("skipped {}: {why}", path.display()));
        }
        if found.broken.len() > NAMED {
            let more = found.broken.len() - NAMED;
            self.tell(watch, &format!("skipped {more} more"));
        }
    }
}

fn ran_out(mortem: Option<&PostMortem>) -> bool {
    mortem
        .is_some_and(|found| matches!(found.cause, Cause::GroupOom { .. } | Cause::NodeOom { .. }))
}

/// The attempt has come to the last step of the run.
fn all_steps(watch: &Watch) -> bool {
    let total = watch.run.total_steps().filter(|total| *total > 0);
    total.is_some_and(|total| watch.policy().step_of_this_attempt() >= Some(total))
}

fn is_done(watch: &Watch, exit: Option<Exit>) -> bool {
    all_steps(watch) && matches!(exit, None | Some(Exit::Code(0)))
}

/// Why a job is not started again.
struct Refusal {
    why: String,
    hint: Option<&'static str>,
}

/// File systems may note an earlier time than the clock shows.
const COARSE: Duration = Duration::from_secs(2);

fn alive(watch: &Watch) -> Vec<ProcId> {
    let living = watch.run.processes().filter(|track| track.gone.is_none());
    living.map(|track| track.member.id).collect()
}

/// Steps that were done after the checkpoint was made.
pub(super) fn repeated(watch: &Watch, newest: &Checkpoint) -> u64 {
    let (done, saved) = (watch.policy().step_of_this_attempt(), newest.step);
    done.zip(saved)
        .map_or(0, |(done, saved)| done.saturating_sub(saved))
}

fn left_to_resume(watch: &Watch, newest: Option<&Checkpoint>) -> String {
    let done = watch.run.furthest_step();
    let Some(newest) = newest else {
        let lost = done.map_or(String::new(), |done| format!("; {done} steps were done"));
        return format!("no complete checkpoint of this job was found{lost}");
    };
    let since = match repeated(watch, newest) {
        0 => String::new(),
        1 => ", 1 step was done since".to_owned(),
        steps => format!(", {steps} steps were done since"),
    };
    format!(
        "the last complete checkpoint is {}{since}",
        newest.path.display()
    )
}

fn pause(rough: u32) -> Duration {
    match rough {
        0 => Duration::ZERO,
        ends => FIRST_PAUSE
            .saturating_mul(1 << (ends - 1).min(10))
            .min(LONGEST_PAUSE),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_with_each_rough_end() {
        let seconds: Vec<u64> = (0..9).map(|rough| pause(rough).as_secs()).collect();
        assert_eq!(seconds, [0, 1, 2, 4, 8, 16, 32, 60, 60]);
    }
}
