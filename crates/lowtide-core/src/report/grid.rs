//! A bounded picture of a quantity along an axis: columns that keep the extremes of what they merged,
//! so that a spike of one sample is still there after a week.
//!
//! Columns lie on a grid whose width is a power of two of the axis's unit and starts at zero. Grids of
//! equal room therefore share their columns, whatever each of them has seen.

/// What can be merged with its neighbour.
pub trait Column: Clone {
    /// Where it begins.
    fn x(&self) -> f64;
    /// Takes in a neighbour; where it begins stays the smaller of the two.
    fn absorb(&mut self, other: &Self);
}

/// Lowest and highest value of a piece of the axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range {
    pub x: f64,
    pub low: u64,
    pub high: u64,
}

impl Column for Range {
    fn x(&self) -> f64 {
        self.x
    }

    fn absorb(&mut self, other: &Range) {
        self.x = self.x.min(other.x);
        self.low = self.low.min(other.low);
        self.high = self.high.max(other.high);
    }
}

/// Who held how much at the moment when the piece was highest: the parts belong to one moment, so
/// their sum was real.
#[derive(Clone, Debug, PartialEq)]
pub struct Shares {
    pub x: f64,
    pub total: u64,
    pub parts: Vec<u64>,
}

impl Column for Shares {
    fn x(&self) -> f64 {
        self.x
    }

    fn absorb(&mut self, other: &Shares) {
        self.x = self.x.min(other.x);
        if other.total > self.total {
            self.total = other.total;
            self.parts.clone_from(&other.parts);
        }
    }
}

#[derive(Clone, Debug)]
pub struct Grid<C> {
    columns: Vec<C>,
    /// 0 while every x has a column of its own.
    width: f64,
    /// Where the cell of the last column ends; before everything while that is not known.
    until: f64,
    room: usize,
}

impl<C: Column> Grid<C> {
    /// Never holds more than `room` columns.
    pub fn new(room: usize) -> Grid<C> {
        Grid {
            columns: Vec::new(),
            width: 0.0,
            until: f64::NEG_INFINITY,
            room: room.max(2),
        }
    }

    #[inline]
    pub fn push(&mut self, column: C) {
        let x = column.x();
        // Nearly all come here. The edges of cells are exact, as their width is a power of two.
        if x < self.until
            && let Some(last) = self.columns.last_mut()
            && x >= last.x()
        {
            return last.absorb(&column);
        }
        self.push_elsewhere(column);
    }

    fn push_elsewhere(&mut self, column: C) {
        if !column.x().is_finite() {
            return;
        }
        let cell = self.cell(column.x());
        match self.columns.last_mut() {
            Some(last) if cell_of(last.x(), self.width) == cell => last.absorb(&column),
            Some(last) if column.x() < last.x() => self.place(column),
            _ => self.columns.push(column),
        }
        if self.columns.len() > self.room {
            self.widen();
        }
        self.find_end();
    }

    fn find_end(&mut self) {
        self.until = match self.columns.last() {
            Some(last) if self.width > 0.0 => (self.cell(last.x()) + 1.0) * self.width,
            _ => f64::NEG_INFINITY,
        };
    }

    /// A point that is not the newest: logs are not always in order.
    fn place(&mut self, column: C) {
        let cell = self.cell(column.x());
        let width = self.width;
        let at = self
            .columns
            .partition_point(|there| cell_of(there.x(), width) < cell);
        match self.columns.get_mut(at) {
            Some(there) if cell_of(there.x(), width) == cell => there.absorb(&column),
            _ => self.columns.insert(at, column),
        }
    }

    fn cell(&self, x: f64) -> f64 {
        cell_of(x, self.width)
    }

    fn widen(&mut self) {
        // Half full after widening: it happens once in a doubling of the run.
        let most = self.room / 2 + 1;
        if self.width == 0.0 {
            let span = self.columns[self.columns.len() - 1].x() - self.columns[0].x();
            self.width = power_of_two(span / self.room as f64);
        }
        while self.columns.len() > most {
            self.columns = merge(&self.columns, self.width);
            if self.columns.len() > most {
                self.width *= 2.0;
            }
        }
    }

    /// Less or more room from now on: the process that is watched gets more than others.
    pub(crate) fn set_room(&mut self, room: usize) {
        self.room = room.max(2);
        if self.columns.len() > self.room {
            self.widen();
        }
        self.find_end();
    }

    pub fn columns(&self) -> &[C] {
        &self.columns
    }

    pub fn is_empty(&self) -> bool {
        self.columns.is_empty()
    }

