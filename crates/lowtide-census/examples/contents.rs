//! What lies behind the objects of a process, as JSON: `cargo run -p lowtide-census --example contents -- PID`.

use std::io::{BufWriter, stdout};

use lowtide_core::process::ProcId;
use lowtide_sys::proc::Proc;

fn main() -> std::process::ExitCode {
    let pid = std::env::args().nth(1).and_then(|word| word.parse().ok());
    let pid = pid.expect("a pid");
    let proc = Proc::at("/proc").expect("/proc");
    let mut out = BufWriter::new(stdout().lock());
    match lowtide_census::dump_contents(&proc, ProcId { pid, start: 0 }, &mut out) {
        Ok(written) => written.expect("written"),
        Err(refusal) => {
            eprintln!("{refusal}");
            return std::process::ExitCode::FAILURE;
        }
    }
    std::process::ExitCode::SUCCESS
}
