//! What the keeper, the session leader and the watcher tell each other: one message a packet, on sockets that keep
//! packets apart. Both ends are the same binary, so there is no version in it.

use lowtide_core::entry::Exit;

/// One of the job's output streams. Where both go to the same place they are one stream, and that is `Stdout`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    Stdout,
    Stderr,
}

/// How an output stream of the job reaches its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Route {
    /// Copied by the keeper from a pty to the user's terminal.
    Terminal,
    /// Copied by the keeper from a pipe to the user's pipe or socket.
    Pipe,
    /// The job writes to the file itself; whoever wants to know reads the file.
    File,
    /// The job writes to it itself (a device), and nobody can read along.
    Unread,
}

/// From the keeper to the watcher, and from the session leader to the keeper.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Message {
    /// The job itself, before it becomes its program: should the keeper die now, it is known all the same.
    /// [`Message::Started`] or [`Message::Failed`] follows.
    Born {
        pid: u32,
        stdout: Route,
        stderr: Route,
    },
    Started {
        pid: u32,
        /// The session leader, when the job has a terminal of its own.
        leader: Option<u32>,
        stdout: Route,
        stderr: Route,
    },
    /// The job could not be started: the error number of exec, or what else went wrong.
    Failed {
        errno: i32,
        what: String,
    },
    Output {
        stream: Stream,
        /// When the keeper read it, by the monotonic clock.
        at_ns: u64,
        bytes: Vec<u8>,
    },
    /// Output that the watcher did not get because it was slow; the user did.
    Dropped(u64),
    /// The job stopped by this signal.
    Stopped(i32),
    Continued,
    /// The job's main process ended and what it had printed is out.
    Exited(Exit),
    /// From here on what the job prints goes to the watcher alone, which shows it (true), or to the user's
    /// terminal again.
    Screen(bool),
    /// What the user typed while the watcher has the screen, without the keys that are the job's.
    Keys(Vec<u8>),
    /// The answer to [`Order::Insert`]: whether it was taken, and how much of the stream had passed then.
    Inserted {
        taken: bool,
        passed: u64,
    },
}

/// From the watcher to the keeper.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// A signal that the watcher got and that is meant for the job.
    PassOn(i32),
    /// A signal for the job's main process from the watcher itself.
    Send(i32),
    /// The job stopped, but the watcher could not: nobody would continue it.
    CannotStop,
    /// The watcher draws on the user's terminal, and this is the size that it has for the job.
    Screen { rows: u16, columns: u16 },
    /// It does not any more.
    Plain,
    /// Words of the watcher, made to stand where so many bytes of the stream have passed ([`ANYWHERE`]: wherever
    /// it is). The keeper takes them only if that is still so: they would tear what the job printed since.
    Insert {
        stream: Stream,
        at: u64,
        bytes: Vec<u8>,
    },
}

/// For [`Order::Insert`]: between any two pieces.
pub(crate) const ANYWHERE: u64 = u64::MAX;

/// The longest piece of output in a message; a packet must fit the socket's buffer (208 KiB by default).
pub(crate) const LONGEST_PIECE: usize = 64 * 1024;

/// Room for any message.
pub(crate) const LONGEST: usize = LONGEST_PIECE + 16;

const STARTED: u8 = 1;
const FAILED: u8 = 2;
const OUTPUT: u8 = 3;
const DROPPED: u8 = 4;
const STOPPED: u8 = 5;
const CONTINUED: u8 = 6;
const EXITED: u8 = 7;
const SCREEN: u8 = 8;
const KEYS: u8 = 9;
const BORN: u8 = 10;
const INSERTED: u8 = 11;

const INSERT: u8 = 6;

