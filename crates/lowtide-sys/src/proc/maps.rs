//! `/proc/PID/maps`: which libraries a process has mapped. Only names are read.

/// Libraries that tell what a process is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mapped {
    pub torch: bool,
    pub cuda: bool,
    pub python: bool,
    pub tensorflow: bool,
    pub jax: bool,
}

impl Mapped {
    /// A framework that trains models.
    pub fn framework(&self) -> bool {
        self.torch || self.tensorflow || self.jax
    }
}

pub fn parse(bytes: &[u8]) -> Mapped {
    let mut mapped = Mapped::default();
    for line in bytes.split(|byte| *byte == b'\n') {
        // Only mapped files have a path; anonymous lines end before any slash.
        let Some(slash) = line.iter().rposition(|byte| *byte == b'/') else {
            continue;
        };
        let name = &line[slash + 1..];
        let starts = |prefix: &[u8]| name.starts_with(prefix);
        mapped.torch |= starts(b"libtorch");
        // libcuda is the driver: it is mapped once CUDA is in use, not by importing torch alone.
        mapped.cuda |= starts(b"libcuda.so") || starts(b"libamdhip64.so");
        mapped.python |= starts(b"libpython") || is_interpreter(name);
        mapped.tensorflow |= starts(b"libtensorflow") || starts(b"_pywrap_tensorflow");
        mapped.jax |= starts(b"xla_extension") || starts(b"libjax_common");
    }
    mapped
}

/// `python3.11`: an interpreter that is linked without a shared library.
pub(crate) fn is_interpreter(name: &[u8]) -> bool {
    name.strip_prefix(b"python").is_some_and(|rest| {
        rest.iter()
            .all(|byte| byte.is_ascii_digit() || *byte == b'.')
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn libraries_are_known_by_file_name() {
        let maps = b"00400000-00401000 r--p 00000000 fe:00 12 /usr/bin/python3.11\n7f00-7f01 r-xp 00000000 fe:00 13 /env/torch/lib/libtorch_cpu.so\n7f02-7f03 r-xp 00000000 fe:00 14 /usr/lib/libcudart.so.12\n7f04-7f05 rw-p 00000000 00:00 0 [heap]\n";
        let mapped = parse(maps);
        assert!(mapped.torch && mapped.python && mapped.framework());
        // The CUDA run-time library comes with torch; only the driver says that a GPU is used.
        assert!(!mapped.cuda);
        assert!(parse(b"1-2 r-xp 0 0 1 /usr/lib/libcuda.so.550.1\n").cuda);
        assert!(parse(b"1-2 r-xp 0 0 1 /env/jaxlib/xla_extension.so\n").jax);
        assert!(!parse(b"1-2 r--p 0 0 1 /usr/bin/python3.11-config\n").python);
    }

    proptest! {
        #[test]
        fn any_bytes_are_survived(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
            let _ = parse(&bytes);
        }
    }
}
