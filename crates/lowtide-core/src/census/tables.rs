//! A container that gets longer makes its type larger by no object: its table counts for the type. That is taken apart
//! from objects that came, so that it is told with the container, and is never added to what somebody else holds.

use super::groups::direction;
use super::holders::{Changed, holding, holding_among};
use super::{Change, words};
use crate::look::By;

/// Holders that have this share of what came have all of it.
const ALL: f64 = 0.95;
/// What is left over of a type is told apart from this share of its growth on: a process that runs on while it is read
/// blurs the rest.
const LEFT_OVER: f64 = 0.1;

/// What grew, taken apart.
pub(super) struct Apart {
    pub grew: Vec<Piece>,
    /// Containers by their place among the holders, and what their own tables grew by.
    pub tables: Vec<(usize, Change)>,
    /// Types that grew by less than the tables alone: of those others became less.
    pub shrank: Vec<Change>,
}

/// A group, or a part of it.
pub(super) struct Piece {
    pub group: Change,
    /// Places of who holds it, the most of it first.
    pub holders: Vec<usize>,
    /// How much of it they hold, 0 to 1.
    pub share: f64,
}

impl Piece {
    pub(super) fn of(group: Change, all: &[Changed]) -> Piece {
        let (holders, share) = holding(&group, all);
        Piece {
            group,
            holders,
            share,
        }
    }
}

pub(super) fn apart(groups: Vec<Change>, all: &[Changed]) -> Apart {
    let mut apart = Apart {
        grew: Vec::new(),
        tables: Vec::new(),
        shrank: Vec::new(),
    };
    for mut group in groups {
        let Some(bytes) = group.bytes.filter(|_| group.by == By::PythonType) else {
            apart.grew.push(Piece::of(group, all));
            continue;
        };
        let of_tables = take_tables(&group, all, &mut apart.tables);
        group.bytes = Some(bytes.saturating_sub(of_tables));
        match direction(&group) {
            1.. => apart.grew.extend(pieces(group, all)),
            0 => {}
            // Of a type that is not named in both nobody knows that others became less.
            _ if group.count.is_some() => apart.shrank.push(group),
            _ => {}
        }
    }
    apart
}

/// The tables of all holders of that type; returns their bytes.
fn take_tables(group: &Change, all: &[Changed], tables: &mut Vec<(usize, Change)>) -> i64 {
    let mut whole: i64 = 0;
    let of_type = all.iter().enumerate();
    for (nth, holder) in of_type.filter(|(_, holder)| holder.now.kind == group.name) {
        let bytes = i64::try_from(holder.table()).unwrap_or(i64::MAX);
        if bytes > 0 {
            whole = whole.saturating_add(bytes);
            let (count, bytes) = (Some(0), Some(bytes));
            let change = Change {
                count,
                bytes,
                ..group.clone()
            };
            tables.push((nth, change));
        }
    }
    whole
}

/// Objects that came have the bytes that such objects have where they are held. What the type grew by beside that is
/// in others of it, which were there before.
fn pieces(group: Change, all: &[Changed]) -> Vec<Piece> {
    let left_over = || {
        let known = group.count.zip(group.bytes);
        let (count, bytes) =
            known.filter(|(count, _)| *count > 0 && words::may_get_longer(&group.name))?;
        let by_count = Change {
            bytes: None,
            ..group.clone()
        };
        let (holders, share) = holding(&by_count, all);
        let held = holders.iter().map(|nth| all[*nth].more_of(&group));
        let held = held.fold((0, 0), |sum: (i64, i64), more| {
            (sum.0.saturating_add(more.0), sum.1.saturating_add(more.1))
        });
        let theirs = (count as f64 * held.1 as f64 / held.0.max(1) as f64) as i64;
        let others = bytes.saturating_sub(theirs);
        // Where they have more than came, others have fewer, and nobody knows what those had.
        let is_known = share >= ALL && held.0 as f64 <= count as f64 / ALL && theirs > 0;
        let matters = others as f64 >= LEFT_OVER * bytes as f64;
        (is_known && matters).then_some((holders, share, theirs, others))
    };
    let Some((holders, share, theirs, others)) = left_over() else {
        return vec![Piece::of(group, all)];
    };
    let others = Change {
        count: Some(0),
        bytes: Some(others),
        ..group.clone()
    };
    // Those that have new ones have told of their bytes.
    let (by, part) = holding_among(&others, all, |holder| holder.more_of(&others).0 <= 0);
    let came = Change {
        bytes: Some(theirs),
        ..group
    };
    let piece = |group, holders, share| Piece {
        group,
        holders,
        share,
    };
    vec![piece(came, holders, share), piece(others, by, part)]
}
