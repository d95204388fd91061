//! Steps that a loop prints itself: `Step 10: …`, `step 10/100`, `[10/100]`, `iter 10`,
//! `global_step=10`, `Epoch 3/10`, `Epoch [1][50/7330]`.

use super::bar::{Purpose, evaluates, purpose_of};
use super::named::{epoch_in, part_in};
use super::parts::EpochPart;
use super::text::{leading_grouped, leading_number};

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Plain {
    pub word: Word,
    pub n: u64,
    pub total: Option<u64>,
    /// The number behind `epoch` on the same line, and that of all epochs.
    pub epoch: Option<u64>,
    pub epochs: Option<u64>,
    /// `epoch 0.31` instead.
    pub part: Option<EpochPart>,
    pub purpose: Purpose,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Word {
    GlobalStep,
    Step,
    Iteration,
    Batch,
    /// `[10/100]` without a word.
    Bracket,
    /// `[25] epoch=0.31`: a step, or just as well the number of a process.
    Index,
}

impl Word {
    pub(super) fn shown(self) -> &'static str {
        match self {
            Word::GlobalStep => "global_step N",
            Word::Step => "Step N",
            Word::Iteration => "iter N",
            Word::Batch => "batch N",
            Word::Bracket => "[N/M]",
            Word::Index => "[N]",
        }
    }
}

/// Longest first, so that `global_step` is not read as `step`; each with the stem that is in it.
const WORDS: [(&str, Word, usize); 13] = [
    ("num_updates", Word::GlobalStep, 0),
    ("global_step", Word::GlobalStep, 2),
    ("global step", Word::GlobalStep, 2),
    ("iterations", Word::Iteration, 1),
    ("iteration", Word::Iteration, 1),
    ("iter(train)", Word::Iteration, 1),
    ("iters", Word::Iteration, 1),
    ("iter", Word::Iteration, 1),
    ("it:", Word::Iteration, 4),
    ("steps", Word::Step, 2),
    ("step", Word::Step, 2),
    ("batch", Word::Batch, 3),
    ("minibatch", Word::Batch, 3),
];

pub(super) fn parse(line: &str) -> Option<Plain> {
    if !line.bytes().any(|b| b.is_ascii_digit()) {
        return None;
    }
    let lower = line.to_ascii_lowercase();
    let names_epoch = lower.contains("epoch");
    let part = names_epoch.then(|| part_in(&lower)).flatten();
    let (at, word, n, total) = worded(&lower)
        .or_else(|| bracketed(&lower))
        .or_else(|| indexed(&lower).filter(|_| part.is_some() || tells_loss(&lower)))?;
    let epoch = names_epoch.then(|| epoch_in(&lower)).flatten();
    Some(Plain {
        word,
        n,
        total,
        epoch: epoch.map(|(epoch, _)| epoch),
        epochs: epoch.and_then(|(_, epochs)| epochs),
        part,
        // A word before the counter tells an evaluation; anything else says nothing here.
        purpose: match word {
            Word::Bracket => match purpose_of(&lower[..at]) {
                told @ (Purpose::Eval | Purpose::Data) => told,
                _ => Purpose::Unknown,
            },
            _ if evaluates(&lower[..at]) => Purpose::Eval,
            _ => Purpose::Unknown,
        },
    })
}

/// One of these is in each of the words.
const STEMS: [&str; 5] = ["num_updates", "iter", "step", "batch", "it:"];

fn worded(lower: &str) -> Option<(usize, Word, u64, Option<u64>)> {
    let there = STEMS.map(|stem| lower.contains(stem));
    if there == [false; STEMS.len()] {
        return None;
    }
    for (name, word, stem) in WORDS {
        // Much quicker than to look for the places of each, of which most lines have none.
        if !there[stem] || !lower.contains(name) {
            continue;
        }
        for (at, _) in lower.match_indices(name) {
            let boundary = lower[..at]
                .chars()
                .next_back()
                .is_none_or(|c| !c.is_alphanumeric() && c != '_' && c != '-' && c != '/');
            if !boundary {
                continue;
            }
            let rest = &lower[at + name.len()..];
            let value = rest.trim_start_matches([' ', ':', '=', '#', '[', '(', '\'', '"', '|']);
            // `step10` is a name, `step 10` a counter.
            if value.len() == rest.len() {
                continue;
            }
            if let Some((n, total)) = counted(value) {
                return Some((at, word, n, total));
            }
        }
    }
    None
}

/// `10`, `10/100`, `10 of 100`, `1,234/5,000`, `10]`: but neither `3.5` nor `10ms` nor `2024-01-01`.
fn counted(text: &str) -> Option<(u64, Option<u64>)> {
    let (n, rest) = leading_grouped(text)?;
    let spaced = rest.trim_start();
    let total = spaced
        .strip_prefix('/')
        .or_else(|| spaced.strip_prefix("of "))
        .and_then(|r| leading_grouped(r.trim_start()));
    let after = total.map_or(rest, |(_, rest)| rest);
    if after.starts_with(|c: char| c.is_alphanumeric() || c == '-' || c == '_' || c == '%') {
        return None;
    }
    if after
        .strip_prefix('.')
        .is_some_and(|r| r.starts_with(|c: char| c.is_ascii_digit()))
    {
        return None;
    }
    Some((n, total.map(|(total, _)| total).filter(|t| *t >= n)))
}