    /// At most about `most` columns of a part of the axis, and one on either side of it so that a
    /// line can be drawn to the edge.
    pub fn view(&self, from: f64, to: f64, most: usize) -> Vec<C> {
        let start = self.columns.partition_point(|c| c.x() < from);
        let end = self.columns.partition_point(|c| c.x() <= to);
        let part =
            &self.columns[start.min(end).saturating_sub(1)..(end + 1).min(self.columns.len())];
        let Some((first, last)) = part.first().zip(part.last()) else {
            return Vec::new();
        };
        let most = most.max(2);
        let mut width = power_of_two((last.x() - first.x()) / most as f64).max(self.width);
        let mut merged = part.to_vec();
        while merged.len() > most {
            merged = merge(part, width);
            width *= 2.0;
        }
        merged
    }
}

fn cell_of(x: f64, width: f64) -> f64 {
    if width > 0.0 { (x / width).floor() } else { x }
}

fn merge<C: Column>(columns: &[C], width: f64) -> Vec<C> {
    let mut merged: Vec<C> = Vec::with_capacity(columns.len() / 2 + 1);
    for column in columns {
        match merged.last_mut() {
            Some(last) if cell_of(last.x(), width) == cell_of(column.x(), width) => {
                last.absorb(column)
            }
            _ => merged.push(column.clone()),
        }
    }
    merged
}

/// The next power of two that is not smaller; of nothing, the smallest that divides well.
fn power_of_two(value: f64) -> f64 {
    if value > 0.0 && value.is_finite() {
        value.log2().ceil().exp2()
    } else {
        f64::EPSILON
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn grid(room: usize, values: impl IntoIterator<Item = (f64, u64)>) -> Grid<Range> {
        let mut grid = Grid::new(room);
        for (x, value) in values {
            grid.push(Range {
                x,
                low: value,
                high: value,
            });
        }
        grid
    }

    #[test]
    fn few_points_are_kept_as_they_are() {
        let grid = grid(10, [(10.0, 5), (20.0, 6), (30.0, 4)]);
        let xs: Vec<f64> = grid.columns().iter().map(|c| c.x).collect();
        assert_eq!(xs, [10.0, 20.0, 30.0]);
    }

    #[test]
    fn one_sample_of_a_day_is_still_seen() {
        let day = (0..86_400).map(|i| (f64::from(i), if i == 51_234 { 9 } else { 2 }));
        let grid = grid(1000, day);
        assert!(grid.columns().len() <= 1000 && grid.columns().len() > 400);
        let spike = grid.columns().iter().find(|c| c.high == 9).unwrap();
        assert!((spike.x - 51_234.0).abs() < 256.0);
        for (from, to) in [(0.0, 86_400.0), (50_000.0, 52_000.0)] {
            let seen = grid.view(from, to, 100);
            assert!(seen.len() <= 100 && seen.iter().any(|c| c.high == 9));
        }
    }

    #[test]
    fn grids_of_equal_room_share_their_columns() {
        let all = grid(64, (0..10_000).map(|i| (f64::from(i), 1)));
        let late = grid(64, (5_000..10_000).map(|i| (f64::from(i), 1)));
        assert_eq!(all.width / late.width, 2.0);
        let starts: Vec<f64> = late.columns().iter().map(|c| c.x).collect();
        assert!(
            all.columns()
                .iter()
                .filter(|c| c.x >= 5_120.0)
                .all(|c| starts.contains(&c.x))
        );
    }

    #[test]
    fn the_parts_of_a_stack_belong_to_its_highest_moment() {
        let mut stack = Grid::new(2);
        for (x, total, parts) in [(0.0, 5, [3, 2]), (1.0, 9, [1, 8]), (2.0, 4, [4, 0])] {
            stack.push(Shares {
                x,
                total,
                parts: parts.to_vec(),
            });
        }
        let highest = stack.columns().iter().max_by_key(|c| c.total).unwrap();
        assert_eq!((highest.total, &highest.parts[..]), (9, &[1, 8][..]));
    }

    proptest! {
        #[test]
        fn extremes_survive_in_any_order(
            points in prop::collection::vec((-1e9..1e9f64, 1u64..1_000_000), 1..2000),
            room in 2usize..300,
        ) {
            let grid = grid(room, points.iter().copied());
            prop_assert!(grid.columns().len() <= room);
            prop_assert!(grid.columns().windows(2).all(|w| w[0].x < w[1].x));
            let all = |columns: &[Range]| {
                let low = columns.iter().map(|c| c.low).min();
                (low, columns.iter().map(|c| c.high).max())
            };
            let truth = (points.iter().map(|p| p.1).min(), points.iter().map(|p| p.1).max());
            prop_assert_eq!(all(grid.columns()), truth);
            prop_assert_eq!(all(&grid.view(-1e9, 1e9, 7)), truth);
        }
    }
}
