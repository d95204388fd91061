//! The times that lines begin with, or that stand on lines of their own, as seconds since the first.

use super::super::time;

/// Moments of lines, over midnight.
#[derive(Default)]
pub(super) struct Clock {
    first: Option<f64>,
    last: f64,
    days: f64,
}

impl Clock {
    /// When a line was printed: it says so, or was printed after the last one that did.
    pub(super) fn at(&mut self, line: &str) -> Option<f64> {
        self.read(line)
            .or_else(|| self.first.map(|first| self.last - first))
    }

    fn read(&mut self, line: &str) -> Option<f64> {
        let moment = time::line_moment(line).or_else(|| time::whole_line(line))?;
        let first = *self.first.get_or_insert(moment.seconds);
        if moment.clock_only && moment.seconds + self.days < self.last - 43_200.0 {
            self.days += 86_400.0;
        }
        self.last = moment.seconds + self.days;
        Some(self.last - first)
    }
}
