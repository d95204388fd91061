//! The one process to watch, chosen by evidence. `lowtide-sys` asks on every tick with what it has
//! just read; the choice moves only when another process has clearly more to show for itself.

use crate::process::{Facts, ProcId, Role};
use crate::units::Bytes;

/// A member of the tree with what was measured of it lately.
#[derive(Clone, Copy, Debug)]
pub struct Watchable<'a> {
    pub id: ProcId,
    pub role: Role,
    pub facts: &'a Facts,
    /// anon + shmem + swap now.
    pub held: Bytes,
    /// How much `held` rose lately.
    pub growth: Bytes,
    /// Cores used lately.
    pub cpu: f64,
    pub gpu: Option<Bytes>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    pub id: ProcId,
    pub why: String,
}

/// Points. Only their order matters: a GPU context outweighs libtorch, which outweighs any one of
/// the measured shares (conventions: GPU context, libtorch/libcuda, rank, memory, processor).
const GPU: f64 = 4.0;
const CUDA: f64 = 2.0;
const TORCH: f64 = 3.0;
const HELD: f64 = 2.0;
const GROWTH: f64 = 2.0;
const CPU: f64 = 1.0;
/// Ranks are alike; the lowest one logs and saves, so it is the one to watch among equals.
const FIRST_RANK: f64 = 0.25;

/// A challenger must lead by this much: more than noise in processor time and start-up growth
/// among equals can give, less than a real leak (2 points).
const LEAD: f64 = 1.25;

/// Smaller differences than this are noise between equals: a Python interpreter's own churn.
const NOTABLE_BYTES: f64 = 64e6;
/// Less than this is housekeeping.
const NOTABLE_CPU: f64 = 0.2;

/// Trainers first; a helper or a wrapper only when there is nothing better.
fn tier(role: Role) -> u8 {
    match role {
        Role::Trainer | Role::Rank { .. } => 3,
        Role::Other => 2,
        Role::LoaderWorker | Role::CompileWorker | Role::Logger => 1,
        Role::ResourceTracker | Role::Launcher => 0,
    }
}

