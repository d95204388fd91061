//! What is read may be anything: a process that runs tears it, and old memory lies about.

use proptest::prelude::*;

use super::made::RELEASES;
use super::{read, training};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Words anywhere are overwritten with others of the same memory, or with anything. It ends, nothing is counted that
    /// is not there, and sums can be made.
    #[test]
    fn damage_is_survived(
        release in 0usize..4,
        seeds in proptest::collection::vec((any::<prop::sample::Index>(), 0u64..64, any::<Option<prop::sample::Index>>(), any::<u64>()), 1..40),
    ) {
        let mut made = training(RELEASES[release]);
        let storage = made.storage(36);
        let saved = made.tensor_of_cpp(&[9], storage, 0);
        let step = made.step("N5torch8autograd9generated12MulBackward0E", &[saved]);
        let (result, _) = made.tensor(&[], storage, 0);
        made.knows(result, step, true);
        made.array(&[3, 4], 12);
        let all = read(&made).tensors.len();
        let places: Vec<u64> = (made.objects.iter().chain(&made.tensors)).copied().chain([saved, step, storage]).collect();
        for (place, offset, other, word) in seeds {
            let word = other.map_or(word, |other| *other.get(&places));
            made.image.write(place.get(&places) + offset * 8 % 208, &word.to_le_bytes());
        }
        let contents = read(&made);
        prop_assert!(contents.tensors.len() <= all + 40);
        let groups = contents.groups();
        let count: u64 = groups.iter().map(|group| group.count).sum();
        prop_assert_eq!(count, (contents.tensors.len() + contents.arrays.len() + contents.images.len()) as u64);
        for object in &made.objects {
            contents.name(*object);
        }
    }
}
