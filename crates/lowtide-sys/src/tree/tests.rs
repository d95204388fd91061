//! Who is ours, on small fake trees: by listing everybody, and by the kernel's lists of children.

use super::*;
use lowtide_core::sample::Sample;
use lowtide_core::units::Micros;

use crate::proc::fixture::{Fake, Fixture};
use crate::sampler::{Options, Sampler};

/// A tree over a fixture; `update` gives the pids that joined.
struct Case {
    fixture: Fixture,
    tree: Tree,
}

impl Case {
    fn new(roots: &[u32], subreaper: Option<u32>, fakes: &[Fake]) -> Case {
        let fixture = Fixture::new();
        for fake in fakes {
            fixture.put(fake);
        }
        Case {
            fixture,
            tree: Tree::new(roots, subreaper),
        }
    }

    fn update(&mut self) -> Vec<u32> {
        let mut joined = Vec::new();
        self.tree.update(&self.fixture.proc(), &mut joined).unwrap();
        joined.iter().map(|joined| joined.id.pid).collect()
    }
}

fn fake(pid: u32, parent: u32) -> Fake {
    Fake::new(pid, parent, &["python", "train.py"])
}

#[test]
fn children_join_even_when_listed_before_their_parents() {
    // Pid numbers have come round: the child's is the smallest.
    let mut case = Case::new(
        &[500],
        None,
        &[
            fake(1, 0),
            fake(20, 90),
            fake(90, 500),
            fake(500, 1),
            fake(600, 1),
        ],
    );
    let joined = case.update();
    assert_eq!(joined, [500, 90, 20]);
    case.fixture.put(&fake(700, 20));
    assert_eq!(case.update(), [700]);
}

#[test]
fn orphans_join_by_the_subreaper_or_by_a_session_that_a_member_founded() {
    let mut orphan = fake(30, 7);
    orphan.session = 29;
    let mut case = Case::new(
        &[10],
        Some(7),
        &[fake(1, 0), fake(7, 1), fake(10, 7), orphan],
    );
    assert_eq!(case.update(), [10, 30]);

    let mut daemon = fake(31, 1);
    daemon.session = 10;
    let mut stranger = fake(32, 1);
    stranger.session = 29;
    let mut case = Case::new(&[10], None, &[fake(1, 0), fake(10, 1), daemon, stranger]);
    assert_eq!(case.update(), [10, 31]);
}

#[test]
fn the_session_leader_between_keeper_and_job_is_not_ours() {
    let fakes = [
        fake(1, 0),
        fake(7, 1),
        fake(8, 7),
        fake(10, 8),
        fake(11, 10),
    ];
    let mut case = Case::new(&[10], Some(7), &fakes);
    case.tree = case.tree.without(&[8]);
    assert_eq!(case.update(), [10, 11]);
}

#[test]
fn the_other_half_of_a_pipe_is_not_ours() {
    let shell = fake(5, 1);
    let mut train = fake(10, 5);
    train.session = 5;
    let mut tee = fake(11, 5);
    (tee.session, tee.group) = (5, 10);
    let mut case = Case::new(&[10], None, &[fake(1, 0), shell, train, tee]);
    assert_eq!(case.update(), [10]);
}

#[test]
fn a_reused_pid_is_another_process() {
    let mut case = Case::new(
        &[10],
        None,
        &[fake(1, 0), fake(10, 1), fake(11, 10), fake(40, 1)],
    );
    assert_eq!(case.update(), [10, 11]);
    // A member's pid comes again, for a stranger.
    case.tree.left(ProcId {
        pid: 11,
        start: 1011,
    });
    let mut again = fake(11, 1);
    again.start = 9000;
    case.fixture.put(&again);
    assert!(case.update().is_empty());
    assert!(!case.tree.contains(11));
    // A stranger's pid comes again, for one of ours: seen when its turn comes.
    let mut ours = fake(40, 10);
    ours.start = 9001;
    case.fixture.put(&ours);
    let laps: Vec<u32> = (0..3).flat_map(|_| case.update()).collect();
    assert_eq!(laps, [40]);
}

