//! Where this torch keeps what autograd knows of a tensor. Few tensors may have it among many that do not (a model beside
//! its data), so these are looked for among all.

use crate::contents::cpp::{Classes, Role};
use crate::source::{Source, is_pointer};

/// So many are asked.
const ASKED: usize = 256;
/// It stands right behind the storage of a tensor.
const BEHIND: u64 = 8;
/// Words of it, as far as we look for fields.
const READ: usize = 20;
/// The gradient and then the step that made a tensor stand behind a table and a text, which is of 8 bytes with the ABI that
/// wheels had up to 2.6, and of 32 since.
const STEPS: [u64; 2] = [24, 48];
/// Where the flags of what autograd knows may be (120 in 2.6, 144 in 2.9, 128 in 2.15).
const FLAGS: std::ops::RangeInclusive<u64> = 104..=152;
/// With a short text they stand before this.
const FLAGS_BEHIND_LONG: u64 = 128;

/// In bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Meta {
    /// In a tensor: where it is.
    pub place: u64,
    /// In it: the step that made the tensor; the gradient stands before that.
    pub step: u64,
    /// Whether a gradient is asked for; none if no tensor says so.
    pub flags: Option<u64>,
}

/// What is known before: in a Python tensor that of C++, in that its storage.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub tensor: u64,
    pub storage: u64,
}

impl Meta {
    pub(super) fn find<S: Source>(
        classes: &Classes<'_, S>,
        source: &S,
        known: Place,
        objects: &[u64],
    ) -> Meta {
        let place = known.storage + BEHIND;
        let metas = objects.iter().filter_map(|object| {
            let tensor = source.pointer(object.checked_add(known.tensor)?)?;
            let at = source.pointer(tensor.checked_add(place)?)?;
            let role = classes.role(at)?;
            let is = matches!(role, Role::Meta | Role::ViewMeta);
            Some((role, is.then(|| source.words(at, READ))??))
        });
        let metas: Vec<(Role, Vec<u64>)> = metas.take(ASKED).collect();
        let step = super::most(&metas, |(_, words)| steps(classes, words));
        let step = step.map(|(at, _)| at);
        let flags = flags(&metas, step.unwrap_or(STEPS[1]));
        // Where nothing stands yet, the flags behind tell.
        let by_flags = match flags {
            Some(..FLAGS_BEHIND_LONG) => STEPS[0],
            _ => STEPS[1],
        };
        Meta {
            place,
            step: step.unwrap_or(by_flags),
            flags,
        }
    }
}

/// Where a step or, before it, a gradient can stand and does.
fn steps<S: Source>(classes: &Classes<'_, S>, words: &[u64]) -> Vec<u64> {
    let is = |at: u64, role: Role| {
        let word = words.get((at / 8) as usize).copied();
        word.is_some_and(|word| is_pointer(word) && classes.role(word) == Some(role))
    };
    let gradient = |at: u64| is(at, Role::Tensor) || is(at, Role::NoTensor);
    let stands = |at: &u64| is(*at, Role::Step) || gradient(at - 8);
    STEPS.into_iter().filter(stands).collect()
}

/// Three bytes that are 0 or 1 (a gradient is asked for, is kept, it is a view), of which the last agrees with the
/// class; everything before them is a pointer or nothing. The place that says most of these tensors.
fn flags(metas: &[(Role, Vec<u64>)], step: u64) -> Option<u64> {
    let says = |at: u64| {
        let mut said = 0;
        for (role, words) in metas {
            let [asked, kept, view, ..] = words[(at / 8) as usize].to_le_bytes();
            let is_view = *role == Role::ViewMeta;
            let before = &words[(step / 8) as usize..(at / 8) as usize];
            let right = asked <= 1 && kept <= 1 && view == u8::from(is_view);
            if !right || !before.iter().all(|word| *word == 0 || is_pointer(*word)) {
                return None;
            }
            said += usize::from(asked + kept + view > 0);
        }
        Some((said, at))
    };
    let found = FLAGS.step_by(8).filter_map(says);
    // Of equals the first: what is nothing everywhere says nothing.
    let best = found.max_by_key(|(said, at)| (*said, std::cmp::Reverse(*at)))?;
    (best.0 > 0).then_some(best.1)
}
