//! Which piece of the axis the chart shows, and how places are brought onto it.

use lowtide_core::report::Forecast;
use lowtide_core::verdict::{Axis, Class};

use super::content::Content;
use super::step_times::StepTimes;
use super::view::View;

/// Of a chart that is zoomed into, this much at most is what has not happened yet.
const AHEAD: f64 = 0.2;

#[derive(Clone, Copy, Debug)]
pub(super) struct Range<'a> {
    pub axis: Axis,
    pub from: f64,
    pub to: f64,
    /// Where the run is now.
    pub now: f64,
    times: StepTimes<'a>,
}

impl<'a> Range<'a> {
    /// None while there is nothing to draw.
    pub(super) fn of(content: &'a Content, view: &View) -> Option<Range<'a>> {
        let report = &content.report;
        let axis = view.axis(content);
        let times = StepTimes(&report.steps);
        let line = content.line(&content.shown)?;
        let place = |seconds: f64| match axis {
            Axis::Step => times.step_at(seconds),
            _ => Some(seconds),
        };
        let start = line.x.iter().find_map(|x| place(*x))?;
        let now = place(report.to.max(*line.x.last()?))?;
        let whole = Range {
            axis,
            from: start,
            to: now,
            now,
            times,
        };
        let ahead = whole.forecast(content).map_or(0.0, |f| f.to - now).max(0.0);
        let seen = now - start;
        let shown = (seen + ahead) / f64::from(1u32 << view.zoom.min(31));
        let end = if view.zoom == 0 {
            now + ahead
        } else {
            now + ahead.min(shown * AHEAD)
        };
        let to = (end - view.behind * shown).max(start + shown);
        let from = if view.zoom == 0 {
            start
        } else {
            (to - shown).max(start)
        };
        (to > from).then_some(Range { from, to, ..whole })
    }

    /// The points in sight, and the one before them.
    pub(super) fn visible<'p>(&self, points: &'p [(f64, f64)]) -> &'p [(f64, f64)] {
        let from = points
            .partition_point(|p| p.0 < self.from)
            .saturating_sub(1);
        &points[from..points.partition_point(|p| p.0 <= self.to)]
    }

    /// Where a moment lies on the axis; none before the first step.
    pub(super) fn place(&self, seconds: f64) -> Option<f64> {
        match self.axis {
            Axis::Step => self.times.step_at(seconds),
            _ => Some(seconds),
        }
    }

    pub(super) fn place_step(&self, step: f64) -> Option<f64> {
        match self.axis {
            Axis::Step => Some(step),
            _ => self.times.seconds_at(step),
        }
    }

    /// The cone on this axis: only of the line that decides, and only where the answer looks ahead.
    pub(super) fn forecast(&self, content: &Content) -> Option<Forecast> {
        let report = &content.report;
        let verdict = &report.verdict;
        let looks_ahead =
            matches!(verdict.verdict, Class::Leak | Class::TooEarly) || verdict.is_under_way();
        if !looks_ahead || content.shown != report.decides {
            return None;
        }
        let told = report.forecast?;
        if told.axis == self.axis || (told.axis != Axis::Step && self.axis != Axis::Step) {
            return Some(told);
        }
        let across = |x: f64| match told.axis {
            Axis::Step => self.times.seconds_at(x),
            _ => self.times.step_at(x),
        };
        let (from, to) = (across(told.from)?, across(told.to)?);
        // Bytes per unit of its own axis become bytes per unit of this one.
        let stretch = (told.to - told.from) / (to - from);
        stretch.is_finite().then_some(Forecast {
            axis: self.axis,
            from,
            to,
            low: told.low * stretch,
            value: told.value * stretch,
            high: told.high * stretch,
            ..told
        })
    }
}
