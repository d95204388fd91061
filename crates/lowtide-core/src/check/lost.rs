//! Ticks that a recording lacks. What they held nobody knows, so no bound on memory passes; one that was
//! exceeded in what is left stays exceeded.

use super::{Finding, JudgedSeries, MIN_STEPS, Outcome};

pub(super) fn leave_open(
    findings: &mut Vec<Finding>,
    subject: JudgedSeries,
    baseline: Option<JudgedSeries>,
) {
    let lost = |of: JudgedSeries<'_>| Some(of.verdict.lost.as_ref()?.says.clone());
    let of_baseline = baseline.and_then(lost);
    let of_baseline = of_baseline.map(|says| format!("of the baseline, {says}"));
    let lost: Vec<String> = lost(subject).into_iter().chain(of_baseline).collect();
    if lost.is_empty() {
        return;
    }
    for finding in findings.iter_mut() {
        // How far the run came was seen, whatever else was not.
        if finding.outcome == Outcome::Pass && finding.criterion != MIN_STEPS {
            finding.outcome = Outcome::Inconclusive;
            finding.says += ", as far as can be seen";
        }
    }
    let says = lost.join("; ");
    findings.push(Finding::new("whole-recording", Outcome::Inconclusive, says));
}
