//! Where the processes of a job write, as their open files show at a tick: a checkpoint that takes a while is seen
//! while it is written, and a log shows the folder of the run. Links in `/proc` are read, and nothing is opened.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use lowtide_core::process::ProcId;
use lowtide_core::units::Micros;
use lowtide_sys::proc::Proc;

use super::checkpoints::{Places, Standing};

/// Processes and files of each that are looked at; a loader's workers write no checkpoints.
const MOST_PROCESSES: usize = 32;
const MOST_FILES: usize = 512;
/// Between two looks: close to a limit ticks come twenty times a second.
const EVERY: Micros = Micros(200_000);
/// The bit of a link in `/proc/PID/fd` that says that the file can be written through it.
const WRITES: u32 = 0o200;
/// How the names of what is resumed from end, and of those that a save gives for a moment.
const SAVED: [&str; 8] = [
    ".pt",
    ".pth",
    ".ckpt",
    ".bin",
    ".safetensors",
    ".distcp",
    ".tmp",
    ".part",
];
/// What everybody uses is no job's folder.
const COMMON: [&str; 6] = ["/dev", "/proc", "/sys", "/tmp", "/var/tmp", "/"];

/// What was seen so far.
#[derive(Default)]
pub(super) struct Sights {
    seen: Places,
    next: Micros,
}

impl Sights {
    /// Looks at these processes, if it is time. `ours` is what we write ourselves.
    pub(super) fn look(
        &mut self,
        now: Micros,
        ids: impl Iterator<Item = ProcId>,
        ours: Option<&Path>,
    ) {
        if now < self.next {
            return;
        }
        self.next = Micros(now.0 + EVERY.0);
        let Ok(proc) = Proc::at("/proc") else { return };
        for id in ids.take(MOST_PROCESSES) {
            if let Ok(cwd) = fs::read_link(proc.path(id.pid, "cwd")) {
                self.note(cwd, Standing::Near);
            }
            for path in written(&proc, id.pid) {
                if ours.is_none_or(|ours| !path.starts_with(ours)) {
                    self.file(&path);
                }
            }
        }
    }

    fn file(&mut self, path: &Path) {
        let Some(folder) = path.parent() else { return };
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if !SAVED.iter().any(|end| name.ends_with(end)) {
            return self.note(folder.to_owned(), Standing::Near);
        }
        // `out/checkpoint-40/optimizer.pt` and `out/step-40/__0_0.distcp` are parts of one that lies in `out`.
        let within = folder.file_name().unwrap_or_default().to_string_lossy();
        let is_part = name.ends_with(".distcp") || within.starts_with("checkpoint-");
        let place = folder.parent().filter(|_| is_part).unwrap_or(folder);
        self.note(place.to_owned(), Standing::Written);
    }

    fn note(&mut self, folder: PathBuf, standing: Standing) {
        if !COMMON.iter().any(|common| folder == Path::new(common)) {
            self.seen.add(folder, standing);
        }
    }

    /// The same places, and those that were seen.
    pub(super) fn added_to(&self, places: &mut Places) {
        for (folder, standing) in self.seen.all() {
            places.add(folder.to_owned(), standing);
        }
    }
}

/// Files that a process has open for writing.
fn written(proc: &Proc, pid: u32) -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir(proc.path(pid, "fd")).into_iter().flatten();
    let writes = |link: &PathBuf| {
        fs::symlink_metadata(link).is_ok_and(|found| found.permissions().mode() & WRITES != 0)
    };
    let links = entries.flatten().take(MOST_FILES).map(|entry| entry.path());
    let paths = links
        .filter(writes)
        .filter_map(|link| fs::read_link(link).ok());
    paths.filter(|path| {
        let text = path.to_string_lossy();
        let pretends = ["/dev/", "/proc/", "/sys/", "/memfd:"];
        path.is_absolute()
            && !pretends.iter().any(|lead| text.starts_with(lead))
            && !text.ends_with(" (deleted)")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn standing(sights: &Sights, folder: &Path) -> Option<Standing> {
        let mut all = sights.seen.all();
        all.find(|(known, _)| *known == folder).map(|(_, how)| how)
    }

    #[test]
    fn what_this_process_writes_is_seen_and_what_it_reads_is_not() {
        let root = tempfile::tempdir().unwrap();
        let folder = |name: &str| {
            let folder = root.path().join(name);
            fs::create_dir_all(&folder).unwrap();
            folder
        };
        let (saves, logs, read) = (folder("run 1/ckpts"), folder("logs"), folder("data"));
        let part = folder("out/checkpoint-4");
        let _open = [
            fs::File::create(part.join("optimizer.pt")).unwrap(),
            fs::File::create(saves.join("step_4.pt")).unwrap(),
            fs::File::create(logs.join("train.log")).unwrap(),
        ];
        fs::write(read.join("features.pt"), b"x").unwrap();
        let _data = fs::File::open(read.join("features.pt")).unwrap();
        let me = ProcId {
            pid: std::process::id(),
            start: 0,
        };
        let mut sights = Sights::default();
        sights.look(Micros(0), [me].into_iter(), Some(&logs));
        assert_eq!(standing(&sights, &saves), Some(Standing::Written));
        assert_eq!(
            standing(&sights, part.parent().unwrap()),
            Some(Standing::Written)
        );
        assert_eq!(standing(&sights, &part), None);
        assert_eq!(standing(&sights, &read), None);
        assert_eq!(standing(&sights, &logs), None, "it is ours");
        sights.look(Micros(1), [me].into_iter(), None);
        assert_eq!(standing(&sights, &logs), None, "not before its time");
        sights.look(EVERY, [me].into_iter(), None);
        assert_eq!(standing(&sights, &logs), Some(Standing::Near));
        let cwd = std::env::current_dir().unwrap();
        assert_eq!(standing(&sights, &cwd), Some(Standing::Near));
    }
}
