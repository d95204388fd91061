//! Where training loops reach us: a folder with a datagram socket (they tell) and a shared page
//! (they are asked). The Python package finds it by `LOWTIDE_DIR` under `run`, and under `attach`
//! by its own pid in the user's runtime folder. The watch loop drains it on every tick.
//!
//! Datagrams hold absolute state, so a lost one costs its moment and nothing else; senders never
//! connect, so they neither block on us nor notice when we die.

mod message;
mod page;

use std::ffi::OsString;
use std::fs;
use std::io::{self, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, symlink};
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use lowtide_core::entry::Entry;
use lowtide_core::process::ProcId;
use lowtide_core::units::Micros;
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};

pub(crate) use message::LARGEST;
#[cfg(any(test, fuzzing))]
pub(crate) use message::fuzz;
pub(crate) use page::{Page, Request};

/// The watcher's end of the marks protocol.
pub struct Inbox {
    folder: PathBuf,
    socket: UnixDatagram,
    page: Page,
    links: Vec<PathBuf>,
    uid: u32,
    buffer: Vec<u8>,
}

/// One turn of the watch loop takes at most this many datagrams, so a flood cannot hold up a tick.
const TAKEN_PER_TURN: usize = 1000;
/// And no more after this many bytes: what is taken in a turn has to find room on its way to the disk,
/// ten times a second. What waits longer the kernel refuses at the sender, which drops it.
const BYTES_PER_TURN: usize = 256 << 10;

impl Inbox {
    /// Opens a folder of our own below the user's runtime folder.
    pub fn open() -> Result<Inbox> {
        Inbox::open_where(std::env::var_os("XDG_RUNTIME_DIR"))
    }

    /// The same for a job with another `XDG_RUNTIME_DIR` than ours.
    pub(crate) fn open_where(xdg: Option<OsString>) -> Result<Inbox> {
        let runtime = runtime_folder(xdg);
        private_folder(&runtime)?;
        Inbox::open_in(&runtime, &format!("watcher-{}", std::process::id()))
    }

    fn open_in(runtime: &Path, name: &str) -> Result<Inbox> {
        sweep(runtime);
        let folder = runtime.join(name);
        private_folder(&folder)?;
        let path = folder.join("marks.sock");
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(error).with_context(|| format!("cannot replace {}", path.display()));
            }
            _ => {}
        }
        let socket = UnixDatagram::bind(&path)
            .with_context(|| format!("cannot listen for marks at {}", path.display()))?;
        socket.set_nonblocking(true)?;
        // The kernel then tells who sent a datagram; without it a sender could only claim it.
        rustix::net::sockopt::set_socket_passcred(&socket, true)?;
        let page = Page::create(&folder.join("page"))?;
        Ok(Inbox {
            folder,
            socket,
            page,
            links: Vec::new(),
            uid: rustix::process::getuid().as_raw(),
            buffer: vec![0; LARGEST],
        })
    }

    /// What `LOWTIDE_DIR` is set to.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    pub fn page(&mut self) -> &mut Page {
        &mut self.page
    }

    /// Lets a process that knows only its own pid find us. Not being able to is no error: the
    /// process may belong to another user, and steps can still be read elsewhere.
    pub(crate) fn invite(&mut self, pid: u32) {
        let Some(runtime) = self.folder.parent() else {
            return;
        };
        let link = runtime.join(pid.to_string());
        if link == self.folder || self.links.contains(&link) {
            return;
        }
        if link.is_symlink() && !link.exists() {
            let _ = fs::remove_file(&link);
        }
        if symlink(&self.folder, &link).is_ok() {
            self.links.push(link);
        }
    }

    /// The marks, looks and notes that came since the last call, oldest first.
    /// `started` is the monotonic clock (ns) at the run's beginning, `now` the time since then.
    pub fn drain(
        &mut self,
        started: u64,
        now: Micros,
        who: impl Fn(u32) -> Option<ProcId>,
    ) -> Vec<Entry> {
        let mut entries = Vec::new();
        let mut bytes = 0;
        for _ in 0..TAKEN_PER_TURN {
            if bytes >= BYTES_PER_TURN {
                break;
            }
            let Some((length, uid)) = self.receive() else {
                break;
            };
            bytes += length;
            // Root may mark any run; others only their own.
            if uid != self.uid && uid != 0 {
                continue;
            }
            let datagram = &self.buffer[..length];
            entries.extend(message::read(datagram, started, now, &who));
        }
        entries
    }

    fn receive(&mut self) -> Option<(usize, u32)> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmCredentials(1))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let mut slices = [IoSliceMut::new(&mut self.buffer)];
        let received =
            recvmsg(&self.socket, &mut slices, &mut control, RecvFlags::DONTWAIT).ok()?;
        let uid = control.drain().find_map(|message| match message {
            RecvAncillaryMessage::ScmCredentials(sender) => Some(sender.uid.as_raw()),
            _ => None,
        });
        Some((received.bytes, uid.unwrap_or(u32::MAX)))
    }
}

