//! Where training loops reach us: a folder with a datagram socket (they tell) and a shared page
//! (they are asked). The Python package finds it by `LOWTIDE_DIR` under `run`, and under `attach`
//! by its own name (`names`) in the user's runtime folder. The watch loop drains it on every tick.
//!
//! Datagrams hold absolute state, so a lost one costs its moment and nothing else; senders never
//! connect, so they neither block on us nor notice when we die.

mod folder;
mod message;
mod names;
pub(crate) mod package;
mod page;

use std::ffi::OsString;
use std::fs;
use std::io::{self, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use lowtide_core::entry::Entry;
use lowtide_core::process::ProcId;
use lowtide_core::units::Micros;
use lowtide_sys::proc::Proc;
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};

use folder::Private;
#[cfg(any(test, fuzzing))]
pub(crate) use message::fuzz;
pub(crate) use message::{LARGEST, Told};
pub(crate) use page::{Page, Request};

/// The watcher's end of the marks protocol.
pub struct Inbox {
    runtime: Private,
    folder: Private,
    /// The runtime folder was made for this watcher alone, and goes with it.
    runtime_is_own: bool,
    socket: UnixDatagram,
    /// Where a package that is older than this program sends to, under `attach`.
    older: UnixDatagram,
    page: Page,
    proc: Proc,
    links: Vec<Link>,
    uid: u32,
    buffer: Vec<u8>,
    /// What the user should hear: the usual place could not be had.
    elsewhere: Option<String>,
    heard_older: bool,
    /// What the loop says to a guard.
    told: Option<Told>,
}

/// The name by which a process finds our folder, in the runtime folder.
struct Link {
    of: ProcId,
    name: String,
    to: PathBuf,
}

/// In the watcher's folder: what a package finds that looks for a pid alone. It has no page, because that
/// pid may be another container's.
const OLDER: &str = "older";

const SOCKET: &str = "marks.sock";
const PAGE: &str = "page";
/// A watcher's folder without a socket is a dead one's after so long.
const SOCKETLESS: Duration = Duration::from_secs(600);

/// One turn of the watch loop takes at most this many datagrams, so a flood cannot hold up a tick.
const TAKEN_PER_TURN: usize = 1000;
/// And no more after this many bytes: what is taken in a turn has to find room on its way to the disk,
/// ten times a second. What waits longer the kernel refuses at the sender, which drops it.
const BYTES_PER_TURN: usize = 256 << 10;

impl Inbox {
    /// For a job that is told where we are: any place will do.
    pub fn open() -> Result<Inbox> {
        let places = folder::places(std::env::var_os("XDG_RUNTIME_DIR"));
        let (runtime, wrong) = match folder::first_of(&places) {
            Ok((runtime, wrong)) => (runtime, wrong),
            Err(wrong) => {
                let mut inbox = Inbox::open_in(folder::own()?)?;
                inbox.runtime_is_own = true;
                inbox.elsewhere = Some(elsewhere(&wrong, &inbox.runtime));
                return Ok(inbox);
            }
        };
        Inbox::open_beside(runtime, wrong)
    }

    /// For a job that looks for us where its own `XDG_RUNTIME_DIR` says.
    pub(crate) fn open_where(xdg: Option<OsString>) -> Result<Inbox> {
        let (runtime, wrong) = folder::first_of(&folder::places(xdg))?;
        Inbox::open_beside(runtime, wrong)
    }

    fn open_beside(runtime: Private, wrong: Option<anyhow::Error>) -> Result<Inbox> {
        let mut inbox = Inbox::open_in(runtime)?;
        inbox.elsewhere = wrong.map(|wrong| elsewhere(&wrong, &inbox.runtime));
        Ok(inbox)
    }

