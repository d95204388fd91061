//! The environment of another process, as `/proc/PID/environ` holds it. It holds secrets: nothing of it
//! goes to the recording or to a message.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStringExt;

pub(crate) fn variables(environ: &[u8]) -> Vec<(OsString, OsString)> {
    environ
        .split(|byte| *byte == 0)
        .filter_map(|pair| {
            let equals = pair.iter().position(|byte| *byte == b'=')?;
            let text = |bytes: &[u8]| OsString::from_vec(bytes.to_vec());
            (equals > 0).then(|| (text(&pair[..equals]), text(&pair[equals + 1..])))
        })
        .collect()
}

pub(crate) fn variable<'a>(env: &'a [(OsString, OsString)], name: &str) -> Option<&'a OsStr> {
    let found = env.iter().find(|(known, _)| known == name)?;
    Some(&found.1)
}
