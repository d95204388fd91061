//! What a run is exposed as.

use std::collections::HashSet;

use lowtide_core::entry::Entry;
use lowtide_core::process::{Facts, Member, ProcId, Role};
use lowtide_core::run::Run;
use lowtide_core::sample::{Pss, Reading, Sample};
use lowtide_core::units::{Bytes, Micros};
use lowtide_core::verdict::{Fits, Verdict};
use proptest::prelude::*;

use super::of_run::of_run;
use super::{Metric, text};
use crate::show::text::tests::open_growth;

/// A run of these processes. A sample counts once the next one shows that they live on.
fn run(processes: &[(Role, Reading)]) -> Run {
    let mut run = Run::new();
    for (role, reading) in processes {
        run.apply(&Entry::Member(Member {
            id: reading.id,
            parent: None,
            facts: Facts::default(),
            role: *role,
            why: String::new(),
        }));
    }
    for seq in 0..2 {
        run.apply(&Entry::Sample(Sample {
            seq,
            at: Micros(seq * 1_000_000),
            readings: processes.iter().map(|(_, reading)| *reading).collect(),
            ..Sample::default()
        }));
    }
    run
}

fn reading(pid: u32, anon: u64, gpu: Option<u64>) -> Reading {
    Reading {
        anon: Bytes(anon),
        vsize: Bytes(1 << 40),
        gpu: gpu.map(Bytes),
        ..Reading::of(ProcId { pid, start: 1 })
    }
}

fn exposed(run: &Run) -> Vec<Metric> {
    of_run("night1", run, &run.verdict())
}

fn line_of(metrics: &[Metric], start: &str) -> String {
    let text = text::encode(metrics);
    let line = text.lines().find(|line| line.starts_with(start));
    line.unwrap_or_else(|| panic!("no {start}: {text}"))
        .to_owned()
}

#[test]
fn processes_of_one_role_are_one_value() {
    let metrics = exposed(&run(&[
        (Role::Trainer, reading(1, 5, Some(100))),
        (Role::Trainer, reading(2, 7, Some(20))),
        (Role::Logger, reading(3, 9, None)),
    ]));
    for (start, value) in [
        (
            "lowtide_gpu_memory_bytes{run=\"night1\",role=\"trainer\"}",
            120,
        ),
        (
            "lowtide_process_memory_bytes{run=\"night1\",role=\"trainer\",kind=\"anon\"}",
            12,
        ),
        (
            "lowtide_process_memory_bytes{run=\"night1\",role=\"logger\",kind=\"held\"}",
            9,
        ),
    ] {
        assert_eq!(line_of(&metrics, start), format!("{start} {value}"));
    }
    let of_gpu = metrics.iter().filter(|m| m.name.contains("gpu"));
    assert_eq!(of_gpu.count(), 1, "the logger has none");
}

#[test]
fn what_is_no_memory_has_a_family_of_its_own() {
    let counted = Reading {
        objects: Some(48_213),
        ..reading(1, 5, None)
    };
    let metrics = exposed(&run(&[
        (Role::Trainer, counted),
        (Role::Logger, reading(2, 5, None)),
    ]));
    let start = "lowtide_process_objects{run=\"night1\",role=\"trainer\"}";
    assert_eq!(line_of(&metrics, start), format!("{start} 48213"));
    let of_objects = metrics.iter().filter(|m| m.name.contains("objects"));
    assert_eq!(of_objects.count(), 1, "nobody counted the logger's");
}

#[test]
fn ranks_are_told_apart_by_a_label() {
    let role = |rank| Role::Rank { rank, world: 2 };
    let metrics = exposed(&run(&[
        (role(0), reading(1, 5, Some(100))),
        (role(1), reading(2, 7, Some(20))),
    ]));
    for (rank, value) in [(0, 100), (1, 20)] {
        let start =
            format!("lowtide_gpu_memory_bytes{{run=\"night1\",role=\"rank\",rank=\"{rank}\"}}");
        assert_eq!(line_of(&metrics, &start), format!("{start} {value}"));
    }
}

fn any_role() -> impl Strategy<Value = Role> {
    prop_oneof![
        Just(Role::Trainer),
        Just(Role::Launcher),
        Just(Role::LoaderWorker),
        Just(Role::Other),
        (0..3u32).prop_map(|rank| Role::Rank { rank, world: 3 }),
    ]
}

proptest! {
    #[test]
    fn no_two_values_have_the_same_name_and_labels(
        processes in prop::collection::vec((any_role(), any::<u64>(), any::<Option<u64>>(), any::<bool>()), 0..12),
    ) {
        let processes: Vec<(Role, Reading)> = (1..)
            .zip(processes)
            .map(|(pid, (role, anon, gpu, read))| {
                let pss = read.then(Pss::default);
                (role, Reading { pss, ..reading(pid, anon, gpu) })
            })
            .collect();
        let metrics = exposed(&run(&processes));
        prop_assert_eq!(processes.is_empty(), metrics.iter().all(|m| m.name != "lowtide_process_memory_bytes"));
        let mut seen = HashSet::new();
        for metric in &metrics {
            prop_assert!(seen.insert((&metric.name, &metric.labels)), "{metric:?}");
            prop_assert!(metric.labels.iter().all(|(key, _)| *key != "pid"));
        }
    }
}

#[test]
fn the_outlook_is_exposed_as_far_as_it_is_known() {
    let shown = |verdict: &Verdict| text::encode(&of_run("night1", &Run::new(), verdict));
    let mut verdict = open_growth();
    let text = shown(&verdict);
    for line in [
        "lowtide_growing{run=\"night1\"} 1",
        "lowtide_outlook_fits{run=\"night1\"} 0.5",
        "lowtide_outlook_needs_bytes{run=\"night1\",bound=\"low\"} 17900000000",
        "lowtide_outlook_needs_bytes{run=\"night1\",bound=\"high\"} 41000000000",
    ] {
        assert!(text.lines().any(|shown| shown == line), "{line}: {text}");
    }
    for (fits, value) in [(Fits::Yes, "} 1"), (Fits::No, "} 0")] {
        verdict.outlook.as_mut().unwrap().fits = Some(fits);
        let text = shown(&verdict);
        let line = text.lines().find(|l| l.starts_with("lowtide_outlook_fits"));
        assert!(line.unwrap().ends_with(value), "{text}");
    }
    verdict.outlook.as_mut().unwrap().fits = None;
    assert!(!shown(&verdict).contains("lowtide_outlook_fits"));
    verdict.outlook = None;
    verdict.growing = false;
    let text = shown(&verdict);
    assert!(text.contains("lowtide_growing{run=\"night1\"} 0"), "{text}");
    assert!(!text.contains("outlook"), "{text}");
}
