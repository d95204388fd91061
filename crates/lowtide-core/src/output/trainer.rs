//! What Hugging Face's Trainer and Unsloth print besides bars: log dictionaries
//! (`{'loss': 1.2, 'epoch': 0.12}`), the block of settings before training, and a few headings.

use super::parts::EpochPart;
use super::text::leading_grouped;
use crate::mark::{Geometry, Phase};

/// A printed log dictionary. Newer versions print the numbers as strings.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct LogDict {
    pub epoch: Option<f64>,
    /// The same, where it is a part of an epoch: a whole number may be an index.
    pub part: Option<EpochPart>,
    pub step: Option<u64>,
    pub kind: DictKind,
    /// Only Trainer prints such a one.
    pub trainers_own: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DictKind {
    Train,
    Eval,
    /// The last one: `train_runtime`.
    Summary,
}

pub(crate) fn log_dict(line: &str) -> Option<LogDict> {
    if !line.contains('{') {
        return None;
    }
    let open = line.find("{'").or_else(|| line.find("{\""))?;
    let text = &line[open..];
    let close = text.rfind('}')?;
    let text = &text[..close];
    let [
        train_runtime,
        eval_loss,
        eval_runtime,
        loss,
        epoch,
        step,
        global_step,
        learning_rate,
    ] = values(text);
    let kind = if train_runtime.is_some() {
        DictKind::Summary
    } else if eval_loss.or(eval_runtime).is_some() {
        DictKind::Eval
    } else if loss.is_some() {
        DictKind::Train
    } else {
        return None;
    };
    let number = |value: Option<&str>| value.and_then(number_at).filter(|v| *v >= 0.0);
    Some(LogDict {
        epoch: number(epoch),
        part: epoch.and_then(part_at),
        step: number(step)
            .or_else(|| number(global_step))
            .map(|v| v as u64),
        kind,
        trainers_own: train_runtime.or(eval_runtime).is_some()
            || is_trainers(loss, learning_rate, epoch),
    })
}

/// `loss`, `learning_rate` and last the `epoch`, which is a fraction or, in newer versions, a string. A loop that
/// prints a dictionary of its own counts whole epochs, or names them first.
fn is_trainers(loss: Option<&str>, rate: Option<&str>, epoch: Option<&str>) -> bool {
    let (Some(loss), Some(rate), Some(epoch)) = (loss, rate, epoch) else {
        return false;
    };
    // They all end where the line does: what is shorter begins later.
    let in_order = loss.len() > rate.len() && rate.len() > epoch.len();
    let value = epoch.split(',').next().unwrap_or(epoch);
    in_order && (value.starts_with(['\'', '"']) || value.contains('.'))
}

/// What is asked of a dictionary.
const KEYS: [&str; 8] = [
    "train_runtime",
    "eval_loss",
    "eval_runtime",
    "loss",
    "epoch",
    "step",
    "global_step",
    "learning_rate",
];

/// What follows each of `'name':` in a printed dictionary, found in one pass over it.
fn values(text: &str) -> [Option<&str>; KEYS.len()] {
    let is_quote = |b: u8| matches!(b, b'\'' | b'"');
    let mut found = [None; KEYS.len()];
    for (at, _) in text.bytes().enumerate().filter(|(_, b)| is_quote(*b)) {
        // A quote is a character by itself, so it can be cut there.
        let rest = &text[at + 1..];
        let key = KEYS.iter().zip(&mut found).find(|(key, _)| {
            let behind = rest.as_bytes().get(key.len());
            rest.starts_with(**key) && behind.is_some_and(|b| is_quote(*b))
        });
        if let Some((key, value @ None)) = key {
            let rest = rest[key.len() + 1..].trim_start().strip_prefix(':');
            *value = rest.map(str::trim_start);
        }
    }
    found
}

fn number_at(text: &str) -> Option<f64> {
    let text = text.trim_start_matches(['\'', '"']);
    let end = text
        .find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | 'e' | 'E' | '-' | '+')))
        .unwrap_or(text.len());
    text[..end].parse().ok().filter(|v: &f64| v.is_finite())
}

/// Trainer prints epochs with two digits, newer versions with four significant ones; both leave zeros
/// at the end out.
fn part_at(text: &str) -> Option<EpochPart> {
    let epoch = number_at(text).filter(|epoch| *epoch > 0.0 && epoch.fract() != 0.0)?;
    let (_, behind) = text.split_once('.')?;
    let digits = behind
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(behind.len());
    let least = match epoch {
        ..100.0 => 2,
        ..1000.0 => 1,
        _ => 0,
    };
    // `1e-3` says nothing of an epoch that could be used.
    (!behind[digits..].starts_with(['e', 'E'])).then(|| EpochPart::new(epoch, digits.max(least)))
}

/// One line of the settings block; several settings may share it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Settings {
    pub geometry: Geometry,
    pub epochs: Option<u64>,
    pub total_steps: Option<u64>,
    /// Examples per optimizer step over all processes.
    pub total_batch: Option<u64>,
    /// Optimizer steps in an epoch, as newer versions print them.
    pub epoch_steps: Option<u64>,
}

