//! Views: they see core types and decide nothing.

pub mod chart;
pub mod check;
pub mod drawing;
pub mod explain;
pub mod jobs;
pub mod json;
pub mod letters;
pub mod markdown;
pub mod mortem;
pub mod outlook;
pub mod page;
pub mod png;
pub mod progress;
pub mod style;
pub mod summary;
pub mod svg;
pub mod text;
pub mod tui;

use lowtide_core::units::Share;
use lowtide_session::watch::Watch;

use crate::show::style::Style;

/// What `run`, `attach` and `demo` print when watching ends: the verdict, the numbers, the recording.
pub fn end_of_run(watch: &Watch) -> String {
    let summary = watch.run.summary();
    let (found, series, explanation) = watch.run.explained();
    let style = Style::of(&std::io::stderr());
    let mut out = text::render(&found, series, None, style);
    out.push_str(&explain::short(&explanation, style));
    out.push_str(&summary::text(&summary));
    let spent = watch.spent();
    let wall = summary.seconds.max(1e-9);
    out.push_str(&format!(
        "  {:<10} {} of a core; {} of wall time under the job's locks\n",
        "cost",
        Share(spent.cpu.seconds() / wall),
        Share(spent.locked.seconds() / wall)
    ));
    if let Some(spent) = watch.looks_spent().filter(|spent| spent.looks > 0) {
        out.push_str(&format!(
            "  {:<10} {} into the job's memory, {} of a core\n",
            "looks",
            spent.looks,
            Share(spent.cpu.seconds() / wall)
        ));
    }
    if let Some(dir) = watch.dir() {
        out.push_str(&format!("  {:<10} {}\n", "recording", dir.display()));
        out.push_str(&format!(
            "  {:<10} lowtide explain {}\n",
            "more", summary.name
        ));
    }
    out
}
