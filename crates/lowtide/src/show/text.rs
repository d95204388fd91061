//! The verdict for a person: one line that answers, the chart, the evidence, the numbers with their
//! spread, and what would change the verdict.

use lowtide_core::judge::words::{pace, place, stretch, unit};
use lowtide_core::series::Series;
use lowtide_core::units::{show_bytes, show_duration};
use lowtide_core::verdict::{Class, Oom, Verdict};

use super::chart::chart;
use super::style::{Paint, Style};

/// Lines of evidence that are shown; `--json` has all of them.
const EVIDENCE: usize = 6;

/// The line of evidence that looks ahead; it comes last.
pub const WOULD_CHANGE: &str = "what would change this";

/// Everything a person needs to trust the verdict, or not.
pub fn render(verdict: &Verdict, series: &Series, how: Option<&str>, style: Style) -> String {
    let mut out = String::new();
    let paint = if verdict.verdict == Class::Leak {
        Paint::Bad
    } else {
        Paint::Bold
    };
    if !verdict.source.is_empty() {
        out.push_str(&format!("{}: ", verdict.source));
    }
    out.push_str(&format!("{}\n", style.paint(paint, &headline(verdict))));
    if let Some(process) = &verdict.process {
        out.push_str(&format!(
            "  {} (pid {}), {}: {}\n",
            process.command, process.pid, process.role, process.why
        ));
    }
    out.push('\n');
    out.push_str(&chart(series, verdict, style));
    out.push('\n');
    let bullet = if style.unicode { '·' } else { '-' };
    let (change, found): (Vec<_>, Vec<_>) = verdict
        .evidence
        .iter()
        .partition(|e| e.rule == WOULD_CHANGE);
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

/// The answer in one line.
pub fn headline(verdict: &Verdict) -> String {
    let axis = verdict.axis;
    let rate = &verdict.rate;
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
    let sure = verdict.confidence.map_or(String::new(), |c| {
        format!(" [such calls are right in {:.0} %]", c * 100.0)
    });
    let text = match verdict.verdict {
        Class::Leak => {
            let mut text = format!(
                "LEAK: the floor rises by {} ({} to {})",
                pace(axis, rate.value),
                pace(axis, rate.low),
                pace(axis, rate.high)
            );
            if let Some(oom) = &verdict.oom {
                text += &format!(", {}", runs_out(verdict, oom));
            }
            text
        }
        Class::TooEarly => {
            let mut text = "TOO EARLY to say".to_owned();
            if let Some(at) = verdict.decides_at {
                text += &format!(", decidable at {}", place(axis, at));
            }
            match verdict.safe_until_then {
                Some(true) => text += "; memory suffices until then",
                Some(false) => text += "; memory may run out before",
                None => {}
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
    format!("{text}{creep}{also}{sure}")
}

fn runs_out(verdict: &Verdict, oom: &Oom) -> String {
    let axis = verdict.axis;
    let until = |high: Option<f64>| high.map_or("never".to_owned(), |h| place(axis, h));
    let mut text = format!(
        "out of memory at {} ({} to {})",
        place(axis, oom.at),
        place(axis, oom.low),
        until(oom.high)
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
    let rate = &verdict.rate;
    let slope = if verdict.verdict == Class::Leak {
        String::new()
    } else {
        format!(
            "; rate now {} ({} to {})",
            pace(axis, rate.value),
            pace(axis, rate.low),
            pace(axis, rate.high)
        )
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
    lines
}

/// Breaks at blanks; the lines after the first are indented below the text.
pub(super) fn wrapped(text: &str, lead: &str, width: usize) -> String {
    let indent = lead.chars().count().min(6);
    let mut out = lead.to_owned();
    let mut used = lead.chars().count();
    let mut first = true;
    for word in text.split_whitespace() {
        let len = word.chars().count();
        if !first && used + 1 + len > width {
            out.push('\n');
            out.push_str(&" ".repeat(indent));
            used = indent;
        } else if !first {
            out.push(' ');
            used += 1;
        }
        out.push_str(word);
        used += len;
        first = false;
    }
    out.push('\n');
    out
}

#[cfg(test)]
mod tests {
    use lowtide_core::judge::judge;
    use lowtide_core::point::{Context, Point};
    use lowtide_core::verdict::{Axis, Meter};

    use super::*;

    fn shown(points: impl Iterator<Item = (f64, f64)>, context: &Context, style: Style) -> String {
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
        let text = shown(warm_up(), &limited, ascii);
        assert!(text.starts_with("run.csv: WARM-UP, not a leak"), "{text}");
        assert!(text.is_ascii(), "{text}");
        assert!(text.lines().skip(1).all(|l| l.len() <= 72), "{text}");
        assert!(text.contains("settled at step"), "{text}");
        assert!(text.contains("what would change this:"), "{text}");
        assert!(text.contains("limit: 32.0 GB"), "{text}");
    }

    #[test]
    fn colour_only_where_it_was_asked_for() {
        let style = Style {
            colour: true,
            ..Style::PLAIN
        };
        assert!(shown(warm_up(), &Context::default(), style).contains("\x1b[34m"));
        assert!(!shown(warm_up(), &Context::default(), Style::PLAIN).contains('\x1b'));
    }

    #[test]
    fn a_leak_names_its_rate() {
        let line = (0..400).map(|i| {
            (
                f64::from(i),
                1e9 + f64::from(i) * 5e6 + f64::from(i % 7) * 1e5,
            )
        });
        let text = shown(line, &Context::default(), Style::PLAIN);
        assert!(
            text.starts_with("run.csv: LEAK: the floor rises by 5.0"),
            "{text}"
        );
    }

    #[test]
    fn odd_series_do_not_break_the_chart() {
        for points in [
            vec![],
            vec![(1.0, 1.0)],
            vec![(1.0, 5.0), (1.0, 6.0)],
            vec![(0.0, 0.0), (1.0, 0.0)],
        ] {
            shown(points.into_iter(), &Context::default(), Style::PLAIN);
        }
    }
}
