//! Runs that a guard restarted, and runs that died: what is said of them afterwards.

use super::*;
use crate::entry::Attempt;
use crate::judge::prior::Prior;
use crate::judge::testing::surely_leaks_after;
use crate::mark::{Mark, MarkSource};
use crate::postmortem::Cause;
use crate::process::{Facts, Member, Role};
use crate::sample::{Cgroup, LimitFrom, TreeSum};
use crate::verdict::Class;

const MB: f64 = 1e6;
const LIMIT: f64 = 2000.0;

/// One trainer a second and a step, as `level` (MB) says.
pub(crate) struct GuardedJob {
    pub run: Run,
    at: u64,
    pid: u32,
    kills: u64,
}

impl GuardedJob {
    pub(crate) fn new() -> GuardedJob {
        let mut job = GuardedJob {
            run: Run::new(),
            at: 0,
            pid: 10,
            kills: 3,
        };
        job.begin(Role::Trainer);
        job
    }

    fn begin(&mut self, role: Role) {
        let id = self.id();
        self.run.apply(&Entry::Member(Member {
            id,
            parent: None,
            facts: Facts {
                argv: vec!["train.py".to_owned()],
                ..Facts::default()
            },
            role,
            why: String::new(),
        }));
        self.run.apply(&Entry::Watch {
            at: Micros(self.at * 1_000_000),
            id,
            why: "it trains".to_owned(),
        });
    }

    fn id(&self) -> ProcId {
        ProcId {
            pid: self.pid,
            start: 1,
        }
    }

    pub(crate) fn restart(&mut self, step: u64) {
        self.run.apply(&Entry::Attempt(Attempt {
            at: Micros(self.at * 1_000_000),
            number: self.run.attempt() + 1,
            step: Some(step),
            ..Attempt::default()
        }));
        self.pid += 1;
        self.begin(Role::Trainer);
    }

    pub(crate) fn steps(
        &mut self,
        steps: std::ops::Range<u64>,
        geometry: Geometry,
        level: impl Fn(u64) -> f64,
    ) {
        for step in steps {
            let at = Micros(self.at * 1_000_000);
            self.run.apply(&Entry::Mark(Mark {
                at,
                source: MarkSource::Callback,
                step: Some(step),
                total_steps: Some(10_000),
                geometry: Some(geometry),
                ..Mark::default()
            }));
            let held = Bytes((level(step) * MB + (step * 7919 % 100) as f64 * 3e3) as u64);
            self.look(held);
            self.at += 1;
        }
    }

    /// Seconds in which nobody tells of steps.
    pub(crate) fn silent(&mut self, seconds: std::ops::Range<u64>, level: impl Fn(u64) -> f64) {
        for second in seconds {
            self.look(Bytes((level(second) * MB) as u64));
            self.at += 1;
        }
    }

    fn look(&mut self, held: Bytes) {
        let reading = Reading {
            anon: held,
            vsize: held,
            peak: held,
            threads: 1,
            ..Reading::of(self.id())
        };
        self.run.apply(&Entry::Sample(Sample {
            at: Micros(self.at * 1_000_000),
            readings: vec![reading],
            tree: TreeSum {
                held,
                ..TreeSum::default()
            },
            cgroups: vec![Cgroup {
                path: "/job".to_owned(),
                oom_kills: Some(self.kills),
                ..Cgroup::default()
            }],
            limit: Some(Limit {
                bytes: Bytes((LIMIT * MB) as u64),
                from: LimitFrom::Cgroup("/job".to_owned()),
                used: held,
            }),
            ..Sample::default()
        }));
    }

    fn dies(&mut self, exit: Option<Exit>) -> Option<PostMortem> {
        self.run.apply(&Entry::Gone {
            id: self.id(),
            at: Micros(self.at * 1_000_000),
        });
        self.run.explain_end(exit, None)
    }
}

