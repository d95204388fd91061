//! torch's models: whether they are in training mode. Of all modules the one with most parts under it is the model.

use std::collections::{HashMap, HashSet};

use crate::object::Heap;
use crate::source::Source;

/// Modules that are looked at.
pub(super) const MOST: usize = 20_000;
/// Parts that are listed, and looked at while models are counted: real models have some thousand. What goes beyond is
/// a torn list that claims more.
const MOST_PARTS: usize = 200_000;
const MOST_COUNTED: usize = 2_000_000;
/// Models with more than this share of the largest one's parts count, too.
const AS_LARGE: f64 = 0.5;
/// More than this are no models but what a library keeps at hand (activations, losses), and which of them is trained
/// is not known.
const MOST_MODELS: usize = 4;

/// The largest models: those that are part of no other.
pub(super) fn largest<S: Source>(heap: &Heap<'_, S>, modules: &[u64]) -> Vec<u64> {
    let mut parts: HashMap<u64, Vec<u64>> = HashMap::new();
    let mut held = HashSet::new();
    let mut listed = 0;
    for module in modules {
        if listed > MOST_PARTS {
            break;
        }
        let inner = heap.attribute(*module, "_modules");
        let inner = inner.and_then(|inner| heap.dict(inner)).unwrap_or_default();
        let inner: Vec<u64> = inner.into_iter().map(|(_, part)| part).collect();
        listed += inner.len();
        held.extend(inner.iter().copied());
        parts.insert(*module, inner);
    }
    let tops = modules.iter().filter(|module| !held.contains(module));
    let mut left = MOST_COUNTED;
    let sized = tops
        .map(|top| (count(&parts, *top, &mut left), *top))
        .collect();
    large(sized)
}

/// Those that are about as large as the largest.
fn large(mut sized: Vec<(usize, u64)>) -> Vec<u64> {
    let most = sized.iter().map(|(size, _)| *size).max().unwrap_or(0);
    sized.retain(|(size, _)| *size as f64 > AS_LARGE * most as f64);
    if sized.len() > MOST_MODELS {
        sized.clear();
    }
    sized.into_iter().map(|(_, top)| top).collect()
}

fn count(parts: &HashMap<u64, Vec<u64>>, top: u64, left: &mut usize) -> usize {
    let (mut seen, mut open) = (HashSet::new(), vec![top]);
    while let Some(module) = open.pop()
        && *left > 0
    {
        *left -= 1;
        if seen.insert(module) {
            open.extend(parts.get(&module).into_iter().flatten());
        }
    }
    seen.len()
}

/// Whether all of them are in training mode, or none is; not told where some are: a teacher is evaluated all the time,
/// and what a library keeps at hand trains all the time.
pub(super) fn is_training<S: Source>(heap: &Heap<'_, S>, models: &[u64]) -> Option<bool> {
    agreed(models.iter().filter_map(|model| mode(heap, *model)))
}

fn agreed(mut modes: impl Iterator<Item = bool>) -> Option<bool> {
    let first = modes.next()?;
    modes.all(|mode| mode == first).then_some(first)
}

/// Whether a module is in training mode.
pub(super) fn mode<S: Source>(heap: &Heap<'_, S>, module: u64) -> Option<bool> {
    heap.truth(heap.attribute(module, "training")?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn activations_that_lie_about_are_no_models() {
        // A model of two parts beside them, and one that is as small as they are.
        assert_eq!(large(vec![(1, 10), (2, 20), (1, 30)]), [20]);
        let small: Vec<(usize, u64)> = (0..9).map(|at| (1, at)).collect();
        assert!(large(small).is_empty());
    }

    #[test]
    fn two_models_of_a_size_count_both() {
        assert_eq!(large(vec![(300, 1), (200, 2), (9, 3)]), [1, 2]);
    }

    #[test]
    fn a_teacher_that_is_always_evaluated_leaves_the_mode_open() {
        assert_eq!(agreed([true, true].into_iter()), Some(true));
        assert_eq!(agreed([false, false].into_iter()), Some(false));
        assert_eq!(agreed([true, false].into_iter()), None);
        assert_eq!(agreed([].into_iter()), None);
    }
}
