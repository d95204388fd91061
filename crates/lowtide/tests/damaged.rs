//! One bit of a recording is another: every view of the real binary says so, and nothing passes by it. A
//! recording whose writer was killed is whole, but for its last tick.

use std::path::{Path, PathBuf};
use std::process::Command;

use lowtide_recording::FILE_NAME;
use lowtide_recording::frame::{FRAME_HEAD, HEAD_LEN};
use lowtide_testing::Starts;
use serde_json::Value;

const LOWTIDE: &str = env!("CARGO_BIN_EXE_lowtide");
const TOLD: &str = "the recording is damaged";
const CORPUS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../corpus");
/// A run that leaks, of hundreds of samples and one keyframe.
const LEAK: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../corpus/list-leak.lowtide"
);
/// What makes its growth a leak: it goes on past an epoch.
const JUDGED: [&str; 5] = ["judge", "last", "--json", "--epoch-steps", "40"];

struct Kept {
    home: tempfile::TempDir,
    path: PathBuf,
}

/// A run in a store of its own.
fn kept(bytes: &[u8]) -> Kept {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("runs/20260101-000000-train-1");
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join(FILE_NAME);
    std::fs::write(&path, bytes).unwrap();
    Kept { home, path }
}

struct Answer {
    code: i32,
    out: String,
    err: String,
}

impl Kept {
    fn asked(&self, args: &[&str]) -> Answer {
        let mut command = Command::new(LOWTIDE);
        command.args(args).env("LOWTIDE_HOME", self.home.path());
        let done = command.current_dir(self.home.path()).finish();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Answer {
            code: done.status.code().unwrap(),
            out: text(&done.stdout),
            err: text(&done.stderr),
        }
    }

    fn json(&self, args: &[&str]) -> Value {
        serde_json::from_str(&self.asked(args).out).unwrap()
    }
}

fn length_at(bytes: &[u8], at: usize) -> usize {
    let (length, _) = bytes[at..].split_first_chunk::<4>().unwrap();
    FRAME_HEAD + u32::from_le_bytes(*length) as usize
}

/// Where each frame begins.
fn frames(bytes: &[u8]) -> Vec<usize> {
    let mut at = HEAD_LEN;
    let mut frames = Vec::new();
    while at < bytes.len() {
        frames.push(at);
        at += length_at(bytes, at);
    }
    frames
}

/// A bit of the sixtieth tick: no later one is understood before the next keyframe.
fn flipped() -> Vec<u8> {
    let mut bytes = std::fs::read(LEAK).unwrap();
    let frame = frames(&bytes)[60];
    bytes[frame + FRAME_HEAD + 5] ^= 1;
    bytes
}

#[test]
fn every_view_tells_of_damage() {
    let whole = kept(&std::fs::read(LEAK).unwrap());
    let damaged = kept(&flipped());
    assert_eq!(whole.json(&JUDGED)["verdict"], "leak");
    assert_eq!(damaged.json(&JUDGED)["verdict"], "too-early");

    for view in [
        &["judge", "last"][..],
        &["judge", "last", "--json"],
        &["explain", "last"],
        &["explain", "last", "--json"],
        &["report", "last"],
        &["report", "last", "--format", "md"],
        &["report", "last", "--format", "svg"],
        &["check", "last", "--max-peak", "1TB"],
        &["check", "last", "--json"],
    ] {
        // Long lines are wrapped for people.
        let told = |kept: &Kept| {
            let words = kept.asked(view).out;
            let words: Vec<&str> = words.split_whitespace().collect();
            words.join(" ").contains(TOLD)
        };
        assert!(told(&damaged), "{view:?}: {}", damaged.asked(view).out);
        assert!(!told(&whole), "{view:?}");
    }
    let lost = &damaged.json(&["judge", "last", "--json"])["lost"];
    assert!(lost["ticks"].as_u64().unwrap() > 100, "{lost}");
    assert_eq!(lost["damaged"], true);
    assert_eq!(
        whole.json(&["judge", "last", "--json"])["lost"],
        Value::Null
    );

    let listed = |kept: &Kept| kept.json(&["runs", "--json"])["runs"][0]["damaged"].clone();
    assert_eq!(
        (listed(&whole), listed(&damaged)),
        (false.into(), true.into())
    );
    assert!(damaged.asked(&["runs"]).out.contains(", damaged"));
    assert!(!whole.asked(&["runs"]).out.contains("damaged"));
    assert!(damaged.asked(&["export", "last"]).err.contains(TOLD));
    assert_eq!(whole.asked(&["export", "last"]).err, "");
}

