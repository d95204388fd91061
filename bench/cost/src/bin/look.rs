//! What a look into a process costs and finds: `look PID [COUNT]` prints each as one JSON object.

use std::time::Duration;

use lowtide_core::look::{Examine, LookWhy, Options};
use lowtide_core::process::ProcId;
use lowtide_core::units::Micros;
use lowtide_sys::look::MappingExaminer;
use lowtide_sys::proc::{Proc, stat};

/// Longer than any look that is worth measuring.
const WITHIN: Duration = Duration::from_secs(60);

fn main() {
    let arguments: Vec<u32> = std::env::args()
        .skip(1)
        .map(|argument| argument.parse().expect("usage: look PID [COUNT]"))
        .collect();
    let (pid, count) = match arguments[..] {
        [pid] => (pid, 1),
        [pid, count] => (pid, count),
        _ => panic!("usage: look PID [COUNT]"),
    };
    let proc = Proc::at("/proc").expect("/proc can be listed");
    let mut buffer = Vec::new();
    proc.read(pid, "stat", &mut buffer).expect("it runs");
    let start = stat::parse(&buffer).expect("stat as proc(5) has it").start;
    let mut examiner = MappingExaminer { proc };
    for _ in 0..count {
        let options = Options {
            at: Micros(0),
            why: LookWhy::Due,
            within: WITHIN,
        };
        match examiner.examine(ProcId { pid, start }, options) {
            Ok(look) => println!("{}", serde_json::to_string(&look).expect("plain data")),
            Err(gap) => panic!("{gap:?}"),
        }
    }
}
