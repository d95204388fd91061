//! What `torch.save` writes: a zip archive, whose directory is written last. Lightning's `*.ckpt` are
//! such files, and so are the `*.pt` of a loop that saves by itself.

use std::os::unix::fs::FileExt;
use std::path::Path;

use super::{Checkpoint, Standing, last_number, modified};

const BEGIN: &[u8] = b"PK\x03\x04";
const END: &[u8] = b"PK\x05\x06";
const END_SIZE: u64 = 22;
/// Says that the true number stands in the archive's 64-bit directory.
const LARGE: u32 = u32::MAX;

/// Words in the name of what is resumed from, and of the folders that hold nothing else.
const WORDS: [&str; 8] = [
    "ckpt",
    "checkpoint",
    "snapshot",
    "step",
    "epoch",
    "iter",
    "last",
    "latest",
];
const FOLDERS: [&str; 3] = ["ckpt", "checkpoint", "snapshot"];

/// `.pt` and `.pth` may be anything (features, weights alone), so they count only where the user or the job has
/// pointed at them, and elsewhere where their name says what they are.
pub(crate) fn is_one(path: &Path, standing: Standing) -> bool {
    let name = path.file_name().map(|name| name.to_string_lossy());
    let name = name.unwrap_or_default().to_lowercase();
    if name.ends_with(".ckpt") {
        return true;
    }
    let Some(stem) = name.strip_suffix(".pt").or(name.strip_suffix(".pth")) else {
        return false;
    };
    let folder = path.parent().and_then(Path::file_name);
    let folder = folder.unwrap_or_default().to_string_lossy().to_lowercase();
    matches!(standing, Standing::Named | Standing::Told)
        || WORDS.iter().any(|word| stem.contains(word))
        || (stem.starts_with("state") && last_number(stem).is_some())
        || FOLDERS.iter().any(|word| folder.contains(word))
}

pub(crate) fn examine(path: &Path) -> Result<Checkpoint, String> {
    whole(path)?;
    let stem = path.file_stem().map(|name| name.to_string_lossy());
    let step = stem.and_then(|name| last_number(&name));
    let written = modified(path).ok_or("it went away")?;
    Ok(Checkpoint::found(path, step, written))
}

/// Whether the archive has its end, and the end fits the length. What is no archive (torch.save of
/// old) only has to have bytes.
pub(super) fn whole(path: &Path) -> Result<(), String> {
    let file = super::open(path)?;
    let length = file.metadata().map_err(|error| error.to_string())?.len();
    if length == 0 {
        return Err("is empty".to_owned());
    }
    let mut begin = [0; 4];
    let begins = file.read_exact_at(&mut begin, 0).is_ok() && begin == BEGIN;
    if !begins {
        return Ok(());
    }
    let cut = || "is cut off".to_owned();
    let at = length.checked_sub(END_SIZE).ok_or_else(cut)?;
    let mut end = [0; END_SIZE as usize];
    file.read_exact_at(&mut end, at).map_err(|_| cut())?;
    let number = |at: usize| u32::from_le_bytes([end[at], end[at + 1], end[at + 2], end[at + 3]]);
    let (size, offset) = (number(12), number(16));
    let fits = size == LARGE || offset == LARGE || u64::from(size) + u64::from(offset) <= at;
    if end.starts_with(END) && fits {
        Ok(())
    } else {
        Err(cut())
    }
}