    fn open_in(runtime: Private) -> Result<Inbox> {
        sweep(&runtime.within());
        let name = names::of_a_watcher();
        let folder = runtime.make_new(&name)?;
        let socket = listen(&folder)?;
        let older = listen(&folder.make_new(OLDER)?)?;
        let page = Page::create(&folder.within().join(PAGE), &name)?;
        Ok(Inbox {
            runtime,
            folder,
            runtime_is_own: false,
            socket,
            older,
            page,
            proc: Proc::at("/proc")?,
            links: Vec::new(),
            uid: rustix::process::getuid().as_raw(),
            buffer: vec![0; LARGEST],
            elsewhere: None,
            heard_older: false,
            told: None,
        })
    }

    /// What `LOWTIDE_DIR` is set to.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Puts the Python package where a job finds it that has none.
    pub(crate) fn put_package(&self) -> Result<()> {
        package::write(&self.folder.within())
    }

    /// Why marks do not go through the usual place, once.
    pub(crate) fn elsewhere(&mut self) -> Option<String> {
        self.elsewhere.take()
    }

    /// Whether a package that is older than this program has tried to reach us: true once.
    pub(crate) fn heard_older(&mut self) -> bool {
        let heard = self.older.recv(&mut self.buffer).is_ok();
        heard && !std::mem::replace(&mut self.heard_older, true)
    }

    pub fn page(&mut self) -> &mut Page {
        &mut self.page
    }

    /// Makes again what somebody removed; true if there was anything. Many machines clean `/tmp` of what is ten
    /// days old, and a loop that cannot reach us is neither heard nor asked.
    pub(crate) fn mend(&mut self) -> bool {
        let there = |name: &str| self.folder.path().join(name).symlink_metadata().is_ok();
        if there(SOCKET) && there(PAGE) {
            return false;
        }
        // What cannot be made now is tried at the next tick.
        self.make_again().is_ok()
    }

    fn make_again(&mut self) -> Result<()> {
        let name = self.folder.path().file_name().map(PathBuf::from);
        let name = name.context("the folder has no name")?;
        if !self.folder.path().is_dir() {
            self.runtime = Private::make(self.runtime.path())?;
            self.folder = self.runtime.make_new(&name.to_string_lossy())?;
            self.older = listen(&self.folder.make_new(OLDER)?)?;
        }
        let within = self.folder.within();
        if !within.join(SOCKET).exists() {
            self.socket = listen(&self.folder)?;
        }
        if !within.join(PAGE).exists() {
            self.page.make_again(&within.join(PAGE))?;
        }
        let within = self.runtime.within();
        for link in &self.links {
            // One that still stands stays.
            let _ = symlink(&link.to, within.join(&link.name));
        }
        Ok(())
    }

    /// Lets a process that knows only itself find us. Not being able to is no error: the process may
    /// belong to another user, and steps can still be read elsewhere.
    pub(crate) fn invite(&mut self, id: ProcId) {
        if self.links.iter().any(|link| link.of == id) {
            return;
        }
        let Some(to) = self.folder.path().file_name().map(PathBuf::from) else {
            return;
        };
        if let Some(name) = names::of_a_process(&self.proc, id) {
            self.link(id, name, &to);
        }
        self.link(id, id.pid.to_string(), &to.join(OLDER));
    }

    /// A link within the runtime folder: it holds wherever a container sees that folder.
    fn link(&mut self, of: ProcId, name: String, to: &Path) {
        let link = self.runtime.within().join(&name);
        if link.is_symlink() && !link.exists() {
            let _ = fs::remove_file(&link);
        }
        if symlink(to, &link).is_ok() {
            let to = to.to_owned();
            self.links.push(Link { of, name, to });
        }
    }

