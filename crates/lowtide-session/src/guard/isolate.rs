//! `--isolate`: the job in a group of its own with a limit, so that the machine survives whatever
//! happens. A group of cgroup v1 is made by ourselves, below the one we are in; on v2 a process may not
//! have groups below its own, so systemd is asked to make a scope.
//!
//! The job enters the group by itself, in the moment before it becomes the job: its first page counts.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;
use lowtide_core::units::Bytes;
use lowtide_sys::cgroup::{Place, Version, own_place, place_of};
use lowtide_sys::proc::Proc;

use crate::failure::Failure;

/// Enters the group that `$0` names and becomes the command.
const ENTER: &str = "echo $$ > \"$0\" && exec \"$@\"";
/// The same where going on without the group is better than not at all.
const ENTER_IF: &str =
    "echo $$ > \"$0\" || echo \"lowtide: the job runs outside of its group\" >&2; exec \"$@\"";

/// What our groups are called, with our pid.
const NAME: &str = "lowtide-";

/// How the job gets a group of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Isolation {
    /// We make this folder below the v1 memory controller.
    Group(PathBuf),
    /// The command runs in a scope that systemd makes.
    Scope(Vec<String>),
    /// The group that the job was found in.
    Rejoin(PathBuf),
}

impl Isolation {
    /// What suits the place we are in. Pure: tests give places that are not here.
    pub(crate) fn for_place(
        place: Option<&Place>,
        systemd_run: bool,
        name: &str,
        limit: Bytes,
    ) -> Result<Isolation, &'static str> {
        match place {
            Some(place) if place.version == Version::V1 => {
                Ok(Isolation::Group(place.mount.join(&place.path).join(name)))
            }
            Some(_) if systemd_run => Ok(Isolation::Scope(
                [
                    "systemd-run",
                    "--user",
                    "--scope",
                    "--quiet",
                    "--collect",
                    &format!("--unit={name}"),
                    &format!("--property=MemoryMax={}", limit.0),
                    "--property=MemorySwapMax=0",
                    "--",
                ]
                .map(str::to_owned)
                .to_vec(),
            )),
            Some(_) => Err("on cgroup v2 this needs systemd-run, which is not here"),
            None => Err("no memory controller can be seen from here"),
        }
    }

    /// The command in its group. Fails where that is not permitted: a job that was to be isolated is
    /// not run without it.
    pub fn here(limit: Bytes) -> Result<Isolated> {
        let name = format!("{NAME}{}", std::process::id());
        let place = Proc::at("/proc").ok().and_then(|proc| own_place(&proc));
        let found = Isolation::for_place(place.as_ref(), has_systemd_run(), &name, limit).map_err(
            |why| {
                Failure::new(125, format!("--isolate: {why}"))
                    .hint("leave --isolate out; the guard itself needs no group")
            },
        )?;
        if let Isolation::Group(folder) = &found {
            make(folder, limit)?;
        }
        Ok(Isolated(found))
    }
}

/// A group that is taken away again when the run is over.
pub struct Isolated(Isolation);

impl Isolated {
    /// The group of a job that runs already, when it is not ours anyway: its limit holds for the next
    /// attempt, too.
    pub fn found(pid: u32) -> Option<Isolated> {
        let proc = Proc::at("/proc").ok()?;
        let (its, ours) = (place_of(&proc, &pid.to_string())?, own_place(&proc));
        (Some(&its) != ours.as_ref()).then(|| Isolated(Isolation::Rejoin(its.mount.join(its.path))))
    }

    pub fn command(&self, command: &[String]) -> Vec<String> {
        let enter = |how: &str, folder: &Path| {
            let procs = folder.join("cgroup.procs").display().to_string();
            vec!["sh".to_owned(), "-c".to_owned(), how.to_owned(), procs]
        };
        let words = match &self.0 {
            Isolation::Scope(words) => words.clone(),
            Isolation::Group(folder) => enter(ENTER, folder),
            Isolation::Rejoin(folder) => enter(ENTER_IF, folder),
        };
        words.into_iter().chain(command.iter().cloned()).collect()
    }
}

impl Drop for Isolated {
    fn drop(&mut self) {
        match &self.0 {
            Isolation::Rejoin(folder) if !is_left_by_us(folder) => {}
            // What still lives in it keeps it.
            Isolation::Group(folder) | Isolation::Rejoin(folder) => {
                let _ = fs::remove_dir(folder);
            }
            Isolation::Scope(_) => {}
        }
    }
}

/// Made by a `run --isolate` that was killed.
fn is_left_by_us(folder: &Path) -> bool {
    let name = folder.file_name().and_then(|name| name.to_str());
    name.and_then(|name| name.strip_prefix(NAME))
        .is_some_and(|pid| pid.parse::<u32>().is_ok())
}

fn make(folder: &Path, limit: Bytes) -> Result<()> {
    let failed = |error: std::io::Error| {
        Failure::new(
            125,
            format!("--isolate: cannot make {}: {error}", folder.display()),
        )
        .hint("making a group needs root, or a folder there that is yours")
    };
    fs::create_dir(folder).map_err(failed)?;
    let set = fs::write(folder.join("memory.limit_in_bytes"), limit.0.to_string());
    if set.is_err() {
        let _ = fs::remove_dir(folder);
    }
    Ok(set.map_err(failed)?)
}

fn has_systemd_run() -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join("systemd-run").is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(version: Version) -> Place {
        Place {
            version,
            mount: PathBuf::from("/sys/fs/cgroup/memory"),
            path: "jobs/7".to_owned(),
        }
    }

    #[test]
    fn each_kind_of_machine_has_its_way() {
        let of = |place: Option<Place>, systemd| {
            Isolation::for_place(place.as_ref(), systemd, "lowtide-5", Bytes(1 << 30))
        };
        assert_eq!(
            of(Some(place(Version::V1)), true),
            Ok(Isolation::Group(
                "/sys/fs/cgroup/memory/jobs/7/lowtide-5".into()
            ))
        );
        let Ok(Isolation::Scope(words)) = of(Some(place(Version::V2)), true) else {
            panic!("a scope is the way on v2");
        };
        assert!(words.contains(&"--property=MemoryMax=1073741824".to_owned()));
        assert!(of(Some(place(Version::V2)), false).is_err());
        assert!(of(None, true).is_err());
    }
}
