//! Names in the runtime folder. Containers may share the folder, and each has its own process 12: a pid
//! alone names nobody. The Python package makes the same names (`_link.own_name`).

use std::fs;
use std::time::SystemTime;

use lowtide_core::process::ProcId;
use lowtide_sys::proc::Proc;

/// Of the kernel's id of this boot: enough to tell two virtual machines apart.
const BOOT_DIGITS: usize = 8;
/// Of a random name: nobody meets the same one again.
const RANDOM_DIGITS: usize = 16;

/// A name that no other watcher has or had.
pub(super) fn of_a_watcher() -> String {
    let uuid = fs::read_to_string("/proc/sys/kernel/random/uuid").unwrap_or_default();
    let mut random: String = uuid.chars().filter(char::is_ascii_hexdigit).collect();
    random.truncate(RANDOM_DIGITS);
    if random.len() < RANDOM_DIGITS {
        // Without that file: our pid, and a moment that is no other watcher's with the same pid.
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let now = now.unwrap_or_default().as_nanos();
        random = format!("{}-{now:x}", std::process::id());
    }
    format!("watcher-{random}")
}

/// How a process is found that knows only itself: its pid as it sees it, the pid namespace in which that
/// means something, when it began (pids come again), and the boot. None when it cannot be read.
pub(super) fn of_a_process(proc: &Proc, id: ProcId) -> Option<String> {
    let status = fs::read(proc.path(id.pid, "status")).ok()?;
    let pid = innermost_pid(&status).unwrap_or(id.pid);
    let namespace = fs::read_link(proc.path(id.pid, "ns/pid")).ok()?;
    let namespace = digits(namespace.to_str()?);
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    Some(join(pid, &namespace, id.start, &boot))
}

fn join(pid: u32, namespace: &str, start: u64, boot: &str) -> String {
    let boot: String = boot.chars().take(BOOT_DIGITS).collect();
    format!("{pid}-{namespace}-{start}-{}", boot.trim())
}

/// `pid:[4026531836]` without its frame.
fn digits(link: &str) -> String {
    link.chars().filter(char::is_ascii_digit).collect()
}

/// The last number of the line `NSpid:` is the pid that the process itself sees.
fn innermost_pid(status: &[u8]) -> Option<u32> {
    let mut lines = status.split(|&byte| byte == b'\n');
    let line = lines.find_map(|line| line.strip_prefix(b"NSpid:"))?;
    let text = std::str::from_utf8(line).ok()?;
    text.split_ascii_whitespace().last()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_process_is_named_as_it_sees_itself() {
        let status = b"Name:\tpython\nPid:\t5000\nNSpid:\t5000\t41\t7\nThreads:\t1\n";
        assert_eq!(innermost_pid(status), Some(7));
        assert_eq!(innermost_pid(b"Name:\tpython\n"), None);
        assert_eq!(digits("pid:[4026531836]"), "4026531836");
        assert_eq!(join(7, "42", 99, "0a1b2c3d-77\n"), "7-42-99-0a1b2c3d");
    }

    #[test]
    fn no_two_watchers_have_one_name() {
        assert_ne!(of_a_watcher(), of_a_watcher());
    }

    proptest! {
        #[test]
        fn any_status_is_read(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            innermost_pid(&bytes);
            innermost_pid(&[b"NSpid:", &bytes[..]].concat());
        }
    }
}
