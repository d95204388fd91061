//! Which code adds to a holder and which empties it: `cargo run -p lowtide-census --example writers -- PID`, with a holder
//! a line of standard input: `attribute Metrics rows`, `global train CACHE`, `variable main seen`.

use std::io::BufRead;

use lowtide_census::writers::{Asked, Place, ask};
use lowtide_core::process::ProcId;
use lowtide_sys::proc::Proc;

fn main() {
    let pid = std::env::args().nth(1).and_then(|pid| pid.parse().ok());
    let id = ProcId {
        pid: pid.expect("a pid"),
        start: 0,
    };
    let lines = std::io::stdin().lock().lines().map_while(Result::ok);
    let asked: Vec<Asked> = lines.filter_map(|line| asked(&line)).collect();
    let proc = Proc::at("/proc").expect("/proc");
    let found = match ask(&proc, id, &asked) {
        Ok(found) => found,
        Err(refusal) => {
            eprintln!("{refusal}");
            std::process::exit(1);
        }
    };
    for (asked, writers) in asked.iter().zip(found) {
        let (Asked::Attribute(owner, name)
        | Asked::Global(owner, name)
        | Asked::Variable(owner, name)) = asked;
        let Some(writers) = writers else {
            println!("{owner}\t{name}\tnone");
            continue;
        };
        let tell = |word: &str, place: &Place| {
            let Place {
                file,
                line,
                function,
                how,
            } = place;
            println!("{owner}\t{name}\t{word}\t{how}\t{file}\t{line}\t{function}");
        };
        writers.adds.iter().for_each(|place| tell("adds", place));
        writers
            .empties
            .iter()
            .for_each(|place| tell("empties", place));
        if writers.others > 0 {
            println!("{owner}\t{name}\tothers\t{}", writers.others);
        }
        if writers.unread > 0 {
            println!("{owner}\t{name}\tunread\t{}", writers.unread);
        }
    }
}

fn asked(line: &str) -> Option<Asked> {
    let mut words = line.split_whitespace().map(str::to_owned);
    let (kind, owner, name) = (words.next()?, words.next()?, words.next()?);
    match kind.as_str() {
        "attribute" => Some(Asked::Attribute(owner, name)),
        "global" => Some(Asked::Global(owner, name)),
        "variable" => Some(Asked::Variable(owner, name)),
        _ => None,
    }
}