/// Chooses among all members. `current` is the last choice, if any.
pub fn choose(candidates: &[Watchable<'_>], current: Option<ProcId>) -> Option<Choice> {
    let best_tier = candidates.iter().map(|c| tier(c.role)).max()?;
    let rivals = || candidates.iter().filter(|c| tier(c.role) == best_tier);
    let most = |of: fn(&Watchable<'_>) -> f64| rivals().map(of).fold(0.0, f64::max);
    let most_held = most(|c| c.held.as_f64());
    let most_growth = most(|c| c.growth.as_f64());
    let most_cpu = most(|c| c.cpu);

    let score = |c: &Watchable<'_>| {
        let mut score = 0.0;
        score += if c.gpu.is_some_and(|gpu| gpu > Bytes::ZERO) {
            GPU
        } else {
            0.0
        };
        score += if c.facts.libcuda { CUDA } else { 0.0 };
        score += if c.facts.libtorch { TORCH } else { 0.0 };
        score += HELD * c.held.as_f64() / most_held.max(NOTABLE_BYTES);
        score += GROWTH * c.growth.as_f64() / most_growth.max(NOTABLE_BYTES);
        score += CPU * c.cpu / most_cpu.max(NOTABLE_CPU);
        score += if matches!(c.role, Role::Rank { rank: 0, .. }) {
            FIRST_RANK
        } else {
            0.0
        };
        score
    };
    // Among equals the oldest, so that the answer does not depend on the order of the list.
    let best = rivals().max_by(|a, b| {
        score(a)
            .total_cmp(&score(b))
            .then_with(|| (b.id.start, b.id.pid).cmp(&(a.id.start, a.id.pid)))
    })?;
    let kept = current.and_then(|id| rivals().find(|c| c.id == id));
    let chosen = match kept {
        Some(kept) if score(best) < score(kept) + LEAD => kept,
        _ => best,
    };
    // Ranks are alike: the first stands for all unless another has clearly more to show.
    let first = rivals()
        .filter_map(|c| match c.role {
            Role::Rank { rank, .. } => Some((rank, c)),
            _ => None,
        })
        .min_by_key(|(rank, _)| *rank);
    let chosen = match (chosen.role, first) {
        (Role::Rank { .. }, Some((_, first))) if score(chosen) < score(first) + LEAD => first,
        _ => chosen,
    };

    let only = rivals().count() == 1;
    Some(Choice {
        id: chosen.id,
        why: why(chosen, only, most_held, most_growth),
    })
}

fn why(chosen: &Watchable<'_>, only: bool, most_held: f64, most_growth: f64) -> String {
    let mut reasons: Vec<&str> = Vec::new();
    if chosen.gpu.is_some_and(|gpu| gpu > Bytes::ZERO) {
        reasons.push("holds GPU memory");
    }
    if chosen.facts.libcuda {
        reasons.push("CUDA in use");
    }
    if chosen.facts.libtorch {
        reasons.push("libtorch mapped");
    }
    if only {
        reasons.push(match tier(chosen.role) {
            3 => "the only process that trains",
            _ => "nothing here is known to train",
        });
    } else {
        let growth = chosen.growth.as_f64();
        if growth >= most_growth && growth >= NOTABLE_BYTES {
            reasons.push("largest growth");
        }
        if chosen.held.as_f64() >= most_held {
            reasons.push("most memory");
        }
        if matches!(chosen.role, Role::Rank { rank: 0, .. }) {
            reasons.push("the first rank");
        }
        if reasons.is_empty() {
            reasons.push("no other has clearly more to show");
        }
    }
    reasons.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    const MB: u64 = 1_000_000;

    fn candidate(pid: u32, role: Role, facts: &Facts, held: u64) -> Watchable<'_> {
        Watchable {
            id: ProcId {
                pid,
                start: u64::from(pid),
            },
            role,
            facts,
            held: Bytes(held * MB),
            growth: Bytes::ZERO,
            cpu: 0.0,
            gpu: None,
        }
    }

    fn chosen(candidates: &[Watchable<'_>], current: Option<u32>) -> u32 {
        let current = current.map(|pid| ProcId {
            pid,
            start: u64::from(pid),
        });
        choose(candidates, current).unwrap().id.pid
    }

    #[test]
    fn the_wrapper_is_never_it_while_a_trainer_exists() {
        let facts = Facts::default();
        let mut wrapper = candidate(1, Role::Launcher, &facts, 9000);
        wrapper.growth = Bytes(5000 * MB);
        let trainer = candidate(2, Role::Trainer, &facts, 10);
        assert_eq!(chosen(&[wrapper, trainer], Some(1)), 2);
        assert_eq!(chosen(&[wrapper], None), 1);
        assert_eq!(choose(&[], None), None);
    }

    #[test]
    fn a_leaking_worker_does_not_take_the_trainers_place() {
        let facts = Facts {
            libtorch: true,
            ..Facts::default()
        };
        let trainer = candidate(2, Role::Trainer, &facts, 500);
        let mut worker = candidate(3, Role::LoaderWorker, &facts, 5000);
        worker.growth = Bytes(4000 * MB);
        assert_eq!(chosen(&[trainer, worker], None), 2);
    }

    #[test]
    fn libtorch_beats_a_larger_program_without_it() {
        let plain = Facts::default();
        let torch = Facts {
            libtorch: true,
            ..Facts::default()
        };
        let server = candidate(1, Role::Trainer, &plain, 2000);
        let late = candidate(9, Role::Trainer, &torch, 1000);
        assert_eq!(chosen(&[server, late], Some(1)), 9);
    }

    #[test]
    fn equals_keep_the_choice_and_a_leaking_rank_takes_it() {
        let facts = Facts {
            libtorch: true,
            ..Facts::default()
        };
        let first = candidate(10, Role::Rank { rank: 0, world: 2 }, &facts, 1000);
        let mut second = candidate(11, Role::Rank { rank: 1, world: 2 }, &facts, 1050);
        assert_eq!(chosen(&[second, first], None), 10);
        second.cpu = 1.0;
        assert_eq!(
            chosen(&[first, second], Some(10)),
            10,
            "noise moves nothing"
        );
        second.growth = Bytes(800 * MB);
        assert_eq!(chosen(&[first, second], Some(10)), 11, "a leak does");
    }

    #[test]
    fn reasons_are_given() {
        let torch = Facts {
            libtorch: true,
            ..Facts::default()
        };
        let plain = Facts::default();
        let trainer = candidate(2, Role::Trainer, &torch, 500);
        let other = candidate(3, Role::Trainer, &plain, 100);
        assert_eq!(
            choose(&[trainer, other], None).unwrap().why,
            "libtorch mapped, most memory"
        );
        assert_eq!(
            choose(&[other], None).unwrap().why,
            "the only process that trains"
        );
    }
}
