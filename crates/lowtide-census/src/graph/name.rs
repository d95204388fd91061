//! What a type is called. The process runs on, and a class may be freed between a look at it and one at its name, whose
//! memory has another text by then: that would be a type that nobody has. So a name counts only if the class is read twice
//! in a row with the name in between, is the same both times, and is the one that its objects were seen with. One that the
//! collector takes apart has lost its module before it is freed.

use crate::object::{Class, Heap};
use crate::source::{Near, Source};
use lowtide_sys::memory::Memory;

/// Where the modules of classes are left out of their names.
const BUILTINS: &str = "builtins";

/// The name of a class that was seen in a pass; none if it is another one by now.
pub(super) fn of<M: Memory>(
    near: &Near<'_, M>,
    heap: &Heap<'_, impl Source>,
    class: &Class,
) -> Option<String> {
    let read = || {
        // Nothing that was learnt before: a name is known by its address, where another may be.
        let now = Heap::new(near, heap.layout);
        let found = now.class(class.address)?;
        let lives = found.is_still(class) && now.is_whole(&found);
        lives.then(|| told(&now, &found))
    };
    near.anew();
    let first = read()?;
    near.again();
    (read()? == first).then_some(first)
}

/// With its module, as C writes it: `module.Outer.Inner`.
fn told<S: Source>(heap: &Heap<'_, S>, class: &Class) -> String {
    if !class.is_heap() || class.name.contains('.') {
        return class.name.clone();
    }
    let name = heap.qualified_name(class);
    let name = name.unwrap_or_else(|| class.name.clone());
    match heap.module(class) {
        Some(module) if module != BUILTINS => format!("{module}.{name}"),
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    use lowtide_sys::memory::Image;

    use super::*;
    use crate::object::Layout;
    use crate::source::Direct;
    use crate::synthetic::{KINDS, Made, World};

    /// In a type: its name, attributes and order of bases. In a dictionary: how many entries, and its keys.
    const NAME: u64 = 24;
    const ATTRIBUTES: u64 = 264;
    const ORDER: u64 = 344;
    const KEYS: u64 = 32;

    /// What a class is called that was seen in one image, in what became of it.
    fn later(made: &Made, class: u64, now: &Image) -> Option<String> {
        let before = made.image();
        let source = Direct(&before);
        let heap = Heap::new(&source, Layout::of(made.kind.minor));
        let seen = heap.class(class).expect("a class");
        of(&Near::new(now), &heap, &seen)
    }

    #[test]
    fn a_class_that_is_gone_or_goes_has_no_name() {
        for kind in KINDS {
            let mut world = World::new(kind);
            let class = world.class("Batch", "train", &[]);
            let made = world.finish();
            let name = |now: &Image| later(&made, class, now);
            assert_eq!(
                name(&made.image()).as_deref(),
                Some("train.Batch"),
                "{kind:?}"
            );
            let text = made.word(class + NAME);
            let reused = made.image().with(text, b"key 22\0");
            assert_eq!(name(&reused), None, "another text, {kind:?}");
            let freed = made.image().with(class + 8, &[0; 8]);
            assert_eq!(name(&freed), None, "no type any more, {kind:?}");
            let unheld = made.image().with(class, &[0; 8]);
            assert_eq!(name(&unheld), None, "freed, as it was, {kind:?}");
            let bare = made.image().with(class + ORDER, &[0; 8]);
            assert_eq!(name(&bare), None, "another order of bases, {kind:?}");
        }
    }

    /// It is found so, too: a class that the collector takes apart was seen by the pass already.
    #[test]
    fn a_class_without_attributes_is_about_to_be_freed() {
        for kind in KINDS {
            let mut world = World::new(kind);
            let class = world.class("Batch", "train", &[]);
            let made = world.finish();
            let attributes = made.word(class + ATTRIBUTES);
            let entries = made.word(attributes + KEYS) + if kind.minor <= 10 { 32 } else { 24 };
            let made = made.with(attributes + 16, 0).with(entries, 0);
            assert_eq!(later(&made, class, &made.image()), None, "{kind:?}");
        }
    }

    /// A heap that was given back: what the name is made of is not there.
    #[test]
    fn a_module_that_cannot_be_read_is_not_left_out_of_a_name() {
        for kind in KINDS {
            let mut world = World::new(kind);
            let class = world.class("Batch", "train", &[]);
            let made = world.finish();
            let attributes = made.word(class + ATTRIBUTES);
            let made = made.with(attributes + KEYS, 0x7777_0000_0000);
            assert_eq!(later(&made, class, &made.image()), None, "{kind:?}");
        }
    }

    #[test]
    fn a_name_that_is_too_long_shows_that_it_is_cut() {
        for kind in KINDS {
            let mut world = World::new(kind);
            let class = world.class(&"Long".repeat(100), "train", &[]);
            let made = world.finish();
            let name = later(&made, class, &made.image()).unwrap();
            assert!(
                name.starts_with("train.LongLong") && name.ends_with('…'),
                "{name}"
            );
        }
    }
}
