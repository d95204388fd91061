//! Where a line changes its course: straight pieces, found by dynamic programming.

/// Pieces at most. A run has a start-up, a jump or two, and an end; more pieces describe noise.
const PIECES: usize = 5;
/// Points a piece has at least: two make any line, four can contradict it.
const SHORTEST: usize = 4;

/// Starts of the last piece, of the last two pieces, and so on, newest first, always ending with 0.
///
/// Each further piece costs four times ln n of `variance` (a level, a slope and a place, plus one for
/// the search over places), in the way of Schwarz's criterion.
pub fn last_breaks(xs: &[f64], ys: &[f64], variance: f64) -> Vec<usize> {
    let n = xs.len();
    if n < 2 * SHORTEST || variance.is_nan() || variance <= 0.0 {
        return vec![0];
    }
    let sums = Sums::new(xs, ys);
    let price = 4.0 * (n as f64).ln() * variance;
    let most = PIECES.min(n / SHORTEST);
    // best[k][j]: cost of the first j points in k+1 pieces; from[k][j]: where the last piece begins.
    let mut best = vec![vec![f64::INFINITY; n + 1]; most];
    let mut from = vec![vec![0usize; n + 1]; most];
    for (j, cost) in best[0].iter_mut().enumerate().skip(SHORTEST) {
        *cost = sums.left(0, j);
    }
    let mut left = vec![0.0; (n + 1) * (n + 1)];
    for i in SHORTEST..=n - SHORTEST {
        for j in i + SHORTEST..=n {
            left[j * (n + 1) + i] = sums.left(i, j);
        }
    }
    for k in 1..most {
        for j in (k + 1) * SHORTEST..=n {
            for i in k * SHORTEST..=j - SHORTEST {
                let before = best[k - 1][i];
                if before >= best[k][j] {
                    continue;
                }
                let cost = before + left[j * (n + 1) + i];
                if cost < best[k][j] {
                    best[k][j] = cost;
                    from[k][j] = i;
                }
            }
        }
    }
    let pieces = (0..most)
        .min_by(|a, b| {
            let total = |k: usize| best[k][n] + price * k as f64;
            total(*a).total_cmp(&total(*b))
        })
        .unwrap_or(0);
    let mut breaks = Vec::new();
    let mut end = n;
    for k in (0..=pieces).rev() {
        let start = if k == 0 { 0 } else { from[k][end] };
        breaks.push(start);
        end = start;
    }
    breaks
}

/// Running sums, so that the error of any piece costs a handful of operations.
struct Sums {
    rows: Vec<[f64; 5]>,
    /// 1/n: a division costs more than all the rest of a piece's error.
    inverse: Vec<f64>,
}

impl Sums {
    fn new(xs: &[f64], ys: &[f64]) -> Sums {
        // Centred and scaled, or the squares of large numbers would swallow the small differences.
        let (x0, y0) = (xs[0], ys[0]);
        let scale = (xs[xs.len() - 1] - x0).abs().max(f64::MIN_POSITIVE);
        let mut rows = Vec::with_capacity(xs.len() + 1);
        let mut sum = [0.0; 5];
        rows.push(sum);
        for (x, y) in xs.iter().zip(ys) {
            let (x, y) = ((x - x0) / scale, y - y0);
            for (total, term) in sum.iter_mut().zip([x, y, x * x, x * y, y * y]) {
                *total += term;
            }
            rows.push(sum);
        }
        let inverse = (0..rows.len()).map(|n| 1.0 / n as f64).collect();
        Sums { rows, inverse }
    }

    /// Squared error of the best line through points i..j.
    fn left(&self, i: usize, j: usize) -> f64 {
        let share = self.inverse[j - i];
        let part: [f64; 5] = std::array::from_fn(|k| self.rows[j][k] - self.rows[i][k]);
        let [x, y, xx, xy, yy] = part;
        let xx = xx - x * x * share;
        let xy = xy - x * y * share;
        let yy = yy - y * y * share;
        if xx > 0.0 {
            (yy - xy * xy / xx).max(0.0)
        } else {
            yy.max(0.0)
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
