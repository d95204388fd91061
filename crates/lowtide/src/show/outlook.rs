//! Where growth ends and what the run comes to, in lines for people. The verdict has all of it; the
//! sentence that the headline ends with is `outlook.says`, made in core.

use lowtide_core::judge::words::place;
use lowtide_core::units::{show_bytes, show_duration};
use lowtide_core::verdict::{Bound, Class, Fits, Oom, Outlook, Verdict};

use super::style::Paint;

/// One line for the end of growth, one for each future, one for what comes later, one for others.
pub(crate) fn lines(verdict: &Verdict) -> Vec<String> {
    let mut lines = Vec::new();
    lines.extend(verdict.bound.as_ref().map(|bound| end(verdict, bound)));
    let Some(outlook) = &verdict.outlook else {
        return lines;
    };
    for future in &outlook.futures {
        let needs = show_bytes(future.needs);
        lines.push(format!("if {}: {needs}{}", future.when, or(future.fits)));
    }
    lines.extend(later(outlook));
    if let Some(others) = outlook.others {
        let taken = show_bytes(others);
        lines.push(format!("others take {taken}/min of the same limit"));
    }
    lines
}

/// `it ends at 2.10 GB: 1 block of 2.0 GB reserved`.
fn end(verdict: &Verdict, bound: &Bound) -> String {
    let lead = match verdict.verdict {
        Class::Leak => "it should have ended",
        Class::TooEarly => "it may end",
        Class::WarmUp if verdict.is_under_way() => "it ends",
        Class::WarmUp | Class::Spikes | Class::Stable => "it ended",
    };
    let level = bound.bytes.map(show_bytes);
    let at = bound.at.map(|at| place(verdict.axis, at));
    let spots: Vec<String> = level.into_iter().chain(at).collect();
    let spots = match spots.is_empty() {
        true => String::new(),
        false => format!(" at {}", spots.join(", ")),
    };
    format!("{lead}{spots}: {}", bound.why)
}

/// `in a day 3.20 GB to 4.10 GB: fits; in a week ...`.
fn later(outlook: &Outlook) -> Option<String> {
    let horizons = outlook.later.iter().map(|horizon| {
        let (low, high) = (
            show_bytes(horizon.needs.low),
            show_bytes(horizon.needs.high),
        );
        let fits = horizon
            .fits
            .map_or(String::new(), |fits| format!(": {fits}"));
        format!("in {} {}{fits}", ahead(horizon.seconds), span(&low, &high))
    });
    let horizons: Vec<String> = horizons.collect();
    (!horizons.is_empty()).then(|| horizons.join("; "))
}

fn ahead(seconds: f64) -> String {
    match seconds {
        3600.0 => "an hour".to_owned(),
        86_400.0 => "a day".to_owned(),
        604_800.0 => "a week".to_owned(),
        other => show_duration(other),
    }
}

/// `3.20 to 4.10 GB`: what both ends have in common is said once.
pub(crate) fn span(low: &str, high: &str) -> String {
    match (low.split_once(' '), high.split_once(' ')) {
        _ if low == high => high.to_owned(),
        (Some((number, unit)), Some((_, same))) if unit == same => format!("{number} to {high}"),
        _ => format!("{low} to {high}"),
    }
}

fn or(fits: Option<Fits>) -> String {
    fits.map_or(String::new(), |fits| format!(", {fits}"))
}

/// When memory runs out, if that comes before the run's own end: beyond it nobody gets there.
pub(crate) fn oom(verdict: &Verdict) -> Option<Oom> {
    let end = verdict.outlook.as_ref().and_then(|o| o.ends_at);
    verdict
        .oom
        .filter(|oom| end.is_none_or(|end| oom.at <= end))
}

/// How much the answer matters: a leak, or a run that does not get to its end, is bad.
pub(crate) fn weight(verdict: &Verdict) -> Paint {
    let fits = verdict.outlook.as_ref().and_then(|o| o.fits);
    match (verdict.verdict, fits) {
        (Class::Leak, _) | (_, Some(Fits::No)) => Paint::Bad,
        (_, Some(Fits::Tight)) => Paint::Crest,
        _ => Paint::Bold,
    }
}

#[cfg(test)]
mod tests {
    use lowtide_core::verdict::{BoundKind, Certainty, Future, Horizon, Needs};

    use super::*;
    use crate::show::text::tests::open_growth;

    #[test]
    fn an_end_is_told_with_its_reason() {
        let mut verdict = open_growth();
        verdict.outlook = None;
        verdict.verdict = Class::WarmUp;
        verdict.bound = Some(Bound {
            kind: BoundKind::Reserved,
            at: None,
            bytes: Some(2.1e9),
            certainty: Certainty::Exact,
            why: "1 block of 2.0 GB reserved".to_owned(),
        });
        let told = "it ends at 2.10 GB: 1 block of 2.0 GB reserved";
        assert_eq!(lines(&verdict), [told]);
        verdict.settled_at = Some(83.0);
        assert!(lines(&verdict)[0].starts_with("it ended at"));
    }

    #[test]
    fn futures_later_and_others_have_their_lines() {
        let mut verdict = open_growth();
        let outlook = verdict.outlook.as_mut().unwrap();
        let future = |when: &str, needs, fits| Future {
            when: when.to_owned(),
            needs,
            fits: Some(fits),
        };
        outlook.futures = vec![
            future("growth ends with the epoch", 17.9e9, Fits::Yes),
            future("growth goes on", 41e9, Fits::No),
        ];
        let horizon = |seconds, low, high, fits| Horizon {
            seconds,
            needs: Needs::new(low, low, high),
            fits,
        };
        outlook.later = vec![
            horizon(86_400.0, 3.2e9, 4.1e9, Some(Fits::Yes)),
            horizon(604_800.0, 0.9e9, 4e10, None),
        ];
        outlook.others = Some(2e9);
        let told = [
            "if growth ends with the epoch: 17.9 GB, fits",
            "if growth goes on: 41.0 GB, does not fit",
            "in a day 3.20 to 4.10 GB: fits; in a week 900 MB to 40.0 GB",
            "others take 2.00 GB/min of the same limit",
        ];
        assert_eq!(lines(&verdict), told);
    }
}
