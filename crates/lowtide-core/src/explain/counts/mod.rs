//! What became more between two looks, counted: blocks of one size, Python objects of one size class, tensors
//! of one shape; set against the steps, evaluations or whatever the growth goes with. `+1899 blocks of 131,072 B
//! in 1888 steps: one a step` leads to the line of code that keeps them.

mod pace;
mod size;
mod tensors;
#[cfg(test)]
mod tests;

use crate::judge::words::unit;
use crate::look::{By, Look, MemoryClass, Missing, PartMember};
use crate::run::Taken;
use crate::run::occurrences::{At, Occurrences};
use crate::units::{grouped, show_duration};

use super::memory::{self, Pair};
use super::signs::{EpochSign, Signs};
use super::{BreakdownGrowth, CountGrowth};
use pace::{Counted, Pace};
use size::Asked;
use tensors::Group;

/// Blocks of one size are worth a line from this share of the growth on.
const SHARE: f64 = 0.1;
/// And so many of them: one or two large ones are no count.
const LEAST: i64 = 8;
/// A count is set against so many units at least: two looks at a start-up have no epoch between them.
const LEAST_UNITS: f64 = 1.0;
/// Blocks are counted around the middle of a look, at most this share of it away on the whole.
const OFF_MIDDLE: f64 = 0.25;
/// Seconds between two ticks: a loop that was slowed down does not go on evenly between them.
const A_TICK: f64 = 1.0;
/// Lines that are told.
const LINES: usize = 4;
const KINDS: [MemoryClass; 3] = [
    MemoryClass::GlibcLive,
    MemoryClass::GlibcMapped,
    MemoryClass::PythonLive,
];

/// What the counts are set against, and what is known of shapes.
pub(crate) struct Beside<'a> {
    pub looks: &'a [Taken],
    pub occurrences: &'a Occurrences,
    pub epoch: Option<EpochSign>,
    /// The name of what the growth goes with.
    pub driver: &'a str,
    pub on_steps: bool,
    /// Steps between two that are told.
    pub stride: f64,
    pub examples_per_step: Option<f64>,
    /// Examples of one batch, which is the first dimension of most of its tensors.
    pub batch: Option<u64>,
    pub libtorch: bool,
}

/// What the growth is counted by: the first driver, unless it cannot be told from steps, or was never counted.
pub(crate) fn driver_of(signs: &Signs, on_steps: bool) -> &str {
    let plain = if on_steps { "step" } else { "time" };
    let counted = signs.epoch.is_some_and(|epoch| epoch.counted);
    match signs.drivers.first() {
        Some(_) if on_steps && signs.may_be_driven_by("step") => plain,
        Some(driver) => match driver.name.as_str() {
            name @ ("evaluation" | "save" | "epoch" | "log") => name,
            name @ "new-example" if counted => name,
            _ => plain,
        },
        None => plain,
    }
}

/// A line to be.
struct Line {
    bytes: f64,
    asked: Option<Asked>,
    pace: Option<Pace>,
    growth: CountGrowth,
}

pub(crate) fn counted(
    pairs: &[Pair],
    growths: &[BreakdownGrowth],
    beside: &Beside,
) -> Vec<CountGrowth> {
    let of = |by: &By| {
        let growth = growths.iter().find(|growth| growth.by == *by)?;
        Some((pairs.iter().find(|pair| *pair.by == *by)?, growth))
    };
    let mut lines: Vec<Line> = of(&By::Mapping)
        .filter(|(_, growth)| growth.conclusive)
        .map_or_else(Vec::new, |(pair, growth)| beside.blocks(pair, growth.grew));
    lines.sort_by(|a, b| b.bytes.total_cmp(&a.bytes));
    let mut groups = of(&By::TensorGroup).map_or_else(Vec::new, |(pair, growth)| {
        tensors::groups(pair, growth, beside)
    });
    for line in &mut lines {
        name_shape(line, &mut groups, beside);
    }
    let alone = groups.into_iter().filter_map(Group::into_line);
    let told = lines.into_iter().map(|line| line.growth).chain(alone);
    told.take(LINES).collect()
}

