//! Which nodes of graphs by hand are holders, and what they are called.

use lowtide_core::look::HeldGroup;
use lowtide_core::units::Bytes;

use super::made::{Made, attribute, key};
use crate::graph::NodeId;
use crate::holders::{MOST, Step};

const LARGE: u64 = 100_000;

/// A list of a module with tensors in it, each with its storage.
fn cache(made: &mut Made, module: NodeId) -> NodeId {
    let list = made.global(module, "CACHE", "list", 1000);
    for tensor in made.fill(list, 100, "torch.Tensor", 80) {
        made.part(tensor, "storage", LARGE, Step::Referent);
    }
    list
}

#[test]
fn a_list_is_the_holder_and_neither_its_elements_nor_its_module() {
    let mut made = Made::default();
    let train = made.module("train", true);
    cache(&mut made, train);
    let found = made.found();
    let [spotted] = &found.holders[..] else {
        panic!("{found:#?}");
    };
    let holder = &spotted.holder;
    assert_eq!(holder.name, "train.CACHE");
    assert_eq!(holder.path, ["module train", ".CACHE"]);
    assert_eq!((holder.kind.as_str(), holder.length), ("list", Some(100)));
    assert_eq!(holder.keeps, Bytes(1000 + 100 * (LARGE + 80)));
    // A tensor is counted with its storage.
    let of = HeldGroup {
        name: "Tensor cpu float32 [3, 4]".to_owned(),
        count: 100,
        bytes: Bytes(100 * (LARGE + 80)),
    };
    assert_eq!(holder.of, [of]);
    assert_eq!(spotted.slot.as_ref().unwrap().step, attribute("CACHE"));
    assert_eq!(holder.also_held_by, None);
}

/// With its attributes in a dictionary, and without.
#[test]
fn a_list_of_an_object_is_named_by_its_class() {
    for with_dict in [true, false] {
        let mut made = Made::default();
        let train = made.module("train", true);
        let metrics = made.global(train, "metrics", "train.Metrics", 48);
        let rows = match with_dict {
            true => {
                let names = made.part(metrics, "dict", 200, Step::Names);
                made.part(names, "list", 8000, key("rows"))
            }
            false => made.part(metrics, "list", 8000, attribute("rows")),
        };
        made.fill(rows, 1000, "dict", 232);
        let found = made.found();
        assert_eq!(found.holders.len(), 1);
        let spotted = &found.holders[0];
        assert_eq!(spotted.holder.name, "Metrics.rows of train.metrics");
        assert_eq!(spotted.holder.path, ["module train", ".metrics", ".rows"]);
        let slot = spotted.slot.as_ref().unwrap();
        assert_eq!((slot.owner, &slot.step), (metrics, &attribute("rows")));
    }
}

#[test]
fn two_lists_in_a_dictionary_are_two_holders_and_it_is_none() {
    let mut made = Made::default();
    let train = made.module("train", true);
    let state = made.global(train, "STATE", "dict", 200);
    for name in ["left", "right"] {
        let list = made.part(state, "list", 1000, key(name));
        made.fill(list, 50, "bytes", LARGE);
    }
    let expected = ["train.STATE[\"left\"]", "train.STATE[\"right\"]"];
    assert_eq!(made.names(), expected);
}

#[test]
fn a_list_of_lists_is_one_holder_unless_some_have_much_of_it() {
    let mut made = Made::default();
    let train = made.module("train", true);
    let batches = made.global(train, "batches", "list", 1000);
    for batch in made.fill(batches, 20, "list", 100) {
        made.fill(batch, 20, "bytes", LARGE);
    }
    assert_eq!(made.names(), ["train.batches"]);
    // One more, that has as much as all others.
    let large = made.part(batches, "list", 100, Step::Index(20));
    made.fill(large, 300, "bytes", LARGE);
    assert_eq!(made.names(), ["train.batches", "train.batches[20]"]);
}

#[test]
fn what_has_no_container_is_told_by_its_first_name() {
    let mut made = Made::default();
    let train = made.module("train", true);
    made.global(train, "BLOB", "bytearray", LARGE);
    let few = made.global(train, "FEW", "dict", 200);
    let only = made.part(few, "list", 64, key("only"));
    made.part(only, "bytes", LARGE / 2, Step::Index(0));
    // A linked list: of a thousand objects no one is better than the first.
    let mut at = made.global(train, "HEAD", "train.Link", 50);
    for _ in 0..1000 {
        made.part(at, "bytes", 20, attribute("value"));
        at = made.part(at, "train.Link", 50, attribute("next"));
    }
    // Three large things are too few for a fan.
    let three = made.global(train, "three", "train.Model", 50);
    for name in ["a", "b", "c"] {
        made.part(three, "bytes", LARGE / 12, attribute(name));
    }
    let expected = [
        "train.BLOB",
        "train.HEAD",
        "train.FEW[\"only\"]",
        "train.three",
    ];
    assert_eq!(made.names(), expected);
}

