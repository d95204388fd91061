//! Every wording, from looks that are made up.

use super::super::{Driver, memory};
use super::*;
use crate::look::{Breakdown, Examiner, LookWhy, Objects, Part, Rest, UsualSize};
use crate::process::ProcId;
use crate::units::{Bytes, Micros};
use crate::verdict::{Axis, Class, Meter};

const ID: ProcId = ProcId { pid: 1, start: 1 };
const RANGE: &str = "blocks of 131 kB to 147 kB";

fn taken(step: u64, examiner: Examiner, breakdown: Breakdown) -> Taken {
    let mut look = Look::new(Micros(step * 50_000), ID, LookWhy::Due, examiner);
    look.held = Some(Bytes(100_000_000 + step * 131_072));
    look.breakdowns.push(breakdown);
    Taken {
        look,
        step: Some(step),
    }
}

/// From outside: so many blocks of 131,072 B among 40 of other sizes.
fn outside(step: u64, class: MemoryClass, count: u64, size: u64) -> Taken {
    let mut member = PartMember::new(RANGE, count + 40, Bytes((count + 40) * size));
    member.usual = Some(UsualSize {
        size: Bytes(size),
        count,
    });
    let part = Part::of_class(class, member.bytes, vec![member]);
    taken(
        step,
        Examiner::Mappings,
        Breakdown::new(By::Mapping, vec![part]),
    )
}

/// From inside: tensors of one shape, and parameters that stay.
fn inside(step: u64, count: u64) -> Taken {
    let kept = Part::new(
        "cpu float32[64x512]",
        Some(count),
        Some(Bytes(count * 131_072)),
    );
    let weights = Part::new("cpu float32[512x256]", Some(2), Some(Bytes(1_048_576)));
    let mut groups = Breakdown::new(By::TensorGroup, vec![kept, weights]);
    groups.rest = Some(Rest::default());
    let mut taken = taken(step, Examiner::Callback, groups);
    taken.look.objects = Some(Objects::default());
    taken
}

fn beside<'a>(looks: &'a [Taken], occurrences: &'a Occurrences) -> Beside<'a> {
    Beside {
        looks,
        occurrences,
        epoch: None,
        driver: "step",
        on_steps: true,
        stride: 1.0,
        examples_per_step: None,
        batch: None,
        libtorch: true,
    }
}

fn said(looks: &[Taken], change: impl FnOnce(&mut Beside)) -> Vec<String> {
    let occurrences = Occurrences::default();
    let mut beside = beside(looks, &occurrences);
    change(&mut beside);
    let pairs = memory::pairs(looks, |_| None);
    let growths: Vec<BreakdownGrowth> = pairs.iter().filter_map(Pair::growth).collect();
    let told = counted(&pairs, &growths, &beside);
    told.into_iter().map(|growth| growth.says).collect()
}

fn heap(size: u64) -> Vec<Taken> {
    let heap = |step, count| outside(step, MemoryClass::GlibcLive, count, size);
    vec![heap(12, 30), heap(900, 925), heap(1900, 1929)]
}

#[test]
fn one_block_a_step_is_counted_and_its_room_told() {
    let begin = "+1,899 blocks of 131,072 B in 1,888 steps: one a step";
    assert_eq!(
        said(&heap(131_088), |_| ()),
        [format!("{begin}, room for 32,768 float32")]
    );
    // The batch is known: what is for each of its examples.
    let each =
        format!("{begin}, room for 32,768 float32 (512 for each of the 64 examples of a batch)");
    assert_eq!(said(&heap(131_088), |b| b.batch = Some(64)), [each]);
    // Nobody works with tensors: a size is a size.
    assert_eq!(said(&heap(131_088), |b| b.libtorch = false), [begin]);
}

#[test]
fn a_shape_is_named_only_where_somebody_counted_one() {
    let mut looks = heap(131_088);
    looks.extend([inside(20, 40), inside(900, 920), inside(1880, 1900)]);
    assert_eq!(
        said(&looks, |_| ()),
        [
            "+1,899 blocks of 131,072 B in 1,888 steps: one a step, the size of float32[64x512]; \
          the package counted 1,860 more such tensors in 1,860 steps"
        ]
    );
    // Blocks that are mappings of their own are known to a page.
    let mapped = |step, count| outside(step, MemoryClass::GlibcMapped, count, 135_168);
    let mut looks = vec![mapped(12, 30), mapped(1900, 1929)];
    looks.extend([inside(20, 40), inside(1880, 1900)]);
    assert_eq!(
        said(&looks, |_| ()),
        [
            "+1,899 blocks of 131 kB to 135 kB, each mapped by itself in 1,888 steps: one a step, the size of \
          float32[64x512]; the package counted 1,860 more such tensors in 1,860 steps"
        ]
    );
}

