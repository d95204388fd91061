//! One run from its seed: a job on a machine, and the real policy, called as a session calls it.

use std::fmt::Write;

use lowtide_core::guard::{Decision, Policy, Situation, Went};
use lowtide_core::mark::{Mark, MarkSource};
use lowtide_core::process::ProcId;
use lowtide_core::sample::{Cgroup, Reading, Sample};
use lowtide_core::units::{Bytes, Micros};
use lowtide_core::verdict::Verdict;

use crate::job::{End, Job, Told};
use crate::judge;
use crate::plan::{Manners, Resumes, World};
use crate::random::Random;
use crate::seen::Seen;
use crate::truth::{Fault, Moment, is_known, is_needed, stop_was_possible, would_have_stopped};

pub(crate) const MB: f64 = 1e6;
/// `run` ticks twice a second in the first minute.
const EARLY: f64 = 0.5;
const EARLY_UNTIL: f64 = 60.0;
/// `--max-restarts` has a default, too.
const MOST_RESTARTS: u32 = 12;
/// A run that takes longer than this is left: what it shows later it has shown before.
const LONGEST: f64 = 3600.0;

/// What a run came to.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    pub faults: Vec<Fault>,
    pub finished: bool,
    pub restarts: u32,
    pub stops: u32,
    /// Attempts that ended by the kernel or by our signal.
    pub lost: u32,
    /// Of these, those of jobs that serve requests and were known by then.
    pub lost_known: u32,
    pub repeated: u64,
    pub looks: u64,
    /// It was left running since it could not go on after a stop, and that was told.
    pub spared: bool,
    /// Its user was told that the limit is near.
    pub warned: bool,
    /// In words, if that was asked for.
    pub story: Option<String>,
}

pub fn play(seed: u64, told: bool) -> Outcome {
    play_as(seed, told, Resumes::of)
}

/// The same job, which can go on after every stop.
pub fn play_resumable(seed: u64) -> Outcome {
    play_as(seed, false, |_| Resumes::Always)
}

fn play_as(seed: u64, told: bool, resumes: impl Fn(&mut Random) -> Resumes) -> Outcome {
    let mut random = Random::new(seed);
    let mut world = World::of(&mut random);
    let (jobs, waits) = (random.fork(), random.fork());
    // Last of all, so that seeds make the jobs that they made before this was played.
    world.resumes = resumes(&mut random);
    let mut run = Run {
        jobs,
        waits,
        policy: Policy::new(None),
        sample: empty_sample(&world),
        verdict: judge::nothing_yet(),
        moments: Vec::new(),
        told: Vec::new(),
        lost: 0,
        outcome: Outcome {
            story: told.then(|| format!("{world:#?}\n")),
            ..Outcome::default()
        },
        world: &world,
    };
    run.attempts();
    run.outcome
}

struct Run<'a> {
    world: &'a World,
    jobs: Random,
    waits: Random,
    policy: Policy,
    sample: Sample,
    verdict: Verdict,
    moments: Vec<Moment<'a>>,
    /// Told, and not heard yet.
    told: Vec<Told>,
    lost: u32,
    outcome: Outcome,
}

impl<'a> Run<'a> {
    fn attempts(&mut self) {
        let (mut at, mut saved, mut seen) = (0.0, 0, Seen::nothing());
        let mut furthest = 0;
        for number in 0..=MOST_RESTARTS {
            self.outcome.restarts = number;
            let random = self.jobs.fork();
            let mut job = Job::start(self.world, random, at, saved, seen);
            self.moments.clear();
            self.told.clear();
            self.attempt(&mut job);
            let Some(end) = job.end else { return };
            self.ended(&job, end);
            self.last_look(job.at);
            let repeated = job.step - job.saved;
            match end {
                End::Done => self.outcome.finished = true,
                End::Stopped => self.outcome.stops += 1,
                End::Failed => {}
                End::OutOfMemory | End::Signalled => {
                    self.outcome.lost += 1;
                    let known = job.manners() == Manners::Serves && is_known(&job);
                    self.outcome.lost_known += u32::from(known);
                    self.outcome.repeated += repeated;
                }
            }
            if !self.goes_on(&job) {
                return;
            }
            let no_new_step = number > 0 && job.saved == saved && job.step <= furthest;
            if matches!(end, End::Done | End::Failed) || job.saved == 0 || no_new_step {
                return;
            }
            furthest = job.step;
            (at, saved, seen) = (job.at + 1.0, job.saved, job.seen);
            let went = if end == End::Stopped {
                Went::AsAsked
            } else {
                Went::Lost
            };
            if went == Went::Lost {
                self.lost += 1;
            }
            if end == End::OutOfMemory && job.is_saving {
                seen.save_failed(self.world.limit(job.at) - job.floor_and_others());
            }
            self.policy.next_attempt(went);
        }
    }

