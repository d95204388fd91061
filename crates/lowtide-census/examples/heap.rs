//! All objects of a process as lines of text: `cargo run -p lowtide-census --example heap -- PID`.

use std::io::{BufWriter, stdout};
use std::time::Instant;

use lowtide_core::process::ProcId;
use lowtide_sys::proc::Proc;

fn main() {
    let pid = std::env::args().nth(1).and_then(|word| word.parse().ok());
    let pid = pid.expect("a pid");
    let proc = Proc::at("/proc").expect("/proc");
    let mut out = BufWriter::new(stdout().lock());
    let began = Instant::now();
    match lowtide_census::dump(&proc, ProcId { pid, start: 0 }, &mut out) {
        Ok(written) => written.expect("written"),
        Err(refusal) => return eprintln!("{refusal}"),
    }
    eprintln!("{:?}", began.elapsed());
}
