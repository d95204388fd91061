//! What is believed of how long stores take to fill, without what a family of the zoo is made of (`zoo/prior/folds.json`,
//! which `zoo/prior/fit.py` writes).

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::Context as _;
use lowtide_core::judge::prior::{Length, Prior};
use serde::Deserialize;

#[derive(Clone, Copy, Debug, Deserialize, PartialEq)]
struct Lengths {
    store_steps: [f64; 5],
    store_seconds: [f64; 5],
    passes: [f64; 5],
    rounds: [f64; 5],
    epoch_steps: [f64; 5],
    epoch_seconds: [f64; 5],
}

impl Lengths {
    fn prior(self) -> Prior {
        Prior {
            store_steps: Length(self.store_steps),
            store_seconds: Length(self.store_seconds),
            passes: Length(self.passes),
            rounds: Length(self.rounds),
            epoch_steps: Length(self.epoch_steps),
            epoch_seconds: Length(self.epoch_seconds),
            ..Prior::PUBLISHED
        }
    }
}

pub struct Folds(BTreeMap<String, Lengths>);

impl Folds {
    pub fn read() -> anyhow::Result<Folds> {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../zoo/prior/folds.json");
        let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        Ok(Folds(serde_json::from_str(&text)?))
    }

    /// Without that family; leaks and what no store is made of take nothing away.
    pub fn without(&self, family: &str) -> Prior {
        let own = self.0.get(family);
        own.map_or(Prior::PUBLISHED, |lengths| lengths.prior())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The judge believes what the sources say: who adds one runs `fit.py` and copies its points.
    #[test]
    fn the_judge_believes_what_is_published() {
        let folds = Folds::read().unwrap();
        assert_eq!(folds.0["all"].prior(), Prior::PUBLISHED);
        assert!(folds.0.len() > 12);
    }
}
