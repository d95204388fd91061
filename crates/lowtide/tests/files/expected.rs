//! What is known of a file by construction, and whether an answer agrees with it.

use std::path::Path;

use serde::Deserialize;

use crate::answer::Read;

/// Sizes are known to this share: the floor of a series is near its readings, and the nearest wrong factor (KiB for
/// kB) is 2.4 % away.
const SIZE: f64 = 0.01;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Row {
    pub(crate) file: String,
    #[expect(dead_code, reason = "for the reader of the file")]
    tool: String,
    #[expect(dead_code, reason = "for the reader of the file")]
    made: String,
    #[serde(default)]
    pub(crate) flags: Vec<String>,
    pub(crate) expect: Expect,
    pub(crate) why: Option<String>,
    axis: Option<String>,
    points: Option<u64>,
    first: Option<f64>,
    last: Option<f64>,
    low: Option<f64>,
    high: Option<f64>,
    /// The last readings of other memory in the same file: resident beside anonymous memory.
    #[serde(default)]
    accepts: Vec<f64>,
    /// Another factor that the file allows: "MB" that its program computed with 1,024.
    accepts_factor: Option<f64>,
    truth: Option<Truth>,
    says: Option<String>,
    #[serde(default)]
    pub(crate) series: Vec<String>,
}

#[derive(Clone, Copy, Deserialize, PartialEq)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Expect {
    Read,
    Refused,
    /// Refusing is right, and so is reading what is there.
    Either,
}

#[derive(Clone, Copy, Deserialize, PartialEq)]
#[serde(rename_all = "lowercase")]
enum Truth {
    Grows,
    Flat,
    Unknown,
}

pub(crate) fn rows(folder: &Path) -> Vec<Row> {
    let path = folder.join("expected.jsonl");
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    lines
        .map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e} in {line}")))
        .collect()
}

/// What the folder tells about itself.
const OWN: [&str; 2] = ["README.md", "expected.jsonl"];

/// Files that nobody said anything about.
pub(crate) fn untold(folder: &Path, rows: &[Row]) -> Vec<String> {
    let files = std::fs::read_dir(folder).expect("the folder can be listed");
    let names = files.map(|file| file.expect("a file").file_name());
    let names = names.map(|name| name.to_string_lossy().into_owned());
    names
        .filter(|name| !OWN.contains(&name.as_str()) && !rows.iter().any(|row| row.file == *name))
        .collect()
}

impl Row {
    pub(crate) fn shown(&self) -> String {
        [std::slice::from_ref(&self.file), &self.flags]
            .concat()
            .join(" ")
    }

    /// What is wrong with an answer.
    pub(crate) fn check(&self, read: &Read) -> Option<String> {
        let axis = self.axis.as_deref().unwrap_or("any");
        if axis != "any" && read.axis != axis {
            return Some(format!("axis {} and not {axis}", read.axis));
        }
        if let Some(points) = self.points
            && read.points != Some(points)
        {
            return Some(format!("{:?} points and not {points}", read.points));
        }
        if let Some(says) = &self.says
            && !read.how.contains(says.as_str())
        {
            return Some(format!("it does not say `{says}`"));
        }
        self.check_sizes(read).or_else(|| self.check_truth(read))
    }

    fn check_sizes(&self, read: &Read) -> Option<String> {
        let near = |a: f64, b: f64| (a - b).abs() <= SIZE * b.abs();
        let last = self.last?;
        if self.accepts.iter().any(|other| near(read.last, *other)) {
            return None;
        }
        let factor = self
            .accepts_factor
            .filter(|factor| near(read.last, last * factor))
            .unwrap_or(1.0);
        let bytes = |name: &str, bytes: f64, expected: f64| {
            Some(format!("{name} {bytes:.0} bytes and not {expected:.0}"))
        };
        let (low, high) = (self.low? * factor, self.high? * factor);
        if self.truth == Some(Truth::Grows) {
            if !near(read.last, last * factor) {
                return bytes("ends at", read.last, last * factor);
            }
            if read.first < low * (1.0 - SIZE) || read.first > (low + high) / 2.0 {
                return bytes("begins at", read.first, self.first? * factor);
            }
            return None;
        }
        for end in [read.first, read.last] {
            if end < low * (1.0 - SIZE) || end > high * (1.0 + SIZE) {
                return bytes("it is at", end, last * factor);
            }
        }
        None
    }

    fn check_truth(&self, read: &Read) -> Option<String> {
        let undecided = read.verdict == "too-early";
        // Growth that is real and too slow to matter within ten times the file.
        let rises = read.verdict == "leak" || (undecided && read.growing) || read.creep;
        match self.truth? {
            Truth::Grows if !undecided && !rises => Some(format!("it grows: {}", read.verdict)),
            Truth::Flat if rises => Some(format!("it is flat: {}, growing", read.verdict)),
            _ => None,
        }
    }
}