    /// Looks, and does what the policy decides, until the attempt is over.
    fn attempt(&mut self, job: &mut Job<'a>) {
        let began = job.at;
        let (mut due, mut acted) = (began, began);
        let mut could = self.goes_on(job);
        while job.end.is_none() && job.at < LONGEST {
            // It looks and acts in turn: what was decided is done before the next look.
            let now = (due + self.waits_for(due)).max(acted);
            let wait = now - due;
            self.pass(job, now);
            if job.end.is_some() {
                break;
            }
            job.seen.look(wait, job.steps_here(), job.is_saving);
            let ruling = self.look(job, now, wait);
            let acts_at = now + self.waits_for(now);
            let moment = Moment {
                job: *job,
                limit: self.world.limit(now),
                acts_at,
                lost: self.lost,
            };
            if !could && self.goes_on(job) {
                // What was possible before was not allowed.
                self.moments.clear();
                could = true;
            }
            let ends = !matches!(
                ruling.decision,
                Decision::Watch | Decision::Warn | Decision::Spare
            );
            self.outcome.warned |= ruling.decision == Decision::Warn;
            if ends && !job.is_asked() && !self.goes_on(job) {
                self.fault(job, Fault::LostByUs);
            }
            match ruling.decision {
                Decision::Spare => {
                    self.say(job, || format!("left running: {}", ruling.why));
                    self.outcome.spared = true;
                    self.moments.push(moment);
                }
                Decision::Watch | Decision::Warn if !job.is_asked() => self.moments.push(moment),
                Decision::Watch | Decision::Warn => {}
                Decision::Ask { stop_at } => {
                    self.say(job, || {
                        format!("ask to stop at {stop_at:?}: {}", ruling.why)
                    });
                    self.moments.push(moment);
                    if !is_needed(&moment) {
                        self.fault(job, Fault::WithoutNeed);
                    }
                    self.pass(job, acts_at);
                    acted = acts_at;
                    job.ask(stop_at);
                    if job.is_torn() && acts_at - now <= job.seen.latest_look() {
                        self.fault(job, Fault::Torn);
                    }
                }
                Decision::Stop | Decision::Kill => {
                    self.say(job, || format!("{:?}: {}", ruling.decision, ruling.why));
                    self.pass(job, acts_at);
                    if job.end.is_none() && would_have_stopped(job, moment.limit) {
                        self.fault(job, Fault::KilledInVain);
                    }
                    let obeys = ruling.decision == Decision::Kill || job.manners() != Manners::Deaf;
                    if obeys {
                        job.signal();
                    }
                }
            }
            let interval = self.world.interval;
            let interval = if now < began + EARLY_UNTIL {
                interval.min(EARLY)
            } else {
                interval
            };
            due += interval * (1.0 + (wait / interval).floor());
            if let Some(within) = ruling.look_within {
                due = due.min(now + within.seconds());
            }
        }
    }

    /// What the guard knows of it.
    fn goes_on(&self, job: &Job) -> bool {
        match self.world.resumes {
            Resumes::Always => true,
            Resumes::OnceSaved => job.saved > 0,
            Resumes::Never => false,
        }
    }

    fn waits_for(&mut self, at: f64) -> f64 {
        self.world.load.wait(at, &mut self.waits)
    }

    fn pass(&mut self, job: &mut Job<'a>, until: f64) {
        let told = &mut self.told;
        job.advance(until, &mut |one| told.push(one));
    }

