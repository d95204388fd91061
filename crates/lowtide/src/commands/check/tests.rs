//! `lowtide check` around its criteria: the file with bounds, exit codes, JUnit.

use std::fs;

use super::*;
use crate::source::from_bytes;

#[test]
fn the_nearest_file_with_bounds_fills_what_flags_leave_open() {
    let root = tempfile::tempdir().unwrap();
    let inner = root.path().join("a/b");
    fs::create_dir_all(&inner).unwrap();
    fs::write(
        root.path().join("lowtide.toml"),
        "[check]\nmax-swing = \"500MB\"\nsettled-by = \"step:90\"\nmin-steps = 120\nbaseline = \"base.csv\"\n",
    )
    .unwrap();
    // One without bounds does not hide the one above.
    fs::write(inner.join("pyproject.toml"), "[tool.other]\nx = 1\n").unwrap();
    let flags = CheckFlags {
        max_swing: Some(Bytes(7)),
        ..CheckFlags::default()
    };
    let full = flags.completed(&inner).unwrap();
    assert_eq!(full.max_swing, Some(Bytes(7)));
    assert_eq!(full.settled_by, "step:90".parse().ok());
    assert_eq!(full.min_steps, Some(120.0));
    assert!(full.baseline.as_ref().unwrap().ends_with("base.csv"));

    fs::write(
        inner.join("pyproject.toml"),
        "[tool.lowtide.check]\non-inconclusive = \"pass\"\nfits = true\n",
    )
    .unwrap();
    let near = CheckFlags::default().completed(&inner).unwrap();
    assert_eq!(near.on_inconclusive, Some(OnInconclusive::Pass));
    assert_eq!(near.max_swing, None);
    assert!(near.fits && near.criteria().fits && !full.fits);
}

#[test]
fn a_wrong_word_in_the_file_names_the_file() {
    let root = tempfile::tempdir().unwrap();
    for text in [
        "[check]\nmax-swign = \"500MB\"\n",
        "[check]\nmax-swing = \"lots\"\n",
        "[check]\non-inconclusive = \"maybe\"\n",
    ] {
        fs::write(root.path().join("lowtide.toml"), text).unwrap();
        let error = CheckFlags::default().completed(root.path()).unwrap_err();
        assert!(format!("{error:#}").contains("lowtide.toml"), "{error:#}");
    }
}

#[test]
fn exit_codes() {
    assert_eq!(exit_code(Outcome::Pass, None), 0);
    assert_eq!(exit_code(Outcome::Fail, None), 1);
    assert_eq!(exit_code(Outcome::Inconclusive, None), 3);
    assert_eq!(
        exit_code(Outcome::Inconclusive, Some(OnInconclusive::Pass)),
        0
    );
    assert_eq!(
        exit_code(Outcome::Inconclusive, Some(OnInconclusive::Fail)),
        1
    );
}

#[test]
fn a_check_writes_junit() {
    let root = tempfile::tempdir().unwrap();
    let junit = root.path().join("junit.xml");
    let log: String = (1..=24)
        .map(|i| {
            format!(
                "Step {}: RAM: {} MB\n",
                i * 10,
                4000 + (i * 10).min(83) * 165
            )
        })
        .collect();
    let judged = from_bytes(log.as_bytes(), "train.log", &Said::default()).unwrap();
    let asked = CheckFlags {
        settled_by: "step:90".parse().ok(),
        max_swing: "500MB".parse().ok(),
        max_peak: "1GB".parse().ok(),
        min_steps: Some(120.0),
        junit: Some(junit.clone()),
        ..CheckFlags::default()
    };
    assert_eq!(finish(&asked, &judged, None).unwrap(), 1);
    let xml = fs::read_to_string(junit).unwrap();
    assert!(xml.contains("tests=\"5\" failures=\"1\""), "{xml}");
    assert!(
        xml.contains("<failure type=\"max-peak\" message=\"peak"),
        "{xml}"
    );
}

#[test]
fn the_founding_plateau_test_is_one_line() {
    let asked = CheckFlags {
        settled_by: "step:90".parse().ok(),
        max_swing: "500MB".parse().ok(),
        min_steps: Some(120.0),
        ..CheckFlags::default()
    };
    let said = Said {
        steps_expected: asked.speaks_of_steps(),
        ..Said::default()
    };
    // A table whose axis is a bare `t`, as the founding team kept it: the bounds say that it is steps.
    let rows = |until: u32| -> String {
        let row = |i: u32| {
            format!(
                "{},{}\n",
                i * 10,
                4000 + (i * 10).min(83) * 165 + i * 7 % 13
            )
        };
        format!(
            "t,value_mb\n{}",
            (1..=until / 10).map(row).collect::<String>()
        )
    };
    for (until, code) in [(120, 0), (240, 0), (70, 3)] {
        let judged = from_bytes(rows(until).as_bytes(), "log", &said).unwrap();
        assert_eq!(
            finish(&asked, &judged, None).unwrap(),
            code,
            "until {until}"
        );
    }
}
