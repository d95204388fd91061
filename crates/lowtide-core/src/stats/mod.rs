//! Small, pure statistics that the rules stand on: medians, lines and how sure a slope is. They take
//! slices and know nothing of memory.

mod line;
mod segment;

pub(crate) use line::{Fit, fit, worth};
pub(crate) use line::{MOST_ALIKE, bend, slope_error, slope_interval, student_t};
pub(crate) use segment::last_breaks;

/// The middle value; of an even number of values the upper middle one. Reorders its input.
pub(crate) fn median(values: &mut [f64]) -> Option<f64> {
    if values.is_empty() {
        return None;
    }
    let middle = values.len() / 2;
    Some(*values.select_nth_unstable_by(middle, f64::total_cmp).1)
}

/// The value below which `share` of the others lie. Reorders its input.
pub(crate) fn quantile(values: &mut [f64], share: f64) -> Option<f64> {
    if values.is_empty() {
        return None;
    }
    let at = ((values.len() - 1) as f64 * share.clamp(0.0, 1.0)).round() as usize;
    Some(*values.select_nth_unstable_by(at, f64::total_cmp).1)
}

/// Noise of a line that may rise, bend or climb stairs: the median second difference, scaled so that
/// it is the standard deviation when the noise is normal (1.4826 for the median, sqrt 6 for a second
/// difference of independent values).
pub(crate) fn noise(values: &[f64]) -> f64 {
    let mut seconds: Vec<f64> = values
        .windows(3)
        .map(|w| (w[0] - 2.0 * w[1] + w[2]).abs())
        .collect();
    median(&mut seconds).unwrap_or(0.0) * 1.4826 / 6f64.sqrt()
}

/// How many rises of equal size would be as concentrated as these: a straight line of n points has
/// about n, one big jump has 1.
pub(crate) fn effective_rises(values: &[f64]) -> f64 {
    let (sum, squares) = values
        .windows(2)
        .map(|w| (w[1] - w[0]).max(0.0))
        .fold((0.0, 0.0), |(sum, squares), rise| {
            (sum + rise, squares + rise * rise)
        });
    if squares > 0.0 {
        sum * sum / squares
    } else {
        0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_no_noise_and_many_rises() {
        let line: Vec<f64> = (0..20).map(|i| f64::from(i) * 3.0).collect();
        assert_eq!(noise(&line), 0.0);
        assert!((effective_rises(&line) - 19.0).abs() < 1e-9);
    }

    #[test]
    fn one_jump_is_one_rise() {
        let jump: Vec<f64> = (0..20).map(|i| if i < 10 { 1.0 } else { 9.0 }).collect();
        assert_eq!(effective_rises(&jump), 1.0);
        assert_eq!(effective_rises(&[5.0; 4]), 0.0);
    }

    #[test]
    fn the_middle_of_nothing_is_nothing() {
        assert_eq!(median(&mut []), None);
        assert_eq!(median(&mut [3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(quantile(&mut [4.0, 1.0, 2.0, 3.0, 0.0], 0.75), Some(3.0));
    }
}
