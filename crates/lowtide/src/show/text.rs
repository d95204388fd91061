//! The verdict for a person: one line that answers, the chart, the evidence, the numbers with their
//! spread, and what would change the verdict.

use lowtide_core::judge::WOULD_CHANGE;
use lowtide_core::judge::words::{pace, place, stretch, unit};
use lowtide_core::series::Series;
use lowtide_core::text::shown;
use lowtide_core::units::{show_bytes, show_duration};
use lowtide_core::verdict::{Axis, Class, Verdict};

use super::chart::chart;
use super::outlook;
use super::style::{Paint, Style};

/// Lines of evidence that are shown; `--json` has all of them.
const EVIDENCE: usize = 6;

/// Everything a person needs to trust the verdict, or not.
pub(crate) fn render(
    verdict: &Verdict,
    series: &Series,
    how: Option<&str>,
    style: Style,
) -> String {
    let mut out = String::new();
    if !verdict.source.is_empty() {
        out.push_str(&format!("{}: ", shown(&verdict.source)));
    }
    out.push_str(&format!(
        "{}\n",
        style.paint(outlook::weight(verdict), &shown(&headline(verdict)))
    ));
    if let Some(process) = &verdict.process {
        let who = format!(
            "{} (pid {}), {}: {}",
            process.command, process.pid, process.role, process.why
        );
        out.push_str(&format!("  {}\n", shown(&who)));
    }
    out.push('\n');
    out.push_str(&chart(series, verdict, style));
    out.push('\n');
    let bullet = if style.unicode { '·' } else { '-' };
    let (change, found): (Vec<_>, Vec<_>) = verdict
        .evidence
        .iter()
        .partition(|evidence| WOULD_CHANGE.said(evidence));
    if let Some(sure) = confidence(verdict) {
        let text = format!("confidence: {sure}");
        out.push_str(&wrapped(&text, &format!("  {bullet} "), style.width));
    }
    for evidence in found.iter().take(EVIDENCE) {
        let text = format!("{}: {}", evidence.rule, evidence.says);
        out.push_str(&wrapped(&text, &format!("  {bullet} "), style.width));
    }
    for line in numbers(verdict, series) {
        out.push_str(&wrapped(&line, &format!("  {bullet} "), style.width));
    }
    for change in change {
        let lead = format!("  {}: ", change.rule);
        out.push_str(&wrapped(&change.says, &lead, style.width));
    }
    if let Some(how) = how {
        let text = wrapped(how, "  read: ", style.width);
        out.push_str(&style.paint(Paint::Dim, text.trim_end()));
        out.push('\n');
    }
    out
}

/// The answer in one line: the verdict, and what the run needs until its end.
pub(crate) fn headline(verdict: &Verdict) -> String {
    let answer = answer(verdict);
    match &verdict.outlook {
        Some(outlook) => format!("{answer}; this run {}", outlook.says),
        None => answer,
    }
}

/// How often such a call is right, as far as that is known. Never all of them: what was measured on cannot show that.
pub(crate) fn confidence(verdict: &Verdict) -> Option<String> {
    let share = (100.0 * verdict.confidence?).round().min(99.0);
    Some(format!("{share:.0} % of calls like this are right"))
}

