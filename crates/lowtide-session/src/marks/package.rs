//! The Python package, put into a job that does not have it (`lowtide run --inside`): written into the watcher's
//! folder, where each Python of the job finds it by PYTHONPATH. It is embedded: the program alone is enough, and the
//! package is always of its version.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::Path;

use anyhow::{Context, Result};

/// In the watcher's folder. Only [`HOOK`] is importable there; the package is a folder further down, so that a job
/// that has one of its own keeps it.
const FOLDER: &str = "inside";
const PACKAGE: &str = "package/lowtide";
/// What every Python imports when it starts, if there is one (`site` in its documentation).
const HOOK: &str = "sitecustomize.py";
const HOOK_SOURCE: &str = include_str!("../../package/_sitecustomize.py");

macro_rules! embedded {
    ($($name:literal),+ $(,)?) => {
        /// All files of the package.
        const FILES: &[(&str, &str)] = &[$(($name, include_str!(concat!("../../package/", $name)))),+];
    };
}

embedded!(
    "__init__.py",
    "__main__.py",
    "_binary.py",
    "_budget.py",
    "_changes.py",
    "_counting.py",
    "_ends.py",
    "_events.py",
    "_hints.py",
    "_holders.py",
    "_host.py",
    "_inside.py",
    "_kinds.py",
    "_libraries.py",
    "_lines.py",
    "_link.py",
    "_loggers.py",
    "_look.py",
    "_marks.py",
    "_opened.py",
    "_places.py",
    "_ptracer.py",
    "_quiet_thread.py",
    "_sitecustomize.py",
    "_sizes.py",
    "_survey.py",
    "_tensors.py",
    "_track.py",
    "_warn.py",
    "_watch.py",
    "cleanup.py",
    "hf.py",
    "lightning.py",
    "torch.py",
    "tracemalloc.py",
);

/// Writes the package and what starts it into the folder.
pub(super) fn write(folder: &Path) -> Result<()> {
    let written = |path: &Path, text: &str| {
        fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
    };
    let inside = folder.join(FOLDER);
    let package = inside.join(PACKAGE);
    match fs::create_dir_all(&package) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            return Err(error).with_context(|| format!("cannot make {}", package.display()));
        }
        _ => {}
    }
    for (name, text) in FILES {
        written(&package.join(name), text)?;
    }
    written(&inside.join(HOOK), HOOK_SOURCE)
}

/// What the job's environment needs beside `LOWTIDE_DIR`, which names the folder: the hook comes first, and gives way
/// to all that was there before. `before` is the PYTHONPATH that the job would have had.
pub(crate) fn variables(folder: &Path, before: Option<OsString>) -> Vec<(OsString, OsString)> {
    let mut path = folder.join(FOLDER).into_os_string();
    if let Some(before) = before.filter(|before| !before.is_empty()) {
        path.push(":");
        path.push(before);
    }
    vec![("PYTHONPATH".into(), path)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_file_of_the_package_is_embedded() {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("package");
        let names = fs::read_dir(source).unwrap().map(|found| found.unwrap());
        let names = names.map(|found| found.file_name().into_string().unwrap());
        let sources: BTreeSet<String> = names.filter(|name| name.ends_with(".py")).collect();
        let embedded: BTreeSet<String> = FILES.iter().map(|(name, _)| (*name).to_owned()).collect();
        assert_eq!(embedded, sources);
    }

    #[test]
    fn it_can_be_written_twice_and_leads_the_path() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path()).unwrap();
        write(folder.path()).unwrap();
        let inside = folder.path().join("inside");
        assert!(inside.join("sitecustomize.py").is_file());
        assert!(inside.join("package/lowtide/_inside.py").is_file());
        let path = |before: &str| variables(folder.path(), Some(before.into())).remove(0).1;
        let inside = inside.into_os_string().into_string().unwrap();
        assert_eq!(path("/a:/b"), OsString::from(format!("{inside}:/a:/b")));
        // An empty one is none: Python would take it for the working directory.
        assert_eq!(path(""), OsString::from(inside));
    }
}
