//! tqdm bars. Anybody can make one, for anything; what one counts is known by its name, by what it goes through, by
//! the loop around it and by how it moves. Where that leaves a doubt, there are no steps.

use std::collections::BTreeMap;

use super::agreement::Claim;
use super::rounds::{Counted, Rounds};
use super::seen::{BarSeen, Enclosing, Inside};
use super::{Place, Word};
use crate::mark::{LoopObject, Phase};
use crate::output::{self, Purpose};
use crate::units::Micros;

/// A bar counts when it was seen to move this often: by then it is no leftover.
const MOVES_NEEDED: u32 = 2;
/// Counts that are all multiples of some number, this often, are those of examples or bytes.
const VALUES_NEEDED: u32 = 3;
/// Kinds of bars that are remembered.
const KINDS: usize = 32;
/// One that did not move for this long is not what the loop is at.
const AT_WORK: Micros = Micros(10_000_000);

/// A bar, by its address and the moment at which it began: addresses are used again.
type Id = (u64, u64);

fn id(bar: &BarSeen) -> Id {
    (bar.address, bar.started.to_bits())
}

#[derive(Clone, Copy, Debug)]
struct Track {
    n: u64,
    moves: u32,
    moved_at: Option<Micros>,
    /// What all counts that were seen are multiples of, and how many there were.
    divisor: u64,
    values: u32,
    /// Somebody moves it by hand: it counted what it had not shown.
    by_hand: bool,
    /// One that somebody moves by steps of its own, and bars by steps of one.
    present: bool,
}

impl Track {
    fn see(&mut self, bar: &BarSeen, at: Micros) {
        if bar.n != self.n {
            self.moves += 1;
            self.moved_at = Some(at);
            self.values += 1;
            self.divisor = gcd(self.divisor, bar.n.saturating_sub(bar.initial));
        }
        self.n = bar.n;
        self.by_hand |= bar.n != bar.shown;
        self.present = true;
    }

    /// By ones, as far as it was seen. One that a `for` goes through cannot do otherwise, though it may show every
    /// second count only.
    fn by_ones(&self, bar: &BarSeen) -> bool {
        bar.over_loader
            || bar.inside != Enclosing::Unknown
            || self.divisor == 1 && self.values >= VALUES_NEEDED
    }
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// Two bars, one inside the other: how often the outer one moved with each round of the inner, and how often not.
#[derive(Clone, Copy, Debug, Default)]
struct Nested {
    inner: Option<Id>,
    outer: Option<(Id, u64)>,
    together: u32,
    against: u32,
}

#[derive(Debug, Default)]
pub(super) struct Bars {
    tracks: BTreeMap<Id, Track>,
    nested: Nested,
    /// Kinds of bars that were seen to count, one by one: the next of a kind needs not show it again.
    counting: Vec<Kind>,
    /// Kinds that were seen to go round others.
    outer: Vec<Kind>,
    followed: Option<Followed>,
}

/// The bar that counts steps, over its rounds.
#[derive(Debug)]
struct Followed {
    kind: Kind,
    rounds: Rounds,
    id: Id,
    /// The epoch that its description names.
    epoch: Option<u64>,
    whole: Whole,
}

/// Whether a bar's total was told as that of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Whole {
    No,
    /// No loop is around it: the next of its kind is another run.
    Known,
    /// It looked so; the next of its kind is another run or shows that it was none.
    Taken,
}

/// Bars that are made anew for the next epoch have this in common.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Kind {
    label: String,
    unit: String,
    total: Option<u64>,
    over_loader: bool,
}

impl Kind {
    fn of(bar: &BarSeen) -> Kind {
        let letters = |c: char| !c.is_ascii_digit();
        // `loss 0.23` and `Epoch 3/10` differ in their numbers alone.
        let label = bar.label.chars().filter(|c| letters(*c) && *c != '.');
        Kind {
            label: label.collect(),
            unit: bar.unit.clone(),
            total: bar.total,
            over_loader: bar.over_loader,
        }
    }
}

