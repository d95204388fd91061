//! Runs made by hand whose growth is known to follow one count: it is the one that is named, and what
//! cannot be told from it is named beside it.

use std::collections::BTreeMap;

use lowtide_core::entry::Entry;
use lowtide_core::explain::{BreakdownGrowth, Explanation};
use lowtide_core::look::{
    Breakdown, By, Examiner, Layout, Look, LookWhy, MemoryClass, Missing, Part, Reserved,
};
use lowtide_core::mark::{Geometry, Mark, MarkSource, Phase};
use lowtide_core::process::{Facts, Member, ProcId, Role};
use lowtide_core::run::Run;
use lowtide_core::sample::{Reading, Sample, TreeSum};
use lowtide_core::units::{Bytes, Micros};
use lowtide_core::verdict::{Class, Verdict};

const MB: f64 = 1e6;
const ID: ProcId = ProcId { pid: 7, start: 1 };

fn jitter(n: u64) -> f64 {
    (n.wrapping_mul(2_654_435_761) % 1000) as f64 * 200.0
}

/// A trainer whose loop is told step by step.
struct Job {
    run: Run,
    second: f64,
    ticks: u64,
}

impl Job {
    fn new(geometry: Option<Geometry>) -> Job {
        let mut run = Run::new();
        run.apply(&Entry::Member(Member {
            id: ID,
            parent: None,
            facts: Facts {
                argv: vec!["python".to_owned(), "train.py".to_owned()],
                libtorch: true,
                ..Facts::default()
            },
            role: Role::Trainer,
            why: "a test said so".to_owned(),
        }));
        run.apply(&Entry::Watch {
            at: Micros(0),
            id: ID,
            why: "libtorch mapped".to_owned(),
        });
        let mut job = Job {
            run,
            second: 0.0,
            ticks: 0,
        };
        job.mark(Mark {
            geometry,
            ..Mark::default()
        });
        job
    }

    fn now(&self) -> Micros {
        Micros((self.second * 1e6) as u64)
    }

    fn mark(&mut self, mark: Mark) {
        self.run.apply(&Entry::Mark(Mark {
            at: self.now(),
            source: MarkSource::Callback,
            ..mark
        }));
    }

    fn step(&mut self, step: u64, seconds: f64) {
        self.second += seconds;
        self.mark(Mark {
            step: Some(step),
            phase: Some(Phase::Train),
            ..Mark::default()
        });
    }

    fn phase(&mut self, phase: Phase) {
        self.mark(Mark {
            phase: Some(phase),
            ..Mark::default()
        });
    }

    fn sample(&mut self, held: f64) {
        self.sample_with(held, 1);
    }

    fn sample_with(&mut self, held: f64, threads: u32) {
        self.second += 0.01;
        let anon = Bytes((held + jitter(self.ticks)) as u64);
        self.ticks += 1;
        self.run.apply(&Entry::Sample(Sample {
            seq: self.ticks,
            at: self.now(),
            readings: vec![Reading {
                anon,
                vsize: Bytes(1 << 40),
                peak: anon,
                threads,
                ..Reading::of(ID)
            }],
            tree: TreeSum {
                held: anon,
                ..TreeSum::default()
            },
            ..Sample::default()
        }));
    }

    fn look(&mut self, parts: &[(MemoryClass, f64)]) {
        self.incomplete_look(parts, &[]);
    }

    fn incomplete_look(&mut self, parts: &[(MemoryClass, f64)], missing: &[Missing]) {
        self.look_at(parts, missing, &[]);
    }

    fn look_at(
        &mut self,
        parts: &[(MemoryClass, f64)],
        missing: &[Missing],
        reserved: &[Reserved],
    ) {
        let held: f64 = parts.iter().map(|(_, bytes)| bytes).sum();
        let part = |(class, bytes): &(MemoryClass, f64)| {
            Part::of_class(*class, Bytes(*bytes as u64), Vec::new())
        };
        let parts = parts.iter().map(part).collect();
        self.run.apply(&Entry::Look(Look {
            held: Some(Bytes(held as u64)),
            missing: missing.to_vec(),
            breakdowns: vec![Breakdown::new(By::Mapping, parts)],
            layout: Some(Layout {
                reserved: reserved.to_vec(),
                ..Layout::default()
            }),
            ..Look::new(self.now(), ID, LookWhy::Due, Examiner::Mappings)
        }));
    }

