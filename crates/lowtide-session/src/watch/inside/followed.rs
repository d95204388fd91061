//! Holders that the newest census of each process named, read on every tick beside the steps.

use std::collections::BTreeMap;

use lowtide_census::{Interpreter, Meter, Meters};
use lowtide_core::followed::{Followed, Lengths};
use lowtide_core::process::ProcId;
use lowtide_core::units::Micros;
use lowtide_sys::proc::Proc;

/// What a census hands over.
pub(in crate::watch) struct NewMeters {
    pub id: ProcId,
    pub interpreter: Interpreter,
    pub meters: Vec<Meter>,
}

/// Processes that are read: the watched one, and as many beside it as censuses are taken of.
const PROCESSES: usize = 5;

#[derive(Default)]
pub(super) struct FollowedHolders {
    by: BTreeMap<ProcId, (u64, Meters)>,
    /// Lists that were told so far: readings say of which they are.
    lists: u64,
}

impl FollowedHolders {
    /// What is read of this process from now on; nothing if it cannot be read, or if too many are.
    pub(super) fn renew(&mut self, newer: NewMeters, at: Micros) -> Option<Followed> {
        let NewMeters {
            id,
            interpreter,
            meters,
        } = newer;
        let list = self.lists + 1;
        if let Some((of, known)) = self.by.get_mut(&id) {
            known.renew(interpreter, meters);
            *of = list;
        } else if self.by.len() < PROCESSES && !meters.is_empty() {
            let proc = Proc::at("/proc").ok()?;
            let opened = Meters::open(proc, id, interpreter, meters).ok()?;
            self.by.insert(id, (list, opened));
        }
        let meters = self.by.get(&id)?.1.all().iter();
        let holders = meters.map(|meter| meter.holder.clone()).collect();
        self.lists = list;
        Some(Followed {
            at,
            id,
            list,
            holders,
        })
    }

    /// What is in each now. A process that is gone, or another program by now, is followed no more.
    pub(super) fn read(&mut self, at: Micros) -> Vec<Lengths> {
        let mut all = Vec::new();
        self.by.retain(|id, (list, meters)| {
            let Ok(readings) = meters.read() else {
                return false;
            };
            let is_there = readings.iter().any(Option::is_some);
            let (id, list) = (*id, *list);
            all.extend(is_there.then_some(Lengths {
                at,
                id,
                list,
                readings,
            }));
            true
        });
        all
    }
}
