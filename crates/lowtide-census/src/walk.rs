//! One pass over the objects that the collector tracks. The process runs on meanwhile: lists are torn, links lead
//! nowhere, and may lead round in circles. A pass that is cut short has missed objects, and says nothing of
//! those; the next one may find them.

use crate::source::{Source, is_pointer};

/// Before every tracked object: its links to the next and the previous one.
const LINKS: u64 = 16;
/// The lowest bits of links carry flags.
const FLAGS: u64 = 3;

/// The objects of one list.
pub(crate) struct List<'a, S> {
    source: &'a S,
    head: u64,
    at: u64,
    circle: Circle,
    whole: bool,
}

/// Brent's way to know a circle: a place that is moved on ever more rarely.
pub(crate) struct Circle {
    seen: u64,
    steps: u64,
    until: u64,
}

impl Circle {
    pub(crate) fn from(first: u64) -> Circle {
        Circle {
            seen: first,
            steps: 0,
            until: 1,
        }
    }

    /// Whether this address was met before.
    pub(crate) fn closes(&mut self, at: u64) -> bool {
        if at == self.seen {
            return true;
        }
        self.steps += 1;
        if self.steps == self.until {
            self.seen = at;
            self.until *= 2;
        }
        false
    }
}

impl<'a, S: Source> List<'a, S> {
    pub(crate) fn new(source: &'a S, head: u64) -> List<'a, S> {
        List {
            source,
            head,
            at: head,
            circle: Circle::from(head),
            whole: false,
        }
    }

    /// It was followed to its end.
    pub(crate) fn is_whole(&self) -> bool {
        self.whole
    }
}

impl<S: Source> Iterator for List<'_, S> {
    /// The address of an object.
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        let next = self.source.word(self.at)? & !FLAGS;
        self.whole = next == self.head;
        if self.whole || !is_pointer(next) || self.circle.closes(next) {
            return None;
        }
        self.at = next;
        Some(next + LINKS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::Direct;
    use lowtide_sys::memory::Image;

    fn linked(links: &[(u64, u64)]) -> Image {
        let write = |image: Image, (at, next): &(u64, u64)| image.with(*at, &next.to_le_bytes());
        links.iter().fold(Image::default(), write)
    }

    #[test]
    fn a_list_ends_where_it_began() {
        let image = linked(&[(0x1000, 0x2000), (0x2000, 0x3001), (0x3000, 0x1000)]);
        let objects: Vec<u64> = List::new(&Direct(&image), 0x1000).collect();
        assert_eq!(objects, [0x2010, 0x3010]);
    }

    #[test]
    fn a_circle_that_leaves_the_head_out_ends_too() {
        let links = (1..1000).map(|n| (n * 0x1000, (n + 1) * 0x1000));
        let links: Vec<_> = links
            .chain([(1_000_000 * 0x1000, 0), (1000 * 0x1000, 500 * 0x1000)])
            .collect();
        let image = linked(&links);
        let count = List::new(&Direct(&image), 0x1000).count();
        assert!((999..4000).contains(&count), "{count}");
    }
}
