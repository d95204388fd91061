//! What became of the holders that are read on every tick. Bounded: of each a few dozen moments, and sums.

use std::collections::BTreeMap;

use super::thin::Thin;
use crate::followed::{Followed, FollowedHolder, HolderReading, Lengths};
use crate::process::ProcId;

/// Processes whose holders are remembered: as many as their looks.
const PROCESSES: usize = 16;
/// Holders of one process: the newest census follows some dozens, and those before it may have followed others.
const HOLDERS: usize = 128;
/// Moments of one holder, enough for a slope.
const MOMENTS: usize = 64;

/// How much was in a holder, and where the training loop was.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct LengthAt {
    pub seconds: f64,
    pub step: Option<f64>,
    pub length: u64,
}

/// One holder, from when it was first read.
#[derive(Clone, Debug)]
pub struct HolderTrack {
    pub holder: FollowedHolder,
    pub(crate) moments: Thin<LengthAt, MOMENTS>,
    /// Times that it had fewer items than the time before.
    pub falls: u64,
    /// Times that nothing was left of what it had the time before.
    pub renewals: u64,
    /// Times that it was not there, or could not be told.
    pub absences: u64,
    /// Slots that were filled at first and at last, where it had empty ones.
    pub filled: Option<[u64; 2]>,
    newest: u64,
}

impl HolderTrack {
    fn new(holder: FollowedHolder) -> HolderTrack {
        HolderTrack {
            holder,
            moments: Thin::default(),
            falls: 0,
            renewals: 0,
            absences: 0,
            filled: None,
            newest: 0,
        }
    }

    fn push(&mut self, reading: Option<&HolderReading>, seconds: f64, step: Option<f64>) {
        let Some(reading) = reading else {
            self.absences += 1;
            return;
        };
        self.falls += u64::from(reading.length < self.newest);
        self.renewals += u64::from(reading.renewed);
        self.newest = reading.length;
        if let Some(filled) = reading.filled {
            let first = self.filled.map_or(filled, |[first, _]| first);
            self.filled = Some([first, filled]);
        }
        self.moments.push(LengthAt {
            seconds,
            step,
            length: reading.length,
        });
    }
}

#[derive(Clone, Debug, Default)]
struct OfProcess {
    tracks: Vec<HolderTrack>,
    /// Which of them the readings of a list are of, in order; none for those beyond the bound.
    order: Vec<Option<usize>>,
    list: u64,
}

#[derive(Clone, Debug, Default)]
pub(super) struct FollowedHolders {
    by: BTreeMap<ProcId, OfProcess>,
}

impl FollowedHolders {
    pub(super) fn follow(&mut self, followed: &Followed) {
        if self.by.len() >= PROCESSES && !self.by.contains_key(&followed.id) {
            return;
        }
        let process = self.by.entry(followed.id).or_default();
        let mut order: Vec<Option<usize>> = Vec::new();
        for holder in &followed.holders {
            // By name: an address is used again. Which of two that have one name is which, nobody knows.
            let is_it = |one: &FollowedHolder| one.name == holder.name && one.kind == holder.kind;
            let is_alone = followed.holders.iter().filter(|one| is_it(one)).count() == 1;
            let mut tracks = process.tracks.iter().enumerate();
            let known = tracks.rfind(|(_, track)| is_alone && is_it(&track.holder));
            let place = match known.map(|(nth, _)| nth) {
                Some(nth) => {
                    process.tracks[nth].holder = holder.clone();
                    Some(nth)
                }
                None if process.tracks.len() < HOLDERS => {
                    process.tracks.push(HolderTrack::new(holder.clone()));
                    Some(process.tracks.len() - 1)
                }
                None => None,
            };
            order.push(place);
        }
        process.order = order;
        process.list = followed.list;
    }

    /// Readings without their names (a damaged recording) say nothing.
    pub(super) fn push(&mut self, lengths: &Lengths, step: Option<f64>) {
        let Some(process) = self.by.get_mut(&lengths.id) else {
            return;
        };
        let is_it = process.list == lengths.list;
        if !is_it || process.order.len() != lengths.readings.len() {
            return;
        }
        let seconds = lengths.at.seconds();
        for (place, reading) in process.order.iter().zip(&lengths.readings) {
            let track = place.and_then(|nth| process.tracks.get_mut(nth));
            if let Some(track) = track {
                track.push(reading.as_ref(), seconds, step);
            }
        }
    }

    pub(super) fn of(&self, id: ProcId) -> &[HolderTrack] {
        self.by.get(&id).map_or(&[], |process| &process.tracks)
    }

