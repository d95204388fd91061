//! The keeper: starts the job, carries its output and the user's keys, passes signals on, reaps what the job leaves
//! behind. It survives the watcher, decides nothing about memory and stays small: one thread, one loop over poll.

use std::io;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use lowtide_core::entry::Exit;
use lowtide_sys::pty::{LEAVE_SCREEN, Terminal};
use lowtide_sys::sigwait::{self, Arrived, SignalSet, Signals};
use lowtide_sys::spawn::{Place, Start};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, read, write};
use rustix::process::{
    Pid, Signal, WaitOptions, getpgid, getpgrp, getpid, getppid, set_child_subreaper, wait,
};

use super::channel::Channel;
use super::leader::what_happened;
use super::link::{Link, Received, pair};
use super::relay::{Delivery, Relay, Stands};
use super::routes::Routes;
use super::start::{self, Orders, Part, failed};
use super::wire::{LONGEST_PIECE, Message, Order, Route, Stream};
use crate::fault;

/// How often to look whether the shell gave us the terminal back. `fg` of a job that runs in the background sends
/// no signal; half a second is about the time to start typing.
const FOREGROUND_LOOK: Duration = Duration::from_millis(500);

/// Keys on their way from the user's terminal to the job's; a terminal line is at most this long (N_TTY).
const KEYS: usize = 4096;

pub(super) fn main(orders: Orders) -> ExitCode {
    rustix::thread::set_name(c"lowtide-keeper").ok();
    // The orders' socket leads to the watcher; it is kept open until the job runs or cannot.
    let Ok(socket) = orders.socket.try_clone() else {
        return ExitCode::from(125);
    };
    match Keeper::start(orders) {
        Ok(mut keeper) => {
            drop(socket);
            ExitCode::from(keeper.carry().code() as u8)
        }
        Err(error) => {
            Link::new(socket).tell(failed(&error).encode());
            ExitCode::from(125)
        }
    }
}

struct Keeper {
    watcher: Option<Link>,
    watcher_pid: Option<Pid>,
    /// The watcher was told to stop and nothing was heard of it since.
    watcher_stopped: bool,
    signals: Signals,
    relay: Relay,
    stands: Stands,
    /// The job's main process.
    main: Pid,
    exit: Option<Exit>,
    /// The watcher was told that the job ended.
    told: bool,
    /// The signal that the job is stopped by.
    stopped: Option<i32>,
    leader: Option<Link>,
    terminal: Option<Terminal>,
    keys: Vec<u8>,
    /// The watcher draws on the user's terminal, and the first channel is muted.
    screen: bool,
    channels: Vec<Channel>,
    slaves: Vec<std::os::fd::OwnedFd>,
}

impl Keeper {
    fn start(orders: Orders) -> io::Result<Self> {
        set_child_subreaper(Some(getpid()))?;
        let watcher_pid = getppid();
        let signals = Signals::of(SignalSet::from_outside())?;
        let Routes {
            job,
            stdout,
            stderr,
            channels,
            apart,
            slaves,
        } = Routes::find()?;
        let mut watcher = Link::new(orders.socket.try_clone()?);
        let stands = if apart.is_some() {
            Stands::Apart
        } else {
            Stands::Beside
        };
        let started = match apart {
            Some(own) => start_at_terminal(orders, own, job)?,
            None => start_beside(&orders, job, (stdout, stderr))?,
        };
        fault::kill_if_named("keeper");
        watcher.tell(
            Message::Started {
                pid: started.main.as_raw_nonzero().get() as u32,
                leader: started.leader.as_ref().map(|(_, pid)| *pid),
                stdout,
                stderr,
            }
            .encode(),
        );
        start::let_go_of_streams()?;
        Ok(Self {
            watcher: Some(watcher),
            watcher_pid,
            watcher_stopped: false,
            signals,
            relay: Relay::new(stands),
            stands,
            main: started.main,
            exit: None,
            told: false,
            stopped: None,
            leader: started.leader.map(|(link, _)| link),
            terminal: started.terminal,
            keys: Vec::new(),
            screen: false,
            channels,
            slaves,
        })
    }

    fn carry(&mut self) -> Exit {
        loop {
            self.wait_for_something();
            self.hear_signals();
            self.hear_leader();
            self.hear_watcher();
            self.deliver_due();
            self.carry_keys();
            self.carry_output();
            if let Some(exit) = self.exit {
                self.tell_exit(exit);
                let heard = self.watcher.as_ref().is_none_or(Link::is_flushed);
                if self.told && heard && !self.channels.iter().any(Channel::is_open) {
                    return exit;
                }
            }
        }
    }

