//! What a process holds, mapping by mapping: each is sorted by its name, and anonymous memory is taken
//! apart ([`super::anon`]).

use lowtide_core::look::{Counts, Kind};
use lowtide_core::sample::GapWhy;
use lowtide_core::units::Bytes;

use super::anon::Anon;
use super::ledger::Ledger;
use super::programs::Programs;
use super::reserved::Reserves;
use super::target::Target;
use super::taxonomy::{self, Sort};
use crate::memory::{Mapping, Memory};

/// All of a process's memory but what is swapped out.
pub struct Holdings {
    pub ledger: Ledger,
    /// `None` if something kept us from finding every piece: half a list would look like pieces that came
    /// or went between two looks.
    pub reserves: Option<Reserves>,
    pub counts: Counts,
    /// Counted where the parts were: the counters of `status` are read a look later, and a training loop
    /// takes and frees tens of megabytes in between. What it frees meanwhile is in no part.
    pub held: u64,
    /// What could not be seen, in words.
    pub missing: Vec<String>,
}

impl Holdings {
    /// Without `memory`, mappings are all that is told apart.
    pub fn of(target: &Target, memory: Option<&impl Memory>) -> Result<Holdings, GapWhy> {
        let mut anon = Anon::new(target, memory);
        let mut counts = Counts {
            maps: target.mappings.list.len() as u64,
            ..Counts::default()
        };
        let mut held: u64 = 0;
        let mut before: Option<&Mapping> = None;
        let reaches = target.reaches();
        let mappings = target.mappings.list.iter();
        for ((mapping, sort), reach) in mappings.zip(&target.sorts).zip(reaches) {
            let name = target.mappings.name(mapping);
            counts.code_maps += u64::from(mapping.execute);
            counts.huge = counts.huge + Bytes(mapping.huge);
            held += match sort {
                Sort::Shared => mapping.rss,
                _ => mapping.anon,
            };
            match sort {
                Sort::Heap | Sort::Anon => anon.take_apart(mapping, name, before, reach),
                Sort::Stack => anon.ledger.add(Kind::Stack, mapping.anon),
                Sort::Kernel => {}
                Sort::Shared | Sort::File | Sort::Device => {
                    backed(&mut anon.ledger, *sort, mapping, name, &target.programs);
                    if *sort == Sort::Shared {
                        anon.reserves.add_shared(mapping, name);
                    }
                }
            }
            before = Some(mapping);
        }
        if anon.has_ended() {
            return Err(GapWhy::Vanished);
        }
        counts.arenas = anon.arenas;
        let held = held.saturating_sub(anon.returned);
        let mut missing = Vec::new();
        anon.what_is_missing(held, &mut missing);
        let saw_all = anon.saw_all();
        Ok(Holdings {
            ledger: anon.ledger,
            reserves: saw_all.then_some(anon.reserves),
            counts,
            held,
            missing,
        })
    }
}

/// Mappings of files, devices and shared memory: their names say it all.
fn backed(ledger: &mut Ledger, sort: Sort, mapping: &Mapping, name: &str, programs: &Programs) {
    let of_file = mapping.rss.saturating_sub(mapping.anon);
    let file = taxonomy::file_name(name);
    if programs.files.contains(name) {
        ledger.add_member(Kind::Program, file, 1, mapping.anon);
    } else {
        ledger.add_member(Kind::FileDirty, file, 1, mapping.anon);
    }
    match sort {
        Sort::Shared => {
            ledger.add_member(Kind::Shared, &taxonomy::shared_name(name), 1, of_file);
        }
        Sort::Device => ledger.add_member(Kind::Device, file, 1, of_file),
        _ => ledger.add_member(Kind::FileClean, file, 1, of_file),
    }
}
