//! Folders that only this user can write, in places where others can (`/tmp`). Owner and mode are those of
//! the opened folder, and everything in it is reached through that: whoever swaps the name afterwards
//! leads nobody anywhere.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use rustix::fs::{Mode, OFlags, fstat, open};

use super::names;

/// Where `lowtide.watch()` wants its watcher to meet it, when no other place can be had.
const GIVEN: &str = "LOWTIDE_RUNTIME_DIR";
/// Who but the owner may write.
const OTHERS_WRITE: u32 = 0o022;

#[derive(Debug)]
pub(super) struct Private {
    opened: OwnedFd,
    path: PathBuf,
}

impl Private {
    /// The folder of this name, made if there is none.
    pub(super) fn make(path: &Path) -> Result<Private> {
        match fs::DirBuilder::new().mode(0o700).create(path) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                Err(error).with_context(|| format!("cannot make {}", path.display()))
            }
            _ => Private::open(path),
        }
    }

    fn open(path: &Path) -> Result<Private> {
        let how = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let refused = || format!("{} is not a folder of this user alone", path.display());
        let opened = open(path, how, Mode::empty()).with_context(refused)?;
        let found = fstat(&opened)?;
        if found.st_uid != rustix::process::getuid().as_raw() || found.st_mode & OTHERS_WRITE != 0 {
            bail!(refused());
        }
        Ok(Private {
            opened,
            path: path.to_owned(),
        })
    }

    /// A new folder in this one.
    pub(super) fn make_new(&self, name: &str) -> Result<Private> {
        let within = self.within().join(name);
        let made = fs::DirBuilder::new().mode(0o700).create(&within);
        made.with_context(|| format!("cannot make {}", self.path.join(name).display()))?;
        Ok(Private {
            path: self.path.join(name),
            ..Private::open(&within)?
        })
    }

    /// What others are told.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The way through the opened folder; short enough for the name of a socket, too.
    pub(super) fn within(&self) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}", self.opened.as_raw_fd()))
    }
}

/// Where a process and its watcher look for each other, best first: `$XDG_RUNTIME_DIR/lowtide`,
/// `/tmp/lowtide-<uid>`, and `/run/user/<uid>/lowtide` for when somebody else made that one first. The
/// Python package looks in the same places (`_link.places`).
pub(super) fn places(xdg: Option<OsString>) -> Vec<PathBuf> {
    let uid = rustix::process::getuid().as_raw();
    let given = std::env::var_os(GIVEN).map(PathBuf::from);
    let xdg = xdg.map(PathBuf::from).filter(|dir| dir.is_dir());
    let session = PathBuf::from(format!("/run/user/{uid}"));
    let session = Some(session).filter(|dir| dir.is_dir());
    let all = [
        given,
        xdg.map(|dir| dir.join("lowtide")),
        Some(PathBuf::from(format!("/tmp/lowtide-{uid}"))),
        session.map(|dir| dir.join("lowtide")),
    ];
    all.into_iter().flatten().collect()
}

/// The first of these places that is ours, and what is wrong with the one before it.
pub(super) fn first_of(places: &[PathBuf]) -> Result<(Private, Option<anyhow::Error>)> {
    let mut wrong = None;
    for place in places {
        match Private::make(place) {
            Ok(folder) => return Ok((folder, wrong)),
            Err(error) => wrong = wrong.or(Some(error)),
        }
    }
    Err(wrong.unwrap_or_else(|| anyhow::anyhow!("there is no place for it")))
}

/// A place that nobody could make beforehand: only those who are told find it.
pub(super) fn own() -> Result<Private> {
    let uid = rustix::process::getuid().as_raw();
    let name = names::of_a_watcher().replace("watcher", &format!("lowtide-{uid}"));
    Private::make(&std::env::temp_dir().join(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    #[test]
    fn a_folder_that_others_can_write_is_refused_and_so_is_a_link() {
        let root = tempfile::tempdir().unwrap();
        let open = root.path().join("open");
        fs::create_dir(&open).unwrap();
        fs::set_permissions(&open, fs::Permissions::from_mode(0o777)).unwrap();
        assert!(Private::make(&open).is_err());
        let mine = Private::make(&root.path().join("mine")).unwrap();
        let link = root.path().join("link");
        symlink(mine.path(), &link).unwrap();
        assert!(Private::make(&link).is_err());
        // Another place is found, and what was wrong with the first is known.
        let (found, wrong) = first_of(&[open, mine.path().to_owned()]).unwrap();
        assert_eq!(found.path(), mine.path());
        assert!(wrong.unwrap().to_string().contains("open is not a folder"));
    }

    #[test]
    fn who_swaps_the_name_leads_nobody_elsewhere() {
        let root = tempfile::tempdir().unwrap();
        let (path, moved) = (root.path().join("mine"), root.path().join("moved"));
        let mine = Private::make(&path).unwrap();
        fs::rename(&path, &moved).unwrap();
        fs::create_dir(&path).unwrap();
        fs::write(mine.within().join("file"), "x").unwrap();
        assert!(moved.join("file").exists());
        assert!(!path.join("file").exists());
        assert!(mine.make_new("inner").is_ok() && moved.join("inner").is_dir());
    }
}
