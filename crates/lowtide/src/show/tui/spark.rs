//! A line so small that it fits beside a name.

use crate::show::chart::spread;

const STEPS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
const PLAIN: [char; 8] = ['_', '_', '.', '.', '-', '-', '^', '^'];

/// The highest of each piece, between the lowest and the highest of all; a flat line stays in the middle.
pub(super) fn of(values: &[u64], width: usize, unicode: bool) -> String {
    let (Some(low), Some(high)) = (values.iter().min(), values.iter().max()) else {
        return String::new();
    };
    let (bottom, top) = spread(*low as f64, *high as f64);
    let steps = if unicode { STEPS } else { PLAIN };
    let pieces = width.min(values.len());
    (0..pieces)
        .map(|nth| {
            let from = nth * values.len() / pieces;
            let to = ((nth + 1) * values.len() / pieces).max(from + 1);
            let most = values[from..to].iter().max().copied().unwrap_or(0);
            let share = (most as f64 - bottom) / (top - bottom);
            steps[((share * 7.0).round() as usize).min(7)]
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_rises_and_keeps_its_spike() {
        assert_eq!(of(&[0, 10, 20, 30, 40, 50, 60, 70], 8, true), "▁▂▃▄▅▆▇█");
        let mut flat = vec![100; 640];
        flat[333] = 900;
        assert_eq!(of(&flat, 10, true).matches('█').count(), 1);
        assert_eq!(of(&[1000, 1001], 2, true), "▄▅");
        assert_eq!(of(&[], 10, true), "");
    }
}