/// Each in a record of its own.
/// As an optimizer has a state of its own by parameters that its list of them has, too.
/// What it keeps is its code.
#[test]
fn a_function_that_remembers_nothing_is_no_holder() {
    let mut made = Made::default();
    let train = made.module("train", true);
    let cache = made.global(train, "asked", "functools._lru_cache_wrapper", 200);
    let function = made.part(cache, "function", 150, attribute("__wrapped__"));
    made.part(function, "code", LARGE, Step::Referent);
    assert!(made.names().is_empty(), "{:?}", made.names());
    made.fill(cache, 20, "bytes", LARGE);
    assert_eq!(made.names(), ["lru_cache of train.asked"]);
}

/// As callbacks refer to their trainer, which two functions have.
/// What is held twice may have lists that hold the same.
/// Whatever it is made of: of such a chain no list is better than the first.
#[test]
fn a_linked_list_of_lists_is_told_by_its_beginning() {
    let mut made = Made::default();
    let train = made.module("train", true);
    let mut at = made.global(train, "HEAD", "list", 50);
    for _ in 0..1000 {
        made.part(at, "bytes", 20, Step::Index(0));
        at = made.part(at, "list", 50, Step::Index(1));
    }
    assert_eq!(made.names(), ["train.HEAD"]);
}

#[test]
fn a_record_in_an_object_is_no_container() {
    let mut made = Made::default();
    let train = made.module("train", true);
    let model = made.global(train, "model", "train.Model", 50);
    made.part(model, "bytes", LARGE, attribute("weights"));
    let extra = made.part(model, "dict", 200, attribute("extra"));
    for name in ["a", "b", "c"] {
        made.part(extra, "bytes", LARGE / 3, key(name));
    }
    assert_eq!(made.names(), ["train.model"]);
}

/// A type and what it defines refer to each other, and C has those that it made.
#[test]
fn a_type_that_nobody_leads_to_is_no_garbage() {
    let mut made = Made::default();
    let class = made.node("type", 400);
    let names = made.part(class, "dict", 200, Step::Names);
    let method = made.part(names, "method_descriptor", LARGE, key("append"));
    made.link(method, class, Step::Referent);
    let names = made.names();
    assert!(
        names.contains(&"held by C or C++ code".to_owned()),
        "{names:?}"
    );
    assert!(
        !names.iter().any(|name| name.contains("cycles")),
        "{names:?}"
    );
}

#[test]
fn locals_closures_defaults_and_classes_have_their_words() {
    let mut made = Made::default();
    let main = made.frame("main");
    let seen = made.part(main, "list", 4000, Step::Local("seen".to_owned()));
    made.fill(seen, 10, "bytes", LARGE);

    let train = made.module("train", true);
    let add = made.global(train, "add", "function", 144);
    let closure = made.part(add, "tuple", 48, Step::Closure);
    let cell = made.part(closure, "cell", 40, Step::Closed("rows".to_owned()));
    let rows = made.part(cell, "list", 3000, Step::Content);
    made.fill(rows, 10, "bytes", LARGE);

    let note = made.global(train, "note", "function", 144);
    let defaults = made.part(note, "tuple", 48, Step::Defaults);
    let kept = made.part(defaults, "list", 2000, Step::Default("kept".to_owned()));
    made.fill(kept, 10, "bytes", LARGE);

    let class = made.global(train, "Cache", "type", 1000);
    let names = made.part(class, "dict", 300, Step::Names);
    let store = made.part(names, "dict", 1000, key("store"));
    made.fill(store, 10, "bytes", LARGE);
    let expected = [
        "seen in main() train.py:41",
        "rows in the closure of train.add",
        "default of kept in train.note",
        "train.Cache.store",
    ];
    assert_eq!(made.names(), expected);
}

#[test]
fn a_name_in_a_module_is_better_than_a_local_and_than_a_librarys() {
    let mut made = Made::default();
    let main = made.frame("main");
    let logging = made.module("logging", false);
    let train = made.module("train", true);
    let list = cache(&mut made, train);
    made.link(main, list, Step::Local("cache".to_owned()));
    made.link(logging, list, key("found"));
    assert_eq!(made.names(), ["train.CACHE"]);
    // And a local is better than a library's, or what a class of one leads to.
    let other = made.part(logging, "list", 1000, key("registry"));
    made.fill(other, 10, "bytes", LARGE);
    made.link(main, other, Step::Local("mine".to_owned()));
    assert_eq!(made.names()[1], "mine in main() train.py:41");
}

