//! Real interpreters, which keep a few megabytes in every way that programs do.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use lowtide_core::look::Holder;
use lowtide_core::process::ProcId;
use lowtide_sys::memory::{Deadline, Live, Mappings};
use lowtide_sys::proc::Proc;
use lowtide_testing::Starts;

use crate::frames::Frames;
use crate::graph::walk;
use crate::holders::{Found, Reader, Roots, find};
use crate::interpreter::Interpreter;
use crate::object::Heap;
use crate::source::Whole;

/// What `tests/holders.py` has: its name, type and length.
const HELD: &[(&str, &str, Option<u64>)] = &[
    ("holders.LIST", "list", Some(1500)),
    ("holders.TABLE[\"rows\"]", "dict", Some(1500)),
    ("holders.QUEUE", "collections.deque", Some(1500)),
    ("holders.SEEN", "set", Some(1500)),
    ("holders.ORDERED", "collections.OrderedDict", Some(1500)),
    ("holders.OWN", "__main__.Own", Some(1500)),
    ("holders.BOTH[\"left\"]", "list", Some(3000)),
    ("holders.BOTH[\"right\"]", "list", Some(3000)),
    ("holders.BLOB", "bytearray", None),
    ("holders.FEW[\"only\"]", "list", Some(1)),
    ("holders.FIRST", "list", Some(1500)),
    ("holders.LOCAL.mine", "list", Some(1500)),
    ("holders.HEAD", "__main__.Link", None),
    ("holders.Cache.store", "dict", Some(1500)),
    ("Metrics.rows of holders.metrics", "list", Some(1500)),
    ("Asked.history of holders.asked", "dict", Some(1500)),
    ("Slotted.buffer of holders.slotted", "list", Some(1500)),
    ("seen in the closure of holders.add", "list", Some(1500)),
    ("default of kept in holders.note", "list", Some(1500)),
    ("lru_cache of holders.unbounded", "dict", Some(1500)),
    (
        "lru_cache of holders.bounded",
        "functools._lru_cache_wrapper",
        Some(1500),
    ),
    ("pending in holders.running", "list", Some(1500)),
    ("local in main() holders.py:115", "list", Some(1500)),
    ("captured in main() holders.py:115", "list", Some(1500)),
    (
        "collected in worker() holders.py:80, another thread",
        "list",
        Some(1500),
    ),
];
/// A thing that the program keeps, and its head.
const THING: u64 = 2000;

fn look(pid: u32) -> Found {
    let proc = Proc::at("/proc").unwrap();
    let memory = Live::open(&proc, pid, Deadline::none()).unwrap();
    let interpreter = Interpreter::find(&proc, pid, &memory).unwrap();
    let mappings = Mappings::without_sizes(&proc, pid, Deadline::none()).unwrap();
    let whole = Whole::new(&memory, &mappings);
    let heap = Heap::new(&whole, interpreter.layout);
    let (mut graph, _) = walk(&memory, &whole, &heap, &interpreter);
    let frames = Frames::new(&whole, &interpreter);
    let roots = Roots::read(&mut graph, &heap, &interpreter, &frames);
    let labels = Reader {
        heap: &heap,
        frames: &frames,
        roots: &roots,
    };
    find(&mut graph, &roots, &labels, &|_| None)
}

fn holders_of(python: &Path) -> Vec<Holder> {
    let program = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/holders.py");
    let mut job = Command::new(python)
        .arg(program)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .start();
    let mut line = String::new();
    let mut output = BufReader::new(job.stdout.take().unwrap());
    output.read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n");
    let id = ProcId {
        pid: job.id(),
        start: 0,
    };
    let holders = look(id.pid).holders.into_iter();
    holders.map(|spotted| spotted.holder).collect()
}

/// The one on the PATH, and every one of pyenv's that can be read.
fn interpreters() -> Vec<PathBuf> {
    let versions = std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".pyenv/versions"));
    let each = (9..=15).map(|minor| format!("3.{minor}."));
    let names: Vec<String> = each.collect();
    let folders = versions.and_then(|folder| std::fs::read_dir(folder).ok());
    let folders = folders.into_iter().flatten().flatten();
    let known = folders.filter(|folder| {
        let name = folder.file_name().into_string().unwrap_or_default();
        names.iter().any(|version| name.starts_with(version))
    });
    let found = known.map(|folder| folder.path().join("bin/python3"));
    let found = found.filter(|python| python.is_file());
    found.chain([PathBuf::from("python3")]).collect()
}

#[test]
fn every_holder_of_a_real_process_has_the_name_that_its_program_gives_it() {
    for python in interpreters() {
        let holders = holders_of(&python);
        let named = |name: &str| holders.iter().find(|holder| holder.name == name);
        let names: Vec<&str> = holders.iter().map(|holder| holder.name.as_str()).collect();
        for (name, kind, length) in HELD {
            let Some(holder) = named(name) else {
                panic!("{python:?}: {name} is not in {names:#?}");
            };
            let told = (holder.kind.as_str(), holder.length);
            assert_eq!(told, (*kind, *length), "{python:?}: {name}");
            // What is kept in it, and little beside that.
            let least = match (*name, length) {
                ("holders.HEAD", _) => 10_000 * 200,
                (_, None | Some(1)) => 3_000_000,
                (_, Some(length)) => (length - 1) * THING,
            };
            let keeps = holder.keeps.0;
            assert!(
                keeps >= least && keeps < least * 9 / 4,
                "{python:?}: {holder:?}"
            );
            assert_ne!(holder.address, 0);
        }
        // What two have is told once, and says so; what one has does not.
        let second = named("holders.SECOND").map_or(0, |second| second.keeps.0);
        assert!(second < 20_000, "{python:?}: {second}, its own table alone");
        let also = |name: &str| named(name).and_then(|holder| holder.also_held_by.clone());
        assert_eq!(also("holders.FIRST").as_deref(), Some("holders.SECOND"));
        assert_eq!(also("holders.LIST"), None);
        let list = named("holders.LIST").unwrap();
        assert_eq!(list.of[0].name, "bytearray");
        assert!(list.of[0].count.abs_diff(1500) <= 1, "{python:?}: {list:?}");
        // The table of all names, which C has, is no garbage.
        let nobodys = |holder: &&Holder| holder.name.contains("that nobody holds");
        let table = holders
            .iter()
            .filter(nobodys)
            .find(|holder| holder.length >= Some(1024));
        assert_eq!(table, None, "{python:?}");
        // Nothing else in this program is as large.
        let others = holders.iter().filter(|holder| {
            let known = HELD.iter().any(|(name, ..)| *name == holder.name);
            !known && holder.keeps.0 > 1_000_000
        });
        let others: Vec<&Holder> = others.collect();
        assert!(others.is_empty(), "{python:?}: {others:#?}");
    }
}
