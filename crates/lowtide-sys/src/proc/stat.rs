//! `/proc/PID/stat`: who the parent is, when it started, faults and processor time. Read for every
//! member on every tick, because it is what shows whether the rest is worth reading.

use super::text::{number, words};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stat<'a> {
    pub pid: u32,
    /// Any bytes: a name may hold spaces, parentheses and line ends.
    pub comm: &'a [u8],
    pub state: u8,
    pub parent: u32,
    pub group: u32,
    pub session: u32,
    pub flags: u64,
    pub minor_faults: u64,
    pub major_faults: u64,
    /// User and system time, in clock ticks.
    pub cpu_ticks: u64,
    pub threads: u32,
    /// Clock ticks after boot.
    pub start: u64,
    /// Bytes.
    pub vsize: u64,
    /// Pages; the kernel may lag behind by some dozens of pages per core.
    pub rss_pages: u64,
    /// Where code and stack begin: random for every exec and the same after a fork, so that the pair
    /// names a family of forked processes. Zero without permission.
    pub start_code: u64,
    pub start_stack: u64,
}

/// Linux `PF_KTHREAD`: a thread of the kernel, which has no memory of its own.
const PF_KTHREAD: u64 = 0x0020_0000;

impl Stat<'_> {
    pub(crate) fn is_kernel_thread(&self) -> bool {
        self.flags & PF_KTHREAD != 0
    }

    /// It has ended and only waits for its parent. (A process whose first thread has ended shows the
    /// same letter while others run on.)
    pub fn has_ended(&self) -> bool {
        matches!(self.state, b'X' | b'x') || (self.state == b'Z' && self.threads <= 1)
    }
}

pub fn parse(bytes: &[u8]) -> Option<Stat<'_>> {
    // The name is the only field with free text: it ends at the *last* closing parenthesis.
    let open = bytes.iter().position(|byte| *byte == b'(')?;
    let close = bytes.iter().rposition(|byte| *byte == b')')?;
    let comm = bytes.get(open + 1..close)?;
    let pid = number32(words(&bytes[..open]).next()?)?;

    let mut fields = words(bytes.get(close + 1..)?);
    let state = *fields.next()?.first()?;
    // Numbers below are those of proc_pid_stat(5), which counts from 1 and has the state as 3.
    let mut values = [0u64; 26];
    let mut seen = 0;
    for (slot, field) in values.iter_mut().zip(fields) {
        // Some fields are signed (tty, priorities); none of those is used.
        *slot = number(field).unwrap_or(0);
        seen += 1;
    }
    if seen < 25 {
        return None;
    }
    let field = |number: usize| values[number - 4];
    Some(Stat {
        pid,
        comm,
        state,
        parent: u32::try_from(field(4)).ok()?,
        group: u32::try_from(field(5)).unwrap_or(0),
        session: u32::try_from(field(6)).unwrap_or(0),
        flags: field(9),
        minor_faults: field(10),
        major_faults: field(12),
        cpu_ticks: field(14).saturating_add(field(15)),
        threads: u32::try_from(field(20)).unwrap_or(u32::MAX),
        start: field(22),
        vsize: field(23),
        rss_pages: field(24),
        start_code: field(26),
        start_stack: field(28),
    })
}

fn number32(bytes: &[u8]) -> Option<u32> {
    u32::try_from(number(bytes)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Linux 6.18, `cat`.
    const CAT: &[u8] = b"8596 (cat) R 8594 8590 5671 0 -1 4194304 101 7 3 9 11 22 0 0 20 0 1 0 86188 3133440 390 18446744073709551615 94540160569344 94540160589225 140726711217040 0 0 0 0 0 0 0 0 0 17 1 0 0 0 0 0 94540160605232 94540160606848 94540267950080 140726711220961 140726711220981 140726711220981 140726711222251 0\n";

    #[test]
    fn fields_are_where_the_manual_says() {
        let stat = parse(CAT).unwrap();
        assert_eq!(stat.pid, 8596);
        assert_eq!(stat.comm, b"cat");
        assert_eq!(stat.state, b'R');
        assert_eq!((stat.parent, stat.group, stat.session), (8594, 8590, 5671));
        assert_eq!((stat.minor_faults, stat.major_faults), (101, 3));
        assert_eq!(stat.cpu_ticks, 33);
        assert_eq!((stat.threads, stat.start), (1, 86188));
        assert_eq!((stat.vsize, stat.rss_pages), (3_133_440, 390));
        assert_eq!(stat.start_code, 94_540_160_569_344);
        assert_eq!(stat.start_stack, 140_726_711_217_040);
        assert!(!stat.is_kernel_thread() && !stat.has_ended());
    }

    #[test]
    fn a_name_may_hold_anything() {
        for name in ["a) R 1 (b", "(sd-pam)", "two words", "line\nend", ""] {
            let text = String::from_utf8(CAT.to_vec())
                .unwrap()
                .replace("(cat)", &format!("({name})"));
            let stat = parse(text.as_bytes()).unwrap();
            assert_eq!(stat.comm, name.as_bytes());
            assert_eq!(stat.parent, 8594, "{name}");
        }
    }

    #[test]
    fn a_cut_line_is_no_process() {
        for length in [0, 5, 11, 40, 90] {
            assert_eq!(parse(&CAT[..length]), None, "{length}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_survived(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
            let _ = parse(&bytes);
        }
    }
}
