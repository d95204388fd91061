//! Connections that are open, and which of them is let go: a client that neither reads nor asks must not
//! keep others out.
//!
//! Nobody waits for a place. Where a client has too many connections, or all together are too many, the one
//! in which nothing has moved for longest makes room. All users of a machine come from the same address over
//! loopback, so refusing the newest would let one of them lock out the rest.

use std::io;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::task::AbortHandle;

/// Connections at a time: 256 streams, and room for as many requests.
const ALL: usize = 512;
/// Of one address: all streams and half as many requests, which leaves room for others. Loopback is one address
/// for everybody, so less would be too few.
const EACH: usize = 384;
/// A client takes what it asked for within this time, piece by piece: a slow line does, one that sleeps does not.
const TAKES_WITHIN: Duration = Duration::from_secs(30);
/// A connection without a request may wait this long for the next. A stream has something to say every 15 s.
const ASKS_WITHIN: Duration = Duration::from_secs(75);
/// No answer takes this long; reading a huge recording takes some minutes.
const ANSWERS_WITHIN: Duration = Duration::from_secs(600);

/// What is known of one connection, shared with its task.
#[derive(Debug)]
pub(super) struct Activity {
    began: Instant,
    /// When a byte went either way, in milliseconds since it began.
    moved: AtomicU64,
    /// There is something to write and the client does not take it.
    stuck: AtomicBool,
    /// Requests that are being answered.
    answering: AtomicUsize,
}

impl Activity {
    pub(super) fn new() -> Activity {
        Activity {
            began: Instant::now(),
            moved: AtomicU64::new(0),
            stuck: AtomicBool::new(false),
            answering: AtomicUsize::new(0),
        }
    }

    fn has_moved(&self) {
        let now = self.began.elapsed().as_millis() as u64;
        self.moved.store(now, Ordering::Relaxed);
        self.stuck.store(false, Ordering::Relaxed);
    }

    fn last_moved(&self) -> Instant {
        self.began + Duration::from_millis(self.moved.load(Ordering::Relaxed))
    }

    /// A request is answered from here on until what is returned is dropped.
    pub(super) fn answers(self: &Arc<Activity>) -> Answering {
        self.answering.fetch_add(1, Ordering::Relaxed);
        Answering(Arc::clone(self))
    }

    fn waits_for_client(&self) -> bool {
        self.stuck.load(Ordering::Relaxed) || self.answering.load(Ordering::Relaxed) == 0
    }

    fn is_overdue(&self, now: Instant) -> bool {
        let still = now.saturating_duration_since(self.last_moved());
        let most = if self.stuck.load(Ordering::Relaxed) {
            TAKES_WITHIN
        } else if self.answering.load(Ordering::Relaxed) == 0 {
            ASKS_WITHIN
        } else {
            ANSWERS_WITHIN
        };
        still > most
    }
}

pub(super) struct Answering(Arc<Activity>);

impl Drop for Answering {
    fn drop(&mut self) {
        self.0.answering.fetch_sub(1, Ordering::Relaxed);
    }
}

struct Held {
    from: IpAddr,
    activity: Arc<Activity>,
    task: AbortHandle,
}

#[derive(Default)]
pub(super) struct Connections {
    held: Vec<Held>,
}

impl Connections {
    /// Takes in one that was started, and makes room for it first.
    pub(super) fn add(&mut self, from: IpAddr, activity: Arc<Activity>, task: AbortHandle) {
        self.held.retain(|held| !held.task.is_finished());
        let of_client = self.held.iter().filter(|held| held.from == from).count();
        if of_client >= EACH {
            self.let_go_of_stillest(|held| held.from == from);
        } else if self.held.len() >= ALL {
            self.let_go_of_stillest(|_| true);
        }
        self.held.push(Held {
            from,
            activity,
            task,
        });
    }

    fn let_go_of_stillest(&mut self, among: impl Fn(&Held) -> bool) {
        let all = self.held.iter().enumerate();
        let stillest = all.filter(|(_, held)| among(held)).min_by_key(|(_, held)| {
            // An answer that is being made is worth more than a client that waits.
            let activity = &held.activity;
            (!activity.waits_for_client(), activity.last_moved())
        });
        if let Some((nth, _)) = stillest {
            self.held.swap_remove(nth).task.abort();
        }
    }

    /// Ends those whose client is asleep.
    pub(super) fn sweep(&mut self, now: Instant) {
        self.held.retain(|held| {
            if held.activity.is_overdue(now) {
                held.task.abort();
            }
            !held.task.is_finished()
        });
    }
}

/// A socket that tells when something moves.
pub(super) struct Watched<S> {
    pub inner: S,
    pub activity: Arc<Activity>,
}

impl<S> Watched<S> {
    fn note<T>(&self, done: &Poll<io::Result<T>>) {
        match done {
            Poll::Ready(_) => self.activity.has_moved(),
            Poll::Pending => self.activity.stuck.store(true, Ordering::Relaxed),
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Watched<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let done = Pin::new(&mut self.inner).poll_read(cx, buf);
        // To ask for more while it does not read is no sign of life: only writing ends being stuck.
        if buf.filled().len() > before && !self.activity.stuck.load(Ordering::Relaxed) {
            self.activity.has_moved();
        }
        done
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Watched<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let done = Pin::new(&mut self.inner).poll_write(cx, bytes);
        self.note(&done);
        done
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let done = Pin::new(&mut self.inner).poll_write_vectored(cx, pieces);
        self.note(&done);
        done
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_sleeps_is_overdue_and_who_computes_is_not() {
        let activity = Arc::new(Activity::new());
        let after = |time: Duration| activity.began + time + Duration::from_millis(1);
        assert!(!activity.is_overdue(after(TAKES_WITHIN)));
        assert!(activity.is_overdue(after(ASKS_WITHIN)));
        let answering = activity.answers();
        assert!(!activity.is_overdue(after(ASKS_WITHIN)) && !activity.waits_for_client());
        assert!(activity.is_overdue(after(ANSWERS_WITHIN)));
        activity.stuck.store(true, Ordering::Relaxed);
        assert!(activity.is_overdue(after(TAKES_WITHIN)) && activity.waits_for_client());
        activity.has_moved();
        assert!(!activity.is_overdue(after(TAKES_WITHIN)));
        drop(answering);
        assert!(activity.waits_for_client());
    }

    #[test]
    fn the_stillest_makes_room_and_nobody_elses_does() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        let mut connections = Connections::default();
        let add = |connections: &mut Connections, from: [u8; 4], moved: u64| {
            let activity = Arc::new(Activity::new());
            activity.moved.store(moved, Ordering::Relaxed);
            let task = runtime.spawn(std::future::pending::<()>());
            connections.add(from.into(), Arc::clone(&activity), task.abort_handle());
        };
        for moved in 0..EACH as u64 {
            add(&mut connections, [127, 0, 0, 1], 1000 + moved);
        }
        add(&mut connections, [10, 0, 0, 1], 0);
        add(&mut connections, [127, 0, 0, 1], 9000);
        let moved = |held: &Held| held.activity.moved.load(Ordering::Relaxed);
        assert_eq!(connections.held.len(), EACH + 1);
        assert!(connections.held.iter().all(|held| moved(held) != 1000));
        assert!(connections.held.iter().any(|held| moved(held) == 0));
        for other in 0..ALL as u64 {
            let from = [10, 1, (other / 100) as u8, (other % 100) as u8];
            add(&mut connections, from, 5000 + other);
        }
        assert_eq!(connections.held.len(), ALL);
        assert!(connections.held.iter().all(|held| moved(held) != 0));
    }
}
