//! What is remembered of one process, of one role and of the tree: extremes and two series.

use crate::point::Point;
use crate::process::Member;
use crate::sample::{Pss, Reading};
use crate::series::{Bucket, Series};
use crate::units::{Bytes, Micros};
use crate::verdict::{Axis, Meter};

use super::levels::Held;
use super::own_share;
use super::steps::StepMoment;

/// A value's extremes and mean over the run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Extremes {
    pub min: f64,
    pub max: f64,
    pub last: f64,
    sum: f64,
    count: u64,
}

impl Extremes {
    fn push(&mut self, value: f64) {
        self.min = if self.count == 0 {
            value
        } else {
            self.min.min(value)
        };
        self.max = self.max.max(value);
        self.last = value;
        self.sum += value;
        self.count += 1;
    }

    /// It was as high as this at a moment that says nothing else.
    fn stood_at(&mut self, value: f64) {
        self.max = self.max.max(value);
    }

    pub fn mean(&self) -> f64 {
        if self.count == 0 {
            0.0
        } else {
            self.sum / self.count as f64
        }
    }
}

/// The same quantity on the axis of time and, from the first step on, on the axis of steps.
#[derive(Clone, Debug)]
pub(super) struct BothAxes {
    pub extremes: Extremes,
    pub time: Series,
    pub step: Series,
}

impl Default for BothAxes {
    fn default() -> BothAxes {
        BothAxes {
            extremes: Extremes::default(),
            time: Series::new(Axis::Time, Meter::Held),
            step: Series::new(Axis::Step, Meter::Held),
        }
    }
}

impl BothAxes {
    pub(super) fn push(&mut self, bytes: f64, moment: &StepMoment) {
        self.push_up_to(bytes, 0.0, moment);
    }

    /// `above` is how far it may have stood above that since the look before.
    pub(super) fn push_up_to(&mut self, bytes: f64, above: f64, moment: &StepMoment) {
        self.extremes.push(bytes);
        let point = Point {
            x: moment.seconds,
            bytes,
            seconds: Some(moment.seconds),
            phase: moment.phase,
        };
        self.time.push(point);
        self.time.may_have_stood_at(bytes + above);
        if let Some(step) = moment.step {
            self.step.push(Point { x: step, ..point });
            self.step.may_have_stood_at(bytes + above);
        }
    }

    /// The last look before the end: how high it stood counts, and nothing else, see [`super::Run::fold`]. Until
    /// the end it may have risen by as much again as since the look before.
    pub(super) fn stood_at(&mut self, bytes: f64, above: f64) {
        let above = above.max(bytes - self.extremes.last);
        self.extremes.stood_at(bytes);
        for series in [&mut self.time, &mut self.step] {
            series.stood_at(bytes);
            series.may_have_stood_at(bytes + above);
        }
    }
}

impl BothAxes {
    /// What the floor grew by, since the first step where steps are the axis.
    pub(super) fn grew(&self, on_steps: bool) -> f64 {
        let series = if on_steps { &self.step } else { &self.time };
        floor_ends(series).map_or(0.0, |(first, last)| last - first)
    }

    /// The same since a place on that axis: what start-up took is no part of what grew later.
    pub(super) fn grew_since(&self, on_steps: bool, from: f64) -> f64 {
        let series = if on_steps { &self.step } else { &self.time };
        let buckets = series.buckets();
        let since = buckets.partition_point(|bucket| bucket.last < from);
        match (buckets.get(since), floor_ends(series)) {
            (Some(first), Some((_, last))) => last - first.floor,
            _ => 0.0,
        }
    }
}

/// All living processes of one role at one look.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Together {
    count: usize,
    own: f64,
    by_itself: f64,
    rss: f64,
    above: f64,
}

impl Together {
    /// `above` is how far it may have stood above this reading: hardly all at the same moment.
    pub(super) fn add(&mut self, track: &ProcessTrack, reading: &Reading, above: f64) {
        self.count += 1;
        self.above = self.above.max(above);
        self.own += own_share(reading).as_f64();
        self.by_itself += track.by_itself(reading);
        self.rss += reading.rss().as_f64();
    }
}

