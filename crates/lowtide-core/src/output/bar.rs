//! Progress bars: tqdm (Trainer, Lightning, plain loops), Rich (newer Lightning) and Keras. One line
//! in, one [`Bar`] out; what a bar counts is decided from its description by [`Bar::purpose`].

use super::named::epoch_in;
use super::text::{clock, leading_number, trailing_fraction};

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Bar {
    /// The text before the bar, without its colon: `Epoch 3`, `Validation DataLoader 0`, or nothing.
    pub label: String,
    pub n: u64,
    pub total: Option<u64>,
    /// Seconds since the bar began, as it says itself.
    pub elapsed: Option<f64>,
    /// It counts in epochs, as its rate says: `1.08s/epoch`.
    pub in_epochs: bool,
    /// The bar begins anew with each epoch, and the epoch stands on another line.
    pub keras: bool,
    pub rich: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Says so itself: `Training`, `Epoch 3`, `Steps`.
    Train,
    Eval,
    /// Loading, mapping, downloading: never a step.
    Data,
    /// A bar over epochs.
    Epochs,
    /// Says nothing that tells.
    Unknown,
}

/// Words in the description of bars that prepare data or models, as `datasets`, `transformers`,
/// `huggingface_hub`, `vllm` and common scripts print them.
const DATA_WORDS: [&str; 37] = [
    "map",
    "filter",
    "download",
    "fetch",
    "load",
    "token",
    "generating",
    "resolv",
    "extract",
    "prepar",
    "process",
    "shard",
    "cast",
    "flatten",
    "saving",
    "creating",
    "reading",
    "weights",
    "pack",
    "adding",
    "applying",
    "truncat",
    "convert",
    "upload",
    "encod",
    "cache",
    "caching",
    "index",
    "scan",
    "import",
    "copy",
    "build",
    "compil",
    "captur",
    "pull",
    "files",
    "json",
];
const EVAL_WORDS: [&str; 8] = [
    "eval", "valid", "test", "predict", "infer", "sanity", "score", "scoring",
];

impl Bar {
    pub(super) fn parse(line: &str) -> Option<Bar> {
        // Every form has `n/m`, a clock or a rate; most lines of a log have no such thing.
        if !line.bytes().any(|b| b == b'/' || b == b'[') {
            return None;
        }
        tqdm(line).or_else(|| keras(line)).or_else(|| rich(line))
    }

    pub(super) fn purpose(&self) -> Purpose {
        match purpose_of(&self.label) {
            Purpose::Unknown | Purpose::Train if self.in_epochs => Purpose::Epochs,
            purpose => purpose,
        }
    }

    /// The numbers in `Epoch 3` or `Epoch 3/10`.
    pub(super) fn epoch(&self) -> Option<(u64, Option<u64>)> {
        let (epoch, epochs) = epoch_in(&self.label)?;
        // Lightning's Rich bar counts from 0 to the last one, `Epoch 0/9`, and not to their number.
        Some((
            epoch,
            epochs.map(|last| last.saturating_add(u64::from(self.rich))),
        ))
    }
}

/// Lightning ends its bars with the number of its logger's version: `v_num=0`, `v_num: 0`.
pub(super) fn is_lightnings(line: &str) -> bool {
    line.contains(" v_num=") || line.contains(" v_num: ")
}

/// What comes in rounds that are no passes over the data.
const ROUND_WORDS: [&str; 9] = [
    "round",
    "rollout",
    "episode",
    "mining",
    "collect",
    "cycle",
    "generation",
    "shard",
    "chunk",
];

impl Bar {
    pub(crate) fn names_a_round(&self) -> bool {
        names_a_round(&self.label)
    }
}

/// `Mining round 3:  45%|…`, a bar that begins anew and is no epoch.
pub(crate) fn names_a_round(label: &str) -> bool {
    let lower = label.to_ascii_lowercase();
    ROUND_WORDS.iter().any(|word| lower.contains(word))
}

/// `Epoch 3`: it counts within that epoch.
pub(crate) fn epoch_of(label: &str) -> Option<u64> {
    epoch_in(label).map(|(epoch, _)| epoch)
}

/// Units of steps, tqdm's own `it` among them. All others are of something else, a batch has many of: bytes, tokens,
/// images, files, and what nobody has thought of.
const STEP_UNITS: [&str; 8] = [
    "",
    "it",
    "iter",
    "iteration",
    "step",
    "batch",
    "batche",
    "update",
];

/// What a bar that was read, not printed, is for.
pub(crate) fn purpose_in(label: &str, unit: &str) -> Purpose {
    let unit = unit.trim().to_ascii_lowercase();
    let one = unit.strip_suffix('s').unwrap_or(&unit);
    // `train_step`, `optimizer step`
    let last = one.rsplit([' ', '_', '-']).next().unwrap_or(one);
    match (one, purpose_of(label)) {
        ("epoch" | "ep", Purpose::Unknown | Purpose::Train) => Purpose::Epochs,
        (_, purpose) if STEP_UNITS.contains(&last) => purpose,
        _ => Purpose::Data,
    }
}