impl Bars {
    pub(super) fn see(&mut self, inside: &Inside, at: Micros) -> Word {
        self.tracks
            .values_mut()
            .for_each(|track| track.present = false);
        for bar in &inside.bars {
            let track = self.tracks.entry(id(bar)).or_insert(Track {
                n: bar.n,
                moves: 0,
                moved_at: None,
                divisor: bar.n.saturating_sub(bar.initial),
                values: 1,
                by_hand: false,
                present: true,
            });
            track.see(bar, at);
            let counts = track.moves >= MOVES_NEEDED && track.by_ones(bar);
            let kind = Kind::of(bar);
            if counts && self.counting.len() < KINDS && !self.counting.contains(&kind) {
                self.counting.push(kind);
            }
        }
        self.tracks.retain(|_, track| track.present);
        let word = self.choose(inside, at);
        if !matches!(word, Word::At(_))
            && let Some(followed) = &mut self.followed
        {
            followed.rounds.absent(at);
        }
        word
    }

    fn choose(&mut self, inside: &Inside, at: Micros) -> Word {
        // Bars of torch programs that optimize nothing yet prepare data, or download.
        if inside.optimizes == Some(false) {
            return Word::Nothing;
        }
        let purpose = |bar: &BarSeen| output::bar_purpose(&bar.label, &bar.unit);
        let of = |wanted: Purpose| move |bar: &&BarSeen| purpose(bar) == wanted;
        let evaluates = inside.training == Some(false)
            || (inside.bars.iter().filter(of(Purpose::Eval))).any(|bar| self.moved(bar, at));
        for bar in inside.bars.iter().filter(|bar| bar.around_hidden) {
            self.remember_outer(bar);
        }
        let mut counters: Vec<&BarSeen> = inside
            .bars
            .iter()
            .filter(|bar| !bar.around_hidden)
            .filter(|bar| matches!(purpose(bar), Purpose::Train | Purpose::Unknown))
            .filter(|bar| !self.is_outside_a_pass(bar, inside))
            .collect();
        if inside.training == Some(false) {
            // Nameless and over data, while the model is evaluated.
            counters.retain(|bar| !bar.over_loader || purpose(bar) == Purpose::Train);
        }
        let abandoned: Vec<Id> = counters
            .iter()
            .filter(|bar| self.is_abandoned(bar, &counters))
            .map(|bar| id(bar))
            .collect();
        counters.retain(|bar| !abandoned.contains(&id(bar)));
        let epochs = inside.bars.iter().find(of(Purpose::Epochs));
        if let Some(epochs) = epochs {
            // What goes round epochs counts no steps: folds, trials.
            for bar in counters.iter().filter(|bar| bar.started < epochs.started) {
                self.remember_outer(bar);
            }
            counters.retain(|bar| bar.started >= epochs.started);
        }
        counters.sort_by(|one, other| one.started.total_cmp(&other.started));
        // Three deep: only the innermost can be the one, also while it is not there for a moment.
        if let [outer @ .., middle, _] = &counters[..]
            && !outer.is_empty()
        {
            for bar in outer.iter().chain([middle]) {
                self.remember_outer(bar);
            }
        }
        self.watch_nested(&counters);
        let named: Vec<&BarSeen> = counters
            .iter()
            .copied()
            .filter(of(Purpose::Train))
            .collect();
        let mut around = epochs.map_or_else(Around::default, Around::bar);
        let in_epochs = epochs.is_some();
        let bar = match (&counters[..], &named[..]) {
            ([], _) if self.followed.is_some() => return Word::Unsure,
            ([], _) => return Word::Nothing,
            ([one], _) | (_, [one]) => *one,
            ([outer, inner], _) => match self.nested() {
                Relation::Rounds => {
                    if !in_epochs {
                        around = Around::bar(outer);
                    }
                    self.remember_outer(outer);
                    *inner
                }
                Relation::Apart if !self.moved(inner, at) => *outer,
                _ if inner.over_loader && inside.training == Some(true) => *inner,
                _ => return Word::Unsure,
            },
            _ => return Word::Unsure,
        };
        // An outer bar that is alone for a moment counts no steps.
        if self.outer.contains(&Kind::of(bar)) {
            return Word::Unsure;
        }
        if !self.counting.contains(&Kind::of(bar)) {
            return Word::Unsure;
        }
        let phase = if evaluates { Phase::Eval } else { Phase::Train };
        self.place(bar, (around, in_epochs), phase, inside, at)
    }

