//! Views: they see core types and decide nothing.

pub mod jobs;
pub mod summary;

use lowtide_core::series::Series;
use lowtide_core::units::Share;
use lowtide_core::verdict::Verdict;

use crate::watch::Watch;

/// What `run`, `attach` and `demo` print when watching ends: the verdict, the numbers, the recording.
pub fn end_of_run(watch: &Watch) -> String {
    let summary = watch.run.summary();
    let (found, series) = watch.run.judged();
    let mut out = verdict(&found, series);
    out.push_str(&summary::text(&summary));
    let spent = watch.spent();
    let wall = summary.seconds.max(1e-9);
    out.push_str(&format!(
        "  {:<10} {} of a core; {} of wall time under the job's locks\n",
        "cost",
        Share(spent.cpu.seconds() / wall),
        Share(spent.locked.seconds() / wall)
    ));
    if let Some(dir) = watch.dir() {
        out.push_str(&format!("  {:<10} {}\n", "recording", dir.display()));
        out.push_str(&format!(
            "  {:<10} lowtide judge {}\n",
            "again", summary.name
        ));
    }
    out
}

/// The verdict for a person: one line, then its evidence.
pub fn verdict(verdict: &Verdict, _series: &Series) -> String {
    let mut out = format!("{}\n", crate::watch::one_line(verdict));
    for evidence in &verdict.evidence {
        out.push_str(&format!("  {}: {}\n", evidence.rule, evidence.says));
    }
    out
}
