//! The little statistics that the rules of today and the score itself need. Written apart from
//! core on purpose: a score that shared the judge's arithmetic would share its mistakes.

use lowtide_core::point::Point;

/// An ordinary least-squares line.
#[derive(Clone, Copy, Debug)]
pub struct Line {
    pub slope: f64,
    pub r2: f64,
    /// Slope over its standard error, as if the samples were independent.
    pub t: f64,
}

pub fn fit(points: &[Point]) -> Option<Line> {
    let mut sums = Sums::new(points)?;
    points.iter().for_each(|point| sums.add(point));
    sums.line()
}

/// Running sums for a line, so that windows may grow point by point.
pub struct Sums {
    origin: (f64, f64),
    n: f64,
    x: f64,
    y: f64,
    xx: f64,
    xy: f64,
    yy: f64,
}

impl Sums {
    /// The origin is put inside the data: sums of squares of large numbers lose their digits.
    pub fn new(points: &[Point]) -> Option<Sums> {
        let middle = points.get(points.len() / 2)?;
        Some(Sums {
            origin: (middle.x, middle.bytes),
            n: 0.0,
            x: 0.0,
            y: 0.0,
            xx: 0.0,
            xy: 0.0,
            yy: 0.0,
        })
    }

    pub fn add(&mut self, point: &Point) {
        let (x, y) = (point.x - self.origin.0, point.bytes - self.origin.1);
        self.n += 1.0;
        self.x += x;
        self.y += y;
        self.xx += x * x;
        self.xy += x * y;
        self.yy += y * y;
    }

    pub fn line(&self) -> Option<Line> {
        let n = self.n;
        let sxx = self.xx - self.x * self.x / n;
        let sxy = self.xy - self.x * self.y / n;
        let syy = self.yy - self.y * self.y / n;
        if n < 3.0 || sxx <= 0.0 {
            return None;
        }
        let slope = sxy / sxx;
        let left = (syy - slope * sxy).max(0.0);
        let r2 = if syy > 0.0 { 1.0 - left / syy } else { 0.0 };
        let error = (left / (n - 2.0) / sxx).sqrt();
        let t = if error > 0.0 {
            slope / error
        } else {
            slope.signum() * f64::INFINITY
        };
        Some(Line { slope, r2, t })
    }
}

/// The two-sided 5 % point of Student's t, to within a hundredth (Cornish-Fisher in 1/df).
pub fn t_limit(df: f64) -> f64 {
    let z = 1.959_964_f64;
    let (z3, z5, z7) = (z.powi(3), z.powi(5), z.powi(7));
    // The expansion is poor below five degrees of freedom: those come from the printed table.
    match df {
        d if d < 1.5 => 12.706,
        d if d < 2.5 => 4.303,
        d if d < 3.5 => 3.182,
        d if d < 4.5 => 2.776,
        d => {
            z + (z3 + z) / (4.0 * d)
                + (5.0 * z5 + 16.0 * z3 + 3.0 * z) / (96.0 * d.powi(2))
                + (3.0 * z7 + 19.0 * z5 + 17.0 * z3 - 15.0 * z) / (384.0 * d.powi(3))
        }
    }
}

pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

pub fn deviation(values: &[f64]) -> f64 {
    let centre = mean(values);
    (values.iter().map(|v| (v - centre).powi(2)).sum::<f64>() / values.len() as f64).sqrt()
}

/// The middle value; the mean of the two middle ones when there are two.
pub fn median(values: &[f64]) -> f64 {
    quantile(values, 0.5)
}

/// By linear interpolation between the sorted values; NaN for none.
pub fn quantile(values: &[f64], share: f64) -> f64 {
    let mut sorted: Vec<f64> = values.iter().copied().filter(|v| !v.is_nan()).collect();
    sorted.sort_by(f64::total_cmp);
    let Some(last) = sorted.len().checked_sub(1) else {
        return f64::NAN;
    };
    let at = share * last as f64;
    let low = sorted[at.floor() as usize];
    let high = sorted[at.ceil() as usize];
    low + (high - low) * at.fract()
}

/// Wilson's 95 % interval for a share.
pub fn wilson(hits: usize, of: usize) -> (f64, f64) {
    if of == 0 {
        return (0.0, 1.0);
    }
    let z2 = 1.959_964_f64.powi(2);
    let (n, p) = (of as f64, hits as f64 / of as f64);
    let centre = (p + z2 / (2.0 * n)) / (1.0 + z2 / n);
    let half = (z2 * (p * (1.0 - p) / n + z2 / (4.0 * n * n))).sqrt() / (1.0 + z2 / n);
    ((centre - half).max(0.0), (centre + half).min(1.0))
}

/// SplitMix64: small, and the same everywhere, so that a score can be repeated to the digit.
pub struct Random(pub u64);

impl Random {
    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, end: usize) -> usize {
        (self.bits() % end as u64) as usize
    }

    /// Between 0 and 1.
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_found_far_from_the_origin() {
        let points: Vec<Point> = (0..50)
            .map(|i| Point::new(1e9 + f64::from(i), 1e12 + 3.0 * f64::from(i)))
            .collect();
        let line = fit(&points).unwrap();
        assert!((line.slope - 3.0).abs() < 1e-6, "{line:?}");
        assert!(line.r2 > 0.999_999, "{line:?}");
    }

    #[test]
    fn t_follows_the_printed_table() {
        for (df, t) in [(1.0, 12.706), (5.0, 2.571), (10.0, 2.228), (30.0, 2.042)] {
            assert!((t_limit(df) - t).abs() < 0.011, "{df}: {}", t_limit(df));
        }
    }

    #[test]
    fn wilson_follows_a_known_case() {
        // 81 of 263, in Newcombe 1998: 0.2553 to 0.3662.
        let (low, high) = wilson(81, 263);
        assert!((low - 0.2553).abs() < 1e-4 && (high - 0.3662).abs() < 1e-4);
    }

    #[test]
    fn quantiles_interpolate() {
        assert_eq!(median(&[4.0, 1.0, 3.0, 2.0]), 2.5);
        assert_eq!(quantile(&[0.0, 10.0], 0.25), 2.5);
        assert!(median(&[]).is_nan());
    }
}
