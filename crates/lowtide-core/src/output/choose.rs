//! Which of the counters in a log counts the training steps. A log may show a bar for the data, one
//! for training, others for evaluation, and lines that a loop prints: one of them is followed, the
//! others are set aside, so that two counters never mix.

use std::fmt;

use super::bar::{Bar, Purpose};
use super::parts::EpochPart;
use super::plain::{Plain, Word};

/// How many different counters are remembered. Real logs have a handful.
const COUNTERS: usize = 32;

/// Another counter takes over when it was seen this often without the followed one: nanoGPT prints
/// `step 0` at evaluations and `iter N` in between, and the second is the one to follow.
const STALE: u32 = 3;

/// An outer bar counts epochs when an inner one ran from start to end this often, each time within
/// one tick of the outer one.
const ALIGNED: u32 = 2;

/// A counter as a person would point at it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counter {
    kind: CounterKind,
    label: String,
    /// Part of the identity where nothing else tells bars apart.
    total: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CounterKind {
    Bar,
    Keras,
    Plain(Word),
}

impl Counter {
    /// The same as `==`, for every step of a long log. Nearly all have no label, and to compare two empty texts
    /// was seven per cent of reading one.
    fn is(&self, other: &Counter) -> bool {
        let Counter { kind, label, total } = other;
        self.kind == *kind
            && self.total == *total
            && self.label.len() == label.len()
            && (label.is_empty() || self.label == *label)
    }
}

impl fmt::Display for Counter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.kind, self.label.as_str(), self.total) {
            (CounterKind::Plain(word), ..) => write!(f, "`{}`", word.shown()),
            (_, "", Some(total)) => write!(f, "the bar `N/{total}`"),
            (_, "", None) => write!(f, "the bar `N/M`"),
            (_, label, _) => write!(f, "the bar `{label} N/M`"),
        }
    }
}

/// A counter seen in one line.
#[derive(Clone, Debug)]
pub(super) struct Sighting {
    pub counter: Counter,
    pub n: u64,
    pub total: Option<u64>,
    pub epoch: Option<u64>,
    /// How many epochs there are, where the line says so.
    pub epochs: Option<u64>,
    /// That number holds for epochs counted from 0, too.
    pub from_zero: bool,
    /// `epoch 0.31` on the same line.
    pub part: Option<EpochPart>,
    /// Counts from the start of the epoch that the same line names.
    pub per_epoch: bool,
    /// It says itself that it counts a round of something that is no pass over the data.
    pub in_rounds: bool,
    pub elapsed: Option<f64>,
    pub purpose: Purpose,
    strength: u8,
}

/// How much a counter says about itself; the stronger one is followed.
mod strength {
    pub(crate) const DEMOTED: u8 = 0;
    pub(crate) const BRACKET: u8 = 1;
    pub(crate) const BATCH: u8 = 2;
    pub(super) const COUNTS: u8 = 3;
    pub(crate) const SAYS_TRAINING: u8 = 4;
    pub(crate) const CONFIRMED: u8 = 5;
    pub(crate) const CHOSEN: u8 = 6;
}

impl Sighting {
    pub(crate) fn of_bar(bar: &Bar) -> Sighting {
        let purpose = bar.purpose();
        let label: String = match purpose {
            // A changing text such as `loss 0.23` must not make a new counter of each redraw.
            Purpose::Unknown => String::new(),
            _ => bar
                .label
                .split(|c: char| !c.is_alphabetic())
                .find(|w| !w.is_empty())
                .unwrap_or_default()
                .to_owned(),
        };
        Sighting {
            counter: Counter {
                kind: if bar.keras {
                    CounterKind::Keras
                } else {
                    CounterKind::Bar
                },
                total: bar.total.filter(|_| label.is_empty() && !bar.keras),
                label,
            },
            n: bar.n,
            total: bar.total,
            epoch: bar.epoch().map(|(epoch, _)| epoch),
            epochs: bar.epoch().and_then(|(_, epochs)| epochs),
            from_zero: bar.rich,
            part: None,
            per_epoch: bar.keras || bar.epoch().is_some(),
            in_rounds: bar.names_a_round(),
            elapsed: bar.elapsed,
            purpose,
            strength: match purpose {
                Purpose::Train => strength::SAYS_TRAINING,
                _ => strength::COUNTS,
            },
        }
    }

