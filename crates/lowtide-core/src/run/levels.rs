//! What one process held, part by part, over the run, and what its evaluations and saves took on top.
//! Every reading feeds it; `explain` reads it.

use crate::mark::Phase;
use crate::sample::Reading;

use super::occurrences::At;
use super::steps::StepMoment;
use super::thin::Thin;

/// Readings kept of one process: enough to see which part moved and when, in 3 kB.
const KEPT: usize = 32;
/// Evaluations and saves kept of one process.
const EPISODES: usize = 32;

/// One reading, as far as explaining needs it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Levels {
    pub at: At,
    pub anon: f64,
    pub file: f64,
    pub shmem: f64,
    pub swap: f64,
    pub threads: f64,
    pub fds: Option<f64>,
    /// Private pages, when a careful look has read them.
    pub private: Option<Private>,
}

/// What a careful look found, which is older than the reading that it stands in.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Private {
    pub seconds: f64,
    pub uss: f64,
    /// Anonymous memory at that moment.
    pub anon: f64,
}

impl Levels {
    pub(crate) fn held(&self) -> f64 {
        self.anon + self.shmem + self.swap
    }
}

/// One evaluation or save: what the process held before, at most, and when training went on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Episode {
    pub phase: Phase,
    pub before: f64,
    pub peak: f64,
    pub after: f64,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Held {
    pub levels: Thin<Levels, KEPT>,
    pub episodes: Thin<Episode, EPISODES>,
    open: Option<Episode>,
    trained: Option<f64>,
}

impl Held {
    pub(super) fn push(&mut self, reading: &Reading, moment: &StepMoment) {
        let held = reading.held().as_f64();
        self.levels.push(Levels {
            at: At {
                seconds: moment.seconds,
                step: moment.step,
            },
            anon: reading.anon.as_f64(),
            file: reading.file.as_f64(),
            shmem: reading.shmem.as_f64(),
            swap: reading.swap.as_f64(),
            threads: f64::from(reading.threads),
            fds: reading.fds.map(f64::from),
            private: reading.pss.map(|pss| Private {
                seconds: pss.at.seconds(),
                uss: pss.uss.as_f64(),
                anon: pss.rss_anon.as_f64(),
            }),
        });
        match moment.phase {
            Some(phase @ (Phase::Eval | Phase::Save)) => {
                let same = self.open.filter(|open| open.phase == phase);
                if same.is_none() {
                    self.close(held);
                }
                let before = self.trained.unwrap_or(held);
                let open = self.open.get_or_insert(Episode {
                    phase,
                    before,
                    peak: held,
                    after: held,
                });
                open.peak = open.peak.max(held);
            }
            _ => {
                self.close(held);
                self.trained = Some(held);
            }
        }
    }

    fn close(&mut self, held: f64) {
        if let Some(open) = self.open.take() {
            self.episodes.push(Episode {
                after: held,
                ..open
            });
        }
    }
}
