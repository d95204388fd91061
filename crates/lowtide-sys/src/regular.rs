//! Files that lowtide finds and opens by itself: recordings, logs, states, checkpoints, settings. Whoever may
//! write to such a folder could put a FIFO there, and opening that would wait for ever.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::OFlags;

/// Opens what is a regular file, or a link to one, for reading. Never waits, and takes part in nothing.
pub fn open(path: &Path) -> io::Result<File> {
    // Opening a device can do something by itself.
    checked(fs::metadata(path)?)?;
    let file = File::options()
        .read(true)
        .custom_flags((OFlags::NONBLOCK | OFlags::NOCTTY).bits() as i32)
        .open(path)?;
    // It may have become another one in between.
    checked(file.metadata()?)?;
    Ok(file)
}

fn checked(found: fs::Metadata) -> io::Result<()> {
    match found.is_file() {
        true => Ok(()),
        false => Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no file")),
    }
}

/// What such a file holds. One that is longer than `most` is refused: it is not what it is called.
pub fn read(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?
        .take(most.saturating_add(1))
        .read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(io::Error::new(
            io::ErrorKind::FileTooLarge,
            "it is too long",
        ));
    }
    Ok(bytes)
}

/// The same where it is text.
pub fn read_text(path: &Path, most: u64) -> io::Result<String> {
    String::from_utf8(read(path, most)?)
        .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.utf8_error()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    use rustix::fs::{CWD, FileType, Mode, mknodat};

    #[test]
    fn only_files_are_opened_and_nothing_waits() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::write(path("file"), "text").unwrap();
        symlink(path("file"), path("link")).unwrap();
        mknodat(
            CWD,
            path("pipe"),
            FileType::Fifo,
            Mode::RUSR | Mode::WUSR,
            0,
        )
        .unwrap();
        symlink(path("pipe"), path("link-to-pipe")).unwrap();
        for name in ["file", "link"] {
            assert_eq!(read_text(&path(name), 4).unwrap(), "text");
        }
        assert_eq!(
            read(&path("file"), 3).unwrap_err().kind(),
            io::ErrorKind::FileTooLarge
        );
        for name in ["pipe", "link-to-pipe", "", "none"] {
            assert!(open(&path(name)).is_err(), "{name}");
        }
        assert!(open(Path::new("/dev/zero")).is_err());
    }
}
