//! The answer, as every view and `--json` shows it. Fields may be added, never renamed.

use std::fmt;

use serde::{Deserialize, Serialize};

pub use crate::meter::Meter;
use crate::process::ProcId;

/// The version of the JSON that [`Verdict`] becomes.
pub const SCHEMA: u32 = 1;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    pub schema: u32,
    /// What was judged: a file or a run's name.
    pub source: String,
    pub verdict: Class,
    /// True for `leak`, none for `too-early`, false otherwise.
    pub leaking: Option<bool>,
    /// How often a call like this one is right, by a curve that was fitted to generated runs and tested on behaviours left out of
    /// the fit, if leaks and harmless runs are equally common. None when too early, and for growth whose end is known beforehand.
    pub confidence: Option<f64>,
    /// What the confidence was worked out from.
    #[serde(skip)]
    pub basis: Option<Basis>,
    /// The floor rises now. Whether that ends is another question, which `verdict` answers: `too-early`
    /// and growing is growth whose end nobody knows yet.
    pub growing: bool,
    /// Growth that lasted, kept its pace and came in many rises: what a leak is like, and a fill too.
    pub steady: bool,
    /// The process that decides it; none for a bare series or for the tree as a whole.
    pub process: Option<ProcessRef>,
    pub meter: Meter,
    pub axis: Axis,
    pub floor: Floor,
    pub rate: Rate,
    pub growth: Option<Growth>,
    pub settled_at: Option<f64>,
    pub plateau: Option<f64>,
    pub predicted_plateau: Option<f64>,
    /// Growth that is real but too slow to matter within ten times the run.
    pub creep: bool,
    pub also: Vec<Class>,
    pub limit: Option<f64>,
    pub headroom: Option<f64>,
    pub oom: Option<Oom>,
    pub decides_at: Option<f64>,
    pub safe_until_then: Option<bool>,
    /// Where growth must end, or ended; none when nobody knows.
    pub bound: Option<Bound>,
    /// What the run needs until its end, and whether that fits; none before there is anything to go by.
    pub outlook: Option<Outlook>,
    pub evidence: Vec<Evidence>,
    pub suspects: Vec<Suspect>,
    /// What the recording lacks: the verdict knows nothing of it. None when it is whole.
    pub lost: Option<Lost>,
}

impl Verdict {
    /// The one word for people: growth that is not decided is `growing`, not `too-early`.
    pub fn word(&self) -> String {
        if self.is_open_growth() {
            "growing".to_owned()
        } else {
            self.verdict.to_string()
        }
    }

    /// It grows, and nobody knows yet whether that ends.
    pub fn is_open_growth(&self) -> bool {
        self.verdict == Class::TooEarly && self.growing
    }

    /// Growth whose end is known and has not come: no plateau was seen yet, only predicted.
    pub fn is_under_way(&self) -> bool {
        self.verdict == Class::WarmUp && self.settled_at.is_none()
    }
}

/// What a call stands on. Of a leak: the logarithm of its odds by the prior. Of a level floor: that of how long it is level
/// against how long it grew, and by how much it may still rise.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Basis {
    pub stands_on: [f64; 2],
}

/// Ticks that were there and cannot be judged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lost {
    /// As far as they could be counted.
    pub ticks: u64,
    /// Bytes of the recording are broken. Otherwise the ticks were never recorded (a disk was full, or hung),
    /// or there are more than can be read.
    pub damaged: bool,
    pub says: String,
}

impl Lost {
    /// None when nothing is. `seen` ticks are there.
    pub fn of(ticks: u64, damaged: bool, seen: u64) -> Option<Lost> {
        let all = seen.saturating_add(ticks);
        let says = match (ticks, damaged) {
            (0, false) => return None,
            (0, true) => "the recording is damaged".to_owned(),
            (_, true) => format!("the recording is damaged: {ticks} of {all} ticks are lost"),
            (_, false) => format!("{ticks} of {all} ticks are missing in the recording"),
        };
        Some(Lost {
            ticks,
            damaged,
            says,
        })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Class {
    Leak,
    TooEarly,
    WarmUp,
    Spikes,
    Stable,
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Class::Leak => "leak",
            Class::TooEarly => "too-early",
            Class::WarmUp => "warm-up",
            Class::Spikes => "spikes",
            Class::Stable => "stable",
        })
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessRef {
    pub pid: u32,
    #[serde(skip)]
    pub id: Option<ProcId>,
    pub role: String,
    pub command: String,
    pub why: String,
}

/// What the x of a series counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Axis {
    Step,
    /// Seconds.
    Time,
    /// Nothing but the order is known.
    Sample,
}

impl Axis {
    pub fn rate_unit(self) -> &'static str {
        match self {
            Axis::Step => "bytes/step",
            Axis::Time => "bytes/s",
            Axis::Sample => "bytes/sample",
        }
    }
}

impl fmt::Display for Axis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Axis::Step => "step",
            Axis::Time => "time",
            Axis::Sample => "sample",
        })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Floor {
    pub first: f64,
    pub last: f64,
}