impl Beside<'_> {
    fn blocks(&self, pair: &Pair, grew: f64) -> Vec<Line> {
        let mut lines = Vec::new();
        for class in KINDS {
            let (first, last) = (&pair.first.look, &pair.last.look);
            for grown in memory::grown(class, first, last) {
                let large = grown.bytes >= SHARE * grew && grown.count >= LEAST;
                let member = large.then(|| member_of(last, class, grown.name)).flatten();
                lines.extend(member.and_then(|member| {
                    let line = self.line(pair, class, member)?;
                    Some(Line {
                        bytes: grown.bytes,
                        ..line
                    })
                }));
            }
        }
        lines
    }

    fn line(&self, pair: &Pair, class: MemoryClass, member: &PartMember) -> Option<Line> {
        let asked = Asked::of(class, member);
        let looks: Vec<Counted> = self
            .between(pair)
            .filter_map(|taken| {
                let (least, most) = count_in(&taken.look, class, member)?;
                Some(Counted {
                    units: self.units_at(taken)?,
                    least,
                    most,
                })
            })
            .collect();
        let (first, last) = (looks.first()?, looks.last()?);
        let what = size::in_words(class, member, asked);
        let more = (last.least - first.most).max(0.0);
        // Rarely seen at the first look, they may be other ones.
        // And what came before the first unit does not go with them.
        let passed = last.units - first.units;
        let sure =
            more >= LEAST as f64 && first.most - first.least <= more && passed >= LEAST_UNITS;
        let pace = Pace::of(&looks, self.grain(pair)).filter(|_| sure);
        let growth = self.tell(what, more, passed, pace, each(member));
        sure.then_some(Line {
            bytes: 0.0,
            asked,
            pace,
            growth,
        })
    }

    /// The looks of a pair and those between them that are whole.
    fn between<'a>(&'a self, pair: &'a Pair<'_>) -> impl Iterator<Item = &'a Taken> {
        let (from, to) = (pair.first.look.at, pair.last.look.at);
        let examiner = &pair.last.look.examiner;
        let faulty = |missing: &Missing| missing.is_cut_short() || missing.is_torn();
        self.looks.iter().filter(move |taken| {
            let at = taken.look.at;
            let is_end = at == from || at == to;
            let whole = !taken.look.missing.iter().any(faulty);
            let has = taken.has((examiner, pair.by));
            has && (is_end || at > from && at < to && whole)
        })
    }

    /// How many units there were at a look.
    fn units_at(&self, taken: &Taken) -> Option<f64> {
        let x = match self.on_steps {
            true => taken.step? as f64,
            false => taken.look.at.seconds(),
        };
        let place = |at: &At| {
            if self.on_steps {
                at.step
            } else {
                Some(at.seconds)
            }
        };
        Some(match self.driver {
            "evaluation" => self.occurrences.evaluations.before(x, place),
            "save" => self.occurrences.saves.before(x, place),
            "epoch" => self.occurrences.epochs.before(x, place),
            "log" => self.occurrences.logs.before(x, place),
            "new-example" => {
                let epoch = self.epoch?;
                (x - epoch.begin).clamp(0.0, epoch.steps) * self.examples_per_step?
            }
            _ => x,
        })
    }

    /// How far the units at a look may be off: the loop goes on while it is taken.
    fn grain(&self, pair: &Pair) -> f64 {
        let (first, last) = (pair.first, pair.last);
        let seconds = last.look.at.since(first.look.at).seconds();
        let units = self.units_at(last).zip(self.units_at(first));
        let pace = units.map_or(0.0, |(last, first)| (last - first) / seconds.max(1e-3));
        let wall = first
            .look
            .cost
            .wall
            .seconds()
            .max(last.look.cost.wall.seconds());
        let told = match self.driver {
            "step" => self.stride.max(1.0),
            "new-example" => self.stride.max(1.0) * self.examples_per_step.unwrap_or(1.0),
            "time" => 0.0,
            _ => 1.0,
        };
        // Where the loop was at a look from outside is known from the ticks around it.
        let between = match last.look.objects {
            None if self.driver != "time" => A_TICK,
            _ => 0.0,
        };
        told + pace * (wall * OFF_MIDDLE + between)
    }

    /// `1,888 steps`, `1m 34s`.
    fn over(&self, units: f64) -> String {
        if self.driver == "time" {
            return show_duration(units);
        }
        let plural = if units.round() == 1.0 { "" } else { "s" };
        format!(
            "{} {}{plural}",
            grouped(units.round() as u64),
            unit(self.driver)
        )
    }

    fn tell(
        &self,
        name: String,
        more: f64,
        units: f64,
        pace: Option<Pace>,
        each: f64,
    ) -> CountGrowth {
        let over = self.over(units);
        let mut says = format!("+{} {name} in {over}", grouped(more as u64));
        if let Some(words) = pace.and_then(|pace| pace.in_words(self.driver)) {
            says += &format!(": {words}");
        }
        CountGrowth {
            name,
            more: more as i64,
            each,
            driver: self.driver.to_owned(),
            units,
            per_unit: pace.map(|pace| pace.value),
            low: pace.map(|pace| pace.low),
            high: pace.map(|pace| pace.high),
            shape: None,
            says,
        }
    }
}

