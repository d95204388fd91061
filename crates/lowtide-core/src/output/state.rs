//! `trainer_state.json`, which Trainer writes last into each `checkpoint-N/`. Whoever watches the
//! output folder hands over its bytes; the mark says how far the run was when it saved.

use serde::Deserialize;

use super::epoch::Length;
use crate::mark::{Geometry, Mark, MarkSource, Phase};
use crate::units::Micros;

/// The fields we read; `log_history`, which makes the file large, is skipped while parsing.
#[derive(Deserialize)]
struct TrainerState {
    global_step: u64,
    #[serde(default)]
    max_steps: Option<f64>,
    #[serde(default)]
    epoch: Option<f64>,
    #[serde(default)]
    num_train_epochs: Option<f64>,
    #[serde(default)]
    train_batch_size: Option<u64>,
}

#[derive(Debug, thiserror::Error)]
#[error("not a trainer_state.json: {0}")]
pub struct StateError(#[from] serde_json::Error);

pub fn trainer_state(bytes: &[u8], at: Micros) -> Result<Mark, StateError> {
    let state: TrainerState = serde_json::from_slice(bytes)?;
    let positive = |v: f64| (v.is_finite() && v > 0.0).then_some(v);
    let max_steps = state.max_steps.and_then(positive);
    let epochs = state.num_train_epochs.and_then(positive);
    // Steps and epochs done give the length of an epoch exactly; the planned totals are rounded up.
    let epoch_steps = match state.epoch.and_then(positive) {
        Some(epoch) if state.global_step > 0 => Some(state.global_step as f64 / epoch),
        _ => max_steps.zip(epochs).and_then(|(steps, epochs)| {
            let mut length = Length::default();
            length.planned(steps as u64, epochs as u64);
            length.plan()?.value
        }),
    };
    Ok(Mark {
        at,
        source: MarkSource::TrainerState,
        step: Some(state.global_step),
        total_steps: max_steps
            .map(|v| v as u64)
            .filter(|total| *total >= state.global_step),
        epoch: state.epoch.filter(|e| e.is_finite() && *e >= 0.0),
        phase: Some(Phase::Save),
        geometry: Some(Geometry {
            batch: state.train_batch_size.filter(|b| *b > 0),
            epoch_steps,
            ..Geometry::default()
        }),
        ..Mark::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_checkpoint_tells_where_the_run_is() {
        let json = br#"{"best_metric": null, "epoch": 1.2066365, "eval_steps": 500, "global_step": 100,
            "log_history": [{"epoch": 0.12, "loss": 1.2, "step": 10}], "max_steps": 249,
            "num_train_epochs": 3, "train_batch_size": 2, "stateful_callbacks": {"a": {"args": {}}}}"#;
        let mark = trainer_state(json, Micros(7)).unwrap();
        assert_eq!((mark.step, mark.total_steps), (Some(100), Some(249)));
        let geometry = mark.geometry.unwrap();
        assert_eq!(geometry.batch, Some(2));
        assert!((geometry.epoch_steps.unwrap() - 82.875).abs() < 0.01);
        assert!(trainer_state(b"{\"epoch\": 1}", Micros(0)).is_err());
        assert!(trainer_state(b"\xff\x00", Micros(0)).is_err());
    }
}
