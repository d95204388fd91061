//! The looks into processes that a run remembers: the first, the last, and some between.

use std::collections::BTreeMap;

use crate::look::Look;
use crate::process::ProcId;

/// Looks kept of one process. The schedule doubles its pauses, so a week of watching makes fewer.
const KEPT: usize = 24;
/// Processes whose looks are kept: the watched one changes rarely.
const PROCESSES: usize = 8;

#[derive(Clone, Debug, Default)]
pub(super) struct Looks(BTreeMap<ProcId, Vec<(Look, Option<u64>)>>);

impl Looks {
    pub fn push(&mut self, look: &Look, step: Option<u64>) {
        if self.0.len() >= PROCESSES && !self.0.contains_key(&look.id) {
            let oldest = |looks: &Vec<(Look, Option<u64>)>| looks.last().map(|(look, _)| look.at);
            let id = self
                .0
                .iter()
                .min_by_key(|(_, looks)| oldest(looks))
                .map(|(id, _)| *id);
            id.and_then(|id| self.0.remove(&id));
        }
        let looks = self.0.entry(look.id).or_default();
        if looks.len() >= KEPT {
            // Every second one of the middle goes; the first is what growth is measured from.
            let mut nth = 0;
            looks.retain(|_| {
                nth += 1;
                nth % 2 == 1
            });
        }
        looks.push((look.clone(), step));
    }

    pub fn processes(&self) -> impl Iterator<Item = &ProcId> {
        self.0.keys()
    }

    pub fn of(&self, id: ProcId) -> &[(Look, Option<u64>)] {
        self.0.get(&id).map_or(&[], Vec::as_slice)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::look::{Allocator, Counts, LookWhy};
    use crate::units::{Bytes, Micros};

    #[test]
    fn the_first_and_the_last_look_stay() {
        let id = ProcId { pid: 7, start: 1 };
        let mut looks = Looks::default();
        for at in 0..1000 {
            let look = Look {
                at: Micros(at),
                id,
                why: LookWhy::Due,
                parts: Vec::new(),
                held: Bytes(0),
                allocator: Allocator::Glibc,
                reserved: Vec::new(),
                pools: Vec::new(),
                python: None,
                counts: Counts::default(),
                incomplete: Vec::new(),
                wall: Micros(1),
                cpu: Micros(1),
            };
            looks.push(&look, Some(at));
        }
        let kept = looks.of(id);
        assert!(kept.len() <= KEPT);
        assert_eq!(kept[0].1, Some(0));
        assert_eq!(kept.last().unwrap().1, Some(999));
    }
}
