//! What is told, and when: a limit that is near, one ahead, and what others take.

use super::*;

#[test]
fn near_the_limit_is_told_once_and_again_after_it_was_left() {
    let mut job = ScriptedJob::new();
    job.policy = Policy::warning_only();
    let warned = |job: &mut ScriptedJob, levels: &[f64]| {
        let told = levels.iter().filter(|used| {
            let ruling = job.tick(1.0, **used);
            ruling.decision == Decision::Warn
        });
        told.count()
    };
    assert_eq!(warned(&mut job, &[880.0, 905.0, 895.0, 910.0, 950.0]), 1);
    assert_eq!(warned(&mut job, &[870.0, 905.0]), 1);
}

#[test]
fn a_leak_is_foretold_before_the_limit_is_near() {
    let mut job = ScriptedJob::new();
    job.policy = Policy::warning_only();
    let mut told = Vec::new();
    for step in 1..=40 {
        let ruling = job.step(leak(step));
        if ruling.decision == Decision::Warn {
            told.push(ruling.why);
        }
        job.verdict = verdict(if step > 20 {
            Class::Leak
        } else {
            Class::TooEarly
        });
        job.verdict.rate.per_minute = Some(600.0 * MB);
        job.verdict.outlook = Some(does_not_fit());
    }
    let [text] = &told[..] else {
        panic!("{told:?}")
    };
    assert!(
        text.contains("steps") && text.contains("reached in"),
        "{text}"
    );
}

fn does_not_fit() -> Outlook {
    let needs = Needs::new(2000.0 * MB, 1900.0 * MB, 2100.0 * MB);
    Outlook {
        ends_at: Some(200.0),
        seconds: Some(160.0),
        needs,
        fits: Some(Fits::No),
        futures: Vec::new(),
        later: Vec::new(),
        others: None,
        others_hold: None,
        says: String::new(),
    }
}

/// Other jobs that start fill the machine; this one is flat, or fits whatever they do.
#[test]
fn what_others_take_is_no_growth_of_this_job() {
    for (per_minute, fits) in [(0.0, Fits::No), (600.0, Fits::Yes)] {
        let mut job = ScriptedJob::new();
        job.policy = Policy::warning_only();
        for step in 1..=40 {
            let ruling = job.step(leak(step));
            assert_eq!(ruling.decision, Decision::Watch, "{}", ruling.why);
            job.verdict = verdict(Class::Leak);
            job.verdict.rate.per_minute = Some(per_minute * MB);
            job.verdict.outlook = Some(Outlook {
                fits: Some(fits),
                ..does_not_fit()
            });
        }
    }
}
