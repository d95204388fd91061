//! Which of a run's lines decides: that of a process, of a role, of the tree or of the GPU. Each was judged by
//! itself; here they are only compared. Whoever carries growth is preferred to whoever is at rest, decided or not,
//! with steps or without: a trainer at rest says nothing of what its workers keep.

use crate::series::Series;
use crate::verdict::{Class, Verdict};

use super::Run;
use super::decide::MATERIAL;
use super::track::ProcessTrack;

/// A tree or role that is still undecided only delays a decided trainer when this share of it moved.
const UNSETTLED: f64 = 0.05;

/// A process is named for a leak of the tree when it makes at least half of it.
const NAMED: f64 = 0.5;

/// Where no process makes half of the tree's growth, the one that grew most is named if it makes this share of it:
/// one of eight workers that grow alike.
const NAMED_FIRST: f64 = 0.1;

/// Looks that can be compared.
const COMPARED: usize = 2;

/// Whose series it is.
#[derive(Clone, Copy)]
pub(super) enum Who<'a> {
    Process(&'a ProcessTrack),
    Role(&'static str),
    Tree,
    Gpu,
}

pub(super) struct Judgement<'a> {
    pub who: Who<'a>,
    pub verdict: Verdict,
    /// How often it was looked into.
    pub looks: usize,
}

impl Judgement<'_> {
    pub(super) fn moved(&self) -> f64 {
        self.verdict.floor.last - self.verdict.floor.first
    }

    fn is_open(&self) -> bool {
        self.verdict.verdict == Class::TooEarly
    }
}

/// All lines of a run that were judged.
pub(super) struct Judgements<'a, 'b> {
    pub tree: &'a Judgement<'b>,
    pub watched: Option<&'a Judgement<'b>>,
    pub others: &'a [Judgement<'b>],
    /// The most that the tree held.
    pub level: f64,
    /// The tree's own line, of a run that is over.
    pub over: Option<&'a Series>,
}

impl<'a, 'b> Judgements<'a, 'b> {
    fn moved(&self, one: &Judgement<'b>, share: f64) -> bool {
        // What a GPU holds is no part of the tree's level.
        let level = match one.who {
            Who::Gpu => one.verdict.floor.last,
            _ => self.level,
        };
        one.moved() >= share * level
    }

    pub(super) fn choose(&self) -> &'a Judgement<'b> {
        let leaks =
            |one: &Judgement<'b>| one.verdict.verdict == Class::Leak && self.moved(one, MATERIAL);
        let steady =
            |one: &Judgement<'b>| one.is_open() && one.verdict.steady && self.moved(one, UNSETTLED);
        // Growth that lacks something for being steady is growth: nobody may read that nothing grows.
        let grows = |one: &Judgement<'b>| {
            one.is_open() && one.verdict.growing && self.moved(one, UNSETTLED)
        };
        self.carrier(leaks)
            .or_else(|| self.carrier(steady))
            .or_else(|| self.carrier(grows))
            .unwrap_or_else(|| self.at_rest())
    }

    /// Nobody grows that much: the watched process decides, unless more of another line has moved.
    fn at_rest(&self) -> &'a Judgement<'b> {
        let decided = self.watched.unwrap_or(self.tree);
        if decided.is_open() && decided.verdict.growing {
            return decided;
        }
        let unsettled = |one: &Judgement<'b>| one.is_open() && self.moved(one, UNSETTLED);
        if decided.is_open() {
            // Its first points say nothing yet; what has moved beside it says more.
            let moves = !unsettled(decided);
            return self.carrier(unsettled).filter(|_| moves).unwrap_or(decided);
        }
        // A trainer at rest says nothing of a buffer that its workers fill.
        let fills = |one: &Judgement<'b>| one.verdict.is_under_way() && self.moved(one, UNSETTLED);
        let mut all = std::iter::once(self.tree).chain(self.others);
        self.carrier(unsettled)
            .or_else(|| all.find(|one| unsettled(one)))
            .or_else(|| self.carrier(fills))
            .unwrap_or(decided)
    }

    /// Growth of a process that ended before a run that is over, shown to be a leak or open: the tree is level since,
    /// and rose with it until then.
    fn rose_with(&self, one: &Judgement<'b>) -> bool {
        let (Some(tree), Some(growth)) = (self.over, &one.verdict.growth) else {
            return false;
        };
        let floor = |x: f64| {
            let buckets = tree.buckets();
            let at = buckets.partition_point(|bucket| bucket.last < x);
            buckets.get(at).map(|bucket| bucket.floor)
        };
        let rose = floor(growth.to).zip(floor(growth.from));
        let grew = one.is_open() || one.verdict.verdict == Class::Leak;
        grew && rose.is_some_and(|(to, from)| to - from >= NAMED * growth.bytes)
    }

    /// Who carries growth of one kind: a process says more than a role, and a role more than the tree. The
    /// tree's own line has to allow it.
    fn carrier(&self, kind: impl Fn(&Judgement<'b>) -> bool) -> Option<&'a Judgement<'b>> {
        let tree = self.tree;
        let rate = |candidate: &Judgement<'b>| candidate.verdict.rate.value;
        let steepest = |who: fn(&Who<'b>) -> bool| {
            self.watched
                .into_iter()
                .chain(self.others)
                .filter(|one| who(&one.who))
                .filter(|one| {
                    let consent = tree.verdict.rate.high >= one.verdict.rate.low;
                    let allowed = consent || matches!(one.who, Who::Gpu) || self.rose_with(one);
                    kind(one) && allowed
                })
                .max_by(|a, b| rate(a).total_cmp(&rate(b)))
        };
        let process = steepest(|who| matches!(who, Who::Process(_)))
            .map(|first| self.of_its_kind(first, &kind));
        let role = steepest(|who| matches!(who, Who::Role(_)));
        let gpu = steepest(|who| matches!(who, Who::Gpu));
        let whole_tree = kind(tree).then_some(tree);
        let whole = role
            .into_iter()
            .chain(whole_tree)
            .map(rate)
            .fold(0.0, f64::max);
        process
            .filter(|process| rate(process) >= NAMED * whole)
            .or(role)
            .or(whole_tree)
            .or(process)
            .or(gpu)
    }
}