    fn wait_for_something(&mut self) {
        let now = Instant::now();
        let look = self.wants_terminal().then(|| now + FOREGROUND_LOOK);
        let until = self.relay.next_due().into_iter().chain(look).min();
        let timeout =
            until.and_then(|until| Timespec::try_from(until.saturating_duration_since(now)).ok());
        let mut fds = vec![PollFd::new(&self.signals, PollFlags::IN)];
        fds.extend(self.watcher.as_ref().map(Link::interest));
        fds.extend(self.leader.as_ref().map(Link::interest));
        fds.extend(self.channels.iter().flat_map(Channel::interests));
        if let Some(terminal) = self.terminal.as_ref().filter(|terminal| terminal.is_lent()) {
            if self.keys.is_empty() {
                fds.push(PollFd::new(terminal, PollFlags::IN));
            } else if let Some(job) = self.channels[0].source() {
                fds.push(PollFd::new(job, PollFlags::OUT));
            }
        }
        // An error here can only be EINTR; the looks that follow do not block.
        poll(&mut fds, timeout.as_ref()).ok();
    }

    fn hear_signals(&mut self) {
        while let Ok(Some(arrived)) = self.signals.arrived() {
            match Signal::from_named_raw(arrived.signal) {
                Some(Signal::CHILD) => self.reap(),
                Some(Signal::WINCH) => self.resize(),
                Some(Signal::TTIN | Signal::TTOU) => {}
                _ if self.watcher.is_some() => {
                    if arrived.signal == Signal::CONT.as_raw() {
                        self.watcher_stopped = false;
                    }
                    let delivery = self.relay.witness(arrived, Instant::now());
                    self.deliver(delivery);
                }
                _ => self.stand_in_for_watcher(arrived),
            }
        }
    }

    /// The watcher is gone, so a signal that reaches the keeper may be meant for the job. One from the terminal or
    /// from within the job's own group has reached the job already.
    fn stand_in_for_watcher(&mut self, arrived: Arrived) {
        let from_group =
            || getpgid(Pid::from_raw(arrived.sender as i32)).is_ok_and(|group| group == getpgrp());
        let has_it = self.stands == Stands::Beside && (arrived.sender == 0 || from_group());
        if !has_it {
            self.deliver(Some(Delivery::Main(arrived.signal)));
        }
    }

    fn deliver_due(&mut self) {
        while let Some(delivery) = self.relay.due(Instant::now()) {
            self.deliver(Some(delivery));
        }
    }

    fn deliver(&mut self, delivery: Option<Delivery>) {
        // Once the main process has ended its number may belong to another one.
        let (Some(delivery), None) = (delivery, self.exit) else {
            return;
        };
        let main = self.main.as_raw_nonzero().get() as u32;
        // A job that changed its user cannot be signalled by its user either.
        match delivery {
            Delivery::Main(signal) => sigwait::send(main, signal).ok(),
            Delivery::Group(signal) => sigwait::send_group(main, signal).ok(),
        };
    }

    fn hear_watcher(&mut self) {
        while let Some(watcher) = &mut self.watcher {
            watcher.flush();
            let order = match watcher.receive() {
                Received::Packet(packet) => Order::decode(packet),
                Received::Nothing => return,
                Received::Closed => {
                    self.watcher_died();
                    return;
                }
            };
            self.watcher_stopped = false;
            match order {
                Some(Order::PassOn(signal)) => {
                    let delivery = self.relay.passed_on(signal, Instant::now());
                    self.deliver(delivery);
                }
                Some(Order::Send(signal)) => self.deliver(Some(Delivery::Main(signal))),
                // Ctrl-Z where no shell waits: without us it would have had no effect.
                Some(Order::CannotStop) => {
                    let by_key = self
                        .stopped
                        .is_some_and(|signal| signal != Signal::STOP.as_raw());
                    if by_key && self.stands == Stands::Apart {
                        self.deliver(Some(Delivery::Group(Signal::CONT.as_raw())));
                    }
                }
                Some(Order::Screen { rows, columns }) => self.give_screen(rows, columns),
                Some(Order::Plain) => self.take_screen(&[]),
                Some(Order::Insert { stream, at, bytes }) => self.insert(stream, at, &bytes),
                None => {}
            }
        }
    }

    /// The watcher shows what the job prints. Only where the job has a terminal of its own.
    fn give_screen(&mut self, rows: u16, columns: u16) {
        if self.stands != Stands::Apart {
            return;
        }
        self.channels[0].set_size(rows, columns);
        if !self.screen {
            self.screen = true;
            self.channels[0].mute();
            if let Some(watcher) = &mut self.watcher {
                watcher.tell(Message::Screen(true).encode());
            }
        }
    }

    fn take_screen(&mut self, first: &[u8]) {
        if !self.screen {
            return;
        }
        self.screen = false;
        self.channels[0].unmute(first);
        self.channels[0].resize();
        if let Some(watcher) = &mut self.watcher {
            watcher.tell(Message::Screen(false).encode());
        }
    }