impl Message {
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        match self {
            // The pid stands where `Start::announce` puts it.
            Message::Born {
                pid,
                stdout,
                stderr,
            } => {
                out.push(BORN);
                out.extend(pid.to_le_bytes());
                out.extend([*stdout as u8, *stderr as u8]);
            }
            Message::Started {
                pid,
                leader,
                stdout,
                stderr,
            } => {
                out.push(STARTED);
                out.extend(pid.to_le_bytes());
                out.extend(leader.unwrap_or(0).to_le_bytes());
                out.extend([*stdout as u8, *stderr as u8]);
            }
            Message::Failed { errno, what } => {
                out.push(FAILED);
                out.extend(errno.to_le_bytes());
                out.extend(what.as_bytes().iter().take(LONGEST_PIECE));
            }
            Message::Output {
                stream,
                at_ns,
                bytes,
            } => return encode_output(*stream, *at_ns, bytes),
            Message::Dropped(bytes) => {
                out.push(DROPPED);
                out.extend(bytes.to_le_bytes());
            }
            Message::Stopped(signal) => {
                out.push(STOPPED);
                out.extend(signal.to_le_bytes());
            }
            Message::Continued => out.push(CONTINUED),
            Message::Exited(exit) => {
                let (kind, value) = match exit {
                    Exit::Code(code) => (0, code),
                    Exit::Signal(signal) => (1, signal),
                };
                out.extend([EXITED, kind]);
                out.extend(value.to_le_bytes());
            }
            Message::Screen(on) => out.extend([SCREEN, u8::from(*on)]),
            Message::Keys(bytes) => {
                out.push(KEYS);
                out.extend(bytes);
            }
            Message::Inserted { taken, passed } => {
                out.extend([INSERTED, u8::from(*taken)]);
                out.extend(passed.to_le_bytes());
            }
        }
        out
    }

    /// None when the packet is none of ours.
    pub(super) fn decode(packet: &[u8]) -> Option<Self> {
        let (kind, rest) = packet.split_first()?;
        Some(match *kind {
            BORN => Message::Born {
                pid: u32::from_le_bytes(array(rest)?),
                stdout: route(*rest.get(4)?)?,
                stderr: route(*rest.get(5)?)?,
            },
            STARTED => Message::Started {
                pid: u32::from_le_bytes(array(rest)?),
                leader: Some(u32::from_le_bytes(array(&rest[4..])?)).filter(|pid| *pid != 0),
                stdout: route(*rest.get(8)?)?,
                stderr: route(*rest.get(9)?)?,
            },
            FAILED => Message::Failed {
                errno: i32::from_le_bytes(array(rest)?),
                what: String::from_utf8_lossy(&rest[4..]).into_owned(),
            },
            OUTPUT => {
                let (stream, bytes) = rest.split_first()?;
                let stream = self::stream(*stream)?;
                let (at_ns, bytes) = bytes.split_first_chunk()?;
                Message::Output {
                    stream,
                    at_ns: u64::from_le_bytes(*at_ns),
                    bytes: bytes.to_vec(),
                }
            }
            DROPPED => Message::Dropped(u64::from_le_bytes(array(rest)?)),
            STOPPED => Message::Stopped(i32::from_le_bytes(array(rest)?)),
            CONTINUED => Message::Continued,
            EXITED => {
                let (kind, value) = rest.split_first()?;
                let value = i32::from_le_bytes(array(value)?);
                Message::Exited(match kind {
                    0 => Exit::Code(value),
                    1 => Exit::Signal(value),
                    _ => return None,
                })
            }
            SCREEN => Message::Screen(*rest.first()? == 1),
            KEYS => Message::Keys(rest.to_vec()),
            INSERTED => Message::Inserted {
                taken: *rest.first()? == 1,
                passed: u64::from_le_bytes(array(&rest[1..])?),
            },
            _ => return None,
        })
    }
}

/// The packet of [`Message::Output`], made without a message in between.
pub(crate) fn encode_output(stream: Stream, at_ns: u64, bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(10 + bytes.len());
    out.extend([OUTPUT, stream as u8]);
    out.extend(at_ns.to_le_bytes());
    out.extend(bytes);
    out
}

impl Order {
    pub(super) fn encode(&self) -> Vec<u8> {
        let (kind, signal) = match self {
            Order::PassOn(signal) => (1, *signal),
            Order::Send(signal) => (2, *signal),
            Order::CannotStop => (3, 0),
            Order::Screen { rows, columns } => (4, i32::from(*rows) << 16 | i32::from(*columns)),
            Order::Plain => (5, 0),
            Order::Insert { stream, at, bytes } => {
                let mut out = vec![INSERT, *stream as u8];
                out.extend(at.to_le_bytes());
                out.extend(bytes);
                return out;
            }
        };
        let mut out = vec![kind];
        out.extend(signal.to_le_bytes());
        out
    }

