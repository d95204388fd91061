//! Terminals: the pair that stands between a job and its user, and the user's own one while a job has it.
//!
//! Read by the keeper of `lowtide run`, and by tests that play the user.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::process::getpgrp;
use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::termios::{
    OptionalActions, OutputModes, Termios, Winsize, tcgetattr, tcgetpgrp, tcgetwinsize, tcsetattr,
    tcsetwinsize,
};

/// Begins a full-screen view: another screen, nothing on it, no cursor. The first byte ends a sequence of
/// somebody else that was cut off.
pub const ENTER_SCREEN: &[u8] = b"\x18\x1b[?1049h\x1b[?25l\x1b[2J";

/// Ends it, whatever state its last bytes left.
pub const LEAVE_SCREEN: &[u8] = b"\x18\x1b[?2026l\x1b[m\x1b[?25h\x1b[?1049l";

/// A pair of pseudo-terminal ends.
#[derive(Debug)]
pub struct Pty {
    /// Ours: what the job prints is read here, what the user types is written here.
    pub master: OwnedFd,
    /// The job's.
    pub slave: OwnedFd,
}

impl Pty {
    pub fn open() -> io::Result<Self> {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let master = openpt(flags)?;
        grantpt(&master)?;
        unlockpt(&master)?;
        // By ioctl rather than by name: /dev/pts may belong to another mount namespace.
        let slave = ioctl_tiocgptpeer(&master, flags)?;
        Ok(Self { master, slave })
    }

    /// One that looks like this terminal: its size, its modes.
    pub fn like(terminal: BorrowedFd) -> io::Result<Self> {
        let pty = Self::open()?;
        tcsetattr(&pty.slave, OptionalActions::Now, &tcgetattr(terminal)?)?;
        copy_size(terminal, pty.master.as_fd())?;
        Ok(pty)
    }

    /// Lets output through byte by byte, for a terminal behind this one that treats it itself.
    pub fn output_untreated(&self) -> io::Result<()> {
        let mut modes = tcgetattr(&self.slave)?;
        modes.output_modes.remove(OutputModes::OPOST);
        Ok(tcsetattr(&self.slave, OptionalActions::Now, &modes)?)
    }
}

/// Gives one terminal the size of another; true when it was another one before.
pub fn copy_size(from: BorrowedFd, to: BorrowedFd) -> io::Result<bool> {
    let (wanted, present): (Winsize, Winsize) = (tcgetwinsize(from)?, tcgetwinsize(to)?);
    if wanted == present {
        return Ok(false);
    }
    tcsetwinsize(to, wanted)?;
    Ok(true)
}

pub fn set_size(terminal: BorrowedFd, rows: u16, columns: u16) -> io::Result<()> {
    let size = Winsize {
        ws_row: rows,
        ws_col: columns,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    Ok(tcsetwinsize(terminal, size)?)
}

/// The user's terminal. While the job has it every key passes through untouched; the job's own pty gives keys
/// their meaning.
pub struct Terminal {
    fd: OwnedFd,
    /// The modes to put back, and those we set, while they are set.
    lent: Option<(Termios, Termios)>,
}

impl Terminal {
    pub fn new(fd: OwnedFd) -> Self {
        Self { fd, lent: None }
    }

    /// Whether this process may read the terminal: it is in its foreground, or the terminal controls no group.
    pub fn is_ours(&self) -> bool {
        tcgetpgrp(&self.fd).map_or(true, |group| group == getpgrp())
    }

    pub fn is_lent(&self) -> bool {
        self.lent.is_some()
    }

    /// Sets it raw. SIGTTOU must be blocked.
    pub fn lend(&mut self) -> io::Result<()> {
        if self.lent.is_some() {
            return Ok(());
        }
        let former = tcgetattr(&self.fd)?;
        let mut raw = former.clone();
        raw.make_raw();
        tcsetattr(&self.fd, OptionalActions::Now, &raw)?;
        self.lent = Some((former, tcgetattr(&self.fd)?));
        Ok(())
    }

    /// Puts the modes back, unless somebody else has changed them since: a shell that already shows its prompt
    /// must not lose its own.
    pub fn restore(&mut self) -> io::Result<()> {
        let Some((former, raw)) = self.lent.take() else {
            return Ok(());
        };
        if same_modes(&tcgetattr(&self.fd)?, &raw) {
            tcsetattr(&self.fd, OptionalActions::Now, &former)?;
        }
        Ok(())
    }
}

impl AsFd for Terminal {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

fn same_modes(a: &Termios, b: &Termios) -> bool {
    a.input_modes == b.input_modes
        && a.output_modes == b.output_modes
        && a.control_modes == b.control_modes
        && a.local_modes == b.local_modes
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::termios::LocalModes;

    fn echoes(pty: &Pty) -> bool {
        tcgetattr(&pty.slave)
            .unwrap()
            .local_modes
            .contains(LocalModes::ECHO)
    }

    #[test]
    fn a_lent_terminal_comes_back_as_it_was() {
        let pty = Pty::open().unwrap();
        let mut terminal = Terminal::new(pty.slave.try_clone().unwrap());
        assert!(echoes(&pty) && !terminal.is_lent());
        terminal.lend().unwrap();
        assert!(!echoes(&pty) && terminal.is_lent());
        terminal.restore().unwrap();
        assert!(echoes(&pty) && !terminal.is_lent());
    }

    #[test]
    fn modes_that_somebody_else_set_are_left_alone() {
        let pty = Pty::open().unwrap();
        let mut terminal = Terminal::new(pty.slave.try_clone().unwrap());
        terminal.lend().unwrap();
        let mut theirs = tcgetattr(&pty.slave).unwrap();
        theirs.local_modes.insert(LocalModes::ISIG);
        tcsetattr(&pty.slave, OptionalActions::Now, &theirs).unwrap();
        terminal.restore().unwrap();
        assert!(!echoes(&pty), "the prompt of the shell lost its modes");
    }

    #[test]
    fn a_pty_takes_size_and_modes_of_another() {
        let user = Pty::open().unwrap();
        let size = Winsize {
            ws_row: 33,
            ws_col: 77,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        tcsetwinsize(&user.slave, size).unwrap();
        let job = Pty::like(user.slave.as_fd()).unwrap();
        assert_eq!(tcgetwinsize(&job.slave).unwrap(), size);
        assert!(!copy_size(user.slave.as_fd(), job.master.as_fd()).unwrap());
    }
}
