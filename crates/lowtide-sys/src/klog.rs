//! The kernel's log, for one question: did the OOM killer take this process, and for which limit?
//! Readable by root, and by others where `kernel.dmesg_restrict` allows it. Read after a death only.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use lowtide_core::run::KernelKill;

use crate::proc::number;

/// One record of the log is at most this long.
const RECORD: usize = 8192;
/// Records that are read at most: the kernel's buffer holds some ten thousand.
const MOST_RECORDS: usize = 200_000;

/// The newest kill of one of these processes since `since_us` (microseconds after boot).
pub fn kill_of(pids: &[u32], since_us: u64) -> Option<KernelKill> {
    read(Path::new("/dev/kmsg"), pids, since_us)
}

fn read(path: &Path, pids: &[u32], since_us: u64) -> Option<KernelKill> {
    let mut log = File::options()
        .read(true)
        .custom_flags(rustix::fs::OFlags::NONBLOCK.bits() as i32)
        .open(path)
        .ok()?;
    let mut buffer = vec![0; RECORD];
    let mut found = None;
    for _ in 0..MOST_RECORDS {
        // Each read gives one record; EPIPE says that some were overwritten meanwhile.
        match log.read(&mut buffer) {
            Ok(0) => break,
            Ok(length) => {
                if let Some((at, kill)) = parse(&buffer[..length])
                    && at >= since_us
                    && pids.contains(&kill.pid)
                {
                    found = Some(kill);
                }
            }
            Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => {}
            Err(_) => break,
        }
    }
    found
}

/// `prio,seq,microseconds,flags;text`: the kill that a record tells, with its time.
pub(crate) fn parse(record: &[u8]) -> Option<(u64, KernelKill)> {
    let (head, text) = split_once(record, b";")?;
    let at = number(head.split(|byte| *byte == b',').nth(2)?)?;
    let line = text.split(|byte| *byte == b'\n').next()?;
    let (before, after) = split_once(line, b"Killed process ")?;
    let digits = after
        .iter()
        .take_while(|byte| byte.is_ascii_digit())
        .count();
    let pid = u32::try_from(number(&after[..digits])?).ok()?;
    // What follows the sizes is of no use to a person. Looked for behind the kill, which is what is told.
    let told = split_once(after, b", UID").map_or(after, |(told, _)| told);
    let told = &line[..line.len() - after.len() + told.len()];
    Some((
        at,
        KernelKill {
            pid,
            group: before.starts_with(b"Memory cgroup"),
            line: String::from_utf8_lossy(told).into_owned(),
        },
    ))
}

fn split_once<'a>(bytes: &'a [u8], by: &[u8]) -> Option<(&'a [u8], &'a [u8])> {
    let at = bytes.windows(by.len()).position(|window| window == by)?;
    Some((&bytes[..at], &bytes[at + by.len()..]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const GROUP: &[u8] = b"3,1234,5339321,-;Memory cgroup out of memory: Killed process 4242 (python3) total-vm:9000kB, anon-rss:512kB, file-rss:0kB, shmem-rss:0kB, UID:0 pgtables:64kB oom_score_adj:0\n SUBSYSTEM=x\n";
    const NODE: &[u8] =
        b"3,1235,6000000,-;Out of memory: Killed process 77 (python3) total-vm:9000kB, anon-rss:512kB\n";

    #[test]
    fn a_group_is_told_from_the_machine() {
        let (at, kill) = parse(GROUP).unwrap();
        assert_eq!((at, kill.pid, kill.group), (5_339_321, 4242, true));
        assert!(kill.line.ends_with("shmem-rss:0kB"), "{}", kill.line);
        let (_, kill) = parse(NODE).unwrap();
        assert_eq!((kill.pid, kill.group), (77, false));
    }

    #[test]
    fn other_processes_and_earlier_kills_are_not_ours() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), NODE).unwrap();
        assert!(read(file.path(), &[77], 0).is_some());
        assert!(read(file.path(), &[78], 0).is_none());
        assert!(read(file.path(), &[77], 6_000_001).is_none());
    }

    proptest! {
        #[test]
        fn any_bytes_are_survived(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
            let _ = parse(&bytes);
        }
    }
}
