//! The watcher's side: start a job through the keeper, hear what becomes of it, pass signals on.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use lowtide_core::entry::Exit;
use lowtide_sys::inherited::endings;
use lowtide_sys::sigwait::{SignalSet, Signals, stop_here};
use lowtide_sys::spawn::Place;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, getpid, set_child_subreaper, waitpid};
use rustix::termios::{OptionalActions, Termios, isatty, tcgetattr, tcsetattr};

use super::launch::{Launch, StartError};
use super::leader::what_happened;
use super::link::{Link, Received, pair};
use super::start::{Orders, Part, part};
use super::wire::{Message, Order, Route, Stream};

/// What the watcher learns about its job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The job printed this; it is on its way to the user already.
    Output {
        stream: Stream,
        /// When the keeper read it, by the monotonic clock: we may hear of it later.
        at_ns: u64,
        bytes: Vec<u8>,
    },
    /// The job printed this many bytes that are not in any [`Event::Output`]: we were slow.
    Dropped(u64),
    /// The job was stopped, and the watcher was with it: this is told when it goes on (or could not be stopped).
    Stopped,
    Continued,
    /// This signal came for the job and was passed on.
    Signal(i32),
    /// From here on what the job prints comes to us alone, or goes to the user's terminal again.
    Screen(bool),
    /// What the user typed while we have the screen.
    Keys(Vec<u8>),
    /// Whether [`Handle::insert`] was taken, and how much of the stream had passed then.
    Inserted {
        taken: bool,
        passed: u64,
    },
    /// The keeper is dead: a job with a terminal or pipes lost them and was sent SIGHUP.
    KeeperLost,
    /// The job's main process ended, and all it printed is out. Descendants may live; the keeper stays with them.
    Exited(Exit),
}

/// A job that runs.
pub struct Handle {
    starter: Starter,
    link: Link,
    /// Keepers of earlier jobs, which stay until the last of their descendants is gone.
    earlier: Vec<std::process::Child>,
    pid: u32,
    leader: Option<u32>,
    keeper: std::process::Child,
    routes: (Route, Route),
    lost: bool,
    ended: bool,
    before_stop: Option<Box<dyn Fn()>>,
}

/// Starts a job. From here on signals for this process are read by [`Handle::next`] and passed on; threads that are
/// to leave them alone must be started after this.
pub(crate) fn start(launch: Launch) -> Result<Handle, StartError> {
    Starter::prepare()?.start(launch)
}

/// This process made ready to start jobs. For the time until it does, signals for it are read here.
pub struct Starter {
    signals: Signals,
    /// The signal mask that every job gets: ours when we were started.
    mask: SignalSet,
    /// The terminal's modes before a keeper changed them, in case the keeper dies.
    modes: Option<Termios>,
}

impl Starter {
    /// Threads that are to leave our signals alone must be started after this.
    pub fn prepare() -> Result<Starter, StartError> {
        let keeper = |source: io::Error| StartError::Keeper { source };
        let modes = tcgetattr(io::stdin()).ok();
        let blocked = blocked();
        let mask = blocked.block().map_err(keeper)?;
        let passed_on = blocked
            .without(Signal::TTIN.as_raw())
            .without(Signal::TTOU.as_raw());
        let signals = Signals::of(passed_on).map_err(keeper)?;
        Ok(Starter {
            signals,
            mask,
            modes,
        })
    }

    pub fn start(self, launch: Launch) -> Result<Handle, StartError> {
        let keeper = |source: io::Error| StartError::Keeper { source };
        // Should the keeper be killed, its child becomes ours, and its exit code can still be had.
        set_child_subreaper(Some(getpid())).map_err(|errno| keeper(errno.into()))?;
        let started = start_keeper(launch, self.mask)?;
        let_go_of_stdin().map_err(keeper)?;
        Ok(Handle {
            starter: self,
            link: started.link,
            earlier: Vec::new(),
            pid: started.pid,
            leader: started.leader,
            keeper: started.keeper,
            routes: started.routes,
            lost: false,
            ended: false,
            before_stop: None,
        })
    }

    /// While no job of ours runs: the signal that comes for this process within the time, if one does.
    pub(crate) fn signal_within(&mut self, time: Duration) -> io::Result<Option<i32>> {
        let until = Instant::now() + time;
        loop {
            if let Some(arrived) = self.signals.arrived()? {
                return Ok(Some(arrived.signal));
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(None);
            }
            let mut fds = [PollFd::new(&self.signals, PollFlags::IN)];
            match poll(&mut fds, Timespec::try_from(left).ok().as_ref()) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
    }
}

impl Starter {
    /// The user wants an end.
    pub(crate) fn is_end(signal: i32) -> bool {
        endings().contains(signal)
    }

    pub(crate) fn is_stop(signal: i32) -> bool {
        signal == Signal::TSTP.as_raw()
    }