    /// One tick: what was told until now is heard, then the level is looked at.
    fn look(&mut self, job: &Job, now: f64, late: f64) -> lowtide_core::guard::Ruling {
        let mut heard = std::mem::take(&mut self.told);
        // Ranks tell out of order.
        heard.sort_by(|one, other| one.at.total_cmp(&other.at));
        heard.retain(|told| {
            if told.at > now {
                return true;
            }
            self.policy.mark(&Mark {
                at: Micros::from_seconds(told.at),
                source: MarkSource::Callback,
                rank: (self.world.job.ranks > 1).then_some(told.rank),
                step: told.step,
                total_steps: told.step.map(|_| self.world.job.steps),
                phase: told.phase,
                ..Mark::default()
            });
            false
        });
        self.told = heard;
        judge::say(&mut self.verdict, self.world, job);
        self.outcome.looks += 1;
        let bytes = |mb: f64| Bytes((mb * MB) as u64);
        self.sample.at = Micros::from_seconds(now);
        self.sample.late = Micros::from_seconds(late);
        self.sample.cgroups[0].current = bytes(job.used());
        self.sample.cgroups[0].max = Some(bytes(self.world.limit(now)));
        let ranks = f64::from(self.world.job.ranks);
        for reading in &mut self.sample.readings {
            reading.anon = bytes(job.level / ranks);
            reading.peak = bytes(job.peak / ranks);
            reading.id.start = self.outcome.restarts.into();
        }
        let ruling = self.policy.tick(&Situation {
            sample: &self.sample,
            verdict: &self.verdict,
            trainers: self.world.job.ranks as usize,
            stopped: false,
            may_stop: self.goes_on(job),
        });
        self.say(job, String::new);
        ruling
    }

    /// A session looks once more when the job is over, and finds nobody.
    fn last_look(&mut self, now: f64) {
        let readings = std::mem::take(&mut self.sample.readings);
        self.sample.at = Micros::from_seconds(now);
        self.sample.late = Micros(0);
        self.sample.cgroups[0].current = Bytes((self.world.others.level(now) * MB) as u64);
        self.policy.tick(&Situation {
            sample: &self.sample,
            verdict: &self.verdict,
            trainers: 0,
            stopped: false,
            may_stop: true,
        });
        self.sample.readings = readings;
    }

    fn ended(&mut self, job: &Job, end: End) {
        self.say(job, || {
            format!(
                "{end:?}: {} steps since the last checkpoint",
                job.step - job.saved
            )
        });
        if job.manners() != Manners::Serves || job.is_torn() {
            return;
        }
        let limit = self.world.limit(job.at);
        let unknown =
            job.is_saving && !job.seen.knows_saves() && self.world.job.save_spike > 0.05 * limit
                || job.is_evaluating && !job.seen.knows_evals();
        if unknown || !matches!(end, End::OutOfMemory | End::Signalled) {
            return;
        }
        if !stop_was_possible(&self.moments) {
            return;
        }
        let fault = match end {
            End::OutOfMemory if !self.goes_on(job) => {
                let told = self.outcome.spared || self.outcome.warned;
                (!told).then_some(Fault::Untold)
            }
            End::OutOfMemory => Some(Fault::BeyondTheLimit),
            _ => Some(Fault::TooLate),
        };
        if let Some(fault) = fault {
            self.fault(job, fault);
        }
    }

    fn fault(&mut self, job: &Job, fault: Fault) {
        self.say(job, || format!("FAULT {fault:?}"));
        self.outcome.faults.push(fault);
    }

    fn say(&mut self, job: &Job, what: impl Fn() -> String) {
        if let Some(story) = &mut self.outcome.story {
            let _ = writeln!(
                story,
                "{:9.3} s  step {:3}{}  level {:7.2} of {:4.0} MB  {}",
                job.at,
                job.step,
                if job.is_saving { " saves" } else { "" },
                job.used(),
                self.world.limit(job.at),
                what()
            );
        }
    }
}

fn empty_sample(world: &World) -> Sample {
    let reading = |rank: u32| Reading {
        vsize: Bytes(1 << 40),
        threads: 1,
        ..Reading::of(ProcId {
            pid: 100 + rank,
            start: 0,
        })
    };
    Sample {
        readings: (0..world.job.ranks).map(reading).collect(),
        cgroups: vec![Cgroup {
            path: "/job".to_owned(),
            ..Cgroup::default()
        }],
        ..Sample::default()
    }
}