/// One role over the run.
#[derive(Clone, Debug, Default)]
pub(super) struct RoleTrack {
    /// What they add to an honest sum.
    pub lines: BothAxes,
    /// The same without what they share less of as time goes: that is seen in stairs, where somebody looked carefully, and
    /// is nothing that their steps took.
    pub by_itself: BothAxes,
    /// Most that lived at a time, and what they showed then.
    pub most: usize,
    pub rss_of_most: f64,
    pub own_of_most: f64,
}

impl RoleTrack {
    pub(super) fn push(&mut self, together: &Together, moment: &StepMoment) {
        self.lines.push_up_to(together.own, together.above, moment);
        self.by_itself.push(together.by_itself, moment);
        if together.count >= self.most {
            self.most = together.count;
            self.rss_of_most = together.rss;
            self.own_of_most = together.own;
        }
    }
}

/// The low-water mark of the first and of the last twentieth of a series.
pub(super) fn floor_ends(series: &Series) -> Option<(f64, f64)> {
    ends_of(series.buckets())
}

/// The same of some of its buckets.
pub(super) fn ends_of(buckets: &[Bucket]) -> Option<(f64, f64)> {
    let part = buckets.len().div_ceil(20);
    let lowest = |part: &[Bucket]| part.iter().map(|bucket| bucket.floor).reduce(f64::min);
    let first = lowest(&buckets[..part])?;
    let last = lowest(&buckets[buckets.len() - part..])?;
    Some((first, last))
}

/// What a fork shares with its parent at first.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Inherited {
    pub anon: f64,
    pub shmem: f64,
}

impl Inherited {
    /// Each may have taken more between the fork and the look; the lower one is nearer to what both had.
    fn of(parent: &Reading, child: &Reading) -> Inherited {
        let lower = |of: fn(&Reading) -> Bytes| of(parent).min(of(child)).as_f64();
        Inherited {
            anon: lower(|reading| reading.anon),
            shmem: lower(|reading| reading.shmem),
        }
    }
}

/// What passes between two readings shows in no sample, and a burst in the rhythm of the looks never does: but
/// the kernel keeps the highest RSS. Where that rose, up to so much more was held at some moment than is now:
/// less, if files were mapped meanwhile that neither reading shows.
fn stood_above(before: &Reading, now: &Reading) -> f64 {
    if now.peak <= before.peak {
        return 0.0;
    }
    let held_then = now.peak.as_f64() - before.file.max(now.file).as_f64();
    (held_then - (now.anon + now.shmem).as_f64()).max(0.0)
}

/// One process over the run.
#[derive(Clone, Debug)]
pub struct ProcessTrack {
    pub member: Member,
    pub since: Micros,
    pub gone: Option<Micros>,
    /// anon + shmem + swap.
    pub held: Extremes,
    pub rss: Extremes,
    /// What it adds to an honest sum.
    pub own: Extremes,
    pub peak: Bytes,
    pub first: Option<Reading>,
    pub last: Option<Reading>,
    /// The first time that its share was read.
    careful: Option<Pss>,
    /// What its parent held at the look that saw it first: what a fork begins with.
    pub(crate) inherited: Option<Inherited>,
    pub(super) lines: BothAxes,
    pub(super) gpu: Option<BothAxes>,
    /// Objects that Python's collector tracks, at the readings that follow a full collection: between two of them
    /// the count holds what has died since, and rises in any loop.
    pub(super) objects: Option<Box<BothAxes>>,
    /// Full collections that it had done at the last reading that told.
    collected: Option<u64>,
    pub(crate) kept: Held,
}

