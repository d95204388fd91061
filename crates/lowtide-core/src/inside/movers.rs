//! Which of several counters moves. A counter that stands still may belong to a loop that is over, to one that
//! evaluates, or to an object that was only loaded; one that goes on is counting now.

use std::collections::BTreeMap;

use crate::units::Micros;

/// Counters that both moved within this time go on side by side.
const SIDE_BY_SIDE: Micros = Micros(10_000_000);
/// Counters that are remembered.
const MOST: usize = 64;

#[derive(Clone, Copy, Debug)]
struct Track {
    n: u64,
    moved: u32,
    moved_at: Option<Micros>,
    seen_at: Micros,
}

/// Counters of one kind, by what names them.
#[derive(Debug, Default)]
pub(super) struct Movers {
    tracks: BTreeMap<(u64, u64), Track>,
    followed: Option<(u64, u64)>,
}

/// Whom to follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Choice {
    Nobody,
    /// Two go on side by side.
    Several,
    This((u64, u64)),
}

impl Movers {
    pub(super) fn see(
        &mut self,
        counters: impl Iterator<Item = ((u64, u64), u64)>,
        at: Micros,
    ) -> Choice {
        for (name, n) in counters {
            let room = self.tracks.len() < MOST;
            let track = match self.tracks.get_mut(&name) {
                Some(track) => track,
                None if room => self.tracks.entry(name).or_insert(Track {
                    n,
                    moved: 0,
                    moved_at: None,
                    seen_at: at,
                }),
                None => continue,
            };
            if n > track.n {
                track.moved += 1;
                track.moved_at = Some(at);
            } else if n < track.n {
                // Somebody else's number at the same address.
                (track.moved, track.moved_at) = (0, None);
            }
            (track.n, track.seen_at) = (n, at);
        }
        self.tracks.retain(|_, track| track.seen_at == at);
        self.choose(at)
    }

    fn choose(&mut self, at: Micros) -> Choice {
        let recent = |track: &Track| {
            let moved = track.moved_at;
            moved.is_some_and(|moved| at.since(moved) <= SIDE_BY_SIDE)
        };
        let mut moving = self.tracks.iter().filter(|(_, track)| recent(track));
        let (first, second) = (moving.next(), moving.next());
        match (first, second) {
            (Some(_), Some(_)) => {
                self.followed = None;
                Choice::Several
            }
            (Some((name, _)), None) => {
                self.followed = Some(*name);
                Choice::This(*name)
            }
            // It stands still: an evaluation, a long step.
            (None, _) => match self.followed.filter(|name| self.tracks.contains_key(name)) {
                Some(name) => Choice::This(name),
                None => {
                    self.followed = None;
                    Choice::Nobody
                }
            },
        }
    }
}
