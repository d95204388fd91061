//! The same by names, for examples and tests: `attribute Metrics rows`, `global train CACHE`, `variable main seen`.

use std::collections::{HashMap, HashSet};

use lowtide_core::process::ProcId;
use lowtide_sys::memory::{Deadline, Live, Memory};
use lowtide_sys::proc::Proc;

use super::{Slot, Writers};
use crate::frames::{Frames, Places};
use crate::interpreter::Interpreter;
use crate::object::{Heap, Memo};
use crate::refusal::Refusal;
use crate::source::{Chunks, Source};
use crate::walk::List;
use crate::writers::read::Reader;

/// A module's dictionary.
const MODULE_DICT: u64 = 16;

/// A holder by names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Asked {
    /// A class, and an attribute of its objects.
    Attribute(String, String),
    /// A module, and a global of it.
    Global(String, String),
    /// A function by its qualified name, and a variable of it.
    Variable(String, String),
}

/// Who writes to each of these; nothing for what is not there. One pass over all objects.
pub fn ask(proc: &Proc, id: ProcId, asked: &[Asked]) -> Result<Vec<Option<Writers>>, Refusal> {
    let memory = Live::open(proc, id.pid, Deadline::none())
        .map_err(|errno| Refusal::of(errno, "/proc/PID/pagemap"))?;
    let interpreter = Interpreter::find(proc, id.pid, &memory)?;
    let source = Chunks::new(&memory);
    let found = in_memory(&source, &interpreter, asked);
    match memory.refused() {
        Some(errno) => Err(Refusal::of(errno, "process_vm_readv")),
        None => Ok(found),
    }
}

/// The same of whatever can be read.
pub(crate) fn in_memory(
    source: &impl Source,
    interpreter: &Interpreter,
    asked: &[Asked],
) -> Vec<Option<Writers>> {
    let memo = Memo::default();
    let heap = Heap::knowing(source, interpreter.layout, &memo);
    let minor = interpreter.version.minor;
    let Some(places) = Places::of(source, interpreter.runtime, minor) else {
        return asked.iter().map(|_| None).collect();
    };
    let (mut objects, mut classes, mut modules) = (Vec::new(), Vec::new(), Vec::new());
    let mut seen = HashSet::new();
    for head in interpreter.lists(source) {
        for object in List::new(source, head).filter(|object| seen.insert(*object)) {
            let Some(kind) = heap.type_of(object) else {
                continue;
            };
            match kind.name.as_str() {
                "function" => objects.push(object),
                "module" => modules.push(object),
                _ if kind.is_type() => classes.push(object),
                _ => {}
            }
        }
    }
    let frames = Frames::new(source, interpreter);
    for thread in frames.threads(&heap, interpreter) {
        objects.extend(thread.chain.frames.iter().map(|frame| frame.code.address));
    }
    let codes = super::codes(&heap, &places, objects);
    let reader = Reader::new(&heap, &places);
    let functions = (0..codes.all.len()).map(|place| (codes.qualified_name(&reader, place), place));
    let functions: HashMap<String, usize> = functions.collect();
    let slot = |asked: &Asked| match asked {
        Asked::Attribute(class, name) => {
            let mut named = classes.iter().filter_map(|object| heap.class(*object));
            named
                .find(|one| one.is_heap() && one.name == *class)
                .map(|one| Slot::Attribute {
                    class: one.address,
                    name: name.clone(),
                })
        }
        Asked::Global(module, name) => modules.iter().find_map(|object| {
            let dict = source.pointer(object.checked_add(MODULE_DICT)?)?;
            let own = heap.text(heap.dict_get(dict, "__name__")?)?;
            (own == *module).then(|| Slot::Global {
                dict,
                name: name.clone(),
            })
        }),
        Asked::Variable(function, name) => {
            let place = functions.get(function)?;
            Some(Slot::Variable {
                code: codes.all[*place].address,
                name: name.clone(),
            })
        }
    };
    let slots: Vec<Option<Slot>> = asked.iter().map(slot).collect();
    let known: Vec<Slot> = slots.iter().flatten().cloned().collect();
    let mut found = super::find(&heap, &places, &codes, &known).into_iter();
    slots
        .into_iter()
        .map(|slot| slot.and_then(|_| found.next()))
        .collect()
}
