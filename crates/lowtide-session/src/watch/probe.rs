//! `--probe trim`: whether memory that grew is held by the program or kept by its allocator. The Python
//! package trims at a step boundary when we ask; a process without it cannot be asked, and is told so.

use lowtide_core::units::{Bytes, Micros};

/// There is something to learn when the watched process holds this share more than at its first steps.
const GROWN: f64 = 0.2;
/// The pause after the first trim; each one is twice as long as the one before, because a trim costs
/// the loop about 0.15 s for each GB that it returns.
const PAUSE: Micros = Micros(5_000_000);
/// How long a training loop may take to say its first word before we say that it cannot be asked.
const PATIENCE: Micros = Micros(30_000_000);

#[derive(Debug, Default)]
pub(super) struct Probe {
    trims: u32,
    /// What the process held at its first steps.
    base: Option<Bytes>,
    /// Not before this.
    next: Micros,
    refused: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ask {
    Nothing,
    /// Ask for this many trims in all.
    Trims(u32),
    /// The loop does not speak to us: say so, once.
    Refuse,
}

impl Probe {
    /// `speaks`: the Python package has told of steps. `held`: what the watched process holds now.
    pub(super) fn turn(&mut self, now: Micros, held: Bytes, speaks: bool) -> Ask {
        if !speaks {
            if self.refused || now < PATIENCE {
                return Ask::Nothing;
            }
            self.refused = true;
            return Ask::Refuse;
        }
        let base = *self.base.get_or_insert(held);
        if now < self.next || held.as_f64() <= (1.0 + GROWN) * base.as_f64() {
            return Ask::Nothing;
        }
        self.next = Micros(now.0 + (PAUSE.0 << self.trims.min(20)));
        self.trims += 1;
        Ask::Trims(self.trims)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000;

    #[test]
    fn growth_is_probed_ever_more_rarely() {
        let mut probe = Probe::default();
        let mut asked = Vec::new();
        for second in 0..200 {
            let held = Bytes(1_000_000_000 + 20_000_000 * second);
            if let Ask::Trims(trims) = probe.turn(Micros(second * SECOND), held, true) {
                asked.push((second, trims));
            }
        }
        assert_eq!(
            asked,
            [(11, 1), (16, 2), (26, 3), (46, 4), (86, 5), (166, 6)]
        );
    }

    #[test]
    fn a_flat_job_is_left_alone() {
        let mut probe = Probe::default();
        for second in 0..200 {
            let ask = probe.turn(Micros(second * SECOND), Bytes(1_000_000_000), true);
            assert_eq!(ask, Ask::Nothing);
        }
    }

    #[test]
    fn who_does_not_speak_is_refused_once() {
        let mut probe = Probe::default();
        let asks: Vec<Ask> = (0..100)
            .map(|second| probe.turn(Micros(second * SECOND), Bytes(second), false))
            .collect();
        assert_eq!(asks.iter().position(|ask| *ask == Ask::Refuse), Some(30));
        assert_eq!(asks.iter().filter(|ask| **ask == Ask::Refuse).count(), 1);
    }
}
