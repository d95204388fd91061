//! The lines of a diff, the leak first. Groups that came with one another, held by the same, are one line: that of
//! the group that counts most.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use super::holders::{Changed, plain};
use super::tables::Piece;
use super::{Change, Growth, Pace, words};
use crate::look::By;

/// What an object counts where nobody knows its size: none of Python's is much smaller.
const OBJECT: i64 = 64;
/// A group that has this share of a line's bytes leads it; else the holder's own items do.
const MOST: f64 = 0.5;
/// A number that differs by less than this share from what a holder grew by is that of its items.
const LIKE_ITEMS: f64 = 0.1;
/// What is less than this share of all growth does not come first, whoever holds it.
const MATTERS: f64 = 0.01;

impl Piece {
    fn weight(&self) -> f64 {
        weight(&self.group)
    }
}

fn weight(group: &Change) -> f64 {
    let by_count = || group.count.unwrap_or(0).saturating_mul(OBJECT);
    group.bytes.unwrap_or_else(by_count).max(0) as f64
}

/// Groups that grew, joined with who holds them, and tables of containers.
pub(super) fn grown(
    mut pieces: Vec<Piece>,
    tables: Vec<(usize, Change)>,
    holders: Vec<Changed>,
    pace: Pace,
) -> Vec<Growth> {
    let only_held = only_held(&pieces, &tables, &holders);
    pieces.extend(
        only_held
            .into_iter()
            .map(|group| Piece::of(group, &holders)),
    );
    let mut lines = joined(pieces, &holders);
    with_tables(&mut lines, tables, &holders);
    lines.extend(alone(&lines, &holders));
    in_order(&mut lines, &holders);
    let any = !holders.is_empty();
    lines
        .into_iter()
        .map(|(lead, with)| told(lead, with, &holders, any, pace))
        .collect()
}

pub(super) fn shrunk(mut groups: Vec<Change>, pace: Pace) -> Vec<Growth> {
    groups.sort_by(|a, b| {
        let lost = |group: &Change| (group.bytes.unwrap_or(0), group.count.unwrap_or(0));
        lost(a).cmp(&lost(b)).then(a.name.cmp(&b.name))
    });
    groups
        .into_iter()
        .map(|group| {
            let rate = pace.rate(group.count, group.bytes);
            Growth {
                says: words::shrank(&group, rate),
                group,
                rate,
                holders: Vec::new(),
                held: 0.0,
                with: Vec::new(),
            }
        })
        .collect()
}

type Line = (Piece, Vec<Change>);

/// One line a holder, and one for every group that nobody holds.
fn joined(mut held: Vec<Piece>, all: &[Changed]) -> Vec<Line> {
    held.sort_by(|a, b| b.weight().total_cmp(&a.weight()));
    let mut lines: Vec<Vec<Piece>> = Vec::new();
    let mut of_holder: HashMap<usize, usize> = HashMap::new();
    for one in held {
        let nth = match one.holders.first() {
            Some(holder) => *of_holder.entry(*holder).or_insert(lines.len()),
            None => lines.len(),
        };
        match lines.get_mut(nth) {
            Some(line) => line.push(one),
            None => lines.push(vec![one]),
        }
    }
    lines.into_iter().map(|line| led(line, all)).collect()
}

/// The group that leads, and the others.
fn led(mut line: Vec<Piece>, all: &[Changed]) -> Line {
    let whole: f64 = line.iter().map(Piece::weight).sum();
    let mut lead = 0;
    if line[0].weight() < MOST * whole
        && let Some(holder) = line[0].holders.first()
    {
        let longer = all[*holder].longer() as f64;
        let are_items = |held: &Piece| {
            let count = held.group.count.unwrap_or(0) as f64;
            longer > 0.0 && (count - longer).abs() <= LIKE_ITEMS * longer
        };
        lead = line.iter().position(are_items).unwrap_or(0);
    }
    let lead = line.remove(lead);
    (lead, line.into_iter().map(|held| held.group).collect())
}

