//! A process with torch in it, made up: every layout that releases had, so that calibration is tried on all of them without
//! their five gigabytes, and on damaged ones. Real releases are tried in `tests/python/test_census_contents.py`.

mod damaged;
mod made;

use lowtide_sys::memory::Memory;

use self::made::{Made, RELEASES, Release};
use super::*;
use crate::object::Layout as PythonLayout;
use crate::source::Direct;

const PYTHON: u32 = 11;

fn read(made: &Made) -> Contents {
    let source = Direct(&made.image);
    let heap = Heap::new(&source, PythonLayout::of(PYTHON));
    let objects: Vec<_> = (made.objects.iter())
        .filter_map(|object| Some((*object, heap.type_of(*object)?)))
        .collect();
    let objects = objects.iter().map(|(object, class)| (*object, &**class));
    Contents::read(&heap, &made.image, &made.mappings, objects)
}

/// A model, its data, views of it, and a graph that keeps tensors of its own.
fn training(release: Release) -> Made {
    let mut made = Made::new(release);
    let storage = made.storage(2 * 3 * 4);
    made.tensor(&[2, 3], storage, 0);
    made.tensor(&[3], storage, 3);
    for nth in 1..20 {
        let storage = made.storage(nth * 5 * 4);
        made.tensor(&[nth, 5], storage, 0);
    }
    let deep = made.storage(2 * 4);
    made.tensor(&[1, 2, 1, 1, 1, 1, 1], deep, 0);
    made
}

#[test]
fn every_release_is_read_by_what_agrees() {
    for release in RELEASES {
        let mut made = training(release);
        let storage = made.storage(7 * 4);
        let (leaf, _) = made.tensor(&[7], storage, 0);
        let storage = made.storage(9 * 4);
        let saved = made.tensor_of_cpp(&[9], storage, 0);
        let step = made.step("N5torch8autograd9generated12MulBackward0E", &[saved]);
        let last = made.step("N5torch8autograd9generated12AddBackward0E", &[step]);
        let storage = made.storage(4);
        let (result, object) = made.tensor(&[], storage, 0);
        made.knows(leaf, 0, true);
        made.knows(result, last, false);
        let contents = read(&made);
        let layout = contents.layout.unwrap_or_else(|| panic!("{release:?}"));
        assert_eq!(layout.tensor, release.tensor, "{}", release.version);
        assert_eq!(
            (layout.object, layout.sizes),
            (release.object, release.object + 8)
        );
        assert_eq!(
            (layout.meta.step, layout.meta.flags),
            (release.step, Some(release.flags))
        );
        assert_eq!(
            contents.missed,
            Missed {
                searched: contents.missed.searched,
                ..Missed::default()
            }
        );
        let groups = contents.groups();
        let group = |name: &str| groups.iter().find(|group| group.name == name).unwrap();
        let views = group("Tensor cpu float32 [2, 3]");
        assert_eq!((views.count, views.bytes), (1, 24));
        // The view counts nothing: its storage is the whole's.
        assert_eq!(group("Tensor cpu float32 [3]").bytes, 0);
        assert_eq!(group("Tensor cpu float32 [1, 2, 1, 1, 1, 1, 1]").bytes, 8);
        let kept = group("Tensor cpu float32 [9]");
        assert_eq!((kept.only_in_cpp, kept.bytes), (1, 36));
        assert_eq!(group("Tensor cpu float32 [7]").requires_grad, 1);
        let result_group = group("Tensor cpu float32 []");
        assert_eq!((result_group.requires_grad, result_group.in_graph), (1, 1));
        assert_eq!(contents.name(object).unwrap(), "Tensor cpu float32 []");
        for edge in [
            (object, result),
            (result, last),
            (last, step),
            (step, saved),
        ] {
            assert!(contents.edges.contains(&edge), "{release:?} {edge:x?}");
        }
        let names = autograd::by_name(&contents.nodes);
        assert!(names.contains(&("AddBackward0".to_owned(), 1)), "{names:?}");
        assert!(names.contains(&("MulBackward0".to_owned(), 1)), "{names:?}");
    }
}

#[test]
fn a_freed_tensor_is_none() {
    let mut made = training(RELEASES[3]);
    let storage = made.storage(9 * 4);
    let freed = made.tensor_of_cpp(&[9], storage, 0);
    assert_eq!(
        read(&made)
            .tensors
            .iter()
            .filter(|one| one.address == freed)
            .count(),
        1
    );
    made.image.write(freed + 8, &0u64.to_le_bytes());
    assert_eq!(
        read(&made)
            .tensors
            .iter()
            .filter(|one| one.address == freed)
            .count(),
        0
    );
}

#[test]
fn tensors_that_agree_on_nothing_are_not_told() {
    let mut made = training(RELEASES[3]);
    // No tensor points back to its object.
    for tensor in made.tensors.clone() {
        made.image
            .write(tensor + made.release.object, &0u64.to_le_bytes());
    }
    let contents = read(&made);
    assert_eq!(contents.layout, None);
    assert_eq!(
        (contents.tensors.len(), contents.missed.tensors),
        (0, made.objects.len() as u64)
    );
}

#[test]
fn long_data_is_stepped_over_and_a_lost_row_is_found_again() {
    let mut made = training(RELEASES[3]);
    let data = made.block(8 << 20);
    let storage = made.storage(11 * 4);
    let behind = made.tensor_of_cpp(&[11], storage, 0);
    // Somebody's copy of a tensor's bytes is data.
    let mut copy = [0; 184];
    assert_eq!(made.image.read(behind, &mut copy), copy.len());
    made.image.write(data + (4 << 20), &copy);
    let found = |made: &Made| {
        let contents = read(made);
        let all = contents.tensors.iter();
        let elevens: Vec<u64> = all
            .filter(|tensor| tensor.shape.as_deref() == Some(&[11]))
            .map(|tensor| tensor.address)
            .collect();
        (elevens, contents.missed.searched)
    };
    let (tensors, searched) = found(&made);
    assert_eq!(tensors, [behind]);
    assert!(searched < 4 << 20, "{searched}");
    // Its head is garbage: the row is lost there, and tensors behind it are found by their tables, all the same.
    made.image.write(data - 8, &3u64.to_le_bytes());
    let (tensors, searched) = found(&made);
    assert_eq!(tensors, [behind]);
    assert!(searched > 8 << 20, "{searched}");
}

#[test]
fn memory_of_an_array_is_counted_once() {
    let mut made = training(RELEASES[3]);
    let array = made.array(&[6], 12);
    let data = made.data_of(array);
    let storage = made.storage_at(data, 48);
    let (_, lent) = made.tensor(&[12], storage, 0);
    let contents = read(&made);
    let storage = contents
        .storages
        .iter()
        .find(|one| one.address == storage)
        .unwrap();
    assert_eq!(
        (storage.place, storage.owner, storage.own_bytes()),
        (Place::Object, array, 0)
    );
    assert_eq!(contents.name(array).unwrap(), "ndarray float64 [6]");
    assert_eq!(
        (contents.bytes_behind(array), contents.bytes_behind(lent)),
        (48, 0)
    );
    // A view of it has nothing of its own.
    made.image.write(array + 64, &1u32.to_le_bytes());
    assert_eq!(read(&made).bytes_behind(array), 0);
}
