//! The outermost layer of a recording: the head of the file and the frames with their checksums.
//! [`super::codec`] fills frames and reads them; `writer` and `reader` move them.

use crate::cells::put_varint;

pub const MAGIC: &[u8; 8] = b"lowtide\n";
/// Counted up only when older readers would understand something wrongly; what they can step over
/// (docs/recording.md) needs no new one.
pub(crate) const VERSION: u32 = 2;
/// Magic and version.
pub const HEAD_LEN: usize = MAGIC.len() + 4;
/// Length and checksum.
pub const FRAME_HEAD: usize = 8;
/// A longer frame is damage. A key sample of 10,000 processes takes about 1 MB.
pub(crate) const MAX_PAYLOAD: usize = 4 << 20;
/// An open frame that has grown to this is closed, so that one broken byte costs little.
const CLOSE_AT: usize = 64 << 10;

pub fn file_head() -> [u8; HEAD_LEN] {
    let mut head = [0; HEAD_LEN];
    head[..MAGIC.len()].copy_from_slice(MAGIC);
    head[MAGIC.len()..].copy_from_slice(&VERSION.to_le_bytes());
    head
}

/// Whether a frame goes on from those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    Goes = 0,
    Key = 1,
}

/// Frames on their way to the disk; the last one may still be open.
#[derive(Default)]
pub struct Frames {
    bytes: Vec<u8>,
    open: Option<usize>,
}

impl Frames {
    /// Bytes that wait.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Begins a keyframe.
    pub fn begin_key(&mut self) {
        self.close();
        self.begin(Start::Key);
    }

    fn begin(&mut self, start: Start) {
        self.open = Some(self.bytes.len());
        self.bytes.extend_from_slice(&[0; FRAME_HEAD]);
        self.bytes.push(start as u8);
    }

    /// Adds a record to the open frame, or begins one.
    pub fn record(&mut self, kind: u8, body: &[u8]) {
        let full = |at: usize| self.bytes.len() - at + body.len() > CLOSE_AT;
        if self.open.is_some_and(full) && self.open_has_records() {
            self.close();
        }
        if self.open.is_none() {
            self.begin(Start::Goes);
        }
        self.bytes.push(kind);
        put_varint(&mut self.bytes, body.len() as u64);
        self.bytes.extend_from_slice(body);
    }

    fn open_has_records(&self) -> bool {
        self.open
            .is_some_and(|at| self.bytes.len() > at + FRAME_HEAD + 1)
    }

    /// Completes the open frame: it can be read from now on.
    pub fn close(&mut self) {
        let Some(at) = self.open.take() else { return };
        let payload = at + FRAME_HEAD;
        let length = ((self.bytes.len() - payload) as u32).to_le_bytes();
        let sum = checksum(length, &self.bytes[payload..]);
        self.bytes[at..at + 4].copy_from_slice(&length);
        self.bytes[at + 4..payload].copy_from_slice(&sum.to_le_bytes());
    }

    /// Hands over everything, complete, and goes on with the (emptied) room of `batch`.
    pub fn swap_into(&mut self, batch: &mut Vec<u8>) {
        self.close();
        batch.clear();
        std::mem::swap(&mut self.bytes, batch);
    }
}

pub(crate) fn checksum(length: [u8; 4], payload: &[u8]) -> u32 {
    let mut sum = crc32fast::Hasher::new();
    sum.update(&length);
    sum.update(payload);
    sum.finalize()
}

/// What stands at the beginning of some bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    /// A frame with a payload of so many bytes.
    Frame(usize),
    /// A frame with a payload of so many bytes may stand here: there are too few to tell.
    Short(usize),
    /// No frame, but if the length is right, the next one begins after so many bytes of payload.
    Broken(usize),
    /// No frame.
    Nothing,
}

pub fn look(bytes: &[u8]) -> Seen {
    let Some((length, rest)) = bytes.split_first_chunk::<4>() else {
        return Seen::Short(0);
    };
    let payload_len = u32::from_le_bytes(*length) as usize;
    if !(1..=MAX_PAYLOAD).contains(&payload_len) {
        return Seen::Nothing;
    }
    let Some((sum, rest)) = rest.split_first_chunk::<4>() else {
        return Seen::Short(payload_len);
    };
    match rest.get(..payload_len) {
        None => Seen::Short(payload_len),
        Some(payload) if checksum(*length, payload) == u32::from_le_bytes(*sum) => {
            Seen::Frame(payload_len)
        }
        Some(_) => Seen::Broken(payload_len),
    }
}

/// How many of these bytes are whole frames; their checksums are not looked at.
pub(crate) fn whole_frames(bytes: &[u8]) -> usize {
    let mut whole = 0;
    while let Some(length) = bytes[whole..].first_chunk::<4>() {
        let next = whole + FRAME_HEAD + u32::from_le_bytes(*length) as usize;
        if next > bytes.len() {
            break;
        }
        whole = next;
    }
    whole
}