#[test]
fn damage_passes_nothing_and_pardons_nothing() {
    let whole = kept(&std::fs::read(LEAK).unwrap());
    let damaged = kept(&flipped());
    let peak = whole.json(&["judge", "last", "--json"])["floor"]["last"].clone();
    let seen = damaged.json(&["judge", "last", "--json"])["floor"]["last"].clone();
    // Between what is left and what there was: it was exceeded in a tick that is lost.
    let between = ((peak.as_f64().unwrap() + seen.as_f64().unwrap()) / 2.0) as u64;
    let code =
        |kept: &Kept, bound: String| kept.asked(&["check", "last", "--max-peak", &bound]).code;
    assert_eq!(code(&whole, format!("{between}B")), 1);
    assert_eq!(code(&damaged, format!("{between}B")), 3);
    assert_eq!(code(&damaged, "1MB".to_owned()), 1);
    // Nor against a damaged baseline.
    let stable = format!("{CORPUS}/stable.lowtide");
    let mut bytes = std::fs::read(&stable).unwrap();
    let against = |other: &Path| {
        let other = other.to_str().unwrap();
        let asked = ["check", &stable, "--max-rate", "1TB/step", "--baseline"];
        whole.asked(&[&asked[..], &[other]].concat()).code
    };
    let frame = frames(&bytes)[60];
    assert_eq!(against(Path::new(&stable)), 0);
    bytes[frame + FRAME_HEAD + 5] ^= 1;
    assert_eq!(against(&kept(&bytes).path), 3);
}

/// Two recordings in one file, with the second one's head and without: their clocks have nothing in common, and a
/// rise across them would be nobody's.
#[test]
fn a_recording_that_another_was_joined_to_is_told_and_judged_alone() {
    let bytes = std::fs::read(LEAK).unwrap();
    let other = std::fs::read(format!("{CORPUS}/stable.lowtide")).unwrap();
    let whole = kept(&bytes);
    for tail in [&other[..], &other[HEAD_LEN..]] {
        let joined = kept(&[&bytes, tail].concat());
        let judged = joined.json(&JUDGED);
        assert_eq!(judged["verdict"], "leak", "{judged}");
        assert_eq!(judged["process"], whole.json(&JUDGED)["process"]);
        assert!(joined.asked(&["judge", "last"]).out.contains(TOLD));
        assert_eq!(joined.json(&["runs", "--json"])["runs"][0]["damaged"], true);
        let peak = |kept: &Kept| kept.asked(&["check", "last", "--max-peak", "1TB"]);
        assert_eq!(peak(&joined).code, 3, "{}", peak(&joined).out);
    }
}

#[test]
fn the_end_of_a_killed_writer_is_no_damage_and_other_ends_are() {
    let bytes = std::fs::read(LEAK).unwrap();
    let last = *frames(&bytes).last().unwrap();
    let told = |bytes: &[u8]| {
        let kept = kept(bytes);
        // A long time ago: nobody writes it any more.
        let file = std::fs::File::options()
            .write(true)
            .open(&kept.path)
            .unwrap();
        file.set_modified(std::time::SystemTime::UNIX_EPOCH)
            .unwrap();
        let judged = kept.asked(&["judge", "last"]).out.contains(TOLD);
        let listed = kept.json(&["runs", "--json"])["runs"][0]["damaged"] == true;
        assert_eq!(judged, listed);
        judged
    };
    for cut in [
        last,
        last + 1,
        last + FRAME_HEAD,
        last + FRAME_HEAD + 1,
        bytes.len() - 1,
    ] {
        assert!(!told(&bytes[..cut]), "{cut} of {}", bytes.len());
    }
    let mut flipped = bytes.clone();
    flipped[last + FRAME_HEAD] ^= 1;
    assert!(told(&flipped));
    let cut = &bytes[..last];
    assert!(told(&[cut, &[0; 9000]].concat()));
    // A length that is broken is no end: frames follow.
    let mut flipped = bytes.clone();
    flipped[frames(&bytes)[60] + 2] ^= 0x20;
    assert!(told(&flipped));
}
