//! Where a line changes its course: straight pieces, found by dynamic programming.

/// Pieces at most. A run has a start-up, a jump or two, and an end; more pieces describe noise.
const PIECES: usize = 5;
/// Points a piece has at least: two make any line, four can contradict it.
const SHORTEST: usize = 4;

/// What a further piece costs, in ln n of the variance: a level, a slope and a place, plus one for the search
/// over places, in the way of Schwarz's criterion.
const PRICE: f64 = 4.0;

/// Starts of the last piece, of the last two pieces, and so on, newest first, always ending with 0.
/// `variance` is that of the noise.
pub(crate) fn last_breaks(xs: &[f64], ys: &[f64], variance: f64) -> Vec<usize> {
    let n = xs.len();
    if n < 2 * SHORTEST || variance.is_nan() || variance <= 0.0 {
        return vec![0];
    }
    let sums = Sums::new(xs, ys);
    let price = PRICE * (n as f64).ln() * variance;
    let most = PIECES.min(n / SHORTEST);
    // Row j, column i: squared error of the best line through points i..j.
    let wide = n + 1;
    let mut left = vec![0.0; wide * wide];
    for j in SHORTEST..=n {
        let last = j - SHORTEST;
        sums.left(j, &mut left[j * wide..=j * wide + last]);
    }
    // best[k * wide + j]: cost of the first j points in k+1 pieces. Where the last of them begins is
    // looked up afterwards, and only on the way back: the search for the least is all that costs.
    let mut best = vec![f64::INFINITY; most * wide];
    for j in SHORTEST..=n {
        best[j] = left[j * wide];
    }
    for k in 1..most {
        let (done, rest) = best.split_at_mut(k * wide);
        let before = &done[(k - 1) * wide..];
        for j in (k + 1) * SHORTEST..=n {
            let starts = k * SHORTEST..j - SHORTEST + 1;
            let row = &left[j * wide..][starts.clone()];
            rest[j] = least_sum(&before[starts], row);
        }
    }
    let pieces = (0..most)
        .min_by(|a, b| {
            let total = |k: usize| best[k * wide + n] + price * k as f64;
            total(*a).total_cmp(&total(*b))
        })
        .unwrap_or(0);
    let mut breaks = Vec::with_capacity(pieces + 1);
    let mut end = n;
    for k in (1..=pieces).rev() {
        let cost = best[k * wide + end];
        let start = (k * SHORTEST..=end - SHORTEST)
            .find(|i| best[(k - 1) * wide + i] + left[end * wide + i] <= cost)
            .unwrap_or(k * SHORTEST);
        breaks.push(start);
        end = start;
    }
    breaks.push(0);
    breaks
}

/// The least of the sums of two slices of equal length, four at a time.
fn least_sum(a: &[f64], b: &[f64]) -> f64 {
    let less = |sum: f64, than: f64| if sum < than { sum } else { than };
    let mut lanes = [f64::INFINITY; 4];
    let (fours, others) = (a.chunks_exact(4), b.chunks_exact(4));
    let rest = fours.remainder().iter().zip(others.remainder());
    let rest = rest.fold(f64::INFINITY, |least, (a, b)| less(a + b, least));
    for (a, b) in fours.zip(others) {
        lanes = std::array::from_fn(|k| less(a[k] + b[k], lanes[k]));
    }
    lanes.into_iter().fold(rest, f64::min)
}

/// Running sums, so that the error of any piece costs a handful of operations. Each in its own column:
/// the errors of all pieces with the same end are worked out side by side.
struct Sums {
    x: Vec<f64>,
    y: Vec<f64>,
    xx: Vec<f64>,
    xy: Vec<f64>,
    yy: Vec<f64>,
    /// 1/n for n from the number of points down to 1: divisions cost more than all the rest.
    shares: Vec<f64>,
}

impl Sums {
    fn new(xs: &[f64], ys: &[f64]) -> Sums {
        // Centred and scaled, or the squares of large numbers would swallow the small differences.
        let (x0, y0) = (xs[0], ys[0]);
        let scale = (xs[xs.len() - 1] - x0).abs().max(f64::MIN_POSITIVE);
        let column = |term: fn(f64, f64) -> f64| {
            let mut total = 0.0;
            let mut column = Vec::with_capacity(xs.len() + 1);
            column.push(total);
            for (x, y) in xs.iter().zip(ys) {
                total += term((x - x0) / scale, y - y0);
                column.push(total);
            }
            column
        };
        Sums {
            x: column(|x, _| x),
            y: column(|_, y| y),
            xx: column(|x, _| x * x),
            xy: column(|x, y| x * y),
            yy: column(|_, y| y * y),
            shares: (1..=xs.len()).rev().map(|n| 1.0 / n as f64).collect(),
        }
    }

    /// Squared errors of the best lines through points i..j, for i from 0 on.
    fn left(&self, j: usize, errors: &mut [f64]) {
        let n = errors.len();
        let ends = [self.x[j], self.y[j], self.xx[j], self.xy[j], self.yy[j]];
        let (x, y) = (&self.x[..n], &self.y[..n]);
        let (xx, xy, yy) = (&self.xx[..n], &self.xy[..n], &self.yy[..n]);
        let shares = &self.shares[self.shares.len() - j..][..n];
        for i in 0..n {
            let share = shares[i];
            let (x, y) = (ends[0] - x[i], ends[1] - y[i]);
            let xx = ends[2] - xx[i] - x * x * share;
            let xy = ends[3] - xy[i] - x * y * share;
            let yy = ends[4] - yy[i] - y * y * share;
            let slant = xy * xy / if xx > 0.0 { xx } else { f64::INFINITY };
            let error = yy - slant;
            errors[i] = if error > 0.0 { error } else { 0.0 };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn breaks(shape: impl Fn(f64) -> f64) -> Vec<usize> {
        let xs: Vec<f64> = (0..60).map(f64::from).collect();
        // A fixed wobble instead of random noise.
        let ys: Vec<f64> = xs
            .iter()
            .map(|x| shape(*x) + ((x * 7.31).sin() + (x * 3.17).cos()) * 0.5)
            .collect();
        last_breaks(&xs, &ys, 0.25)
    }

    #[test]
    fn a_straight_line_has_no_break() {
        assert_eq!(breaks(|x| 2.0 * x), vec![0]);
    }

    #[test]
    fn a_hinge_and_a_jump_are_found() {
        let hinge = breaks(|x| x.min(30.0) * 5.0);
        assert!(
            hinge.len() == 2 && (28..=33).contains(&hinge[0]),
            "{hinge:?}"
        );
        let jump = breaks(|x| if x < 20.0 { 0.0 } else { 50.0 });
        assert_eq!(jump, vec![20, 0]);
    }

    #[test]
    fn few_points_are_one_piece() {
        assert_eq!(
            last_breaks(&[0.0, 1.0, 2.0], &[0.0, 9.0, 1.0], 1.0),
            vec![0]
        );
    }
}
