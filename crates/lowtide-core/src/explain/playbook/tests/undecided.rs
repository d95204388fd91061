//! Growth whose end nobody knows yet: what is measured of it is told, and nothing calls it a leak.

use super::*;

/// Entries whose key a store that fills has as well.
const OF_A_LEAK: [&str; 4] = ["P22", "P23", "P26", "P28"];

#[test]
fn what_is_not_decided_is_not_told_as_a_leak() {
    for case in all_cases() {
        let mut signs = (case.base)();
        (case.fits)(&mut signs);
        if signs.class != Class::Leak {
            continue;
        }
        undecided(&mut signs);
        for candidate in matched(&signs).candidates {
            let id = candidate.id.as_str();
            assert!(!OF_A_LEAK.contains(&id), "{id} is claimed");
            let words = candidate.because.join("; ") + &candidate.title + &candidate.cause;
            for claim in ["goes on", "leak", "for ever", "only grows"] {
                assert!(!words.contains(claim), "{id}: {words}");
            }
        }
    }
}

#[test]
fn objects_and_blocks_that_are_kept_are_named_while_it_grows() {
    for (kind, id) in [
        (MemoryClass::PythonLive, "P38"),
        (MemoryClass::GlibcLive, "P39"),
        (MemoryClass::OtherAnon, "P40"),
    ] {
        let mut signs = leak();
        undecided(&mut signs);
        look(&mut signs, &[(kind, 0.97)]);
        assert!(claims(&signs, id), "{id}");
        // Not growing any more, and not decided: nothing is known.
        signs.growing = false;
        assert!(!claims(&signs, id), "{id}");
    }
}

#[test]
fn tensors_without_a_graph_may_be_a_buffer_that_fills() {
    let mut signs = leak();
    undecided(&mut signs);
    look(&mut signs, &[(MemoryClass::GlibcMapped, 0.95)]);
    counted(&mut signs, 400.0, 180.0 * MB, 0.0);
    let found = matched(&signs);
    assert!(found.candidates.is_empty());
    let open = found.untested.iter().find(|s| s.about.starts_with("P09"));
    assert!(open.unwrap().says.contains("replay buffer"));
    counted(&mut signs, 400.0, 180.0 * MB, 300.0);
    assert!(claims(&signs, "P09"));
}

#[test]
fn a_growing_worker_is_untested_until_it_is_a_leak() {
    let mut signs = leak();
    signs.job.role = "loader-worker".to_owned();
    signs.job.trains = false;
    signs.watched_grew = Some(MB);
    assert!(claims(&signs, "P23"));
    undecided(&mut signs);
    let found = matched(&signs);
    assert!(found.candidates.iter().all(|c| c.id != "P23"));
    let open = found.untested.iter().find(|s| s.about.starts_with("P23"));
    assert!(open.unwrap().says.contains("shuffle buffer"));
}

/// An end that is known but not reached: nothing may say that growth ended.
#[test]
fn a_warm_up_under_way_has_not_ended() {
    let mut signs = warm_up();
    signs.growing = true;
    signs.course.settled = None;
    signs.course.to = signs.course.end;
    signs.epoch.as_mut().unwrap().with_it = false;
    signs.bound = Some(Bound {
        kind: BoundKind::Reserved,
        at: None,
        bytes: Some(1000.0 * MB),
        certainty: Certainty::Exact,
        why: "a block of 1 GB is being touched".to_owned(),
    });
    look(&mut signs, &[(MemoryClass::GlibcMapped, 0.97)]);
    let found = matched(&signs);
    let ruled_out = super::super::super::statements::ruled_out(&signs);
    let leak = ruled_out.iter().find(|s| s.about == "a leak").unwrap();
    assert!(leak.says.contains("a block of 1 GB"), "{}", leak.says);
    let because = found.candidates.into_iter().flat_map(|c| c.because);
    let said = ruled_out.into_iter().chain(found.ruled_out);
    let said = said.chain(found.untested).map(|s| s.says);
    for says in because.chain(said) {
        for claim in ["ended", "stopped", "since"] {
            assert!(!says.contains(claim), "{says}");
        }
    }
}