#[test]
fn what_nobody_leads_to_is_held_by_c_or_in_a_circle() {
    let mut made = Made::default();
    made.module("train", true);
    let list = made.node("list", 1000);
    made.fill(list, 20, "bytes", LARGE);
    let (one, other) = (made.node("train.Node", 50), made.node("train.Node", 50));
    made.link(one, other, attribute("other"));
    made.link(other, one, attribute("other"));
    made.part(one, "bytes", 3 * LARGE, attribute("value"));
    let found = made.found();
    assert_eq!(found.unreached.objects, 1 + 20 + 3);
    assert_eq!(found.unreached.bytes, 1000 + 20 * LARGE + 100 + 3 * LARGE);
    let names: Vec<_> = (found.holders.iter())
        .map(|spotted| spotted.holder.name.as_str())
        .collect();
    let expected = [
        "list, held by C or C++ code",
        "held by C or C++ code",
        "train.Node, in cycles that nobody holds",
        "in cycles that nobody holds",
    ];
    assert_eq!(names, expected);
}

#[test]
fn a_users_small_list_comes_before_a_librarys_larger_tables() {
    let mut made = Made::default();
    let library = made.module("library", false);
    for nth in 0..2 * MOST {
        let table = made.global(library, &format!("table{nth}"), "dict", 1000);
        made.fill(table, 10, "str", LARGE);
    }
    let train = made.module("train", true);
    let list = made.global(train, "rows", "list", 1000);
    made.fill(list, 10, "bytes", LARGE / 5);
    let names = made.names();
    assert_eq!(names.len(), MOST);
    assert_eq!(names.last().unwrap(), "train.rows");
}

#[test]
fn parts_of_a_torch_module_are_its_attributes() {
    let mut made = Made::default();
    let train = made.module("train", true);
    let model = made.global(train, "model", "train.Model", 48);
    let modules = made.part(model, "dict", 200, attribute("_modules"));
    let layers = made.part(modules, "torch.nn.ModuleList", 48, key("layers"));
    let inner = made.part(layers, "dict", 200, attribute("_modules"));
    for nth in 0..12 {
        made.part(inner, "torch.Tensor", LARGE, key(&nth.to_string()));
    }
    assert_eq!(made.names(), ["Model.layers of train.model"]);
}

#[test]
fn a_way_without_end_is_told_by_both_of_its_ends() {
    let mut made = Made::default();
    let train = made.module("train", true);
    let mut at = made.global(train, "HEAD", "train.Link", 50);
    for _ in 0..5000 {
        at = made.part(at, "train.Link", 50, attribute("next"));
    }
    let rows = made.part(at, "list", 1000, attribute("rows"));
    made.fill(rows, 20, "bytes", LARGE);
    let found = made.found();
    let holder = &found.holders[0].holder;
    assert!(holder.path.len() < 40, "{}", holder.path.len());
    assert!(holder.name.ends_with(".next") && holder.name.starts_with("Link.rows of train.HEAD"));
    assert!(
        holder.path.contains(&"...4971 more...".to_owned()),
        "{:?}",
        holder.path
    );
}

#[test]
fn an_empty_graph_has_no_holders() {
    assert_eq!(Made::default().found().holders, []);
}

/// `total = total + loss`: one number, which keeps a step more with each step of the training.
#[test]
fn a_tensor_that_keeps_a_graph_is_a_holder_and_its_steps_are_told() {
    let mut made = Made::default();
    let train = made.module("train", true);
    let trainer = made.global(train, "trainer", "train.Trainer", 48);
    let names = made.part(trainer, "dict", 200, Step::Names);
    made.part(names, "bytearray", LARGE, key("weights"));
    let total = made.part(names, "torch.Tensor", 80, key("total"));
    let mut at = made.part(total, "TensorImpl", 200, Step::Referent);
    for _ in 0..100 {
        at = made.part(at, "autograd AddBackward0", 500, Step::Referent);
        made.part(at, "autograd MulBackward0", 400, Step::Referent);
    }
    let found = made.found();
    let holder = found.holders.iter().map(|spotted| &spotted.holder);
    let mut holder = holder.filter(|holder| holder.kind == "torch.Tensor");
    let holder = holder.next().unwrap_or_else(|| panic!("{found:#?}"));
    assert_eq!(holder.name, "Trainer.total of train.trainer");
    let steps = HeldGroup {
        name: "autograd step".to_owned(),
        count: 200,
        bytes: Bytes(100 * 900),
    };
    assert_eq!(holder.of[0], steps);
}

/// A list that is in itself, and that nobody has, waits for the collector: C does not hold it.
#[test]
fn a_list_in_itself_is_a_circle() {
    let mut made = Made::default();
    made.module("train", true);
    let list = made.node("list", LARGE);
    made.link(list, list, Step::Index(0));
    let found = made.found();
    let names: Vec<&str> = (found.holders.iter())
        .map(|spotted| spotted.holder.name.as_str())
        .collect();
    assert!(
        names.iter().all(|name| name.contains("in cycles")),
        "{names:?}"
    );
    assert!(!names.is_empty());
}
