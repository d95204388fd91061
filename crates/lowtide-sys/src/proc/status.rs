//! `/proc/PID/status`: the counters of memory by kind. Microseconds, and no lock of the target.

use lowtide_core::sample::Reading;
use lowtide_core::units::Bytes;

use super::text::each_field;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Status {
    pub anon: Bytes,
    pub file: Bytes,
    pub shmem: Bytes,
    pub swap: Bytes,
    /// Not there on a kernel without huge pages.
    pub hugetlb: Option<Bytes>,
    pub vsize: Bytes,
    pub peak: Bytes,
    /// What RLIMIT_DATA counts.
    pub data: Bytes,
    pub threads: u32,
}

impl Status {
    /// Puts its meters into the reading; threads are told by `stat`, which is read more often.
    pub fn fill(&self, reading: &mut Reading) {
        reading.anon = self.anon;
        reading.file = self.file;
        reading.shmem = self.shmem;
        reading.swap = self.swap;
        reading.hugetlb = self.hugetlb;
        reading.vsize = self.vsize;
        reading.peak = self.peak;
    }
}

/// `None` when there are no memory lines: a kernel thread, or a process that has just ended.
pub fn parse(bytes: &[u8]) -> Option<Status> {
    let mut status = Status::default();
    let mut has_memory = false;
    each_field(bytes, |name, value| {
        let kib = Bytes::from_kib(value);
        match name {
            b"RssAnon" => {
                status.anon = kib;
                has_memory = true;
            }
            b"RssFile" => status.file = kib,
            b"RssShmem" => status.shmem = kib,
            b"VmSwap" => status.swap = kib,
            b"HugetlbPages" => status.hugetlb = Some(kib),
            b"VmSize" => status.vsize = kib,
            b"VmHWM" => status.peak = kib,
            b"VmData" => status.data = kib,
            b"Threads" => status.threads = u32::try_from(value).unwrap_or(u32::MAX),
            _ => {}
        }
    });
    has_memory.then_some(status)
}

/// Who traces the process or thread, if somebody does.
pub fn tracer(bytes: &[u8]) -> Option<u32> {
    let mut tracer = 0;
    each_field(bytes, |name, value| {
        if name == b"TracerPid" {
            tracer = value;
        }
    });
    u32::try_from(tracer).ok().filter(|pid| *pid != 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn memory_is_read_by_kind() {
        let text = b"Name:\tRssAnon: 9\nState:\tR (running)\nVmSize:\t 3060 kB\nVmHWM:\t 1732 kB\nRssAnon:\t 116 kB\nRssFile:\t 1616 kB\nRssShmem:\t 4 kB\nVmData:\t 360 kB\nVmSwap:\t 8 kB\nHugetlbPages:\t 2048 kB\nThreads:\t3\nNewKey:\t7\n";
        let status = parse(text).unwrap();
        assert_eq!(status.anon, Bytes::from_kib(116));
        assert_eq!(status.file, Bytes::from_kib(1616));
        assert_eq!(status.shmem, Bytes::from_kib(4));
        assert_eq!(status.swap, Bytes::from_kib(8));
        assert_eq!(status.hugetlb, Some(Bytes::from_kib(2048)));
        assert_eq!(status.vsize, Bytes::from_kib(3060));
        assert_eq!(status.peak, Bytes::from_kib(1732));
        assert_eq!(status.data, Bytes::from_kib(360));
        assert_eq!(status.threads, 3);
    }

    #[test]
    fn a_tracer_has_a_number() {
        assert_eq!(
            tracer(b"Name:\ttrain\nPPid:\t7\nTracerPid:\t12\n"),
            Some(12)
        );
        assert_eq!(tracer(b"PPid:\t7\nTracerPid:\t0\n"), None);
        assert_eq!(tracer(b""), None);
    }

    #[test]
    fn a_process_without_memory_has_none() {
        assert_eq!(parse(b"Name:\tkthreadd\nThreads:\t1\n"), None);
    }

    proptest! {
        #[test]
        fn any_bytes_are_survived(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
            let _ = parse(&bytes);
        }
    }
}
