//! An end of the sockets between watcher, keeper and session leader. Sending never blocks: what must arrive waits in
//! an outbox, and copies of output are dropped and counted when the other side is slow.

use std::collections::VecDeque;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socketpair,
};

use crate::monotonic::monotonic_ns;

use super::wire::{LONGEST, Message, Stream, encode_output};

pub(super) struct Link {
    fd: OwnedFd,
    outbox: VecDeque<Vec<u8>>,
    dropped: u64,
    buffer: Box<[u8]>,
    /// The other side is gone.
    closed: bool,
}

/// What a look at the link found.
pub(super) enum Received<'a> {
    Packet(&'a [u8]),
    Nothing,
    /// The other side is gone and everything it sent was read.
    Closed,
}

/// Both ends; packets keep their borders, and each end notices the death of the other.
pub(super) fn pair() -> std::io::Result<(OwnedFd, OwnedFd)> {
    Ok(socketpair(
        AddressFamily::UNIX,
        SocketType::SEQPACKET,
        SocketFlags::CLOEXEC,
        None,
    )?)
}

impl Link {
    pub(super) fn new(fd: OwnedFd) -> Self {
        Self {
            fd,
            outbox: VecDeque::new(),
            dropped: 0,
            buffer: vec![0; LONGEST].into(),
            closed: false,
        }
    }

    pub(crate) fn interest(&self) -> PollFd<'_> {
        let out = if self.outbox.is_empty() {
            PollFlags::empty()
        } else {
            PollFlags::OUT
        };
        PollFd::new(&self.fd, PollFlags::IN | out)
    }

    pub(crate) fn receive(&mut self) -> Received<'_> {
        loop {
            match recv(&self.fd, &mut self.buffer[..], RecvFlags::DONTWAIT) {
                Ok((0, _)) => return Received::Closed,
                Ok((got, _)) => return Received::Packet(&self.buffer[..got]),
                Err(Errno::AGAIN) => return Received::Nothing,
                // Reset: the other side ended before it read all we sent; what it sent still waits here.
                Err(Errno::INTR | Errno::CONNRESET) => {}
                Err(_) => return Received::Closed,
            }
        }
    }

    /// Sends what must arrive: at once, or when there is room.
    pub(super) fn tell(&mut self, packet: Vec<u8>) {
        self.outbox.push_back(packet);
        self.flush();
    }

    /// Sends a copy of output if there is room now.
    pub(super) fn offer(&mut self, stream: Stream, bytes: &[u8]) {
        if self.dropped > 0
            && self.outbox.is_empty()
            && self.put(&Message::Dropped(self.dropped).encode())
        {
            self.dropped = 0;
        }
        let packet = || encode_output(stream, monotonic_ns(), bytes);
        if self.dropped > 0 || !self.outbox.is_empty() || !self.put(&packet()) {
            self.dropped += bytes.len() as u64;
        }
    }

    /// Sends what may be lost, if there is room now.
    pub(crate) fn try_tell(&mut self, packet: &[u8]) {
        if self.outbox.is_empty() {
            self.put(packet);
        }
    }

    pub(super) fn flush(&mut self) {
        while let Some(packet) = self.outbox.pop_front() {
            if !self.put(&packet) {
                self.outbox.push_front(packet);
                return;
            }
        }
    }

    /// Whether all that must arrive is on its way, or cannot arrive any more.
    pub(crate) fn is_flushed(&self) -> bool {
        self.outbox.is_empty()
    }

    /// True when the packet was taken; a closed link takes everything.
    fn put(&mut self, packet: &[u8]) -> bool {
        while !self.closed {
            match send(&self.fd, packet, SendFlags::DONTWAIT | SendFlags::NOSIGNAL) {
                Ok(_) => return true,
                Err(Errno::AGAIN | Errno::NOBUFS) => return false,
                Err(Errno::INTR) => {}
                // A reset is told once and says nothing about this packet; the next try says EPIPE.
                Err(Errno::CONNRESET) => {}
                Err(_) => self.closed = true,
            }
        }
        true
    }
}

impl AsFd for Link {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn links() -> (Link, Link) {
        let (a, b) = pair().unwrap();
        (Link::new(a), Link::new(b))
    }

    fn next(link: &mut Link) -> Option<Message> {
        match link.receive() {
            Received::Packet(packet) => Some(Message::decode(packet).unwrap()),
            _ => None,
        }
    }

    #[test]
    fn a_slow_reader_misses_output_but_nothing_else_and_learns_how_much() {
        let (mut keeper, mut watcher) = links();
        let piece = vec![b'x'; 1000];
        for _ in 0..2000 {
            keeper.offer(Stream::Stdout, &piece);
        }
        keeper.tell(Message::Stopped(20).encode());
        assert!(!keeper.is_flushed());
        let mut got = 0;
        loop {
            match next(&mut watcher) {
                Some(Message::Output { bytes, .. }) => got += bytes.len() as u64,
                Some(Message::Stopped(20)) => break,
                None => keeper.flush(),
                other => panic!("{other:?}"),
            }
        }
        keeper.offer(Stream::Stdout, b"y");
        let Some(Message::Dropped(dropped)) = next(&mut watcher) else {
            panic!("no count")
        };
        assert_eq!(got + dropped, 2_000_000);
        assert!(dropped > 0 && got > 0);
        assert!(matches!(next(&mut watcher), Some(Message::Output { bytes, .. }) if bytes == b"y"));
    }

    #[test]
    fn what_was_sent_is_read_after_the_sender_ended() {
        let (mut keeper, mut watcher) = links();
        watcher.tell(vec![1, 15, 0, 0, 0]);
        keeper.tell(Message::Continued.encode());
        drop(keeper);
        assert_eq!(next(&mut watcher), Some(Message::Continued));
        assert!(matches!(watcher.receive(), Received::Closed));
        watcher.tell(vec![1, 15, 0, 0, 0]);
        assert!(watcher.is_flushed());
    }
}