    /// The process has ended: its number will be another's.
    pub(crate) fn uninvite(&mut self, id: ProcId) {
        let within = self.runtime.within();
        self.links.retain(|link| {
            let ended = link.of == id;
            if ended {
                let _ = fs::remove_file(within.join(&link.name));
            }
            !ended
        });
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
            self.told = message::told(datagram).or(self.told.take());
            entries.extend(message::read(datagram, started, now, &who));
        }
        entries
    }

    /// What the training loop says to a guard; of several ranks, the last that spoke.
    pub(crate) fn told(&self) -> Option<&Told> {
        self.told.as_ref()
    }

    /// Another attempt speaks for itself.
    pub(crate) fn forget_told(&mut self) {
        self.told = None;
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
        let within = self.runtime.within();
        for link in &self.links {
            let _ = fs::remove_file(within.join(&link.name));
        }
        if let Some(name) = self.folder.path().file_name() {
            let _ = fs::remove_dir_all(within.join(name));
        }
        if self.runtime_is_own {
            // Succeeds only on what is empty: nothing of another's can be lost.
            let _ = fs::remove_dir(self.runtime.path());
        }
    }
}

fn listen(folder: &Private) -> Result<UnixDatagram> {
    let at = folder.within().join(SOCKET);
    let socket = UnixDatagram::bind(at)
        .with_context(|| format!("cannot listen for marks in {}", folder.path().display()))?;
    socket.set_nonblocking(true)?;
    // The kernel then tells who sent a datagram; without it a sender could only claim it.
    rustix::net::sockopt::set_socket_passcred(&socket, true)?;
    Ok(socket)
}

fn elsewhere(wrong: &anyhow::Error, runtime: &Private) -> String {
    let found = runtime.path().display();
    format!("{wrong:#}; the job's marks go through {found} instead")
}

/// The folder of a living watcher that has invited this process (`attach`).
pub(crate) fn inviter(proc: &Proc, id: ProcId, xdg: Option<OsString>) -> Option<PathBuf> {
    let name = names::of_a_process(proc, id)?;
    let places = folder::places(xdg).into_iter();
    let mut invited = places.map(|place| place.join(&name));
    invited.find(|folder| is_alive(folder))
}

/// Whether a watcher that lives has this folder.
pub(crate) fn is_alive(folder: &Path) -> bool {
    let probe = UnixDatagram::unbound();
    probe.is_ok_and(|probe| probe.connect(folder.join(SOCKET)).is_ok())
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
        if nobody_listens(&path.join(SOCKET)) || lost_its_socket(&path) {
            let _ = fs::remove_dir_all(&path);
        }
    }
    for path in paths().filter(|path| path.is_symlink() && !path.exists()) {
        let _ = fs::remove_file(&path);
    }
}

