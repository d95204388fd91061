//! What a seed makes of a job and of the machine it runs on. Sizes are MB, times seconds.

use crate::random::Random;

/// The policy knows no size by itself: one limit stands for all.
pub(crate) const LIMIT: f64 = 1000.0;

/// How the level after a step differs from that before it. Steps count from the attempt's first.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Growth {
    Flat,
    Leak {
        each: f64,
    },
    Uneven {
        each: f64,
        spread: f64,
    },
    Stairs {
        every: u64,
        each: f64,
    },
    /// A store that fills, and is full after so many steps.
    Fill {
        each: f64,
        until: u64,
    },
    /// A leak that begins when all was flat for a while.
    Late {
        each: f64,
        from: u64,
    },
}

impl Growth {
    pub(crate) fn of_step(self, step: u64, random: &mut Random) -> f64 {
        match self {
            Growth::Flat => 0.0,
            Growth::Leak { each } => each,
            Growth::Uneven { each, spread } => each * random.around(spread),
            Growth::Stairs { every, each } => {
                each * f64::from(u8::from(step.is_multiple_of(every)))
            }
            Growth::Fill { each, until } => each * f64::from(u8::from(step <= until)),
            Growth::Late { each, from } => each * f64::from(u8::from(step > from)),
        }
    }
}

/// What the job does when it is asked to save and stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Manners {
    Serves,
    /// Never looks for a request.
    Deaf,
    /// Ends with an error instead of a checkpoint.
    FailsToSave,
}

#[derive(Clone, Debug)]
pub(crate) struct JobPlan {
    pub(crate) steps: u64,
    pub(crate) start_seconds: f64,
    /// The level when the model is loaded, and what the first step adds for good.
    pub(crate) base: f64,
    pub(crate) first: f64,
    pub(crate) step_seconds: f64,
    pub(crate) uneven: f64,
    /// Now and then a step takes so many times as long.
    pub(crate) stalls: f64,
    pub(crate) stall_times: f64,
    /// What a step takes and gives back, how it differs, and at which part of a step it is highest.
    pub(crate) swing: f64,
    pub(crate) swing_uneven: f64,
    pub(crate) crest_at: f64,
    pub(crate) growth: Growth,
    /// Saves by itself after so many steps; 0: never.
    pub(crate) save_every: u64,
    pub(crate) save_seconds: f64,
    pub(crate) save_spike: f64,
    /// Evaluates after so many steps; 0: never.
    pub(crate) eval_every: u64,
    pub(crate) eval_seconds: f64,
    pub(crate) eval_swing: f64,
    pub(crate) manners: Manners,
    /// From the last save to the end of the process.
    pub(crate) ending: f64,
    pub(crate) ranks: u32,
    /// How much later than the first the last rank ends a step.
    pub(crate) skew: f64,
}

impl JobPlan {
    pub(crate) fn of(random: &mut Random) -> JobPlan {
        let base = random.between(0.1, 0.6) * LIMIT;
        let first = if random.chance(0.5) {
            random.between(0.0, 0.1) * LIMIT
        } else {
            0.0
        };
        let swing = if random.chance(0.7) {
            random.between(0.0, 0.2) * LIMIT
        } else {
            0.0
        };
        let save_spike = if random.chance(0.6) {
            random.magnitude(0.001, 0.15) * LIMIT
        } else {
            0.0
        };
        let room = LIMIT - base - first - swing.max(save_spike);
        let each = room / random.magnitude(10.0, 60.0);
        let step_seconds = random.magnitude(0.05, 3.0);
        let slowest_save = if random.chance(0.1) { 200.0 } else { 5.0 };
        let slowest_end = if random.chance(0.05) { 60.0 } else { 2.0 };
        let ranks = if random.chance(0.2) {
            random.whole(2, 4) as u32
        } else {
            1
        };
        JobPlan {
            steps: random.whole(20, 70),
            start_seconds: random.magnitude(0.5, 20.0),
            base,
            first,
            step_seconds,
            uneven: if random.chance(0.7) {
                random.between(0.0, 0.4)
            } else {
                0.0
            },
            stalls: if random.chance(0.3) {
                random.between(0.0, 0.08)
            } else {
                0.0
            },
            stall_times: random.between(2.0, 8.0),
            swing,
            swing_uneven: if random.chance(0.5) {
                random.between(0.0, 0.2)
            } else {
                0.0
            },
            crest_at: random.between(0.05, 0.95),
            growth: growth(random, each),
            save_every: if random.chance(0.4) {
                random.whole(3, 30)
            } else {
                0
            },
            save_seconds: random.magnitude(0.02, slowest_save),
            save_spike,
            eval_every: if random.chance(0.15) {
                random.whole(5, 25)
            } else {
                0
            },
            eval_seconds: random.magnitude(0.2, 10.0),
            eval_swing: random.between(0.0, 0.2) * LIMIT,
            manners: match random.unit() {
                share if share < 0.9 => Manners::Serves,
                share if share < 0.95 => Manners::Deaf,
                _ => Manners::FailsToSave,
            },
            ending: random.magnitude(0.05, slowest_end),
            ranks,
            skew: if ranks > 1 {
                random.between(0.0, 0.5) * step_seconds
            } else {
                0.0
            },
        }
    }
}

