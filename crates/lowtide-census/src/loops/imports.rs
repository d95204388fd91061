//! Whether torch has come since the last search. Until it is known what optimizes, nothing says what a bar counts, and a
//! program that reads or prepares its data first imports torch when it comes to train.

use std::cell::Cell;

use crate::object::Heap;
use crate::source::Source;

/// In a module: its names.
const NAMES: u64 = 16;

/// `sys.modules`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Imports {
    modules: u64,
    /// How many there were when they were last gone through, and whether torch was one of them: on most ticks nothing
    /// is imported.
    known: Cell<Option<(u64, bool)>>,
}

impl Imports {
    /// Of a module, if it is `sys`.
    pub(super) fn of<S: Source>(heap: &Heap<'_, S>, module: u64) -> Option<Imports> {
        let names = heap.source.pointer(module.checked_add(NAMES)?)?;
        let name = heap.text(heap.dict_get(names, "__name__")?)?;
        let modules = (name == "sys").then(|| heap.dict_get(names, "modules"))??;
        let known = Cell::new(None);
        heap.type_of(modules)?
            .is_dict()
            .then_some(Imports { modules, known })
    }

    /// What is torn, while something is imported, may have it; where there are no modules any more is another program.
    pub(super) fn have_torch<S: Source>(&self, heap: &Heap<'_, S>) -> bool {
        let Some(length) = heap.length(self.modules) else {
            return false;
        };
        if let Some((before, has)) = self.known.get()
            && before == length
        {
            return has;
        }
        let Some(all) = heap.dict(self.modules) else {
            return true;
        };
        // Not remembered by their addresses, as the names of attributes are: there are thousands.
        let is_torch = |name: u64| heap.text(name).as_deref() == Some("torch");
        let has = all.iter().any(|(name, _)| is_torch(*name));
        self.known.set(Some((length, has)));
        has
    }
}
