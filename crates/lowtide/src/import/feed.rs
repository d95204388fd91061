//! The bytes of a source, piece by piece and once: a file, a pipe, stdin. The readers of this folder see nothing
//! else, so that memory does not grow with the source.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};

use super::ImportError;
use crate::show::progress::Progress;

/// How much of the start decides which format a file has, ...
const LOOK: usize = 64 << 10;
/// ... and how much more where it holds fewer lines than these: the head of a table may be long.
const LOOK_FURTHER: usize = 4 << 20;
const LOOK_LINES: usize = 3;

/// What is read at a time.
const PIECE: usize = 256 << 10;

/// A longer line of a table is cut: a million columns take about as much.
const LINE: usize = 16 << 20;

const MARK: &[u8] = b"\xef\xbb\xbf";

pub(crate) struct Feed<'a> {
    source: Box<dyn Read + 'a>,
    /// What was read of it to know its format; it comes again first.
    start: Vec<u8>,
    at: usize,
    done: u64,
    progress: Progress,
}

impl<'a> Feed<'a> {
    #[cfg(any(test, fuzzing))]
    pub(crate) fn bytes(bytes: &'a [u8]) -> Feed<'a> {
        Feed::stream(bytes).expect("memory can be read")
    }

    /// A file, from where it stands; what is no regular one ends when it ends.
    pub(crate) fn file(mut file: File) -> io::Result<Feed<'a>> {
        use std::io::Seek;
        let found = file.metadata()?;
        if !found.is_file() {
            return Feed::stream(file);
        }
        let size = found.len().saturating_sub(file.stream_position()?);
        Feed::of(Box::new(file), Progress::new("reading", size))
    }

    /// Nobody knows where it ends.
    pub(crate) fn stream(stream: impl Read + 'a) -> io::Result<Feed<'a>> {
        Feed::of(Box::new(stream), Progress::endless("reading"))
    }

    fn of(source: Box<dyn Read + 'a>, progress: Progress) -> io::Result<Feed<'a>> {
        let mut feed = Feed {
            source,
            start: Vec::new(),
            at: 0,
            done: 0,
            progress,
        };
        let look = |feed: &mut Feed<'a>| {
            let source = feed.source.by_ref();
            source.take(LOOK as u64).read_to_end(&mut feed.start)
        };
        let mut got = look(&mut feed)?;
        while got > 0 && feed.start.len() < LOOK_FURTHER && lines_in(&feed.start) < LOOK_LINES {
            got = look(&mut feed)?;
        }
        if feed.start.starts_with(MARK) {
            feed.start.drain(..MARK.len());
        }
        Ok(feed)
    }

    /// The first bytes.
    pub(super) fn start(&self) -> &[u8] {
        &self.start
    }

    /// Hands over every line without its end, also an empty last one.
    pub(super) fn each_line(&mut self, mut each: impl FnMut(&[u8])) -> Result<(), ImportError> {
        let mut reader = BufReader::with_capacity(PIECE, self);
        let mut cut: Vec<u8> = Vec::new();
        loop {
            let piece = reader.fill_buf().map_err(unreadable)?;
            if piece.is_empty() {
                break;
            }
            let end = piece.iter().position(|b| *b == b'\n');
            let line = &piece[..end.unwrap_or(piece.len())];
            if end.is_some() && cut.is_empty() {
                each(line);
            } else {
                cut.extend_from_slice(&line[..line.len().min(LINE - cut.len())]);
                if end.is_some() {
                    each(&cut);
                    cut.clear();
                }
            }
            let used = line.len() + usize::from(end.is_some());
            reader.consume(used);
        }
        each(&cut);
        Ok(())
    }

    /// Hands over everything in pieces.
    pub(super) fn each_piece(&mut self, mut each: impl FnMut(&[u8])) -> Result<(), ImportError> {
        let mut piece = vec![0; PIECE];
        loop {
            match self.read(&mut piece) {
                Ok(0) => return Ok(()),
                Ok(got) => each(&piece[..got]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(unreadable(error)),
            }
        }
    }
}

pub(super) fn unreadable(error: io::Error) -> ImportError {
    ImportError::new(format!("cannot be read: {error}"))
}

fn lines_in(bytes: &[u8]) -> usize {
    bytes.iter().filter(|b| **b == b'\n').count()
}

impl Read for Feed<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let start = &self.start[self.at..];
        let got = if start.is_empty() {
            self.source.read(out)?
        } else {
            let got = start.len().min(out.len());
            out[..got].copy_from_slice(&start[..got]);
            self.at += got;
            got
        };
        self.done += got as u64;
        self.progress.at(self.done);
        Ok(got)
    }
}
