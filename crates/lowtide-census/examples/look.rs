//! What can be read of a process from here: `cargo run -p lowtide-census --example look -- PID [TIMES]`.

use std::time::{Duration, Instant};

use lowtide_census::Follower;
use lowtide_core::inside::InsideReader;
use lowtide_core::process::ProcId;
use lowtide_core::units::Micros;
use lowtide_sys::proc::Proc;

fn main() {
    let mut numbers = std::env::args()
        .skip(1)
        .filter_map(|word| word.parse::<u32>().ok());
    let pid = numbers.next().expect("a pid");
    let times = numbers.next().unwrap_or(10);
    let proc = Proc::at("/proc").expect("/proc");
    let mut follower = match Follower::open(proc, ProcId { pid, start: 0 }) {
        Ok(follower) => follower,
        Err(refusal) => return println!("{refusal}"),
    };
    println!("{:?}", follower.interpreter());
    println!("{:?}", follower.search(Duration::from_secs(10)));
    let (began, mut reader) = (Instant::now(), InsideReader::new(pid));
    for _ in 0..times {
        let at = Instant::now();
        let now = follower.read();
        let took = at.elapsed();
        println!("{now:?} in {took:?}");
        if let Ok(now) = now {
            println!(
                "{:?}",
                reader.see(&now.inside, Micros(began.elapsed().as_micros() as u64))
            );
        }
        std::thread::sleep(Duration::from_millis(500));
    }
}
