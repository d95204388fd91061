//! How many epochs a job's own command says that it has: a bar without a name that counts to the same number counts
//! them. Nothing else tells `tqdm(range(epochs))` from a bar over steps.

/// Names of the flag, without what stands before them (`trainer.max_epochs`, `--num-train-epochs`).
const EPOCHS: [&str; 3] = ["epoch", "epochs", "nepochs"];
/// A flag with one of these in its name counts something that may be drawn as a bar too.
const OTHERS: [&str; 4] = ["step", "iter", "batch", "sample"];

/// `--epochs 40`, `--num_epochs=40`, `trainer.max_epochs=40`. None where another flag has the same number: then the bar
/// may be that one's.
pub(super) fn epochs_of(command: &[String]) -> Option<u64> {
    let epochs = numbers(command).find_map(|(name, n)| is_epochs(&name).then_some(n))?;
    let other = |(name, n): (String, u64)| n == epochs && OTHERS.iter().any(|o| name.contains(o));
    (epochs > 1 && !numbers(command).any(other)).then_some(epochs)
}

fn is_epochs(name: &str) -> bool {
    let last = name.rsplit(['_', '-', '.', '+']).next().unwrap_or(name);
    EPOCHS.contains(&last) && !["per", "every", "warm"].iter().any(|w| name.contains(w))
}

/// Flags that have a whole number, in small letters.
fn numbers(command: &[String]) -> impl Iterator<Item = (String, u64)> {
    let next = command.iter().skip(1).map(Some).chain([None]);
    command.iter().zip(next).filter_map(|(word, next)| {
        let (name, value) = match (word.split_once('='), next) {
            (Some((name, value)), _) => (name, value),
            (None, Some(next)) if word.starts_with('-') => (word.as_str(), next.as_str()),
            _ => return None,
        };
        let name = name.trim_start_matches('-').to_ascii_lowercase();
        Some((name, value.parse().ok()?))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_of_every_kind() {
        let of = |line: &str| {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            epochs_of(&words)
        };
        for (line, epochs) in [
            ("python train.py --epochs 40", Some(40)),
            ("python train.py --num_train_epochs=3 --lr 0.1", Some(3)),
            (
                "python -m job trainer.max_epochs=40 model.width=64",
                Some(40),
            ),
            ("python train.py --n-epochs 12", Some(12)),
            // A bar to 40 may count either.
            ("python train.py --epochs 40 --max-steps 40", None),
            ("python train.py --epochs 1", None),
            ("python train.py --steps-per-epoch 40", None),
            ("python train.py --eval-every-epochs 2", None),
            ("python train.py --warmup-epochs 5", None),
            ("python train.py --epochs", None),
            ("python train.py 40", None),
        ] {
            assert_eq!(of(line), epochs, "{line}");
        }
    }
}