    /// Another counter is the axis now.
    pub(super) fn forget_steps(&mut self) {
        let tracks = self.by.values_mut().flat_map(|process| &mut process.tracks);
        tracks.for_each(|track| track.moments.each(|moment| moment.step = None));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Micros;

    const ID: ProcId = ProcId { pid: 7, start: 1 };

    fn holder(name: &str) -> FollowedHolder {
        FollowedHolder {
            name: name.to_owned(),
            kind: "list".to_owned(),
            each: None,
        }
    }

    fn followed(names: &[&str]) -> Followed {
        Followed {
            at: Micros(0),
            id: ID,
            list: names.len() as u64,
            holders: names.iter().map(|name| holder(name)).collect(),
        }
    }

    fn lengths(second: u64, lengths: &[Option<u64>]) -> Lengths {
        let reading = |length: u64| HolderReading {
            length,
            capacity: None,
            filled: None,
            renewed: length == 0,
        };
        Lengths {
            at: Micros(second * 1_000_000),
            id: ID,
            list: lengths.len() as u64,
            readings: lengths.iter().map(|one| one.map(reading)).collect(),
        }
    }

    #[test]
    fn a_holder_goes_on_under_its_name_after_the_next_census() {
        let mut all = FollowedHolders::default();
        all.push(&lengths(0, &[Some(1)]), None);
        assert!(all.of(ID).is_empty(), "of whom is not known");
        all.follow(&followed(&["a", "b"]));
        all.push(&lengths(1, &[Some(10), Some(7)]), Some(1.0));
        all.push(&lengths(2, &[Some(11), None]), Some(2.0));
        all.follow(&followed(&["b", "c", "a"]));
        all.push(&lengths(3, &[Some(5), Some(100), Some(12)]), Some(3.0));
        // Of another list than the one that was told: left out.
        all.push(&lengths(4, &[Some(99), Some(99)]), Some(4.0));
        let seen = |name: &str| {
            let track = all.of(ID).iter().find(|track| track.holder.name == name);
            let track = track.unwrap();
            let lengths: Vec<u64> = track.moments.iter().map(|one| one.length).collect();
            (lengths, track.falls, track.absences)
        };
        assert_eq!(seen("a"), (vec![10, 11, 12], 0, 0));
        assert_eq!(seen("b"), (vec![7, 5], 1, 1));
        assert_eq!(seen("c"), (vec![100], 0, 0));
    }

    #[test]
    fn what_fell_or_was_renewed_is_counted_and_two_of_one_name_stay_two() {
        let mut all = FollowedHolders::default();
        all.follow(&followed(&["a", "a"]));
        for second in 0..200 {
            let teeth = second % 10;
            all.push(&lengths(second, &[Some(second), Some(teeth)]), None);
        }
        let [rising, teeth] = all.of(ID) else {
            panic!("two")
        };
        assert_eq!((rising.falls, rising.renewals), (0, 1));
        assert_eq!((teeth.falls, teeth.renewals), (19, 20));
        assert!(rising.moments.iter().count() <= MOMENTS + 2);
        assert_eq!(rising.moments.count(), 200);
        // The next census may have them the other way round: neither goes on in the other.
        all.follow(&followed(&["a", "a"]));
        all.push(&lengths(200, &[Some(5), Some(201)]), None);
        assert_eq!(all.of(ID).len(), 4);
        assert_eq!(all.of(ID)[0].moments.count(), 200);
    }

    /// Damage may take a list, and leave the readings of it.
    #[test]
    fn readings_of_a_list_that_was_lost_are_left_out() {
        let mut all = FollowedHolders::default();
        all.follow(&followed(&["a", "b"]));
        let of_another = Lengths {
            list: 9,
            ..lengths(1, &[Some(10), Some(7)])
        };
        all.push(&of_another, None);
        assert!(all.of(ID).iter().all(|track| track.moments.count() == 0));
    }

    #[test]
    fn without_end_of_names_it_stays_small() {
        let mut all = FollowedHolders::default();
        for nth in 0..10_000 {
            let id = ProcId { pid: nth, start: 1 };
            let names = [format!("{nth}"), format!("{nth} too")];
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let one = Followed {
                id,
                ..followed(&names)
            };
            all.follow(&one);
            all.follow(&Followed { id: ID, ..one });
            all.push(&lengths(1, &[Some(1), Some(2)]), None);
        }
        assert!(all.by.len() <= PROCESSES);
        assert!(all.of(ID).len() <= HOLDERS);
    }
}
