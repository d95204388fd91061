//! One process, followed from tick to tick: its interpreter is found once, its loops by a search now and then, and a few
//! words are read in between.

use std::time::Duration;

use lowtide_core::inside::seen::Inside;
use lowtide_core::process::ProcId;
use lowtide_core::units::Micros;
use lowtide_sys::memory::{Deadline, Live, Memory};
use lowtide_sys::proc::Proc;
use lowtide_sys::sampler::processor_time;

use crate::interpreter::{Counts, Interpreter};
use crate::loops::{self, Found, Watch};
use crate::object::Memo;
use crate::refusal::Refusal;
use crate::source::Direct;

/// A process whose objects can be read.
pub struct Follower {
    pub id: ProcId,
    proc: Proc,
    memory: Live,
    interpreter: Interpreter,
    memo: Memo,
    found: Found,
    watch: Watch,
}

/// What a search came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Searched {
    /// Objects that were gone over.
    pub objects: u64,
    pub cost: Micros,
    /// Something was found that loops count with.
    pub found: bool,
    /// Not all objects were seen.
    pub is_cut: bool,
}

/// What one tick reads.
#[derive(Clone, Debug, PartialEq)]
pub struct Now {
    pub counts: Option<Counts>,
    pub inside: Inside,
}

impl Follower {
    pub fn open(proc: Proc, id: ProcId) -> Result<Follower, Refusal> {
        let memory = Live::open(&proc, id.pid, Deadline::none())
            .map_err(|errno| Refusal::of(errno, "/proc/PID/pagemap"))?;
        let interpreter = Interpreter::find(&proc, id.pid, &memory)?;
        let watch = Watch::new(&Direct(&memory), &interpreter);
        Ok(Follower {
            id,
            proc,
            memory,
            interpreter,
            memo: Memo::default(),
            found: Found::default(),
            watch,
        })
    }

    pub fn interpreter(&self) -> &Interpreter {
        &self.interpreter
    }

    /// One pass over all objects, `within` so much work.
    pub fn search(&mut self, within: Duration) -> Result<Searched, Refusal> {
        let began = processor_time();
        let memory = Live::open(&self.proc, self.id.pid, Deadline::after(within))
            .map_err(|errno| Refusal::of(errno, "/proc/PID/pagemap"))?;
        self.memo.forget();
        self.watch.forget();
        let pass = loops::search(&memory, &self.interpreter, &self.memo);
        if let Some(errno) = memory.refused() {
            return Err(Refusal::of(errno, "process_vm_readv"));
        }
        // A pass that ran out of time has not seen that what was found before is gone.
        if !pass.is_cut || !pass.found.is_empty() {
            self.found = pass.found;
        }
        Ok(Searched {
            objects: pass.objects,
            cost: processor_time().since(began),
            found: !self.found.is_empty(),
            is_cut: pass.is_cut,
        })
    }

    /// What stands there now.
    pub fn read(&self) -> Result<Now, Refusal> {
        let now = Now {
            counts: self.interpreter.counts(&Direct(&self.memory)),
            inside: loops::read_now(
                &self.memory,
                &self.interpreter,
                &self.memo,
                &self.found,
                &self.watch,
            ),
        };
        match self.memory.refused() {
            Some(errno) => Err(Refusal::of(errno, "process_vm_readv")),
            None => Ok(now),
        }
    }
}
