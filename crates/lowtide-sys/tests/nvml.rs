//! NVML by a stand-in library that is compiled here: the real loader and the real calls, without a GPU.

use std::path::PathBuf;
use std::process::Command;

use lowtide_testing::Starts;
use std::time::Duration;

use lowtide_core::sample::{Gap, GapWhy};
use lowtide_core::units::{Bytes, Micros};
use lowtide_sys::gpu::nvml::Watch;

fn stand_in(directory: &tempfile::TempDir) -> PathBuf {
    let library = directory.path().join("libstand-in-nvml.so");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/nvml_stand_in.c");
    let status = Command::new("cc")
        .args(["-shared", "-fPIC", "-o"])
        .arg(&library)
        .arg(source)
        .ends();
    assert!(status.success());
    library
}

#[test]
fn devices_and_processes_are_read() {
    let directory = tempfile::tempdir().unwrap();
    let mut watch = Watch::start(Some(stand_in(&directory).into()));
    let mut gaps = Vec::new();
    let answer = loop {
        if let Some(answer) = watch.latest(Micros(0), &mut gaps) {
            break answer.clone();
        }
        assert!(!watch.is_over(), "the library was not loaded");
        std::thread::yield_now();
    };
    assert_eq!(answer.devices.len(), 2);
    assert_eq!(answer.devices[1].name, "Stand-in GPU");
    assert_eq!(
        (answer.devices[1].used, answer.devices[1].total),
        (Bytes(200), Bytes(1000))
    );
    assert_eq!(
        answer.by_pid.get(&4242),
        Some(&Bytes(80)),
        "the sum over both devices"
    );
    assert!(gaps.is_empty());
}

#[test]
fn no_driver_is_normal() {
    let mut watch = Watch::start(Some("/nowhere/libnvidia-ml.so".into()));
    let mut gaps: Vec<Gap> = Vec::new();
    while !watch.is_over() {
        assert!(watch.latest(Micros(0), &mut gaps).is_none());
        std::thread::sleep(Duration::from_millis(1));
    }
    assert!(gaps.is_empty());
}

/// The driver hangs in this test's second copy of itself, because it would never let go of the thread.
#[test]
fn a_driver_that_hangs_is_late_and_stops_nobody() {
    const BLOCKS: &str = "LOWTIDE_STAND_IN_BLOCKS";
    if std::env::var_os(BLOCKS).is_none() {
        let status = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "a_driver_that_hangs_is_late_and_stops_nobody"])
            .env(BLOCKS, "1")
            .ends();
        assert!(status.success());
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let mut watch = Watch::start(Some(stand_in(&directory).into()));
    let mut gaps = Vec::new();
    assert!(watch.latest(Micros(0), &mut gaps).is_none() && gaps.is_empty());
    assert!(watch.latest(Micros(6_000_000), &mut gaps).is_none());
    assert_eq!(gaps[0].why, GapWhy::Late);
}
