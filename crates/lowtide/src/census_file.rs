//! A census in a file: one JSON object, the look with `"lowtide": "census"` and `"schema": 1` in front. `lowtide census
//! -o FILE` writes it, `census diff` reads it; `--json` prints the same.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use lowtide_core::look::Look;
use lowtide_session::failure::Failure;
use serde::{Deserialize, Serialize};

/// More is not ours: a census names thousands of types, not millions.
const MOST: u64 = 64 << 20;
const KIND: &str = "census";
/// Counted up only when an older lowtide would understand something wrongly.
const SCHEMA: u32 = 1;

#[derive(Serialize)]
struct Written<'a> {
    lowtide: &'static str,
    schema: u32,
    #[serde(flatten)]
    look: &'a Look,
}

/// What tells whether it is one, before the rest is looked at.
#[derive(Deserialize)]
struct Head {
    lowtide: String,
    schema: u32,
}

pub(crate) fn object(look: &Look) -> serde_json::Result<String> {
    serde_json::to_string(&Written {
        lowtide: KIND,
        schema: SCHEMA,
        look,
    })
}

/// Puts it there as a whole: a reader sees the old file, the new one, or none, never half of one.
pub(crate) fn write(path: &Path, look: &Look) -> io::Result<()> {
    let path = place(path)?;
    let text = object(look)? + "\n";
    let half = half(&path);
    let written = File::create_new(&half)
        .and_then(|mut file| file.write_all(text.as_bytes()).and(file.sync_all()))
        .and_then(|()| fs::rename(&half, &path));
    // One that was there before is somebody else's.
    if let Err(error) = &written
        && error.kind() != ErrorKind::AlreadyExists
    {
        let _ = fs::remove_file(&half);
    }
    written
}

/// Where the file itself is, behind links. A device or a pipe cannot be replaced as a whole, and must not be.
fn place(path: &Path) -> io::Result<PathBuf> {
    match fs::metadata(path) {
        Ok(there) if there.is_file() => fs::canonicalize(path),
        Ok(_) => Err(io::Error::new(
            ErrorKind::InvalidInput,
            "it is there, and is no file (--json prints to stdout)",
        )),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(path.to_owned()),
        Err(error) => Err(error),
    }
}

fn half(path: &Path) -> PathBuf {
    let mut name = OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(format!(".{}", std::process::id()));
    path.with_file_name(name)
}

pub(crate) fn read(path: &Path) -> Result<Look, Failure> {
    let named = || path.display();
    let bytes = lowtide_sys::regular::read(path, MOST).map_err(|error| {
        let failure = Failure::unseen(format!("cannot read {}: {error}", named()));
        failure.hint("a census is kept by: lowtide census PID -o FILE")
    })?;
    parse(&bytes).map_err(|why| {
        Failure::unseen(format!("{} is no census: {why}", named())).hint(
            "it takes two files of `lowtide census PID -o FILE`; other files are for `lowtide judge`",
        )
    })
}

fn parse(bytes: &[u8]) -> Result<Look, String> {
    let head: Head = serde_json::from_slice(bytes).map_err(|error| match error.classify() {
        serde_json::error::Category::Eof => "it ends in the midst of its JSON".to_owned(),
        serde_json::error::Category::Data => "its JSON is of something else".to_owned(),
        _ => "it is not JSON".to_owned(),
    })?;
    if head.lowtide != KIND {
        return Err("its JSON is of something else".to_owned());
    }
    if head.schema != SCHEMA {
        return Err(format!(
            "it is of schema {}, and this lowtide reads {SCHEMA}",
            head.schema
        ));
    }
    // What is unknown in it stands beside what is known.
    let look: Look = serde_json::from_slice(bytes).map_err(|error| format!("{error}"))?;
    match look.heap {
        Some(_) => Ok(look),
        None => Err("it has no Python heap in it".to_owned()),
    }
}

/// What `scripts/fuzz` tries: any bytes are a census or are refused with words; one that is read can be written, read
/// again, compared and shown.
#[cfg(any(test, fuzzing))]
pub(crate) fn fuzz(bytes: &[u8]) {
    use crate::show::{census, census_diff};
    match parse(bytes) {
        Ok(look) => {
            let again = object(&look).expect("a look is plain data");
            let again = parse(again.as_bytes()).expect("what was written can be read");
            // Times are rounded to microseconds once.
            assert_eq!(again.heap, look.heap);
            let shown = census::text(&look, None, None, 80);
            let diff = lowtide_core::census::diff(&look, &again);
            let shown = shown + &census_diff::text(&diff, None, 80);
            assert!(!shown.contains(|c| c != '\n' && lowtide_core::text::is_unseen(c)));
        }
        Err(refused) => assert!(!refused.is_empty()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEAST: &str = r#"{"lowtide":"census","schema":1,"at":1.5,"id":{"pid":7,"start":9},"why":"asked",
        "examiner":"census","held":null,"cost":{"wall":0.1,"cpu":0.1},
        "heap":{"python":{"minor":11,"micro":7},"objects":3,"bytes":99}}"#;

    #[test]
    fn what_is_no_census_says_what_it_is() {
        for (text, why) in [
            ("", "ends in the midst"),
            ("step,MB\n1,2\n", "not JSON"),
            (r#"{"lowtide":"cens"#, "ends in the midst"),
            (r#"{"schema":1,"verdict":"leak"}"#, "something else"),
            (r#"{"lowtide":"glance","schema":1}"#, "something else"),
            (&LEAST.replace("\"schema\":1", "\"schema\":2"), "schema 2"),
            (&LEAST.replace("\"heap\"", "\"heat\""), "no Python heap"),
            (&LEAST.replace("\"pid\":7", "\"pid\":-7"), "expected u32"),
        ] {
            let said = parse(text.as_bytes()).unwrap_err();
            assert!(said.contains(why), "{text}: {said}");
        }
        parse(LEAST.as_bytes()).unwrap();
    }

    #[test]
    fn a_file_is_replaced_as_a_whole_and_nothing_is_left_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.json");
        let look = parse(LEAST.as_bytes()).unwrap();
        for _ in 0..2 {
            write(&path, &look).unwrap();
            assert_eq!(read(&path).unwrap(), look);
        }
        // A link stays one.
        let link = folder.path().join("link.json");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        write(&link, &look).unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
        assert!(write(Path::new("/dev/null"), &look).is_err());
        assert!(write(&folder.path().join("none/a.json"), &look).is_err());
    }
}
