//! The frame of a `.wandb` file: LevelDB's log format behind a header of seven bytes. Records are cut at blocks of
//! 32 KiB; each piece has a checksum, its length, and whether it is whole, first, middle or last.

use std::io::Read as _;

use super::super::super::feed::unreadable;
use super::super::super::{Feed, ImportError};

const HEADER: usize = 7;
const MAGIC: &[u8] = b":W&B";
const BLOCK: usize = 32 << 10;

/// Checksum, length and kind.
const PIECE: usize = 7;

/// Pieces are put together up to here; a step of history is some kB. What is longer is left out.
const LONGEST: usize = 16 << 20;

pub(super) fn is(start: &[u8]) -> bool {
    start.starts_with(MAGIC)
}

/// Hands over every record; how many were damaged. A run that was killed, or goes on, ends inside one.
pub(super) fn each_record(
    feed: &mut Feed<'_>,
    mut each: impl FnMut(&[u8]),
) -> Result<usize, ImportError> {
    let mut block = Vec::with_capacity(BLOCK);
    let mut record = Vec::new();
    let mut damaged = 0;
    let mut from = HEADER;
    loop {
        block.clear();
        feed.by_ref()
            .take(BLOCK as u64)
            .read_to_end(&mut block)
            .map_err(unreadable)?;
        if block.is_empty() {
            return Ok(damaged);
        }
        let mut rest = block.get(from..).unwrap_or_default();
        from = 0;
        while let Some(piece) = Piece::next(&mut rest) {
            match piece {
                Piece::Damaged => {
                    damaged += 1;
                    record.clear();
                }
                Piece::Sound { kind, data } => {
                    if matches!(kind, Kind::Whole | Kind::First) {
                        record.clear();
                    }
                    if record.len() + data.len() <= LONGEST {
                        record.extend_from_slice(data);
                    }
                    if matches!(kind, Kind::Whole | Kind::Last) {
                        each(&record);
                    }
                }
            }
        }
    }
}

enum Piece<'a> {
    Sound {
        kind: Kind,
        data: &'a [u8],
    },
    /// With the rest of its block: nobody knows where the next one begins.
    Damaged,
}

#[derive(Clone, Copy)]
enum Kind {
    Whole,
    First,
    Middle,
    Last,
}

impl<'a> Piece<'a> {
    fn next(rest: &mut &'a [u8]) -> Option<Piece<'a>> {
        let (head, after) = rest.split_at_checked(PIECE)?;
        let sum = u32::from_le_bytes([head[0], head[1], head[2], head[3]]);
        let len = usize::from(u16::from_le_bytes([head[4], head[5]]));
        let kind = match head[6] {
            1 => Kind::Whole,
            2 => Kind::First,
            3 => Kind::Middle,
            4 => Kind::Last,
            // Zeros fill a block that ends too soon for a piece.
            _ => {
                *rest = &[];
                return (head.iter().any(|b| *b != 0)).then_some(Piece::Damaged);
            }
        };
        // The file ends inside it.
        let (data, after) = after.split_at_checked(len)?;
        let mut found = crc32fast::Hasher::new();
        found.update(&head[6..]);
        found.update(data);
        if found.finalize() != sum {
            *rest = &[];
            return Some(Piece::Damaged);
        }
        *rest = after;
        Some(Piece::Sound { kind, data })
    }
}
