//! Odd and hostile moments: a process that vanishes, one that may not be read, a name like a trap.

mod common;

use std::process::Command;

use common::{Eye, Job};
use lowtide_core::sample::{Basis, GapWhy};
use lowtide_sys::Error;
use lowtide_sys::sampler::{Change, Options, Sampler};
use lowtide_testing::Starts;

#[test]
fn a_tree_that_ends_is_over_and_no_error() {
    let mut job = Job::python("print('ready', flush=True); input()");
    job.until("ready");
    let mut eye = Eye::on(Options::new(vec![job.pid()]));
    eye.tick();
    assert!(!eye.sampler.is_over());
    let id = eye.sample.readings[0].id;
    job.tell();
    eye.until("its end", |sampler, _| sampler.is_over());
    assert!(eye.changes.contains(&Change::Left(id)));
    assert!(eye.sample.readings.is_empty());
}

#[test]
fn a_pid_that_does_not_exist_is_named() {
    // Above the kernel's largest pid.
    let error = Sampler::new(Options::new(vec![4_194_305])).err().unwrap();
    assert!(matches!(error, Error::NoSuchProcess { pid: 4_194_305 }));
    assert_eq!(error.to_string(), "there is no process 4194305");
}

#[test]
fn a_name_may_hold_parentheses_and_spaces() {
    let mut job = Job::python(
        "open('/proc/self/comm', 'w').write('a) R 1 (b'); print('ready', flush=True); input()",
    );
    job.until("ready");
    let mut eye = Eye::on(Options::new(vec![job.pid()]));
    eye.tick();
    assert_eq!(eye.sampler.watched().unwrap().facts.comm, "a) R 1 (b");
    assert!(eye.sample.readings[0].anon.0 > 0);
}

#[test]
fn another_program_in_the_same_process_is_noticed() {
    let mut job = Job::start(Command::new("sh").args([
        "-c",
        "echo ready; read x; exec python3 -c \"print('python', flush=True); input()\"",
    ]));
    job.until("ready");
    let mut eye = Eye::on(Options::new(vec![job.pid()]));
    eye.tick();
    assert_eq!(eye.sampler.watched().unwrap().role.name(), "launcher");
    job.tell();
    job.until("python");
    eye.tick();
    let watched = eye.sampler.watched().unwrap();
    assert_eq!(
        (watched.id.pid, watched.role.name()),
        (job.pid(), "trainer")
    );
}

#[test]
fn a_double_fork_with_a_new_session_stays_in_the_tree() {
    let mut job = Job::python(
        "
import ctypes, os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        time.sleep(1000)
    time.sleep(1000)
print('ready', flush=True); input()
",
    );
    job.until("ready");
    let mut eye = Eye::on(Options::new(vec![job.pid()]));
    eye.until("all three", |_, sample| sample.readings.len() == 3);
    let middle = eye
        .sample
        .readings
        .iter()
        .map(|r| r.id)
        .find(|id| eye.sampler.members().any(|m| m.parent == Some(*id)) && id.pid != job.pid());
    let kill = |pid: u32| {
        let target = rustix::process::Pid::from_raw(pid as i32).unwrap();
        rustix::process::kill_process(target, rustix::process::Signal::KILL).unwrap();
    };
    kill(middle.unwrap().pid);
    eye.until("the middle one leaves", |_, sample| {
        sample.readings.len() == 2
    });
    let orphan = eye
        .sample
        .readings
        .iter()
        .map(|r| r.id.pid)
        .find(|pid| *pid != job.pid());
    eye.tick();
    assert_eq!(eye.sample.readings.len(), 2, "the orphan is still ours");
    kill(orphan.unwrap());
}

#[test]
fn an_orphan_from_before_we_came_joins_by_its_session() {
    let mut job = Job::python(
        "
import os, time
if os.getsid(0) != os.getpid():
    os.setsid()
if os.fork() == 0:
    orphan = os.fork()
    if orphan == 0:
        time.sleep(1000)
    print(orphan, flush=True)
    os._exit(0)
os.wait()
print('ready', flush=True); input()
",
    );
    let orphan: u32 = job.until("ready").parse().unwrap();
    let mut eye = Eye::on(Options::new(vec![job.pid()]));
    eye.tick();
    let pids: Vec<u32> = eye.sample.readings.iter().map(|r| r.id.pid).collect();
    assert_eq!(pids.len(), 2, "{pids:?}");
    assert!(pids.contains(&orphan) && pids.contains(&job.pid()));
    let orphan = rustix::process::Pid::from_raw(orphan as i32).unwrap();
    rustix::process::kill_process(orphan, rustix::process::Signal::KILL).unwrap();
}

/// Looks at a process as another user would: the test starts itself again without rights.
#[test]
fn without_rights_the_counters_are_read_and_the_rest_is_a_gap() {
    use std::os::unix::process::CommandExt;
    const PID: &str = "LOWTIDE_TEST_LOOK_AT";
    if let Ok(pid) = std::env::var(PID) {
        let mut eye = Eye::on(Options::new(vec![pid.parse().unwrap()]));
        eye.tick();
        let reading = eye.sample.readings[0];
        assert!(reading.anon.0 > 0 && reading.minor_faults > 0);
        assert_eq!((reading.pss, reading.fds), (None, None));
        let gap = eye
            .sample
            .gaps
            .iter()
            .find(|gap| gap.what == "smaps_rollup")
            .unwrap();
        assert_eq!((gap.who, gap.why), (Some(reading.id), GapWhy::Denied));
        assert_eq!(eye.sample.tree.held, reading.held());
        assert_eq!(eye.sample.tree.basis, Basis::Counters);
        assert!(eye.tick().gaps.is_empty(), "told once");
        return;
    }
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let mut job = Job::python("print('ready', flush=True); input()");
    job.until("ready");
    // A copy that the other user may run.
    let directory = tempfile::tempdir().unwrap();
    let copy = directory.path().join("odd");
    lowtide_testing::copy_program(std::env::current_exe().unwrap(), &copy);
    let open = |path: &std::path::Path| {
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(path, mode).unwrap();
    };
    open(directory.path());
    open(&copy);
    let output = Command::new(&copy)
        .args([
            "--exact",
            "without_rights_the_counters_are_read_and_the_rest_is_a_gap",
        ])
        .env(PID, job.pid().to_string())
        .current_dir("/")
        .uid(65534)
        .gid(65534)
        .finish();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stdout)
    );
}
