//! Checkpoints of the Hugging Face Trainer: `checkpoint-N/`, whose `trainer_state.json` is written
//! last. Its weights, optimizer and random state must be whole too: a disk that fills up or a machine
//! that goes down may leave the names without the bytes.

use std::fs;
use std::path::Path;

use super::{Checkpoint, dcp, last_number, modified, zip};

const STATE: &str = "trainer_state.json";

/// Names under which a model's weights are saved, whole or in shards.
const WEIGHTS: [&str; 4] = ["model", "pytorch_model", "adapter_model", "adapter"];

pub(crate) fn is_one(name: &str) -> bool {
    name.strip_prefix("checkpoint-")
        .is_some_and(|step| !step.is_empty() && step.bytes().all(|b| b.is_ascii_digit()))
}

pub(crate) fn examine(folder: &Path) -> Result<Checkpoint, String> {
    let state = folder.join(STATE);
    let bytes =
        super::read(&state).map_err(|_| format!("{STATE}, which is written last, is missing"))?;
    let json: serde_json::Value =
        serde_json::from_slice(&bytes).map_err(|_| format!("{STATE} is cut off"))?;
    let step = json.get("global_step").and_then(serde_json::Value::as_u64);
    let named = folder
        .file_name()
        .and_then(|name| last_number(&name.to_string_lossy()));
    if step.is_none() || step != named {
        return Err(format!("{STATE} is of another step"));
    }
    let mut weights = false;
    for entry in fs::read_dir(folder)
        .map_err(|error| error.to_string())?
        .flatten()
    {
        let path = entry.path();
        let name = entry.file_name().to_string_lossy().into_owned();
        let is_weights = WEIGHTS.iter().any(|prefix| name.starts_with(prefix));
        if path.is_dir() {
            let sharded = dcp::is_one(&path);
            if sharded {
                dcp::examine(&path).map_err(|why| format!("{name}: {why}"))?;
            }
            // DeepSpeed puts the weights of all ranks into a folder that `latest` names.
            weights |= sharded || name.starts_with("global_step");
        } else if name.ends_with(".safetensors") {
            safetensors(&path).map_err(|why| format!("{name} {why}"))?;
            weights |= is_weights;
        } else if [".bin", ".pt", ".pth"]
            .iter()
            .any(|end| name.ends_with(end))
        {
            zip::whole(&path).map_err(|why| format!("{name} {why}"))?;
            weights |= is_weights;
        } else if name.ends_with(".index.json") {
            shards(folder, &path)?;
        }
    }
    if !weights {
        return Err("no weights in it".to_owned());
    }
    let written = modified(&state).ok_or("it went away")?;
    Ok(Checkpoint::found(folder, step, written))
}

/// Every shard that the index names is there; each is examined by itself.
fn shards(folder: &Path, index: &Path) -> Result<(), String> {
    let bytes = super::read(index)?;
    let json: serde_json::Value =
        serde_json::from_slice(&bytes).map_err(|_| "the index of its shards is cut off")?;
    let map = json.get("weight_map").and_then(|map| map.as_object());
    for shard in map.into_iter().flat_map(|map| map.values()) {
        let name = shard.as_str().unwrap_or_default();
        if !folder.join(name).is_file() {
            return Err(format!("{name} is missing"));
        }
    }
    Ok(())
}

/// A header beyond this is none; the library's own limit.
const LARGEST_HEADER: u64 = 100_000_000;

/// The header says where the last tensor ends, and the file ends there.
fn safetensors(path: &Path) -> Result<(), String> {
    use std::os::unix::fs::FileExt;
    let file = super::open(path)?;
    let length = file.metadata().map_err(|error| error.to_string())?.len();
    let cut = || "is cut off".to_owned();
    let mut size = [0; 8];
    file.read_exact_at(&mut size, 0).map_err(|_| cut())?;
    let size = u64::from_le_bytes(size);
    if size > LARGEST_HEADER || size + 8 > length {
        return Err(cut());
    }
    let mut header = vec![0; size as usize];
    file.read_exact_at(&mut header, 8).map_err(|_| cut())?;
    let json: serde_json::Value = serde_json::from_slice(&header).map_err(|_| cut())?;
    let ends = json
        .as_object()
        .ok_or_else(cut)?
        .values()
        .filter_map(|tensor| {
            let offsets = tensor.get("data_offsets")?;
            offsets.get(1)?.as_u64()
        });
    let data = ends.max().unwrap_or(0);
    // A header can name any number: no sum is made with it.
    if data == length - 8 - size {
        Ok(())
    } else {
        Err(cut())
    }
}