impl AsFd for Inbox {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Drop for Inbox {
    fn drop(&mut self) {
        for link in &self.links {
            let _ = fs::remove_file(link);
        }
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// `$XDG_RUNTIME_DIR/lowtide`, else `/tmp/lowtide-<uid>`: the Python package looks in the same places.
pub(crate) fn runtime_folder(xdg: Option<OsString>) -> PathBuf {
    let uid = rustix::process::getuid().as_raw();
    match xdg.map(PathBuf::from) {
        Some(dir) if dir.is_dir() => dir.join("lowtide"),
        _ => PathBuf::from(format!("/tmp/lowtide-{uid}")),
    }
}

/// Whether a watcher that lives has this folder.
pub(crate) fn is_alive(folder: &Path) -> bool {
    let probe = UnixDatagram::unbound();
    probe.is_ok_and(|probe| probe.connect(folder.join("marks.sock")).is_ok())
}

/// Makes a folder that only this user can enter, or checks that it is one: `/tmp` is everybody's.
fn private_folder(folder: &Path) -> Result<()> {
    match fs::DirBuilder::new().mode(0o700).create(folder) {
        Ok(()) => return Ok(()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        Err(error) => {
            return Err(error).with_context(|| format!("cannot make {}", folder.display()));
        }
    }
    let found = fs::symlink_metadata(folder)?;
    let uid = rustix::process::getuid().as_raw();
    if !found.is_dir() || found.uid() != uid || found.mode() & 0o022 != 0 {
        bail!("{} is not a folder of this user alone", folder.display());
    }
    Ok(())
}

/// Removes what watchers that were killed left behind: folders whose socket nobody listens to, and
/// links to nowhere. A pid would not tell: the watcher may live in another pid namespace.
fn sweep(runtime: &Path) {
    let paths = || {
        fs::read_dir(runtime)
            .into_iter()
            .flatten()
            .flatten()
            .map(|entry| entry.path())
    };
    // Folders first: a link points nowhere only once its folder is gone.
    for path in paths().filter(|path| !path.is_symlink()) {
        if nobody_listens(&path.join("marks.sock")) {
            let _ = fs::remove_dir_all(&path);
        }
    }
    for path in paths().filter(|path| path.is_symlink() && !path.exists()) {
        let _ = fs::remove_file(&path);
    }
}

fn nobody_listens(socket: &Path) -> bool {
    let Ok(probe) = UnixDatagram::unbound() else {
        return false;
    };
    let refused = |error: io::Error| error.kind() == io::ErrorKind::ConnectionRefused;
    probe.connect(socket).is_err_and(refused)
}

#[cfg(test)]
mod tests {
    use super::*;
    use lowtide_core::mark::Phase;

    fn send(inbox: &Inbox, text: &str) {
        let socket = UnixDatagram::unbound().unwrap();
        socket
            .send_to(text.as_bytes(), inbox.folder().join("marks.sock"))
            .unwrap();
    }

    #[test]
    fn marks_arrive_with_the_senders_time() {
        let root = tempfile::tempdir().unwrap();
        let mut inbox = Inbox::open_in(root.path(), "watcher-1").unwrap();
        send(
            &inbox,
            r#"{"v":1,"seq":1,"t":1500000000,"pid":7,"step":12,"phase":"eval","later":1}"#,
        );
        send(&inbox, "not json");
        send(
            &inbox,
            r#"{"v":1,"seq":2,"t":1600000000,"pid":7,"kind":"record","record":{"a":1}}"#,
        );
        let entries = inbox.drain(1_000_000_000, Micros(900_000), |_| None);
        let [Entry::Mark(mark), Entry::Record { pid, json, .. }] = &entries[..] else {
            panic!("{entries:?}");
        };
        assert_eq!(
            (mark.at, mark.step, mark.phase),
            (Micros(500_000), Some(12), Some(Phase::Eval))
        );
        assert_eq!((*pid, json.as_str()), (7, r#"{"a":1}"#));
    }

    #[test]
    fn a_process_finds_us_by_its_pid_and_nothing_stays_behind() {
        let root = tempfile::tempdir().unwrap();
        let mut inbox = Inbox::open_in(root.path(), "watcher-1").unwrap();
        inbox.invite(4242);
        assert!(root.path().join("4242/marks.sock").exists());
        drop(inbox);
        assert_eq!(fs::read_dir(root.path()).unwrap().count(), 0);
    }

    #[test]
    fn what_a_killed_watcher_left_is_swept() {
        let root = tempfile::tempdir().unwrap();
        let gone = root.path().join("watcher-7");
        fs::create_dir(&gone).unwrap();
        drop(UnixDatagram::bind(gone.join("marks.sock")).unwrap());
        symlink(&gone, root.path().join("77")).unwrap();
        let alive = Inbox::open_in(root.path(), "watcher-9").unwrap();
        let second = Inbox::open_in(root.path(), "watcher-1").unwrap();
        assert!(
            alive.folder().join("marks.sock").exists(),
            "a living watcher is left alone"
        );
        assert!(!gone.exists());
        assert!(!root.path().join("77").is_symlink());
        drop(second);
    }

    #[test]
    fn a_folder_that_others_can_write_is_refused() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("open");
        fs::DirBuilder::new().mode(0o777).create(&folder).unwrap();
        fs::set_permissions(&folder, std::os::unix::fs::PermissionsExt::from_mode(0o777)).unwrap();
        assert!(private_folder(&folder).is_err());
    }
}
