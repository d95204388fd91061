//! The inputs that fuzzing has kept, run as tests.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// Panics if these bytes make a parser break its promise.
type Target = fn(&[u8]);

/// Runs every input in `fuzz/corpus/PART` through its target. Targets and folders are held together: a new parser
/// comes with inputs, and no input is left behind by one that went.
pub fn corpora(part: &str, targets: &[(&str, Target)]) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    let names = |path: &Path| -> BTreeSet<String> {
        let entries = fs::read_dir(path).unwrap_or_else(|error| panic!("{path:?}: {error}"));
        let entries = entries.map(|entry| entry.expect("a readable folder").file_name());
        entries
            .map(|name| name.into_string().expect("a plain name"))
            .collect()
    };
    let folders = names(&root.join(part));
    let tried: BTreeSet<String> = targets.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(folders, tried, "folders in fuzz/corpus/{part} and targets");
    for (name, target) in targets {
        let folder = root.join(part).join(name);
        let inputs = names(&folder);
        assert!(!inputs.is_empty(), "fuzz/corpus/{part}/{name} is empty");
        for input in inputs {
            // Shown if the target panics.
            println!("fuzz/corpus/{part}/{name}/{input}");
            target(&fs::read(folder.join(&input)).expect("a readable input"));
        }
    }
}
