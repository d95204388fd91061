//! Holders that the newest census of each process named, read on every tick beside the steps.

use std::collections::BTreeMap;

use lowtide_census::{Meter, Meters};
use lowtide_core::followed::{Followed, Lengths};
use lowtide_core::process::ProcId;
use lowtide_core::units::Micros;
use lowtide_sys::proc::Proc;

/// What a census hands over.
pub(in crate::watch) type NewMeters = (ProcId, Vec<Meter>);

/// Processes that are read: the watched one, and as many beside it as censuses are taken of.
const PROCESSES: usize = 5;

#[derive(Default)]
pub(super) struct FollowedHolders {
    by: BTreeMap<ProcId, Meters>,
}

impl FollowedHolders {
    /// What is read of this process from now on; nothing if it cannot be read, or if too many are.
    pub(super) fn renew(&mut self, (id, newer): NewMeters, at: Micros) -> Option<Followed> {
        if let Some(meters) = self.by.get_mut(&id) {
            meters.renew(newer);
        } else if self.by.len() < PROCESSES && !newer.is_empty() {
            let proc = Proc::at("/proc").ok()?;
            self.by.insert(id, Meters::open(&proc, id, newer).ok()?);
        }
        let meters = self.by.get(&id)?.all().iter();
        let holders = meters.map(|meter| meter.holder.clone()).collect();
        Some(Followed { at, id, holders })
    }

    /// What is in each now. A process that is gone, or another program by now, is followed no more.
    pub(super) fn read(&mut self, at: Micros) -> Vec<Lengths> {
        let mut all = Vec::new();
        self.by.retain(|id, meters| {
            let Ok(readings) = meters.read() else {
                return false;
            };
            let is_there = readings.iter().any(Option::is_some);
            let id = *id;
            all.extend(is_there.then_some(Lengths { at, id, readings }));
            true
        });
        all
    }
}
