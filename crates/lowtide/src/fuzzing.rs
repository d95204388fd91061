//! What `scripts/fuzz` tries of the program. Only tests and fuzzers see this module, and private parsers have their
//! target beside them. `fuzz/corpus/program` has inputs for each, which the tests run.

use lowtide_core::mark::Geometry;
use lowtide_core::verdict::Axis;

use crate::source::{Said, from_bytes};
use crate::{census_file, commands, serve, show};

/// Panics if these bytes make a parser break its promise.
pub type Target = fn(&[u8]);

/// By name. Files with a series are told apart by what is in them, so they have one way in, and a corpus each.
pub const TARGETS: &[(&str, Target)] = &[
    ("census", census_file::fuzz),
    ("config", commands::check::fuzz_config),
    ("csv", series),
    ("dat", series),
    ("deepspeed", series),
    ("detectron2", series),
    ("docker-stats", series),
    ("free", series),
    ("gpustat", series),
    ("grafana", series),
    ("http", serve::fuzz::requests),
    ("job", serve::fuzz::job),
    ("jsonl", series),
    ("keys", show::tui::fuzz::keys),
    ("kubectl-top", series),
    ("log", series),
    ("megatron", series),
    ("numbers", series),
    ("nvidia-smi", series),
    ("pidstat", series),
    ("prometheus", series),
    ("ps", series),
    ("ru-maxrss", series),
    ("sar", series),
    ("screen", show::tui::fuzz::screen),
    ("sstat", series),
    ("top", series),
    ("wandb", series),
];

/// A file with a series in it is judged, or refused with words.
fn series(bytes: &[u8]) {
    let flags = Said {
        axis: Some(Axis::Step),
        geometry: Geometry {
            examples: Some(663),
            ..Geometry::default()
        },
        total_steps: Some(500),
        column: Some("rss".to_owned()),
        unit: Some("MB".to_owned()),
        ..Said::default()
    };
    let named = Said {
        name: Some("train".to_owned()),
        ..Said::default()
    };
    for said in [Said::default(), flags, named] {
        match from_bytes(bytes, "a file", &said) {
            Ok(judged) => {
                assert!(judged.how.is_some_and(|how| !how.is_empty()));
                serde_json::to_vec(&judged.verdict).expect("a verdict is plain data");
                serde_json::to_vec(&judged.explanation).expect("and so are its reasons");
            }
            Err(refused) => assert!(!refused.to_string().is_empty()),
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_corpora_pass() {
        lowtide_testing::corpora("program", super::TARGETS);
        std::fs::remove_dir_all(crate::serve::fuzz::store()).expect("the server's own");
    }
}