    /// Once the end was told, the watcher writes for itself, and would say this twice.
    fn insert(&mut self, stream: Stream, at: u64, bytes: &[u8]) {
        let mut channels = self.channels.iter_mut();
        let channel = channels.find(|channel| channel.stream() == stream);
        let (taken, passed) = match channel.filter(|_| !self.told) {
            Some(channel) => (channel.insert(at, bytes), channel.passed()),
            None => (false, 0),
        };
        if let Some(watcher) = &mut self.watcher {
            watcher.tell(Message::Inserted { taken, passed }.encode());
        }
    }

    fn watcher_died(&mut self) {
        self.watcher = None;
        // What it drew on is left as a view that ends by itself leaves it, unless a shell has the terminal.
        let drew = self.terminal.as_ref().is_some_and(Terminal::is_lent);
        self.take_screen(if drew { LEAVE_SCREEN } else { &[] });
        self.give_terminal_back();
        self.terminal = None;
        for arrived in self.relay.watcher_gone(Instant::now()) {
            self.stand_in_for_watcher(arrived);
        }
    }

    fn hear_leader(&mut self) {
        while let Some(leader) = &mut self.leader {
            match leader.receive() {
                Received::Packet(packet) => {
                    if let Some(message) = Message::decode(packet) {
                        self.job_changed(message);
                    }
                }
                Received::Nothing => return,
                // The job is the keeper's own child then, see `reap`.
                Received::Closed => self.leader = None,
            }
        }
    }

    fn reap(&mut self) {
        let options = WaitOptions::NOHANG | WaitOptions::UNTRACED | WaitOptions::CONTINUED;
        while let Ok(Some((pid, status))) = wait(options) {
            if pid == self.main {
                self.job_changed(what_happened(status));
            }
        }
    }

    fn job_changed(&mut self, message: Message) {
        match message {
            Message::Exited(exit) if self.exit.is_none() => {
                self.exit = Some(exit);
                self.slaves.clear();
                self.channels.iter_mut().for_each(Channel::main_ended);
                return;
            }
            Message::Stopped(signal) => {
                self.stopped = Some(signal);
                self.watcher_stopped = self.watcher.is_some();
                self.give_terminal_back();
            }
            Message::Continued => {
                self.stopped = None;
                // Somebody continued the job alone; the shell must learn that it runs.
                if self.watcher_stopped && getppid() == self.watcher_pid {
                    self.watcher_stopped = false;
                    self.watcher_pid.map(|pid| {
                        sigwait::send(pid.as_raw_nonzero().get() as u32, Signal::CONT.as_raw())
                    });
                }
            }
            _ => return,
        }
        if let Some(watcher) = &mut self.watcher {
            watcher.tell(message.encode());
        }
    }

    /// The job runs and has no keyboard.
    fn wants_terminal(&self) -> bool {
        let idle = self
            .terminal
            .as_ref()
            .is_some_and(|terminal| !terminal.is_lent());
        idle && self.stopped.is_none() && self.exit.is_none()
    }

    fn give_terminal_back(&mut self) {
        // A terminal that is gone needs no modes.
        self.terminal.as_mut().map(Terminal::restore);
        self.keys.clear();
    }

    fn carry_keys(&mut self) {
        let wanted = self.wants_terminal();
        let Some(terminal) = &mut self.terminal else {
            return;
        };
        if wanted && terminal.is_ours() {
            terminal.lend().ok();
            self.channels[0].resize();
        }
        if !terminal.is_lent() {
            return;
        }
        if self.keys.is_empty() && readable(terminal) {
            self.keys.resize(KEYS, 0);
            let got = read(&*terminal, &mut self.keys[..]);
            self.keys.truncate(*got.as_ref().unwrap_or(&0));
            if self.screen {
                self.sort_keys();
            }
            match got {
                Ok(1..) | Err(Errno::INTR | Errno::AGAIN) => {}
                // Not in the foreground any more, or hung up. In the second case the channel notices, too.
                _ => self.give_terminal_back(),
            }
        }
        if let (false, Some(job)) = (self.keys.is_empty(), self.channels[0].source()) {
            match write(job, &self.keys) {
                Ok(written) => drop(self.keys.drain(..written)),
                Err(Errno::AGAIN | Errno::INTR) => {}
                Err(_) => self.keys.clear(),
            }
        }
    }

    /// Ctrl-C, Ctrl-Z and Ctrl-\\ are the job's also while the watcher has the screen; it could be slow.
    fn sort_keys(&mut self) {
        let is_jobs = |key: &u8| matches!(key, 0x03 | 0x1a | 0x1c);
        let (jobs, rest) = self.keys.drain(..).partition(is_jobs);
        self.keys = jobs;
        if let Some(watcher) = self.watcher.as_mut().filter(|_| !rest.is_empty()) {
            watcher.try_tell(&Message::Keys(rest).encode());
        }
    }