#[test]
fn counts_that_disagree_are_told_apart() {
    let mut looks = heap(131_088);
    looks.extend([inside(20, 40), inside(900, 480), inside(1880, 970)]);
    assert_eq!(
        said(&looks, |_| ()),
        [
            "+1,899 blocks of 131,072 B in 1,888 steps: one a step, the size of float32[64x512]",
            "+930 tensors float32[64x512] in 1,860 steps: one every 2 steps, 131 kB each, as the package counted"
        ]
    );
    // Without looks from outside the callback speaks for itself.
    assert_eq!(
        said(&[inside(20, 40), inside(1880, 1900)], |_| ()),
        [
            "+1,860 tensors float32[64x512] in 1,860 steps: one a step, 131 kB each, as the package counted"
        ]
    );
}

#[test]
fn what_comes_with_evaluations_is_counted_by_them() {
    let mut evaluations = Occurrences::default();
    for nth in 1..=120u32 {
        evaluations.evaluations.push(At {
            seconds: f64::from(nth),
            step: Some(f64::from(nth) * 10.0),
        });
    }
    let heap = |step, count| outside(step, MemoryClass::GlibcLive, count, 131_088);
    let looks = [heap(5, 0), heap(1205, 240)];
    let mut beside = beside(&looks, &evaluations);
    (beside.driver, beside.libtorch) = ("evaluation", false);
    let pairs = memory::pairs(&looks, |_| None);
    let growths: Vec<BreakdownGrowth> = pairs.iter().filter_map(Pair::growth).collect();
    let told = counted(&pairs, &growths, &beside);
    assert_eq!(
        told[0].says,
        "+240 blocks of 131,072 B in 120 evaluations: two per evaluation"
    );
    assert_eq!((told[0].more, told[0].units), (240, 120.0));
}

#[test]
fn other_blocks_at_the_first_look_leave_the_number_open() {
    // 500 blocks were of another size then: how many of the 700 were of this one is not known.
    let mut first = outside(12, MemoryClass::GlibcLive, 500, 140_000);
    first.look.breakdowns[0].parts[0].members[0].count = 700;
    let last = outside(1900, MemoryClass::GlibcLive, 1929, 131_088);
    let says = &said(&[first.clone(), last], |b| b.libtorch = false)[0];
    assert_eq!(
        says,
        "+1,729 blocks of 131,072 B in 1,888 steps: 0.905 to 1.03 a step"
    );
    // More than came since: nothing is said of the size.
    let few = outside(1900, MemoryClass::GlibcLive, 700, 131_088);
    first.look.breakdowns[0].parts[0].members[0].count = 1000;
    assert_eq!(said(&[first, few], |_| ()), Vec::<String>::new());
}

#[test]
fn without_steps_the_time_is_told_and_no_number_is_whole() {
    let says = said(&heap(131_088), |b| {
        (b.driver, b.on_steps, b.libtorch) = ("time", false, false);
    });
    assert_eq!(
        says,
        ["+1,899 blocks of 131,072 B in 1m 34s: 19.9 to 20.3 a second"]
    );
}

#[test]
fn the_driver_is_what_was_counted() {
    let driver = |name: &str, tied: bool| Driver {
        name: name.to_owned(),
        per_unit: 1.0,
        low: 1.0,
        high: 1.0,
        units: 9.0,
        explains: 1.0,
        margin: None,
        tied,
        parts_at: None,
        says: String::new(),
    };
    let mut signs = Signs::blank(Class::Leak, Axis::Step, Meter::Anon);
    assert_eq!(driver_of(&signs, true), "step");
    assert_eq!(driver_of(&signs, false), "time");
    signs.drivers = vec![driver("evaluation", false), driver("step", true)];
    assert_eq!(driver_of(&signs, true), "step");
    signs.drivers[1].tied = false;
    assert_eq!(driver_of(&signs, true), "evaluation");
    // How many examples a step takes is not known, and files are no count.
    for name in ["new-example", "file-bytes", "excursion"] {
        signs.drivers[0].name = name.to_owned();
        assert_eq!(driver_of(&signs, true), "step", "{name}");
    }
}

#[test]
fn what_came_before_the_first_epoch_is_not_set_against_epochs() {
    assert!(said(&heap(131_088), |beside| beside.driver = "epoch").is_empty());
}
