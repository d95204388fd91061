//! From steady growth that should have ended to the verdict `leak`: nothing is decided here, [`super::ending`]
//! has decided it.

use super::decide::Case;
use super::line::FloorLine;
use super::tail::Tail;
use super::{limit, would_change};
use crate::verdict::{Basis, Class, Verdict};

impl Case<'_> {
    pub(super) fn leak(
        &self,
        mut verdict: Verdict,
        whole: &FloorLine,
        tail: &Tail,
        surely: f64,
    ) -> Verdict {
        verdict.verdict = Class::Leak;
        verdict.leaking = Some(true);
        verdict.basis = Some(Basis::of_leak(surely));
        verdict.evidence.push(tail.keeps_its_pace(whole));
        if let Some(oom) = &verdict.oom {
            let runs_out = limit::says(self.axis, oom);
            verdict.evidence.push(runs_out);
        }
        verdict.evidence.push(would_change::by(
            "a floor that stays level for as long as it grew would make it a warm-up",
        ));
        verdict
    }
}
