//! A series as the rules see it: a bounded summary that a live watch and a replay build by the same
//! fold. Sources push points; `judge` and the charts read buckets.
//!
//! While a series is short every distinct x keeps its own bucket, so nothing is lost. When there are
//! more than `CAP` of them, neighbours share a bucket of equal width on the axis, and the width
//! doubles whenever the cap is reached again. Only buckets that hold something are kept, so a clock
//! that jumps by years costs one bucket and not the whole picture.

use crate::mark::Phase;
use crate::point::Point;
use crate::verdict::{Axis, Meter};

/// Buckets at most. 256 of them are 18 kB: 21 processes with five meters each stay under 2 MB, and
/// a run of any length still shows pieces of 0.4 to 0.8 % of its length.
pub(crate) const CAP: usize = 256;

/// What happened in one piece of the axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bucket {
    cell: i64,
    pub first: f64,
    pub last: f64,
    /// Low-water mark, and where it was.
    pub floor: f64,
    pub floor_at: f64,
    /// High-water mark.
    pub crest: f64,
    /// Low-water mark of the samples outside evaluation, saving and the ends of the run.
    pub train_floor: Option<f64>,
    /// Seconds since the start at the newest point, where known.
    pub seconds: Option<f64>,
    pub count: u64,
    /// Of its points, in whole bytes: the same in whatever order they came.
    pub(crate) sum: u64,
}

impl Bucket {
    fn new(cell: i64, point: &Point) -> Bucket {
        Bucket {
            cell,
            first: point.x,
            last: point.x,
            floor: point.bytes,
            floor_at: point.x,
            crest: point.bytes,
            train_floor: trains(point.phase).then_some(point.bytes),
            seconds: point.seconds.filter(|s| s.is_finite()),
            count: 1,
            sum: point.bytes as u64,
        }
    }

    /// Takes in a point that belongs here and is not before what came last: the usual case, by far.
    fn take(&mut self, point: &Point) {
        self.last = point.x;
        if point.bytes < self.floor {
            self.floor = point.bytes;
            self.floor_at = point.x;
        }
        self.crest = self.crest.max(point.bytes);
        if trains(point.phase) {
            let floor = self.train_floor.unwrap_or(point.bytes);
            self.train_floor = Some(floor.min(point.bytes));
        }
        if let Some(now) = point.seconds.filter(|s| s.is_finite()) {
            self.seconds = Some(self.seconds.unwrap_or(now).max(now));
        }
        self.count += 1;
        self.sum = self.sum.saturating_add(point.bytes as u64);
    }

    fn absorb(&mut self, other: &Bucket) {
        self.first = self.first.min(other.first);
        self.last = self.last.max(other.last);
        if other.floor < self.floor {
            self.floor = other.floor;
            self.floor_at = other.floor_at;
        }
        self.crest = self.crest.max(other.crest);
        self.train_floor = match (self.train_floor, other.train_floor) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        self.seconds = match (self.seconds, other.seconds) {
            (Some(a), Some(b)) => Some(a.max(b)),
            (a, b) => a.or(b),
        };
        self.count += other.count;
        self.sum = self.sum.saturating_add(other.sum);
    }
}

/// A process that holds nothing at all is gone, or was not there yet: no low-water mark.
fn is_a_whole_process(meter: Meter) -> bool {
    matches!(
        meter,
        Meter::Held | Meter::Anon | Meter::Rss | Meter::Pss | Meter::Uss | Meter::Memory
    )
}

fn trains(phase: Option<Phase>) -> bool {
    matches!(phase, None | Some(Phase::Train))
}

