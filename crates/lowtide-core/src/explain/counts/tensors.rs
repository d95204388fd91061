//! Tensors by device, dtype and shape, as the package or a census counted them.

use crate::look::{By, Examiner};
use crate::units::show_bytes;

use super::super::memory::Pair;
use super::super::{BreakdownGrowth, CountGrowth};
use super::pace::{Counted, Pace};
use super::size::Asked;
use super::{Beside, LEAST};

/// A group is worth a line from this share of the growth on: others stand in the table.
const SHARE: f64 = 0.02;

/// Tensors of one shape.
pub(super) struct Group {
    /// `cpu float32[64x512]`.
    name: String,
    /// Bytes of one tensor.
    each: f64,
    pub more: i64,
    /// Units in which they became more.
    pub units: f64,
    pub pace: Option<Pace>,
    /// A line on the blocks that hold them has said it.
    pub is_told: bool,
    /// By itself, if it grew enough.
    line: Option<CountGrowth>,
}

/// All groups of the last look, those that grew most first.
pub(super) fn groups(pair: &Pair, growth: &BreakdownGrowth, beside: &Beside) -> Vec<Group> {
    let Some(last) = pair.last.look.breakdown(&By::TensorGroup) else {
        return Vec::new();
    };
    let parts = last.parts.iter().filter_map(|part| {
        let (count, bytes) = (part.count?, part.bytes?.as_f64());
        (count > 0).then(|| (part.name.as_str(), bytes / count as f64))
    });
    let mut groups: Vec<Group> = parts
        .map(|(name, each)| group(name, each, pair, growth, beside))
        .collect();
    groups.sort_by(|a, b| (b.more as f64 * b.each).total_cmp(&(a.more as f64 * a.each)));
    groups
}

fn group(name: &str, each: f64, pair: &Pair, growth: &BreakdownGrowth, beside: &Beside) -> Group {
    let part = growth.parts.iter().find(|part| part.name == name);
    let more = part.and_then(|part| part.more).unwrap_or(0);
    let looks: Vec<Counted> = beside
        .between(pair)
        .filter_map(|taken| {
            let groups = taken.look.breakdown(&By::TensorGroup)?;
            let count = match groups.part(name) {
                Some(part) => part.count?,
                // Only the largest are named.
                None => groups.rest.is_none().then_some(0)?,
            };
            Some(Counted::exactly(beside.units_at(taken)?, count as f64))
        })
        .collect();
    let large = more >= LEAST && part.is_some_and(|part| part.grew >= SHARE * growth.grew.max(0.0));
    let ends = looks.first().zip(looks.last()).filter(|_| large);
    let pace = ends.and_then(|_| Pace::of(&looks, beside.grain(pair)));
    let line = ends.map(|(first, last)| {
        let tensors = format!("tensors {}", own_name(name));
        let units = last.units - first.units;
        let mut line = beside.tell(tensors, more as f64, units, pace, each);
        let size = show_bytes(each);
        let who = match pair.last.look.examiner {
            Examiner::Census => "a census",
            _ => "the package",
        };
        line.says += &format!(", {size} each, as {who} counted");
        line.shape = Some(own_name(name).to_owned());
        line
    });
    Group {
        name: name.to_owned(),
        each,
        more,
        units: line.as_ref().map_or(0.0, |line| line.units),
        pace,
        is_told: false,
        line,
    }
}

/// Host memory goes without saying.
fn own_name(name: &str) -> &str {
    let name = without_kind(name);
    name.strip_prefix("cpu ").unwrap_or(name)
}

/// A census says that they are tensors.
fn without_kind(name: &str) -> &str {
    name.strip_prefix("Tensor ").unwrap_or(name)
}

impl Group {
    pub(super) fn shape(&self) -> &str {
        own_name(&self.name)
    }

    pub(super) fn into_line(self) -> Option<CountGrowth> {
        self.line.filter(|_| !self.is_told)
    }
}

/// The group whose tensors have the size that was asked for, the one that grew most first.
pub(super) fn fitting(groups: &mut [Group], asked: Asked) -> Option<&mut Group> {
    groups.iter_mut().find(|group| {
        let on_host = without_kind(&group.name).starts_with("cpu ");
        on_host && !group.is_told && asked.fits(group.each as u64)
    })
}
