//! What a job has shown of itself until now, in truth: not what looks have caught of it.

/// Steps that are remembered.
const STEPS: usize = 48;
/// The first steps bring optimizer state and caches.
const FIRST_STEPS: u64 = 2;
/// What a save may take until one was seen, as a share of the limit; and a quarter more than any before.
const SAVE_UNKNOWN: f64 = 0.05;
const SAVE_MORE: f64 = 1.25;
/// What nobody plans with.
const MARGIN: f64 = 0.01;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen {
    rises: [f64; STEPS],
    swings: [f64; STEPS],
    seconds: [f64; STEPS],
    steps: usize,
    floor: f64,
    pub(crate) baseline: Option<f64>,
    save: Option<f64>,
    /// What an evaluation took, if there was one.
    eval: Option<f64>,
    /// The latest of all looks.
    late: f64,
    /// Looks that met another step than the one before them, beyond the first steps, and that step.
    looks: usize,
    looked_at: u64,
}

impl Seen {
    pub(crate) fn nothing() -> Seen {
        Seen {
            rises: [0.0; STEPS],
            swings: [0.0; STEPS],
            seconds: [0.0; STEPS],
            steps: 0,
            floor: 0.0,
            baseline: None,
            save: None,
            eval: None,
            late: 0.0,
            looks: 0,
            looked_at: 0,
        }
    }

    pub(crate) fn for_next_attempt(self) -> Seen {
        Seen {
            save: self.save,
            eval: self.eval,
            late: self.late,
            ..Seen::nothing()
        }
    }

    pub(crate) fn step(&mut self, number: u64, floor: f64, swing: f64, seconds: f64) {
        let at = self.steps % STEPS;
        if number > FIRST_STEPS {
            self.baseline.get_or_insert(self.floor);
            self.rises[at] = floor - self.floor;
            self.swings[at] = swing;
            self.seconds[at] = seconds;
            self.steps += 1;
        }
        self.floor = floor;
    }

    pub(crate) fn save(&mut self, spike: f64) {
        self.save = Some(self.save.map_or(spike, |known| known.max(spike)));
    }

    /// A save that found so much room met the limit: what it takes is not known, only that it is more.
    pub(crate) fn save_failed(&mut self, room: f64) {
        self.save(room);
    }

    pub(crate) fn knows_saves(&self) -> bool {
        self.save.is_some()
    }

    pub(crate) fn eval(&mut self, swing: f64) {
        self.eval = Some(swing);
    }

    pub(crate) fn knows_evals(&self) -> bool {
        self.eval.is_some()
    }

    /// A look, in which so many steps of the attempt are done.
    pub(crate) fn look(&mut self, late: f64, steps: u64) {
        self.late = self.late.max(late);
        if steps >= FIRST_STEPS && steps > self.looked_at {
            self.looked_at = steps;
            self.looks += 1;
        }
    }

    /// How many different steps looks have met.
    pub(crate) fn looks(&self) -> usize {
        self.looks
    }

    /// Steps that count: those after the first.
    pub(crate) fn steps(&self) -> usize {
        self.steps
    }

    fn known(&self) -> usize {
        self.steps.min(STEPS)
    }

    pub(crate) fn longest_step(&self) -> f64 {
        self.seconds[..self.known()]
            .iter()
            .copied()
            .fold(0.0, f64::max)
    }

    fn shortest_step(&self) -> f64 {
        self.seconds[..self.known()]
            .iter()
            .copied()
            .fold(f64::INFINITY, f64::min)
    }

    /// The greatest rise within so many steps in a row, of those that are remembered. More steps than these
    /// are taken to rise as they did. What came once counts as much as the next greatest: nobody expects
    /// it again.
    fn greatest_rise(&self, within: f64, memory: usize) -> f64 {
        let known = self.known().min(memory);
        let (mut greatest, mut second) = (0.0, 0.0);
        let newest = |back: usize| self.rises[(self.steps - 1 - back) % STEPS];
        for rise in (0..known).map(newest) {
            if rise > greatest {
                (greatest, second) = (rise, greatest);
            } else if rise > second {
                second = rise;
            }
        }
        let newest = |back: usize| newest(back).min(second);
        let window = (within.ceil() as usize).clamp(1, known.max(1));
        let sums = (0..(known + 1).saturating_sub(window))
            .map(|from| (from..from + window).map(newest).sum::<f64>());
        sums.fold(0.0, f64::max) * within / window as f64
    }

    /// How far the floor rose in all the steps that are remembered.
    pub(crate) fn rise(&self) -> f64 {
        self.rises[..self.known()].iter().sum()
    }

    pub(crate) fn latest_look(&self) -> f64 {
        self.late
    }

    /// Steps that may be done until a request made at the next look is served: those that pass while
    /// looks are as late as they were, and those that the request itself needs.
    pub(crate) fn steps_to_stop(&self, ahead: u64, between_looks: f64) -> f64 {
        let waiting = 2.0 * (between_looks + self.latest_look());
        (ahead + 1) as f64 + waiting / self.shortest_step().max(1e-3)
    }

    /// As high as a step has gone, or has added, above the floor of the last one.
    pub(crate) fn expected(&self) -> f64 {
        let swing = self.swings[..self.known()]
            .iter()
            .copied()
            .fold(0.0, f64::max);
        self.floor + swing + self.greatest_rise(1.0, STEPS)
    }

    /// The room that these need, with the highest step or save on top.
    pub(crate) fn need(&self, ahead: u64, between_looks: f64, limit: f64, memory: usize) -> f64 {
        let known = self.known().min(memory);
        let swings = (0..known).map(|back| self.swings[(self.steps - 1 - back) % STEPS]);
        let swing = swings.fold(0.0, f64::max);
        let save = self
            .save
            .map_or(SAVE_UNKNOWN * limit, |seen| SAVE_MORE * seen);
        self.greatest_rise(self.steps_to_stop(ahead, between_looks), memory)
            + swing.max(save).max(self.eval.unwrap_or(0.0))
            + MARGIN * limit
    }
}
