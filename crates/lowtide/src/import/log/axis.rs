//! What a log is read along: its steps, its epochs, its times, or the order of its lines.

use lowtide_core::mark::Geometry;
use lowtide_core::point::{Point, Track};
use lowtide_core::verdict::Axis;

use super::super::{ImportError, Imported, Options, Who, order, skipped};
use super::taker::{Taken, Taker};

impl Taker {
    /// The series, along the axis that the log tells most surely.
    pub(super) fn finish(mut self, name: &str, options: &Options) -> Result<Imported, ImportError> {
        let (stepped, mut notes) = self.last_attempt();
        let on = self.axis(stepped, options);
        if !on.by_step && !on.whole_epochs && on.epoch_factor.is_none() {
            notes += ", parts of an epoch are no steps (give --epoch-steps)";
        }
        let points = self.points(&on)?;
        let before = self.taken.values().len() - points.len();
        let (seen, _) = self.taken.seen();
        let thinned = self.taken.thinned();
        let (points, order) = order::settled(points, on.axis)?;
        if before > 0 {
            notes += &format!(", {before} sizes before the first step left out");
        }
        let shown = if self.label.key.is_empty() {
            "the only size of a line".to_owned()
        } else {
            format!("`{} …`", self.label.key)
        };
        Ok(Imported {
            who: Who::of(&self.label.key),
            how: format!(
                "{} points: {}, sizes from {shown}{notes}{}{thinned}{order}",
                seen - before,
                self.says_where(&on),
                skipped(self.unread)
            ),
            track: Track {
                name: name.to_owned(),
                axis: on.axis,
                meter: self.label.memory.meter,
                points,
            },
            geometry: (self.geometry != Geometry::default()).then_some(self.geometry),
            // A total that was passed is none.
            total_steps: self
                .mark
                .total_steps
                .filter(|total| self.mark.step <= Some(*total)),
        })
    }

    /// Keeps the last attempt where it is most of the log. Whether the step counter can be the axis, and what
    /// is to be said of it.
    fn last_attempt(&mut self) -> (bool, String) {
        let restarts = self.restarts;
        if restarts == 0 {
            return (true, String::new());
        }
        let (total, last) = self.taken.seen();
        if last * 2 >= total {
            self.taken.forget_all_but_the_last_part();
            let attempts = restarts + 1;
            return (true, format!(", the last of {attempts} attempts"));
        }
        // A counter that starts over again and again is no axis.
        let note = format!(", the step counter restarts {restarts} times and is not used");
        (false, note)
    }

    fn axis(&self, stepped: bool, options: &Options) -> OnAxis {
        let distinct = |value: &dyn Fn(&Taken) -> Option<f64>| {
            let mut values = self.taken.values().iter().filter_map(value);
            let first = values.next();
            first.is_some() && values.any(|v| Some(v) != first)
        };
        let by_step = stepped && distinct(&|t| t.step.map(|s| s as f64));
        let epochs = self.taken.values().iter().filter_map(|t| t.epoch);
        let whole_epochs = epochs.into_iter().all(|epoch| epoch.fract() == 0.0);
        let per_epoch = options.epoch_steps.or(self.geometry.steps_per_epoch());
        let epoch_factor = if whole_epochs { Some(1.0) } else { per_epoch };
        let by_epoch = stepped && distinct(&|t| t.epoch) && epoch_factor.is_some();
        let axis = match options.axis {
            Some(axis) => axis,
            None if by_step || by_epoch => Axis::Step,
            None if distinct(&|t| t.seconds) => Axis::Time,
            None => Axis::Sample,
        };
        OnAxis {
            axis,
            by_step,
            whole_epochs,
            epoch_factor,
        }
    }

    fn points(&self, on: &OnAxis) -> Result<Vec<Point>, ImportError> {
        let place = |at: usize, taken: &Taken| match on.axis {
            Axis::Step if on.by_step => taken.step.map(|s| s as f64),
            Axis::Step => {
                let epoch = taken.epoch.zip(on.epoch_factor);
                epoch.map(|(epoch, steps)| epoch * steps)
            }
            Axis::Time => taken.seconds,
            Axis::Sample => Some(at as f64),
        };
        let point = |(at, taken): (usize, &Taken)| {
            Some(Point {
                x: place(at, taken)?,
                bytes: taken.bytes,
                seconds: taken.seconds.filter(|_| on.axis != Axis::Time),
                phase: taken.phase,
            })
        };
        let points: Vec<Point> = self
            .taken
            .values()
            .iter()
            .enumerate()
            .filter_map(point)
            .collect();
        if points.is_empty() {
            let counted = match on.axis {
                Axis::Step => "steps",
                _ => "time",
            };
            let message = format!("it has sizes, but nothing that counts {counted}");
            return Err(ImportError::new(message).hint("leave --axis out, or say --axis sample"));
        }
        Ok(points)
    }

    /// Where the places on the axis come from.
    fn says_where(&self, on: &OnAxis) -> String {
        match (on.axis, self.steps.counter()) {
            (Axis::Step, _) if let Some(word) = self.label.says_its_step() => {
                format!("steps from `{word}`")
            }
            (Axis::Step, Some(counter)) if on.by_step => format!("steps from {counter}"),
            (Axis::Step, _) if on.by_step => "steps from the Trainer's dictionaries".to_owned(),
            (Axis::Step, _) if !on.whole_epochs => "steps from parts of an epoch".to_owned(),
            (Axis::Step, _) => "steps from `Epoch N`".to_owned(),
            (Axis::Time, _) => "seconds from the times of the lines".to_owned(),
            (Axis::Sample, _) => "in the order of the lines".to_owned(),
        }
    }
}

/// What a log is read along.
struct OnAxis {
    axis: Axis,
    by_step: bool,
    /// Parts of an epoch (`'epoch': 0.12`) are no steps; the length of an epoch makes them some.
    whole_epochs: bool,
    epoch_factor: Option<f64>,
}
