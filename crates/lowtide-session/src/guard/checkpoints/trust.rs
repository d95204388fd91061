//! Whose checkpoint it is. A pickled checkpoint is code: one that somebody else has put, or can change, in a
//! place where this job saves would run as this user at the next restart.

use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

const ROOT: u32 = 0;
/// Everybody may write.
const WORLD: u32 = 0o002;
/// In such a folder (`/tmp`) only owners rename and remove.
const STICKY: u32 = 0o1000;

/// What is known of a file or a folder.
#[derive(Clone, Copy, Debug)]
struct Facts {
    owner: u32,
    mode: u32,
    is_dir: bool,
}

impl Facts {
    fn of(found: &Metadata) -> Facts {
        Facts {
            owner: found.uid(),
            mode: found.mode(),
            is_dir: found.is_dir(),
        }
    }

    fn is_foreign(self, user: u32) -> bool {
        ![user, ROOT].contains(&self.owner)
    }

    fn is_open(self) -> bool {
        self.mode & WORLD != 0 && !(self.is_dir && self.mode & STICKY != 0)
    }
}

/// Why a checkpoint is not to be resumed from by this user. In a folder that the user has named, rights are
/// the user's business (network disks show all files as writable), but not whose the files are.
pub(super) fn distrusted(path: &Path, user: u32, named: bool) -> Option<String> {
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    let inside = fs::read_dir(path).into_iter().flatten().flatten();
    let parts = inside.map(|entry| entry.path());
    // The folder around it may be root's or a group's: files in it are looked at one by one.
    let around = folder
        .map(fs::metadata)
        .and_then(Result::ok)
        .map(|found| Facts::of(&found));
    if !named && around.is_some_and(Facts::is_open) {
        return Some(
            "everybody may write to its folder: chmod o-w it, or name it with --checkpoints"
                .to_owned(),
        );
    }
    for part in std::iter::once(path.to_owned()).chain(parts) {
        // What went away is for those who read it.
        let Ok(found) = fs::metadata(&part) else {
            continue;
        };
        let facts = Facts::of(&found);
        let name = part.file_name().unwrap_or_default().to_string_lossy();
        if facts.is_foreign(user) {
            return Some(format!("{name} belongs to another user ({})", facts.owner));
        }
        if !named && facts.is_open() {
            return Some(format!("everybody may write to {name}: chmod o-w it"));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    const FILE: Facts = Facts {
        owner: 1000,
        mode: 0o100_644,
        is_dir: false,
    };

    #[test]
    fn files_of_others_are_foreign() {
        assert!(!FILE.is_foreign(1000));
        assert!(FILE.is_foreign(1001));
        assert!(FILE.is_foreign(0), "what a user left is not for root");
        let of_root = Facts { owner: 0, ..FILE };
        assert!(!of_root.is_foreign(1000));
    }

    #[test]
    fn what_everybody_may_write_is_open_but_for_sticky_folders() {
        let with = |mode: u32, is_dir: bool| Facts {
            mode,
            is_dir,
            ..FILE
        };
        assert!(!with(0o644, false).is_open());
        assert!(!with(0o664, false).is_open(), "a group is no stranger");
        assert!(with(0o666, false).is_open());
        assert!(with(0o777, true).is_open());
        assert!(!with(0o1777, true).is_open());
    }

    #[test]
    fn an_open_file_anywhere_in_a_checkpoint_is_enough() {
        let root = tempfile::tempdir().unwrap();
        let user = rustix::process::geteuid().as_raw();
        let checkpoint = root.path().join("checkpoint-1");
        fs::create_dir(&checkpoint).unwrap();
        let weights = checkpoint.join("model.safetensors");
        fs::write(&weights, b"x").unwrap();
        let judge = |named: bool| distrusted(&checkpoint, user, named);
        assert_eq!(judge(false), None);
        let set = |path: &Path, mode: u32| {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap()
        };
        set(&weights, 0o666);
        assert_eq!(
            judge(false).unwrap(),
            "everybody may write to model.safetensors: chmod o-w it"
        );
        assert_eq!(judge(true), None, "the user named the folder");
        set(&weights, 0o644);
        set(root.path(), 0o777);
        assert_eq!(
            judge(false).unwrap(),
            "everybody may write to its folder: chmod o-w it, or name it with --checkpoints"
        );
        set(root.path(), 0o1777);
        assert_eq!(judge(false), None);
        let stranger = distrusted(&checkpoint, user + 1, true);
        if user != ROOT {
            assert!(stranger.unwrap().contains("another user"));
        }
    }
}
