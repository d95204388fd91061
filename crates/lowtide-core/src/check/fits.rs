//! `--fits`: the run needs less than the limit until its end. It passes on what was seen and never on
//! a prediction: memory that still grows leaves it open, even where its end is known.

use super::say::sizes;
use super::{Finding, Outcome};
use crate::units::show_bytes;
use crate::verdict::{Class, Fits, Verdict};

pub(super) fn fits(verdict: &Verdict) -> Finding {
    let name = super::FITS;
    let open = |says: &str| Finding::new(name, Outcome::Inconclusive, says.to_owned());
    let Some(limit) = verdict.limit else {
        return open("not decided: the limit is not known; say it: --limit 32GB");
    };
    let Some(outlook) = &verdict.outlook else {
        return open(
            "not decided: too little was seen to say what the run needs; a longer run decides it",
        );
    };
    let needs = outlook.needs;
    let over = outlook.seconds == Some(0.0);
    let settled = match verdict.verdict {
        Class::Stable | Class::Spikes => true,
        Class::WarmUp => !verdict.is_under_way(),
        Class::Leak | Class::TooEarly => false,
    };
    let over_the_limit = || match needs.low > limit {
        true => format!(
            ": {} too much",
            sizes(needs.low - limit, needs.high - limit)
        ),
        false => ": more than others leave of the limit".to_owned(),
    };
    let reaches = || match needs.high > limit {
        true => format!(
            "; not decided: up to {} too much, a longer run narrows it",
            show_bytes(needs.high - limit)
        ),
        false => "; not decided: others take of the same limit".to_owned(),
    };
    let open = |why: &str| format!("; not decided: {why}");
    let (outcome, but) = match outlook.fits {
        Some(Fits::No) => (Outcome::Fail, over_the_limit()),
        Some(Fits::Tight) => (Outcome::Inconclusive, reaches()),
        Some(Fits::Yes) if needs.high >= limit => (Outcome::Inconclusive, reaches()),
        // What a run needed that is over was measured, whatever its line would have done.
        Some(Fits::Yes) if over || settled => (Outcome::Pass, String::new()),
        Some(Fits::Yes) if verdict.is_under_way() => (
            Outcome::Inconclusive,
            open("where growth ends is only predicted"),
        ),
        Some(Fits::Yes) if verdict.verdict == Class::TooEarly && !verdict.growing => {
            (Outcome::Inconclusive, open("it is too early to say"))
        }
        Some(Fits::Yes) => (Outcome::Inconclusive, open("it still grows")),
        None => (
            Outcome::Inconclusive,
            open("growth was seen for too short a time to be carried that far"),
        ),
    };
    let says = match outlook.says.as_str() {
        "" => format!(
            "needs {} of {}",
            sizes(needs.low, needs.high),
            show_bytes(limit)
        ),
        says => says.to_owned(),
    };
    Finding::new(name, outcome, format!("{says}{but}")).measured(needs.low, needs.high, limit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::judge;
    use crate::point::Context;
    use crate::series::Series;
    use crate::verdict::{Axis, Meter, Needs, Outlook};

    /// A run of 240 steps that needs 17 to 18 GB of 32.
    fn verdict(class: Class, fits: Option<Fits>) -> Verdict {
        let mut verdict = judge(&Series::new(Axis::Step, Meter::Rss), &Context::default());
        verdict.verdict = class;
        verdict.limit = Some(32e9);
        verdict.settled_at = (class == Class::WarmUp).then_some(83.0);
        verdict.growing = class == Class::Leak;
        verdict.outlook = Some(Outlook {
            ends_at: Some(240.0),
            seconds: Some(600.0),
            needs: Needs::new(17.4e9, 17.0e9, 18.0e9),
            fits,
            futures: Vec::new(),
            later: Vec::new(),
            others: None,
            others_hold: None,
            says: "needs 17.0 to 18.0 GB of 32.0 GB until step 240: fits".to_owned(),
        });
        verdict
    }

    #[test]
    fn what_is_flat_or_settled_passes() {
        for class in [Class::Stable, Class::Spikes, Class::WarmUp] {
            let found = fits(&verdict(class, Some(Fits::Yes)));
            assert_eq!(found.outcome, Outcome::Pass, "{class}: {}", found.says);
            assert_eq!(found.criterion, "fits");
            assert_eq!((found.high, found.bound), (Some(18.0e9), Some(32e9)));
        }
    }

    #[test]
    fn what_does_not_fit_fails_whatever_it_is() {
        for class in [Class::Leak, Class::TooEarly, Class::WarmUp, Class::Stable] {
            let found = fits(&verdict(class, Some(Fits::No)));
            assert_eq!(found.outcome, Outcome::Fail, "{class}");
        }
    }

    #[test]
    fn growth_leaves_it_open_until_the_run_is_over() {
        for class in [Class::Leak, Class::TooEarly] {
            let mut growing = verdict(class, Some(Fits::Yes));
            growing.growing = true;
            let found = fits(&growing);
            assert_eq!(found.outcome, Outcome::Inconclusive, "{class}");
            assert!(found.says.ends_with("it still grows"), "{}", found.says);
            growing.outlook.as_mut().unwrap().seconds = Some(0.0);
            assert_eq!(fits(&growing).outcome, Outcome::Pass, "{class}");
        }
    }

    #[test]
    fn a_predicted_end_never_passes() {
        let mut under_way = verdict(Class::WarmUp, Some(Fits::Yes));
        under_way.settled_at = None;
        under_way.predicted_plateau = Some(17.9e9);
        let found = fits(&under_way);
        assert_eq!(found.outcome, Outcome::Inconclusive);
        assert!(found.says.contains("only predicted"), "{}", found.says);
    }

    #[test]
    fn tight_and_unknown_leave_it_open() {
        let found = fits(&verdict(Class::Stable, Some(Fits::Tight)));
        assert_eq!(found.outcome, Outcome::Inconclusive);
        assert_eq!(
            fits(&verdict(Class::Stable, None)).outcome,
            Outcome::Inconclusive
        );
        // A range that reaches the limit does not pass, whatever was called yes.
        let mut wide = verdict(Class::Stable, Some(Fits::Yes));
        wide.outlook.as_mut().unwrap().needs.high = 32e9;
        assert_eq!(fits(&wide).outcome, Outcome::Inconclusive);
        let mut unseen = verdict(Class::Stable, Some(Fits::Yes));
        unseen.outlook = None;
        assert_eq!(fits(&unseen).outcome, Outcome::Inconclusive);
        let mut unlimited = verdict(Class::Stable, None);
        unlimited.limit = None;
        let found = fits(&unlimited);
        assert_eq!(found.outcome, Outcome::Inconclusive);
        assert!(found.says.contains("--limit"), "{}", found.says);
    }
}
