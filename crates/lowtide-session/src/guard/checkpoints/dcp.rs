//! PyTorch's distributed checkpoints: a folder of `*.distcp` pieces, whose `.metadata` is written
//! last.

use std::fs;
use std::path::Path;

use super::{Checkpoint, last_number, modified};

const METADATA: &str = ".metadata";

fn pieces(folder: &Path) -> impl Iterator<Item = fs::DirEntry> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter(|entry| entry.file_name().to_string_lossy().ends_with(".distcp"))
}

pub(crate) fn is_one(folder: &Path) -> bool {
    folder.join(METADATA).exists() || pieces(folder).next().is_some()
}

pub(crate) fn examine(folder: &Path) -> Result<Checkpoint, String> {
    let metadata = folder.join(METADATA);
    let size = |path: &Path| fs::metadata(path).map_or(0, |found| found.len());
    if size(&metadata) == 0 {
        return Err(format!("{METADATA}, which is written last, is missing"));
    }
    for piece in pieces(folder) {
        if size(&piece.path()) == 0 {
            return Err(format!("{} is empty", piece.file_name().to_string_lossy()));
        }
    }
    let name = folder.file_name().map(|name| name.to_string_lossy());
    let step = name.and_then(|name| last_number(&name));
    let written = modified(&metadata).ok_or("it went away")?;
    Ok(Checkpoint::found(folder, step, written))
}
