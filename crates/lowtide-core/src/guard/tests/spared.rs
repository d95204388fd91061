//! A job that could not be started again is told of and left running.

use super::*;

fn spared() -> ScriptedJob {
    ScriptedJob {
        may_stop: false,
        ..ScriptedJob::new()
    }
}

#[test]
fn a_leak_that_cannot_go_on_is_told_once_where_others_are_asked() {
    let asked = ScriptedJob::new().until_decided(100, leak).unwrap();
    let mut job = spared();
    let (used, ruling) = job.until_decided(100, leak).unwrap();
    assert_eq!(ruling.decision, Decision::Spare);
    assert_eq!((used, &ruling.why), (asked.0, &asked.1.why));
    // From here to the limit and beyond nothing is done to it; that the limit is near may be told.
    assert_eq!(job.until_decided(60, leak), None);
}

#[test]
fn what_is_learnt_later_is_acted_on() {
    let mut job = spared();
    let (_, ruling) = job.until_decided(100, leak).unwrap();
    assert_eq!(ruling.decision, Decision::Spare);
    job.may_stop = true;
    let (_, ruling) = job.until_decided(3, leak).unwrap();
    assert!(matches!(ruling.decision, Decision::Ask { .. }));
}

#[test]
fn a_request_that_was_made_is_seen_through() {
    let mut job = ScriptedJob::new();
    let (used, ruling) = job.until_decided(100, leak).unwrap();
    assert!(matches!(ruling.decision, Decision::Ask { .. }));
    // Its folder was removed, for instance: the request stands, and a job that does not listen is known.
    job.may_stop = false;
    job.step += 5;
    job.mark(Phase::Train);
    let ended = (0..600).find_map(|_| {
        let decision = job.tick(1.0, used).decision;
        (decision != Decision::Watch).then_some(decision)
    });
    assert_eq!(ended, Some(Decision::Stop));
}

#[test]
fn nobody_is_killed_who_was_not_asked() {
    let mut job = spared();
    job.until_decided(15, leak);
    // A gigabyte a second from here on.
    for tick in 0..10 {
        let ruling = job.tick(0.05, (550.0 + 50.0 * f64::from(tick)).min(999.0));
        assert!(
            matches!(
                ruling.decision,
                Decision::Watch | Decision::Warn | Decision::Spare
            ),
            "{ruling:?}"
        );
    }
}

#[test]
fn restart_every_spares_too_and_says_so_once() {
    let mut job = spared();
    job.policy = Policy::new(Some(Every::Steps(20)));
    let (_, ruling) = job.until_decided(100, |_| 300.0).unwrap();
    assert_eq!(ruling.decision, Decision::Spare);
    assert!(ruling.why.contains("--restart-every"), "{}", ruling.why);
    assert_eq!(job.until_decided(100, |_| 300.0), None);
    job.may_stop = true;
    let (_, ruling) = job.until_decided(2, |_| 300.0).unwrap();
    assert!(matches!(ruling.decision, Decision::Ask { .. }));
}
