//! Python: its small objects, shared memory, files, threads.

use std::path::PathBuf;
use std::process::Command;

use lowtide_core::look::{MemoryClass, PythonVersion};
use lowtide_testing::Starts;

use crate::job::Job;
use crate::{held, layout, look_into, near, parts, sum};

/// Keeps small objects of many sizes, frees a third, and says what pymalloc says of itself.
const OBJECTS: &str = r#"
import os, sys
kept = [object() for _ in range(200_000)]
texts = [f"record {i} " + "x" * (i % 400) for i in range(100_000)]
del texts[::3]
large = [bytearray(5_000) for _ in range(1_000)]
own = [bytearray(b"x") * 40_000_000]
# The statistics go to stderr: catch them in a file, then read them.
path = sys.argv[1]
saved = os.dup(2)
os.dup2(os.open(path, os.O_CREAT | os.O_RDWR | os.O_TRUNC), 2)
sys._debugmallocstats()
os.dup2(saved, 2)
print("ready", flush=True)
input()
"#;

fn pymalloc_is_read(python: &str) {
    let folder = tempfile::tempdir().unwrap();
    let stats = folder.path().join("stats");
    let mut command = Command::new(python);
    let mut job = Job::start(command.args(["-c", OBJECTS]).arg(&stats));
    job.until("ready");
    let look = look_into(&job);
    let stats = std::fs::read_to_string(stats).unwrap();
    let line = stats
        .lines()
        .find(|line| line.contains("bytes in allocated blocks"));
    let truth: f64 = line
        .and_then(|line| line.rsplit('=').next())
        .and_then(|text| text.trim().replace(',', "").parse().ok())
        .unwrap_or_else(|| panic!("{stats}"));
    let found = look.bytes(MemoryClass::PythonLive).as_f64();
    assert!(
        near(found, truth, 0.02),
        "{python}: found {found}, pymalloc says {truth}\n{look:#?}"
    );
    // A third of the texts is free but held.
    assert!(
        look.bytes(MemoryClass::PythonSlack).as_f64() > 0.05 * truth,
        "{look:#?}"
    );
    assert!(
        near(look.bytes(MemoryClass::GlibcMapped).as_f64(), 40e6, 0.1),
        "{look:#?}"
    );
    assert!(near(sum(&look), held(&look), 0.02), "{look:#?}");
    assert!(look.missing.is_empty(), "{:?}", look.missing);
}

#[test]
fn pymalloc_agrees_with_the_interpreter() {
    pymalloc_is_read("python3");
}

#[test]
fn pymalloc_agrees_with_other_interpreters() {
    for python in interpreters() {
        let newer = "import sys; sys.exit(sys.version_info < (3, 9))";
        let status = Command::new(&python).args(["-c", newer]).ends();
        if status.success() {
            pymalloc_is_read(&python.to_string_lossy());
        }
    }
}

/// From 3.11 on the interpreter's file says all of it; before, only the name of the file tells.
#[test]
fn the_version_is_that_of_the_interpreter() {
    for python in interpreters() {
        let code = "
import sys
print(*sys.version_info[:3]); print('ready'); sys.stdout.flush(); sys.stdin.readline()
";
        let mut job = Job::start(Command::new(&python).args(["-c", code]));
        let told = job.until("ready");
        let told: Vec<u32> = told.split(' ').map(|word| word.parse().unwrap()).collect();
        let version = layout(&look_into(&job)).python;
        match told[..] {
            [3, minor, micro] => assert_eq!(
                version,
                Some(PythonVersion {
                    minor,
                    micro: (minor >= 11).then_some(micro)
                }),
                "{python:?}"
            ),
            _ => assert_eq!(version, None, "{python:?}"),
        }
    }
}

/// Every interpreter that pyenv has, and the system's.
fn interpreters() -> Vec<PathBuf> {
    let versions = std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".pyenv/versions"));
    let mut found: Vec<PathBuf> = vec!["/usr/bin/python3".into()];
    for entry in versions
        .and_then(|folder| std::fs::read_dir(folder).ok())
        .into_iter()
        .flatten()
    {
        found.extend(entry.map(|entry| entry.path().join("bin/python3")));
    }
    found.retain(|python| python.is_file());
    found
}

#[test]
fn shared_memory_and_files_are_never_the_heaps() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let file = folder.path().join("train.arrow");
    std::fs::write(&file, vec![7; 30_000_000]).unwrap();
    let code = r#"
import mmap, os, sys
from multiprocessing import shared_memory
print("before", flush=True); input()
block = shared_memory.SharedMemory(create=True, size=20_000_000)
block.buf[:] = b"x" * len(block.buf)
anonymous = mmap.mmap(-1, 10_000_000); anonymous[:] = b"y" * 10_000_000
fd = os.memfd_create("pinned"); os.ftruncate(fd, 5_000_000)
memory = mmap.mmap(fd, 5_000_000); memory[:] = b"z" * 5_000_000
file = open(sys.argv[1], "rb")
clean = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ); total = sum(clean[::4096])
dirty = mmap.mmap(file.fileno(), 0, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ | mmap.PROT_WRITE)
for at in range(0, 8_000_000, 4096): dirty[at] = 1
print("after", flush=True); input()
block.close(); block.unlink()
print("end", flush=True); input()
"#;
    let mut job = Job::start(Command::new("python3").args(["-c", code]).arg(&file));
    job.until("before");
    let before = look_into(&job);
    job.tell();
    job.until("after");
    let after = look_into(&job);
    job.tell();
    job.until("end");
    let grew = |kind: MemoryClass| after.bytes(kind).as_f64() - before.bytes(kind).as_f64();
    assert!(near(grew(MemoryClass::Shared), 35e6, 0.02), "{after:#?}");
    assert!(near(grew(MemoryClass::FileDirty), 8e6, 0.02), "{after:#?}");
    assert!(near(grew(MemoryClass::FileClean), 30e6, 0.2), "{after:#?}");
    // The interpreter imports modules meanwhile, and makes copies that it frees.
    for kind in [
        MemoryClass::PythonLive,
        MemoryClass::GlibcLive,
        MemoryClass::GlibcMapped,
        MemoryClass::OtherAnon,
    ] {
        assert!(grew(kind) < 4e6, "{kind}\n{after:#?}");
    }
    let names: Vec<&str> = parts(&after)
        .iter()
        .filter(|part| part.class == Some(MemoryClass::Shared))
        .flat_map(|part| part.members.iter().map(|member| member.name.as_str()))
        .collect();
    assert_eq!(names, ["/dev/shm/psm_*", "/dev/zero", "/memfd:pinned"]);
}

#[test]
fn threads_have_stacks() {
    let mut job = Job::python(
        "
import threading
def deep(n): return deep(n - 1) if n else (ready.wait(), go.wait())
ready, go = threading.Barrier(9), threading.Event()
threads = [threading.Thread(target=deep, args=(200,), daemon=True) for _ in range(8)]
for thread in threads: thread.start()
ready.wait()
print('ready', flush=True); input()
",
    );
    job.until("ready");
    let look = look_into(&job);
    assert_eq!(layout(&look).counts.threads, 9);
    let stacks = look.bytes(MemoryClass::Stack).as_f64();
    assert!((9.0 * 8192.0..8e6).contains(&stacks), "{look:#?}");
    assert!(near(sum(&look), held(&look), 0.02), "{look:#?}");
}