pub(super) fn settings(line: &str) -> Option<Settings> {
    if !line.contains(" = ") {
        return None;
    }
    let mut found = Settings::default();
    let mut any = false;
    for part in line.split('|') {
        let Some((name, value)) = part.split_once(" = ") else {
            continue;
        };
        let Some((value, _)) = leading_grouped(value.trim_start()) else {
            continue;
        };
        let name = name.trim().to_ascii_lowercase();
        let slot = if name.ends_with("num examples") {
            &mut found.geometry.examples
        } else if name.ends_with("batch size per device") {
            &mut found.geometry.batch
        } else if name.ends_with("gradient accumulation steps") {
            &mut found.geometry.accumulate
        } else if name.ends_with("data parallel gpus") {
            &mut found.geometry.world
        } else if name.ends_with("num update steps per epoch") {
            &mut found.epoch_steps
        } else if name.ends_with("num epochs") {
            &mut found.epochs
        } else if name.ends_with("total optimization steps") || name.ends_with("total steps") {
            &mut found.total_steps
        } else if name.contains("total train batch size") || name.contains("total batch size") {
            &mut found.total_batch
        } else {
            continue;
        };
        *slot = Some(value);
        any = true;
    }
    any.then_some(found)
}

/// `***** Running training *****` and friends: which block of settings follows, or what begins.
pub(crate) fn heading(line: &str) -> Option<Phase> {
    // A byte is found sooner than a word.
    let has = |byte: u8, word: &str| line.as_bytes().contains(&byte) && line.contains(word);
    if !(has(b'*', "*****") || has(b'S', "Saving")) {
        return None;
    }
    if line.contains("***** Running training *****") {
        Some(Phase::Train)
    } else if line.contains("***** Running Evaluation *****")
        || line.contains("***** Running Prediction *****")
        || line.contains("***** Running evaluation *****")
    {
        Some(Phase::Eval)
    } else if line.contains("Saving model checkpoint to") {
        Some(Phase::Save)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dictionaries_old_and_new() {
        let dict =
            log_dict("{'loss': 1.2, 'grad_norm': 0.3, 'learning_rate': 2e-05, 'epoch': 0.12}");
        assert_eq!(
            dict,
            Some(LogDict {
                epoch: Some(0.12),
                part: Some(EpochPart::new(0.12, 2)),
                step: None,
                kind: DictKind::Train,
                trainers_own: true,
            })
        );
        let quoted = log_dict(
            "{'loss': '1.2', 'grad_norm': '0.3', 'learning_rate': '2e-05', 'epoch': '0.12'}",
        );
        assert_eq!(quoted, dict);
        let eval = log_dict("{'eval_loss': 0.9, 'eval_runtime': 1.2, 'epoch': 1.0}").unwrap();
        assert_eq!((eval.kind, eval.epoch), (DictKind::Eval, Some(1.0)));
        assert_eq!(eval.part, None);
        let half = log_dict("{'loss': '0.9', 'epoch': '0.5'}").unwrap();
        assert_eq!(half.part, Some(EpochPart::new(0.5, 2)));
        let fine = log_dict("{'loss': '0.9', 'epoch': '1.207'}").unwrap();
        assert_eq!(fine.part, Some(EpochPart::new(1.207, 3)));
        let last = log_dict("{'train_runtime': 60.1, 'train_loss': 0.4, 'epoch': 3.0}").unwrap();
        assert_eq!(last.kind, DictKind::Summary);
        // The first that is a key counts, by any quotes.
        let twice =
            log_dict("{'loss' 1, \"loss\": 'loss', 'epoch\" : 2, 'epoch': 3, 'step': -1}").unwrap();
        assert_eq!((twice.kind, twice.epoch), (DictKind::Train, Some(2.0)));
        assert_eq!(twice.step, None);
        for line in ["{'a': 1}", "{\"loss_fn\": 3}", "loss: 3", "{'eval_bleu': 3"] {
            assert_eq!(log_dict(line), None, "{line}");
        }
    }

    #[test]
    fn dictionaries_of_other_loops_are_not_trainers() {
        let own = |line| log_dict(line).unwrap().trainers_own;
        assert!(own("{'eval_loss': 0.9, 'eval_runtime': 1.2, 'epoch': 1.0}"));
        assert!(own(
            "{'train_runtime': 60.1, 'train_loss': 0.4, 'epoch': 3.0}"
        ));
        for line in [
            "{'loss': 1.2, 'epoch': 0.12}",
            "{'loss': 1.2, 'learning_rate': 2e-05, 'epoch': 3}",
            "{'loss': 1.2, 'learning_rate': 2e-05, 'epoch': 3, 'time': 1.5}",
            "{'epoch': 0.5, 'loss': 1.2, 'learning_rate': 2e-05}",
            "{'eval_loss': 0.9, 'epoch': 1.0}",
        ] {
            assert!(!own(line), "{line}");
        }
    }

    #[test]
    fn settings_of_trainer_and_unsloth() {
        let line = "O^O/ \\_/ \\    Batch size per device = 2 | Gradient accumulation steps = 4";
        let found = settings(line).unwrap();
        assert_eq!(found.geometry.batch, Some(2));
        assert_eq!(found.geometry.accumulate, Some(4));
        let line = "\\        /    Data Parallel GPUs = 1 | Total batch size (2 x 4 x 1) = 8";
        let found = settings(line).unwrap();
        assert_eq!(
            (found.geometry.world, found.total_batch),
            (Some(1), Some(8))
        );
        let found = settings("  Num examples = 1,663").unwrap();
        assert_eq!(found.geometry.examples, Some(1663));
        assert_eq!(settings("x = 3"), None);
    }
}
