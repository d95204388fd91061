//! A straight line through points, and how sure its slope is when neighbours resemble each other.

use super::median;

/// However alike neighbours are, a line of more points than this is worth as many: below, Student's t
/// would say nothing at all.
const LEAST_WORTH: f64 = 6.0;

/// y = level + slope * (x - centre), with what it leaves unexplained.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Fit {
    pub centre: f64,
    pub level: f64,
    pub slope: f64,
    /// Standard deviation of what is left.
    pub spread: f64,
    /// Share of the variance that the line explains.
    pub explained: f64,
}

impl Fit {
    pub(crate) fn at(&self, x: f64) -> f64 {
        self.level + self.slope * (x - self.centre)
    }
}

/// Least squares. None for fewer than two different x.
pub(crate) fn fit(xs: &[f64], ys: &[f64]) -> Option<Fit> {
    let n = xs.len().min(ys.len());
    if n < 2 {
        return None;
    }
    let count = n as f64;
    let centre = xs.iter().sum::<f64>() / count;
    let level = ys.iter().sum::<f64>() / count;
    let (mut xx, mut xy, mut yy) = (0.0, 0.0, 0.0);
    for (x, y) in xs.iter().zip(ys) {
        let (dx, dy) = (x - centre, y - level);
        xx += dx * dx;
        xy += dx * dy;
        yy += dy * dy;
    }
    if xx.is_nan() || xx <= 0.0 {
        return None;
    }
    let slope = xy / xx;
    let left = (yy - slope * xy).max(0.0);
    Some(Fit {
        centre,
        level,
        slope,
        spread: (left / (count - 2.0).max(1.0)).sqrt(),
        explained: if yy > 0.0 { 1.0 - left / yy } else { 0.0 },
    })
}

/// The slope that half of all pairs exceed (Theil 1950, Sen 1968): a few wild points do not move it.
fn median_slope(xs: &[f64], ys: &[f64]) -> Option<f64> {
    let mut slopes = Vec::with_capacity(xs.len() * (xs.len().saturating_sub(1)) / 2);
    for i in 0..xs.len() {
        for j in i + 1..xs.len() {
            let dx = xs[j] - xs[i];
            if dx > 0.0 {
                slopes.push((ys[j] - ys[i]) / dx);
            }
        }
    }
    median(&mut slopes)
}

/// The median slope with a 95 % interval: `(value, low, high)`; see [`slope_error`].
pub(crate) fn slope_interval(xs: &[f64], ys: &[f64], least_spread: f64) -> Option<(f64, f64, f64)> {
    let slope = median_slope(xs, ys)?;
    let reach = reach(xs, ys, slope, least_spread)?;
    Some((slope, slope - reach, slope + reach))
}

/// A slope that was fitted by least squares, with its 95 % interval: `(value, low, high)`.
///
/// Neighbouring floor points resemble each other, so they count for less than they are: with a
/// correlation of r between neighbours, n of them are worth n(1-r)/(1+r). `least_spread` is what the
/// points may be off even if they lie on a line (rounding, noise that is known).
pub(crate) fn slope_error(
    xs: &[f64],
    ys: &[f64],
    slope: f64,
    least_spread: f64,
) -> Option<(f64, f64, f64)> {
    let reach = reach(xs, ys, slope, least_spread)?;
    Some((slope, slope - reach, slope + reach))
}

/// Half the width of the 95 % interval around a slope.
fn reach(xs: &[f64], ys: &[f64], slope: f64, least_spread: f64) -> Option<f64> {
    let count = xs.len() as f64;
    let centre = xs.iter().sum::<f64>() / count;
    let offset = |(x, y): (&f64, &f64)| y - slope * x;
    let base = median(&mut xs.iter().zip(ys).map(offset).collect::<Vec<f64>>())?;
    let (mut squares, mut products, mut last) = (0.0, 0.0, 0.0);
    for pair in xs.iter().zip(ys) {
        let residual = offset(pair) - base;
        squares += residual * residual;
        products += last * residual;
        last = residual;
    }
    let freedom = (count - 2.0).max(1.0);
    let spread = (squares / freedom).sqrt().max(least_spread);
    let worth = (count / inflation(count, products, squares)).max(LEAST_WORTH.min(count));
    let mean_square: f64 = xs.iter().map(|x| (x - centre).powi(2)).sum::<f64>() / count;
    let error = spread / (mean_square * worth).sqrt();
    Some(student_t(worth - 2.0) * error)
}

/// How many independent values these residuals are worth: neighbours that resemble each other count
/// for less than they are.
pub(crate) fn worth(residuals: &[f64]) -> f64 {
    let count = residuals.len() as f64;
    let squares: f64 = residuals.iter().map(|r| r * r).sum();
    let products: f64 = residuals.windows(2).map(|w| w[0] * w[1]).sum();
    (count / inflation(count, products, squares)).max(LEAST_WORTH.min(count))
}

/// Points that a parabola needs: with fewer, three of its own and noise make any bend.
const LEAST_BEND: usize = 6;