    /// Unless it was followed before: then it has something else inside for once, an evaluation.
    fn remember_outer(&mut self, bar: &BarSeen) {
        let kind = Kind::of(bar);
        let followed = self.followed.as_ref();
        if followed.is_some_and(|followed| followed.kind == kind) {
            return;
        }
        if self.outer.len() < KINDS && !self.outer.contains(&kind) {
            self.outer.push(kind);
        }
    }

    fn moved(&self, bar: &BarSeen, at: Micros) -> bool {
        let moved = self.tracks.get(&id(bar)).and_then(|track| track.moved_at);
        moved.is_some_and(|moved| at.since(moved) <= AT_WORK)
    }

    /// It never moved, while others did whose own loops are known, and it is around none of them.
    fn is_abandoned(&self, bar: &BarSeen, counters: &[&BarSeen]) -> bool {
        let moves = |bar: &BarSeen| self.tracks.get(&id(bar)).map_or(0, |track| track.moves);
        let elsewhere = |other: &BarSeen| {
            !matches!(other.inside, Enclosing::Unknown)
                && other.inside != Enclosing::Bar(bar.address)
        };
        let mut others = counters.iter().filter(|other| id(other) != id(bar));
        moves(bar) == 0 && others.any(|other| moves(other) >= MOVES_NEEDED && elsewhere(other))
    }

    /// A loop over data is inside it: it counts passes, not steps.
    fn is_outside_a_pass(&self, bar: &BarSeen, inside: &Inside) -> bool {
        let mut around = inside.passes.iter().map(|pass| pass.inside);
        around.any(|around| around == Enclosing::Bar(bar.address))
    }

    fn watch_nested(&mut self, counters: &[&BarSeen]) {
        let [outer, inner] = counters else { return };
        let nested = &mut self.nested;
        match nested.outer {
            Some((known, n)) if known == id(outer) => {
                let same = nested.inner == Some(id(inner));
                let full = inner.total.is_some_and(|total| inner.n >= total);
                match (same, outer.n.checked_sub(n)) {
                    (true, Some(0)) => {}
                    (false, Some(1)) => nested.together += 1,
                    // The inner one is over, and its successor has not come yet.
                    (true, Some(1)) if full => return,
                    _ => nested.against += 1,
                }
            }
            _ => *nested = Nested::default(),
        }
        nested.outer = Some((id(outer), outer.n));
        nested.inner = Some(id(inner));
    }

    fn nested(&self) -> Relation {
        match (self.nested.together, self.nested.against) {
            (1.., 0) => Relation::Rounds,
            (0, 1..) => Relation::Apart,
            _ => Relation::Unknown,
        }
    }

    /// The one that is followed, from its beginning if it is another one.
    fn follow(&mut self, bar: &BarSeen) -> &mut Followed {
        let kind = Kind::of(bar);
        let epoch = output::epoch_of(&bar.label);
        let goes_on = |followed: &Followed| {
            let same = followed.id == id(bar);
            // An epoch that is named and goes back is one of another training, and a bar that was the whole run,
            // or says where it goes on from, is never a round of something.
            let back = matches!((followed.epoch, epoch), (Some(was), Some(is)) if is < was);
            // At the same address it may have been reset, or be another one: see below.
            let elsewhere = followed.id.0 != bar.address;
            let own = followed.whole == Whole::Known && elsewhere || bar.initial > 0;
            followed.kind == kind && (same || !back && !own)
        };
        if !self.followed.as_ref().is_some_and(goes_on) {
            self.followed = None;
        }
        let followed = self.followed.get_or_insert_with(|| Followed {
            kind,
            rounds: Rounds::default(),
            id: id(bar),
            epoch,
            whole: Whole::No,
        });
        if followed.whole != Whole::No && followed.id != id(bar) {
            followed.rounds.lose();
        }
        (followed.id, followed.epoch) = (id(bar), epoch);
        followed
    }

