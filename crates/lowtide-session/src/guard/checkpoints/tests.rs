//! Checkpoints as libraries leave them, whole and cut.

use super::*;
use proptest::prelude::*;

/// The smallest archive: one that is empty but for its end, behind a local header.
fn archive() -> Vec<u8> {
    let mut bytes = b"PK\x03\x04some file".to_vec();
    let offset = bytes.len() as u32;
    bytes.extend(b"PK\x05\x06");
    bytes.extend([0; 8]);
    bytes.extend(0_u32.to_le_bytes());
    bytes.extend(offset.to_le_bytes());
    bytes.extend([0; 2]);
    bytes
}

fn tensors() -> Vec<u8> {
    let header = br#"{"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}"#;
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend(header);
    bytes.extend([1; 8]);
    bytes
}

fn save(folder: &Path, step: u64) -> PathBuf {
    let checkpoint = folder.join(format!("checkpoint-{step}"));
    fs::create_dir_all(&checkpoint).unwrap();
    fs::write(checkpoint.join("adapter_model.safetensors"), tensors()).unwrap();
    fs::write(checkpoint.join("optimizer.pt"), archive()).unwrap();
    let state = format!(r#"{{"global_step": {step}}}"#);
    fs::write(checkpoint.join("trainer_state.json"), state).unwrap();
    checkpoint
}

fn look(folder: &Path) -> Checkpoints {
    Places::guessed(folder.to_owned(), Vec::new()).look(SystemTime::UNIX_EPOCH)
}

#[test]
fn the_furthest_complete_checkpoint_comes_first() {
    let root = tempfile::tempdir().unwrap();
    for step in [20, 100, 60] {
        save(&root.path().join("out"), step);
    }
    let found = look(root.path());
    let steps: Vec<_> = found.complete.iter().map(|known| known.step).collect();
    assert_eq!(steps, [Some(100), Some(60), Some(20)]);
}

#[test]
fn half_written_ones_are_skipped_and_named() {
    type Damage = fn(&Path);
    let damages: [(&str, Damage); 7] = [
        ("written last", |path| {
            fs::remove_file(path.join("trainer_state.json")).unwrap()
        }),
        ("cut off", |path| {
            fs::write(path.join("trainer_state.json"), b"{\"glob").unwrap()
        }),
        ("cut off", |path| {
            let weights = path.join("adapter_model.safetensors");
            let bytes = fs::read(&weights).unwrap();
            fs::write(weights, &bytes[..bytes.len() - 1]).unwrap();
        }),
        ("cut off", |path| {
            let optimizer = path.join("optimizer.pt");
            let bytes = fs::read(&optimizer).unwrap();
            fs::write(optimizer, &bytes[..bytes.len() - 3]).unwrap();
        }),
        // An end beyond all files.
        ("cut off", |path| {
            let header = br#"{"w":{"data_offsets":[0,18446744073709551615]}}"#;
            let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
            bytes.extend(header);
            fs::write(path.join("adapter_model.safetensors"), bytes).unwrap();
        }),
        ("no weights", |path| {
            fs::remove_file(path.join("adapter_model.safetensors")).unwrap()
        }),
        ("another step", |path| {
            fs::write(path.join("trainer_state.json"), b"{\"global_step\": 3}").unwrap()
        }),
    ];
    for (expected, damage) in damages {
        let root = tempfile::tempdir().unwrap();
        save(root.path(), 10);
        damage(&save(root.path(), 20));
        let found = look(root.path());
        assert_eq!(found.complete.len(), 1, "{expected}");
        assert_eq!(found.complete[0].step, Some(10));
        let [(path, why)] = &found.broken[..] else {
            panic!("{found:?}")
        };
        assert!(path.ends_with("checkpoint-20"));
        assert!(why.contains(expected), "{why}");
    }
}

#[test]
fn a_missing_shard_is_noticed() {
    let root = tempfile::tempdir().unwrap();
    let path = save(root.path(), 20);
    fs::write(
        path.join("model.safetensors.index.json"),
        br#"{"weight_map": {"w": "model-00001-of-00002.safetensors"}}"#,
    )
    .unwrap();
    assert!(look(root.path()).broken[0].1.contains("is missing"));
}

#[test]
fn distributed_checkpoints_need_their_metadata() {
    let root = tempfile::tempdir().unwrap();
    for (step, complete) in [(5, true), (9, false)] {
        let folder = root.path().join(format!("step-{step}"));
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("__0_0.distcp"), b"bytes").unwrap();
        if complete {
            fs::write(folder.join(".metadata"), b"bytes").unwrap();
        }
    }
    let found = look(root.path());
    assert_eq!(found.complete.len(), 1);
    assert_eq!(found.complete[0].step, Some(5));
    assert_eq!(found.broken.len(), 1);
}