/// The whole number below. The cast saturates: an x beyond all reason shares the outermost cell.
/// (`f64::floor` is a call into a library on processors of 2003, which is what we are built for.)
fn floor(x: f64) -> i64 {
    let whole = x as i64;
    if whole as f64 > x {
        whole.saturating_sub(1)
    } else {
        whole
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    pub axis: Axis,
    pub meter: Meter,
    /// In order of x.
    buckets: Vec<Bucket>,
    /// Width of a bucket; 0 while every x has its own.
    width: f64,
    origin: f64,
    count: u64,
    skipped: u64,
    /// The most that was there, beside the points.
    stood: f64,
    /// The most that may have been there, between points too.
    highest: f64,
}

impl Series {
    pub fn new(axis: Axis, meter: Meter) -> Series {
        Series {
            axis,
            meter,
            buckets: Vec::new(),
            width: 0.0,
            origin: 0.0,
            count: 0,
            skipped: 0,
            stood: 0.0,
            highest: 0.0,
        }
    }

    pub fn from_points(axis: Axis, meter: Meter, points: &[Point]) -> Series {
        let mut series = Series::new(axis, meter);
        for point in points {
            series.push(*point);
        }
        series
    }

    /// Folds one point in. What is not a number, or no process, is counted and left out.
    pub fn push(&mut self, point: Point) {
        let nobody = point.bytes == 0.0 && is_a_whole_process(self.meter);
        if !point.x.is_finite() || !point.bytes.is_finite() || point.bytes < 0.0 || nobody {
            self.skipped += 1;
            return;
        }
        if self.buckets.is_empty() {
            self.origin = point.x;
        }
        self.count += 1;
        let cell = self.cell(point.x);
        if let Some(last) = self.buckets.last_mut()
            && point.x >= last.last
            && cell == last.cell
            && (self.width > 0.0 || point.x == last.last)
        {
            return last.take(&point);
        }
        let bucket = Bucket::new(cell, &point);
        match self.buckets.last_mut() {
            Some(last) if self.width == 0.0 && point.x > last.last => self.buckets.push(bucket),
            Some(last) if self.width > 0.0 && bucket.cell == last.cell => last.absorb(&bucket),
            Some(last) if self.width > 0.0 && bucket.cell > last.cell => self.buckets.push(bucket),
            None => self.buckets.push(bucket),
            Some(_) => self.place(bucket),
        }
        if self.buckets.len() > CAP {
            self.widen();
        }
    }

    /// It may have stood this high since the point before, though no point shows it.
    pub(crate) fn may_have_stood_at(&mut self, bytes: f64) {
        self.highest = self.highest.max(bytes);
    }

    /// It stood this high, at a moment that says nothing of its floor.
    pub(crate) fn stood_at(&mut self, bytes: f64) {
        self.stood = self.stood.max(bytes);
    }

    /// The highest that was seen.
    pub(crate) fn peak(&self) -> f64 {
        let crests = self.buckets.iter().map(|bucket| bucket.crest);
        crests.fold(self.stood, f64::max)
    }

    /// How far above that it may have stood.
    pub(crate) fn unseen(&self) -> f64 {
        (self.highest - self.peak()).max(0.0)
    }

    /// A point that is not the newest: several samples in one step, or a clock that was set back.
    fn place(&mut self, bucket: Bucket) {
        let exact = self.width == 0.0;
        let at = self.buckets.partition_point(|b| {
            if exact {
                b.last < bucket.first
            } else {
                b.cell < bucket.cell
            }
        });
        match self.buckets.get_mut(at) {
            Some(there) if exact && there.first == bucket.first => there.absorb(&bucket),
            Some(there) if !exact && there.cell == bucket.cell => there.absorb(&bucket),
            _ => self.buckets.insert(at, bucket),
        }
    }

    fn cell(&self, x: f64) -> i64 {
        if self.width > 0.0 {
            floor((x - self.origin) / self.width)
        } else {
            0
        }
    }

    fn widen(&mut self) {
        while self.buckets.len() > CAP * 3 / 4 {
            if self.width == 0.0 {
                self.width = 2.0 * self.usual_gap();
            } else {
                self.width *= 2.0;
            }
            let (origin, width) = (self.origin, self.width);
            let mut merged: Vec<Bucket> = Vec::with_capacity(CAP + 1);
            for bucket in &self.buckets {
                let mut bucket = *bucket;
                bucket.cell = floor((bucket.first - origin) / width);
                match merged.last_mut() {
                    Some(last) if last.cell == bucket.cell => last.absorb(&bucket),
                    _ => merged.push(bucket),
                }
            }
            self.buckets = merged;
        }
    }

    /// The median distance of neighbours: a pause or a jump of the clock does not move it.
    fn usual_gap(&self) -> f64 {
        let mut gaps: Vec<f64> = self
            .buckets
            .windows(2)
            .map(|pair| pair[1].first - pair[0].last)
            .filter(|gap| *gap > 0.0)
            .collect();
        let middle = gaps.len() / 2;
        let gap = *gaps.select_nth_unstable_by(middle, f64::total_cmp).1;
        // Far from zero, neighbouring numbers are further apart than a tiny gap: stay above that.
        gap.max(self.origin.abs() * 1e-12).max(f64::MIN_POSITIVE)
    }

    pub fn buckets(&self) -> &[Bucket] {
        &self.buckets
    }

    /// The low-water mark of a piece of the axis; where nothing was read there, of what was read next to it.
    pub(crate) fn lowest(&self, from: f64, to: f64) -> Option<f64> {
        let begin = self.buckets.partition_point(|bucket| bucket.last < from);
        let end = self.buckets.partition_point(|bucket| bucket.first <= to);
        if begin < end {
            let floors = self.buckets[begin..end].iter().map(|bucket| bucket.floor);
            return floors.reduce(f64::min);
        }
        // `begin` is the first one behind the piece.
        let before = begin.checked_sub(1).and_then(|nth| self.buckets.get(nth));
        let behind = self.buckets.get(begin);
        let nearest = match (before, behind) {
            (Some(before), Some(behind)) if from - before.last <= behind.first - to => before,
            (before, behind) => behind.or(before)?,
        };
        Some(nearest.floor)
    }

    /// Points folded in.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Points left out because they were no numbers, or nobody was there.
    pub fn skipped(&self) -> u64 {
        self.skipped
    }

    pub fn is_empty(&self) -> bool {
        self.buckets.is_empty()
    }

    /// Width of a bucket on the axis; none while every x has its own.
    pub fn width(&self) -> Option<f64> {
        (self.width > 0.0).then_some(self.width)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn fold(points: impl IntoIterator<Item = (f64, f64)>) -> Series {
        let mut series = Series::new(Axis::Time, Meter::Memory);
        for (x, y) in points {
            series.push(Point::new(x, y));
        }
        series
    }

    #[test]
    fn a_short_series_is_kept_exactly() {
        let series = fold((0..CAP).map(|i| (i as f64, (i * i + 1) as f64)));
        assert_eq!(series.buckets().len(), CAP);
        assert!(
            series
                .buckets()
                .iter()
                .enumerate()
                .all(|(i, b)| b.floor == (i * i + 1) as f64 && b.first == i as f64)
        );
    }

    #[test]
    fn ten_million_points_stay_in_a_few_kilobytes() {
        let series =
            fold((0..10_000_000u32).map(|i| (f64::from(i) * 0.1, f64::from(i % 1000 + 1))));
        assert!(series.buckets().len() <= CAP);
        assert!(series.buckets().len() > CAP / 4);
        assert!(std::mem::size_of_val(series.buckets()) < 32 * 1024);
        assert_eq!(series.count(), 10_000_000);
        assert!(series.buckets().iter().all(|b| b.floor == 1.0));
    }

    #[test]
    fn a_jump_of_the_clock_keeps_the_picture() {
        let before = (0..1000).map(|i| (f64::from(i), f64::from(i + 1)));
        let after = (0..1000).map(|i| (1e9 + f64::from(i), 2000.0));
        let series = fold(before.chain(after));
        let kept = series.buckets().iter().filter(|b| b.last < 1e6).count();
        assert!(kept > 50, "{kept} buckets are left of the time before");
    }

    #[test]
    fn several_samples_of_one_step_share_a_bucket() {
        let series = fold([(1.0, 5.0), (1.0, 3.0), (2.0, 7.0), (1.0, 9.0)]);
        let first = series.buckets()[0];
        assert_eq!((first.floor, first.crest, first.count), (3.0, 9.0, 3));
        assert_eq!(series.buckets().len(), 2);
    }

    #[test]
    fn evaluation_does_not_touch_the_training_floor() {
        let mut series = Series::new(Axis::Step, Meter::Held);
        for (bytes, phase) in [
            (10.0, Phase::Train),
            (4.0, Phase::Eval),
            (12.0, Phase::Train),
        ] {
            series.push(Point {
                phase: Some(phase),
                ..Point::new(1.0, bytes)
            });
        }
        assert_eq!(series.buckets()[0].train_floor, Some(10.0));
        assert_eq!(series.buckets()[0].floor, 4.0);
    }

    #[test]
    fn what_is_no_number_is_counted_and_left_out() {
        let series = fold([
            (0.0, f64::NAN),
            (f64::INFINITY, 1.0),
            (1.0, -4.0),
            (2.0, 2.0),
        ]);
        assert_eq!((series.count(), series.skipped()), (1, 3));
    }

    proptest! {
        #[test]
        fn any_numbers_in_any_order_fold_into_an_ordered_summary(
            points in prop::collection::vec((any::<f64>(), any::<f64>()), 0..900)
        ) {
            let series = fold(points.iter().copied());
            prop_assert!(series.buckets().len() <= CAP);
            prop_assert!(series.buckets().windows(2).all(|w| w[0].last <= w[1].first));
            let sum: u64 = series.buckets().iter().map(|b| b.count).sum();
            prop_assert_eq!(sum, series.count());
            prop_assert_eq!(series.count() + series.skipped(), points.len() as u64);
        }

        #[test]
        fn the_lowest_and_highest_points_survive(
            values in prop::collection::vec(1.0..1e12f64, 1..3000)
        ) {
            let series = fold(values.iter().enumerate().map(|(i, y)| (i as f64, *y)));
            let low = series.buckets().iter().map(|b| b.floor).fold(f64::INFINITY, f64::min);
            let high = series.buckets().iter().map(|b| b.crest).fold(0.0, f64::max);
            prop_assert_eq!(low, values.iter().copied().fold(f64::INFINITY, f64::min));
            prop_assert_eq!(high, values.iter().copied().fold(0.0, f64::max));
        }
    }

    #[test]
    fn the_lowest_of_a_piece_is_within_it_or_next_to_it() {
        let series = fold([(0.0, 5.0), (10.0, 3.0), (11.0, 4.0), (20.0, 9.0)]);
        assert_eq!(series.lowest(9.0, 11.0), Some(3.0));
        assert_eq!(series.lowest(10.5, 25.0), Some(4.0));
        assert_eq!(
            series.lowest(12.0, 14.0),
            Some(4.0),
            "what came before is nearer"
        );
        assert_eq!(series.lowest(17.0, 19.0), Some(9.0));
        assert_eq!(series.lowest(30.0, 31.0), Some(9.0));
        assert_eq!(series.lowest(-9.0, -1.0), Some(5.0));
        assert_eq!(fold([]).lowest(0.0, 1.0), None);
    }
}
