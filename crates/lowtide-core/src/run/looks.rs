//! The looks into processes that a run remembers: of each examiner the first, the last, and some between.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::look::{By, Examiner, Look};
use crate::process::ProcId;
use crate::units::Micros;

/// Looks of one examiner kept of one process. The schedule doubles its pauses, so a week of watching
/// makes fewer; the callback makes more.
const KEPT: usize = 24;
/// Processes whose looks are kept: the watched one changes rarely, and a machine has so many ranks.
const PROCESSES: usize = 16;

/// A look, and where the training loop was.
#[derive(Clone, Debug, PartialEq)]
pub struct Taken {
    pub look: Look,
    pub step: Option<u64>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Looks {
    kept: BTreeMap<ProcId, Vec<Taken>>,
    pub cost: LooksCost,
}

/// What all looks into the run's processes have cost, whoever took them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LooksCost {
    pub looks: u64,
    pub cpu: Micros,
}

impl Looks {
    pub(crate) fn push(&mut self, look: &Look, step: Option<u64>) {
        self.cost.looks += 1;
        self.cost.cpu.0 = self.cost.cpu.0.saturating_add(look.cost.cpu.0);
        if self.kept.len() >= PROCESSES && !self.kept.contains_key(&look.id) {
            let newest = |looks: &Vec<Taken>| looks.last().map(|taken| taken.look.at);
            let id = self
                .kept
                .iter()
                .min_by_key(|(_, looks)| newest(looks))
                .map(|(id, _)| *id);
            id.and_then(|id| self.kept.remove(&id));
        }
        let looks = self.kept.entry(look.id).or_default();
        let of_this = |taken: &Taken| taken.look.examiner == look.examiner;
        if looks.iter().filter(|taken| of_this(taken)).count() >= KEPT {
            // Every second one of the middle goes; the first is what growth is measured from.
            let mut nth = 0;
            looks.retain(|taken| {
                nth += usize::from(of_this(taken));
                !of_this(taken) || nth % 2 == 1
            });
        }
        let look = look.clone();
        looks.push(Taken { look, step });
    }

    pub(crate) fn processes(&self) -> impl Iterator<Item = &ProcId> {
        self.kept.keys()
    }

    pub(crate) fn of(&self, id: ProcId) -> &[Taken] {
        self.kept.get(&id).map_or(&[], Vec::as_slice)
    }
}

/// Who broke these looks down, and by what, in the order in which it was first seen; the breakdown that
/// accounts for all bytes leads.
pub(crate) fn breakdowns_of(looks: &[Taken]) -> Vec<(&Examiner, &By)> {
    let mut seen = Vec::new();
    for taken in looks {
        for breakdown in &taken.look.breakdowns {
            let key = (&taken.look.examiner, &breakdown.by);
            if !seen.contains(&key) {
                seen.push(key);
            }
        }
    }
    seen.sort_by_key(|(_, by)| **by != By::Mapping);
    seen
}

impl Taken {
    pub(crate) fn has(&self, (examiner, by): (&Examiner, &By)) -> bool {
        self.look.examiner == *examiner && self.look.breakdown(by).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::look::{Examiner, LookWhy};

    #[test]
    fn the_first_and_the_last_look_of_each_examiner_stay() {
        let id = ProcId { pid: 7, start: 1 };
        let mut looks = Looks::default();
        let mut take = |at: u64, examiner: Examiner| {
            looks.push(&Look::new(Micros(at), id, LookWhy::Due, examiner), Some(at));
        };
        take(0, Examiner::Mappings);
        for at in 1..1000 {
            take(at, Examiner::Callback);
        }
        take(1000, Examiner::Mappings);
        let kept = |examiner: &Examiner| -> Vec<u64> {
            let kept = looks.of(id).iter();
            kept.filter(|taken| taken.look.examiner == *examiner)
                .filter_map(|taken| taken.step)
                .collect()
        };
        // Those who look often cost the others nothing.
        assert_eq!(kept(&Examiner::Mappings), [0, 1000]);
        let often = kept(&Examiner::Callback);
        assert!(often.len() <= KEPT);
        assert_eq!((often[0], often[often.len() - 1]), (1, 999));
    }
}