#[test]
fn lightning_files_are_found_where_lightning_puts_them() {
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("lightning_logs/version_0/checkpoints");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("epoch=1-step=80.ckpt"), archive()).unwrap();
    fs::write(root.path().join("lowtide-90.ckpt"), &archive()[..20]).unwrap();
    fs::write(root.path().join("weights.pt"), archive()).unwrap();
    let found = look(root.path());
    assert_eq!(found.complete.len(), 1, "{found:?}");
    assert_eq!(found.complete[0].step, Some(80));
    assert!(found.broken[0].0.ends_with("lowtide-90.ckpt"));
    let named = Places::named(root.path().to_owned()).look(SystemTime::UNIX_EPOCH);
    assert_eq!(
        named.complete.len(),
        2,
        "a folder that was named is taken at its word"
    );
}

fn put(folder: &Path, name: &str) -> PathBuf {
    fs::create_dir_all(folder).unwrap();
    fs::write(folder.join(name), archive()).unwrap();
    folder.join(name)
}

#[test]
fn an_archive_counts_by_its_name_where_nobody_pointed_at_it() {
    let root = tempfile::tempdir().unwrap();
    let deep = root.path().join("proj/big model/2026/out/run1/other");
    let counted = [
        put(&deep, "step_40.pt"),
        put(&deep, "LAST.pth"),
        put(&deep, "state-7.pt"),
        put(&deep.join("ckpts"), "a.pt"),
    ];
    for name in ["features.pt", "model.pt", "ema.pth", "statement.pt"] {
        put(&deep, name);
    }
    let found = look(root.path());
    let mut paths: Vec<_> = found.complete.iter().map(|one| one.path.clone()).collect();
    paths.sort();
    // The last lies one deeper than is looked.
    let mut expected = counted[..3].to_vec();
    expected.sort();
    assert_eq!(paths, expected);
    let mut told = Places::default();
    told.add(deep.clone(), Standing::Told);
    assert_eq!(told.look(SystemTime::UNIX_EPOCH).complete.len(), 8);
    let mut framework = Places::default();
    framework.add(deep, Standing::Framework);
    assert_eq!(framework.look(SystemTime::UNIX_EPOCH).complete.len(), 3);
}

#[test]
fn what_lies_near_is_ours_only_where_nobody_else_can_be_meant() {
    let root = tempfile::tempdir().unwrap();
    let (one, other) = (root.path().join("runs/one"), root.path().join("runs/other"));
    put(&one, "step_40.pt");
    put(&one, "step_50.pt");
    let steps =
        |found: &Checkpoints| -> Vec<_> { found.complete.iter().map(|one| one.step).collect() };
    let found = look(root.path()).of_this_job(Some(50));
    assert_eq!(steps(&found), [Some(50), Some(40)]);
    // A job that has come to step 45 has not saved at 50.
    let found = look(root.path()).of_this_job(Some(45));
    assert!(found.complete.is_empty());
    assert_eq!(found.doubtful, std::slice::from_ref(&one));
    put(&other, "step_20.pt");
    let found = look(root.path()).of_this_job(Some(50));
    assert!(found.complete.is_empty());
    assert_eq!(found.doubtful, [one.clone(), other]);
    // It was seen to write there.
    let mut places = Places::guessed(root.path().to_owned(), Vec::new());
    places.add(one.clone(), Standing::Written);
    let found = places.look(SystemTime::UNIX_EPOCH).of_this_job(Some(50));
    assert_eq!(steps(&found), [Some(50), Some(40)]);
    // What the user names is taken at its word.
    let named = Places::named(root.path().to_owned());
    let found = named.look(SystemTime::UNIX_EPOCH).of_this_job(Some(50));
    assert_eq!(found.complete.len(), 3);
}