    fn explained(&self) -> (Verdict, Explanation) {
        let (verdict, _, explanation) = self.run.explained();
        (verdict, explanation)
    }
}

/// The bytes by mapping.
fn mapped(explanation: &Explanation) -> BreakdownGrowth {
    let memory = explanation.memory.as_ref().unwrap();
    memory.by(&By::Mapping).unwrap().clone()
}

fn names(explanation: &Explanation) -> Vec<&str> {
    let tied = explanation.drivers.iter().enumerate();
    tied.filter(|(i, driver)| *i == 0 || driver.tied)
        .map(|(_, driver)| driver.name.as_str())
        .collect()
}

/// Every tenth step ends with a phase, which keeps 12 MB.
fn per(phase: Phase) -> Job {
    let mut job = Job::new(None);
    let mut kept = 0.0;
    for step in 1..=240 {
        // A pace of its own, so that time says nothing.
        job.step(step, if step % 3 == 0 { 0.9 } else { 0.3 });
        job.sample(500.0 * MB + kept);
        if step % 10 == 0 {
            job.phase(phase);
            kept += 12.0 * MB;
            // High enough to be an excursion, and not told as one: it is marked.
            job.sample(800.0 * MB + kept);
            job.phase(Phase::Train);
        }
        job.sample(500.0 * MB + kept);
    }
    job
}

#[test]
fn growth_with_each_evaluation_or_save_is_told_from_steps() {
    for (phase, name) in [(Phase::Eval, "evaluation"), (Phase::Save, "save")] {
        let (verdict, explanation) = per(phase).explained();
        assert_eq!(verdict.verdict, Class::Leak, "{verdict:#?}");
        assert_eq!(names(&explanation), [name], "{:#?}", explanation.drivers);
        let driver = &explanation.drivers[0];
        assert!(
            driver.low <= 12.0 * MB && 12.0 * MB <= driver.high,
            "{driver:?}"
        );
        assert!(driver.margin.unwrap() > 2.0, "{driver:?}");
        let entry = if phase == Phase::Eval { "P11" } else { "P20" };
        assert_eq!(explanation.candidates[0].id, entry);
    }
}

#[test]
fn few_evaluations_are_not_told_from_steps() {
    let mut job = Job::new(None);
    let mut kept = 0.0;
    for step in 1..=240 {
        job.step(step, 0.5);
        // By steps in truth, and noisy; evaluations come along.
        kept += MB;
        job.sample(500.0 * MB + kept + 120.0 * jitter(step));
        if step % 2 == 0 {
            job.phase(Phase::Eval);
            job.phase(Phase::Train);
        }
        job.sample(500.0 * MB + kept + 120.0 * jitter(step + 7));
    }
    let (_, explanation) = job.explained();
    assert_eq!(explanation.drivers[0].name, "step");
    let evaluation = explanation.drivers.iter().find(|d| d.name == "evaluation");
    assert!(evaluation.is_some_and(|d| d.tied && d.parts_at.is_some()));
    assert!(explanation.candidates.iter().all(|c| c.id != "P11"));
}

#[test]
fn steps_and_time_part_when_the_pace_changes() {
    for (changes, by_time) in [(false, false), (true, false), (true, true)] {
        let mut job = Job::new(None);
        for step in 1..=300 {
            let slow = changes && step > 150;
            job.step(step, if slow { 2.0 } else { 0.5 });
            let units = if by_time { job.second } else { step as f64 };
            job.sample(500.0 * MB + units * MB);
            job.sample(500.0 * MB + units * MB);
        }
        let (_, explanation) = job.explained();
        let expected: &[&str] = match (changes, by_time) {
            (false, _) => &["step", "time"],
            (true, false) => &["step"],
            (true, true) => &["time"],
        };
        // Growth by time bends on the axis of steps: the judge may look at its straight end alone.
        if by_time {
            assert!(
                names(&explanation).contains(&"time"),
                "{:#?}",
                explanation.drivers
            );
        } else {
            assert_eq!(names(&explanation), expected, "{:#?}", explanation.drivers);
        }
    }
}

