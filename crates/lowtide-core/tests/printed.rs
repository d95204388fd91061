//! Jobs that print, watched from the first line to the last: what is read from their output must not
//! accuse them, and what is said on the way must hold at the end.

use lowtide_core::entry::{Entry, Exit};
use lowtide_core::mark::{Mark, MarkSource, Phase, TrainingLoop};
use lowtide_core::output::StepReader;
use lowtide_core::process::{Facts, Member, ProcId, Role};
use lowtide_core::run::Run;
use lowtide_core::sample::{Limit, LimitFrom, Reading, Sample, TreeSum};
use lowtide_core::units::{Bytes, Micros};
use lowtide_core::verdict::{Class, Fits, Verdict};

const MB: f64 = 1e6;
const ID: ProcId = ProcId { pid: 7, start: 1 };

/// One process, what it prints, and a look after each line.
struct Job {
    run: Run,
    reader: StepReader,
    seconds: f64,
    limit: f64,
    looks: u64,
    accused: Option<(f64, Verdict)>,
}

impl Job {
    fn new() -> Job {
        let mut run = Run::new();
        run.apply(&Entry::Member(Member {
            id: ID,
            parent: None,
            facts: Facts {
                argv: vec!["python".to_owned(), "train.py".to_owned()],
                ..Facts::default()
            },
            role: Role::Trainer,
            why: "a test said so".to_owned(),
        }));
        run.apply(&Entry::Watch {
            at: Micros(0),
            id: ID,
            why: "the only process".to_owned(),
        });
        Job {
            run,
            reader: StepReader::new(),
            seconds: 0.0,
            limit: 25e9,
            looks: 0,
            accused: None,
        }
    }

    fn at(&self) -> Micros {
        Micros((self.seconds * 1e6) as u64)
    }

    fn prints(&mut self, line: &str) {
        let mut marks = Vec::new();
        self.reader.line(line, self.at(), &mut marks);
        for mark in marks {
            self.run.apply(&Entry::Mark(mark));
        }
    }

    /// What it is told to try, to learn whether the garbage collector would free it.
    fn told_to_collect(&self) -> String {
        let (_, _, explanation) = self.run.explained();
        let cycles = explanation
            .untested
            .iter()
            .find(|one| one.about.starts_with("P25"));
        cycles.expect("cycles are untested").says.clone()
    }

    fn marks(&mut self, step: u64, phase: Phase) {
        self.run.apply(&Entry::Mark(Mark {
            at: self.at(),
            source: MarkSource::Callback,
            step: Some(step),
            phase: Some(phase),
            ..Mark::default()
        }));
    }

    /// Some time later it holds so many MB.
    fn holds(&mut self, after: f64, megabytes: f64) {
        self.seconds += after;
        self.looks += 1;
        let wobble = (self.looks.wrapping_mul(2_654_435_761) % 1000) as f64 * 500.0;
        let held = Bytes((megabytes * MB + wobble) as u64);
        self.run.apply(&Entry::Sample(Sample {
            at: self.at(),
            readings: vec![reading(held)],
            tree: TreeSum {
                held,
                ..TreeSum::default()
            },
            limit: Some(Limit {
                bytes: Bytes(self.limit as u64),
                from: LimitFrom::Node,
                used: held,
            }),
            ..Sample::default()
        }));
    }

    fn asks(&mut self) -> Verdict {
        let verdict = self.run.verdict();
        if verdict.verdict == Class::Leak && self.accused.is_none() {
            self.accused = Some((self.seconds, verdict.clone()));
        }
        verdict
    }

    fn ends(&mut self) -> Verdict {
        let at = self.at();
        self.run.apply(&Entry::Gone { id: ID, at });
        self.run.apply(&Entry::End {
            at,
            exit: Some(Exit::Code(0)),
        });
        self.run.verdict()
    }
}

fn reading(held: Bytes) -> Reading {
    Reading {
        anon: held,
        vsize: held,
        peak: held,
        threads: 1,
        ..Reading::of(ID)
    }
}

