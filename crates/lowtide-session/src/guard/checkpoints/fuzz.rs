//! What `scripts/fuzz` tries on the files of a checkpoint, which a job writes and a full disk cuts off.

use std::fs;

use super::{dcp, last_number, trainer, zip};

/// Bytes of one file: as an archive of `torch.save`, as weights, as the Trainer's state and as an index of shards, in
/// a folder that looks like a checkpoint.
pub(crate) fn files(bytes: &[u8]) {
    let name = format!("lowtide-fuzz-{}", std::process::id());
    let folder = std::env::temp_dir().join(name).join("checkpoint-7");
    fs::create_dir_all(&folder).expect("a folder for temporary files");
    let write = |name: &str, bytes: &[u8]| fs::write(folder.join(name), bytes).expect("our folder");
    let remove = |name: &str| fs::remove_file(folder.join(name)).expect("our own file");
    // All but one are as they should be.
    write("trainer_state.json", br#"{"global_step":7}"#);
    write("model.bin", b"weights of old");
    assert!(trainer::examine(&folder).is_ok_and(|found| found.step == Some(7)));
    for name in ["optimizer.pt", "adapter.safetensors", "model.index.json"] {
        write(name, bytes);
        let _ = trainer::examine(&folder);
        remove(name);
    }
    write("a7.ckpt", bytes);
    let archive = zip::examine(&folder.join("a7.ckpt"));
    assert!(archive.is_ok_and(|found| found.step == Some(7)) || cut(bytes));
    remove("a7.ckpt");
    write("trainer_state.json", bytes);
    let state = trainer::examine(&folder);
    assert!(state.is_err() || serde_json::from_slice::<serde_json::Value>(bytes).is_ok());
    let _ = dcp::examine(&folder);
    fs::remove_dir_all(folder.parent().expect("it has one")).expect("our own folder");
    let _ = last_number(&String::from_utf8_lossy(bytes));
}

/// Only what begins like an archive can be cut off.
fn cut(bytes: &[u8]) -> bool {
    bytes.is_empty() || bytes.starts_with(b"PK\x03\x04")
}