#[test]
fn log_calls_in_every_step_are_named_beside_the_steps() {
    let mut job = Job::new(None);
    for step in 1..=200 {
        job.step(step, 0.5);
        job.run.apply(&Entry::Log {
            at: job.now(),
            pid: ID.pid,
            values: BTreeMap::new(),
        });
        job.sample(500.0 * MB + step as f64 * MB);
        job.sample(500.0 * MB + step as f64 * MB);
    }
    let (_, explanation) = job.explained();
    assert_eq!(names(&explanation)[0], "step");
    assert!(names(&explanation).contains(&"log"));
    let loggers = explanation
        .untested
        .iter()
        .any(|s| s.about.starts_with("P21"));
    assert!(loggers, "{:#?}", explanation.untested);
}

#[test]
fn the_judge_and_the_drivers_agree_on_new_examples() {
    let geometry = Geometry {
        examples: Some(640),
        batch: Some(2),
        accumulate: Some(4),
        ..Geometry::default()
    };
    let mut job = Job::new(Some(geometry));
    for step in 1..=240 {
        job.step(step, 0.5);
        let seen = step.min(80) as f64 * 8.0;
        for _ in 0..2 {
            job.sample(500.0 * MB + seen * MB);
        }
        if step % 30 == 10 {
            job.look(&[
                (MemoryClass::GlibcMapped, 400.0 * MB + seen * MB),
                (MemoryClass::PythonLive, 100.0 * MB),
            ]);
        }
    }
    let (verdict, explanation) = job.explained();
    let growth = verdict.growth.unwrap();
    assert_eq!(growth.driver.as_deref(), Some("new-example"));
    assert_eq!(names(&explanation), ["new-example"]);
    let driver = &explanation.drivers[0];
    assert!((driver.per_unit / MB - 1.0).abs() < 0.02, "{driver:?}");
    assert!((driver.per_unit / growth.per_unit.unwrap() - 1.0).abs() < 0.05);
    let first = &explanation.candidates[0];
    assert_eq!((first.id.as_str(), first.score), ("P01", 1.0));
    let memory = mapped(&explanation);
    assert_eq!(memory.parts[0].class, Some(MemoryClass::GlibcMapped));
    assert!(memory.accounted > 0.99);
    assert_eq!(verdict.suspects.len(), 2, "{:?}", verdict.suspects);
}

/// A look on top of a spike would show the spike, not the leak.
#[test]
fn looks_that_stand_on_the_floor_are_compared() {
    let mut job = Job::new(None);
    for step in 1..=240_u64 {
        job.step(step, 0.5);
        let leak = step as f64 * 0.5 * MB;
        job.sample(300.0 * MB + leak);
        let spike = if step % 40 == 0 { 400.0 * MB } else { 0.0 };
        if spike > 0.0 {
            job.sample(300.0 * MB + leak + spike);
        }
        if step % 20 == 0 {
            job.look(&[
                (MemoryClass::GlibcLive, 300.0 * MB + leak),
                (MemoryClass::OtherAnon, spike),
            ]);
        }
        job.sample(300.0 * MB + leak);
    }
    let (verdict, explanation) = job.explained();
    assert!(verdict.steady, "{verdict:#?}");
    let memory = mapped(&explanation);
    let class = memory.parts[0].class;
    assert_eq!(class, Some(MemoryClass::GlibcLive), "{memory:#?}");
    assert!(memory.parts[0].share > 0.9, "{memory:#?}");
}

