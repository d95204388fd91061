//! The score of the zoo: what was said at every moment of runs whose truth is known, by family, with the
//! family left out of what was fitted.

pub mod calibration;
pub mod curve;
pub mod diagram;
pub mod drawn;
pub mod folds;
pub mod real;
pub mod table;

use lowtide_core::verdict::{Class, Verdict};

/// The outlook is asked from this share of a run on.
const OUTLOOK_FROM: f64 = 0.1;
/// Rounding is no miss.
const ROUNDING: f64 = 0.001;

/// A run and what was said of it on the way.
#[derive(Clone, Debug)]
pub struct Scored {
    pub name: String,
    pub kind: String,
    pub family: String,
    pub leak: bool,
    /// Growth of a leak that is material, in a run that lasted long enough to know: longer than the prior gives
    /// what fills.
    pub knowable: bool,
    /// The first moment, in seconds, at which it was called a leak while there was none.
    pub accused: Option<f64>,
    /// What was said then.
    pub because: String,
    /// What was said at the end.
    pub last: String,
    /// Seconds from the onset of a leak, or from the end of growth, to the first right answer.
    pub answered: Option<f64>,
    pub end: Class,
    /// A leak that is called calm at the end.
    pub missed: bool,
    /// Whether the interval of a leak's rate held the truth at the end, and its width as a share of that.
    pub rate: Option<(bool, f64)>,
    pub outlook: Outlooks,
    pub calls: Vec<Call>,
    /// How often it was asked.
    pub moments: usize,
}

impl Scored {
    /// Accused, or a leak that could be known and is not told, or that is called calm.
    pub fn is_wrong(&self) -> bool {
        let untold = self.leak && self.knowable && self.end != Class::Leak;
        self.accused.is_some() || untold || self.missed
    }
}

#[cfg(test)]
impl Scored {
    fn named(name: &str) -> Scored {
        Scored {
            name: name.to_owned(),
            kind: name.to_owned(),
            family: name.to_owned(),
            leak: false,
            knowable: false,
            accused: None,
            because: String::new(),
            last: String::new(),
            answered: None,
            end: Class::TooEarly,
            missed: false,
            rate: None,
            outlook: Outlooks::default(),
            calls: Vec::new(),
            moments: 1,
        }
    }
}

/// How often the outlook held what the run needed.
#[derive(Clone, Debug, Default)]
pub struct Outlooks {
    pub held: usize,
    pub asked: usize,
    /// As shares of what was needed.
    pub widths: Vec<f64>,
}

impl Outlooks {
    /// `needed` is the highest of the whole run.
    pub fn ask(&mut self, verdict: &Verdict, passed: f64, needed: f64) {
        let known = |outlook: &&lowtide_core::verdict::Outlook| outlook.ends_at.is_some();
        let asked = (OUTLOOK_FROM..1.0).contains(&passed);
        let Some(outlook) = verdict.outlook.as_ref().filter(known).filter(|_| asked) else {
            return;
        };
        let needs = &outlook.needs;
        let held =
            needs.low <= (1.0 + ROUNDING) * needed && needs.high >= (1.0 - ROUNDING) * needed;
        self.held += usize::from(held);
        self.asked += 1;
        self.widths.push((needs.high - needs.low) / needed);
    }
}

/// A verdict that claims something, and whether it was true.
#[derive(Clone, Copy, Debug)]
pub struct Call {
    pub class: Class,
    pub right: bool,
    /// What its confidence is worked out from; none where it has none.
    pub stands_on: Option<[f64; 2]>,
}

/// By the contract, growth that would not double a process within ten times what was watched, or an hour, is creep and no
/// alarm; around that border nobody is asked.
pub fn matters(bytes_a_second: f64, watched: f64, held: f64) -> bool {
    const BORDER: f64 = 1.2;
    bytes_a_second * (10.0 * watched).max(3600.0) >= BORDER * held
}

/// What is true at a moment.
#[derive(Clone, Copy, Debug)]
pub struct Now {
    /// It leaks, and grew by enough that it matters.
    pub leaks: bool,
    /// It leaks already, by however little.
    pub begun: bool,
    /// Harmless growth goes on, and what is still to come of it matters.
    pub fills: bool,
}

impl Now {
    /// None where nothing is claimed, or nobody could say: a leak that has hardly begun.
    pub fn is_right(self, verdict: &Verdict) -> Option<bool> {
        match verdict.verdict {
            Class::TooEarly => None,
            Class::Leak => Some(self.begun),
            // An end that is known beforehand is right for whatever ends.
            Class::WarmUp if verdict.is_under_way() => Some(!self.begun),
            Class::WarmUp | Class::Spikes | Class::Stable => {
                (self.leaks || !self.begun).then_some(!self.leaks && !self.fills)
            }
        }
    }
}

/// The evidence in one line.
pub fn said(verdict: &Verdict) -> String {
    let lines = verdict
        .evidence
        .iter()
        .map(|e| format!("{}: {}", e.rule, e.says));
    lines.collect::<Vec<_>>().join(" | ")
}

/// The first moment of each kind, gathered on the way.
#[derive(Default)]
pub struct Gathered {
    pub accused: Option<f64>,
    /// By which rules.
    pub because: String,
    pub answered: Option<f64>,
    pub calls: Vec<Call>,
    pub outlook: Outlooks,
}

impl Gathered {
    /// `since` is how long there was something to answer, in seconds: since the onset or the end of growth.
    pub fn take(&mut self, verdict: &Verdict, now: Now, seconds: f64, since: Option<f64>) {
        let class = verdict.verdict;
        if class == Class::Leak && !now.begun && self.accused.is_none() {
            self.accused = Some(seconds);
            let said = verdict
                .evidence
                .iter()
                .map(|e| format!("{}: {}", e.rule, e.says));
            self.because = said.collect::<Vec<_>>().join(" | ");
        }
        let Some(right) = now.is_right(verdict) else {
            return;
        };
        if right && self.answered.is_none() {
            self.answered = since.filter(|since| *since >= 0.0);
        }
        self.calls.push(Call {
            class,
            right,
            stands_on: verdict.basis.map(|basis| basis.stands_on),
        });
    }
}

/// Scores every case, on all cores, in order.
pub fn each<T: Sync, R: Send>(cases: &[T], of: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let part = cases.len().div_ceil(cores).max(1);
    let of = &of;
    std::thread::scope(|scope| {
        let parts: Vec<_> = cases
            .chunks(part)
            .map(|chunk| scope.spawn(move || chunk.iter().map(of).collect::<Vec<R>>()))
            .collect();
        let done = parts
            .into_iter()
            .flat_map(|part| part.join().unwrap_or_default());
        done.collect()
    })
}
