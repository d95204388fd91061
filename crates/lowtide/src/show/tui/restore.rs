//! Taking the terminal and giving it back, whatever happens to us: one place holds what is to be undone,
//! and the normal end, a panic of any thread and the keeper's death all go through it.

use std::sync::{Mutex, Once, PoisonError};
use std::time::{Duration, Instant};

use lowtide_sys::pty::{ENTER_SCREEN, LEAVE_SCREEN, Terminal};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use lowtide_sys::sink::Sink;

/// How long a terminal that takes nothing may hold up our end.
const PATIENCE: Duration = Duration::from_secs(2);

/// What is to be undone.
struct Taken {
    sink: Sink,
    /// The terminal whose modes are ours to change; none under `run`, where they are the keeper's.
    modes: Option<Terminal>,
}

static TAKEN: Mutex<Option<Taken>> = Mutex::new(None);

/// Takes the terminal. SIGTTOU must be blocked.
pub(super) fn take(sink: Sink, mut modes: Option<Terminal>) -> std::io::Result<()> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            give_back();
            usual(panic);
        }));
    });
    modes.as_mut().map(Terminal::lend).transpose()?;
    write(&sink, ENTER_SCREEN);
    *TAKEN.lock().unwrap_or_else(PoisonError::into_inner) = Some(Taken { sink, modes });
    Ok(())
}

/// Gives it back; nothing when it was not taken.
pub(super) fn give_back() {
    let taken = TAKEN.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(Taken { sink, mut modes }) = taken {
        write(&sink, LEAVE_SCREEN);
        // A terminal that is gone needs no modes.
        modes.as_mut().map(Terminal::restore);
    }
}

/// Writes all of it, or gives up on a terminal that takes nothing.
pub(crate) fn write(sink: &Sink, mut bytes: &[u8]) {
    let mut until = Instant::now() + PATIENCE;
    while !bytes.is_empty() {
        match sink.write(bytes) {
            // Slow is not stuck: every byte that is taken renews the patience.
            Ok(written) => {
                bytes = &bytes[written..];
                until = Instant::now() + PATIENCE;
            }
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => {
                let left = until.saturating_duration_since(Instant::now());
                let mut fds = [PollFd::new(sink, PollFlags::OUT)];
                let Ok(timeout) = Timespec::try_from(left) else {
                    return;
                };
                if left.is_zero() || poll(&mut fds, Some(&timeout)).is_ok_and(|ready| ready == 0) {
                    return;
                }
            }
            Err(_) => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lowtide_sys::pty::Pty;
    use rustix::termios::{LocalModes, tcgetattr};
    use std::os::fd::AsFd;

    #[test]
    fn a_panic_gives_the_terminal_back() {
        let user = Pty::open().unwrap();
        let echoes = || {
            let modes = tcgetattr(&user.slave).unwrap();
            modes.local_modes.contains(LocalModes::ECHO)
        };
        let sink = Sink::to(user.slave.as_fd()).unwrap();
        let modes = Terminal::new(user.slave.try_clone().unwrap());
        take(sink, Some(modes)).unwrap();
        assert!(!echoes());
        let drawing =
            std::thread::spawn(|| panic!("a frame that cannot be drawn (this test means it)"));
        assert!(drawing.join().is_err());
        assert!(echoes());
        let mut seen = [0; 256];
        let got = rustix::io::read(&user.master, &mut seen[..]).unwrap();
        let seen = seen[..got].to_vec();
        assert!(seen.starts_with(ENTER_SCREEN), "{seen:?}");
        assert!(seen.ends_with(LEAVE_SCREEN), "{seen:?}");
    }
}
