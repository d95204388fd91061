//! What a mapping is, from its name, its file system and its rights: the first sorting of a look.
//! Anonymous memory comes out as [`Sort::Anon`] and is taken apart further by the allocators' readers.

use std::collections::{BTreeSet, HashSet};

use lowtide_core::look::{Allocator, Pool};

/// The first sorting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sort {
    /// Grown by `brk`: glibc's main heap, as a rule.
    Heap,
    Anon,
    Stack,
    /// /dev/shm, memfd, /dev/zero, System V, files on a tmpfs.
    Shared,
    Device,
    File,
    /// The kernel's own pages (vdso): no memory of the process.
    Kernel,
}

/// What can be said of a process's mappings as a whole.
#[derive(Debug, Default)]
pub(super) struct Sorter {
    /// Devices of mounted tmpfs file systems.
    tmpfs: HashSet<(u32, u32)>,
}

impl Sorter {
    /// From `/proc/PID/mountinfo`.
    pub(super) fn new(mountinfo: &[u8]) -> Sorter {
        let mut tmpfs = HashSet::new();
        for line in String::from_utf8_lossy(mountinfo).lines() {
            let Some((left, right)) = line.split_once(" - ") else {
                continue;
            };
            let device = left.split(' ').nth(2).and_then(|text| {
                let (major, minor) = text.split_once(':')?;
                Some((major.parse().ok()?, minor.parse().ok()?))
            });
            if right.split(' ').next() == Some("tmpfs") {
                tmpfs.extend(device);
            }
        }
        Sorter { tmpfs }
    }

    pub(super) fn sort(&self, device: (u32, u32), name: &str) -> Sort {
        match name {
            "" => Sort::Anon,
            "[heap]" => Sort::Heap,
            "[stack]" => Sort::Stack,
            _ if name.starts_with("[anon:glibc: thread stack") => Sort::Stack,
            _ if name.starts_with("[anon:") => Sort::Anon,
            // Named by the kernel when an anonymous mapping is shared (CONFIG_ANON_VMA_NAME).
            _ if name.starts_with("[anon_shmem:") => Sort::Shared,
            _ if name.starts_with('[') => Sort::Kernel,
            _ if self.is_shared(device, name) => Sort::Shared,
            _ if name.starts_with("/dev/") || name.starts_with("anon_inode:") => Sort::Device,
            _ => Sort::File,
        }
    }

    fn is_shared(&self, device: (u32, u32), name: &str) -> bool {
        const NAMES: [&str; 4] = ["/dev/shm/", "/memfd:", "/dev/zero", "/SYSV"];
        NAMES.iter().any(|start| name.starts_with(start)) || self.tmpfs.contains(&device)
    }
}

/// The name under which shared memory is added up: `/dev/shm/torch_123_4_5` and its thousand siblings
/// are `/dev/shm/torch_*`.
pub(crate) fn shared_name(name: &str) -> String {
    let name = name.trim_end_matches(" (deleted)");
    if name.starts_with("/SYSV") {
        return "System V shared memory".to_owned();
    }
    let (folder, file) = name.split_at(name.rfind('/').map_or(0, |at| at + 1));
    // multiprocessing names its blocks `psm_` and `wnsm_` and eight random digits, torch with numbers.
    let digit = |c: char| c.is_ascii_digit();
    let cut = match file.split_once('_') {
        Some((kind @ ("psm" | "wnsm" | "torch" | "sem.mp"), _)) => Some(kind.len() + 1),
        _ => file.find(digit),
    };
    match cut {
        Some(at) if file.len() > at => format!("{folder}{}*", &file[..at]),
        _ => format!("{folder}{file}"),
    }
}

/// The last component: paths are long and, on machines of others, nobody's business.
pub(super) fn file_name(name: &str) -> &str {
    let name = name.trim_end_matches(" (deleted)");
    name.rsplit('/').next().unwrap_or(name)
}

/// Which allocator serves `malloc`: a preloaded one wins over that of the C library.
pub(super) fn allocator<'a>(names: impl Iterator<Item = &'a str>) -> Allocator {
    let mut found = Allocator::Unknown;
    for name in names {
        let file = file_name(name);
        match pool(file) {
            Some(Pool::Jemalloc) => return Allocator::Jemalloc,
            Some(Pool::Tcmalloc) => return Allocator::Tcmalloc,
            Some(Pool::Mimalloc) => return Allocator::Mimalloc,
            _ => {}
        }
        if file.starts_with("ld-musl") || file.starts_with("libc.musl") {
            found = Allocator::Musl;
        } else if found == Allocator::Unknown
            && (file == "libc.so.6" || file.starts_with("libc-2."))
        {
            found = Allocator::Glibc;
        }
    }
    found
}

/// Libraries that keep arenas of their own, each once.
pub(super) fn pools<'a>(names: impl Iterator<Item = &'a str>, on_aarch64: bool) -> Vec<Pool> {
    let found = names.filter_map(|name| pool(file_name(name)));
    // Elsewhere torch takes its tensors from malloc.
    let found: BTreeSet<Pool> = found
        .filter(|pool| *pool != Pool::Torch || on_aarch64)
        .collect();
    found.into_iter().collect()
}

fn pool(file: &str) -> Option<Pool> {
    // Wheels rename what they bring along: `libarrow.so.2400`, `libjemalloc-a1b2.so.2`.
    let libraries = [
        ("libarrow", Pool::Arrow),
        ("libjvm.", Pool::Jvm),
        ("libtorch_cpu", Pool::Torch),
        ("libjemalloc", Pool::Jemalloc),
        ("libtcmalloc", Pool::Tcmalloc),
        ("libmimalloc", Pool::Mimalloc),
    ];
    let found = libraries.iter().find(|(start, _)| file.starts_with(start));
    found
        .filter(|_| file.contains(".so"))
        .map(|(_, pool)| *pool)
}

