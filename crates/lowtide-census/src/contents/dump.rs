//! Contents of a process as JSON, so that they can be compared with what the process says of itself
//! (`tests/python/test_census_contents.py`).

use std::fmt::Write as _;
use std::io::{self, Write};

use lowtide_core::process::ProcId;
use lowtide_sys::memory::{Deadline, Live, Mappings};
use lowtide_sys::proc::Proc;
use lowtide_sys::sampler::processor_time;

use super::{Contents, autograd};
use crate::graph::walk;
use crate::interpreter::Interpreter;
use crate::object::Heap;
use crate::refusal::Refusal;
use crate::source::Whole;

pub fn dump(proc: &Proc, id: ProcId, out: &mut impl Write) -> Result<io::Result<()>, Refusal> {
    let memory = Live::open(proc, id.pid, Deadline::none())
        .map_err(|errno| Refusal::of(errno, "/proc/PID/pagemap"))?;
    let interpreter = Interpreter::find(proc, id.pid, &memory)?;
    let mappings = Mappings::without_sizes(proc, id.pid, Deadline::none())
        .map_err(|errno| Refusal::of(errno, "/proc/PID/maps"))?;
    let whole = Whole::new(&memory, &mappings);
    let heap = Heap::new(&whole, interpreter.layout);
    let (graph, _) = walk(&memory, &whole, &heap, &interpreter);
    let classes: Vec<_> = graph
        .kinds
        .iter()
        .map(|kind| heap.class(kind.address))
        .collect();
    let objects = graph.nodes.iter().filter_map(|node| {
        let class = classes.get(node.kind as usize)?.as_deref()?;
        Some((node.address, class))
    });
    let began = processor_time();
    let contents = Contents::read(&heap, &memory, &mappings, objects);
    let took = processor_time().since(began);
    Ok(out.write_all(json(&contents, took.0).as_bytes()))
}

fn json(contents: &Contents, took: u64) -> String {
    let mut text = String::new();
    // A text never fails to grow.
    let _ = write!(
        text,
        "{{\"micros\": {took}, \"layout\": {:?}",
        format!("{:?}", contents.layout)
    );
    let missed = &contents.missed;
    let _ = write!(
        text,
        ", \"missed\": {{\"tensors\": {}, \"storages\": {}, \"arrays\": {}, \"images\": {}, \"buffers\": {}}}, \
         \"searched\": {}, \"is_cut\": {}",
        missed.tensors,
        missed.storages,
        missed.arrays,
        missed.images,
        missed.buffers,
        missed.searched,
        missed.is_cut
    );
    let groups = contents.groups().into_iter().map(|group| {
        format!(
            "{{\"name\": {:?}, \"count\": {}, \"bytes\": {}, \"elsewhere\": {}, \"requires_grad\": {}, \
             \"in_graph\": {}, \"only_in_cpp\": {}}}",
            group.name,
            group.count,
            group.bytes,
            group.elsewhere,
            group.requires_grad,
            group.in_graph,
            group.only_in_cpp
        )
    });
    list(&mut text, "groups", groups);
    let tensors = contents.tensors.iter().map(|tensor| {
        format!(
            "{{\"object\": {}, \"address\": {}, \"name\": {:?}, \"storage\": {}, \"offset\": {}, \
             \"requires_grad\": {}, \"step\": {}}}",
            tensor.object,
            tensor.address,
            contents.tensor_name(tensor),
            tensor.storage,
            tensor.offset,
            tensor.requires_grad,
            tensor.step
        )
    });
    list(&mut text, "tensors", tensors);
    let storages = contents.storages.iter().map(|storage| {
        format!(
            "{{\"address\": {}, \"data\": {}, \"bytes\": {}, \"device\": \"{}\", \"place\": \"{:?}\", \"owner\": {}}}",
            storage.address, storage.data, storage.bytes, storage.device, storage.place, storage.owner
        )
    });
    list(&mut text, "storages", storages);
    let arrays = contents.arrays.iter().map(|array| {
        format!(
            "{{\"object\": {}, \"name\": {:?}, \"data\": {}, \"bytes\": {}, \"owns\": {}, \"base\": {}}}",
            array.object,
            contents.name(array.object).unwrap_or_default(),
            array.data,
            array.bytes,
            array.owns_data,
            array.base
        )
    });
    list(&mut text, "arrays", arrays);
    let images = contents.images.iter().map(|image| {
        let name = contents.name(image.object).unwrap_or_default();
        format!(
            "{{\"object\": {}, \"name\": {name:?}, \"pixels\": {}}}",
            image.object, image.pixels
        )
    });
    list(&mut text, "images", images);
    let buffers = contents.buffers.iter();
    let buffers = buffers.map(|one| {
        format!(
            "{{\"object\": {}, \"data\": {}, \"bytes\": {}}}",
            one.object, one.data, one.bytes
        )
    });
    list(&mut text, "buffers", buffers);
    let counts = autograd::by_name(&contents.nodes).into_iter();
    let counts = counts.map(|(name, count)| format!("[{name:?}, {count}]"));
    list(&mut text, "nodes", counts);
    let edges = contents
        .edges
        .iter()
        .map(|(from, to)| format!("[{from}, {to}]"));
    list(&mut text, "edges", edges);
    text.push_str("}\n");
    text
}

fn list(text: &mut String, name: &str, rows: impl Iterator<Item = String>) {
    let rows: Vec<String> = rows.collect();
    let _ = write!(text, ", \"{name}\": [{}]", rows.join(", "));
}
