//! Roles of a whole tree at once: parents before children, and wrappers once it is known what runs
//! below them.

use std::collections::{HashMap, HashSet};

use super::roles::{self, Kin};
use crate::process::{Member, ProcId, Role};

/// The role of every member and why it has it, in the order given. What a role was known by may end before
/// its process: those whose parent has ended keep what they were called before.
pub fn assign(members: &[&Member]) -> Vec<(Role, String)> {
    let index: HashMap<ProcId, usize> = members
        .iter()
        .enumerate()
        .map(|(index, member)| (member.id, index))
        .collect();
    let parent_of = |at: usize| {
        let parent = members[at].parent?;
        index.get(&parent).copied().filter(|found| *found != at)
    };
    let orphaned = |at: usize| members[at].parent.is_some() && parent_of(at).is_none();
    let mut order: Vec<usize> = (0..members.len()).collect();
    order.sort_by_key(|at| (members[*at].id.start, members[*at].id.pid));

    let mut called: Vec<(Role, String)> = vec![(Role::Other, String::new()); members.len()];
    let mut trains_below: HashSet<usize> = HashSet::new();
    // Twice: what trains below is known only once the roles below are.
    for _ in 0..2 {
        for at in &order {
            if orphaned(*at) && roles::outlives_parent(members[*at]) {
                called[*at] = (members[*at].role, members[*at].why.clone());
                continue;
            }
            let kin = Kin {
                parent: parent_of(*at).map(|parent| (&members[parent].facts, called[parent].0)),
                trains_below: trains_below.contains(at),
            };
            called[*at] = roles::call(&members[*at].facts, kin);
        }
        for at in &order {
            if !roles::clearly_trains(&members[*at].facts, called[*at].0) {
                continue;
            }
            let mut above = parent_of(*at);
            while let Some(parent) = above {
                if !trains_below.insert(parent) {
                    break;
                }
                above = parent_of(parent);
            }
        }
    }
    called
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::Facts;

    fn member(pid: u32, parent: u32, command: &str, libtorch: bool, forked: bool) -> Member {
        let id = |pid: u32| ProcId {
            pid,
            start: u64::from(pid),
        };
        Member {
            id: id(pid),
            parent: (parent > 0).then(|| id(parent)),
            facts: Facts {
                argv: command.split(' ').map(str::to_owned).collect(),
                libtorch,
                forked,
                ..Facts::default()
            },
            role: Role::Other,
            why: String::new(),
        }
    }

    #[test]
    fn a_wrapper_in_python_steps_back_when_the_trainer_shows_itself() {
        let early = [
            member(1, 0, "python server.py", false, false),
            member(2, 1, "python train.py", false, false),
            member(3, 2, "python train.py", false, true),
        ];
        let roles = |tree: &[Member]| -> Vec<Role> {
            let members: Vec<&Member> = tree.iter().collect();
            assign(&members).into_iter().map(|(role, _)| role).collect()
        };
        assert_eq!(
            roles(&early),
            [Role::Trainer, Role::Trainer, Role::LoaderWorker]
        );
        let mut late = early;
        late[1].facts.libtorch = true;
        late[2].facts.libtorch = true;
        assert_eq!(
            roles(&late),
            [Role::Launcher, Role::Trainer, Role::LoaderWorker]
        );
    }
    /// Calls all roles and remembers them, as the sampler does.
    fn call(tree: &mut [Member]) {
        let called = assign(&tree.iter().collect::<Vec<_>>());
        for (member, (role, why)) in tree.iter_mut().zip(called) {
            (member.role, member.why) = (role, why);
        }
    }

    #[test]
    fn workers_stay_workers_when_the_trainer_is_killed() {
        let mut tree = vec![
            member(1, 0, "sh -c train", false, false),
            member(2, 1, "python train.py", true, false),
            member(3, 2, "python train.py", true, true),
            member(4, 3, "python train.py", true, true),
            member(5, 2, "python upload.py", false, false),
        ];
        let roles = |tree: &[Member]| tree.iter().map(|one| one.role).collect::<Vec<_>>();
        call(&mut tree);
        let helpers = [Role::LoaderWorker, Role::LoaderWorker, Role::Other];
        assert_eq!(roles(&tree)[2..], helpers);
        tree.remove(1);
        // And at every later look.
        for _ in 0..3 {
            call(&mut tree);
            assert_eq!(roles(&tree)[1..], helpers);
        }
        // One that runs another program from here on is called by what it shows itself.
        tree[1] = Member {
            role: tree[1].role,
            why: tree[1].why.clone(),
            ..member(3, 2, "python next_stage.py", true, false)
        };
        call(&mut tree);
        assert_eq!(tree[1].role, Role::Trainer);
    }
}