    pub(crate) fn of_plain(plain: &Plain) -> Sighting {
        Sighting {
            counter: Counter {
                kind: CounterKind::Plain(plain.word),
                label: String::new(),
                total: None,
            },
            n: plain.n,
            total: plain.total,
            epoch: plain.epoch,
            epochs: plain.epochs,
            from_zero: false,
            part: plain.part,
            per_epoch: plain.epoch.is_some() && matches!(plain.word, Word::Bracket | Word::Batch),
            in_rounds: false,
            elapsed: None,
            purpose: plain.purpose,
            strength: match plain.word {
                Word::GlobalStep => strength::SAYS_TRAINING,
                Word::Step | Word::Iteration => strength::COUNTS,
                Word::Batch => strength::BATCH,
                Word::Bracket | Word::Index => strength::BRACKET,
            },
        }
    }

    fn is_bar(&self) -> bool {
        self.counter.kind == CounterKind::Bar
    }

    pub(crate) fn is_keras(&self) -> bool {
        self.counter.kind == CounterKind::Keras
    }

    pub(crate) fn is_index(&self) -> bool {
        self.counter.kind == CounterKind::Plain(Word::Index)
    }
}

/// What a sighting is to the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    /// The followed counter.
    Step,
    /// The first sighting of a counter that is followed from now on.
    NewStep,
    Eval,
    /// A counter of epochs.
    Epoch,
    Other,
}

#[derive(Debug)]
struct Tracked {
    counter: Counter,
    strength: u8,
    n: u64,
    total: Option<u64>,
    elapsed: Option<f64>,
    /// It reached its total, or its process died.
    over: bool,
    /// Trainer vouches for it.
    confirmed: bool,
    /// Sightings since the followed counter was last seen.
    alone: u32,
    /// Where the followed counter stood when this one began.
    began_at: u64,
    aligned: u32,
}

impl Tracked {
    fn confirm(&mut self) {
        self.confirmed = true;
        self.strength = self.strength.max(strength::CONFIRMED);
    }
}

#[derive(Debug, Default)]
pub(super) struct Chooser {
    tracked: Vec<Tracked>,
    followed: Option<usize>,
}

impl Chooser {
    /// Follows this counter whatever else is seen.
    pub(super) fn fixed(counter: Counter) -> Chooser {
        Chooser {
            tracked: vec![Tracked {
                counter,
                strength: strength::CHOSEN,
                n: 0,
                total: None,
                elapsed: None,
                over: false,
                confirmed: false,
                alone: 0,
                began_at: 0,
                aligned: 0,
            }],
            followed: Some(0),
        }
    }

    /// A bar without a name, before any other counter was seen.
    pub(super) fn is_first_and_nameless(&self, seen: &Sighting) -> bool {
        let nameless = seen.is_bar() && seen.counter.label.is_empty();
        nameless && seen.purpose == Purpose::Unknown && self.tracked.is_empty()
    }

    pub(super) fn followed(&self) -> Option<&Counter> {
        self.followed.map(|at| &self.tracked[at].counter)
    }

    /// A bar is followed: Trainer draws it anew right behind each dictionary.
    pub(crate) fn follows_bar(&self) -> bool {
        self.followed().is_some_and(|c| c.kind == CounterKind::Bar)
    }

    /// The followed counter counts the whole run: lines with a word for steps do, and of the bars
    /// those that Trainer vouches for. Others may begin anew with each epoch.
    pub(crate) fn counts_whole_run(&self) -> bool {
        let counts = |tracked: &Tracked| match tracked.counter.kind {
            CounterKind::Plain(word) => {
                matches!(word, Word::GlobalStep | Word::Step | Word::Iteration)
            }
            CounterKind::Bar => tracked.confirmed,
            CounterKind::Keras => false,
        };
        self.followed.is_some_and(|at| counts(&self.tracked[at]))
    }

    /// A Trainer dictionary or settings block: the bar with this total (or the bar that is followed,
    /// when no total is known) counts optimizer steps for sure.
    pub(super) fn confirm(&mut self, total: Option<u64>) {
        match total {
            Some(_) => {
                for tracked in &mut self.tracked {
                    if tracked.counter.kind == CounterKind::Bar && tracked.total == total {
                        tracked.confirm();
                    }
                }
            }
            None => {
                if let Some(tracked) = self.followed.map(|at| &mut self.tracked[at])
                    && tracked.counter.kind == CounterKind::Bar
                    && !tracked.over
                {
                    tracked.confirm();
                }
            }
        }
    }

