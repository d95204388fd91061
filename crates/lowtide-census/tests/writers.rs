//! Code of a real Python that writes to holders, where others have the same names.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use lowtide_census::writers::{Asked, Place, Writers, ask};
use lowtide_core::process::ProcId;
use lowtide_sys::proc::Proc;
use lowtide_testing::Starts;

fn writers(asked: &[Asked]) -> Vec<Option<Writers>> {
    let program = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/writers.py");
    let mut job = Command::new("python3")
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
    ask(&Proc::at("/proc").unwrap(), id, asked).unwrap()
}

fn one(asked: Asked) -> Writers {
    writers(&[asked]).remove(0).expect("it is there")
}

/// `append in Metrics.update`, one each.
fn told(places: &[Place]) -> Vec<String> {
    let tell = |place: &Place| format!("{} in {}", place.how, place.function);
    places.iter().map(tell).collect()
}

fn attribute(class: &str, name: &str) -> Asked {
    Asked::Attribute(class.to_owned(), name.to_owned())
}

fn global(module: &str, name: &str) -> Asked {
    Asked::Global(module.to_owned(), name.to_owned())
}

fn variable(function: &str, name: &str) -> Asked {
    Asked::Variable(function.to_owned(), name.to_owned())
}

#[test]
fn an_attribute_is_that_of_its_class() {
    let other = one(attribute("Other", "rows"));
    assert_eq!(told(&other.adds), ["extend in Other.update"]);
    let place = &other.adds[0];
    assert_eq!((&*place.file, place.line), ("/somewhere/store.py", 16));
    // By what the global is: `metrics.rows.pop()` is not about it. What `one` is nobody knows, so it may be.
    let empties = ["remove in finish", "clear in finish_epoch"];
    assert_eq!(told(&other.empties), empties);
    // `thing.rows.update` is in a module that has nothing to do with it.
    assert_eq!((other.others, other.unread), (0, 0));
}

#[test]
fn an_inherited_attribute_is_written_to_by_the_class_it_is_from() {
    // There are two classes of that name; `Base` is in the module of one of them.
    let base = one(attribute("Base", "inherited"));
    assert_eq!(told(&base.adds), ["append in Base.put"]);
    assert_eq!(told(&base.empties), Vec::<String>::new());
}

#[test]
fn what_may_be_another_object_is_told_if_the_class_itself_adds_nothing() {
    // Its own method adds; `one.loose.append(1)` may, and is counted.
    let other = one(attribute("Other", "loose"));
    assert_eq!(told(&other.adds), ["insert in Other.update"]);
    assert_eq!(other.others, 1);
    let none = one(attribute("Base", "loose"));
    // Nothing of its own: what is nearby is told, and no method of another class.
    let adds = ["appendleft in finish", "append in loose"];
    assert_eq!(told(&none.adds), adds);
}

#[test]
fn a_global_is_that_of_its_module_by_whatever_name() {
    let cache = one(global("store", "CACHE"));
    let adds = ["append in put", "extend in put", "insert in put"];
    assert_eq!(told(&cache.adds), adds);
    assert_eq!(cache.adds[0].file, "/somewhere/store.py");
    assert_eq!(cache.adds[2].file, "/somewhere/user.py");
    assert_eq!(told(&cache.empties), ["= in drop"]);
    // The same name, and another object.
    assert_eq!(told(&one(global("store", "OWN")).adds), ["append in put"]);
    assert_eq!(told(&one(global("user", "OWN")).adds), ["insert in put"]);
}

#[test]
fn a_closures_variable_is_that_of_the_functions_that_share_it() {
    let adds = ["append in closed.<locals>.put"];
    let empties = ["clear in closed.<locals>.drop"];
    // Whichever of them is asked.
    for function in ["closed", "closed.<locals>.put", "closed.<locals>.drop"] {
        let kept = one(variable(function, "kept"));
        assert_eq!(told(&kept.adds), adds, "{function}");
        assert_eq!(told(&kept.empties), empties, "{function}");
    }
    let other = one(variable("other_closed", "kept"));
    let adds = ["extend in other_closed.<locals>.<lambda>"];
    assert_eq!(told(&other.adds), adds);
}

#[test]
fn what_is_not_there_is_nothing() {
    let nothing = [
        attribute("Nobody", "rows"),
        global("nowhere", "CACHE"),
        variable("never", "x"),
    ];
    assert_eq!(writers(&nothing), [None, None, None]);
    let unused = one(global("store", "UNUSED"));
    assert_eq!(unused, Writers::default());
}