    fn resize(&mut self) {
        let mut changed = false;
        for channel in &self.channels {
            changed |= channel.resize();
        }
        // A terminal that controls nobody tells nobody.
        if changed && self.stands == Stands::Beside {
            self.deliver(Some(Delivery::Main(Signal::WINCH.as_raw())));
        }
    }

    fn carry_output(&mut self) {
        let watcher = &mut self.watcher;
        for channel in &mut self.channels {
            channel.pump(|stream: Stream, bytes| {
                if let Some(watcher) = watcher {
                    watcher.offer(stream, bytes);
                }
            });
        }
    }

    fn tell_exit(&mut self, exit: Exit) {
        if self.told || !self.channels.iter().all(Channel::is_drained) {
            return;
        }
        self.give_terminal_back();
        self.terminal = None;
        self.told = true;
        if let Some(watcher) = &mut self.watcher {
            watcher.tell(Message::Exited(exit).encode());
        }
    }
}

fn readable(terminal: &Terminal) -> bool {
    let mut fds = [PollFd::new(terminal, PollFlags::IN)];
    let at_once = Timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    poll(&mut fds, Some(&at_once)).is_ok_and(|ready| ready > 0)
}

/// The job's ends of stdin, stdout and stderr; none: ours.
type Streams = [Option<std::os::fd::OwnedFd>; 3];

struct StartedJob {
    main: Pid,
    /// The session leader, with its pid.
    leader: Option<(Link, u32)>,
    /// The user's terminal, for a job that has its own.
    terminal: Option<Terminal>,
}

fn dress(command: &mut std::process::Command, [stdin, stdout, stderr]: Streams) {
    stdin.map(|fd| command.stdin(fd));
    stdout.map(|fd| command.stdout(fd));
    stderr.map(|fd| command.stderr(fd));
}

/// The job as our child, in our session.
fn start_beside(
    orders: &Orders,
    streams: Streams,
    (stdout, stderr): (Route, Route),
) -> io::Result<StartedJob> {
    let born = Message::Born {
        pid: 0,
        stdout,
        stderr,
    };
    let mut command = orders.command();
    // Without us it would print to nobody, and is told so. Output in files is its own and needs us not.
    let [_, stdout, stderr] = &streams;
    let carried = stdout.is_some() || stderr.is_some();
    dress(&mut command, streams);
    Start {
        mask: orders.mask,
        parent_death: carried.then(|| Signal::HUP.as_raw()),
        announce: Some((orders.socket.try_clone()?, born.encode())),
        ..Start::default()
    }
    .apply(&mut command);
    Ok(StartedJob {
        main: Pid::from_child(&command.spawn()?),
        leader: None,
        terminal: None,
    })
}

/// The job at a terminal of its `own`; the user's is lent to it.
fn start_at_terminal(
    orders: Orders,
    own: std::os::fd::OwnedFd,
    streams: Streams,
) -> io::Result<StartedJob> {
    let mut terminal = Terminal::new(rustix::io::fcntl_dupfd_cloexec(io::stdin(), 3)?);
    if terminal.is_ours() {
        terminal.lend()?;
    }
    let started = start_apart(orders, own, |command| dress(command, streams));
    if started.is_err() {
        terminal.restore()?;
    }
    let (main, link, leader) = started?;
    Ok(StartedJob {
        main,
        leader: Some((link, leader)),
        terminal: Some(terminal),
    })
}

/// Starts the job in a session of its own, by way of the session leader.
fn start_apart(
    orders: Orders,
    own: std::os::fd::OwnedFd,
    dress: impl FnOnce(&mut std::process::Command),
) -> io::Result<(Pid, Link, u32)> {
    let (ours, theirs) = pair()?;
    let orders = Orders {
        socket: theirs,
        ..orders
    };
    let mut command = start::part(
        Part::Leader,
        orders,
        Place::Leader(own),
        Some(Signal::KILL.as_raw()),
    );
    dress(&mut command);
    let leader = command.spawn()?.id();
    drop(command);
    let mut buffer = [0; LONGEST_PIECE];
    let (got, _) = rustix::net::recv(&ours, &mut buffer[..], rustix::net::RecvFlags::empty())?;
    match Message::decode(&buffer[..got]) {
        Some(Message::Started { pid, .. }) => {
            let main = Pid::from_raw(pid as i32).ok_or(Errno::SRCH)?;
            Ok((main, Link::new(ours), leader))
        }
        Some(Message::Failed { errno: 0, what }) => Err(io::Error::other(what)),
        Some(Message::Failed { errno, .. }) => Err(io::Error::from_raw_os_error(errno)),
        _ => Err(io::Error::other(
            "the session leader ended before the job began",
        )),
    }
}
