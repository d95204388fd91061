//! A real interpreter that does what it is told, line by line, and is read in between.

use std::io::{BufRead, BufReader, Write};
use std::process::{ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use lowtide_core::followed::HolderReading;
use lowtide_core::look::LookWhy;
use lowtide_core::process::ProcId;
use lowtide_core::units::Micros;
use lowtide_sys::proc::Proc;
use lowtide_sys::signal::start_time;
use lowtide_testing::{Started, Starts};

use super::Meters;
use crate::take::{CensusOptions, take};

/// Things that are large enough to be held by somebody.
const BEGIN: &str = "
import sys
def things(count, begin=0): return [bytes(2000 + begin + nth) for nth in range(count)]
class Owner: pass
for line in sys.stdin:
    exec(line.replace('; ', chr(10)), globals())
    print('done', flush=True)
";

struct Job {
    child: Started,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Job {
    fn start(first: &str) -> Job {
        let mut child = Command::new("python3")
            .args(["-c", BEGIN])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .start();
        let input = child.stdin.take().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let mut job = Job {
            child,
            input,
            output,
        };
        job.does(first);
        job
    }

    /// These statements, and then it stands still.
    fn does(&mut self, statements: &str) {
        writeln!(self.input, "{statements}").unwrap();
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        assert_eq!(line, "done\n", "{statements}");
    }

    fn meters(&self) -> Meters {
        let proc = Proc::at("/proc").unwrap();
        let pid = self.child.id();
        let start = start_time(&proc, pid).unwrap();
        let id = ProcId { pid, start };
        let options = CensusOptions {
            stop: false,
            within: Duration::from_secs(60),
            at: Micros(0),
            why: LookWhy::Asked,
        };
        let census = take(&proc, id, &options).unwrap();
        Meters::open(proc, id, census.interpreter, census.meters).unwrap()
    }
}

fn read(meters: &mut Meters, name: &str) -> Option<HolderReading> {
    let readings = meters.read().unwrap();
    let mut each = meters.all().iter().zip(readings);
    let found = each.find(|(meter, _)| meter.holder.name == name);
    found.unwrap_or_else(|| panic!("{name} is not followed")).1
}

fn length(meters: &mut Meters, name: &str) -> Option<u64> {
    read(meters, name).map(|reading| reading.length)
}

#[test]
fn a_container_that_moves_with_every_step_is_the_same_holder() {
    let mut job = Job::start("x = things(50)");
    let mut meters = job.meters();
    for nth in 0..5 {
        let reading = read(&mut meters, "__main__.x").unwrap();
        assert_eq!((reading.length, reading.renewed), (50 + nth, false));
        job.does("x = x + things(1)");
    }
}

#[test]
fn what_was_emptied_and_filled_again_between_two_readings_is_seen() {
    let mut job = Job::start("x = things(50); d = dict(enumerate(things(50)))");
    let mut meters = job.meters();
    assert!(!read(&mut meters, "__main__.x").unwrap().renewed);
    job.does(
        "y, z = things(60), things(60); x.clear(); x.extend(y); d.clear(); d.update(zip(range(900, 960), z))",
    );
    let readings = meters.read().unwrap();
    let each = meters.all().iter().zip(readings);
    let ours = each
        .filter(|(meter, _)| ["__main__.x", "__main__.d"].contains(&meter.holder.name.as_str()));
    let ours: Vec<_> = ours.filter_map(|(_, reading)| reading).collect();
    assert_eq!(ours.len(), 2);
    for reading in ours {
        assert_eq!((reading.length, reading.renewed), (60, true));
    }
    assert!(!read(&mut meters, "__main__.x").unwrap().renewed);
    // Others come before them: they are still there.
    job.does("x[:0] = things(7)");
    let reading = read(&mut meters, "__main__.x").unwrap();
    assert_eq!((reading.length, reading.renewed), (67, false));
}

/// The next tuple is where the last one was.
#[test]
fn a_key_is_known_by_what_it_is_worth() {
    let mut job = Job::start("d = {}; d[(1, 'a')] = things(50); d[tuple([2, 'b'])] = things(40)");
    let mut meters = job.meters();
    let names: Vec<String> = (meters.all().iter())
        .map(|meter| meter.holder.name.clone())
        .filter(|name| name.starts_with("__main__.d"))
        .collect();
    assert_eq!(names.len(), 2, "{names:?}");
    let lengths = |meters: &mut Meters| {
        let readings = meters.read().unwrap();
        let each = meters.all().iter().zip(readings);
        let ours = each.filter(|(meter, _)| meter.holder.name.starts_with("__main__.d"));
        let mut lengths: Vec<Option<u64>> = ours
            .map(|(_, reading)| reading.map(|reading| reading.length))
            .collect();
        lengths.sort_unstable();
        lengths
    };
    assert_eq!(lengths(&mut meters), [Some(40), Some(50)]);
    // Another key takes the place of one, and the same one comes back as another object.
    job.does("v = d.pop((2, 'b')); d[tuple([3, 'c'])] = things(30)");
    assert_eq!(lengths(&mut meters), [None, Some(50)]);
    job.does("d[tuple([2, 'b'])] = v + v");
    assert_eq!(lengths(&mut meters), [Some(50), Some(80)]);
}

#[test]
fn a_slot_that_is_gone_or_has_something_else_has_no_length() {
    let mut job = Job::start("o = Owner(); o.rows = things(50); o.other = things(20)");
    let mut meters = job.meters();
    let name = "Owner.rows of __main__.o";
    assert_eq!(length(&mut meters, name), Some(50));
    for nothing in [
        "o.rows = None",
        "del o.rows",
        "o.rows = dict(enumerate(things(9)))",
    ] {
        job.does(nothing);
        assert_eq!(length(&mut meters, name), None, "{nothing}");
    }
    // Its owner was made anew, and has a dictionary of its own now.
    job.does("o = Owner(); vars(o)['rows'] = things(12)");
    assert_eq!(length(&mut meters, name), Some(12));
}

#[test]
fn slots_are_counted_as_they_are_filled() {
    let mut job = Job::start("x = [None] * 100; x[:20] = things(20)");
    let mut meters = job.meters();
    let seen = |meters: &mut Meters| {
        let reading = read(meters, "__main__.x").unwrap();
        (reading.length, reading.filled)
    };
    assert_eq!(seen(&mut meters), (100, Some(20)));
    job.does("x[50:60] = things(10)");
    assert_eq!(seen(&mut meters), (100, Some(30)));
}

/// While it is sorted a list has no items, and is not empty.
#[test]
fn a_list_that_is_sorted_is_not_called_empty() {
    let mut job = Job::start("import time; x = things(50); seen = []");
    let mut meters = job.meters();
    assert_eq!(length(&mut meters, "__main__.x"), Some(50));
    job.does("import threading; go, asked = threading.Event(), threading.Event(); wait = lambda one: (asked.set(), go.wait(), 0)[2]; thread = threading.Thread(target=lambda: x.sort(key=wait)); thread.start(); asked.wait()");
    assert_eq!(length(&mut meters, "__main__.x"), None);
    job.does("go.set(); thread.join()");
    assert_eq!(length(&mut meters, "__main__.x"), Some(50));
}

/// What a function had stands in memory until another one uses its place.
#[test]
fn a_local_ends_with_its_function() {
    let function = "def main(input): local = things(50); yielded = [input.readline() for _ in range(1)]; local.extend(things(1)); print('more', flush=True); input.readline()";
    let function = function
        .replacen(": ", ":\n    ", 1)
        .replace("; ", "\n    ");
    let mut job = Job::start(&format!("code = {function:?}; exec(code)"));
    writeln!(job.input, "main(sys.stdin)").unwrap();
    let mut meters = loop {
        // It is in its function when that has its list.
        let meters = job.meters();
        let has = |name: &str| meters.all().iter().any(|meter| meter.holder.name == name);
        if meters
            .all()
            .iter()
            .any(|meter| meter.holder.name.starts_with("local in main()"))
        {
            break meters;
        }
        assert!(!has("local"));
    };
    let name = meters.all().iter().map(|meter| meter.holder.name.clone());
    let name = name
        .into_iter()
        .find(|name| name.starts_with("local in main()"))
        .unwrap();
    assert_eq!(length(&mut meters, &name), Some(50));
    job.input.write_all(b"\n").unwrap();
    let mut line = String::new();
    job.output.read_line(&mut line).unwrap();
    assert_eq!(length(&mut meters, &name), Some(51));
    job.does("");
    assert_eq!(length(&mut meters, &name), None);
}

#[test]
fn the_next_census_adds_what_came_and_keeps_what_is_there() {
    let mut job = Job::start("x = things(50); y = things(60)");
    let mut meters = job.meters();
    job.does("z = things(70); del y");
    let newer = job.meters();
    let newer: Vec<super::Meter> = newer.all().to_vec();
    let newer = newer
        .into_iter()
        .filter(|meter| meter.holder.name != "__main__.x");
    let interpreter = job.meters().interpreter;
    meters.renew(interpreter, newer.collect());
    let names: Vec<&str> = (meters.all().iter())
        .map(|meter| meter.holder.name.as_str())
        .filter(|name| name.starts_with("__main__."))
        .collect();
    assert_eq!(names.len(), 2, "{names:?}");
    assert_eq!(length(&mut meters, "__main__.z"), Some(70));
    assert_eq!(length(&mut meters, "__main__.x"), Some(50));
}

/// The next generator is where the last one was, and has another list in the same place.
#[test]
fn a_variable_is_one_of_its_own_function() {
    let first = "exec('def first():\\n rows = things(50)\\n yield\\n rows')";
    let other = "exec('def other():\\n pending = things(30)\\n yield\\n pending')";
    let mut job = Job::start(&format!("{first}; {other}; g = first(); next(g)"));
    let mut meters = job.meters();
    let name = "rows in __main__.g";
    assert_eq!(length(&mut meters, name), Some(50));
    job.does("g = other(); next(g)");
    assert_eq!(length(&mut meters, name), None);
    job.does("g = first(); next(g)");
    assert_eq!(length(&mut meters, name), Some(50));
}

/// A set that grows has another table, and leaves what was in its first one where it was.
#[test]
fn members_of_sets_are_not_followed() {
    let job = Job::start("o = Owner(); o.rows = things(50); s = {o}; del o");
    let meters = job.meters();
    let names = meters.all().iter().map(|meter| meter.holder.name.as_str());
    let of_set: Vec<&str> = names.filter(|name| name.contains("rows")).collect();
    assert!(of_set.is_empty(), "{of_set:?}");
}