    /// The process died: whatever it counted has ended.
    pub(crate) fn crashed(&mut self) {
        for tracked in &mut self.tracked {
            tracked.over = true;
        }
    }

    pub(super) fn see(&mut self, seen: &Sighting, planned: Option<u64>) -> Meaning {
        match seen.purpose {
            Purpose::Data => return Meaning::Other,
            Purpose::Eval => return Meaning::Eval,
            Purpose::Epochs => return Meaning::Epoch,
            Purpose::Train | Purpose::Unknown => {}
        }
        let Some(at) = self.track(seen, planned) else {
            return Meaning::Other;
        };
        let Some(followed) = self.followed else {
            self.followed = Some(at);
            return Meaning::NewStep;
        };
        if followed == at {
            self.tracked.iter_mut().for_each(|t| t.alone = 0);
            return Meaning::Step;
        }
        self.tracked[at].alone += 1;
        let (this, other) = (&self.tracked[at], &self.tracked[followed]);
        if other.strength == strength::CHOSEN {
            return self.set_aside(seen, followed);
        }
        if other.counter.kind == CounterKind::Bar
            && this.aligned >= ALIGNED
            && other.strength <= strength::COUNTS
        {
            self.tracked[followed].strength = strength::DEMOTED;
            self.followed = Some(at);
            return Meaning::NewStep;
        }
        let takes_over = if this.strength != other.strength {
            this.strength > other.strength
        } else if seen.is_bar() && other.counter.kind == CounterKind::Bar {
            other.over && outlives(this, other)
        } else {
            this.alone >= STALE
        };
        if takes_over {
            self.followed = Some(at);
            self.tracked[at].alone = 0;
            return Meaning::NewStep;
        }
        if other.strength == strength::DEMOTED {
            return Meaning::Epoch;
        }
        self.set_aside(seen, followed)
    }

    /// A nameless bar inside a bar that Trainer vouches for is an evaluation: Trainer's has no description.
    /// Inside another it may be a rollout as well, which must not count as one.
    fn set_aside(&self, seen: &Sighting, followed: usize) -> Meaning {
        let other = &self.tracked[followed];
        let inside = seen.is_bar() && other.counter.kind == CounterKind::Bar;
        match inside && other.confirmed && !seen.in_rounds {
            true => Meaning::Eval,
            false => Meaning::Other,
        }
    }

    fn track(&mut self, seen: &Sighting, planned: Option<u64>) -> Option<usize> {
        let stands_at = self.followed.map_or(0, |at| self.tracked[at].n);
        let at = match self
            .tracked
            .iter()
            .position(|t| t.counter.is(&seen.counter))
        {
            Some(at) => at,
            None if self.tracked.len() >= COUNTERS => return None,
            None => {
                self.tracked.push(Tracked {
                    counter: seen.counter.clone(),
                    strength: seen.strength,
                    n: seen.n,
                    total: seen.total,
                    elapsed: None,
                    over: false,
                    confirmed: false,
                    alone: 0,
                    began_at: stands_at,
                    aligned: 0,
                });
                self.tracked.len() - 1
            }
        };
        let tracked = &mut self.tracked[at];
        if seen.is_bar() && planned.is_some() && seen.total == planned {
            tracked.confirm();
        }
        if seen.n < tracked.n {
            if tracked.over && stands_at == tracked.began_at.saturating_add(1) {
                tracked.aligned += 1;
            }
            tracked.began_at = stands_at;
        }
        tracked.n = seen.n;
        tracked.total = seen.total;
        tracked.elapsed = seen.elapsed.or(tracked.elapsed);
        tracked.over = seen.total.is_some_and(|total| seen.n >= total);
        Some(at)
    }
}

/// Does a bar that began after another had ended go further than that one, in count or in time?
/// Preparing data comes before training and is shorter; evaluation comes after and is shorter too.
fn outlives(this: &Tracked, other: &Tracked) -> bool {
    this.n > other.n
        || matches!((this.elapsed, other.elapsed), (Some(this), Some(other)) if this > other)
}
