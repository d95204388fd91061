//! Real processes that are hard to read: no Python, one that ends or becomes another program in the midst, one of somebody
//! else, one whose files are gone. Whatever they do, the answer is right or none, and comes at once.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use lowtide_census::{Follower, Now, Refusal};
use lowtide_core::inside::seen::Inside;
use lowtide_core::process::ProcId;
use lowtide_sys::proc::Proc;
use lowtide_testing::{PATIENCE, Started, Starts};

const NOBODY: u32 = 65534;
/// Names the process that the test looks at when it runs as somebody else.
const PID: &str = "CENSUS_LOOKS_AT";

/// The stand-in for a Trainer.
struct Job {
    child: Started,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Job {
    fn python(first: &str) -> Job {
        Job::start(Command::new("python3").args([&standin(), first]))
    }

    fn start(command: &mut Command) -> Job {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).start();
        let input = child.stdin.take().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let mut job = Job {
            child,
            input,
            output,
        };
        job.until_ready();
        job
    }

    fn until_ready(&mut self) {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n");
    }

    fn tell(&mut self, line: &str) {
        writeln!(self.input, "{line}").unwrap();
    }

    fn step(&mut self) {
        self.tell("");
        self.until_ready();
    }

    fn pid(&self) -> u32 {
        self.child.id()
    }
}

fn standin() -> String {
    format!("{}/tests/standin.py", env!("CARGO_MANIFEST_DIR"))
}

fn open(pid: u32) -> Result<Follower, Refusal> {
    Follower::open(Proc::at("/proc").unwrap(), ProcId { pid, start: 0 })
}

fn refused(pid: u32) -> Refusal {
    open(pid).err().expect("nothing to read there")
}

fn searched(pid: u32) -> Follower {
    let mut follower = open(pid).unwrap();
    let searched = follower.search(PATIENCE).unwrap();
    assert!(searched.found && !searched.is_cut, "{searched:?}");
    follower
}

fn step(follower: &Follower) -> Option<u64> {
    let now = follower.read().unwrap();
    now.inside.trainers.first().map(|trainer| trainer.step)
}

/// Steps are followed, which shows that the tests below would see something.
fn is_followed(job: &mut Job) {
    let follower = searched(job.pid());
    let before = step(&follower).unwrap();
    job.step();
    assert_eq!(step(&follower), Some(before + 1));
    assert!(follower.read().unwrap().counts.unwrap().objects > 100);
}

#[test]
fn a_job_is_followed() {
    let mut job = Job::python("");
    is_followed(&mut job);
    let now = searched(job.pid()).read().unwrap();
    let trainer = &now.inside.trainers[0];
    assert_eq!((trainer.max_steps, trainer.batch), (1000, Some(8)));
    assert_eq!((trainer.accumulate, trainer.epochs), (Some(2), Some(2.0)));
}

#[test]
fn a_program_that_is_no_python() {
    let sleeps = Command::new("sleep").arg("600").start();
    // Between fork and exec it is still a copy of this test.
    lowtide_testing::until("sleep to begin", || {
        let name = std::fs::read_to_string(format!("/proc/{}/comm", sleeps.id())).ok()?;
        (name == "sleep\n").then_some(())
    });
    assert_eq!(refused(sleeps.id()), Refusal::NotPython);
}

#[test]
fn one_that_has_ended() {
    let mut job = Job::python("");
    let pid = job.pid();
    let mut follower = searched(pid);
    job.child.kill().unwrap();
    // Killed and not waited for: its entry in /proc is there, its memory is not.
    lowtide_testing::until("its end", || {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        stat.contains(") Z").then_some(())
    });
    let began = Instant::now();
    assert_eq!(follower.read(), Err(Refusal::Gone));
    match follower.search(PATIENCE) {
        Ok(searched) => assert!(!searched.found && searched.objects == 0, "{searched:?}"),
        Err(why) => assert_eq!(why, Refusal::Gone),
    }
    assert_eq!(refused(pid), Refusal::Gone);
    drop(job);
    assert_eq!(follower.read(), Err(Refusal::Gone));
    assert_eq!(follower.search(PATIENCE).unwrap_err(), Refusal::Gone);
    assert_eq!(refused(pid), Refusal::Gone);
    assert!(began.elapsed() < PATIENCE / 4, "{:?}", began.elapsed());
}

/// While somebody goes over its objects without a pause.
#[test]
fn one_that_ends_while_it_is_searched() {
    let mut job = Job::python("kept = [[n] for n in range(200_000)]");
    let mut follower = searched(job.pid());
    let killer = std::thread::spawn({
        let mut child = Command::new("sh")
            .args(["-c", &format!("sleep 0.1; kill -9 {}", job.pid())])
            .start();
        move || child.wait().unwrap()
    });
    let began = Instant::now();
    let last = loop {
        let searched = follower.search(PATIENCE);
        match (&searched, follower.read()) {
            (_, Err(why)) => break why,
            (Err(why), _) => break why.clone(),
            // Whatever a pass found in the midst of the end, the numbers are those of the job.
            (Ok(_), Ok(now)) => now.inside.trainers.iter().for_each(|one| {
                assert_eq!((one.step, one.max_steps), (0, 1000));
            }),
        }
        assert!(began.elapsed() < PATIENCE);
    };
    assert_eq!(last, Refusal::Gone);
    killer.join().unwrap();
    job.child.wait().unwrap();
}