#[test]
fn a_leak_that_one_attempt_showed_is_still_a_leak() {
    let epoch = Geometry {
        epoch_steps: Some(100.0),
        ..Geometry::default()
    };
    let mut job = GuardedJob::new();
    let steps = (1.1 * surely_leaks_after(Some(100.0), Some(1.0))) as u64;
    let pace = 1200.0 / steps as f64;
    job.steps(0..steps, epoch, |step| 500.0 + pace * step as f64);
    assert_eq!(job.run.verdict().verdict, Class::Leak);
    job.restart(steps);
    let after = steps + 1..steps + 6;
    job.steps(after, epoch, |step| 500.0 + (step - steps) as f64);
    let verdict = job.run.verdict();
    assert_eq!(verdict.verdict, Class::Leak);
    assert!(
        (verdict.rate.value / (pace * MB) - 1.0).abs() < 0.1,
        "{:?}",
        verdict.rate
    );
    assert!(
        verdict
            .evidence
            .iter()
            .any(|e| e.says.contains("attempt 1"))
    );
    assert_eq!(verdict.oom, None, "its memory was given back");
    let summary = job.run.summary();
    assert_eq!(
        (summary.first_step, summary.last_step),
        (Some(0), Some(steps + 5))
    );
    assert_eq!(summary.restarts, 1);
    assert!(summary.tree.max > 1600.0 * MB, "the peak of all attempts");
}

#[test]
fn attempts_are_not_one_series() {
    // Flat in itself, and lower or higher with each attempt: together it would look like growth.
    let mut job = GuardedJob::new();
    for attempt in 0..4 {
        let first = 100 * attempt;
        job.steps(first..first + 100, Geometry::default(), |_| {
            500.0 + 200.0 * attempt as f64
        });
        job.restart(first + 100);
    }
    job.steps(400..500, Geometry::default(), |_| 1300.0);
    let verdict = job.run.verdict();
    assert_eq!(verdict.verdict, Class::Stable, "{verdict:?}");
}

#[test]
fn a_first_pass_begun_in_the_middle_is_no_leak_when_the_epoch_ends() {
    // 100 steps an epoch, from step 60 on: most of the second epoch is new to this process, too.
    let epoch = Geometry {
        epoch_steps: Some(100.0),
        ..Geometry::default()
    };
    let level = |step: u64| 500.0 + 8.0 * step as f64;
    // If all stores were full at once, only the pass itself would keep growth from being a leak.
    let passes_alone = || {
        let mut job = GuardedJob::new();
        job.run.judge_by(Prior::PUBLISHED.times(1e-3));
        job
    };
    let mut by_us = passes_alone();
    by_us.restart(60);
    by_us.steps(60..190, epoch, level);
    assert_eq!(by_us.run.verdict().verdict, Class::TooEarly);
    let mut by_others = passes_alone();
    by_others.steps(60..190, epoch, level);
    assert_eq!(by_others.run.verdict().verdict, Class::TooEarly);
    let mut fresh = passes_alone();
    fresh.steps(0..130, epoch, level);
    assert_eq!(
        fresh.run.verdict().verdict,
        Class::Leak,
        "the rule is what decides it"
    );
}

#[test]
fn an_oom_kill_is_known_by_its_counter() {
    let mut job = GuardedJob::new();
    job.steps(0..50, Geometry::default(), |step| {
        500.0 + 20.0 * step as f64
    });
    job.kills += 1;
    job.steps(50..51, Geometry::default(), |_| 1500.0);
    let found = job.dies(Some(Exit::Signal(9))).unwrap();
    assert_eq!(
        found.cause,
        Cause::GroupOom {
            group: "/job".to_owned(),
            kills: 1
        }
    );
    assert_eq!(found.who.unwrap().pid, 10);
    assert_eq!(found.step, Some(50));
    assert_eq!(found.steps.last(), Some(&(50.0, 50)));
    assert!(
        found.holders[0].grown > Bytes(900_000_000),
        "{:?}",
        found.holders
    );
}

#[test]
fn kills_of_earlier_jobs_in_the_group_are_not_ours() {
    let mut job = GuardedJob::new();
    job.steps(0..50, Geometry::default(), |_| 500.0);
    let found = job.dies(Some(Exit::Signal(9))).unwrap();
    assert_eq!(found.cause, Cause::Signal { signal: 9 });
}