    pub(super) fn decode(packet: &[u8]) -> Option<Self> {
        let (kind, rest) = packet.split_first()?;
        if *kind == INSERT {
            let (stream, rest) = rest.split_first()?;
            let (at, bytes) = rest.split_first_chunk()?;
            return Some(Order::Insert {
                stream: self::stream(*stream)?,
                at: u64::from_le_bytes(*at),
                bytes: bytes.to_vec(),
            });
        }
        let signal = i32::from_le_bytes(array(rest)?);
        match kind {
            1 => Some(Order::PassOn(signal)),
            2 => Some(Order::Send(signal)),
            3 => Some(Order::CannotStop),
            4 => Some(Order::Screen {
                rows: (signal >> 16) as u16,
                columns: signal as u16,
            }),
            5 => Some(Order::Plain),
            _ => None,
        }
    }
}

fn array<const N: usize>(bytes: &[u8]) -> Option<[u8; N]> {
    bytes.first_chunk().copied()
}

fn stream(byte: u8) -> Option<Stream> {
    [Stream::Stdout, Stream::Stderr]
        .into_iter()
        .find(|stream| *stream as u8 == byte)
}

fn route(byte: u8) -> Option<Route> {
    [Route::Terminal, Route::Pipe, Route::File, Route::Unread]
        .into_iter()
        .find(|route| *route as u8 == byte)
}

/// What `scripts/fuzz` tries: any packet is read, and what was understood is said again in the same words.
#[cfg(any(test, fuzzing))]
pub(crate) fn fuzz(packet: &[u8]) {
    if let Some(message) = Message::decode(packet) {
        assert_eq!(Message::decode(&message.encode()), Some(message));
    }
    if let Some(order) = Order::decode(packet) {
        assert_eq!(Order::decode(&order.encode()), Some(order));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_message_comes_back() {
        let started = |leader| Message::Started {
            pid: 7,
            leader,
            stdout: Route::File,
            stderr: Route::Terminal,
        };
        for message in [
            Message::Born {
                pid: 7,
                stdout: Route::File,
                stderr: Route::Unread,
            },
            started(None),
            started(Some(u32::MAX)),
            Message::Failed {
                errno: 2,
                what: "no such file".into(),
            },
            Message::Output {
                stream: Stream::Stderr,
                at_ns: 1 << 60,
                bytes: b"\x00\xff\r\n".to_vec(),
            },
            Message::Dropped(1 << 40),
            Message::Stopped(20),
            Message::Continued,
            Message::Exited(Exit::Code(255)),
            Message::Exited(Exit::Signal(9)),
            Message::Screen(true),
            Message::Screen(false),
            Message::Keys(b"q\x1b[A".to_vec()),
            Message::Inserted {
                taken: true,
                passed: 1 << 50,
            },
        ] {
            assert_eq!(Message::decode(&message.encode()), Some(message));
        }
        let screen = Order::Screen {
            rows: u16::MAX,
            columns: 80,
        };
        for order in [
            Order::PassOn(15),
            Order::Send(64),
            Order::CannotStop,
            screen,
            Order::Plain,
            Order::Insert {
                stream: Stream::Stderr,
                at: ANYWHERE,
                bytes: b"lowtide: \n".to_vec(),
            },
        ] {
            assert_eq!(Order::decode(&order.encode()), Some(order));
        }
    }

    #[test]
    fn the_longest_message_fits_the_room() {
        let bytes = vec![b'x'; LONGEST_PIECE];
        let what = "x".repeat(2 * LONGEST_PIECE);
        assert!(encode_output(Stream::Stdout, u64::MAX, &bytes).len() <= LONGEST);
        let insert = Order::Insert {
            stream: Stream::Stdout,
            at: ANYWHERE,
            bytes,
        };
        assert!(insert.encode().len() <= LONGEST);
        assert!(Message::Failed { errno: 1, what }.encode().len() <= LONGEST);
    }

    proptest! {
        #[test]
        fn any_packet_is_read_without_panic(packet in proptest::collection::vec(any::<u8>(), 0..40)) {
            if let Some(message) = Message::decode(&packet) {
                prop_assert_eq!(Message::decode(&message.encode()), Some(message));
            }
            Order::decode(&packet);
        }
    }
}