/// glibc's own file; its name had the version in it up to 2.33.
pub(crate) fn is_libc(name: &str) -> bool {
    let file = file_name(name);
    file == "libc.so.6" || file.starts_with("libc-2.")
}

/// The interpreter of a process, told by its files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Python {
    /// `11` of Python 3.11.
    pub minor: Option<u32>,
    /// Built without the GIL: small objects come from mimalloc.
    pub free_threaded: bool,
}

pub(super) fn python<'a>(names: impl Iterator<Item = &'a str>) -> Option<Python> {
    let mut found: Option<Python> = None;
    for name in names {
        let file = file_name(name);
        let rest = match file.strip_prefix("libpython") {
            Some(rest) => rest,
            None if crate::proc::maps::is_interpreter(file.trim_end_matches('t').as_bytes()) => {
                file.strip_prefix("python").unwrap_or_default()
            }
            None => continue,
        };
        let after = rest.strip_prefix("3.").unwrap_or_default();
        let digits = after.find(|c: char| !c.is_ascii_digit());
        let (minor, after) = after.split_at(digits.unwrap_or(after.len()));
        let python = Python {
            minor: minor.parse().ok(),
            free_threaded: after.starts_with('t'),
        };
        // `libpython3.so` says less than the library that it forwards to.
        if found.is_none_or(|found| found.minor.is_none()) {
            found = Some(python);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sort(name: &str, device: (u32, u32)) -> Sort {
        let mounts = b"24 1 0:22 / /run rw,nosuid shared:5 - tmpfs tmpfs rw\n25 1 0:40 / / rw - overlay overlay rw\n";
        Sorter::new(mounts).sort(device, name)
    }

    #[test]
    fn mappings_are_known_by_name_and_file_system() {
        for (name, device, expected) in [
            ("", (0, 0), Sort::Anon),
            ("[heap]", (0, 0), Sort::Heap),
            ("[stack]", (0, 0), Sort::Stack),
            ("[vvar]", (0, 0), Sort::Kernel),
            ("[anon:cpython:pymalloc]", (0, 0), Sort::Anon),
            ("/dev/shm/torch_1_2", (0, 30), Sort::Shared),
            ("/memfd:x (deleted)", (0, 1), Sort::Shared),
            ("/dev/zero (deleted)", (0, 1), Sort::Shared),
            ("/run/cache/x", (0, 22), Sort::Shared),
            // A root on overlay has an unnamed device too, and is no shared memory.
            ("/data/train.arrow", (0, 40), Sort::File),
            ("/dev/nvidia0", (0, 5), Sort::Device),
        ] {
            assert_eq!(sort(name, device), expected, "{name}");
        }
    }

    #[test]
    fn shared_memory_is_added_up_by_kind_of_name() {
        for (name, short) in [
            ("/dev/shm/torch_123_45_6", "/dev/shm/torch_*"),
            ("/dev/shm/psm_ab12cd (deleted)", "/dev/shm/psm_*"),
            ("/memfd:pinned (deleted)", "/memfd:pinned"),
            ("/dev/zero (deleted)", "/dev/zero"),
            ("/dev/shm/nccl-77aB", "/dev/shm/nccl-*"),
            ("/SYSV00000000 (deleted)", "System V shared memory"),
        ] {
            assert_eq!(shared_name(name), short);
        }
    }

    #[test]
    fn libraries_with_arenas_of_their_own_are_known() {
        let names = [
            "/x/pyarrow/libarrow_python.so.2400",
            "/x/pyarrow/libarrow.so.2400",
            "/x/libtorch_cpu.so",
            "/x/libmimalloc.so.2 (deleted)",
            "/jdk/lib/server/libjvm.so",
            "/data/libarrow.parquet",
            "/x/libc.so.6",
        ];
        let of = |on_aarch64| pools(names.iter().copied(), on_aarch64);
        assert_eq!(of(false), [Pool::Arrow, Pool::Jvm, Pool::Mimalloc]);
        let with_torch = [Pool::Arrow, Pool::Jvm, Pool::Torch, Pool::Mimalloc];
        assert_eq!(of(true), with_torch);
    }

    #[test]
    fn allocators_and_interpreters_are_known_by_their_files() {
        let of = |names: &[&str]| allocator(names.iter().copied());
        assert_eq!(of(&["/lib/libc.so.6"]), Allocator::Glibc);
        assert_eq!(of(&["/lib64/libc-2.17.so"]), Allocator::Glibc);
        let preloaded = ["/lib/libc.so.6", "/usr/lib/libjemalloc.so.2"];
        assert_eq!(of(&preloaded), Allocator::Jemalloc);
        assert_eq!(of(&["/lib/ld-musl-x86_64.so.1"]), Allocator::Musl);
        assert_eq!(of(&["/opt/static"]), Allocator::Unknown);

        let of = |names: &[&str]| python(names.iter().copied());
        let three = |minor, free_threaded| {
            Some(Python {
                minor,
                free_threaded,
            })
        };
        assert_eq!(of(&["/usr/bin/python3.9"]), three(Some(9), false));
        let both = ["/x/libpython3.so", "/x/libpython3.12.so.1.0"];
        assert_eq!(of(&both), three(Some(12), false));
        assert_eq!(of(&["/x/libpython3.13t.so.1.0"]), three(Some(13), true));
        assert_eq!(of(&["/x/python3.14t"]), three(Some(14), true));
        assert_eq!(of(&["/x/python"]), three(None, false));
        assert_eq!(of(&["/x/libtorch.so", "/x/python-config"]), None);
    }
}