/// A buffer of rollouts fills with each, whatever bar shows them: named, or not at all.
#[test]
fn rollouts_in_a_bar_are_no_evaluations() {
    for name in ["Rollout: ", "", "Sampling: "] {
        let mut job = Job::new();
        for step in 0..1000_u64 {
            let kept = 300.0 + (step / 20) as f64 * 8.0;
            if step > 0 && step % 20 == 0 {
                for n in [1, 32, 64] {
                    job.prints(&format!(
                        "{name}{}%|##  | {n}/64 [00:01<00:02, 30.0it/s]",
                        n
                    ));
                    job.holds(0.1, kept);
                }
            }
            job.prints(&format!(" 5%|▌  | {step}/3600 [00:10<03:00, 1.20it/s]"));
            job.holds(0.2, kept);
            job.asks();
        }
        assert!(job.accused.is_none(), "{name}: {:#?}", job.accused);
    }
}

/// A bar that begins anew, and nothing speaks of epochs: an iteration, as likely as a pass over the data.
#[test]
fn a_bar_that_begins_anew_is_no_epoch_unless_something_says_so() {
    for (says, told) in [("iteration", false), ("epoch", true)] {
        let mut job = Job::new();
        for round in 0..6 {
            job.prints(&format!("{says} {round}"));
            for n in 1..=100_u64 {
                let step = 100 * round + n;
                job.prints(&format!(" {n}%|▌  | {n}/100 [00:10<03:00, 1.20it/s]"));
                job.holds(0.2, 300.0 + 0.4 * step as f64);
                job.asks();
            }
        }
        assert_eq!(job.accused.is_some(), told, "{says}: {:#?}", job.accused);
    }
}

/// Epochs of every update (PPO) are no passes over the data.
#[test]
fn epochs_of_an_inner_loop_accuse_nobody() {
    for own_line in [true, false] {
        let mut job = Job::new();
        let mut step = 0;
        for update in 0..30 {
            for epoch in 1..=4 {
                if own_line {
                    job.prints(&format!("Epoch {epoch}/4"));
                }
                for _ in 0..5 {
                    step += 1;
                    job.prints(&match own_line {
                        true => format!("step {step} loss 0.3"),
                        false => format!("update {update} epoch {epoch}/4 step {step} loss 0.3"),
                    });
                    job.holds(0.5, 300.0 + 0.8 * f64::from(step));
                    job.asks();
                }
            }
        }
        assert!(job.accused.is_none(), "{own_line}: {:#?}", job.accused);
    }
}

/// Each fold of a cross-validation counts its steps from 1, with the same evaluations.
#[test]
fn steps_that_begin_again_are_survived() {
    let mut job = Job::new();
    let mut held = 300.0;
    for _ in 0..3 {
        for step in 1..=300 {
            held += 1.0;
            if step % 50 == 0 {
                job.marks(step, Phase::Eval);
                job.holds(0.5, held);
            }
            job.marks(step, Phase::Train);
            job.holds(0.5, held);
            job.asks();
        }
    }
    assert!(job.accused.is_none(), "{:#?}", job.accused);
}

/// Three hundred evaluations are more than a line has points for: what was told is not taken back.
#[test]
fn a_leak_per_evaluation_stays_one_however_long_it_goes_on() {
    let mut job = Job::new();
    let every = 50;
    for step in 1..=every * 300 {
        let held = 300.0 + 14.0 * (step / every) as f64;
        if step % every == 0 {
            job.marks(step, Phase::Eval);
            job.holds(0.3, held + 100.0);
        }
        job.marks(step, Phase::Train);
        job.holds(0.3, held);
        // Half an evaluation's distance after it: the floor of a stair is seen.
        if step % every == every / 2 && step > every * 16 {
            let verdict = job.asks();
            assert_eq!(verdict.verdict, Class::Leak, "step {step}: {verdict:#?}");
        }
    }
}