/// Shares of what two looks differ by are shares of the growth only if it lies between them.
#[test]
fn shares_are_told_of_growth_only() {
    let told = |leak: f64, looks: &[u64], missing: &[Missing]| {
        let mut job = Job::new(None);
        for step in 1..=240_u64 {
            job.step(step, 0.5);
            let leaked = step as f64 * leak;
            for tooth in [0.0, 2.0] {
                job.sample(300.0 * MB + leaked + tooth * MB);
            }
            if looks.contains(&step) {
                let odd = step as f64 * 0.01 * MB;
                let kinds = [
                    (MemoryClass::GlibcLive, 299.0 * MB + leaked),
                    (MemoryClass::OtherAnon, odd),
                ];
                job.incomplete_look(&kinds, missing);
            }
        }
        let (_, explanation) = job.explained();
        mapped(&explanation)
    };
    let far = [10, 230];
    let leak = told(0.5 * MB, &far, &[]);
    assert!(leak.conclusive && leak.parts[0].share > 0.9, "{leak:#?}");
    let at = Micros(2_000_000);
    let late = Missing::TimeRanOut { work: at, wall: at };
    for none in [
        told(0.0, &far, &[]),
        told(0.5 * MB, &far, &[late]),
        told(0.5 * MB, &[10, 20], &[]),
    ] {
        assert!(!none.conclusive && none.accounted == 0.0, "{none:#?}");
        assert!(none.parts.iter().all(|part| part.share == 0.0));
    }
}

/// A block of 4 GB that was there at the first look is being touched. One that came later, or that was made
/// larger, has no end that is known.
#[test]
fn only_what_was_reserved_before_ends_at_its_size() {
    const SIZE: f64 = 4000.0 * MB;
    let touched = |start_at: fn(u64) -> u64, size_at: fn(u64) -> f64| {
        let mut job = Job::new(None);
        for step in 1..=240_u64 {
            job.step(step, 0.5);
            let filled = step as f64 * MB;
            for _ in 0..2 {
                job.sample(300.0 * MB + filled);
            }
            if [10, 120, 230].contains(&step) {
                let block = Reserved {
                    start: start_at(step),
                    size: Bytes(size_at(step) as u64),
                    touched: Bytes(filled as u64),
                    name: None,
                };
                let kinds = [
                    (MemoryClass::OtherAnon, filled),
                    (MemoryClass::GlibcLive, 300.0 * MB),
                ];
                job.look_at(&kinds, &[], &[block]);
            }
        }
        let (_, explanation) = job.explained();
        let found = explanation.candidates.into_iter();
        found.map(|c| (c.id, c.because)).collect::<Vec<_>>()
    };
    let filled = touched(|_| 4096, |_| SIZE);
    let ids: Vec<&str> = filled.iter().map(|(id, _)| id.as_str()).collect();
    assert_eq!(ids, ["P43"], "{filled:#?}");
    let says = &filled[0].1[0];
    assert!(
        says.starts_with("100 %") && says.contains("230 MB of it are in use, 3.77 GB are left"),
        "{says}"
    );
    for other in [
        touched(|step| 4096 * step, |_| SIZE),
        touched(|_| 4096, |step| SIZE + step as f64 * MB),
    ] {
        let ids: Vec<&str> = other.iter().map(|(id, _)| id.as_str()).collect();
        assert_eq!(ids, ["P40"], "{other:#?}");
    }
}

/// As seen at the end of the thread lab: 151 threads, then 2 with all the memory still there.
#[test]
fn threads_that_end_with_the_process_were_there() {
    let mut job = Job::new(None);
    for step in 1..=150_u32 {
        job.step(step.into(), 0.2);
        job.sample_with(50.0 * MB + f64::from(step) * 0.3 * MB, 1 + step);
    }
    job.sample_with(95.0 * MB, 2);
    let (_, explanation) = job.explained();
    let first = explanation.candidates.first();
    assert_eq!(
        first.map(|c| c.id.as_str()),
        Some("P41"),
        "{explanation:#?}"
    );
}

