//! The kinds of sizes that a log prints, and which of them is the memory.

use super::super::choose::quoted;
use super::super::header::{self, Memory};
use super::super::meaning::{self, Meaning};
use super::super::{ImportError, Options};
use super::names::{Names, UNNAMED};

/// Series of one log that are read at once: each is read by itself.
const LISTED: usize = 16;

/// Sizes that a hint names.
const OFFERED: usize = 8;

/// A label must come back this often to be a series.
pub(super) const RECURS: usize = 3;

/// One kind of printed size.
#[derive(Clone, Debug)]
pub(super) struct Label {
    pub key: String,
    pub memory: Memory,
    count: usize,
    /// Some of its numbers came without a unit.
    bare: bool,
    values: (f64, bool, bool),
    /// The step that its own lines print, as long as it only rises.
    own: OwnSteps,
}

#[derive(Clone, Copy, Debug, Default)]
struct OwnSteps {
    count: usize,
    last: u64,
    word: &'static str,
    fell: bool,
}

impl Label {
    /// The line itself says the step nearly always: that is surer than the last bar before it.
    pub(super) fn says_its_step(&self) -> Option<&'static str> {
        (!self.own.fell && self.own.count * 10 >= self.count * 9).then_some(self.own.word)
    }
}

/// The kinds of sizes that a log prints.
#[derive(Default)]
pub(super) struct Labels {
    /// In the order of [`super::names::Name::label`].
    labels: Vec<Label>,
    names: Names,
}

impl Labels {
    /// Enough was seen to choose one.
    pub(super) fn recur(&self) -> bool {
        self.labels.iter().any(|label| label.count >= RECURS)
    }

    pub(super) fn note(&mut self, line: &str, printed: impl Fn() -> Option<(u64, &'static str)>) {
        let Labels { labels, names } = self;
        // Most lines have no size with a name, and need not be asked for their step.
        let mut own = None;
        names.each(line, |size| {
            let name = size.name;
            if name.label == labels.len() {
                labels.push(Label {
                    key: name.key.as_ref().to_owned(),
                    memory: name.memory,
                    count: 0,
                    bare: false,
                    values: (0.0, true, true),
                    own: OwnSteps::default(),
                });
            }
            let label = &mut labels[name.label];
            label.count += 1;
            if let Some((step, word)) = *own.get_or_insert_with(&printed) {
                label.own.fell |= label.own.count > 0 && step < label.own.last;
                label.own.last = step;
                label.own.word = word;
                label.own.count += 1;
            }
            if size.factor.is_none() && name.memory.factor.is_none() {
                label.bare = true;
                let (max, pages, fours) = label.values;
                label.values = (
                    max.max(size.value),
                    pages && size.value % 1024.0 == 0.0,
                    fours && size.value % 4.0 == 0.0,
                );
            }
        });
    }

    /// The label that is the memory, or all that are where several are asked for, and the names by which their
    /// sizes are found.
    pub(super) fn choose(self, options: &Options) -> Result<(Vec<Label>, Names), ImportError> {
        if options.wants_all() && options.column.is_none() {
            let mut all = self.labels.clone();
            all.retain(|l| l.memory.rank > UNNAMED && l.count >= 2);
            all.sort_by_key(|l| (std::cmp::Reverse(l.memory.rank), std::cmp::Reverse(l.count)));
            all.truncate(LISTED);
            if !all.is_empty() {
                return Ok((all, self.names));
            }
        }
        Ok((vec![choose(self.labels, options)?], self.names))
    }
}

fn choose(mut labels: Vec<Label>, options: &Options) -> Result<Label, ImportError> {
    if let Some(wanted) = &options.column {
        return asked_for(labels, wanted);
    }
    let most = labels.iter().map(|l| l.count).max().unwrap_or(0);
    labels.retain(|l| l.count >= RECURS.min(most));
    labels.sort_by_key(|l| (std::cmp::Reverse(l.memory.rank), std::cmp::Reverse(l.count)));
    let Some(best) = labels.first().filter(|l| l.memory.rank > UNNAMED) else {
        return Err(no_memory(&labels));
    };
    if best.count < 2 {
        return Err(ImportError::new(format!(
            "it tells a size of memory once (after `{}`): that is no series",
            best.key
        ))
        .hint("let the job print it again and again, or watch it: lowtide run -- COMMAND"));
    }
    // Another label of the same standing that is printed about as often: which one is meant?
    let rival = labels[1..]
        .iter()
        .find(|l| l.memory.rank == best.memory.rank && l.count * 2 > best.count);
    match rival {
        Some(rival) => Err(ImportError::new(format!(
            "two kinds of sizes may be the memory: after `{}` and after `{}`",
            best.key, rival.key
        ))
        .hint(format!("choose one: --column {}", quoted(&best.key)))),
        None => Ok(best.clone()),
    }
}

fn asked_for(mut labels: Vec<Label>, wanted: &str) -> Result<Label, ImportError> {
    let words = header::words(wanted);
    if meaning::of(&words, true) == Meaning::Left {
        return Err(ImportError::new(format!(
            "`{wanted}` is memory that is left: it falls where memory grows"
        ))
        .hint("name what is in use, or print it beside"));
    }
    let wanted = words.join(" ");
    let others = no_memory(&labels).hint;
    labels.retain(|l| l.key == wanted || (!wanted.is_empty() && l.key.contains(&wanted)));
    labels.sort_by_key(|l| (l.key != wanted, std::cmp::Reverse(l.count)));
    labels.into_iter().next().ok_or_else(|| ImportError {
        message: format!("no size is printed after the words `{wanted}`"),
        hint: others,
    })
}

/// What is said where nothing that is printed says that it is memory.
fn no_memory(labels: &[Label]) -> ImportError {
    // What has no words before it cannot be asked for, and what comes once is no series.
    let mut named: Vec<&Label> = labels
        .iter()
        .filter(|l| !l.key.is_empty() && l.count >= 2)
        .collect();
    named.sort_by_key(|l| std::cmp::Reverse((l.memory.rank, l.count)));
    let names = named
        .iter()
        .take(OFFERED)
        .map(|l| format!("--column {}", quoted(&l.key)));
    let names: Vec<String> = names.collect();
    if names.is_empty() {
        return ImportError::new("no memory sizes found in it").hint(
            "lowtide reads tables (step,MB), the output of tools such as top and ps, JSON lines, and logs with lines like `Step 10: RAM 5552 MB`",
        );
    }
    ImportError::new("no size in it says that it is memory (such as `RAM 5552 MB`)")
        .hint(format!("if one is, name it: {}", names.join(" or ")))
}

/// What a number without a unit is worth under this label.
pub(super) fn bare_factor(label: &Label, options: &Options) -> Result<f64, ImportError> {
    if let Some(factor) = options.unit_factor()? {
        return Ok(factor);
    }
    if !label.bare {
        return Ok(1.0);
    }
    let (max, pages, fours) = label.values;
    header::unit_by_pages(max, pages, fours)
        .map(|(factor, _)| factor)
        .ok_or_else(|| {
            ImportError::new(format!(
                "the sizes after `{}` do not say their unit",
                label.key
            ))
            .hint("say it: --unit MB (or B, kB, GB, MiB …)")
        })
}
