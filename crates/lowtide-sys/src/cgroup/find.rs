//! Where the memory controller's groups of a process are: `/proc/PID/cgroup` says the path within a
//! hierarchy, `/proc/self/mountinfo` where that hierarchy is mounted for us. v1, v2 and both at once
//! (hybrid: some controllers on v1, an empty v2 tree beside them).

use std::path::{Path, PathBuf};

use crate::proc::words;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    V1,
    V2,
}

/// The leaf group of a process and the mount it lies under.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    pub version: Version,
    pub mount: PathBuf,
    /// Below `mount`, without a leading slash; empty for the mount itself.
    pub path: String,
}

/// `cgroup` is that of the process, `mountinfo` our own. The caller checks that the folder exists.
pub(super) fn find(cgroup: &[u8], mountinfo: &[u8]) -> Option<Place> {
    let (v1, v2) = paths(cgroup);
    if let Some(path) = v1
        && let Some(place) = place(Version::V1, &path, mountinfo)
    {
        return Some(place);
    }
    place(Version::V2, &v2?, mountinfo)
}

/// The process's path in the v1 memory hierarchy, and in the v2 one.
fn paths(cgroup: &[u8]) -> (Option<String>, Option<String>) {
    let (mut v1, mut v2) = (None, None);
    for line in cgroup.split(|byte| *byte == b'\n') {
        let mut parts = line.splitn(3, |byte| *byte == b':');
        let (Some(number), Some(controllers), Some(path)) =
            (parts.next(), parts.next(), parts.next())
        else {
            continue;
        };
        let path = String::from_utf8_lossy(path).into_owned();
        if number == b"0" && controllers.is_empty() {
            v2 = Some(path);
        } else if controllers
            .split(|byte| *byte == b',')
            .any(|c| c == b"memory")
        {
            v1 = Some(path);
        }
    }
    (v1, v2)
}

fn place(version: Version, path: &str, mountinfo: &[u8]) -> Option<Place> {
    let mut fallback = None;
    for line in mountinfo.split(|byte| *byte == b'\n') {
        let Some(mount) = parse_mount(line) else {
            continue;
        };
        let fits = match version {
            Version::V1 => mount.kind == b"cgroup" && mount.has_option(b"memory"),
            Version::V2 => mount.kind == b"cgroup2",
        };
        if !fits {
            continue;
        }
        let point = Path::new(&mount.point).to_owned();
        // Only a part of the hierarchy may be mounted (containers without a cgroup namespace).
        match below(path, &mount.root) {
            Some(path) => {
                return Some(Place {
                    version,
                    mount: point,
                    path: path.to_owned(),
                });
            }
            None => {
                // A path outside of what is mounted (`/../other`): the mount's own root still is an
                // ancestor in all but exotic set-ups, and the best that can be seen.
                fallback.get_or_insert(Place {
                    version,
                    mount: point,
                    path: String::new(),
                });
            }
        }
    }
    fallback
}

/// `path` as seen from `root`.
fn below<'a>(path: &'a str, root: &str) -> Option<&'a str> {
    if path.split('/').any(|part| part == "..") {
        return None;
    }
    let root = root.trim_end_matches('/');
    let rest = path.strip_prefix(root)?;
    (rest.is_empty() || rest.starts_with('/')).then(|| rest.trim_matches('/'))
}

struct Mount<'a> {
    root: String,
    point: String,
    kind: &'a [u8],
    super_options: &'a [u8],
}

impl Mount<'_> {
    fn has_option(&self, option: &[u8]) -> bool {
        self.super_options
            .split(|byte| *byte == b',')
            .any(|o| o == option)
    }
}

/// `31 23 0:28 /root /point rw,opts optional… - type source superoptions` (proc_pid_mountinfo(5)).
fn parse_mount(line: &[u8]) -> Option<Mount<'_>> {
    let mut fields = words(line);
    let root = unescape(fields.nth(3)?);
    let point = unescape(fields.next()?);
    let mut after = fields.skip_while(|field| *field != b"-").skip(1);
    let kind = after.next()?;
    let super_options = after.nth(1).unwrap_or_default();
    Some(Mount {
        root,
        point,
        kind,
        super_options,
    })
}

/// The kernel writes a space as `\040`, and so on.
fn unescape(bytes: &[u8]) -> String {
    let mut out = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some((first, tail)) = rest.split_first() {
        let code = tail
            .get(..3)
            .filter(|_| *first == b'\\')
            .and_then(|digits| {
                digits.iter().try_fold(0u32, |sum, digit| {
                    (b'0'..=b'7')
                        .contains(digit)
                        .then(|| sum * 8 + u32::from(digit - b'0'))
                })
            });
        match code.and_then(|code| u8::try_from(code).ok()) {
            Some(byte) => {
                out.push(byte);
                rest = &tail[3..];
            }
            None => {
                out.push(*first);
                rest = tail;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const V1: &[u8] =
        b"35 31 0:32 / /sys/fs/cgroup/memory rw,relatime shared:9 - cgroup cgroup rw,memory\n";
    const V2: &[u8] = b"41 31 0:38 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n";

    fn found(cgroup: &str, mountinfo: &[u8]) -> Option<(Version, String, String)> {
        find(cgroup.as_bytes(), mountinfo)
            .map(|p| (p.version, p.mount.display().to_string(), p.path))
    }

    #[test]
    fn v1_v2_and_hybrid() {
        let hybrid = [
            V1,
            b"42 31 0:39 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n",
        ]
        .concat();
        let cases = [
            (
                "9:cpu:/\n4:memory:/job/a\n0::/x\n",
                &hybrid[..],
                Version::V1,
                "/sys/fs/cgroup/memory",
                "job/a",
            ),
            (
                "4:cpu,memory:/job\n",
                V1,
                Version::V1,
                "/sys/fs/cgroup/memory",
                "job",
            ),
            (
                "0::/user.slice/a b\n",
                V2,
                Version::V2,
                "/sys/fs/cgroup",
                "user.slice/a b",
            ),
            ("0::/\n", V2, Version::V2, "/sys/fs/cgroup", ""),
        ];
        for (cgroup, mountinfo, version, mount, path) in cases {
            assert_eq!(
                found(cgroup, mountinfo),
                Some((version, mount.into(), path.into())),
                "{cgroup}"
            );
        }
        assert_eq!(found("0::/\n", V1), None);
        assert_eq!(found("", V2), None);
    }

    #[test]
    fn a_container_sees_a_part_of_the_hierarchy() {
        let part = b"35 31 0:32 /docker/abc /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n";
        assert_eq!(found("4:memory:/docker/abc/job\n", part).unwrap().2, "job");
        assert_eq!(found("4:memory:/docker/abc\n", part).unwrap().2, "");
        // `/docker/abcdef` is not below `/docker/abc`.
        assert_eq!(found("4:memory:/docker/abcdef\n", part).unwrap().2, "");
        // Outside of our namespace.
        assert_eq!(found("0::/../other\n", V2).unwrap().2, "");
    }

    #[test]
    fn mount_points_may_hold_spaces() {
        let spaced = b"41 31 0:38 / /my\\040groups rw - cgroup2 cgroup2 rw\n";
        assert_eq!(found("0::/\n", spaced).unwrap().1, "/my groups");
    }

    proptest! {
        #[test]
        fn any_bytes_are_survived(a in proptest::collection::vec(any::<u8>(), 0..200), b in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = find(&a, &b);
        }
    }
}
