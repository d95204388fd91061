//! Which signals were ignored when this program was started: what `nohup`, the background of a script and careless
//! service managers leave behind, and every child inherits.
//!
//! Looked up before `main`, because by then two of them are no longer as they were: Rust's runtime ignores SIGPIPE,
//! and we set SIGCHLD to its default. A job gets them back, see [`crate::spawn`]; what ends our own watching is
//! [`endings`].

use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::sigwait::{LAST, SignalSet};

/// Those that are another way in this process than they were when it started.
pub(crate) const CHANGED: [i32; 2] = [libc::SIGPIPE, libc::SIGCHLD];

static IGNORED: AtomicU64 = AtomicU64::new(0);

/// What was ignored at the start. Safe to call between fork and exec.
pub fn ignored() -> SignalSet {
    SignalSet(IGNORED.load(Ordering::Relaxed))
}

/// What asks a program to end, but for what was ignored at the start: under `nohup` a hangup ends nobody.
pub fn endings() -> SignalSet {
    let endings = [libc::SIGHUP, libc::SIGINT, libc::SIGQUIT, libc::SIGTERM];
    let heard = |signal: &i32| !ignored().contains(*signal);
    endings.into_iter().filter(heard).collect()
}

fn is_ignored(signal: i32) -> bool {
    let mut action = MaybeUninit::<libc::sigaction>::uninit();
    // SAFETY: a null new action only asks; the old one is filled when the call succeeds.
    unsafe {
        libc::sigaction(signal, std::ptr::null(), action.as_mut_ptr()) == 0
            && action.assume_init().sa_sigaction == libc::SIG_IGN
    }
}

extern "C" fn remember() {
    let ignored: SignalSet = (1..=LAST).filter(|n| is_ignored(*n)).collect();
    IGNORED.store(ignored.0, Ordering::Relaxed);
    if ignored.contains(libc::SIGCHLD) {
        // Else the kernel collects our children itself: no signal tells of their end, and their exit code is lost.
        // SAFETY: plain numbers; the default action is no code of ours.
        unsafe { libc::signal(libc::SIGCHLD, libc::SIG_DFL) };
    }
}

/// The loader calls what stands in this section before `main`.
#[used]
// SAFETY: .init_array holds pointers to functions of this kind; the function needs nothing but libc.
#[unsafe(link_section = ".init_array")]
static BEFORE_MAIN: extern "C" fn() = remember;
