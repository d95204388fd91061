//! Which holders changed, and whose growth explains that of a group. A holder is known again by its name and its
//! type: an address alone is used again by others, and `x = x + [y]` moves with every step.

use std::collections::HashMap;

use super::groups::difference;
use super::{Change, HolderChange, Was, words};
use crate::look::{End, Holder, Look};

/// A holder that has less than this share of what came is not named for it.
const LEAST: f64 = 0.1;
/// Holders that are named for one group: nobody reads further.
const NAMED: usize = 3;
/// Holders of a census that are compared: it names some dozens, and each is asked about every group.
const COMPARED: usize = 1000;
/// Groups that a census tells of one holder: where it has so many, others may be left out.
const TOLD: usize = 8;
/// Containers that others hold, by their bytes: the same number of them and more bytes means that they got longer.
const CONTAINERS: [&str; 6] = [
    "list",
    "dict",
    "set",
    "collections.deque",
    "collections.OrderedDict",
    "collections.defaultdict",
];
/// What containers inside a holder grew by is at least this share of what it keeps more of, if that came into them: a
/// slot has 8 B, and a small object some dozens. A model that has gradients at one moment and none at the other keeps
/// megabytes more, for which no list in it got longer.
const IN_SLOTS: f64 = 0.01;

/// A holder in both censuses, or in the later one alone.
pub(super) struct Changed<'a> {
    pub now: &'a Holder,
    pub was: Option<&'a Holder>,
    /// Of each group that it keeps: how many more, and how many bytes more.
    pub more: HashMap<&'a str, (i64, i64)>,
}

/// The holders of the later census, each with itself in the earlier one.
pub(super) fn changes<'a>(a: &'a Look, b: &'a Look) -> Vec<Changed<'a>> {
    let holders = |look: &'a Look| {
        let all = look.heap.as_ref().map_or(&[][..], |heap| &heap.holders);
        all.iter().take(COMPARED)
    };
    let mut left: Vec<Option<&Holder>> = holders(a).map(Some).collect();
    let mut changes: Vec<Changed> = holders(b)
        .map(|now| Changed {
            now,
            was: None,
            more: HashMap::new(),
        })
        .collect();
    // Several may have one name: those that did not move find themselves first, and the others only where none can be
    // taken for another ("dict, held by C" says nothing).
    for by_address in [true, false] {
        let lone = |change: &Changed, among: &[Changed], left: &[Option<&Holder>]| {
            let named = among.iter().filter(|one| one.was.is_none());
            let now = named.filter(|one| alike(one.now, change.now)).count();
            let was = left.iter().flatten();
            now == 1 && was.filter(|was| alike(was, change.now)).count() == 1
        };
        for nth in 0..changes.len() {
            let now = changes[nth].now;
            if changes[nth].was.is_some() || !by_address && !lone(&changes[nth], &changes, &left) {
                continue;
            }
            let is_it =
                |was: &Holder| alike(was, now) && (!by_address || was.address == now.address);
            let found = left.iter_mut().find(|was| was.is_some_and(is_it));
            changes[nth].was = found.and_then(Option::take);
        }
    }
    // One that was not named had no more than the least that was.
    let least = holders(a).map(|holder| holder.keeps).min();
    let may_have_grown = |change: &&mut Changed| {
        change.was.is_some() || least.is_none_or(|least| change.now.keeps > least)
    };
    for change in changes.iter_mut().filter(may_have_grown) {
        change.more = more(change.was, change.now);
    }
    changes
}

fn alike(one: &Holder, other: &Holder) -> bool {
    one.name == other.name && one.kind == other.kind
}

fn more<'a>(was: Option<&'a Holder>, now: &'a Holder) -> HashMap<&'a str, (i64, i64)> {
    let of = |holder: &'a Holder| holder.of.iter().map(|held| (plain(&held.name), held));
    let before: HashMap<_, _> = was.into_iter().flat_map(of).collect();
    let difference = |(name, held): (&'a str, &'a crate::look::HeldGroup)| {
        let (count, bytes) = (before.get(name)).map_or((0, 0), |was| (was.count, was.bytes.0));
        let more = (
            difference(count, held.count),
            difference(bytes, held.bytes.0),
        );
        (name, more)
    };
    of(now).map(difference).collect()
}

