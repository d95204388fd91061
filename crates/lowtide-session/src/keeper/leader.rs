//! The leader of the job's session, when the job has a terminal of its own.
//!
//! It is the job's parent and does nothing but wait. The job cannot lead the session itself: when a leader ends, the
//! kernel hangs up the terminal and what the job left running dies. And a process whose parent is in another session
//! cannot be stopped by Ctrl-Z. When this process ends before its time, the kernel hangs up the job's terminal.

use std::os::fd::OwnedFd;
use std::process::ExitCode;

use lowtide_core::entry::Exit;
use lowtide_sys::spawn::{Place, Start};
use rustix::net::{RecvFlags, SendFlags, recv, send};
use rustix::process::{Pid, WaitOptions, WaitStatus, getpid, waitpid};
use rustix::termios::tcsetpgrp;

use super::start::{Orders, failed};
use super::wire::{Message, Route};

pub(super) fn main(orders: Orders) -> ExitCode {
    rustix::thread::set_name(c"lowtide-leader").ok();
    let Ok(terminal) = rustix::io::fcntl_dupfd_cloexec(std::io::stdin(), 3) else {
        return ExitCode::from(125);
    };
    let keeper = &orders.socket;
    let start = Start {
        mask: orders.mask,
        place: Place::Foreground(terminal),
        ..Start::default()
    };
    let mut command = orders.command();
    start.apply(&mut command);
    let child = match command.spawn() {
        Ok(child) => child,
        Err(error) => {
            tell(keeper, &failed(&error));
            return ExitCode::from(125);
        }
    };
    drop(command);
    // Else the terminal would stay open here after the job has closed it.
    super::start::let_go_of_streams().ok();
    let pid = child.id();
    tell(
        keeper,
        &Message::Started {
            pid,
            leader: None,
            stdout: Route::Terminal,
            stderr: Route::Terminal,
        },
    );
    let main = Pid::from_child(&child);
    while let Ok(Some((_, status))) =
        waitpid(Some(main), WaitOptions::UNTRACED | WaitOptions::CONTINUED)
    {
        let message = what_happened(status);
        let ended = matches!(message, Message::Exited(_));
        if ended {
            take_foreground();
        }
        tell(keeper, &message);
        if ended {
            break;
        }
    }
    // The session lives as long as the keeper.
    recv(keeper, &mut [0; 1], RecvFlags::empty()).ok();
    ExitCode::SUCCESS
}

/// What the job left running must not be hung up when this process ends: the kernel tells the foreground.
fn take_foreground() {
    if let Ok(terminal) = std::fs::File::open("/dev/tty") {
        tcsetpgrp(&terminal, getpid()).ok();
    }
}

fn tell(keeper: &OwnedFd, message: &Message) {
    send(keeper, &message.encode(), SendFlags::NOSIGNAL).ok();
}

/// A change of the job's main process, as the watcher learns it.
pub(crate) fn what_happened(status: WaitStatus) -> Message {
    if let Some(signal) = status.stopping_signal() {
        return Message::Stopped(signal);
    }
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => Message::Exited(Exit::Code(code)),
        (_, Some(signal)) => Message::Exited(Exit::Signal(signal)),
        _ => Message::Continued,
    }
}