/// Growth that has only begun says nothing of the whole run, and neither does its outlook.
#[test]
fn a_run_that_will_not_fit_is_never_said_to_fit() {
    let mut job = Job::new();
    job.limit = 8e9;
    for step in 1..=1300 {
        job.prints(&format!("step {step}/3600"));
        job.holds(0.5, 1000.0 + 5.0 * f64::from(step));
        let verdict = job.asks();
        let fits = verdict.outlook.as_ref().and_then(|outlook| outlook.fits);
        assert!(
            step < 30 || fits != Some(Fits::Yes),
            "step {step}: {:#?}",
            verdict.outlook
        );
        // Nothing is decided at a place where only the shape will be clearer.
        let known = verdict.decides_at.is_some() && verdict.growing;
        assert!(!known, "step {step}: {verdict:#?}");
    }
}

/// What loading took is part of what the run needed.
#[test]
fn what_a_run_needed_has_its_start_up_in_it() {
    let mut job = Job::new();
    for second in 0..20 {
        let loading = 1000.0 + 700.0 * f64::from(second);
        job.holds(1.0, if second < 15 { loading } else { 3000.0 });
    }
    for step in 1..=200 {
        job.prints(&format!("step {step}/200"));
        job.holds(0.5, 3000.0);
    }
    let needed = |verdict: Verdict| verdict.outlook.unwrap().needs.value;
    let live = needed(job.asks());
    let over = needed(job.ends());
    assert!(live > 10_000.0 * MB, "{live}");
    assert!(over > 10_000.0 * MB, "{over}");
}

/// The output of real jobs, and one line of a loop like any other's.
const PRINTED: [(&str, &str); 5] = [
    (
        include_str!("../../../fixtures/files/trainer-bars.log"),
        "callbacks=[lowtide.cleanup",
    ),
    (
        include_str!("../../../fixtures/files/trainer-plain.log"),
        "callbacks=[lowtide.cleanup",
    ),
    (
        include_str!("../../../fixtures/files/lightning-tqdm.log"),
        "cleanup.step(self.global_step) in on_train_batch_end",
    ),
    (
        include_str!("../../../fixtures/files/lightning-bar.log"),
        "cleanup.step(self.global_step) in on_train_batch_end",
    ),
    (
        "***** Running training *****\n  Num examples = 800\nstep 1/100 loss 0.3\n",
        "cleanup.step(step) in the loop",
    ),
];

/// Lightning refuses to start with a callback that is made for Trainer, and a plain loop has no use for one.
#[test]
fn what_a_job_prints_tells_which_hook_fits_its_loop() {
    for (text, hook) in PRINTED {
        let mut job = Job::new();
        for mark in job.reader.feed(text.as_bytes(), job.at()) {
            job.run.apply(&Entry::Mark(mark));
        }
        for second in 0..200 {
            job.holds(1.0, 300.0 + f64::from(second));
        }
        let says = job.told_to_collect();
        assert!(says.contains(hook), "{says}\n{text}");
    }
}

/// A callback knows whose it is, whatever the job prints beside; a mark by hand does not.
#[test]
fn the_callback_knows_its_loop_best() {
    for (told, hook) in [
        (Some(TrainingLoop::Plain), "cleanup.step(step) in the loop"),
        (None, "callbacks=["),
    ] {
        let mut job = Job::new();
        job.prints("{'loss': 1.2, 'learning_rate': 2e-05, 'epoch': 0.12}");
        job.run.apply(&Entry::Mark(Mark {
            source: MarkSource::Callback,
            step: Some(1),
            training_loop: told,
            ..Mark::default()
        }));
        job.prints("{'loss': 1.1, 'learning_rate': 2e-05, 'epoch': 0.24}");
        for second in 0..200 {
            job.holds(1.0, 300.0 + f64::from(second));
        }
        let says = job.told_to_collect();
        assert!(says.contains(hook), "{says}");
    }
}
