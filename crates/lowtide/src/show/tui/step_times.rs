//! When each step was done: leads from seconds to steps and back, so that every quantity can stand on either axis.

/// Pairs of seconds and steps, both rising.
#[derive(Clone, Copy, Debug)]
pub(super) struct StepTimes<'a>(pub &'a [[f64; 2]]);

const SECONDS: usize = 0;
const STEPS: usize = 1;

impl StepTimes<'_> {
    /// None before the first step. After the last one the pace of the newest quarter goes on.
    pub(super) fn step_at(&self, seconds: f64) -> Option<f64> {
        self.across(seconds, SECONDS, STEPS)
    }

    pub(super) fn seconds_at(&self, step: f64) -> Option<f64> {
        self.across(step, STEPS, SECONDS)
    }

    fn across(&self, x: f64, from: usize, to: usize) -> Option<f64> {
        let points = self.0;
        let after = points.partition_point(|point| point[from] < x);
        let (a, b) = match (after.checked_sub(1).map(|i| points[i]), points.get(after)) {
            (Some(a), Some(b)) => (a, *b),
            (None, Some(b)) => return (b[from] == x).then_some(b[to]),
            (Some(b), None) => {
                let back = points.len() - 1 - (points.len() / 4).max(1).min(points.len() - 1);
                (points[back], b)
            }
            (None, None) => return None,
        };
        if b[from] <= a[from] {
            return Some(b[to]);
        }
        Some(a[to] + (b[to] - a[to]) * (x - a[from]) / (b[from] - a[from]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEADY: [[f64; 2]; 3] = [[10.0, 1.0], [20.0, 2.0], [40.0, 4.0]];

    #[test]
    fn there_and_back() {
        let times = StepTimes(&STEADY);
        assert_eq!(times.step_at(30.0), Some(3.0));
        assert_eq!(times.seconds_at(1.5), Some(15.0));
        assert_eq!(times.step_at(60.0), Some(6.0));
        assert_eq!(times.step_at(5.0), None);
        assert_eq!(times.step_at(10.0), Some(1.0));
    }

    #[test]
    fn one_point_or_none_leads_nowhere() {
        assert_eq!(StepTimes(&[]).step_at(1.0), None);
        assert_eq!(StepTimes(&[[5.0, 1.0]]).step_at(9.0), Some(1.0));
    }
}
