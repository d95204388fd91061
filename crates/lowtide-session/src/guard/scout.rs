//! Looks for checkpoints while the job runs, on a thread of its own: a folder on a network disk may take seconds to
//! list, or never answer, and a tick must not wait for it.

use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::time::{Duration, Instant, SystemTime};

use lowtide_core::units::Micros;

use super::checkpoints::{Checkpoints, Places};
use super::contained::contained;
use crate::fault;

/// A look is followed by a rest of this many times what it took, ...
const REST: u32 = 100;
/// ... and this long at least, and at most.
const SOONEST: Duration = Duration::from_secs(1);
const LATEST: Duration = Duration::from_secs(60);

pub(super) struct Scout {
    ask: Sender<(Places, SystemTime)>,
    found: Receiver<(Checkpoints, Duration)>,
    looking: bool,
    next: Micros,
}

impl Scout {
    /// None where no thread can be had: then what is known at the start is all.
    pub(super) fn start() -> Option<Scout> {
        let (ask, asked) = channel::<(Places, SystemTime)>();
        let (tell, found) = channel();
        let work = move || {
            for (places, since) in asked {
                let began = Instant::now();
                let looked = contained(|| {
                    fault::panic_if_named("look");
                    places.look(since)
                });
                let looked = looked.unwrap_or_default();
                if tell.send((looked, began.elapsed())).is_err() {
                    return;
                }
            }
        };
        let thread = std::thread::Builder::new().name("checkpoints".to_owned());
        thread.spawn(work).ok()?;
        Some(Scout {
            ask,
            found,
            looking: false,
            next: Micros(0),
        })
    }

    /// What the last look has found, once; the next one begins when it is time. Never waits.
    pub(super) fn turn(
        &mut self,
        now: Micros,
        wanted: impl FnOnce() -> (Places, SystemTime),
    ) -> Option<Checkpoints> {
        let found = match self.found.try_recv() {
            Ok((found, took)) => {
                let rest = (REST * took).clamp(SOONEST, LATEST);
                self.next = Micros(now.0 + rest.as_micros() as u64);
                self.looking = false;
                Some(found)
            }
            Err(TryRecvError::Empty | TryRecvError::Disconnected) => None,
        };
        if !self.looking && now >= self.next {
            self.looking = self.ask.send(wanted()).is_ok();
        }
        found
    }
}
