//! How a job is told to go on from a checkpoint: by `--resume-arg`, or by the flag that a framework is
//! known to read. Where neither is certain, nothing is guessed: the job is stopped and not restarted.

use std::path::Path;

use lowtide_sys::regular;

/// What stands for the checkpoint's path in `--resume-arg`.
pub const PLACE: &str = "{checkpoint}";

/// Scripts are read up to this size to see what they are built on.
const LARGEST_SCRIPT: u64 = 4 << 20;

/// The words that are appended to the command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resume {
    words: Vec<String>,
    /// Where it comes from, for people.
    pub from: String,
}

impl Resume {
    /// `--resume-arg`: split at spaces, as a shell would without quotes.
    pub fn given(text: &str) -> Result<Resume, String> {
        if !text.contains(PLACE) {
            return Err(format!(
                "--resume-arg `{text}` does not say where {PLACE} goes"
            ));
        }
        Ok(Resume {
            words: text.split_whitespace().map(str::to_owned).collect(),
            from: "--resume-arg".to_owned(),
        })
    }

    /// What the job's script says of itself. Only what is certain counts: a script that parses
    /// Trainer's own arguments reads `--resume_from_checkpoint`, and Lightning's own command line
    /// reads `--ckpt_path`.
    pub fn known(command: &[String], cwd: &Path) -> Option<Resume> {
        let script = command.iter().find(|word| word.ends_with(".py"))?;
        let path = cwd.join(script);
        let text = regular::read_text(&path, LARGEST_SCRIPT).ok()?;
        let of = |flag: &str, from: &str| Resume {
            words: vec![flag.to_owned(), PLACE.to_owned()],
            from: format!("{script} {from}"),
        };
        if text.contains("HfArgumentParser") && text.contains("resume_from_checkpoint") {
            return Some(of(
                "--resume_from_checkpoint",
                "reads Trainer's own arguments",
            ));
        }
        let fits = command.iter().any(|word| word == "fit");
        (fits && text.contains("LightningCLI")).then(|| of("--ckpt_path", "is a LightningCLI"))
    }

    /// The job's command, going on from there. Later flags overrule earlier ones of the same name.
    pub fn command(&self, command: &[String], checkpoint: &Path) -> Vec<String> {
        let checkpoint = checkpoint.to_string_lossy();
        let words = self
            .words
            .iter()
            .map(|word| word.replace(PLACE, &checkpoint));
        command.iter().cloned().chain(words).collect()
    }

    /// The command before an earlier guard had it go on from this checkpoint.
    pub fn undo(&self, command: &mut Vec<String>, checkpoint: &Path) {
        let added = self.command(&[], checkpoint);
        if command.len() > added.len() && command.ends_with(&added) {
            command.truncate(command.len() - added.len());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn the_checkpoint_takes_its_place() {
        let resume = Resume::given("--resume {checkpoint} --quiet").unwrap();
        assert_eq!(
            resume.command(&words("python train.py"), Path::new("/a b/checkpoint-3")),
            [
                "python",
                "train.py",
                "--resume",
                "/a b/checkpoint-3",
                "--quiet"
            ]
        );
        assert!(Resume::given("--resume").is_err());
        let mut command = resume.command(&words("python train.py"), Path::new("old"));
        resume.undo(&mut command, Path::new("another"));
        assert_eq!(command.len(), 5, "not the guard's words");
        resume.undo(&mut command, Path::new("old"));
        assert_eq!(command, ["python", "train.py"]);
    }

    #[test]
    fn only_what_a_script_says_of_itself_is_known() {
        let folder = tempfile::tempdir().unwrap();
        let known = |text: &str, command: &str| {
            std::fs::write(folder.path().join("train.py"), text).unwrap();
            Resume::known(&words(command), folder.path()).map(|resume| resume.words[0].clone())
        };
        let hf = "parser = HfArgumentParser(TrainingArguments)\nargs.resume_from_checkpoint";
        let flag = |name: &str| Some(name.to_owned());
        assert_eq!(
            known(hf, "torchrun train.py"),
            flag("--resume_from_checkpoint")
        );
        assert_eq!(
            known("LightningCLI()", "python train.py fit"),
            flag("--ckpt_path")
        );
        assert_eq!(known("LightningCLI()", "python train.py test"), None);
        assert_eq!(known("import torch", "python train.py"), None);
        assert_eq!(
            Resume::known(&words("python -m train"), folder.path()),
            None
        );
        // Whoever opens this one as a file waits for ever.
        let pipe = folder.path().join("pipe.py");
        let mode = rustix::fs::Mode::from_raw_mode(0o600);
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, mode, 0).unwrap();
        assert_eq!(Resume::known(&words("python pipe.py"), folder.path()), None);
    }
}