#[test]
fn a_child_whose_parent_vanished_is_read_again() {
    let mut case = Case::new(
        &[10],
        Some(7),
        &[fake(1, 0), fake(7, 1), fake(10, 7), fake(30, 29)],
    );
    assert_eq!(case.update(), [10], "its parent 29 is nowhere to be seen");
    case.fixture.put(&fake(30, 7));
    assert_eq!(case.update(), [30]);
}

#[test]
fn a_member_that_has_ended_does_not_join_again() {
    let mut case = Case::new(&[10], None, &[fake(1, 0), fake(10, 1), fake(11, 10)]);
    case.update();
    let dead = std::fs::read_to_string(case.fixture.root().join("11/stat")).unwrap();
    case.fixture.write("11/stat", dead.replace(") S ", ") Z "));
    case.tree.left(ProcId {
        pid: 11,
        start: 1011,
    });
    assert!(case.update().is_empty());
}

#[test]
fn nothing_is_listed_while_no_pid_was_given_out() {
    let mut case = Case::new(&[10], None, &[fake(1, 0), fake(10, 1)]);
    case.fixture.write("loadavg", "0.1 0.1 0.1 1/100 500\n");
    assert_eq!(case.update(), [10]);
    case.fixture.put(&fake(11, 10));
    assert!(case.update().is_empty(), "the counter has not moved");
    case.fixture.write("loadavg", "0.1 0.1 0.1 1/100 501\n");
    assert_eq!(case.update(), [11]);
}

/// The same by the kernel's lists of children.
impl Case {
    fn told(roots: &[u32], subreaper: Option<u32>, fakes: &[Fake]) -> Case {
        let case = Case::new(roots, subreaper, fakes);
        case.fixture.tell_children();
        case.tell();
        case
    }

    /// Writes the lists anew, of the parents that the fakes' `stat` names.
    fn tell(&self) {
        let proc = self.fixture.proc();
        let mut pids = Vec::new();
        proc.pids(&mut pids).unwrap();
        let mut tree = Tree::new(&[], None);
        let parent_of = |tree: &mut Tree, pid: u32| {
            // One that hangs is a child of the first process.
            let hangs = !self.fixture.root().join(format!("{pid}/stat")).is_file();
            if hangs {
                Some(1)
            } else {
                Some(tree.read(&proc, pid)?.parent)
            }
        };
        for parent in &pids {
            let children: Vec<u32> = (pids.iter().copied())
                .filter(|pid| parent_of(&mut tree, *pid) == Some(*parent))
                .collect();
            // Made by different threads.
            let (first, second) = children.split_at(children.len() / 2);
            self.fixture.children(*parent, &[first, second]);
        }
    }
}

#[test]
fn a_tick_comes_though_a_stranger_hangs() {
    for subreaper in [None, Some(7)] {
        let mut orphan = fake(30, subreaper.unwrap_or(1));
        orphan.session = 10;
        let case = Case::told(
            &[10],
            subreaper,
            &[
                fake(1, 0),
                fake(7, 1),
                fake(10, 7),
                fake(11, 10),
                orphan,
                fake(66, 1),
            ],
        );
        for file in ["stat", "status", "cmdline", "environ", "maps", "comm"] {
            case.fixture.hang(66, file);
        }
        let (tell, told) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            let mut sampler = Sampler::new(Options {
                subreaper,
                proc: case.fixture.root().to_owned(),
                gpus: false,
                ..Options::new(vec![10])
            })
            .unwrap();
            let mut sample = Sample::default();
            for second in 1..40 {
                sampler
                    .tick(Micros(second * 1_000_000), &mut sample)
                    .unwrap();
            }
            let pids: Vec<u32> = sample.readings.iter().map(|r| r.id.pid).collect();
            let _ = tell.send(pids);
        });
        // Patience for a busy machine: what hangs hangs for ever.
        let members = told.recv_timeout(std::time::Duration::from_secs(60));
        assert_eq!(members.as_deref(), Ok(&[10, 11, 30][..]), "{subreaper:?}");
    }
}

