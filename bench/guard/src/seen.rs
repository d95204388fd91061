//! What a job has shown of itself until now, in truth: not what looks have caught of it.

/// Steps that are remembered.
const STEPS: usize = 48;
/// The first steps bring optimizer state and caches.
const FIRST_STEPS: u64 = 2;
/// What a save may take until one was seen, as a share of the limit; and a quarter more than any before.
const SAVE_UNKNOWN: f64 = 0.05;
const SAVE_MORE: f64 = 1.25;
/// Steps after which a jump is known to have come once.
const FRESH: usize = 3;
/// What nobody plans with.
const MARGIN: f64 = 0.01;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen {
    rises: [f64; STEPS],
    swings: [f64; STEPS],
    seconds: [f64; STEPS],
    /// In all attempts, and before this one.
    steps: usize,
    steps_before: usize,
    floor: f64,
    pub(crate) baseline: Option<f64>,
    save: Option<f64>,
    /// What one of them may have taken by looks: steps between it and the looks before and after may have been it,
    /// too.
    save_at_most: f64,
    save_since_look: Option<(f64, f64)>,
    floor_at_look: f64,
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
            steps_before: 0,
            floor: 0.0,
            baseline: None,
            save: None,
            save_at_most: f64::INFINITY,
            save_since_look: None,
            floor_at_look: 0.0,
            eval: None,
            late: 0.0,
            looks: 0,
            looked_at: 0,
        }
    }

    pub(crate) fn for_next_attempt(self) -> Seen {
        Seen {
            steps_before: self.steps,
            floor: 0.0,
            baseline: None,
            looks: 0,
            looked_at: 0,
            ..self
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
        self.save_since_look = Some((spike + self.floor - self.floor_at_look, self.floor));
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
    pub(crate) fn look(&mut self, late: f64, steps: u64, is_saving: bool) {
        if !is_saving {
            self.look_at_floor();
        }
        self.late = self.late.max(late);
        if steps >= FIRST_STEPS && steps > self.looked_at {
            self.looked_at = steps;
            self.looks += 1;
        }
    }

    fn look_at_floor(&mut self) {
        if let Some((taken, floor)) = self.save_since_look.take() {
            let after = self.expected() - floor;
            self.save_at_most = self.save_at_most.min(taken.max(after));
        }
        self.floor_at_look = self.floor;
    }

    /// How many different steps looks have met.
    pub(crate) fn looks(&self) -> usize {
        self.looks
    }

    /// Steps of this attempt that count: those after the first.
    pub(crate) fn steps(&self) -> usize {
        self.steps - self.steps_before
    }

    /// Of these newest values, those of so many steps.
    fn newest<'a>(
        &self,
        of: &'a [f64; STEPS],
        steps: usize,
    ) -> impl Iterator<Item = f64> + Clone + 'a {
        let end = self.steps;
        (0..steps).map(move |back| of[(end - 1 - back) % STEPS])
    }

    /// Steps of this attempt that are remembered.
    fn known(&self) -> usize {
        self.steps().min(STEPS)
    }

    pub(crate) fn longest_step(&self) -> f64 {
        self.newest(&self.seconds, self.known()).fold(0.0, f64::max)
    }

    pub(crate) fn shortest_step(&self) -> f64 {
        self.newest(&self.seconds, self.known())
            .fold(f64::INFINITY, f64::min)
    }

    /// The greatest rise within so many steps in a row, of those that are remembered. More steps than these
    /// are taken to rise as they did. What came once counts as much as the next greatest: nobody expects
    /// it again. Of the newest ones, `fresh` may be the first of many.
    fn greatest_rise(&self, within: f64, known: usize, fresh: usize) -> f64 {
        let (mut greatest, mut second) = (0.0, 0.0);
        for rise in self.newest(&self.rises, known) {
            if rise > greatest {
                (greatest, second) = (rise, greatest);
            } else if rise > second {
                second = rise;
            }
        }
        let window = (within.ceil() as usize).clamp(1, known.max(1));
        let rises = self.newest(&self.rises, known).enumerate();
        let rises = rises.map(|(back, rise)| if back < fresh { rise } else { rise.min(second) });
        let sums = (0..(known + 1).saturating_sub(window))
            .map(|from| rises.clone().skip(from).take(window).sum::<f64>());
        sums.fold(0.0, f64::max) * within / window as f64
    }

    /// How far the floor rose in all the steps that are remembered.
    pub(crate) fn rise(&self) -> f64 {
        self.newest(&self.rises, self.known()).sum()
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
        let known = self.known();
        let swing = self.newest(&self.swings, known).fold(0.0, f64::max);
        self.floor + swing + self.greatest_rise(1.0, known, 0)
    }

    /// The room that these need, with the highest step or save on top, by what the newest steps of this attempt have
    /// shown.
    pub(crate) fn need(&self, ahead: u64, between_looks: f64, limit: f64, memory: usize) -> f64 {
        let known = self.known().min(memory);
        self.need_by(ahead, between_looks, limit, known, self.save, 0)
    }

    /// The same, by all that this run's attempts have shown to looks.
    pub(crate) fn need_of_all(&self, ahead: u64, between_looks: f64, limit: f64) -> f64 {
        let known = self.steps.min(STEPS);
        let save = self.save.map(|save| save.max(self.save_at_most));
        self.need_by(ahead, between_looks, limit, known, save, FRESH)
    }

    fn need_by(
        &self,
        ahead: u64,
        between_looks: f64,
        limit: f64,
        known: usize,
        save: Option<f64>,
        fresh: usize,
    ) -> f64 {
        let swing = self.newest(&self.swings, known).fold(0.0, f64::max);
        let save = save.map_or(SAVE_UNKNOWN * limit, |seen| SAVE_MORE * seen);
        self.greatest_rise(self.steps_to_stop(ahead, between_looks), known, fresh)
            + swing.max(save).max(self.eval.unwrap_or(0.0))
            + MARGIN * limit
    }
}
