//! Reserved memory that is being touched: what two looks into a process say of where its growth ends.
//! Looks feed it; the judge gets it with the context of every line that this process carries.

use crate::look::{Look, Reserved};
use crate::point::Reserve;
use crate::process::ProcId;
use crate::series::Series;
use crate::units::{Bytes, show_bytes};

use super::Run;
use super::looks::Taken;
use super::track::BothAxes;

/// The two looks are compared over at least this share of what the process has grown between all of
/// them: what came before (optimizer state, caches of the first steps) is no part of what goes on.
const RECENT: f64 = 0.25;
/// And over at least this much: less is the noise of a loop.
const LEAST: f64 = 8e6;
/// A look counts if the process holds about as much now as it did then.
const ABOVE: f64 = 1.05;
/// A block that is gone was moved into a larger one if this share of it was touched: what doubles its
/// memory when it is full (a vector, a `BytesIO`) has no end at its size.
const MOVED: f64 = 0.4;
/// And if the larger one has this many times its size at most.
const MOST_LARGER: f64 = 4.0;
/// A block is full from this share on: its last page may stay untouched.
const FULL: f64 = 0.98;
/// Two blocks are of a kind within these times their size: stores that are made anew are made alike.
const ALIKE: std::ops::RangeInclusive<f64> = 0.5..=2.0;
/// A block that fills lifts the floor: by at least this share of what was touched in it between the two
/// looks. What is made and filled in every evaluation lifts nothing, though two looks may find it in one
/// place, once half full and once full.
const LIFTS: f64 = 0.5;
/// The floor at a look is the lowest level within this share of the time between the two: longer than a
/// spike, and short enough that a floor which rises all the time is seen to have risen.
const NEAR: f64 = 0.25;
/// A line is carried by one process when this share of its growth is that process's.
const CARRIED: f64 = 0.9;

/// The reserved pieces that a look lists.
struct Pieces<'a> {
    /// Seconds since the run began.
    at: f64,
    held: f64,
    reserved: &'a [Reserved],
}

impl Pieces<'_> {
    /// None of a look that did not see everything: it lists nothing, and says neither yes nor no.
    fn of(look: &Look) -> Option<Pieces<'_>> {
        let reserved = &look.layout.as_ref()?.reserved;
        let whole = !reserved.is_empty() || look.missing.is_empty();
        let held = look.held.filter(|_| whole)?.as_f64();
        let at = look.at.seconds();
        Some(Pieces { at, held, reserved })
    }
}

/// The newest look against the latest one that lies far enough back. `lines` is what the process held.
pub(super) fn touched(looks: &[Taken], lines: &BothAxes) -> Option<Reserve> {
    let now = lines.extremes.last;
    // What was there on top of a spike is gone.
    let counts = |pieces: &Pieces| pieces.held <= ABOVE * now + LEAST;
    let looks: Vec<Pieces> = looks
        .iter()
        .filter_map(|taken| Pieces::of(&taken.look))
        .filter(counts)
        .collect();
    let (first, last) = (looks.first()?, looks.last()?);
    let least = (RECENT * (last.held - first.held)).max(LEAST);
    let mut earlier = looks.iter().rev();
    let before = earlier.find(|look| last.held - look.held >= least)?;
    let grown = last.held - before.held;
    let growing: Vec<(&Reserved, f64)> = last
        .reserved
        .iter()
        .filter(|piece| !was_smaller(piece, &looks, last))
        .filter(|piece| is_full(piece) || !follows_another(piece, &looks, last))
        .filter_map(|piece| Some((piece, grew(piece, before)?)))
        .collect();
    let inside: f64 = growing.iter().map(|(_, grew)| grew).sum();
    if lifted(&lines.time, before.at, last.at)? < LIFTS * inside {
        return None;
    }
    let rest: f64 = growing
        .iter()
        .map(|(piece, _)| piece.size.as_f64() - piece.touched.as_f64())
        .sum();
    let largest = growing.iter().max_by(|a, b| a.1.total_cmp(&b.1))?.0;
    let touched: Bytes = growing.iter().map(|(piece, _)| piece.touched).sum();
    let size: Bytes = growing.iter().map(|(piece, _)| piece.size).sum();
    let what = match (&largest.name, growing.len()) {
        (Some(name), 1) => name.clone(),
        (None, 1) => "one block".to_owned(),
        (_, many) => format!("{many} blocks"),
    };
    Some(Reserve {
        end: last.held + rest.max(0.0),
        left: rest.max(0.0),
        share: (inside / grown).clamp(0.0, 1.0),
        why: format!(
            "{what} of {} reserved, {} of it touched so far",
            show_bytes(size.as_f64()),
            show_bytes(touched.as_f64())
        ),
    })
}

