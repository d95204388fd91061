//! The same few bytes at many addresses: heads of pools and chunks, fields of objects. The room for what
//! is asked and what comes is kept from one batch to the next.

use super::{Memory, Piece};

/// Reads `N` bytes at each of many addresses.
#[derive(Debug, Default)]
pub struct Batch<const N: usize> {
    pieces: Vec<Piece>,
    bytes: Vec<u8>,
    came: Vec<usize>,
}

impl<const N: usize> Batch<N> {
    /// What stands at each address, in their order; `None` where it could not be read as a whole.
    pub fn read(
        &mut self,
        memory: &impl Memory,
        addresses: &[u64],
    ) -> impl Iterator<Item = Option<&[u8; N]>> {
        self.pieces.clear();
        let piece = |address: &u64| Piece {
            address: *address,
            length: N,
        };
        self.pieces.extend(addresses.iter().map(piece));
        // What an earlier batch left is never handed out: `came` says what is of this one.
        if self.bytes.len() < N * addresses.len() {
            self.bytes.resize(N * addresses.len(), 0);
        }
        let room = &mut self.bytes[..N * addresses.len()];
        memory.read_pieces(&self.pieces, room, &mut self.came);
        let (heads, _) = room.as_chunks::<N>();
        let came = self.came.iter();
        came.zip(heads)
            .map(|(came, head)| (*came == N).then_some(head))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::Image;

    #[test]
    fn holes_are_left_out_and_nothing_else() {
        let image = Image::default()
            .with(0x1000, &[1; 16])
            .with(0x3000, &[3; 16])
            .with(0x3010, &[4; 4]);
        let mut batch = Batch::<8>::default();
        let read = |batch: &mut Batch<8>, addresses: &[u64]| -> Vec<Option<[u8; 8]>> {
            let heads = batch.read(&image, addresses);
            heads.map(|head| head.copied()).collect()
        };
        assert_eq!(
            read(&mut batch, &[0x1000, 0x2000, 0x3008, 0x3010, 0x1008]),
            [Some([1; 8]), None, Some([3; 8]), None, Some([1; 8])]
        );
        // Across a seam, and what stood in the room before is not taken for what was read.
        assert_eq!(
            read(&mut batch, &[0x300c, 0x2000]),
            [Some([3, 3, 3, 3, 4, 4, 4, 4]), None]
        );
        assert_eq!(read(&mut batch, &[]), []);
    }
}
