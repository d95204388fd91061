//! Odd and hostile processes: huge address spaces, denied reads, a process that ends under the look.

use std::process::Command;
use std::time::Duration;

use lowtide_core::look::{MemoryClass, Missing};
use lowtide_core::sample::GapWhy;
use lowtide_testing::Starts;

use crate::job::Job;
use crate::{LONG, held, id, layout, look_into, near, sum, target, try_look};

#[test]
fn huge_address_spaces_are_listed_and_not_gone_through() {
    let mut job = target("many");
    job.until("ready");
    let look = look_into(&job);
    // vm.max_map_count is 65,530 by default.
    assert!(
        layout(&look).counts.maps > 60_000,
        "{}",
        layout(&look).counts.maps
    );
    assert!(near(sum(&look), held(&look), 0.02), "{look:#?}");
    assert!(
        look.bytes(MemoryClass::OtherAnon).as_f64() > 3e6,
        "{look:#?}"
    );
    let said = look
        .missing
        .iter()
        .any(|what| matches!(what, Missing::Sparse { bytes } if near(bytes.as_f64(), 3e6, 0.02)));
    assert!(said, "{:?}", look.missing);
}

#[test]
fn time_that_runs_out_is_said() {
    let mut job = target("many");
    job.until("ready");
    let look = try_look(id(job.pid()), Duration::ZERO).unwrap();
    assert!(look.missing.iter().any(Missing::is_cut_short), "{look:#?}");
}

/// Another user's process cannot even be listed; that is a gap with its reason.
#[test]
fn denied_reads_are_gaps_or_said() {
    let nobody = 65534;
    if !rustix::process::getuid().is_root() {
        let mut job = target("undumpable");
        job.until("ready");
        let gap = try_look(id(job.pid()), LONG).unwrap_err();
        assert_eq!(gap.why, GapWhy::Denied);
        return;
    }
    // As root: a helper that becomes nobody and looks at a process of root's.
    let mut job = target("undumpable");
    job.until("ready");
    let output = Command::new("setpriv")
        .args([format!("--reuid={nobody}"), "--clear-groups".to_owned()])
        .arg(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "odd::look_from_outside",
            "--ignored",
            "--nocapture",
        ])
        .env("LOOK_AT", job.pid().to_string())
        .finish();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("why: Denied"), "{output:?}");
}

#[test]
#[ignore = "a part of denied_reads_are_gaps_or_said, run as another user"]
fn look_from_outside() {
    let pid = std::env::var("LOOK_AT").unwrap().parse().unwrap();
    println!("{:?}", try_look(id(pid), LONG));
}

#[test]
fn a_process_that_ends_is_a_gap() {
    let mut job = Job::python("print('ready', flush=True); input()");
    job.until("ready");
    let id = id(job.pid());
    let (looked, first) = std::sync::mpsc::channel();
    let looks = std::thread::spawn(move || {
        loop {
            match try_look(id, LONG) {
                Ok(_) => looked.send(()).unwrap_or(()),
                Err(gap) => return gap,
            }
        }
    });
    first.recv().unwrap();
    // Looks go on while it is killed and collected.
    drop(job);
    let gap = looks.join().unwrap();
    assert_eq!((gap.who, gap.why), (Some(id), GapWhy::Vanished));
}