fn growth(random: &mut Random, each: f64) -> Growth {
    match random.whole(0, 9) {
        0 => Growth::Flat,
        1..=3 => Growth::Leak { each },
        4 | 5 => Growth::Uneven {
            each,
            spread: random.between(0.1, 0.8),
        },
        6 => {
            let every = random.whole(2, 10);
            Growth::Stairs {
                every,
                each: (each * every as f64).min(0.2 * LIMIT),
            }
        }
        7 | 8 => Growth::Fill {
            each,
            until: random.whole(5, 60),
        },
        _ => Growth::Late {
            each,
            from: random.whole(5, 25),
        },
    }
}

/// What else takes from the same limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Others {
    Nobody,
    Ramp {
        from: f64,
        until: f64,
        to: f64,
    },
    Pulses {
        period: f64,
        share: f64,
        height: f64,
    },
}

impl Others {
    fn of(random: &mut Random, free: f64) -> Others {
        match random.whole(0, 9) {
            0 => {
                let from = random.between(5.0, 40.0);
                Others::Ramp {
                    from,
                    until: from + random.between(5.0, 60.0),
                    to: random.between(0.0, 0.4) * free,
                }
            }
            1 => Others::Pulses {
                period: random.between(5.0, 40.0),
                share: random.between(0.1, 0.9),
                height: random.between(0.0, 0.1) * free,
            },
            _ => Others::Nobody,
        }
    }

    pub(crate) fn level(self, at: f64) -> f64 {
        match self {
            Others::Nobody => 0.0,
            Others::Ramp { from, until, to } => to * ((at - from) / (until - from)).clamp(0.0, 1.0),
            Others::Pulses {
                period,
                share,
                height,
            } => height * f64::from(u8::from((at / period).fract() < share)),
        }
    }

    pub(crate) fn highest(self) -> f64 {
        match self {
            Others::Nobody => 0.0,
            Others::Ramp { to, .. } => to,
            Others::Pulses { height, .. } => height,
        }
    }

    /// When the level next bends or jumps.
    pub(crate) fn next_change(self, at: f64) -> f64 {
        match self {
            Others::Nobody => f64::INFINITY,
            Others::Ramp { from, until, .. } => {
                let ahead = [from, until].into_iter().filter(|bend| *bend > at);
                ahead.fold(f64::INFINITY, f64::min)
            }
            Others::Pulses { period, share, .. } => {
                let begun = (at / period).floor() * period;
                // A hair beyond, so that the level is that after the jump.
                let ahead = [begun + share * period, begun + period].map(|jump| jump + 1e-6);
                ahead
                    .into_iter()
                    .filter(|jump| *jump > at)
                    .fold(f64::INFINITY, f64::min)
            }
        }
    }
}

/// How late we come, in looking and in acting.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Load {
    /// Our wait for a core, on average, while the machine is busy ...
    pub(crate) mean: f64,
    /// ... and the share of the time in which it is, in turns of this length.
    pub(crate) share: f64,
    pub(crate) turn: f64,
}

impl Load {
    fn of(random: &mut Random) -> Load {
        let busy = random.chance(0.5);
        Load {
            mean: if busy {
                random.magnitude(0.005, 0.5)
            } else {
                0.0
            },
            share: if random.chance(0.5) {
                1.0
            } else {
                random.between(0.1, 0.9)
            },
            turn: random.between(2.0, 30.0),
        }
    }

    pub(crate) fn is_busy(self, at: f64) -> bool {
        self.mean > 0.0 && (at / self.turn).fract() < self.share
    }

    pub(crate) fn wait(self, at: f64, random: &mut Random) -> f64 {
        let quiet = random.between(0.0001, 0.002);
        quiet
            + if self.is_busy(at) {
                random.wait(self.mean)
            } else {
                0.0
            }
    }
}

/// Whether the job can go on after a stop, as far as the guard knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Resumes {
    Always,
    /// Where it saves is known when it has saved once.
    OnceSaved,
    Never,
}

impl Resumes {
    pub(crate) fn of(random: &mut Random) -> Resumes {
        match random.unit() {
            share if share < 0.9 => Resumes::Always,
            share if share < 0.95 => Resumes::OnceSaved,
            _ => Resumes::Never,
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct World {
    pub(crate) job: JobPlan,
    pub(crate) resumes: Resumes,
    pub(crate) others: Others,
    pub(crate) load: Load,
    pub(crate) interval: f64,
    /// The limit becomes this, then.
    pub(crate) lowered: Option<(f64, f64)>,
    /// The judge is sure of a leak, and that something has ended, after so many steps; how far off
    /// it is where it foretells the end of growth, and whether it does.
    pub(crate) judged_after: u64,
    pub(crate) foretells: Option<f64>,
}

impl World {
    pub(crate) fn of(random: &mut Random) -> World {
        let job = JobPlan::of(random);
        let free = LIMIT - job.base - job.first - job.swing;
        World {
            resumes: Resumes::Always,
            others: Others::of(random, free),
            load: Load::of(random),
            interval: if random.chance(0.7) {
                1.0
            } else {
                random.magnitude(0.1, 5.0)
            },
            lowered: random.chance(0.03).then(|| {
                (
                    random.between(10.0, 60.0),
                    random.between(0.8, 0.98) * LIMIT,
                )
            }),
            judged_after: random.whole(4, 60),
            foretells: random.chance(0.5).then(|| random.between(0.98, 1.05)),
            job,
        }
    }

    pub(crate) fn limit(&self, at: f64) -> f64 {
        self.lowered
            .filter(|(when, _)| at >= *when)
            .map_or(LIMIT, |(_, lower)| lower)
    }
}