/// By how much the floor at the second moment lies above the floor at the first.
fn lifted(levels: &Series, first: f64, second: f64) -> Option<f64> {
    let near = NEAR * (second - first);
    let floor = |at: f64| levels.lowest(at - near, at + near);
    Some(floor(second)? - floor(first)?)
}

/// Whether an earlier look shows this piece in a smaller size, in its place or in one that is gone.
fn was_smaller(piece: &Reserved, looks: &[Pieces], last: &Pieces) -> bool {
    let became = |old: &Reserved| {
        let (size, larger) = (old.size.as_f64(), piece.size.as_f64());
        let grew = size < larger && larger <= MOST_LARGER * size;
        let gone = || !last.reserved.iter().any(|piece| piece.is(old));
        let filled = old.touched.as_f64() >= MOVED * size;
        let unnamed = piece.name.is_none() && old.name.is_none();
        grew && (piece.is(old) || unnamed && filled && gone())
    };
    looks.iter().any(|look| look.reserved.iter().any(became))
}

/// Whether a block like this one was filled before it: what goes on in the next block does not end with it.
fn follows_another(piece: &Reserved, looks: &[Pieces], last: &Pieces) -> bool {
    let alike = |other: &Reserved| {
        let times = other.size.as_f64() / piece.size.as_f64();
        other.name.is_none() && !piece.is(other) && ALIKE.contains(&times)
    };
    let filled_meanwhile = |other: &Reserved| {
        let then = looks[0].reserved.iter().find(|then| then.is(other));
        then.is_none_or(|then| !is_full(then))
    };
    let mut others = last.reserved.iter().filter(|other| alike(other));
    piece.name.is_none() && others.any(|other| is_full(other) && filled_meanwhile(other))
}

fn is_full(piece: &Reserved) -> bool {
    piece.touched.as_f64() >= FULL * piece.size.as_f64()
}

/// What was touched of a piece since an earlier look that has it too; none when it did not grow.
fn grew(piece: &Reserved, before: &Pieces) -> Option<f64> {
    let then = before.reserved.iter().find(|other| piece.is(other))?;
    let grew = piece.touched.as_f64() - then.touched.as_f64();
    (then.size == piece.size && grew > 0.0).then_some(grew)
}

impl Run {
    /// Where the growth of one process ends, as its looks say.
    pub(super) fn reserve_of(&self, id: ProcId) -> Option<Reserve> {
        touched(self.looks.of(id), &self.processes.get(&id)?.lines)
    }

