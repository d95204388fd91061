//! A builder of small fake `/proc` trees for the odd cases that cannot be made at will: names with
//! parentheses, a reused pid, files that are missing or denied.

use std::fs;
use std::path::Path;

use super::Proc;

pub(crate) struct Fixture {
    directory: tempfile::TempDir,
}

/// What `getpgid` and `getsid` answer for a fake process.
const FOUNDERS: &str = "founders";

pub(super) fn founders(proc: &Proc, pid: u32) -> Option<(u32, u32)> {
    let text = fs::read_to_string(proc.path(pid, FOUNDERS)).ok()?;
    let (group, session) = text.trim().split_once(' ')?;
    Some((group.parse().ok()?, session.parse().ok()?))
}

/// One fake process; the defaults are those of a small program.
#[derive(Clone, Debug)]
pub(crate) struct Fake {
    pub pid: u32,
    pub comm: String,
    pub parent: u32,
    pub group: u32,
    pub session: u32,
    pub start: u64,
    pub faults: u64,
    pub ticks: u64,
    /// In kB, as the kernel writes it.
    pub anon: u64,
    pub shmem: u64,
    pub code: u64,
    pub stack: u64,
    pub argv: Vec<String>,
    pub env: Vec<(String, String)>,
    pub maps: String,
}

impl Fake {
    pub(crate) fn new(pid: u32, parent: u32, argv: &[&str]) -> Fake {
        Fake {
            pid,
            comm: argv.first().map_or_else(String::new, |first| {
                first
                    .rsplit('/')
                    .next()
                    .unwrap_or(first)
                    .chars()
                    .take(15)
                    .collect()
            }),
            parent,
            group: pid,
            session: pid,
            start: 1000 + u64::from(pid),
            faults: 100,
            ticks: 5,
            anon: 1000,
            shmem: 0,
            code: 0x1000 * u64::from(pid),
            stack: 0x7000_0000 + u64::from(pid),
            argv: argv.iter().map(|argument| (*argument).to_owned()).collect(),
            env: Vec::new(),
            maps: String::new(),
        }
    }
}

impl Fixture {
    pub(crate) fn new() -> Fixture {
        let fixture = Fixture {
            directory: tempfile::tempdir().unwrap(),
        };
        fixture.write("meminfo", "MemTotal: 24000000 kB\nMemAvailable: 20000000 kB\nCached: 1000 kB\nShmem: 10 kB\nSwapTotal: 0 kB\nSwapFree: 0 kB\n");
        fixture
    }

    pub(crate) fn root(&self) -> &Path {
        self.directory.path()
    }

    pub(crate) fn proc(&self) -> Proc {
        Proc::at(self.root()).unwrap()
    }

    pub(crate) fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        let path = self.root().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(crate) fn put(&self, fake: &Fake) {
        let Fake {
            pid,
            comm,
            parent,
            group,
            session,
            start,
            faults,
            ticks,
            anon,
            shmem,
            code,
            stack,
            ..
        } = fake;
        let rss = (anon + shmem) / 4;
        self.write(
            &format!("{pid}/stat"),
            format!("{pid} ({comm}) S {parent} {group} {session} 0 -1 4194304 {faults} 0 0 0 {ticks} 0 0 0 20 0 1 0 {start} 8192000 {rss} 18446744073709551615 {code} 1 {stack} 0 0 0 0 0 0 0 0 0 17 1 0 0 0 0 0 0 0 0 0 0 0 0 0\n"),
        );
        self.write(
            &format!("{pid}/status"),
            format!("Name:\t{comm}\nVmSize:\t8000 kB\nVmHWM:\t{anon} kB\nRssAnon:\t{anon} kB\nRssFile:\t0 kB\nRssShmem:\t{shmem} kB\nVmSwap:\t0 kB\nThreads:\t1\n"),
        );
        let mut cmdline = fake.argv.join("\0");
        cmdline.push('\0');
        self.write(&format!("{pid}/cmdline"), cmdline);
        let environ: String = fake
            .env
            .iter()
            .map(|(name, value)| format!("{name}={value}\0"))
            .collect();
        self.write(&format!("{pid}/environ"), environ);
        self.write(&format!("{pid}/maps"), &fake.maps);
        self.write(&format!("{pid}/comm"), format!("{comm}\n"));
        self.write(&format!("{pid}/task/{pid}/comm"), format!("{comm}\n"));
        self.write(&format!("{pid}/{FOUNDERS}"), format!("{group} {session}\n"));
    }

    /// From here on the kernel tells children.
    pub(crate) fn tell_children(&self) {
        self.write("thread-self/children", "");
    }

    /// What the process's threads made: a list for each, the first by its main thread.
    pub(crate) fn children(&self, pid: u32, by_thread: &[&[u32]]) {
        for (at, children) in by_thread.iter().enumerate() {
            let thread = pid as usize + at;
            let list: String = children.iter().map(|child| format!("{child} ")).collect();
            self.write(&format!("{pid}/task/{thread}/children"), list);
        }
    }

    /// Whoever reads this file of the process waits for ever.
    pub(crate) fn hang(&self, pid: u32, file: &str) {
        let path = self.root().join(format!("{pid}/{file}"));
        let _ = fs::remove_file(&path);
        rustix::fs::mknodat(
            rustix::fs::CWD,
            &path,
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::from_raw_mode(0o600),
            0,
        )
        .unwrap();
    }
}
