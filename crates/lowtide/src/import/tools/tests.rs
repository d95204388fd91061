//! What tests of the readers share.

use super::super::{Feed, ImportError, Imported, Options, read, read_all};

/// The one that is judged without a flag.
pub(super) fn judged(text: &str) -> Imported {
    asked(text, &Options::default()).unwrap_or_else(|e| panic!("{e} ({:?}): {text}", e.hint))
}

pub(super) fn asked(text: &str, options: &Options) -> Result<Imported, ImportError> {
    read(&mut Feed::bytes(text.as_bytes()), "x", options)
}

/// `--name`
pub(super) fn named(name: &str) -> Options {
    Options {
        name: Some(name.to_owned()),
        ..Options::default()
    }
}

/// Every series of the file: its name, and its sizes in MiB.
pub(super) fn all(text: &str) -> Vec<(String, Vec<f64>)> {
    let all = read_all(&mut Feed::bytes(text.as_bytes()), "x", &Options::default());
    let all = all.unwrap_or_else(|e| panic!("{e}: {text}"));
    all.iter()
        .map(|one| (one.who.name.clone(), mib(one)))
        .collect()
}

pub(super) fn mib(one: &Imported) -> Vec<f64> {
    let points = one.track.points.iter();
    points.map(|p| p.bytes / 1_048_576.0).collect()
}

pub(super) fn xs(one: &Imported) -> Vec<f64> {
    one.track.points.iter().map(|p| p.x).collect()
}
