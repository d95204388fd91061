//! The epoch that a line names: a whole one (`Epoch 3/10`, `epoch: 3`), a part of one
//! (`epoch 0.31`), or a line that says no more than that an epoch begins.

use super::parts::EpochPart;
use super::text::leading_number;

/// Words before `epoch 3` that say it is not the running one.
const OTHER_EPOCHS: [&str; 11] = [
    "best", "last", "per", "every", "each", "previous", "max", "total", "num", "until", "from",
];

/// Words anywhere before `epoch 3` that say it is one of many in each round of something else, as the
/// epochs of every PPO update are: no pass over the data.
const INNER_LOOPS: [&str; 9] = [
    "update",
    "rollout",
    "episode",
    "round",
    "cycle",
    "generation",
    "ppo",
    "inner",
    "critic",
];

/// Units behind a number: `epoch 0.31 s` is a time.
const UNITS: [&str; 10] = [
    "s", "sec", "secs", "second", "seconds", "ms", "min", "minutes", "h", "hours",
];

/// What may stand before `epoch 2` on a line that says that it begins, besides times and levels.
const BEGINNING: [&str; 9] = [
    "start",
    "starting",
    "begin",
    "beginning",
    "running",
    "train",
    "training",
    "new",
    "of",
];
const LEVELS: [&str; 4] = ["info", "debug", "warning", "root"];

/// Places of the word that are looked at in one line, each with all that stands before it: a line that says
/// it more often names no epoch.
const PLACES: usize = 16;

/// `Epoch 3`, `epoch: 3/10`, `Epoch [3/10]` -> (3, Some(10)).
pub(crate) fn epoch_in(text: &str) -> Option<(u64, Option<u64>)> {
    find(text, |_, rest| whole(rest))
}

/// `epoch 0.31`, `epoch=1.07`, with at least two digits: one could be a version or a rounded index.
pub(crate) fn part_in(text: &str) -> Option<EpochPart> {
    find(text, |_, rest| {
        let (epoch, rest) = leading_number(rest)?;
        let behind = rest.strip_prefix('.')?;
        let digits = behind
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(behind.len());
        if digits < 2 || !ends_number(&behind[digits..]) {
            return None;
        }
        let epoch = format!("{epoch}.{}", &behind[..digits]).parse().ok()?;
        Some(EpochPart::new(epoch, digits))
    })
}

/// The epoch of a line that names it and little else before it: `Epoch 2/10`, `=== epoch 2 ===`,
/// `10:00:01 INFO Starting epoch 2`.
pub(crate) fn epoch_line(line: &str) -> Option<(u64, Option<u64>)> {
    find(line, |before, rest| {
        let introduces = |token: &str| {
            let word = token.trim_matches(|c: char| !c.is_ascii_alphabetic());
            word.is_empty()
                || token.starts_with('[')
                || token.ends_with(']')
                || BEGINNING.contains(&word)
                || LEVELS.iter().any(|level| word.starts_with(level))
        };
        let introduced = before.split_ascii_whitespace().all(introduces);
        introduced.then(|| whole(rest)).flatten()
    })
}

/// The first answer for what stands before and behind a word `epoch`.
fn find<T>(text: &str, read: impl Fn(&str, &str) -> Option<T>) -> Option<T> {
    let lower = text.to_ascii_lowercase();
    // Much quicker than to look for its places, of which most lines have none.
    if !lower.contains("epoch") {
        return None;
    }
    let places = lower.match_indices("epoch").take(PLACES);
    places.into_iter().find_map(|(at, word)| {
        let (before, rest) = (&lower[..at], &lower[at + word.len()..]);
        // `num_epoch`, `--epoch 3` of a command line; but `---epoch 3---` is a heading.
        let joined = before.ends_with(|c: char| c.is_alphanumeric() || "_/.".contains(c))
            || (before.ends_with('-') && !before.ends_with("---"));
        let words = || before.rsplit(|c: char| !c.is_ascii_alphabetic());
        let word = words().find(|w| !w.is_empty()).unwrap_or_default();
        let inner = words().any(|w| INNER_LOOPS.contains(&w));
        // `best: epoch 3` and `best epoch 3` alike.
        if joined || inner || OTHER_EPOCHS.contains(&word) {
            return None;
        }
        read(
            before,
            rest.trim_start_matches([' ', ':', '=', '[', '#', '(', '\'', '"']),
        )
    })
}

