//! Which addresses were copied, and where to; and which were looked at and held nothing.

/// What is known of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Row {
    /// It is in the copy, at this place.
    Copied(usize),
    /// There was nothing.
    Empty,
    /// Nobody has looked there.
    Unknown,
}

/// Stretches of addresses, by address.
#[derive(Debug, Default)]
pub(super) struct Rows {
    copied: Vec<(u64, u64, usize)>,
    looked: Vec<(u64, u64)>,
}

impl Rows {
    /// The next stretch that was looked at. They come by address.
    pub(super) fn looked_at(&mut self, start: u64, end: u64) {
        match self.looked.last_mut() {
            Some(last) if last.1 >= start => last.1 = last.1.max(end),
            _ => self.looked.push((start, end)),
        }
    }

    /// The next stretch that was copied, and where to.
    pub(super) fn copied(&mut self, start: u64, length: u64, place: usize) {
        match self.copied.last_mut() {
            Some((from, to, at)) if *to == start && *at + (*to - *from) as usize == place => {
                *to += length;
            }
            _ if length == 0 => {}
            _ => self.copied.push((start, start + length, place)),
        }
    }

    /// What is known of an address, and up to which one the same is, `end` at most.
    pub(super) fn at(&self, address: u64, end: u64) -> (Row, u64) {
        let above = (self.copied).partition_point(|(_, to, _)| *to <= address);
        let mut until = end;
        match self.copied.get(above) {
            Some((from, to, place)) if *from <= address => {
                let place = place + (address - from) as usize;
                return (Row::Copied(place), end.min(*to));
            }
            Some((from, _, _)) => until = until.min(*from),
            None => {}
        }
        let above = self.looked.partition_point(|(_, to)| *to <= address);
        match self.looked.get(above) {
            Some((from, to)) if *from <= address => (Row::Empty, until.min(*to)),
            Some((from, _)) => (Row::Unknown, until.min(*from)),
            None => (Row::Unknown, until),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_copied_or_empty_or_unknown() {
        let mut rows = Rows::default();
        rows.looked_at(100, 200);
        rows.looked_at(200, 300);
        rows.looked_at(400, 500);
        rows.copied(110, 20, 0);
        rows.copied(130, 10, 20);
        rows.copied(140, 10, 90);
        rows.copied(250, 0, 0);
        rows.copied(400, 100, 100);
        let at = |address| rows.at(address, 1000);
        assert_eq!(at(0), (Row::Unknown, 100));
        assert_eq!(at(100), (Row::Empty, 110));
        // Two that lie together in the process and in the copy are one.
        assert_eq!(at(115), (Row::Copied(5), 140));
        assert_eq!(at(140), (Row::Copied(90), 150));
        assert_eq!(at(150), (Row::Empty, 300));
        assert_eq!(at(300), (Row::Unknown, 400));
        assert_eq!(at(499), (Row::Copied(199), 500));
        assert_eq!(at(500), (Row::Unknown, 1000));
        assert_eq!(rows.at(115, 120), (Row::Copied(5), 120));
    }
}
