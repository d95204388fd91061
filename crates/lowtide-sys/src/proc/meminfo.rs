//! `/proc/meminfo`: the machine's memory.

use lowtide_core::sample::Node;
use lowtide_core::units::Bytes;

use super::text::each_field;

pub fn parse(bytes: &[u8]) -> Option<Node> {
    let mut node = Node::default();
    let mut cached = Bytes::ZERO;
    each_field(bytes, |name, value| {
        let kib = Bytes::from_kib(value);
        match name {
            b"MemTotal" => node.total = kib,
            b"MemAvailable" => node.available = kib,
            b"Cached" => cached = kib,
            b"Shmem" => node.shmem = kib,
            b"SwapTotal" => node.swap_total = kib,
            b"SwapFree" => node.swap_free = kib,
            _ => {}
        }
    });
    // The kernel's `Cached` includes shared memory, which cannot be dropped.
    node.page_cache = cached.saturating_sub(node.shmem);
    (node.total > Bytes::ZERO).then_some(node)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn page_cache_is_without_shared_memory() {
        let node = parse(b"MemTotal: 1000 kB\nMemAvailable: 800 kB\nCached: 300 kB\nShmem: 100 kB\nSwapTotal: 50 kB\nSwapFree: 40 kB\n").unwrap();
        assert_eq!(node.total, Bytes::from_kib(1000));
        assert_eq!(node.available, Bytes::from_kib(800));
        assert_eq!(node.page_cache, Bytes::from_kib(200));
        assert_eq!(node.shmem, Bytes::from_kib(100));
        assert_eq!(node.swap_total, Bytes::from_kib(50));
        assert_eq!(node.swap_free, Bytes::from_kib(40));
        assert_eq!(parse(b"nonsense"), None);
    }

    proptest! {
        #[test]
        fn any_bytes_are_survived(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
            let _ = parse(&bytes);
        }
    }
}