fn whole(rest: &str) -> Option<(u64, Option<u64>)> {
    let (epoch, rest) = leading_number(rest)?;
    let spaced = rest.trim_start();
    let total = spaced
        .strip_prefix('/')
        .or_else(|| spaced.strip_prefix("of "))
        .and_then(|r| leading_number(r.trim_start()))
        .map(|(total, _)| total);
    let fraction = rest
        .strip_prefix('.')
        .is_some_and(|r| r.starts_with(|c: char| c.is_ascii_digit()));
    (!fraction && ends_number(rest)).then_some((epoch, total.filter(|total| *total >= epoch)))
}

/// What follows a number does not make it something else: a time, a share, a name.
fn ends_number(rest: &str) -> bool {
    let word = rest
        .trim_start()
        .split(|c: char| !c.is_ascii_alphabetic())
        .next()
        .unwrap_or_default();
    !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_' || c == '%')
        && !UNITS.contains(&word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_epochs() {
        for (text, epoch) in [
            ("Epoch [3/10]", Some((3, Some(10)))),
            ("Train Epoch: 7 [640/60000]", Some((7, None))),
            ("lr 0.31 epoch 2", Some((2, None))),
            ("epoch 3.", Some((3, None))),
            ("Epoch 1 of 10", Some((1, Some(10)))),
            ("epoch 0.31", None),
            ("epoch_loss 3", None),
            ("steps_per_epoch: 3", None),
            ("train.py --epoch 3", None),
            ("epochs: 10", None),
            ("epoch time 3", None),
            ("epoch 12s", None),
            ("best epoch 3, epoch 7", Some((7, None))),
            ("update 3 epoch 2/4 step 123", None),
            ("PPO epoch 2/4", None),
        ] {
            assert_eq!(epoch_in(text), epoch, "{text}");
        }
    }

    #[test]
    fn parts_of_an_epoch() {
        for text in [
            "step 25 epoch 0.31 loss 1.2",
            "[25] epoch=0.31",
            "epoch: 0.31 | step: 25",
            "{\"step\": 25, \"epoch\": 0.31}",
            "(epoch 0.31) step 25",
        ] {
            assert_eq!(part_in(text), Some(EpochPart::new(0.31, 2)), "{text}");
        }
        for text in [
            "epoch time 0.31 s",
            "epoch 0.31 s",
            "epoch 0.31s",
            "epoch_loss 0.31",
            "lr 0.31 epoch 2",
            "epoch 3.",
            "epoch 3.5",
            "epoch 1/10",
            "epoch 0.31%",
            "per epoch 0.31",
            "epoch 1.25e-3",
        ] {
            assert_eq!(part_in(text), None, "{text}");
        }
    }

    #[test]
    fn lines_that_begin_an_epoch() {
        for line in [
            "Epoch 2/10",
            "=== epoch 2 ===",
            "---Epoch 2---",
            "Starting epoch 2",
            "INFO:root:Epoch 2: lr 0.1",
            "[2024-01-01 10:00:00,123][trainer][INFO] - Epoch 2",
            "2024-01-01 10:00:00 INFO Start of epoch 2",
        ] {
            assert_eq!(epoch_line(line).map(|(epoch, _)| epoch), Some(2), "{line}");
        }
        for line in [
            "saved the checkpoint of epoch 2",
            "best: epoch 2",
            "Resuming from epoch 2",
            "Validation epoch 2",
            "epoch time 2",
        ] {
            assert_eq!(epoch_line(line), None, "{line}");
        }
    }
}