/// The same without the outlook, for where that has a line of its own.
pub(crate) fn answer(verdict: &Verdict) -> String {
    let axis = verdict.axis;
    let also = match verdict.also.as_slice() {
        [] => String::new(),
        also => format!(
            " (also: {})",
            also.iter()
                .map(Class::to_string)
                .collect::<Vec<_>>()
                .join(", ")
        ),
    };
    let text = match verdict.verdict {
        Class::Leak => format!("LEAK: the floor rises by {}{}", rate(verdict), end(verdict)),
        Class::TooEarly if verdict.growing => growing(verdict),
        Class::TooEarly => {
            let mut text = "TOO EARLY to say".to_owned();
            if let Some(at) = verdict.decides_at {
                text += &format!(", decidable at {}", place(axis, at));
            }
            text + until_then(verdict)
        }
        Class::WarmUp if verdict.is_under_way() => {
            let mut text = "WARM-UP under way, not a leak".to_owned();
            let bound = verdict.bound.as_ref().and_then(|bound| bound.bytes);
            if let Some(level) = verdict.predicted_plateau.or(bound) {
                text += &format!(": it ends at {}", show_bytes(level));
            }
            text
        }
        Class::WarmUp => {
            let mut text = "WARM-UP, not a leak".to_owned();
            if let Some(at) = verdict.settled_at {
                text += &format!(": growth ended at {}", place(axis, at));
            }
            if let Some(plateau) = verdict.plateau {
                text += &format!(", plateau {}", show_bytes(plateau));
            }
            text
        }
        Class::Spikes => {
            "SPIKES, not a leak: excursions above a floor that does not rise".to_owned()
        }
        Class::Stable => "STABLE, not a leak: the floor does not rise".to_owned(),
    };
    let creep = if verdict.creep {
        "; creeps, too slowly to matter"
    } else {
        ""
    };
    // Whatever was concluded, it was from less than the run.
    let lost = verdict.lost.as_ref();
    let lost = lost.map_or(String::new(), |lost| format!("; {}", lost.says));
    format!("{text}{creep}{also}{lost}")
}

/// Growth whose end nobody knows yet.
fn growing(verdict: &Verdict) -> String {
    let mut text = format!("GROWING by {}, not decided", rate(verdict));
    // Where memory runs out before that, nobody gets there.
    let reached = |at: &f64| outlook::oom(verdict).is_none_or(|oom| oom.at > *at);
    if let Some(at) = verdict.decides_at.filter(reached) {
        text += &format!(": decidable at {}", place(verdict.axis, at));
    }
    text += &end(verdict).replacen(", ", "; if it goes on, ", 1);
    // The outlook looks further than the place where it can be decided.
    if verdict.outlook.is_none() {
        text += until_then(verdict);
    }
    text
}

fn until_then(verdict: &Verdict) -> &'static str {
    match verdict.safe_until_then {
        Some(true) => "; memory suffices until then",
        Some(false) => "; memory may run out before",
        None => "",
    }
}

/// `165 MB/step (160 to 170 MB/step)`.
fn rate(verdict: &Verdict) -> String {
    let rate = &verdict.rate;
    let pace = |slope| pace(verdict.axis, slope);
    let around = outlook::span(&pace(rate.low), &pace(rate.high));
    format!("{} ({around})", pace(rate.value))
}

/// `, out of memory at step 1400 of 3600 (step 1300 to step 1500), in 2h 10m`.
fn end(verdict: &Verdict) -> String {
    let Some(oom) = outlook::oom(verdict) else {
        return String::new();
    };
    let axis = verdict.axis;
    let total = verdict.outlook.as_ref().and_then(|o| o.ends_at);
    let of = total.map_or(String::new(), |end| match axis {
        Axis::Time => format!(" of {}", show_duration(end)),
        Axis::Step | Axis::Sample => format!(" of {end:.0}"),
    });
    let until = oom.high.map_or("never".to_owned(), |h| place(axis, h));
    let mut text = format!(
        ", out of memory at {}{of} ({} to {until})",
        place(axis, oom.at),
        place(axis, oom.low),
    );
    if let Some(seconds) = &oom.seconds {
        text += &format!(", in {}", show_duration(seconds.at));
    }
    text
}

fn numbers(verdict: &Verdict, series: &Series) -> Vec<String> {
    let axis = verdict.axis;
    let mut lines = Vec::new();
    let ends = series.buckets().first().zip(series.buckets().last());
    let over = ends.map_or(String::new(), |(first, last)| {
        format!(
            " from {} to {}",
            place(axis, first.first),
            place(axis, last.last)
        )
    });
    // The headline of what grows has it already.
    let slope = if verdict.verdict == Class::Leak || verdict.is_open_growth() {
        String::new()
    } else {
        format!("; rate now {}", rate(verdict))
    };
    lines.push(format!(
        "floor ({}): {} to {}{over}{slope}",
        verdict.meter,
        show_bytes(verdict.floor.first),
        show_bytes(verdict.floor.last)
    ));
    if let Some(growth) = &verdict.growth {
        let mut text = format!(
            "growth: {} over {}",
            show_bytes(growth.bytes),
            stretch(axis, growth.to - growth.from)
        );
        if let (Some(driver), Some(each)) = (&growth.driver, growth.per_unit) {
            text += &format!(", {} per {}", show_bytes(each), unit(driver));
        }
        lines.push(text);
    }
    if let Some(limit) = verdict.limit {
        let mut text = format!("limit: {}", show_bytes(limit));
        if let Some(headroom) = verdict.headroom {
            text += &format!(", headroom {}", show_bytes(headroom));
        }
        if let Some(plateau) = verdict.predicted_plateau {
            text += &format!(", predicted plateau {}", show_bytes(plateau));
        }
        lines.push(text);
    } else if let Some(plateau) = verdict.predicted_plateau {
        lines.push(format!("predicted plateau: {}", show_bytes(plateau)));
    }
    lines.extend(outlook::lines(verdict));
    lines
}