/// A folder that is being made has none yet, and a living watcher makes it again at its next tick.
fn lost_its_socket(folder: &Path) -> bool {
    let is_old = |found: fs::Metadata| {
        let age = found.modified().ok()?.elapsed().ok()?;
        Some(found.is_dir() && age > SOCKETLESS)
    };
    let found = fs::symlink_metadata(folder).ok();
    found.and_then(is_old).unwrap_or(false) && !folder.join(SOCKET).exists()
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

    fn in_folder(root: &Path) -> Inbox {
        Inbox::open_in(Private::make(root).unwrap()).unwrap()
    }

    #[test]
    fn marks_arrive_with_the_senders_time() {
        let root = tempfile::tempdir().unwrap();
        let mut inbox = in_folder(root.path());
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
    fn a_process_finds_us_by_its_name_and_nothing_stays_behind() {
        let root = tempfile::tempdir().unwrap();
        let proc = Proc::at("/proc").unwrap();
        let pid = std::process::id();
        let start = lowtide_sys::signal::start_time(&proc, pid).unwrap();
        let us = ProcId { pid, start };
        let mut inbox = in_folder(root.path());
        inbox.invite(us);
        let link = root.path().join(names::of_a_process(&proc, us).unwrap());
        assert!(link.join("marks.sock").exists() && link.join("page").exists());
        // Under a pid alone there is nothing to obey: it may be that of another container.
        let older = root.path().join(pid.to_string());
        assert!(older.join("marks.sock").exists() && !older.join("page").exists());
        assert!(!inbox.heard_older());
        let socket = UnixDatagram::unbound().unwrap();
        socket.send_to(b"{}", older.join("marks.sock")).unwrap();
        assert!(inbox.heard_older() && !inbox.heard_older());
        inbox.uninvite(us);
        assert!(!link.is_symlink() && !older.is_symlink());
        drop(inbox);
        assert_eq!(fs::read_dir(root.path()).unwrap().count(), 0);
    }

    /// As those who clean up `/tmp` do: a file, our folder, or all.
    #[test]
    fn what_is_removed_is_made_again_and_a_page_that_is_mapped_still_asks() {
        let root = tempfile::tempdir().unwrap();
        let proc = Proc::at("/proc").unwrap();
        let pid = std::process::id();
        let start = lowtide_sys::signal::start_time(&proc, pid).unwrap();
        let us = ProcId { pid, start };
        let runtime = root.path().join("lowtide");
        let mut inbox = in_folder(&runtime);
        inbox.invite(us);
        inbox.page().set_attempt(3).unwrap();
        assert!(!inbox.mend());
        let folder = inbox.folder().to_owned();
        let link = runtime.join(names::of_a_process(&proc, us).unwrap());
        let mapped = fs::File::open(folder.join(PAGE)).unwrap();
        for removed in [
            folder.join(SOCKET),
            folder.join(PAGE),
            folder.clone(),
            runtime,
        ] {
            if removed.is_dir() {
                fs::remove_dir_all(&removed).unwrap();
            } else {
                fs::remove_file(&removed).unwrap();
            }
            assert!(inbox.mend() && !inbox.mend(), "{}", removed.display());
            assert!(link.join(PAGE).exists());
            send(&inbox, r#"{"v":1,"step":2}"#);
            assert_eq!(inbox.drain(0, Micros(1), |_| None).len(), 1);
        }
        inbox.page().ask(Request::StopAt(7)).unwrap();
        let asks = |page: &fs::File| {
            let mut bytes = [0; 24];
            std::os::unix::fs::FileExt::read_exact_at(page, &mut bytes, 0).unwrap();
            (bytes[8], bytes[12], bytes[16])
        };
        assert_eq!(asks(&mapped), (3, 1, 7));
        assert_eq!(asks(&fs::File::open(folder.join(PAGE)).unwrap()), (3, 1, 7));
        drop(inbox);
        assert!(!link.is_symlink() && !folder.exists());
    }

    #[test]
    fn two_watchers_of_one_pid_do_not_meet() {
        let root = tempfile::tempdir().unwrap();
        let (one, mut two) = (in_folder(root.path()), in_folder(root.path()));
        send(&two, r#"{"v":1,"step":2}"#);
        drop(one);
        assert_eq!(two.drain(0, Micros(1), |_| None).len(), 1);
        assert!(two.folder().join("page").exists());
    }

    #[test]
    fn what_a_killed_watcher_left_is_swept() {
        let root = tempfile::tempdir().unwrap();
        let gone = root.path().join("watcher-7");
        fs::create_dir(&gone).unwrap();
        drop(UnixDatagram::bind(gone.join("marks.sock")).unwrap());
        symlink(&gone, root.path().join("77")).unwrap();
        let socketless = root.path().join("watcher-8");
        fs::create_dir(&socketless).unwrap();
        let long_ago = std::time::SystemTime::now() - 2 * SOCKETLESS;
        let opened = fs::File::open(&socketless).unwrap();
        opened.set_modified(long_ago).unwrap();
        let being_made = root.path().join("watcher-9");
        fs::create_dir(&being_made).unwrap();
        let alive = in_folder(root.path());
        let second = in_folder(root.path());
        assert!(
            alive.folder().join("marks.sock").exists(),
            "a living watcher is left alone"
        );
        assert!(!gone.exists() && !socketless.exists() && being_made.exists());
        assert!(!root.path().join("77").is_symlink());
        drop(second);
    }
}
