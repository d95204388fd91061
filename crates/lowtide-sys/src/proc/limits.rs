//! `/proc/PID/limits`: the resource limits that cap memory.

use lowtide_core::units::Bytes;

use super::text::{number, words};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// RLIMIT_AS: caps VmSize.
    pub address_space: Option<Bytes>,
    /// RLIMIT_DATA: caps VmData.
    pub data: Option<Bytes>,
    /// RLIMIT_STACK: how long glibc makes a thread's stack.
    pub stack: Option<Bytes>,
}

pub fn parse(bytes: &[u8]) -> Limits {
    let mut limits = Limits::default();
    for line in bytes.split(|byte| *byte == b'\n') {
        let soft = |prefix: &[u8]| {
            let rest = line.strip_prefix(prefix)?;
            // `unlimited` is no number.
            words(rest).next().and_then(number).map(Bytes)
        };
        limits.address_space = limits.address_space.or(soft(b"Max address space"));
        limits.data = limits.data.or(soft(b"Max data size"));
        limits.stack = limits.stack.or(soft(b"Max stack size"));
    }
    limits
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn soft_limits_count_and_unlimited_is_none() {
        let limits = parse(b"Limit                     Soft Limit           Hard Limit           Units     \nMax data size             1000                 2000                 bytes     \nMax address space         unlimited            unlimited            bytes     \n");
        assert_eq!(limits.data, Some(Bytes(1000)));
        assert_eq!(limits.address_space, None);
    }

    proptest! {
        #[test]
        fn any_bytes_are_survived(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
            let _ = parse(&bytes);
        }
    }
}