impl Changed<'_> {
    /// By how many it grew itself; nothing where that is not known.
    pub(super) fn longer(&self) -> u64 {
        let was = self.was.and_then(|was| was.length);
        let longer = was.zip(self.now.length);
        longer.map_or(0, |(was, now)| now.saturating_sub(was))
    }

    /// It was there before, and is longer now or keeps more: a tensor whose graph grows has no length.
    pub(super) fn grew(&self) -> bool {
        self.longer() > 0 || self.was.is_some() && self.keeps_more() > 0
    }

    /// It has what came for good: it is longer; or it is the same object, and slots of it that were empty are filled,
    /// or containers inside it grew. A variable of a function has another object with every step, at an address that
    /// may be the same.
    pub(super) fn stores(&self) -> bool {
        let inside = || self.is_of_a_module() && self.grew_inside();
        self.longer() > 0 || self.is_the_same_object() && (self.filled_more() || inside())
    }

    fn is_the_same_object(&self) -> bool {
        let address = self.now.address;
        address != 0 && self.was.is_some_and(|was| was.address == address)
    }

    /// Something that a module's global leads to: neither a function that runs nor nobody.
    fn is_of_a_module(&self) -> bool {
        let root = self.now.path.first();
        root.is_some_and(|root| root.starts_with("module "))
    }

    fn filled_more(&self) -> bool {
        let was = self.was.and_then(filled);
        was.zip(filled(self.now))
            .is_some_and(|(was, now)| now > was)
    }

    fn grew_inside(&self) -> bool {
        let grew = |name: &&str| match self.more.get(*name) {
            Some(&(count, bytes)) if count <= 0 => bytes.max(0),
            _ => 0,
        };
        let inside: i64 = CONTAINERS.iter().map(grew).sum();
        inside > 0 && inside as f64 >= IN_SLOTS * self.keeps_more() as f64
    }

    /// By how much its own table grew: what it keeps beside what it holds. 0 where that is not known.
    pub(super) fn table(&self) -> u64 {
        let Some(was) = self.was else { return 0 };
        // Names that several may have are those of another one as soon as the address is.
        let is_it = self.is_the_same_object() || !words::is_nameless(&self.now.name);
        let own = |holder: &Holder| {
            let held = holder.of.iter().map(|held| held.bytes.0);
            let held = held.fold(0, u64::saturating_add);
            (holder.of.len() < TOLD).then(|| holder.keeps.0.saturating_sub(held))
        };
        let own = own(was).zip(own(self.now)).filter(|_| is_it);
        own.map_or(0, |(was, now)| now.saturating_sub(was))
    }

    /// How many more of a group it keeps, and how many bytes more.
    pub(super) fn more_of(&self, group: &Change) -> (i64, i64) {
        let more = self.more.get(plain(&group.name));
        more.copied().unwrap_or_default()
    }

    /// By how much more it keeps alive.
    pub(super) fn keeps_more(&self) -> u64 {
        let was = self.was.map_or(0, |was| was.keeps.0);
        self.now.keeps.0.saturating_sub(was)
    }

    /// What of a group's growth it may hold, 0 to 1.
    fn share(&self, group: &Change) -> f64 {
        let Some(&(count, bytes)) = self.more.get(plain(&group.name)) else {
            return 0.0;
        };
        let part = |held: i64, whole: Option<i64>| {
            let whole = whole.filter(|whole| *whole > 0)?;
            Some((held as f64 / whole as f64).clamp(0.0, 1.0))
        };
        // Objects without bytes, or whose bytes somebody else has a share in, are told by their number.
        let by_bytes = part(bytes, group.bytes).unwrap_or(0.0);
        by_bytes.max(part(count, group.count).unwrap_or(0.0))
    }

    fn is_around(&self, other: &Changed) -> bool {
        !self.now.path.is_empty() && other.now.path.starts_with(&self.now.path)
    }

    pub(super) fn told(&self) -> HolderChange {
        HolderChange {
            now: self.now.clone(),
            was: self.was.map(|was| Was {
                length: was.length,
                keeps: was.keeps,
            }),
        }
    }
}

/// Slots that are filled, of a container whose length stays.
fn filled(holder: &Holder) -> Option<u64> {
    holder.ends.iter().find_map(|end| match end {
        End::Slots { filled, .. } => Some(*filled),
        _ => None,
    })
}

/// The device, dtype and shape of a tensor may have its type in front.
pub(super) fn plain(name: &str) -> &str {
    name.strip_prefix("Tensor ").unwrap_or(name)
}

/// Who holds what came of a group, as places in `all`, and how much of it they hold together. Of a container in
/// another one it is the one that grew itself, or the innermost.
pub(super) fn holding(group: &Change, all: &[Changed]) -> (Vec<usize>, f64) {
    holding_among(group, all, |_| true)
}

/// The same, of those holders alone.
pub(super) fn holding_among(
    group: &Change,
    all: &[Changed],
    may: impl Fn(&Changed) -> bool,
) -> (Vec<usize>, f64) {
    let mut by: Vec<(usize, f64)> = all
        .iter()
        .enumerate()
        .filter(|(_, holder)| may(holder))
        .map(|(nth, holder)| (nth, holder.share(group)))
        .filter(|(_, share)| *share >= LEAST)
        .collect();
    by.sort_by(|(a, share_a), (b, share_b)| {
        let (a, b) = (&all[*a], &all[*b]);
        let by_itself = (b.longer() > 0).cmp(&(a.longer() > 0));
        let inner = b.now.path.len().cmp(&a.now.path.len());
        by_itself.then(share_b.total_cmp(share_a)).then(inner)
    });
    let (mut chosen, mut held): (Vec<usize>, f64) = (Vec::new(), 0.0);
    for (nth, share) in by {
        let nested = |other: &usize| {
            let (one, other) = (&all[nth], &all[*other]);
            one.is_around(other) || other.is_around(one)
        };
        if chosen.len() == NAMED || 1.0 - held < LEAST {
            break;
        }
        if !chosen.iter().any(nested) {
            chosen.push(nth);
            held = (held + share).min(1.0);
        }
    }
    (chosen, held)
}
