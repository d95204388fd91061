//! Real trees: who is in, who plays which role, and what they hold together.

mod common;

use std::process::Command;

use common::{Eye, Job};
use lowtide_core::process::Role;
use lowtide_core::sample::Basis;
use lowtide_core::units::Share;
use lowtide_sys::sampler::Options;

const MB: u64 = 1_000_000;

#[test]
fn the_trainer_below_a_shell_is_the_one_to_watch() {
    let mut job = Job::start(Command::new("sh").args([
        "-c",
        "python3 -c \"print('ready', flush=True); input()\"; echo",
    ]));
    job.until("ready");
    let mut eye = Eye::on(Options::new(vec![job.pid()]));
    eye.tick();
    let watched = eye.sampler.watched().unwrap();
    assert_eq!(watched.role, Role::Trainer);
    assert_ne!(watched.id.pid, job.pid());
    let shell = eye
        .sampler
        .members()
        .find(|m| m.id.pid == job.pid())
        .unwrap();
    assert_eq!(shell.role, Role::Launcher);
    let reading = eye
        .sample
        .readings
        .iter()
        .find(|r| r.id == watched.id)
        .unwrap();
    assert!(reading.anon.0 > MB && reading.peak >= reading.anon && reading.fds.is_some());
    assert!(eye.sample.limit.is_some() && eye.sample.node.total.0 > 0);
}

/// Workers forked from a parent with a list of small objects; they then read it, which writes
/// reference counts and so copies every page.
const COPY_ON_READ: &str = "
import ctypes, os
data = [str(i) * 3 for i in range(1_000_000)]
pipes = []
for _ in range(2):
    r, w = os.pipe()
    back, said = os.pipe()
    if os.fork() == 0:
        ctypes.CDLL(None).prctl(1, 9)  # end with the parent
        os.read(r, 1)
        for x in data: y = x
        os.write(said, b'x')
        os.read(r, 1)
        os._exit(0)
    pipes.append((w, back))
print('forked', flush=True)
input()
for w, back in pipes:
    os.write(w, b'x'); os.read(back, 1)
print('read', flush=True)
input()
";

#[test]
fn copies_made_by_reading_raise_the_sum_and_not_the_resident_size() {
    // With careful looks, and without any: by faults alone.
    for budget in [Share(1.0), Share(0.0)] {
        let mut job = Job::python(COPY_ON_READ);
        job.until("forked");
        let mut options = Options::new(vec![job.pid()]);
        options.budget = budget;
        let mut eye = Eye::on(options);
        let settled = |basis: Basis| match basis {
            Basis::Pss { unread, .. } => budget.0 == 0.0 || unread == 0,
            _ => false,
        };
        eye.until("all read", |_, sample| settled(sample.tree.basis));
        let (before, rss_before) = (eye.sample.tree.held.0, rss(&eye));
        // Numbers of processes begin anew some time: the parent's need not be the lowest.
        let mut readings = eye.sample.readings.iter();
        let parent = readings.find(|r| r.id.pid == job.pid()).unwrap().anon.0;
        assert!(
            before < parent * 3 / 2,
            "{before} of {parent}: shared pages were counted twice"
        );
        let others = eye.sampler.members().filter(|m| m.id.pid != job.pid());
        let workers: Vec<Role> = others.map(|m| m.role).collect();
        assert_eq!(workers, [Role::LoaderWorker, Role::LoaderWorker]);

        job.tell();
        job.until("read");
        eye.until("the sum rises", |_, sample| {
            sample.tree.held.0 > before + parent
        });
        assert!(
            rss(&eye) < rss_before + 20 * MB,
            "resident size has hardly moved"
        );
        assert_eq!(eye.sampler.watched().unwrap().id.pid, job.pid());
    }
}

fn rss(eye: &Eye) -> u64 {
    eye.sample
        .readings
        .iter()
        .map(|reading| reading.rss().0)
        .sum()
}

#[test]
fn a_mapped_file_raises_no_anonymous_memory() {
    let mut job = Job::python(
        "
import mmap, tempfile
f = tempfile.TemporaryFile()
f.truncate(100 << 20)
m = mmap.mmap(f.fileno(), 100 << 20, prot=mmap.PROT_READ)
print('ready', flush=True); input()
s = sum(m[i] for i in range(0, len(m), 4096))
print('touched', flush=True); input()
",
    );
    job.until("ready");
    let mut eye = Eye::on(Options::new(vec![job.pid()]));
    let before = eye.tick().readings[0];
    let held = eye.sample.tree.held.0;
    job.tell();
    job.until("touched");
    let after = eye.tick().readings[0];
    let mapped = |r: &lowtide_core::sample::Reading| r.file.0 + r.shmem.0;
    assert!(mapped(&after) > mapped(&before) + 90 * MB);
    assert!(after.anon.0 < before.anon.0 + 5 * MB);
    if after.shmem == before.shmem {
        assert!(eye.sample.tree.held.0 < held + 5 * MB);
    }
}