/// `Tokenizing train dataset`, `Loading validation data`: what is done comes first.
fn prepares(lower: &str) -> bool {
    let mut words = lower.split(|c: char| !c.is_ascii_alphabetic());
    let first = words.find(|w| !w.is_empty()).unwrap_or("");
    DATA_WORDS.iter().any(|w| first.starts_with(w))
}

/// Whether a label in small letters is [`Purpose::Eval`]: nothing else is asked of most.
pub(super) fn evaluates(lower: &str) -> bool {
    let bytes = lower.as_bytes();
    let named = |at: usize| {
        let rest = &bytes[at..];
        let ends = |at: usize| !bytes.get(at).is_some_and(u8::is_ascii_alphabetic);
        EVAL_WORDS.iter().any(|w| rest.starts_with(w.as_bytes()))
            || ((rest.starts_with(b"val") || rest.starts_with(b"dev"))
                && (at == 0 || ends(at - 1))
                && ends(at + 3))
    };
    // Asked for each step that a long log prints: one pass finds where any of the words could begin.
    let begins = |b: &u8| matches!(b, b'e' | b'v' | b't' | b'p' | b'i' | b's' | b'd');
    let mut places = (0..bytes.len()).filter(|at| begins(&bytes[*at]));
    places.any(named) && !prepares(lower)
}

pub(crate) fn purpose_of(label: &str) -> Purpose {
    let lower = label.to_ascii_lowercase();
    let has = |words: &[&str]| words.iter().any(|w| lower.contains(w));
    let words = || lower.split(|c: char| !c.is_ascii_alphabetic());
    if lower.trim().is_empty() {
        Purpose::Unknown
    } else if prepares(&lower) {
        Purpose::Data
    } else if evaluates(&lower) {
        Purpose::Eval
    } else if has(&["train", "finetun", "fine-tun"]) || words().any(|w| w == "step" || w == "steps")
    {
        Purpose::Train
    } else if lower.contains("epoch") {
        if epoch_in(label).is_some() {
            Purpose::Train
        } else {
            Purpose::Epochs
        }
    } else if has(&DATA_WORDS) {
        Purpose::Data
    } else {
        Purpose::Unknown
    }
}

/// `desc:  12%|##   | 12/240 [00:10<03:00,  1.20it/s, loss=1.2]`, also without description or bar,
/// and without a total: `12it [00:10,  1.20it/s]`.
fn tqdm(line: &str) -> Option<Bar> {
    let (open, elapsed) = line.match_indices(" [").find_map(|(at, _)| {
        let inside = &line[at + 2..];
        let (seconds, rest) = clock(inside)?;
        rest.starts_with(['<', ',']).then_some((at, seconds))
    })?;
    let before = line[..open].trim_end();
    let (head, n, total) = match trailing_fraction(before) {
        Some((head, n, total)) => (head, n, Some(total)),
        None => {
            let digits = before.strip_suffix("it")?;
            let start = digits.rfind(|c: char| !c.is_ascii_digit()).map_or(0, |i| {
                i + digits[i..].chars().next().map_or(1, char::len_utf8)
            });
            (&digits[..start], digits[start..].parse().ok()?, None)
        }
    };
    Some(Bar {
        label: label_of(head),
        n,
        total,
        elapsed: Some(elapsed),
        in_epochs: line[open..]
            .split([',', ']'])
            .nth(1)
            .is_some_and(|rate| rate.contains("epoch/s") || rate.trim_end().ends_with("/epoch")),
        keras: false,
        rich: false,
    })
}

/// What stands before `12%|###   |`.
fn label_of(head: &str) -> String {
    let mut label = head.trim();
    if let Some(percent) = label.find("%|") {
        label = label[..percent].trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    } else if let Some(bar) = label.find('|') {
        label = &label[..bar];
    }
    label.trim().trim_end_matches(':').trim().to_owned()
}

/// ` 30/250 [====>.....] - ETA: 3s - loss: 0.5` and Keras 3's `30/250 ━━━━━━ 1s 12ms/step`.
fn keras(line: &str) -> Option<Bar> {
    let (n, rest) = leading_number(line.trim_start())?;
    let (total, rest) = leading_number(rest.strip_prefix('/')?)?;
    let rest = rest.trim_start();
    let bar =
        rest.starts_with('━') || (rest.starts_with('[') && rest[1..].starts_with(['=', '>', '.']));
    (bar && total > 0).then(|| Bar {
        label: String::new(),
        n,
        total: Some(total),
        elapsed: None,
        in_epochs: false,
        keras: true,
        rich: false,
    })
}

