//! What threads are doing: plain training loops keep their state nowhere but in frames. For each thread the chain of
//! its frames, for each frame the loops that it is in, by its instruction and the loops of its code.
//!
//! A frame is cheap to look at: its head is one read, and what its code is was learnt before. So all of them are
//! looked at on every tick, and nothing is remembered that may be over by the next.

mod chain;
mod code;
pub(crate) mod iterators;
mod layout;
mod opcodes;
mod ranges;
mod threads;
mod variables;

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

pub(crate) use chain::{Chain, Frame, Level};
use code::Code;
pub(crate) use code::caught;
pub(crate) use layout::{Instructions, OfGenerator, Places};
pub(crate) use opcodes::Opcodes;

use crate::interpreter::Interpreter;
use crate::object::Heap;
use crate::source::Source;

/// Pieces of code that are remembered.
const REMEMBERED: usize = 20_000;

/// What is known of a process's code, kept between ticks.
#[derive(Debug, Default)]
pub(crate) struct Frames {
    /// None: frames are not read in this process.
    places: Option<Places>,
    codes: RefCell<HashMap<u64, Rc<Code>>>,
}

/// A thread and its frames.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Thread {
    pub address: u64,
    /// The one that its interpreter began with.
    pub is_main: bool,
    pub chain: Chain,
}

impl Frames {
    pub(crate) fn new(source: &impl Source, interpreter: &Interpreter) -> Frames {
        Frames {
            places: Places::of(source, interpreter.runtime, interpreter.version.minor),
            codes: RefCell::default(),
        }
    }

    /// Code may have been freed since, and other code stand in its place.
    pub(crate) fn forget(&self) {
        self.codes.borrow_mut().clear();
    }

    /// All threads that could be read.
    pub(crate) fn threads<S: Source>(
        &self,
        heap: &Heap<'_, S>,
        interpreter: &Interpreter,
    ) -> Vec<Thread> {
        let Some(places) = &self.places else {
            return Vec::new();
        };
        let threads = threads::all(heap.source, interpreter, places).unwrap_or_default();
        let each = threads.into_iter();
        each.filter_map(|(address, is_main)| {
            let chain = self.chain(heap, places, address)?;
            Some(Thread {
                address,
                is_main,
                chain,
            })
        })
        .collect()
    }

    fn code<S: Source>(
        &self,
        heap: &Heap<'_, S>,
        places: &Places,
        address: u64,
    ) -> Option<Rc<Code>> {
        if let Some(known) = self.codes.borrow().get(&address) {
            return Some(known.clone());
        }
        let code = Rc::new(Code::read(heap, places, address)?);
        let mut codes = self.codes.borrow_mut();
        if codes.len() < REMEMBERED {
            codes.insert(address, code.clone());
        }
        Some(code)
    }
}
