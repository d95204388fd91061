//! What is said of the verdict while a job runs: one line when it stands, and one when it turns out
//! wrong. Events, hooks and the terminal get the same words.

use lowtide_core::entry::EventKind;
use lowtide_core::judge::describes_the_line;
use lowtide_core::look::LookWhy;
use lowtide_core::units::show_bytes;
use lowtide_core::verdict::{Class, Fits, Verdict};

use super::Watch;

/// A verdict is told when it has stood for this many ticks: what flickers is not news.
const STANDS: u32 = 3;
/// A leak that was told is open again only after this many: stairs look open between two of them.
const STANDS_OPEN: u32 = 30;

impl Watch {
    pub(super) fn judge(&mut self) -> Verdict {
        let verdict = self.run.verdict();
        self.foresee(&verdict);
        let class = verdict.verdict;
        let stood = match self.standing {
            Some((before, ticks)) if before == class => ticks + 1,
            _ => 1,
        };
        self.standing = Some((class, stood));
        let open_again = self.told == Some(Class::Leak) && class == Class::TooEarly;
        if stood < if open_again { STANDS_OPEN } else { STANDS } {
            return verdict;
        }
        if verdict.steady && !self.told_growth {
            self.told_growth = true;
            self.tell_growth(&verdict);
        }
        // "Too early" is where every run begins: no news, unless something was said before.
        let news = self.told != Some(class) && (self.told.is_some() || class != Class::TooEarly);
        if news {
            self.tell_verdict(&verdict);
        }
        verdict
    }

    /// Growth whose end nobody knows is told once, with what the run needs.
    fn tell_growth(&mut self, verdict: &Verdict) {
        self.look_soon(LookWhy::Verdict);
        if verdict.verdict != Class::TooEarly {
            return;
        }
        let text = one_line(verdict);
        let fits = verdict.outlook.as_ref().and_then(|outlook| outlook.fits);
        if matches!(fits, Some(Fits::Tight | Fits::No)) {
            self.teller.say(&text);
        }
        self.event(EventKind::Verdict, text);
    }

    /// A verdict that stands. One that turned out wrong is taken back, with what showed it.
    fn tell_verdict(&mut self, verdict: &Verdict) {
        let class = verdict.verdict;
        self.look_soon(LookWhy::Verdict);
        let before = self.told.replace(class);
        let line = one_line(verdict);
        let text = match taken_back(before, class) {
            Some(lead) => format!("{lead}: {line}{}", shown_by(verdict)),
            None => line,
        };
        self.event(EventKind::Verdict, text.clone());
        if class == Class::Leak || before == Some(Class::Leak) {
            self.teller.say(&text);
        }
        if class == Class::Leak {
            self.event(EventKind::Leak, text);
        }
    }
}

/// The verdict in one line, as events and `--on` commands get it.
pub(super) fn one_line(verdict: &Verdict) -> String {
    let who = verdict
        .process
        .as_ref()
        .map(|process| format!(" in {} {}", process.role, process.pid))
        .unwrap_or_default();
    let rate = || {
        format!(
            "{} per {} ({} to {})",
            show_bytes(verdict.rate.value),
            verdict.rate.unit.trim_start_matches("bytes/"),
            show_bytes(verdict.rate.low),
            show_bytes(verdict.rate.high)
        )
    };
    let floor = || {
        format!(
            "floor {} -> {}",
            show_bytes(verdict.floor.first),
            show_bytes(verdict.floor.last)
        )
    };
    let said = match (verdict.verdict, verdict.predicted_plateau) {
        (Class::Leak, _) => format!("leak{who}: {}", rate()),
        (Class::TooEarly, _) if verdict.growing => {
            format!("growing{who}, not decided: {}", rate())
        }
        (Class::WarmUp, Some(end)) if verdict.is_under_way() => {
            format!("warm-up under way{who}: it ends at {}", show_bytes(end))
        }
        (class, _) => format!("{class}{who}: {}", floor()),
    };
    match &verdict.outlook {
        Some(outlook) => format!("{said}; this run {}", outlook.says),
        None => said,
    }
}

/// How it is said that what was told before does not hold any more. Growth that comes later makes nobody
/// wrong who called the time before it stable.
fn taken_back(before: Option<Class>, now: Class) -> Option<String> {
    let before = before?;
    let lead = |rest: &str| Some(format!("taken back: it was called {before} and {rest}"));
    match (before, now) {
        (Class::Leak, Class::TooEarly) => lead("whether it is one is open again"),
        (Class::Leak, _) => lead("is none after all"),
        (Class::WarmUp, Class::Leak) => lead("did not end"),
        (_, Class::TooEarly) => lead("is open again"),
        _ => None,
    }
}

/// The evidence that speaks for it most: the first that is more than a description of the line.
fn shown_by(verdict: &Verdict) -> String {
    let shown = verdict
        .evidence
        .iter()
        .find(|evidence| !describes_the_line(evidence));
    shown.map_or(String::new(), |evidence| {
        format!(" ({}: {})", evidence.rule, evidence.says)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_told_wrongly_is_taken_back_in_words_that_agree() {
        let said = |before, now| taken_back(Some(before), now);
        let words = said(Class::Leak, Class::TooEarly).unwrap();
        assert!(words.contains("called leak") && words.contains("open again"));
        let words = said(Class::Leak, Class::Stable).unwrap();
        assert!(words.contains("none after all"));
        assert!(said(Class::WarmUp, Class::Leak).is_some());
        assert!(said(Class::Stable, Class::TooEarly).is_some());
        assert_eq!(said(Class::Stable, Class::Leak), None);
        assert_eq!(said(Class::TooEarly, Class::Leak), None);
        assert_eq!(taken_back(None, Class::TooEarly), None);
    }
}