/// Found by the chaos: a job that was done with a code of its own was started again, because one of its earlier
/// attempts had run out of memory.
#[test]
fn kills_of_an_earlier_attempt_are_not_those_of_this_one() {
    let mut job = GuardedJob::new();
    job.steps(0..50, Geometry::default(), |_| 500.0);
    job.kills += 1;
    job.steps(50..51, Geometry::default(), |_| 500.0);
    assert!(matches!(
        job.dies(Some(Exit::Signal(9))).unwrap().cause,
        Cause::GroupOom { .. }
    ));
    job.restart(51);
    job.steps(51..100, Geometry::default(), |_| 500.0);
    assert_eq!(job.dies(Some(Exit::Code(3))), None);
}

#[test]
fn what_the_guard_did_is_not_blamed_on_others() {
    let mut job = GuardedJob::new();
    job.steps(0..50, Geometry::default(), |_| 500.0);
    job.run.apply(&Entry::Event {
        at: Micros(job.at * 1_000_000),
        kind: EventKind::Guard,
        text: "killed".to_owned(),
    });
    let found = job.dies(Some(Exit::Signal(9))).unwrap();
    assert!(
        matches!(found.cause, Cause::Guard { .. }),
        "{:?}",
        found.cause
    );
}

#[test]
fn an_end_that_nobody_saw_is_judged_by_the_room_that_was_left() {
    let likely = |level: f64| {
        let mut job = GuardedJob::new();
        job.steps(0..50, Geometry::default(), |_| level);
        job.run.explain_end(None, None).unwrap().cause
    };
    assert_eq!(likely(1950.0), Cause::Unseen { likely_oom: true });
    assert_eq!(likely(900.0), Cause::Unseen { likely_oom: false });
}

#[test]
fn a_job_that_ends_by_itself_or_fails_by_itself_needs_no_post_mortem() {
    for exit in [Exit::Code(0), Exit::Code(1)] {
        let mut job = GuardedJob::new();
        job.steps(0..50, Geometry::default(), |_| 500.0);
        assert_eq!(job.dies(Some(exit)), None);
    }
}

#[test]
fn ranks_that_left_between_two_looks_are_explained_and_none_is_blamed() {
    let mut job = GuardedJob::new();
    job.steps(0..50, Geometry::default(), |_| 500.0);
    job.pid = 11;
    job.begin(Role::Rank { rank: 1, world: 2 });
    job.at = 53;
    job.run.apply(&Entry::Gone {
        id: job.id(),
        at: Micros(53_000_000),
    });
    job.pid = 10;
    let found = job.dies(Some(Exit::Code(1))).unwrap();
    assert_eq!(found.cause, Cause::RankLost { code: 1 });
    assert_eq!(found.who, None);
}

#[test]
fn the_rank_that_left_first_is_named() {
    let mut job = GuardedJob::new();
    job.steps(0..50, Geometry::default(), |_| 500.0);
    job.pid = 11;
    job.begin(Role::Rank { rank: 1, world: 2 });
    job.run.apply(&Entry::Gone {
        id: job.id(),
        at: Micros(51_000_000),
    });
    job.pid = 10;
    job.at = 53;
    let found = job.dies(Some(Exit::Code(1))).unwrap();
    assert_eq!(found.cause, Cause::RankLost { code: 1 });
    assert_eq!(found.who.unwrap().role, "rank 1 of 2");
}

#[test]
fn the_kernels_log_tells_the_machine_from_the_group() {
    let mut job = GuardedJob::new();
    job.steps(0..50, Geometry::default(), |_| 500.0);
    job.dies(Some(Exit::Signal(9)));
    let kernel = KernelKill {
        pid: 10,
        group: false,
        line: "Out of memory: Killed process 10".to_owned(),
    };
    let found = job
        .run
        .explain_end(Some(Exit::Signal(9)), Some(&kernel))
        .unwrap();
    assert!(matches!(found.cause, Cause::NodeOom { .. }));
}
