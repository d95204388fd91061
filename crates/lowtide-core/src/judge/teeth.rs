//! Rule "saw-teeth": memory that is handed back again and again is judged by its valleys. A rise
//! since the last valley proves nothing, because the next fall may undo it.

use super::line::FloorLine;
use super::rule::Rule;
use crate::stats;
use crate::units::show_bytes;
use crate::verdict::Evidence;

pub(super) const RULE: Rule = Rule::named("saw-teeth");

/// A fall counts as one of the teeth when it is this share of the largest fall: collections differ
/// in depth, and half of the deepest one is still the same mechanism.
const LIKE_THE_LARGEST: f64 = 0.4;
/// Falls below this share of the level are ripple.
const LEAST_FALL: f64 = 0.02;
/// Falls below this share of all that the line rose are ripple on a rise, and valleys would hide it:
/// with steps of one sample each, some samples catch a crest inside the step (vision runs with kept
/// pictures: falls of 20 to 26 MB on a rise of 300 MB, taken for teeth, made a warm-up stable).
const LEAST_OF_RISE: f64 = 0.1;
/// Falls below this many times the noise of the line may be ripple, unless there are many.
const LEAST_NOISE: f64 = 6.0;
const MANY_VALLEYS: usize = 4;
/// Fewer valleys than this are no pattern.
const LEAST_VALLEYS: usize = 3;
/// Shorter lines show no pattern.
const LEAST_POINTS: usize = 8;
/// The beginning of a run frees what loading needed: falls there are no teeth.
const START_SHARE: f64 = 0.1;

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Teeth {
    pub valleys: FloorLine,
    /// The largest fall.
    pub depth: f64,
}

impl Teeth {
    pub(super) fn says(&self) -> Evidence {
        RULE.says(format!(
            "falls of up to {}; judged by its {} valleys",
            show_bytes(self.depth),
            self.valleys.len()
        ))
    }
}

/// The valleys of a saw-tooth, when there is one.
pub(super) fn teeth(fine: &FloorLine) -> Option<Teeth> {
    let body = fine.from(fine.first_x() + START_SHARE * fine.span());
    if body.len() < LEAST_POINTS {
        return None;
    }
    let depth = largest_fall(&body.ys);
    let level = stats::median(&mut body.ys.clone())?;
    let rise = fine.ys.last()? - fine.ys.first()?;
    if depth < LEAST_FALL * level || depth < LEAST_OF_RISE * rise {
        return None;
    }
    let valleys = valleys(&body, LIKE_THE_LARGEST * depth);
    let clear = depth >= LEAST_NOISE * stats::noise(&body.ys);
    let least = if clear { LEAST_VALLEYS } else { MANY_VALLEYS };
    (valleys.len() >= least).then_some(Teeth { valleys, depth })
}

fn largest_fall(ys: &[f64]) -> f64 {
    let mut high = f64::NEG_INFINITY;
    let mut fall: f64 = 0.0;
    for y in ys {
        high = high.max(*y);
        fall = fall.max(high - y);
    }
    fall
}

/// Lows that follow a fall of at least `least`, each the lowest point before the next such rise.
fn valleys(line: &FloorLine, least: f64) -> FloorLine {
    let mut found = FloorLine::default();
    let (mut high, mut low) = (line.ys[0], 0usize);
    let mut falling = false;
    for i in 1..line.len() {
        let y = line.ys[i];
        if falling {
            if y <= line.ys[low] {
                low = i;
            } else if y - line.ys[low] >= least {
                found.take(line, low);
                falling = false;
                high = y;
            }
        } else {
            high = high.max(y);
            if high - y >= least {
                falling = true;
                low = i;
            }
        }
    }
    // A fall that has not turned yet is a valley only when it went as low as the one before.
    if falling && found.ys.last().is_some_and(|last| line.ys[low] <= *last) {
        found.take(line, low);
    }
    found
}

impl FloorLine {
    fn take(&mut self, other: &FloorLine, i: usize) {
        self.xs.push(other.xs[i]);
        self.ys.push(other.ys[i]);
        self.crests.push(other.crests[i]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(shape: impl Fn(f64) -> f64) -> FloorLine {
        let xs: Vec<f64> = (0..200).map(f64::from).collect();
        let ys: Vec<f64> = xs.iter().map(|x| shape(*x)).collect();
        FloorLine {
            crests: ys.clone(),
            xs,
            ys,
        }
    }

    #[test]
    fn valleys_of_a_saw_are_its_low_points() {
        let saw = teeth(&line(|x| 100.0 + x % 25.0)).unwrap();
        assert!(saw.valleys.len() >= 6);
        assert!(saw.valleys.ys.iter().all(|y| *y == 100.0));
    }

    #[test]
    fn blips_on_a_large_rise_are_no_teeth() {
        let blips = |x: f64| if x % 10.0 == 0.0 { 20.0 } else { 0.0 };
        let warm = |x: f64| 580.0 + 16.0 * x.min(20.0);
        assert_eq!(teeth(&line(|x| warm(x) + blips(x))), None);
        assert!(teeth(&line(|x| 900.0 + blips(x))).is_some());
    }

    #[test]
    fn a_line_and_a_single_fall_have_no_teeth() {
        assert_eq!(teeth(&line(|x| 100.0 + x)), None);
        assert_eq!(teeth(&line(|x| if x < 90.0 { 150.0 } else { 100.0 })), None);
    }
}
