//! Stops a process a few times and copies all of its anonymous memory: how long it is held, and how fast that is.
//!
//! cargo run --release -p lowtide-sys --example stop -- PID [TIMES]

use std::error::Error;
use std::time::Instant;

use lowtide_sys::memory::{Deadline, Learned, Live, Mappings, Memory, Recopy};
use lowtide_sys::proc::Proc;
use lowtide_sys::stop::while_stopped;

/// What is read at once in the pass that shows where to copy.
const CHUNK: u64 = 16 << 10;
/// More than the default: this is to see how long it takes.
const WITHIN: std::time::Duration = std::time::Duration::from_secs(5);
const AT_MOST: u64 = 8 << 30;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let pid: u32 = arguments.next().ok_or("PID [TIMES]")?.parse()?;
    let times = arguments.next().map_or(Ok(5), |times| times.parse())?;
    let proc = Proc::at("/proc")?;
    for _ in 0..times {
        let live = Live::open(&proc, pid, Deadline::none())?;
        let mappings = Mappings::without_sizes(&proc, pid, Deadline::none())?;
        let began = Instant::now();
        let learned = Learned::new(&live, &mappings);
        read_all(&learned, &mappings)?;
        let read = began.elapsed();
        let ready = Recopy::prepare(&proc, pid, learned, AT_MOST)?;
        let prepared = began.elapsed() - read;
        let (copied, held) = while_stopped(pid, WITHIN, |stopped| ready.copy(&proc, stopped))?;
        let copied = copied?;
        let megabytes = copied.bytes() as f64 / 1e6;
        println!(
            "first pass {read:.1?}, prepared in {prepared:.1?}; {} threads stopped in {:.2?}, held {:.1?} for {megabytes:.0} MB ({:.1} GB/s)",
            held.threads,
            held.stopping,
            held.whole,
            megabytes / 1e3 / (held.whole - held.stopping).as_secs_f64(),
        );
    }
    Ok(())
}

/// Reads what is resident of private writable memory, by chunks.
fn read_all(memory: &impl Memory, mappings: &Mappings) -> Result<(), rustix::io::Errno> {
    let mut room = vec![0; CHUNK as usize];
    let private = mappings
        .list
        .iter()
        .filter(|one| one.read && one.write && !one.shared);
    for mapping in private {
        let pages = memory.resident(mapping.start, mapping.end)?;
        let mut next = pages.next(mapping.start);
        while let Some(at) = next {
            let end = pages.row_end(at, CHUNK);
            memory.read(at, &mut room[..(end - at) as usize]);
            next = pages.next(end);
        }
    }
    Ok(())
}
