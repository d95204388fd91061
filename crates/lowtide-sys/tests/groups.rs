//! Control groups: the machine's own hierarchy as it is, v2 by a folder that looks like one
//! (this project's machines may have the memory controller on v1), and both limits in action.

use std::fs;
use std::path::Path;

use lowtide_core::units::{Bytes, Micros};
use lowtide_sys::cgroup::{Groups, Whose};
use lowtide_sys::proc::Proc;

fn write(root: &Path, name: &str, text: &str) {
    let path = root.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// A stand-in for a v2 machine: process 7 in `/job/step`, limits on `/job`.
fn v2() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    write(
        root,
        "proc/self/mountinfo",
        "41 31 0:38 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
    );
    write(root, "proc/7/cgroup", "0::/job/step\n");
    for (group, current) in [("job/step", 1000), ("job", 3000)] {
        let file = |name: &str| format!("sys/fs/cgroup/{group}/{name}");
        write(root, &file("memory.current"), &format!("{current}\n"));
        write(
            root,
            &file("memory.stat"),
            "anon 600\nfile 250\nkernel 90\nshmem 50\ninactive_file 10\n",
        );
        write(
            root,
            &file("memory.max"),
            if group == "job" { "5000\n" } else { "max\n" },
        );
        write(root, &file("memory.high"), "max\n");
        write(root, &file("memory.swap.current"), "7\n");
        write(root, &file("memory.swap.max"), "0\n");
        write(
            root,
            &file("memory.events"),
            "low 0\nhigh 0\nmax 4\noom 1\noom_kill 2\n",
        );
        write(
            root,
            &file("memory.pressure"),
            "some avg10=1.50 avg60=0.00 avg300=0.00 total=9\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=1\n",
        );
        write(
            root,
            &file("cgroup.procs"),
            if group == "job" { "" } else { "7\n8\n" },
        );
    }
    // The real root of v2 has no memory.current.
    write(root, "sys/fs/cgroup/memory.stat", "anon 1\n");
    directory
}

#[test]
fn v2_groups_are_read_up_to_the_root() {
    let directory = v2();
    let proc = Proc::at(directory.path().join("proc")).unwrap();
    let mut groups = Groups::of_below(&proc, 7, directory.path()).unwrap();
    let mut out = Vec::new();
    groups.read(Micros(0), &mut out);
    let paths: Vec<&str> = out.iter().map(|group| group.path.as_str()).collect();
    assert_eq!(paths, ["/job/step", "/job"]);
    assert_eq!((out[0].max, out[1].max), (None, Some(Bytes(5000))));
    let leaf = &out[0];
    assert_eq!(leaf.current, Bytes(1000));
    assert_eq!(leaf.anon, Some(Bytes(600)));
    assert_eq!(
        leaf.file,
        Some(Bytes(200)),
        "v2 counts shared memory as file"
    );
    assert_eq!(leaf.shmem, Some(Bytes(50)));
    assert_eq!(leaf.kernel, Some(Bytes(90)));
    assert_eq!((leaf.swap, leaf.swap_max), (Some(Bytes(7)), Some(Bytes(0))));
    assert_eq!((leaf.limit_hits, leaf.oom_kills), (Some(4), Some(2)));
    assert_eq!(leaf.pressure.unwrap().some_avg10, 1.5);

    // A moved limit is seen some seconds later, the counters at once.
    write(directory.path(), "sys/fs/cgroup/job/memory.max", "9000\n");
    write(
        directory.path(),
        "sys/fs/cgroup/job/memory.current",
        "3500\n",
    );
    groups.read(Micros(1_000_000), &mut out);
    assert_eq!(
        (out[1].current, out[1].max),
        (Bytes(3500), Some(Bytes(5000)))
    );
    groups.read(Micros(6_000_000), &mut out);
    assert_eq!(out[1].max, Some(Bytes(9000)));
}

#[test]
fn a_group_is_ours_alone_when_it_holds_the_whole_tree_and_nobody_else() {
    let directory = v2();
    let proc = Proc::at(directory.path().join("proc")).unwrap();
    let mut groups = Groups::of_below(&proc, 7, directory.path()).unwrap();
    let mut ours = |members: usize, whose: &dyn Fn(u32) -> Whose| {
        groups.check_only_ours(members, whose);
        let mut out = Vec::new();
        groups.read(Micros(0), &mut out);
        (out[0].only_ours, out[1].only_ours)
    };
    assert_eq!(ours(2, &|_| Whose::Tree), (true, true));
    assert_eq!(
        ours(3, &|_| Whose::Tree),
        (false, false),
        "one member is elsewhere"
    );
    let helper = |pid| if pid == 8 { Whose::Helper } else { Whose::Tree };
    assert_eq!(ours(1, &helper), (true, true));
    let stranger = |pid| {
        if pid == 8 {
            Whose::Stranger
        } else {
            Whose::Tree
        }
    };
    assert_eq!(ours(1, &stranger), (false, false));
    // A stranger in a group further up concerns only that one.
    write(directory.path(), "sys/fs/cgroup/job/cgroup.procs", "99\n");
    let above = |pid| {
        if pid == 99 {
            Whose::Stranger
        } else {
            Whose::Tree
        }
    };
    assert_eq!(ours(2, &above), (true, false));
}

#[test]
fn the_groups_of_this_machine_can_be_read() {
    let proc = Proc::at("/proc").unwrap();
    // A machine without a memory controller is a machine without groups, no error.
    let Some(mut groups) = Groups::of(&proc, std::process::id()) else {
        return;
    };
    let mut out = Vec::new();
    groups.read(Micros(0), &mut out);
    for group in &out {
        assert!(group.path.starts_with('/'));
        assert!(group.anon.is_some() && group.file.is_some(), "{group:?}");
        assert!(
            group.max.is_none_or(|max| max.0 < 1 << 60),
            "no limit is none: {group:?}"
        );
    }
}
