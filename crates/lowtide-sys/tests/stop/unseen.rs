//! What a process sees of being stopped, many times over: nothing but the calls that are listed.

use lowtide_sys::stop::while_stopped;

use super::*;

/// Numbered signals are sent to it without a pause. Many of the threads stop when they are about to get one.
#[test]
fn no_signal_is_lost_or_comes_twice() {
    let mut job = target(&["signals"]);
    job.until("ready");
    for _ in 0..200 {
        while_stopped(job.pid(), LONG, |_| ()).unwrap();
    }
    job.tell();
    let counts = job.until("done");
    let counts: Vec<u64> = counts
        .split(' ')
        .map(|word| word.parse().unwrap())
        .collect();
    let [sent, sum, arrived, sum_arrived] = counts[..] else {
        panic!("{counts:?}");
    };
    assert!(sent > 200);
    assert_eq!((arrived, sum_arrived), (sent, sum));
}

/// The kernel begins some system calls anew after a stop and has others return EINTR: the two lists of
/// the module's opening.
#[test]
fn some_calls_are_interrupted_and_others_are_not() {
    let mut job = target(&["calls"]);
    job.until("ready");
    for _ in 0..20 {
        until("all threads to wait", || {
            let threads = std::fs::read_dir(format!("/proc/{}/task", job.pid())).unwrap();
            let mut threads = threads.map(|thread| {
                let text = std::fs::read(thread.unwrap().path().join("stat")).unwrap();
                stat::parse(&text).unwrap().state
            });
            threads.all(|state| state == b'S').then_some(())
        });
        while_stopped(job.pid(), LONG, |_| ()).unwrap();
    }
    job.tell();
    let counts = job.until("done");
    let (interrupted, anew): (Vec<_>, Vec<_>) = (counts.split(' '))
        .map(|count| count.split_once('=').unwrap())
        .partition(|(_, count)| count.parse::<u32>().unwrap() > 0);
    let names = |list: Vec<(&str, &str)>| {
        list.into_iter()
            .map(|(name, _)| name.to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(
        names(interrupted),
        ["epoll_wait", "sigtimedwait", "semtimedop", "recv", "accept"]
    );
    assert_eq!(
        names(anew),
        ["read", "poll", "select", "futex", "nanosleep", "wait4"]
    );
}

#[test]
fn threads_and_processes_come_and_go() {
    let mut job = target(&["births"]);
    job.until("ready");
    for _ in 0..200 {
        while_stopped(job.pid(), LONG, |_| ()).unwrap();
    }
    job.tell();
    let counts = job.until("done");
    assert!(counts.split(' ').all(|count| count != "0"), "{counts}");
}

/// An exec ends all other threads, those that are held among them, while the one that calls it keeps others from
/// being taken: the deadline must get both out of it.
#[test]
fn a_process_becomes_another_program() {
    let mut job = target(&["becomes", "60"]);
    let pid = job.pid();
    let done = std::sync::atomic::AtomicBool::new(false);
    let stops = std::thread::scope(|scope| {
        let stops = scope.spawn(|| {
            let mut stops = 0;
            while !done.load(std::sync::atomic::Ordering::Relaxed) {
                stops += u32::from(
                    while_stopped(pid, std::time::Duration::from_millis(100), |_| ()).is_ok(),
                );
            }
            stops
        });
        job.until("done");
        done.store(true, std::sync::atomic::Ordering::Relaxed);
        stops.join().unwrap()
    });
    assert!(stops > 0);
}

#[test]
fn results_are_the_same() {
    let mut alone = target(&["sums"]);
    let expected = alone.until("done");
    let mut job = target(&["sums"]);
    job.until("ready");
    for _ in 0..200 {
        if while_stopped(job.pid(), LONG, |_| ()).is_err() {
            // It was quicker than we: then the last stops are missing, and the first have been.
            break;
        }
    }
    assert_eq!(job.until("done"), expected);
}