    /// Whether a signal within the time wants us to end; Ctrl-Z stops us and nobody else.
    pub fn end_within(&mut self, time: Duration) -> io::Result<bool> {
        Ok(match self.signal_within(time)? {
            Some(signal) if Starter::is_stop(signal) => {
                stop_here()?;
                false
            }
            Some(signal) => Starter::is_end(signal),
            None => false,
        })
    }
}

/// Readable when a signal came.
impl AsFd for Starter {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.signals.as_fd()
    }
}

struct Started {
    link: Link,
    pid: u32,
    leader: Option<u32>,
    keeper: std::process::Child,
    routes: (Route, Route),
}

fn start_keeper(launch: Launch, mask: SignalSet) -> Result<Started, StartError> {
    let name = launch
        .command
        .first()
        .map(|word| word.to_string_lossy().into_owned())
        .unwrap_or_default();
    let keeper = |source: io::Error| StartError::Keeper { source };
    let (ours, theirs) = pair().map_err(keeper)?;
    let home = launch.home;
    let mut command = part(
        Part::Keeper,
        Orders {
            socket: theirs,
            mask,
            job: launch.command,
        },
        Place::Beside,
        None,
    );
    if let Some(home) = home {
        home.furnish(&mut command).map_err(keeper)?;
    }
    command.envs(launch.env);
    let child = command.spawn().map_err(keeper)?;
    drop(command);
    let mut born = None;
    let word = loop {
        match first_word(&ours).map_err(keeper)? {
            Some(Message::Born {
                pid,
                stdout,
                stderr,
            }) => born = Some((pid, (stdout, stderr))),
            word => break word,
        }
    };
    match word {
        Some(Message::Started {
            pid,
            leader,
            stdout,
            stderr,
        }) => Ok(Started {
            link: Link::new(ours),
            pid,
            leader,
            keeper: child,
            routes: (stdout, stderr),
        }),
        Some(Message::Failed { errno, what }) => Err(match Errno::from_raw_os_error(errno) {
            Errno::NOENT => StartError::NotFound { command: name },
            Errno::ACCESS | Errno::NOEXEC | Errno::ISDIR | Errno::PERM | Errno::NOTDIR => {
                StartError::NotExecutable {
                    command: name,
                    source: io::Error::from_raw_os_error(errno),
                }
            }
            _ => keeper(io::Error::other(what)),
        }),
        // It was killed before it could tell, and the job runs: what follows is as after any end of a keeper.
        None if let Some((pid, routes)) = born => Ok(Started {
            link: Link::new(ours),
            pid,
            leader: None,
            keeper: child,
            routes,
        }),
        _ => Err(keeper(io::Error::other("it ended before the job began"))),
    }
}

/// Signals that are no longer for this process. A child's end and the terminal's size are nobody's order.
fn blocked() -> SignalSet {
    SignalSet::from_outside()
        .without(Signal::CHILD.as_raw())
        .without(Signal::WINCH.as_raw())
}

