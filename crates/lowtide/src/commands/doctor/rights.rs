//! Whose memory the kernel lets us read. `process_vm_readv` asks for the right to attach: Yama (a part of the kernel that most
//! distributions switch on) takes it from all but parents, from all without CAP_SYS_PTRACE, or from all.

use std::fs;
use std::path::Path;

use super::{Finding, State};

/// Bit 19 of the capability sets, see capabilities(7).
const CAP_SYS_PTRACE: u64 = 1 << 19;
const YAMA: &str = "proc/sys/kernel/yama/ptrace_scope";

/// Whose processes can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rights {
    Everybodys,
    OwnUsers,
    /// Those that we started, and theirs.
    Children,
    /// Only with CAP_SYS_PTRACE, which is not here.
    Capable,
    Nobodys,
}

/// As Documentation/admin-guide/LSM/Yama.rst has it. Without Yama it is as with 0.
fn rights(root: &Path) -> Rights {
    let status = fs::read_to_string(root.join("proc/self/status")).unwrap_or_default();
    let capable = status
        .lines()
        .find_map(|line| line.strip_prefix("CapEff:"))
        .and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok())
        .is_some_and(|caps| caps & CAP_SYS_PTRACE != 0);
    let scope = fs::read_to_string(root.join(YAMA)).ok();
    match (capable, scope.as_deref().map(str::trim)) {
        // Not even root's: it holds until the machine is started anew.
        (_, Some("3")) => Rights::Nobodys,
        (true, _) => Rights::Everybodys,
        (false, None | Some("0")) => Rights::OwnUsers,
        (false, Some("2")) => Rights::Capable,
        (false, Some(_)) => Rights::Children,
    }
}

/// How to get more of them.
fn more(rights: Rights) -> Option<&'static str> {
    match rights {
        Rights::Everybodys | Rights::OwnUsers => None,
        Rights::Children => Some(
            "start the job with `lowtide run`; or sysctl kernel.yama.ptrace_scope=0, or in a container \
             --cap-add=SYS_PTRACE",
        ),
        Rights::Capable => Some(
            "run lowtide as root; or sysctl kernel.yama.ptrace_scope=1, or in a container --cap-add=SYS_PTRACE",
        ),
        Rights::Nobodys => Some(
            "kernel.yama.ptrace_scope=3 stays until the machine is started anew with another value",
        ),
    }
}

fn finding(what: &'static str, rights: Rights, state: State, says: &str) -> Finding {
    let finding = Finding::new(what, state, says);
    match more(rights) {
        Some(hint) => finding.hint(hint),
        None => finding,
    }
}

/// What looks into a process's memory need.
pub(super) fn memory(root: &Path) -> Finding {
    let rights = rights(root);
    let (state, says) = match rights {
        Rights::Everybodys => (State::Yes, "ptrace rights (CAP_SYS_PTRACE)"),
        Rights::OwnUsers => (State::Yes, "ptrace rights on processes of this user"),
        Rights::Children => (State::Partly, "only of jobs started by lowtide (yama 1)"),
        Rights::Capable => (State::No, "it takes CAP_SYS_PTRACE here (yama 2)"),
        Rights::Nobodys => (State::No, "switched off for all (yama 3)"),
    };
    finding("memory of other processes", rights, state, says)
}

/// Steps that nobody sends: read from a training loop's own objects.
pub(super) fn python(root: &Path) -> Finding {
    let what = "objects of Python processes";
    if let Err(error) = fs::read(root.join("proc/self/status")) {
        let says = format!("/proc cannot be read: {error}");
        return Finding::new(what, State::No, says).hint("mount /proc in this container");
    }
    let rights = rights(root);
    let (state, says) = match rights {
        Rights::Everybodys => (State::Yes, "steps of jobs of every user (CAP_SYS_PTRACE)"),
        Rights::OwnUsers => (State::Yes, "steps of jobs of this user, attached or run"),
        Rights::Children => (State::Partly, "steps of what `lowtide run` starts (yama 1)"),
        Rights::Capable => (State::No, "it takes CAP_SYS_PTRACE here (yama 2)"),
        Rights::Nobodys => (State::No, "switched off for all (yama 3)"),
    };
    let found = finding(what, rights, state, says);
    match (state, found.hint.clone()) {
        // Whoever cannot change the machine still gets steps.
        (State::No, Some(hint)) => found.hint(format!(
            "{hint}; steps that a job prints or sends are read all the same"
        )),
        _ => found,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All of root's capabilities, and none.
    const ALL: &str = "000001ffffffffff";
    const NONE: &str = "0000000000000000";
    /// All but the one that matters.
    const OTHERS: &str = "000001fffff7ffff";

    fn machine(capabilities: &str, scope: Option<&str>) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        let put = |name: &str, text: String| {
            let path = root.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        put(
            "proc/self/status",
            format!("Name:\tlowtide\nCapPrm:\t{ALL}\nCapEff:\t{capabilities}\n"),
        );
        if let Some(scope) = scope {
            put(YAMA, format!("{scope}\n"));
        }
        root
    }

    #[test]
    fn every_scope_with_and_without_the_capability() {
        for (scope, without, with) in [
            (None, Rights::OwnUsers, Rights::Everybodys),
            (Some("0"), Rights::OwnUsers, Rights::Everybodys),
            (Some("1"), Rights::Children, Rights::Everybodys),
            (Some("2"), Rights::Capable, Rights::Everybodys),
            (Some("3"), Rights::Nobodys, Rights::Nobodys),
        ] {
            for (capabilities, expected) in [(NONE, without), (OTHERS, without), (ALL, with)] {
                let root = machine(capabilities, scope);
                let found = rights(root.path());
                assert_eq!(found, expected, "{scope:?} {capabilities}");
                let state = match expected {
                    Rights::Everybodys | Rights::OwnUsers => State::Yes,
                    Rights::Children => State::Partly,
                    Rights::Capable | Rights::Nobodys => State::No,
                };
                for finding in [memory(root.path()), python(root.path())] {
                    assert_eq!(finding.state, state, "{finding:?}");
                    assert_eq!(finding.hint.is_none(), state == State::Yes, "{finding:?}");
                }
            }
        }
    }

    #[test]
    fn what_helps_is_said() {
        let hint = |scope| python(machine(NONE, Some(scope)).path()).hint.unwrap();
        assert!(hint("1").contains("lowtide run") && hint("1").contains("SYS_PTRACE"));
        assert!(hint("2").contains("root") && hint("2").contains("all the same"));
        // Root would not help there.
        assert!(hint("3").contains("started anew") && !hint("3").contains("root"));
    }

    #[test]
    fn without_proc_nothing_is_promised() {
        let root = tempfile::tempdir().unwrap();
        let finding = python(root.path());
        assert_eq!(finding.state, State::No);
        assert_eq!(
            finding.hint.as_deref(),
            Some("mount /proc in this container")
        );
    }
}