/// A table is told with what its container holds. Where no line is that of the container, it has one of its own that
/// tells how much more it keeps, which is with its table; or else the table has one.
fn with_tables(lines: &mut Vec<Line>, tables: Vec<(usize, Change)>, all: &[Changed]) {
    for (nth, table) in tables {
        let is_first = |line: &Line| line.0.holders.first() == Some(&nth);
        let place = lines.iter().position(is_first);
        let place = place.or_else(|| lines.iter().position(|line| line.0.holders.contains(&nth)));
        match place {
            Some(place) => {
                let with = &mut lines[place].1;
                // Of two that hold the same, both got longer.
                let is_same = |one: &&mut Change| one.count == Some(0) && one.name == table.name;
                match with.iter_mut().find(is_same) {
                    Some(one) => {
                        one.bytes = one.bytes.zip(table.bytes).map(|(a, b)| a.saturating_add(b));
                    }
                    None => with.push(table),
                }
                with.sort_by(|a, b| weight(b).total_cmp(&weight(a)));
            }
            None if all[nth].longer() > 0 => {}
            None => {
                let (holders, share) = (vec![nth], 1.0);
                let piece = Piece {
                    group: table,
                    holders,
                    share,
                };
                lines.push((piece, Vec::new()));
            }
        }
    }
}

/// What holders have more of, and no breakdown names.
fn only_held(pieces: &[Piece], tables: &[(usize, Change)], holders: &[Changed]) -> Vec<Change> {
    let groups = pieces.iter().map(|piece| &piece.group);
    let groups = groups.chain(tables.iter().map(|(_, table)| table));
    let mut known: HashSet<&str> = groups.map(|group| plain(&group.name)).collect();
    let mut found = Vec::new();
    for holder in holders.iter().filter(|holder| holder.grew()) {
        for held in &holder.now.of {
            let name = plain(&held.name);
            let (count, bytes) = holder.more.get(name).copied().unwrap_or_default();
            if (count > 0 || bytes > 0) && known.insert(name) {
                found.push(Change {
                    by: By::Holder,
                    name: held.name.clone(),
                    count: Some(count),
                    bytes: Some(bytes),
                });
            }
        }
    }
    found
}

/// Holders that grew, and of which no line tells.
fn alone(lines: &[Line], all: &[Changed]) -> Vec<Line> {
    let told: HashSet<usize> = lines
        .iter()
        .flat_map(|(lead, _)| lead.holders.iter().copied())
        .collect();
    all.iter()
        .enumerate()
        .filter(|(nth, holder)| holder.longer() > 0 && !told.contains(nth))
        .map(|(nth, holder)| {
            let group = Change {
                by: By::Holder,
                name: holder.now.name.clone(),
                count: i64::try_from(holder.longer()).ok(),
                bytes: i64::try_from(holder.keeps_more()).ok(),
            };
            let holders = vec![nth];
            let share = 1.0;
            (
                Piece {
                    group,
                    holders,
                    share,
                },
                Vec::new(),
            )
        })
        .collect()
}

/// Of what matters, first what is held by something that stores it, then what is held at all: what nobody holds is
/// mostly garbage that waits for the collector, and a batch that comes and goes is no leak.
fn in_order(lines: &mut [Line], all: &[Changed]) {
    let size = |(lead, with): &Line| lead.weight() + with.iter().map(weight).sum::<f64>();
    let whole: f64 = lines.iter().map(size).sum();
    let rank = |line: &Line| {
        let by = line.0.holders.first().map(|nth| &all[*nth]);
        let matters = size(line) >= MATTERS * whole;
        (
            matters,
            matters && by.is_some_and(Changed::stores),
            matters && by.is_some(),
        )
    };
    lines.sort_by(|a, b| {
        let by_rank = Reverse(rank(a)).cmp(&Reverse(rank(b)));
        let by_name = a.0.group.name.cmp(&b.0.group.name);
        by_rank.then(size(b).total_cmp(&size(a))).then(by_name)
    });
}

fn told(lead: Piece, with: Vec<Change>, all: &[Changed], any: bool, pace: Pace) -> Growth {
    let Piece {
        group,
        holders,
        share,
    } = lead;
    let holders: Vec<_> = holders.iter().map(|nth| all[*nth].told()).collect();
    let rate = pace.rate(group.count, group.bytes);
    Growth {
        says: words::grew(&group, rate, &holders, share, any),
        group,
        rate,
        holders,
        held: share,
        with,
    }
}