fn first_word(socket: &OwnedFd) -> io::Result<Option<Message>> {
    let mut buffer = vec![0; super::wire::LONGEST];
    loop {
        match rustix::net::recv(socket, &mut buffer[..], rustix::net::RecvFlags::empty()) {
            Ok((got, _)) => return Ok(Message::decode(&buffer[..got])),
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
}

/// The job has stdin now. Held here too, a pipe would hide from its writer that the job stopped reading.
fn let_go_of_stdin() -> io::Result<()> {
    if !isatty(io::stdin()) {
        rustix::stdio::dup2_stdin(std::fs::File::open("/dev/null")?)?;
    }
    Ok(())
}

impl Handle {
    /// The job's main process.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    pub(crate) fn keeper_pid(&self) -> u32 {
        self.keeper.id()
    }

    /// Our own processes around the job, which are no part of it: the keeper, and the session leader if there is one.
    pub(crate) fn own_pids(&self) -> impl Iterator<Item = u32> {
        [Some(self.keeper_pid()), self.leader].into_iter().flatten()
    }

    /// How stdout and stderr travel. A [`Route::File`] can be read through our own stdout or stderr.
    pub(crate) fn routes(&self) -> (Route, Route) {
        self.routes
    }

    /// Starts another job in place of the one that ended, with a keeper and a process tree of its own.
    pub fn again(&mut self, launch: Launch) -> Result<(), StartError> {
        let started = start_keeper(launch, self.starter.mask)?;
        self.link = started.link;
        self.pid = started.pid;
        self.leader = started.leader;
        self.routes = started.routes;
        let before = std::mem::replace(&mut self.keeper, started.keeper);
        self.earlier.push(before);
        self.earlier
            .retain_mut(|keeper| matches!(keeper.try_wait(), Ok(None)));
        (self.lost, self.ended) = (false, false);
        Ok(())
    }

    /// After the job's end: whether a signal within the time wants us to end.
    pub fn end_within(&mut self, time: Duration) -> io::Result<bool> {
        self.starter.end_within(time)
    }

    /// Sends a signal of our own to the job's main process.
    pub fn send(&mut self, signal: i32) {
        self.link.tell(Order::Send(signal).encode());
    }

    /// Has the keeper put words of ours between two pieces of the job's output; [`Event::Inserted`] answers.
    pub(crate) fn insert(&mut self, stream: Stream, at: u64, bytes: Vec<u8>) {
        self.link.tell(Order::Insert { stream, at, bytes }.encode());
    }

    /// Whether the job has a terminal of its own behind the user's, so that we can draw on the user's.
    pub fn has_terminal(&self) -> bool {
        self.leader.is_some()
    }

    /// Asks for the user's terminal to draw on, and says which size we have for the job; [`Event::Screen`] answers.
    pub fn take_screen(&mut self, rows: u16, columns: u16) {
        self.link.tell(Order::Screen { rows, columns }.encode());
    }

    /// Gives it back to the job.
    pub fn leave_screen(&mut self) {
        self.link.tell(Order::Plain.encode());
    }

    /// What to do before this process is stopped together with the job.
    pub fn before_stop(&mut self, before: Option<Box<dyn Fn()>>) {
        self.before_stop = before;
    }

    /// What can be polled together with other descriptors; when one is readable, [`Handle::next`] has work to do.
    pub fn fds(&self) -> [PollFd<'_>; 2] {
        [
            self.link.interest(),
            PollFd::new(&self.starter.signals, PollFlags::IN),
        ]
    }

    /// Waits for the next event until the deadline (None: for ever). None when nothing happened until then, and for
    /// ever after [`Event::Exited`].
    pub fn next(&mut self, deadline: Option<Instant>) -> io::Result<Option<Event>> {
        loop {
            if self.ended {
                return Ok(None);
            }
            self.link.flush();
            if let Some(arrived) = self.starter.signals.arrived()? {
                self.link.tell(Order::PassOn(arrived.signal).encode());
                return Ok(Some(Event::Signal(arrived.signal)));
            }
            if let Some(event) = self.hear()? {
                return Ok(Some(event));
            }
            let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            if left == Some(Duration::ZERO) {
                return Ok(None);
            }
            self.wait(left)?;
        }
    }

    fn hear(&mut self) -> io::Result<Option<Event>> {
        if self.lost {
            return self.wait_for_orphan();
        }
        let message = match self.link.receive() {
            Received::Packet(packet) => Message::decode(packet),
            Received::Nothing => return Ok(None),
            Received::Closed => {
                self.lost = true;
                // Its socket closes before its children become ours; when it is reaped, they are. The session
                // leader dies with it, and then the job is ours, too.
                self.keeper.wait()?;
                let leader = self.leader.and_then(|pid| Pid::from_raw(pid as i32));
                leader.map(|pid| waitpid(Some(pid), WaitOptions::empty()));
                self.put_modes_back();
                return Ok(Some(Event::KeeperLost));
            }
        };
        Ok(match message {
            Some(Message::Output {
                stream,
                at_ns,
                bytes,
            }) => Some(Event::Output {
                stream,
                at_ns,
                bytes,
            }),
            Some(Message::Dropped(bytes)) => Some(Event::Dropped(bytes)),
            Some(Message::Continued) => Some(Event::Continued),
            Some(Message::Screen(on)) => Some(Event::Screen(on)),
            Some(Message::Keys(bytes)) => Some(Event::Keys(bytes)),
            Some(Message::Inserted { taken, passed }) => Some(Event::Inserted { taken, passed }),
            Some(Message::Stopped(_)) => {
                if let Some(before) = &self.before_stop {
                    before();
                }
                if !stop_here()? {
                    self.link.tell(Order::CannotStop.encode());
                }
                Some(Event::Stopped)
            }
            Some(Message::Exited(exit)) => {
                self.ended = true;
                Some(Event::Exited(exit))
            }
            Some(Message::Born { .. } | Message::Started { .. } | Message::Failed { .. })
            | None => None,
        })
    }

    fn wait(&self, left: Option<Duration>) -> io::Result<()> {
        // A dead keeper's socket is always readable; the job's end is looked for now and then.
        const ORPHAN_LOOK: Duration = Duration::from_millis(100);
        let left = if self.lost {
            Some(left.unwrap_or(ORPHAN_LOOK).min(ORPHAN_LOOK))
        } else {
            left
        };
        let timeout = left.and_then(|left| Timespec::try_from(left).ok());
        let [link, signals] = self.fds();
        let mut fds = if self.lost {
            vec![signals]
        } else {
            vec![link, signals]
        };
        match poll(&mut fds, timeout.as_ref()) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(errno) => Err(errno.into()),
        }
    }

    /// The keeper is dead and the job is our child.
    fn wait_for_orphan(&mut self) -> io::Result<Option<Event>> {
        let main = Pid::from_raw(self.pid as i32);
        match waitpid(main, WaitOptions::NOHANG) {
            Ok(None) => Ok(None),
            Ok(Some((_, status))) => match what_happened(status) {
                Message::Exited(exit) => {
                    self.ended = true;
                    Ok(Some(Event::Exited(exit)))
                }
                _ => Ok(None),
            },
            Err(errno) => Err(errno.into()),
        }
    }

    fn put_modes_back(&self) {
        if let Some(modes) = &self.starter.modes {
            tcsetattr(io::stdin(), OptionalActions::Now, modes).ok();
        }
    }
}