impl ProcessTrack {
    pub(super) fn new(member: Member, since: Micros) -> ProcessTrack {
        ProcessTrack {
            member,
            since,
            gone: None,
            held: Extremes::default(),
            rss: Extremes::default(),
            own: Extremes::default(),
            peak: Bytes::ZERO,
            first: None,
            last: None,
            careful: None,
            inherited: None,
            lines: BothAxes::default(),
            gpu: None,
            objects: None,
            collected: None,
            kept: Held::default(),
        }
    }

    /// `all` are the readings of the same look, by pid.
    /// Returns how far it may have stood above this reading at some moment since the one before.
    pub(super) fn push(&mut self, reading: &Reading, all: &[Reading], moment: &StepMoment) -> f64 {
        if self.first.is_none() {
            let parent = self.member.parent.and_then(|parent| {
                let at = all.binary_search_by_key(&parent.pid, |other| other.id.pid);
                at.ok().map(|at| &all[at]).filter(|it| it.id == parent)
            });
            self.inherited = parent.map(|parent| Inherited::of(parent, reading));
        }
        let held = reading.held().as_f64();
        let above = self
            .last
            .map_or(0.0, |before| stood_above(&before, reading));
        self.held.push(held);
        self.rss.push(reading.rss().as_f64());
        self.own.push(own_share(reading).as_f64());
        self.peak = self.peak.max(reading.peak);
        self.first.get_or_insert(*reading);
        self.last = Some(*reading);
        self.careful = self.careful.or(reading.pss);
        self.kept.push(reading, moment);
        self.lines.push_up_to(held, above, moment);
        if let Some(bytes) = reading.gpu {
            self.gpu
                .get_or_insert_default()
                .push(bytes.as_f64(), moment);
        }
        self.count_objects(reading, moment);
        above
    }

    /// Its share as it was read first, and what it has taken since.
    fn by_itself(&self, reading: &Reading) -> f64 {
        let pss = self.careful;
        own_share(&Reading { pss, ..*reading }).as_f64()
    }

    fn count_objects(&mut self, reading: &Reading, moment: &StepMoment) {
        let Some([_, _, full]) = reading.collections else {
            return;
        };
        let before = self.collected.replace(full);
        if let Some(objects) = reading.objects
            && before.is_some_and(|before| full > before)
        {
            self.objects
                .get_or_insert_default()
                .push(objects as f64, moment);
        }
    }

    /// What the collector tracked at its full collections.
    pub(crate) fn counted_objects(&self, on_steps: bool) -> Option<&Series> {
        let lines = self.objects.as_deref()?;
        Some(if on_steps { &lines.step } else { &lines.time })
    }

    /// The last reading before its end. One that was seen only once may be a fork that shows its parent's memory.
    pub(super) fn stood_at(&mut self, reading: &Reading) {
        let Some(before) = self.last else { return };
        let held = reading.held().as_f64();
        self.held.stood_at(held);
        self.rss.stood_at(reading.rss().as_f64());
        self.own.stood_at(own_share(reading).as_f64());
        self.peak = self.peak.max(reading.peak);
        self.lines.stood_at(held, stood_above(&before, reading));
    }

    /// Which kind of memory moved most since the first reading.
    pub(super) fn main_meter(&self) -> Meter {
        let (Some(first), Some(last)) = (&self.first, &self.last) else {
            return Meter::Anon;
        };
        let moved = |a: Bytes, b: Bytes| b.0.abs_diff(a.0);
        [
            (Meter::Anon, moved(first.anon, last.anon)),
            (Meter::Shmem, moved(first.shmem, last.shmem)),
            (Meter::Swap, moved(first.swap, last.swap)),
        ]
        .into_iter()
        // On a tie the first wins: anon is what a process holds when nothing moves.
        .rev()
        .max_by_key(|(_, moved)| *moved)
        .map_or(Meter::Anon, |(meter, _)| meter)
    }

    pub fn command(&self) -> String {
        let argv = &self.member.facts.argv;
        if argv.is_empty() {
            format!("[{}]", self.member.facts.comm)
        } else {
            argv.join(" ")
        }
    }
}