/// `[10/100]`, or the last of `Epoch [1][ 50/7330]`.
fn bracketed(lower: &str) -> Option<(usize, Word, u64, Option<u64>)> {
    lower.match_indices('[').find_map(|(at, _)| {
        // `Epoch [3/10]` is an epoch and no step.
        if lower[..at]
            .trim_end()
            .trim_end_matches([':', '='])
            .ends_with("epoch")
        {
            return None;
        }
        let (n, rest) = leading_number(lower[at + 1..].trim_start())?;
        let (total, rest) = leading_number(rest.trim_start().strip_prefix('/')?.trim_start())?;
        let closed = rest.trim_start().starts_with([']', '(']);
        (closed && total >= n && total > 0).then_some((at, Word::Bracket, n, Some(total)))
    })
}

/// `[25] …` at the start of a line.
fn indexed(lower: &str) -> Option<(usize, Word, u64, Option<u64>)> {
    let (n, rest) = leading_number(lower.trim_start().strip_prefix('[')?)?;
    rest.starts_with(']').then_some((0, Word::Index, n, None))
}

/// `[25] loss=0.3`, `[25] train loss: 0.3`: right behind the number.
fn tells_loss(lower: &str) -> bool {
    let Some((_, rest)) = lower.split_once(']') else {
        return false;
    };
    let rest = rest.trim_start_matches([' ', ':', '-', '|']);
    let rest = rest.strip_prefix("train").unwrap_or(rest);
    rest.trim_start_matches(['_', '/', ' ', '-', '.', 'i', 'n', 'g'])
        .starts_with("loss")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_as_people_print_them() {
        for (line, word, n, total, epoch) in [
            (
                "Step 10: 6529 tensors (12.1 GB), RAM: 5552 MB",
                Word::Step,
                10,
                None,
                None,
            ),
            ("step 10/100 loss=1.2", Word::Step, 10, Some(100), None),
            ("[10/100] loss 3", Word::Bracket, 10, Some(100), None),
            (
                "iter 10: loss 3.21, time 12.3ms",
                Word::Iteration,
                10,
                None,
                None,
            ),
            ("global_step=10, loss=2", Word::GlobalStep, 10, None, None),
            (
                " iteration       10/  500000 | consumed samples: 1280",
                Word::Iteration,
                10,
                Some(500_000),
                None,
            ),
            (
                "Epoch [1][  50/7330]  lr: 0.01, memory: 4000",
                Word::Bracket,
                50,
                Some(7330),
                Some(1),
            ),
            (
                "Train Epoch: 2 [640/60000 (1%)]  Loss: 2.3",
                Word::Bracket,
                640,
                Some(60_000),
                Some(2),
            ),
            (
                "epoch 3 | step 1,200 | rss 3 GB",
                Word::Step,
                1200,
                None,
                Some(3),
            ),
            ("{\"step\": 40, \"rss\": 123}", Word::Step, 40, None, None),
            ("Training step 5 of 60", Word::Step, 5, Some(60), None),
            ("step 25 epoch 0.31 loss 1.2", Word::Step, 25, None, None),
            ("epoch: 0.31 | step: 25", Word::Step, 25, None, None),
            ("[25] epoch=0.31", Word::Index, 25, None, None),
            ("[25] loss=0.31 rss=5MB", Word::Index, 25, None, None),
            ("[25] train_loss: 0.31", Word::Index, 25, None, None),
            ("step=12 loss=0.31", Word::Step, 12, None, None),
            ("loss=0.31,step=12", Word::Step, 12, None, None),
            ("it: 10, loss: 0.3", Word::Iteration, 10, None, None),
            ("step 10/9 epoch 3.", Word::Step, 10, None, Some(3)),
        ] {
            let plain = parse(line).unwrap_or_else(|| panic!("nothing in {line}"));
            assert_eq!(
                (plain.word, plain.n, plain.total, plain.epoch),
                (word, n, total, epoch),
                "{line}"
            );
        }
        for line in [
            "step time 3.5 s",
            "each step 12ms",
            "batch size: 8 per device",
            "step size = 0.1",
            "misstep 10",
            "Epoch 3/10",
            "checkpoint-10",
            "step 0.5",
            "warmup_steps = 10",
            "2024-01-01 10:00:00 hello",
            "[25] epoch 2",
            "[0] epoch time 0.31 s",
            "[0] hello, the loss is 3",
            "exit 10",
            "commit: 10",
        ] {
            assert_eq!(parse(line), None, "{line}");
        }
        assert_eq!(
            parse("Eval step 3/50").map(|p| p.purpose),
            Some(Purpose::Eval)
        );
    }
}