/// How much the slope changes from end to end, as a share of it, by a parabola; and half the width
/// of its 95 % interval.
pub(crate) fn bend(xs: &[f64], ys: &[f64], least_spread: f64) -> Option<(f64, f64)> {
    let line = fit(xs, ys)?;
    let count = xs.len() as f64;
    let half = (xs[xs.len() - 1] - xs[0]) / 2.0;
    if xs.len() < LEAST_BEND || half <= 0.0 || line.slope == 0.0 {
        return None;
    }
    // The square of x, made orthogonal to the line: what remains is pure curvature.
    let square: Vec<f64> = xs
        .iter()
        .map(|x| ((x - line.centre) / half).powi(2))
        .collect();
    let curve = fit(xs, &square)?;
    let curve: Vec<f64> = xs
        .iter()
        .zip(&square)
        .map(|(x, q)| q - curve.at(*x))
        .collect();
    let weight: f64 = curve.iter().map(|q| q * q).sum();
    if weight <= 0.0 {
        return None;
    }
    let points = || xs.iter().zip(ys).zip(&curve);
    let amount = points()
        .map(|((x, y), q)| q * (y - line.at(*x)))
        .sum::<f64>()
        / weight;
    let (mut squares, mut products, mut last) = (0.0, 0.0, 0.0);
    for ((x, y), q) in points() {
        let left = y - line.at(*x) - amount * q;
        squares += left * left;
        products += last * left;
        last = left;
    }
    let spread = (squares / (count - 3.0)).sqrt().max(least_spread);
    let inflated = inflation(count, products, squares).min((count / LEAST_WORTH).max(1.0));
    let error = spread * (inflated / weight).sqrt();
    // y gains amount * (x/half)²: the slope changes by 4 * amount / half from end to end.
    let scale = 4.0 / (half * line.slope);
    let worth = (count / inflated).max(LEAST_WORTH.min(count));
    Some((amount * scale, student_t(worth - 3.0) * error * scale.abs()))
}

/// Neighbours are taken to resemble each other by this much at most: beyond it a slope says nothing any more.
pub(crate) const MOST_ALIKE: f64 = 0.9;

/// By how much neighbours that resemble each other inflate the variance of a slope.
fn inflation(count: f64, products: f64, squares: f64) -> f64 {
    if squares <= 0.0 {
        return 1.0;
    }
    // What is left of a fitted line is a little anti-correlated: about 4/n for a slope and a level.
    let r = (products / squares + 4.0 / count).clamp(0.0, MOST_ALIKE);
    (1.0 + r) / (1.0 - r)
}

/// The 97.5 % point of Student's t for one degree of freedom, ...
const T_OF_ONE: f64 = 12.706;
/// ... which is taken below this many, where the expansion is off.
const LEAST_FREEDOM: f64 = 1.5;

/// The 97.5 % point of Student's t, by the expansion of Cornish and Fisher; exact enough (1 %) from
/// 2 degrees of freedom on. Below, the value for 1.
pub(crate) fn student_t(freedom: f64) -> f64 {
    if freedom.is_nan() || freedom < LEAST_FREEDOM {
        return T_OF_ONE;
    }
    const Z: f64 = 1.959_964;
    let (z3, z5, z7) = (Z.powi(3), Z.powi(5), Z.powi(7));
    let expansion = Z
        + (z3 + Z) / (4.0 * freedom)
        + (5.0 * z5 + 16.0 * z3 + 3.0 * Z) / (96.0 * freedom.powi(2))
        + (3.0 * z7 + 19.0 * z5 + 17.0 * z3 - 15.0 * Z) / (384.0 * freedom.powi(3));
    expansion.max(Z)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn xs(n: usize) -> Vec<f64> {
        (0..n).map(|i| i as f64).collect()
    }

    #[test]
    fn a_line_is_found_again() {
        let xs = xs(10);
        let ys: Vec<f64> = xs.iter().map(|x| 3.0 + 2.0 * x).collect();
        let line = fit(&xs, &ys).unwrap();
        assert!((line.slope - 2.0).abs() < 1e-12 && (line.at(20.0) - 43.0).abs() < 1e-9);
        assert!(line.explained > 0.999_999);
        assert_eq!(fit(&[1.0, 1.0], &[2.0, 3.0]), None);
    }

    #[test]
    fn one_wild_point_does_not_move_the_slope() {
        let xs = xs(15);
        let mut ys: Vec<f64> = xs.iter().map(|x| 2.0 * x).collect();
        ys[14] = -500.0;
        assert_eq!(slope_interval(&xs, &ys, 0.0).unwrap().0, 2.0);
    }

    /// Sampling ten times as often brings no tenfold knowledge when neighbours move together.
    #[test]
    fn neighbours_that_resemble_each_other_widen_the_interval() {
        let wave = |x: f64| (x / 8.0).sin();
        let quiet = xs(64);
        let together: Vec<f64> = quiet.iter().map(|x| wave(*x)).collect();
        let apart: Vec<f64> = quiet.iter().map(|x| wave(*x * 37.0)).collect();
        let width = |ys: &[f64]| {
            let (_, low, high) = slope_interval(&quiet, ys, 0.0).unwrap();
            high - low
        };
        assert!(width(&together) > 2.0 * width(&apart));
    }

    #[test]
    fn student_t_agrees_with_the_tables() {
        for (freedom, table) in [(2.0, 4.303), (5.0, 2.571), (10.0, 2.228), (60.0, 2.000)] {
            assert!(
                (student_t(freedom) - table).abs() < 0.05 * table,
                "{freedom}"
            );
        }
    }
}