/// Breaks at blanks, and shows what cannot be seen; the lines after the first are indented below the text.
pub(crate) fn wrapped(text: &str, lead: &str, width: usize) -> String {
    let indent = lead.chars().count().min(6);
    let mut out = lead.to_owned();
    let mut used = lead.chars().count();
    let mut first = true;
    for word in text.split_whitespace().map(shown) {
        let len = word.chars().count();
        if !first && used + 1 + len > width {
            out.push('\n');
            out.push_str(&" ".repeat(indent));
            used = indent;
        } else if !first {
            out.push(' ');
            used += 1;
        }
        out.push_str(&word);
        used += len;
        first = false;
    }
    out.push('\n');
    out
}

#[cfg(test)]
pub(crate) mod tests {
    use lowtide_core::judge::judge;
    use lowtide_core::point::{Context, Point};
    use lowtide_core::verdict::{Fits, Meter, Needs, Oom, Outlook, Rate};

    use super::*;

    fn rendered(
        points: impl Iterator<Item = (f64, f64)>,
        context: &Context,
        style: Style,
    ) -> String {
        let mut series = Series::new(Axis::Step, Meter::Rss);
        points.for_each(|(x, y)| series.push(Point::new(x, y)));
        let mut verdict = judge(&series, context);
        verdict.source = "run.csv".to_owned();
        render(&verdict, &series, Some("24 points"), style)
    }

    fn warm_up() -> impl Iterator<Item = (f64, f64)> {
        (1..=24).map(|i| {
            let step = f64::from(i * 10);
            (
                step,
                4e9 + step.min(83.0) * 165e6 + f64::from(i * 7 % 13) * 10e6,
            )
        })
    }

    #[test]
    fn the_answer_comes_first_and_fits_the_terminal() {
        let ascii = Style {
            width: 72,
            colour: false,
            unicode: false,
        };
        let limited = Context {
            limit: Some("32GB".parse().unwrap()),
            ..Context::default()
        };
        let text = rendered(warm_up(), &limited, ascii);
        assert!(text.starts_with("run.csv: WARM-UP, not a leak"), "{text}");
        assert!(text.is_ascii(), "{text}");
        assert!(text.lines().skip(1).all(|l| l.len() <= 72), "{text}");
        assert!(text.contains("settled at step"), "{text}");
        assert!(text.contains("what would change this:"), "{text}");
        assert!(text.contains("limit: 32.0 GB"), "{text}");
    }

    #[test]
    fn how_sure_it_is_stands_there_once_and_is_never_certainty() {
        let mut verdict = judge(&Series::new(Axis::Step, Meter::Rss), &Context::default());
        let page = |verdict: &Verdict| {
            let series = Series::new(Axis::Step, Meter::Rss);
            render(verdict, &series, None, Style::PLAIN)
        };
        assert!(verdict.confidence.is_none(), "of nothing, nothing is known");
        assert!(!page(&verdict).contains("confidence"), "{}", page(&verdict));
        for (share, told) in [(0.943, "94 %"), (0.9995, "99 %"), (0.5, "50 %")] {
            verdict.confidence = Some(share);
            let line = format!("confidence: {told} of calls like this are right");
            assert_eq!(page(&verdict).matches(&line).count(), 1);
            assert!(!headline(&verdict).contains("calls like this"));
        }
    }

