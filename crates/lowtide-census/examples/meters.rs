//! The holders of a process, read again whenever a line comes: `cargo run -p lowtide-census --example meters -- PID`.
//! Prints one object of JSON for the census, and one for each line of input; `census` as a line takes another one.

use std::io::{BufRead, stdin};
use std::time::{Duration, Instant};

use lowtide_census::{CensusOptions, Meters, take};
use lowtide_core::look::LookWhy;
use lowtide_core::process::ProcId;
use lowtide_core::units::Micros;
use lowtide_sys::proc::Proc;
use lowtide_sys::signal::start_time;
use serde_json::json;

fn main() {
    let pid = std::env::args().nth(1).and_then(|word| word.parse().ok());
    let pid = pid.expect("a pid");
    let proc = Proc::at("/proc").expect("/proc");
    let start = start_time(&proc, pid).expect("a process");
    let id = ProcId { pid, start };
    let options = CensusOptions {
        stop: false,
        within: Duration::from_secs(60),
        at: Micros(0),
        why: LookWhy::Asked,
    };
    let census = || {
        let census = take(&proc, id, &options).expect("a census");
        let heap = census.look.heap.expect("a heap");
        let holders = heap.holders.iter().map(|holder| {
            json!({"name": holder.name, "kind": holder.kind, "address": holder.address, "length": holder.length})
        });
        println!("{}", json!({"holders": holders.collect::<Vec<_>>()}));
        (census.interpreter, census.meters)
    };
    let (interpreter, all) = census();
    let again = Proc::at("/proc").expect("/proc");
    let mut meters = Meters::open(again, id, interpreter, all).expect("meters");
    for line in stdin().lock().lines() {
        if line.expect("a line") == "census" {
            let (interpreter, all) = census();
            meters.renew(interpreter, all);
            continue;
        }
        let began = Instant::now();
        let readings = meters.read().expect("readings");
        let took = began.elapsed().as_secs_f64() * 1e6;
        let each = meters.all().iter().zip(readings);
        let each = each.map(|(meter, reading)| {
            json!({"name": meter.holder.name, "address": meter.address, "reading": reading})
        });
        println!(
            "{}",
            json!({"micros": took, "readings": each.collect::<Vec<_>>()})
        );
    }
}
