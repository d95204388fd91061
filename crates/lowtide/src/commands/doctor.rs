//! `lowtide doctor`: what can be seen from here, and how to see more.

mod rights;

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use anyhow::Result;
use lowtide_core::text::shown;
use lowtide_sys::gpu::{LOADS_LIBRARIES, nvml};
use serde::Serialize;

use crate::tell::{print, print_json};

/// Say what lowtide can see on this machine and how to see more
#[derive(clap::Args, Debug)]
pub(crate) struct DoctorArgs {
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum State {
    Yes,
    Partly,
    No,
}

#[derive(Debug, Serialize)]
struct Finding {
    what: &'static str,
    state: State,
    says: String,
    hint: Option<String>,
}

impl Finding {
    fn new(what: &'static str, state: State, says: impl Into<String>) -> Finding {
        Finding {
            what,
            state,
            says: says.into(),
            hint: None,
        }
    }

    fn hint(mut self, hint: impl Into<String>) -> Finding {
        self.hint = Some(hint.into());
        self
    }
}

pub(crate) fn run(args: &DoctorArgs) -> Result<i32> {
    let findings = check(Path::new("/"));
    if args.json {
        print_json(serde_json::json!({ "schema": 1, "findings": findings }))?;
        return Ok(0);
    }
    for finding in &findings {
        let sign = match finding.state {
            State::Yes => "yes   ",
            State::Partly => "partly",
            State::No => "no    ",
        };
        let says = shown(&finding.says);
        print(&format!("{sign}  {:<28} {says}\n", finding.what))?;
        if let Some(hint) = &finding.hint {
            print(&format!("        hint: {}\n", shown(hint)))?;
        }
    }
    Ok(0)
}

fn check(root: &Path) -> Vec<Finding> {
    vec![
        this_program(),
        own_processes(root),
        other_users(root),
        careful_looks(root),
        rights::memory(root),
        rights::python(root),
        cgroup(root),
        pressure(root),
        kernel_log(root),
        gpu(root, LOADS_LIBRARIES),
        shared_memory(root),
        recordings(),
    ]
}

/// Which build this is: the wheel's and the static one see different things.
fn this_program() -> Finding {
    let version = env!("CARGO_PKG_VERSION");
    let machine = std::env::consts::ARCH;
    let linked = if LOADS_LIBRARIES {
        "linked to the C library"
    } else {
        "static"
    };
    let says = format!("version {version} for {machine}, {linked}");
    Finding::new("this program", State::Yes, says)
}

fn own_processes(root: &Path) -> Finding {
    let what = "processes of this user";
    match fs::read(root.join("proc/self/status")) {
        Ok(text) if contains(&text, b"RssAnon:") => Finding::new(
            what,
            State::Yes,
            "anon, file, shmem and swap of every process",
        ),
        Ok(_) => Finding::new(
            what,
            State::Partly,
            "this kernel does not split RSS (before 4.5)",
        )
        .hint("lowtide needs RssAnon in /proc/PID/status"),
        Err(error) => Finding::new(what, State::No, format!("/proc cannot be read: {error}"))
            .hint("mount /proc in this container"),
    }
}

fn other_users(root: &Path) -> Finding {
    let what = "processes of other users";
    let mounts = fs::read(root.join("proc/self/mountinfo")).unwrap_or_default();
    let hidden = mounts.split(|byte| *byte == b'\n').any(|line| {
        contains(line, b" /proc ")
            && (contains(line, b"hidepid=1")
                || contains(line, b"hidepid=2")
                || contains(line, b"hidepid=invisible")
                || contains(line, b"hidepid=noaccess"))
    });
    if hidden {
        return Finding::new(what, State::No, "/proc hides them (hidepid)")
            .hint("run lowtide as the job's user");
    }
    match fs::read(root.join("proc/1/smaps_rollup")) {
        Ok(_) => Finding::new(what, State::Yes, "counters and proportional sizes"),
        Err(error) if error.kind() == ErrorKind::PermissionDenied => Finding::new(
            what,
            State::Partly,
            "counters only; PSS and USS need their user or root",
        )
        .hint("run lowtide as the job's user, or as root"),
        Err(_) => Finding::new(what, State::Partly, "process 1 cannot be read from here"),
    }
}

fn careful_looks(root: &Path) -> Finding {
    let what = "PSS and USS";
    match fs::read(root.join("proc/self/smaps_rollup")) {
        Ok(text) if contains(&text, b"Pss_Anon:") => Finding::new(
            what,
            State::Yes,
            "smaps_rollup with its anon, file and shmem parts",
        ),
        Ok(_) => Finding::new(
            what,
            State::Partly,
            "smaps_rollup without parts (before Linux 5.4)",
        ),
        Err(error) => Finding::new(
            what,
            State::No,
            format!("smaps_rollup cannot be read: {error}"),
        )
        .hint("sums over forked workers are upper bounds then"),
    }
}

fn cgroup(root: &Path) -> Finding {
    let what = "cgroup limits and counts";
    let groups = fs::read_to_string(root.join("proc/self/cgroup")).unwrap_or_default();
    let v1 = groups.lines().any(|line| line.contains(":memory:"));
    let controllers = fs::read_to_string(root.join("sys/fs/cgroup/cgroup.controllers"));
    match (v1, controllers) {
        (true, _) => Finding::new(what, State::Yes, "memory controller of version 1"),
        (false, Ok(list)) if list.split_whitespace().any(|name| name == "memory") => {
            Finding::new(what, State::Yes, "memory controller of version 2")
        }
        (false, Ok(_)) => {
            Finding::new(what, State::No, "the memory controller is not enabled here")
                .hint("the machine's own memory is used as the limit")
        }
        (false, Err(_)) => Finding::new(what, State::No, "no cgroup file system is mounted")
            .hint("in a container, mount /sys/fs/cgroup read-only; else give --limit"),
    }
}

fn pressure(root: &Path) -> Finding {
    let what = "memory pressure (PSI)";
    match fs::read(root.join("proc/pressure/memory")) {
        Ok(_) => Finding::new(what, State::Yes, "/proc/pressure/memory"),
        Err(_) => Finding::new(what, State::No, "this kernel does not offer it")
            .hint("boot with psi=1 to see stalls before memory runs out"),
    }
}

fn kernel_log(root: &Path) -> Finding {
    let what = "the kernel's word on kills";
    match fs::File::open(root.join("dev/kmsg")) {
        Ok(_) => Finding::new(what, State::Yes, "the kernel log can be read"),
        Err(error) => Finding::new(what, State::No, format!("/dev/kmsg: {error}"))
            .hint("sysctl kernel.dmesg_restrict=0, or ask the machine's owner"),
    }
}

fn gpu(root: &Path, loads_libraries: bool) -> Finding {
    let what = "GPU memory";
    let amd = fs::read_dir(root.join("sys/class/drm"))
        .ok()
        .is_some_and(|cards| {
            cards
                .flatten()
                .any(|card| card.path().join("device/mem_info_vram_used").exists())
        });
    let nvidia = root.join(nvml::DRIVER).exists();
    match (nvidia, amd) {
        (true, _) if !loads_libraries => Finding::new(
            what,
            State::No,
            "NVIDIA driver found, but a static program cannot load its library (NVML)",
        )
        .hint("the lowtide of the manylinux wheel can, where there is glibc: pip install FILE.whl"),
        (true, _) => Finding::new(what, State::Yes, "NVIDIA driver found; read through NVML"),
        (_, true) => Finding::new(what, State::Yes, "AMD driver found; read through sysfs"),
        _ => Finding::new(
            what,
            State::No,
            "no GPU driver here, which is normal for CPU jobs",
        ),
    }
}

fn shared_memory(root: &Path) -> Finding {
    let what = "shared memory";
    match rustix::fs::statvfs(root.join("dev/shm")) {
        Ok(stat) => {
            let size = lowtide_core::units::Bytes(stat.f_blocks * stat.f_frsize);
            Finding::new(what, State::Yes, format!("/dev/shm, {size}"))
        }
        Err(error) => Finding::new(what, State::No, format!("/dev/shm: {error}"))
            .hint("data-loader workers need it; in a container give --shm-size"),
    }
}

fn recordings() -> Finding {
    let what = "recordings";
    match lowtide_recording::Store::from_env() {
        Ok(store) => Finding::new(
            what,
            State::Yes,
            format!("go to {}", store.runs_dir().display()),
        ),
        Err(error) => Finding::new(what, State::No, error.to_string())
            .hint("set LOWTIDE_HOME, or give -o DIR"),
    }
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|window| window == part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_machine_gets_hints_instead_of_errors() {
        let root = tempfile::tempdir().unwrap();
        let findings = check(root.path());
        assert!(
            findings
                .iter()
                .filter(|finding| finding.state == State::No)
                .count()
                >= 5
        );
        let proc = findings
            .iter()
            .find(|finding| finding.what == "processes of this user");
        assert_eq!(
            proc.unwrap().hint.as_deref(),
            Some("mount /proc in this container")
        );
    }

    #[test]
    fn a_static_program_says_that_it_cannot_ask_nvidia() {
        let root = tempfile::tempdir().unwrap();
        let driver = root.path().join(nvml::DRIVER);
        fs::create_dir_all(driver.parent().unwrap()).unwrap();
        fs::write(driver, "NVRM version: stand-in\n").unwrap();
        assert_eq!(gpu(root.path(), true).state, State::Yes);
        let unseen = gpu(root.path(), false);
        assert_eq!(unseen.state, State::No);
        assert!(unseen.hint.unwrap().contains("wheel"));
    }
}
