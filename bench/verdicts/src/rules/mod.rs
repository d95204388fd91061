//! The rules that are compared: lowtide's judge and what people use today, one file each. The
//! latter are our own readings of documents, papers and published code. Where a rule needs a
//! memory limit or other hosts, which a bare trace lacks, that part is left out.

mod backward;
mod lowtide;
mod mann_kendall;
mod ols;
mod precog;
mod resin;
mod soak;
mod tracker;

use lowtide_core::point::{Context, Point};
use lowtide_core::verdict::{Axis, Class, Meter};

use crate::trace::Trace;

/// What a rule gets to see: a trace, or its beginning.
#[derive(Clone, Copy)]
pub struct Question<'a> {
    pub points: &'a [Point],
    pub axis: Axis,
    pub meter: Meter,
    pub context: &'a Context,
}

impl Trace {
    pub fn until(&self, points: usize) -> Question<'_> {
        Question {
            points: &self.points[..points],
            axis: self.axis,
            meter: self.meter,
            context: &self.context,
        }
    }
}

#[derive(Clone, Debug, Default)]
pub struct Answer {
    /// None: the rule has too little to say anything.
    pub class: Option<Class>,
    /// Growth is shown, whether or not it is known to end.
    pub grows: bool,
    /// Value, low and high, in bytes per unit of the axis.
    pub rate: Option<(f64, f64, f64)>,
    pub reason: String,
}

impl Answer {
    pub fn leak(&self) -> bool {
        self.class == Some(Class::Leak)
    }

    /// Leak or not; none for no verdict and for too early.
    pub fn decided(&self) -> Option<bool> {
        match self.class {
            None | Some(Class::TooEarly) => None,
            Some(class) => Some(class == Class::Leak),
        }
    }

    /// The answer of a rule that knows only these two. `Stable` stands for anything but a leak.
    fn yes_no(leak: bool) -> Answer {
        Answer {
            class: Some(if leak { Class::Leak } else { Class::Stable }),
            ..Answer::default()
        }
    }
}

pub struct Rule {
    pub name: &'static str,
    pub ask: fn(Question) -> Answer,
}

pub const LOWTIDE: Rule = Rule {
    name: "lowtide",
    ask: lowtide::ask,
};

pub const TODAY: [Rule; 8] = [
    Rule {
        name: "tracker, as documented",
        ask: tracker::documented,
    },
    Rule {
        name: "tracker, as coded",
        ask: tracker::coded,
    },
    Rule {
        name: "OLS, R2 > 0.8",
        ask: ols::ask,
    },
    Rule {
        name: "Mann-Kendall + Theil-Sen",
        ask: mann_kendall::ask,
    },
    Rule {
        name: "Linear Backward Regression",
        ask: backward::ask,
    },
    Rule {
        name: "PrecogMF",
        ask: precog::ask,
    },
    Rule {
        name: "RESIN-like",
        ask: resin::ask,
    },
    Rule {
        name: "quartile soak gate",
        ask: soak::ask,
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    fn called(rule: &Rule, values: impl Iterator<Item = f64>) -> Option<Class> {
        let points: Vec<Point> = values
            .enumerate()
            .map(|(i, megabytes)| Point::new(i as f64, megabytes * 1e6))
            .collect();
        (rule.ask)(Question {
            points: &points,
            axis: Axis::Time,
            meter: Meter::Rss,
            context: &Context::default(),
        })
        .class
    }

    /// A steep line over a slight ripple: what every one of these rules was made for.
    #[test]
    fn all_find_a_steep_line() {
        for rule in &TODAY {
            let line = (0..200).map(|i| 100.0 + 10.0 * f64::from(i) + f64::from(i % 3));
            assert_eq!(called(rule, line), Some(Class::Leak), "{}", rule.name);
        }
    }

    #[test]
    fn none_accuses_a_level_line() {
        for rule in &TODAY {
            let line = (0..200).map(|i| 100.0 + f64::from(i * 7 % 5));
            assert_ne!(called(rule, line), Some(Class::Leak), "{}", rule.name);
        }
    }
}