    #[test]
    fn colour_only_where_it_was_asked_for() {
        let style = Style {
            colour: true,
            ..Style::PLAIN
        };
        assert!(rendered(warm_up(), &Context::default(), style).contains("\x1b[34m"));
        assert!(!rendered(warm_up(), &Context::default(), Style::PLAIN).contains('\x1b'));
    }

    /// The founding run at step 30, told that it has 240: said by hand, as views decide nothing.
    pub(crate) fn open_growth() -> Verdict {
        let mut verdict = judge(&Series::new(Axis::Step, Meter::Rss), &Context::default());
        verdict.verdict = Class::TooEarly;
        verdict.growing = true;
        verdict.rate = Rate {
            value: 165e6,
            low: 160e6,
            high: 170e6,
            unit: Axis::Step.rate_unit().to_owned(),
            per_minute: None,
        };
        verdict.limit = Some(32e9);
        verdict.outlook = Some(Outlook {
            ends_at: Some(240.0),
            seconds: None,
            needs: Needs::new(30e9, 17.9e9, 41e9),
            fits: Some(Fits::Tight),
            futures: Vec::new(),
            later: Vec::new(),
            others: None,
            others_hold: None,
            says: "needs 17.9 to 41.0 GB of 32.0 GB until step 240: may not fit".to_owned(),
        });
        verdict
    }

    const FITS: &str = "; this run needs 17.9 to 41.0 GB of 32.0 GB until step 240: may not fit";

    #[test]
    fn growth_that_is_not_decided_is_never_too_early() {
        let mut verdict = open_growth();
        let by = "GROWING by 165 MB/step (160 to 170 MB/step), not decided";
        assert_eq!(headline(&verdict), format!("{by}{FITS}"));
        verdict.decides_at = Some(104.0);
        verdict.safe_until_then = Some(true);
        let decidable = ": decidable at step 104";
        assert_eq!(headline(&verdict), format!("{by}{decidable}{FITS}"));
        verdict.outlook = None;
        let suffices = "; memory suffices until then";
        assert_eq!(headline(&verdict), format!("{by}{decidable}{suffices}"));
        verdict.growing = false;
        assert!(headline(&verdict).starts_with("TOO EARLY to say, decidable at step 104"));
    }

    #[test]
    fn memory_runs_out_before_the_last_step_or_not_at_all() {
        let mut verdict = open_growth();
        let oom = |at: f64| Oom {
            at,
            low: at - 10.0,
            high: None,
            seconds: None,
        };
        verdict.oom = Some(oom(190.0));
        let out = "out of memory at step 190 of 240 (step 180 to never)";
        assert!(headline(&verdict).contains(out), "{}", headline(&verdict));
        verdict.verdict = Class::Leak;
        assert_eq!(
            headline(&verdict),
            format!("LEAK: the floor rises by 165 MB/step (160 to 170 MB/step), {out}{FITS}")
        );
        // A run of 240 steps is not told of step 49,056.
        verdict.oom = Some(oom(49_056.0));
        assert!(!headline(&verdict).contains("out of memory"));
        verdict.outlook = None;
        assert!(headline(&verdict).contains("out of memory at step 49056 (step"));
    }

    #[test]
    fn a_warm_up_under_way_says_where_it_ends() {
        let mut verdict = open_growth();
        verdict.verdict = Class::WarmUp;
        verdict.predicted_plateau = Some(2.1e9);
        let told = "WARM-UP under way, not a leak: it ends at 2.10 GB";
        assert_eq!(headline(&verdict), format!("{told}{FITS}"));
        verdict.settled_at = Some(83.0);
        let told = "WARM-UP, not a leak: growth ended at step 83";
        assert_eq!(headline(&verdict), format!("{told}{FITS}"));
    }

    #[test]
    fn odd_series_do_not_break_the_chart() {
        for points in [
            vec![],
            vec![(1.0, 1.0)],
            vec![(1.0, 5.0), (1.0, 6.0)],
            vec![(0.0, 0.0), (1.0, 0.0)],
        ] {
            rendered(points.into_iter(), &Context::default(), Style::PLAIN);
        }
    }
}