/// Says what a block of that size has room for: a shape that somebody counted, else a number of elements.
fn name_shape(line: &mut Line, groups: &mut [Group], beside: &Beside) {
    let Some(asked) = line.asked else { return };
    if let Some(group) = tensors::fitting(groups, asked) {
        line.growth.says += &format!(", the size of {}", group.shape());
        line.growth.shape = Some(group.shape().to_owned());
        let agree = line.pace.zip(group.pace).filter(|(a, b)| a.agrees_with(b));
        if agree.is_some() {
            line.growth.says += &format!(
                "; the package counted {} more such tensors in {}",
                grouped(group.more as u64),
                beside.over(group.units)
            );
            group.is_told = true;
        }
        return;
    }
    let elements = asked
        .likely
        .filter(|bytes| beside.libtorch && bytes % 4 == 0);
    if let Some(elements) = elements.map(|bytes| bytes / 4) {
        line.growth.says += &format!(", room for {} float32", grouped(elements));
        let batch = beside
            .batch
            .filter(|batch| *batch > 1 && elements % batch == 0);
        if let Some(batch) = batch {
            let each = grouped(elements / batch);
            line.growth.says += &format!(" ({each} for each of the {batch} examples of a batch)");
        }
    }
}

fn each(member: &PartMember) -> f64 {
    match member.usual {
        Some(usual) => usual.size.as_f64(),
        None => member.bytes.as_f64() / member.count.max(1) as f64,
    }
}

fn member_of<'a>(look: &'a Look, class: MemoryClass, name: &str) -> Option<&'a PartMember> {
    let mappings = look.breakdown(&By::Mapping)?;
    let part = mappings
        .parts
        .iter()
        .find(|part| part.class == Some(class))?;
    part.members.iter().find(|member| member.name == name)
}

/// How many of these a look saw: of a class with one usual size those of that size.
fn count_in(look: &Look, class: MemoryClass, like: &PartMember) -> Option<(f64, f64)> {
    look.breakdown(&By::Mapping)?;
    let Some(member) = member_of(look, class, &like.name) else {
        // Not among the largest: there were few.
        return Some((0.0, 0.0));
    };
    let all = member.count as f64;
    let Some(usual) = like.usual else {
        return Some((all, all));
    };
    Some(match member.usual {
        Some(here) if here.size.0.abs_diff(usual.size.0) <= size::SAME => {
            (here.count as f64, here.count as f64)
        }
        // Another size was commoner: at most so many were of this one.
        Some(here) => (0.0, (all - here.count as f64).clamp(0.0, here.count as f64)),
        None => (0.0, all),
    })
}