impl<'a, 'b> Judgements<'a, 'b> {
    /// Of processes of one role that grow alike, as ranks and workers do, the watched one says most, and then one
    /// that was looked into: chance makes one of them the steepest.
    fn of_its_kind(
        &self,
        first: &'a Judgement<'b>,
        kind: &impl Fn(&Judgement<'b>) -> bool,
    ) -> &'a Judgement<'b> {
        let role = |one: &Judgement<'b>| match one.who {
            Who::Process(track) => Some(track.member.role.name()),
            _ => None,
        };
        let rate = |one: &Judgement<'b>| one.verdict.rate.value;
        let alike = |one: &&Judgement<'b>| {
            let meets = one.verdict.rate.high >= first.verdict.rate.low;
            role(one) == role(first) && kind(one) && meets && rate(one) >= NAMED * rate(first)
        };
        if let Some(watched) = self.watched.filter(alike) {
            return watched;
        }
        let looked = |one: &Judgement<'b>| one.looks.min(COMPARED);
        let all = self.others.iter().filter(alike);
        all.max_by(|a, b| looked(a).cmp(&looked(b)).then(rate(a).total_cmp(&rate(b))))
            .unwrap_or(first)
    }
}

impl Run {
    /// The process that is named for the line that decides.
    pub(super) fn named<'a>(&'a self, chosen: &Judgement<'a>) -> Option<&'a ProcessTrack> {
        let watched = self.watched().map(|(track, _)| track);
        let from = chosen.verdict.growth.as_ref().map(|growth| growth.from);
        let grew = |track: &ProcessTrack| match from {
            Some(from) => track.lines.grew_since(self.on_steps(), from),
            None => track.held.last - track.held.min,
        };
        let most = |of: &dyn Fn(&ProcessTrack) -> bool| {
            let all = self.processes.values().filter(|track| of(track));
            all.max_by(|a, b| grew(a).total_cmp(&grew(b)))
        };
        match chosen.who {
            Who::Process(track) => Some(track),
            Who::Role(role) => most(&|track| track.member.role.name() == role),
            Who::Tree if from.is_some() => {
                let own = watched.map_or(0.0, grew);
                let carries = |track: &&ProcessTrack| {
                    grew(track) > own && grew(track) >= NAMED_FIRST * chosen.moved()
                };
                most(&|track| self.lived_long(track))
                    .filter(carries)
                    .or(watched)
            }
            Who::Tree | Who::Gpu => watched,
        }
    }

    /// What every process that was there for long has grown by since a place on the axis that is judged, most first.
    pub(crate) fn growers(&self, from: f64) -> Vec<(&ProcessTrack, f64)> {
        let on_steps = self.on_steps();
        let mut all: Vec<(&ProcessTrack, f64)> = self
            .processes
            .values()
            .filter(|track| self.lived_long(track))
            .map(|track| (track, track.lines.grew_since(on_steps, from)))
            .filter(|(_, grew)| *grew > 0.0)
            .collect();
        all.sort_by(|a, b| b.1.total_cmp(&a.1));
        all
    }
}

#[cfg(test)]
mod tests;
