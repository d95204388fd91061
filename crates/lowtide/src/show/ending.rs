//! What `run`, `attach` and `demo` print when watching ends: the verdict, the numbers, what watching cost,
//! and where the recording is.

use std::fmt::Write;
use std::path::Path;

use lowtide_core::run::Run;
use lowtide_core::text::shown;
use lowtide_core::units::{Micros, Share};

use super::style::Style;
use super::{explain, summary, text};

/// What watching took.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Cost {
    /// Processor time of all ticks.
    pub cpu: Micros,
    /// Time under the job's locks.
    pub locked: Micros,
}

pub(crate) fn text(run: &Run, cost: Cost, dir: Option<&Path>) -> String {
    let summary = run.summary();
    let (verdict, series, explanation) = run.explained();
    let style = Style::of(&std::io::stderr());
    let mut out = text::render(&verdict, series, None, style);
    out.push_str(&explain::short(&explanation, style));
    out.push_str(&summary::text(&summary));
    let of_wall = |time: Micros| Share(time.seconds() / summary.seconds.max(1e-9));
    let mut line = |name: &str, says: String| {
        let _ = writeln!(out, "  {name:<10} {}", shown(&says));
    };
    line(
        "cost",
        format!(
            "{} of a core; {} of wall time under the job's locks",
            of_wall(cost.cpu),
            of_wall(cost.locked)
        ),
    );
    let looks = summary.looks;
    if looks.looks > 0 {
        let share = of_wall(looks.cpu);
        line(
            "looks",
            format!("{} into the job's memory, {share} of a core", looks.looks),
        );
    }
    if let Some(dir) = dir {
        line("recording", dir.display().to_string());
        line("more", format!("lowtide explain {}", summary.name));
    }
    out
}
