//! `/proc/PID/smaps_rollup`: proportional and private sizes. The kernel walks the page tables under
//! the target's lock for it (9 to 15 ms per GiB of 4 KiB pages), so the sampler reads it on a budget.

use lowtide_core::units::Bytes;

use super::text::each_field;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rollup {
    pub anon: Bytes,
    pub file: Bytes,
    pub shmem: Bytes,
    pub swap: Bytes,
    /// Private clean and dirty, huge pages included.
    pub uss: Bytes,
    /// All anonymous pages mapped, shared or not: `RssAnon` at this moment.
    pub rss_anon: Bytes,
}

pub fn parse(bytes: &[u8]) -> Option<Rollup> {
    let mut rollup = Rollup::default();
    let mut pss = None;
    let mut by_kind = false;
    each_field(bytes, |name, value| {
        let kib = Bytes::from_kib(value);
        match name {
            b"Pss" => pss = Some(kib),
            b"Pss_Anon" => {
                rollup.anon = kib;
                by_kind = true;
            }
            b"Pss_File" => rollup.file = kib,
            b"Pss_Shmem" => rollup.shmem = kib,
            b"SwapPss" => rollup.swap = kib,
            b"Private_Clean" | b"Private_Dirty" | b"Private_Hugetlb" => {
                rollup.uss = rollup.uss + kib;
            }
            b"Anonymous" => rollup.rss_anon = kib,
            _ => {}
        }
    });
    pss?;
    // Kernels before 5.9 do not tell the kinds apart, and a guess would be no reading.
    by_kind.then_some(rollup)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn kinds_are_told_apart() {
        let text = b"560753c26000-7fff7b85d000 ---p 00000000 00:00 0    [rollup]\nRss: 1760 kB\nPss: 309 kB\nPss_Dirty: 112 kB\nPss_Anon: 112 kB\nPss_File: 197 kB\nPss_Shmem: 5 kB\nShared_Clean: 1592 kB\nPrivate_Clean: 56 kB\nPrivate_Dirty: 112 kB\nAnonymous: 115 kB\nPrivate_Hugetlb: 0 kB\nSwap: 9 kB\nSwapPss: 7 kB\n";
        let rollup = parse(text).unwrap();
        assert_eq!(rollup.anon, Bytes::from_kib(112));
        assert_eq!(rollup.file, Bytes::from_kib(197));
        assert_eq!(rollup.shmem, Bytes::from_kib(5));
        assert_eq!(rollup.swap, Bytes::from_kib(7));
        assert_eq!(rollup.uss, Bytes::from_kib(168));
        assert_eq!(rollup.rss_anon, Bytes::from_kib(115));
    }

    #[test]
    fn an_old_kernel_gives_no_kinds() {
        assert_eq!(parse(b"Rss: 1 kB\nPss: 1 kB\n"), None);
        assert_eq!(parse(b""), None);
    }

    proptest! {
        #[test]
        fn any_bytes_are_survived(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
            let _ = parse(&bytes);
        }
    }
}