/// Roots, subreaper, helpers, and everybody.
type Scene<'a> = (&'a [u32], Option<u32>, &'a [u32], Vec<Fake>);

#[test]
fn the_kernels_lists_find_whom_the_listing_finds() {
    let mut daemon = fake(31, 1);
    daemon.session = 10;
    let mut stranger = fake(32, 1);
    stranger.session = 29;
    let mut tee = fake(12, 5);
    (tee.session, tee.group) = (5, 10);
    let mut shell_child = fake(10, 5);
    (shell_child.session, shell_child.group) = (5, 10);
    let mut late = fake(33, 20);
    late.session = 10;
    let scenes: [Scene<'_>; 4] = [
        (
            &[500],
            None,
            &[],
            vec![
                fake(1, 0),
                fake(20, 90),
                fake(90, 500),
                fake(500, 1),
                fake(600, 1),
            ],
        ),
        (
            &[10],
            Some(7),
            &[8],
            vec![
                fake(1, 0),
                fake(7, 1),
                fake(8, 7),
                fake(10, 8),
                fake(11, 10),
                fake(30, 7),
            ],
        ),
        (
            &[10],
            None,
            &[],
            vec![fake(1, 0), fake(10, 1), daemon, fake(34, 31), stranger],
        ),
        // Adopted by a manager in another session; and the other half of a pipe.
        (
            &[10],
            None,
            &[],
            vec![fake(1, 0), fake(20, 1), fake(5, 20), shell_child, tee, late],
        ),
    ];
    for (roots, subreaper, helpers, fakes) in scenes {
        let mut listed = Case::new(roots, subreaper, &fakes);
        listed.tree = listed.tree.without(helpers);
        let mut told = Case::told(roots, subreaper, &fakes);
        told.tree = told.tree.without(helpers);
        let (mut by_listing, mut by_children) = (listed.update(), told.update());
        by_listing.sort_unstable();
        by_children.sort_unstable();
        assert_eq!(by_children, by_listing);
        assert!(!by_children.is_empty());
    }
}

#[test]
fn an_orphan_is_found_when_its_subreaper_is_gone() {
    let mut case = Case::told(&[10], Some(7), &[fake(1, 0), fake(7, 1), fake(10, 7)]);
    assert_eq!(case.update(), [10]);
    std::fs::remove_dir_all(case.fixture.root().join("7")).unwrap();
    let mut orphan = fake(30, 1);
    orphan.session = 10;
    case.fixture.put(&orphan);
    case.tell();
    assert_eq!(case.update(), [30]);
}

#[test]
fn a_session_is_no_longer_ours_when_its_number_is_anothers() {
    let mut case = Case::told(&[10], None, &[fake(1, 0), fake(10, 1)]);
    assert_eq!(case.update(), [10]);
    case.tree.left(ProcId {
        pid: 10,
        start: 1010,
    });
    let (mut again, mut child) = (fake(10, 1), fake(30, 1));
    (again.start, child.session) = (9000, 10);
    case.fixture.put(&again);
    case.fixture.put(&child);
    case.tell();
    assert!(case.update().is_empty());
}

#[test]
fn children_are_asked_for_once_more_after_something_was_made() {
    let mut case = Case::told(&[10], None, &[fake(1, 0), fake(10, 1)]);
    case.fixture.write("loadavg", "0.1 0.1 0.1 1/100 500\n");
    assert_eq!(case.update(), [10]);
    // The list had left it out: somebody else had ended meanwhile.
    case.fixture.put(&fake(11, 10));
    case.tell();
    assert_eq!(case.update(), [11]);
    case.fixture.put(&fake(12, 10));
    case.tell();
    assert!(case.update().is_empty(), "the counter has not moved");
}
