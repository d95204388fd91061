//! Every object of a process as lines of text, so that they can be compared with what the process says of itself: the table
//! of accuracy in docs/census.md is made from it.
//!
//! `P tracked frozen broken torn`, then `K kind count bytes name` for every type, `O address kind bytes told` for every object,
//! `B address bytes count` for each block of memory that it stands in or has apart, and `E address…`, an object and those that it
//! refers to.

use std::io::{self, Write};

use lowtide_core::process::ProcId;
use lowtide_sys::memory::{Deadline, Live, Mappings};
use lowtide_sys::proc::Proc;

use crate::graph::{told, walk};
use crate::interpreter::Interpreter;
use crate::object::Heap;
use crate::refusal::Refusal;
use crate::source::Whole;

pub fn dump(proc: &Proc, id: ProcId, out: &mut impl Write) -> Result<io::Result<()>, Refusal> {
    let memory = Live::open(proc, id.pid, Deadline::none())
        .map_err(|errno| Refusal::of(errno, "/proc/PID/pagemap"))?;
    let began = lowtide_sys::sampler::processor_time();
    let interpreter = Interpreter::find(proc, id.pid, &memory)?;
    let mappings = Mappings::without_sizes(proc, id.pid, Deadline::none())
        .map_err(|errno| Refusal::of(errno, "/proc/PID/maps"))?;
    let whole = Whole::new(&memory, &mappings);
    let heap = Heap::new(&whole, interpreter.layout);
    let (graph, pass) = walk(&memory, &whole, &heap, &interpreter);
    let took = lowtide_sys::sampler::processor_time().since(began);
    eprintln!(
        "{took:?} nodes {} edges {} kept {}",
        graph.nodes.len(),
        graph.edges.to.len(),
        whole.kept()
    );
    let told = told(&heap, &interpreter, &graph);
    let mut write = || {
        let (tracked, frozen) = (pass.tracked, pass.frozen);
        writeln!(out, "P {tracked} {frozen} {} {}", pass.broken, pass.torn)?;
        for (nth, kind) in graph.kinds.iter().enumerate() {
            writeln!(out, "K {nth} {} {} {}", kind.count, kind.told, kind.name)?;
        }
        for (nth, node) in graph.nodes.iter().enumerate() {
            let (address, kind) = (node.address, node.kind);
            writeln!(out, "O {address} {kind} {} {}", node.bytes, told[nth].bytes)?;
            for block in &told[nth].blocks {
                writeln!(out, "B {} {} {}", block.at, block.bytes, block.count)?;
            }
            write!(out, "E {}", node.address)?;
            for to in graph.edges.of(nth as u32) {
                write!(out, " {}", graph.nodes[*to as usize].address)?;
            }
            writeln!(out)?;
        }
        Ok(())
    };
    Ok(write())
}
