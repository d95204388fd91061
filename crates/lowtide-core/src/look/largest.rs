//! A census names thousands of types. What is recorded of one, and remembered of a run, are the largest: the rest of
//! a breakdown is summed up, so that nothing is lost from its total.

use std::cmp::Reverse;

use super::{Breakdown, By, Holder, Look, Part, Rest};
use crate::units::Bytes;

/// Parts of a breakdown: two censuses are compared by them, and what leaks is among the largest long before it matters.
const PARTS: usize = 64;
/// Holders, by what they keep alone.
const HOLDERS: usize = 32;
/// Of one holder: groups of what it keeps, steps of the way to it, lines of code.
const GROUPS: usize = 8;
const STEPS: usize = 32;
const PLACES: usize = 8;

impl Look {
    /// Leaves out what is small, and says how much that is.
    pub fn name_the_largest(&mut self) {
        for breakdown in &mut self.breakdowns {
            let most = match breakdown.by {
                By::Mapping => continue,
                By::Holder => HOLDERS,
                _ => PARTS,
            };
            breakdown.name_the_largest(most);
        }
        if let Some(heap) = &mut self.heap {
            heap.holders.truncate(HOLDERS);
            heap.holders.iter_mut().for_each(shorten);
        }
    }
}

impl Breakdown {
    fn name_the_largest(&mut self, most: usize) {
        if self.parts.len() <= most {
            return;
        }
        self.parts
            .sort_by_key(|part| Reverse((part.bytes, part.count)));
        let left = self.parts.split_off(most);
        let before = self.rest.unwrap_or_default();
        let sum = |of: fn(&Part) -> Option<u64>, before: Option<u64>| {
            let all = left.iter().filter_map(of).chain(before);
            all.reduce(u64::saturating_add)
        };
        self.rest = Some(Rest {
            parts: before.parts.saturating_add(left.len() as u64),
            count: sum(|part| part.count, before.count),
            bytes: sum(
                |part| part.bytes.map(|bytes| bytes.0),
                before.bytes.map(|bytes| bytes.0),
            )
            .map(Bytes),
        });
    }
}

fn shorten(holder: &mut Holder) {
    holder.of.truncate(GROUPS);
    holder.path.truncate(STEPS);
    holder.adds.truncate(PLACES);
    holder.empties.truncate(PLACES);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::look::{Examiner, LookWhy};
    use crate::process::ProcId;
    use crate::units::Micros;

    #[test]
    fn what_is_left_out_is_still_in_the_sum() {
        let id = ProcId { pid: 7, start: 1 };
        let mut look = Look::new(Micros(1), id, LookWhy::Due, Examiner::Census);
        let part = |n: u64| Part::new(format!("type {n}"), Some(n), Some(Bytes(10 * n)));
        let parts: Vec<Part> = (1..=100).map(part).collect();
        let mut types = Breakdown::new(By::PythonType, parts.clone());
        types.rest = Some(Rest {
            parts: 3,
            count: Some(3),
            bytes: None,
        });
        look.breakdowns = vec![types, Breakdown::new(By::Mapping, parts)];
        look.name_the_largest();
        let types = &look.breakdowns[0];
        assert_eq!(types.parts.len(), PARTS);
        assert_eq!(types.parts[0].name, "type 100");
        let rest = types.rest.unwrap();
        let left: u64 = (1..=36).sum();
        assert_eq!((rest.parts, rest.count), (39, Some(left + 3)));
        assert_eq!(rest.bytes, Some(Bytes(10 * left)));
        assert_eq!(types.count(), 5050 + 3);
        // All bytes of the mappings are told, in their order.
        assert_eq!(look.breakdowns[1].parts.len(), 100);
        let once = look.clone();
        look.name_the_largest();
        assert_eq!(look, once);
    }
}