/// Half a minute of steps that keep what they make bit by bit: a reading within a step has a part of it,
/// and time fits that better than a whole number of steps. It is not named for that.
#[test]
fn time_that_runs_with_the_steps_is_not_told_from_them() {
    let epoch = Geometry {
        epoch_steps: Some(24.0),
        ..Geometry::default()
    };
    let mut job = Job::new(Some(epoch));
    for step in 0..48 {
        let took = if step < 12 { 0.76 } else { 0.58 };
        for part in [0.3, 0.8] {
            job.second += took * 0.4;
            job.sample(500.0 * MB + 5.0 * MB * (step as f64 + part));
        }
        job.step(step + 1, took * 0.2);
    }
    let (_, _, explanation) = job.run.explained();
    let first = &explanation.drivers[0];
    assert_eq!(first.name, "step", "{:#?}", explanation.drivers);
    let time = explanation.drivers.iter().find(|d| d.name == "time");
    assert!(time.unwrap().tied, "{:#?}", explanation.drivers);
}

/// Growth that bends a little with the pace of its loop may fit time better than steps, by chance; growth with the
/// clock fits it much better.
#[test]
fn a_bend_is_no_reason_to_prefer_the_clock() {
    for (by_clock, first) in [(0.68, "step"), (1.0, "time")] {
        let mut job = Job::new(None);
        for step in 1..=150_u64 {
            let slow = (step - 1) / 25 % 2 == 0;
            job.step(step, if slow { 0.2 } else { 0.12 });
            let steps = step.min(60) as f64 / 60.0;
            let clock = job.second.min(10.0) / 10.0;
            let grown = by_clock * clock + (1.0 - by_clock) * steps;
            job.sample((43.0 + 17.0 * grown) * MB + jitter(step));
        }
        let (_, explanation) = job.explained();
        assert_eq!(names(&explanation)[0], first, "{:#?}", explanation.drivers);
    }
}

/// 400 steps that keep 2 MB each, with what Python's collector tracks: `live` objects, more of which wait to be
/// found dead since the last full collection, which comes every `every` steps.
fn counted(every: u64, live: impl Fn(u64) -> u64) -> Explanation {
    let mut job = Job::new(None);
    for step in 1..=400 {
        job.step(step, 0.5);
        job.second += 0.01;
        job.ticks += 1;
        let held = Bytes((500.0 * MB + 2.0 * MB * step as f64 + jitter(step)) as u64);
        job.run.apply(&Entry::Sample(Sample {
            seq: job.ticks,
            at: job.now(),
            readings: vec![Reading {
                anon: held,
                vsize: Bytes(1 << 40),
                peak: held,
                threads: 1,
                objects: Some(live(step) + 40 * (step % every)),
                collections: Some([90 * step, 9 * step, step / every]),
                ..Reading::of(ID)
            }],
            tree: TreeSum {
                held,
                ..TreeSum::default()
            },
            ..Sample::default()
        }));
    }
    job.explained().1
}

#[test]
fn objects_that_every_step_keeps_are_told() {
    let explanation = counted(20, |step| 48_000 + 30 * step);
    let objects = explanation.objects.expect("they rise");
    assert_eq!(objects.unit, "step");
    assert!(objects.low <= 30.0 && 30.0 <= objects.high, "{objects:?}");
    assert_eq!(objects.in_short(), "objects rise by 30 per step");
}

#[test]
fn the_saw_tooth_of_the_collector_is_no_rise_of_objects() {
    // Thirty times the rise of the other test, and all of it dead by the next full collection.
    for every in [20, 90, 150] {
        assert_eq!(counted(every, |_| 48_000).objects, None);
    }
    // Not one full collection: nothing is known.
    assert_eq!(counted(1000, |step| 48_000 + 30 * step).objects, None);
    // They rose at the start, and memory goes on without them.
    let settled = |step: u64| 48_000 + 90 * step.min(100);
    assert_eq!(counted(20, settled).objects, None);
}