    fn place(
        &mut self,
        bar: &BarSeen,
        (mut around, in_epochs): (Around, bool),
        phase: Phase,
        inside: &Inside,
        at: Micros,
    ) -> Word {
        let by_hand = self.tracks.get(&id(bar)).is_some_and(|track| track.by_hand);
        let followed = self.follow(bar);
        if around == Around::default() {
            around = Around::of(bar.inside);
        }
        let counted = Counted {
            id: id(bar),
            n: bar.n,
            total: bar.total,
            before: around.done,
        };
        let Some(step) = followed.rounds.see(counted, at) else {
            return Word::Unsure;
        };
        let length = bar.total.filter(|total| *total > 0);
        let of_loader = length.is_some_and(|length| inside.loader_lengths.contains(&length));
        let named = output::epoch_of(&bar.label).is_some() && !output::names_a_round(&bar.label);
        let in_rounds = around.done.is_some();
        let mut place = Place::new(LoopObject::Bar, step);
        place.claim = Claim {
            start: bar
                .initial
                .max(around.began.saturating_mul(length.unwrap_or(0))),
            start_within: if around.began > 0 {
                length.unwrap_or(0)
            } else {
                0
            },
            round: length.filter(|_| around.done.is_none() && bar.inside != Enclosing::Nothing),
            may_be_ahead: by_hand && bar.inside == Enclosing::Unknown && !in_rounds,
            single: !bar.over_loader && bar.inside != Enclosing::Unknown,
            ..place.claim
        };
        if bar.over_loader || named || of_loader || in_epochs {
            place.geometry.epoch_steps = length.map(|length| length as f64);
            let part = length.map(|length| step as f64 / length as f64);
            place.epoch = part.filter(|_| in_rounds);
        } else if !in_rounds && !followed.rounds.began_anew() {
            // Alone, or moved by hand from beginning to end: its total is that of the run.
            let whole =
                bar.inside == Enclosing::Nothing || by_hand && bar.inside == Enclosing::Unknown;
            place.total = bar.total.filter(|_| whole);
            followed.whole = match (place.total, bar.inside) {
                (None, _) => Whole::No,
                (Some(_), Enclosing::Nothing) => Whole::Known,
                (Some(_), _) => Whole::Taken,
            };
        }
        if let Some((rounds, length)) = around.all.zip(length).filter(|_| in_rounds) {
            place.total = Some(rounds.saturating_mul(length));
        }
        place.phase = Some(phase);
        Word::At(place)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Relation {
    Unknown,
    /// The inner bar runs once for every step of the outer one.
    Rounds,
    /// The outer one goes on by itself.
    Apart,
}

/// What the loop around a counter tells of its rounds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Around {
    /// Rounds done before this one, and how many there are in all.
    pub done: Option<u64>,
    pub all: Option<u64>,
    /// Rounds that were done before the program began: it was resumed.
    pub began: u64,
}

impl Around {
    /// A bar that goes round another.
    fn bar(bar: &BarSeen) -> Around {
        Around {
            done: Some(bar.n),
            all: bar.total,
            began: bar.initial,
        }
    }

    /// Epochs are counted from 0 or 1; a loop that begins later was resumed, and counts from 0.
    pub(super) fn of(enclosing: Enclosing) -> Around {
        let Enclosing::Range {
            value,
            end,
            start: Some(start),
        } = enclosing
        else {
            return Around::default();
        };
        let first = if start == 1 { 1 } else { 0 };
        let count = |to: i64| u64::try_from(to.saturating_sub(first)).ok();
        Around {
            done: count(value),
            all: count(end),
            began: count(start).unwrap_or(0),
        }
    }
}
