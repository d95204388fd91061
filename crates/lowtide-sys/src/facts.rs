//! What a process is: command line, program, libraries, thread names, environment. Gathered when it
//! joins, after an exec, and again as it ages, because libraries are mapped seconds after the start.

use lowtide_core::process::Facts;

use crate::proc::maps::Mapped;
use crate::proc::{Proc, cmdline, environ, maps};

/// A process with thousands of threads names them alike.
const MOST_THREADS: usize = 64;

/// Thread names worth keeping begin so: torch's own names, Ray's, and those of logging helpers.
const TELLING_THREADS: [&str; 4] = ["pt_", "ray::", "wandb", "cuda-EvtHandlr"];

/// Gathers the facts that need no memory map. Denied parts stay empty.
pub(crate) fn gather(proc: &Proc, pid: u32, comm: &[u8], buffer: &mut Vec<u8>) -> Facts {
    let argv = match proc.read(pid, "cmdline", buffer) {
        Ok(()) => cmdline::parse(buffer),
        Err(_) => Vec::new(),
    };
    let env = match proc.read(pid, "environ", buffer) {
        Ok(()) => environ::parse(buffer),
        Err(_) => Vec::new(),
    };
    Facts {
        argv,
        comm: String::from_utf8_lossy(comm).into_owned(),
        exe: proc.link(pid, "exe"),
        threads: telling_threads(proc, pid),
        env,
        ..Facts::default()
    }
}

pub(crate) fn telling_threads(proc: &Proc, pid: u32) -> Vec<String> {
    let mut names: Vec<String> = proc
        .thread_names(pid, MOST_THREADS)
        .into_iter()
        .map(|name| String::from_utf8_lossy(&name).into_owned())
        .filter(|name| TELLING_THREADS.iter().any(|start| name.starts_with(start)))
        .collect();
    names.sort();
    names.dedup();
    names
}

/// Libraries that are mapped now; `None` when the map may not be read.
pub(crate) fn mapped(proc: &Proc, pid: u32, buffer: &mut Vec<u8>) -> Option<Mapped> {
    proc.read(pid, "maps", buffer).ok()?;
    Some(maps::parse(buffer))
}

/// Notes what is mapped. A library that was seen once stays noted: nobody unloads torch.
pub(crate) fn note(facts: &mut Facts, mapped: Mapped) {
    facts.libtorch |= mapped.torch;
    facts.libcuda |= mapped.cuda;
    facts.libpython |= mapped.python;
}