#[test]
fn links_do_not_lead_out_of_a_folder() {
    let (root, away) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let folder = root.path().join("out");
    let inside = put(&folder, "epoch=1.ckpt");
    std::os::unix::fs::symlink(&inside, folder.join("last.ckpt")).unwrap();
    let outside = put(away.path(), "step_9.ckpt");
    std::os::unix::fs::symlink(&outside, folder.join("step_9.ckpt")).unwrap();
    std::os::unix::fs::symlink(away.path(), folder.join("below")).unwrap();
    let found = look(root.path());
    let names: Vec<_> = found
        .complete
        .iter()
        .map(|one| one.path.file_name().unwrap())
        .collect();
    assert_eq!(names.len(), 2, "{names:?}");
    assert!(!names.contains(&std::ffi::OsStr::new("step_9.ckpt")));
}

#[test]
fn those_of_earlier_jobs_are_not_ours() {
    let root = tempfile::tempdir().unwrap();
    save(root.path(), 900);
    let later = SystemTime::now() + Duration::from_secs(60);
    let found = Places::guessed(root.path().to_owned(), Vec::new()).look(later);
    assert!(found.complete.is_empty() && found.broken.is_empty());
}

#[test]
fn steps_are_read_from_names() {
    assert_eq!(last_number("epoch=1-step=80"), Some(80));
    assert_eq!(last_number("last"), None);
    assert_eq!(last_number("7"), Some(7));
    assert_eq!(last_number("é7"), Some(7));
    assert_eq!(last_number("7é"), Some(7));
    assert_eq!(last_number("é"), None);
}

#[test]
fn a_fifo_is_no_checkpoint_and_nobody_waits_for_it() {
    let root = tempfile::tempdir().unwrap();
    let checkpoint = save(root.path(), 10);
    for path in [root.path().join("x1.ckpt"), checkpoint.join("rng.pt")] {
        let mode = rustix::fs::Mode::RUSR;
        rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    }
    let found = look(root.path());
    assert!(found.complete.is_empty(), "{found:?}");
    assert_eq!(found.broken.len(), 2);
    assert!(
        found
            .broken
            .iter()
            .all(|(_, why)| why.contains("is no file"))
    );
}

proptest! {
    #[test]
    fn no_file_can_hurt(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let root = tempfile::tempdir().unwrap();
        let path = save(root.path(), 1);
        fs::write(path.join("model.safetensors"), &bytes).unwrap();
        fs::write(path.join("optimizer.pt"), &bytes).unwrap();
        fs::write(root.path().join("a.ckpt"), &bytes).unwrap();
        look(root.path());
    }

    #[test]
    fn no_name_can_hurt(name in ".{0,12}") {
        last_number(&name);
    }

    #[test]
    fn every_cut_of_an_archive_is_noticed(keep in 4_usize..35) {
        let bytes = archive();
        prop_assume!(keep < bytes.len());
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), &bytes[..keep]).unwrap();
        prop_assert!(zip::whole(file.path()).is_err());
    }
}

#[test]
fn a_file_that_our_own_code_fails_on_is_skipped_and_named() {
    let broken = examined(Path::new("é7.ckpt"), |path| {
        let name = path.to_str().unwrap();
        Err(name[1..].to_owned())
    });
    let why = broken.unwrap_err();
    assert!(
        why.contains("lowtide failed on it") && why.contains("char boundary"),
        "{why}"
    );
}