/// The floor's slope after warm-up, with its 95 % interval.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rate {
    pub value: f64,
    pub low: f64,
    pub high: f64,
    pub unit: String,
    pub per_minute: Option<f64>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Growth {
    pub from: f64,
    pub to: f64,
    pub bytes: f64,
    /// What the growth is proportional to: `new-example`, `step`, `time`, …
    pub driver: Option<String>,
    pub per_unit: Option<f64>,
}

/// When memory runs out, on the axis, and in seconds from now when the pace is known.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Oom {
    pub at: f64,
    pub low: f64,
    /// None: it may never come.
    pub high: Option<f64>,
    pub seconds: Option<OomSeconds>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct OomSeconds {
    pub at: f64,
    pub low: f64,
    pub high: Option<f64>,
}

/// Where growth ends, known from elsewhere than the curve.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bound {
    pub kind: BoundKind,
    /// Where on the axis, when that is known.
    pub at: Option<f64>,
    /// The level it ends at.
    pub bytes: Option<f64>,
    pub certainty: Certainty,
    pub why: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BoundKind {
    /// The first pass over the data.
    Epoch,
    /// Memory that was reserved in one piece and is being touched.
    Reserved,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Certainty {
    /// Told, or counted.
    Exact,
    /// Worked out; growth that goes on past it refutes it.
    Inferred,
}

/// What the run needs until its end. Sizes are those of the line that is judged; for a run, of the whole
/// tree.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outlook {
    /// The last place on the axis it speaks of: the last step, or where the run ended. None where no
    /// number of steps is known and `seconds` says how far it looks.
    pub ends_at: Option<f64>,
    /// Seconds from now until then; 0 when the run is over, none when the pace is not known.
    pub seconds: Option<f64>,
    pub needs: Needs,
    /// None: no limit is known, or growth was seen for too short a time to be carried that far.
    pub fits: Option<Fits>,
    /// What it comes to, where growth may go on or end: each with what it takes.
    pub futures: Vec<Future>,
    /// Further ahead, where no number of steps is known.
    pub later: Vec<Horizon>,
    /// What others that count against the same limit take, in bytes a minute; none when they do not.
    pub others: Option<f64>,
    /// What they hold of it now, where that is a good part; the run has the rest. `fits` allows for it.
    #[serde(default)]
    pub others_hold: Option<f64>,
    /// The same in words, for every view: `needs 17.1 to 17.7 GB of 32.0 GB until step 240: fits`.
    pub says: String,
}

impl Outlook {
    /// The same with what others of the run hold beside it; it needs at least what was `seen` already.
    pub(crate) fn shift(&mut self, beside: f64, seen: f64) {
        let moved = |needs: &mut Needs| {
            let (value, low, high) = (&mut needs.value, &mut needs.low, &mut needs.high);
            for bytes in [value, low, high].into_iter().chain(&mut needs.soon) {
                *bytes = (*bytes + beside).max(seen);
            }
        };
        moved(&mut self.needs);
        self.later.iter_mut().for_each(|one| moved(&mut one.needs));
        for future in &mut self.futures {
            future.needs = (future.needs + beside).max(seen);
        }
    }

    /// Says of all of it whether it fits into `room`.
    pub(crate) fn measure(&mut self, room: Option<f64>) {
        self.fits = room.and_then(|room| self.needs.fit(room));
        for one in &mut self.later {
            one.fits = room.and_then(|room| one.needs.fit(room));
        }
        for future in &mut self.futures {
            let fits = |room| {
                if future.needs < room {
                    Fits::Yes
                } else {
                    Fits::No
                }
            };
            future.fits = room.map(fits);
        }
    }
}

/// The highest level until then, as a range.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Needs {
    pub value: f64,
    pub low: f64,
    pub high: f64,
    /// The highest until where the growth can be carried, if that is not all the way: a jump that was seen
    /// for a moment would fit no machine if it went on for days.
    #[serde(skip)]
    pub(crate) soon: Option<f64>,
}

impl Needs {
    pub fn new(value: f64, low: f64, high: f64) -> Needs {
        Needs {
            value,
            low,
            high,
            soon: None,
        }
    }

    /// None where only growth that was not seen for long would not fit.
    pub(crate) fn fit(&self, room: f64) -> Option<Fits> {
        if self.high < room {
            Some(Fits::Yes)
        } else if self.low >= room {
            Some(Fits::No)
        } else {
            let far = self.soon.is_some_and(|soon| soon < room);
            (!far).then_some(Fits::Tight)
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fits {
    Yes,
    /// The limit lies within the range.
    Tight,
    No,
}

impl fmt::Display for Fits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Fits::Yes => "fits",
            Fits::Tight => "may not fit",
            Fits::No => "does not fit",
        })
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Future {
    /// `growth ends with the epoch`, `growth goes on`.
    pub when: String,
    pub needs: f64,
    pub fits: Option<Fits>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Horizon {
    pub seconds: f64,
    pub needs: Needs,
    pub fits: Option<Fits>,
}

/// A rule that had its say: made by [`crate::judge::Rule`] alone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Evidence {
    /// The name of one of [`crate::judge::RULES`].
    pub rule: String,
    pub says: String,
}

/// Who holds what grew.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Suspect {
    pub who: String,
    pub share: f64,
    pub says: String,
}