#[test]
fn one_that_becomes_another_program() {
    let mut job = Job::python("");
    let mut follower = searched(job.pid());
    job.tell("import os; os.execvp('sleep', ['sleep', '600'])");
    lowtide_testing::until("another program", || {
        let name = std::fs::read_to_string(format!("/proc/{}/comm", job.pid())).ok()?;
        (name == "sleep\n").then_some(())
    });
    // It was read before, and is not any more: nothing of it stands where it stood.
    let nothing = |now: &Now| {
        // Clocks that are known, and of which none stands where it stood.
        let clocks = Inside {
            clocks: now
                .inside
                .clocks
                .as_ref()
                .filter(|one| !one.is_empty())
                .cloned(),
            ..now.inside.clone()
        };
        now.counts.is_none() && clocks == Inside::default()
    };
    match follower.read() {
        Ok(now) => assert!(nothing(&now), "{now:?}"),
        Err(why) => assert_eq!(why, Refusal::Gone),
    }
    assert!(
        !follower
            .search(PATIENCE)
            .is_ok_and(|searched| searched.found)
    );
    assert_eq!(refused(job.pid()), Refusal::NotPython);
}

/// Root reads the processes of all; others are told what they can do.
#[test]
fn one_of_another_user() {
    if let Ok(pid) = std::env::var(PID) {
        // Here we are nobody.
        let why = refused(pid.parse().unwrap());
        assert!(matches!(why, Refusal::Denied { .. }), "{why:?}");
        assert!(why.hint().unwrap().contains("SYS_PTRACE"));
        assert!(!why.may_pass());
        return;
    }
    if !rustix::process::geteuid().is_root() {
        // A process that keeps its memory to itself is like one of another user.
        let job = Job::python("import ctypes; ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)");
        let why = refused(job.pid());
        assert!(matches!(why, Refusal::Denied { .. }), "{why:?}");
        return;
    }
    let mut theirs = Job::python(&format!("import os; os.setuid({NOBODY})"));
    is_followed(&mut theirs);
    let job = Job::python("");
    let folder = readable_folder();
    let copy = folder.path().join("targets");
    lowtide_testing::copy_program(std::env::current_exe().unwrap(), &copy);
    let output = Command::new(&copy)
        .args(["--exact", "one_of_another_user"])
        .env(PID, job.pid().to_string())
        .current_dir("/")
        .uid(NOBODY)
        .gid(NOBODY)
        .finish();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && said.contains("1 passed"),
        "{said}"
    );
}

/// Where others may look.
fn readable_folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let mode = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(folder.path(), mode).unwrap();
    folder
}

/// What Python says of itself: its own file (which PATH may only lead to), and where its library lies.
fn interpreter() -> (PathBuf, String) {
    let code = "import os, sys; print(os.path.realpath(sys.executable)); print(sys.base_prefix)";
    let output = Command::new("python3").args(["-c", code]).finish();
    let said = String::from_utf8(output.stdout).unwrap();
    let (file, home) = said.trim().split_once('\n').unwrap();
    (PathBuf::from(file), home.to_owned())
}

fn copied(folder: &Path) -> (PathBuf, Command) {
    let (file, home) = interpreter();
    let copy = folder.join(file.file_name().unwrap());
    lowtide_testing::copy_program(file, &copy);
    let mut command = Command::new(&copy);
    command.arg(standin()).env("PYTHONHOME", home);
    (copy, command)
}

#[test]
fn one_whose_file_was_deleted() {
    let folder = tempfile::tempdir().unwrap();
    let (copy, mut command) = copied(folder.path());
    let mut job = Job::start(&mut command);
    std::fs::remove_file(copy).unwrap();
    is_followed(&mut job);
}

/// An update puts another file in its place while it runs.
#[test]
fn one_whose_file_was_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let (copy, mut command) = copied(folder.path());
    let mut job = Job::start(&mut command);
    let other = folder.path().join("other");
    lowtide_testing::copy_program(std::env::current_exe().unwrap(), &other);
    std::fs::rename(other, copy).unwrap();
    is_followed(&mut job);
}

/// As profilers do that read its symbols.
#[test]
fn one_that_has_its_own_files_mapped_twice() {
    let again = "
import mmap
kept = []
for name in {line.split()[-1] for line in open('/proc/self/maps') if 'python' in line.rsplit('/', 1)[-1]}:
    with open(name, 'rb') as file:
        kept.append(mmap.mmap(file.fileno(), 0, mmap.MAP_PRIVATE, mmap.PROT_READ))
assert kept
";
    is_followed(&mut Job::python(again));
}

/// Reading costs little, so that it can be done on every tick: what it takes here, with every check on, is far from
/// what anybody would notice.
#[test]
fn a_tick_takes_no_time() {
    let job = Job::python("");
    let follower = searched(job.pid());
    let fastest = (0..50).map(|_| {
        let began = Instant::now();
        follower.read().unwrap();
        began.elapsed()
    });
    let fastest = fastest.min().unwrap();
    assert!(fastest < Duration::from_millis(20), "{fastest:?}");
}