    /// The same for a line that one process carries: the tree, or a role.
    pub(super) fn reserve_for(&self, lines: &BothAxes, on_steps: bool) -> Option<Reserve> {
        let carries = |id: &ProcId| {
            let track = self.processes.get(id)?;
            let own = track.lines.grew(on_steps);
            (own >= CARRIED * lines.grew(on_steps) && own > 0.0).then_some(track)
        };
        let (track, reserve) = self
            .looks
            .processes()
            .filter_map(|id| Some((carries(id)?, self.reserve_of(*id)?)))
            .max_by(|a, b| a.1.share.total_cmp(&b.1.share))?;
        Some(Reserve {
            end: reserve.end + lines.extremes.last - track.lines.extremes.last,
            ..reserve
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::look::{Examiner, Layout, LookWhy, Missing};
    use crate::run::steps::StepMoment;
    use crate::units::Micros;

    const MB: u64 = 1_000_000;

    /// The looks, ten seconds apart, of a process that holds at each what the look found.
    fn touched(looks: &[Taken]) -> Option<Reserve> {
        touched_with(looks, &[])
    }

    /// The same, of a process that held these megabytes beside that, each at its second.
    fn touched_with(looks: &[Taken], levels: &[(f64, u64)]) -> Option<Reserve> {
        let mut looks = looks.to_vec();
        let mut held: Vec<(f64, f64)> = levels
            .iter()
            .map(|(at, mb)| (*at, (mb * MB) as f64))
            .collect();
        for (nth, taken) in looks.iter_mut().enumerate() {
            taken.look.at = Micros::from_seconds(10.0 * nth as f64);
            held.push((10.0 * nth as f64, taken.look.held.unwrap().as_f64()));
        }
        held.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut lines = BothAxes::default();
        for (seconds, bytes) in held {
            let moment = StepMoment {
                seconds,
                step: None,
                phase: None,
            };
            lines.push(bytes, &moment);
        }
        super::touched(&looks, &lines)
    }

    fn look(held: u64, pieces: &[(u64, u64, u64)]) -> Taken {
        let id = ProcId { pid: 7, start: 1 };
        let mut look = Look::new(Micros(0), id, LookWhy::Due, Examiner::Mappings);
        look.held = Some(Bytes(held * MB));
        look.layout = Some(Layout {
            reserved: pieces
                .iter()
                .map(|(start, size, touched)| Reserved {
                    start: *start,
                    size: Bytes(size * MB),
                    touched: Bytes(touched * MB),
                    name: None,
                })
                .collect(),
            ..Layout::default()
        });
        Taken { look, step: None }
    }

    #[test]
    fn a_buffer_that_fills_ends_at_its_size() {
        let looks = [look(100, &[(1, 1000, 5)]), look(200, &[(1, 1000, 105)])];
        let found = touched(&looks).unwrap();
        assert_eq!((found.end, found.share), (1095e6, 1.0));
    }

    #[test]
    fn what_came_before_is_no_part_of_what_goes_on() {
        let looks = [
            look(100, &[(1, 1000, 0)]),
            look(300, &[(1, 1000, 10)]),
            look(380, &[(1, 1000, 90)]),
        ];
        assert_eq!(touched(&looks).unwrap().share, 1.0);
    }

    /// Every piece of anonymous shared memory is `/dev/zero`: by its name alone each would be the first.
    #[test]
    fn pieces_that_share_a_name_are_told_apart() {
        let named = |mut taken: Taken| {
            for piece in taken.look.layout.iter_mut().flat_map(|l| &mut l.reserved) {
                piece.name = Some("/dev/zero (deleted)".to_owned());
            }
            taken
        };
        let looks = [
            named(look(100, &[(1, 40, 4)])),
            named(look(130, &[(1, 40, 4), (2, 40, 30)])),
            named(look(155, &[(1, 40, 4), (2, 40, 30), (3, 40, 25)])),
        ];
        assert_eq!(touched(&looks), None);
    }

    #[test]
    fn growth_beside_it_takes_its_share() {
        let looks = [look(100, &[(1, 1000, 0)]), look(300, &[(1, 1000, 100)])];
        assert_eq!(touched(&looks).unwrap().share, 0.5);
    }

    #[test]
    fn what_doubles_when_it_is_full_ends_nowhere() {
        let moved = [
            look(100, &[(1, 64, 60)]),
            look(200, &[(2, 128, 70)]),
            look(240, &[(2, 128, 110)]),
        ];
        assert_eq!(touched(&moved), None);
        let in_place = [
            look(100, &[(1, 500, 100)]),
            look(200, &[(1, 1000, 200)]),
            look(300, &[(1, 1000, 300)]),
        ];
        assert_eq!(touched(&in_place), None);
    }

    #[test]
    fn one_block_after_the_other_ends_nowhere() {
        let looks = [
            look(50, &[(1, 40, 20)]),
            look(70, &[(1, 40, 40)]),
            look(90, &[(1, 40, 40), (2, 40, 20)]),
            look(105, &[(1, 40, 40), (2, 40, 35)]),
        ];
        assert!(touched(&looks[..2]).is_some());
        assert_eq!(touched(&looks), None);
        // Two halves of a buffer that fill together are one.
        let together = [
            look(50, &[(1, 40, 5), (2, 40, 5)]),
            look(80, &[(1, 40, 20), (2, 40, 20)]),
        ];
        assert_eq!(touched(&together).unwrap().end, 120e6);
    }

    #[test]
    fn what_stood_on_top_of_a_spike_is_gone() {
        let looks = [
            look(200, &[]),
            look(240, &[(1, 180, 40)]),
            look(330, &[(1, 180, 130)]),
        ];
        assert!(touched_with(&looks, &[(21.0, 330)]).is_some());
        assert_eq!(touched_with(&looks, &[(21.0, 210)]), None);
    }

    /// A block of every evaluation, in the same place each time: one look saw it half full, the next one full.
    #[test]
    fn what_comes_back_with_every_spike_lifts_no_floor() {
        let looks = [
            look(100, &[]),
            look(160, &[(1, 150, 60)]),
            look(255, &[(1, 150, 150)]),
        ];
        assert!(touched(&looks).is_some());
        let between = [(9.0, 101), (12.0, 102), (18.0, 105)];
        assert_eq!(touched_with(&looks, &between), None);
        // Activations that come and go beside a block that fills are no reason to doubt it.
        let swings = [(9.0, 120), (12.0, 130), (18.0, 205), (19.0, 215)];
        assert!(touched_with(&looks, &swings).is_some());
    }

    #[test]
    fn a_look_that_saw_only_part_of_it_changes_nothing() {
        let mut blind = look(250, &[]);
        blind.look.missing.push(Missing::Unlisted);
        let looks = [
            look(100, &[(1, 1000, 5)]),
            look(200, &[(1, 1000, 105)]),
            blind,
        ];
        assert_eq!(touched(&looks).unwrap().end, 1095e6);
    }

    #[test]
    fn a_piece_that_was_not_there_before_says_nothing() {
        let new = [look(100, &[]), look(200, &[(1, 1000, 100)])];
        assert_eq!(touched(&new), None);
        let resized = [look(100, &[(1, 500, 0)]), look(200, &[(1, 1000, 100)])];
        assert_eq!(touched(&resized), None);
    }
}