/// `Epoch 0/9 ━━━━━╸━━━━ 30/250 0:00:10 • 0:01:20 3.00it/s v_num: 0.000`
fn rich(line: &str) -> Option<Bar> {
    let is_bar = |c: char| matches!(c, '━' | '╸' | '╺');
    let start = line.find(is_bar)?;
    let end = line.rfind(is_bar)? + '━'.len_utf8();
    let (n, rest) = leading_number(line[end..].trim_start())?;
    let (total, rest) = leading_number(rest.strip_prefix('/')?)?;
    Some(Bar {
        label: line[..start].trim().to_owned(),
        n,
        total: Some(total),
        elapsed: clock(rest.trim_start()).map(|(seconds, _)| seconds),
        in_epochs: false,
        keras: false,
        rich: true,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn bar(line: &str) -> (String, u64, Option<u64>) {
        let bar = Bar::parse(line).unwrap_or_else(|| panic!("no bar: {line}"));
        (bar.label, bar.n, bar.total)
    }

    #[test]
    fn bars_of_every_kind() {
        for (line, label, n, total) in [
            (
                "  5%|▌         | 12/240 [00:10<03:00,  1.20it/s]",
                "",
                12,
                Some(240),
            ),
            (
                "Training:  5%|5 | 12/240 [1:00:10<03:00,  1.20s/it, loss=0.2]",
                "Training",
                12,
                Some(240),
            ),
            (
                "Epoch 0:  12%|█▏| 30/250 [00:03<00:22,  9.98it/s, v_num=0]",
                "Epoch 0",
                30,
                Some(250),
            ),
            (
                "Validation DataLoader 0: 100%|██| 5/5 [00:00<00:00, 99.0it/s]",
                "Validation DataLoader 0",
                5,
                Some(5),
            ),
            ("12it [00:10,  1.20it/s]", "", 12, None),
            ("steps: 7it [00:10, ?it/s]", "steps", 7, None),
            ("  0%|          | 0/249 [00:00<?, ?it/s]", "", 0, Some(249)),
            ("12/240 [00:10<03:00]", "", 12, Some(240)),
            (
                " 30/250 [==>...........] - ETA: 3s - loss: 0.5",
                "",
                30,
                Some(250),
            ),
            (
                "30/250 ━━━━━━━━━━━━━━━━━━━━ 1s 12ms/step - loss: 0.5",
                "",
                30,
                Some(250),
            ),
            (
                "Epoch 0/9 ━━━╸━━━━ 30/250 0:00:10 • 0:01:20 3.00it/s v_num: 0",
                "Epoch 0/9",
                30,
                Some(250),
            ),
        ] {
            assert_eq!(bar(line), (label.to_owned(), n, total), "{line}");
        }
        for line in [
            "step 12/240 took 3 s",
            "model.safetensors: 12%|█ | 1.20G/4.98G [00:10<00:30, 110MB/s]",
            "[12/240] ok",
            "see https://a.b/1/2 [1]",
        ] {
            assert_eq!(Bar::parse(line), None, "{line}");
        }
    }

    #[test]
    fn a_rate_says_what_is_counted() {
        let purpose = |line: &str| Bar::parse(line).unwrap().purpose();
        for line in [
            "  5%|▌         | 2/40 [00:02<00:41,  1.08s/epoch]",
            "run:  5%|▌    | 2/40 [00:02<00:41,  1.08epoch/s, loss=0.2]",
        ] {
            assert_eq!(purpose(line), Purpose::Epochs, "{line}");
        }
        for line in [
            "  5%|▌         | 2/40 [00:02<00:41,  1.08s/it, epoch=1]",
            "  5%|▌         | 2/40 [00:02<00:41,  1.08s/it, steps/epoch=83]",
        ] {
            assert_eq!(purpose(line), Purpose::Unknown, "{line}");
        }
    }

    /// Their first letters are looked for.
    #[test]
    fn every_word_of_an_evaluation_is_found() {
        for word in EVAL_WORDS.iter().chain(&["val", "dev"]) {
            assert!(evaluates(&format!("x_{word}")), "{word}");
        }
        for label in ["interval", "value", "device", "devel", "a val2ue"] {
            let split = |c: char| !c.is_ascii_alphabetic();
            let alone = label.split(split).any(|w| w == "val" || w == "dev");
            assert_eq!(evaluates(label), alone, "{label}");
        }
    }

    #[test]
    fn a_description_says_what_is_counted() {
        for (label, purpose) in [
            ("", Purpose::Unknown),
            ("Training", Purpose::Train),
            ("Epoch 3/10", Purpose::Train),
            ("Epochs", Purpose::Epochs),
            ("Validation DataLoader 0", Purpose::Eval),
            ("Sanity Checking DataLoader 0", Purpose::Eval),
            ("val", Purpose::Eval),
            ("Map (num_proc=4)", Purpose::Data),
            ("Tokenizing train dataset", Purpose::Data),
            ("model shards", Purpose::Data),
            ("Downloading shards", Purpose::Data),
            ("Loading checkpoint shards", Purpose::Data),
            ("loss 0.23", Purpose::Unknown),
        ] {
            assert_eq!(purpose_of(label), purpose, "{label}");
        }
    }
}
