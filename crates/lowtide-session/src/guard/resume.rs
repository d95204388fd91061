//! How a job is told to go on from a checkpoint: by `--resume-arg`, or by the flag that a framework is
//! known to read. Where neither is certain, nothing is guessed: the job is stopped and not restarted.

use std::path::Path;

use lowtide_sys::regular;

/// What stands for the checkpoint's path in `--resume-arg`.
pub const PLACE: &str = "{checkpoint}";

/// Scripts are read up to this size to see what they are built on.
const LARGEST_SCRIPT: u64 = 4 << 20;

/// Where every attempt but the first finds its checkpoint.
pub(crate) const VARIABLE: &str = "LOWTIDE_CHECKPOINT";

/// Flags by which scripts are told to go on, as people call them, for a hint.
const FLAGS: [&str; 8] = [
    "--resume_from_checkpoint",
    "--resume-from-checkpoint",
    "--resume_from",
    "--resume-from",
    "--resume",
    "--ckpt_path",
    "--load_checkpoint",
    "--load-checkpoint",
];

fn script<'a>(command: &'a [String], cwd: &Path) -> Option<(&'a str, String)> {
    let script = command.iter().find(|word| word.ends_with(".py"))?;
    let text = regular::read_text(&cwd.join(script), LARGEST_SCRIPT).ok()?;
    Some((script, text))
}

/// A flag in the job's script that looks as if it went on by it. Not certain, so only a hint names it.
pub fn likely_flag(command: &[String], cwd: &Path) -> Option<String> {
    let (_, text) = script(command, cwd)?;
    let quoted = |flag: &&&str| {
        ['"', '\'']
            .iter()
            .any(|mark| text.contains(&format!("{mark}{flag}{mark}")))
    };
    FLAGS.iter().find(quoted).map(|flag| (*flag).to_owned())
}

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

    /// What the job itself has told; words without a place for the checkpoint are none.
    pub(crate) fn told(text: &str) -> Option<Resume> {
        let told = Resume::given(text).ok()?;
        let from = "the job".to_owned();
        Some(Resume { from, ..told })
    }

    /// What the job's script says of itself. Only what is certain counts: a script that parses
    /// Trainer's own arguments reads `--resume_from_checkpoint`, and Lightning's own command line
    /// reads `--ckpt_path`.
    pub fn known(command: &[String], cwd: &Path) -> Option<Resume> {
        let (script, text) = script(command, cwd)?;
        if text.contains(VARIABLE) {
            return Some(Resume {
                words: Vec::new(),
                from: format!("{script} reads {VARIABLE}"),
            });
        }
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

    /// What the user does to have the job go on from there.
    pub(crate) fn by_hand(&self, checkpoint: &Path) -> String {
        let quoted = |word: &String| match word.replace(PLACE, &checkpoint.to_string_lossy()) {
            plain if plain.chars().all(is_plain) => plain,
            other => format!("'{}'", other.replace('\'', r"'\''")),
        };
        if self.words.is_empty() {
            let path = quoted(&PLACE.to_owned());
            return format!("the same command, with {VARIABLE}={path} before it");
        }
        let words: Vec<String> = self.words.iter().map(quoted).collect();
        format!("the same command, and at its end {}", words.join(" "))
    }

    /// The command before an earlier guard had it go on from this checkpoint.
    pub fn undo(&self, command: &mut Vec<String>, checkpoint: &Path) {
        let added = self.command(&[], checkpoint);
        if command.len() > added.len() && command.ends_with(&added) {
            command.truncate(command.len() - added.len());
        }
    }
}

/// Characters that a shell takes as they are.
fn is_plain(character: char) -> bool {
    character.is_alphanumeric() || "-_./=+:,@%".contains(character)
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
    fn what_to_do_by_hand_can_be_pasted() {
        let resume = Resume::given("--resume {checkpoint}").unwrap();
        let said = |path: &str| resume.by_hand(Path::new(path));
        assert_eq!(
            said("/out/step-4.pt"),
            "the same command, and at its end --resume /out/step-4.pt"
        );
        assert!(said("/a b/it's.pt").ends_with(r"--resume '/a b/it'\''s.pt'"));
        assert_eq!(Resume::told("--resume"), None);
        assert_eq!(Resume::told("--go {checkpoint}").unwrap().words[0], "--go");
    }

    #[test]
    fn a_flag_that_looks_right_is_a_hint_and_the_variable_is_certain() {
        let folder = tempfile::tempdir().unwrap();
        let command = words("python train.py");
        let script = |text: &str| std::fs::write(folder.path().join("train.py"), text).unwrap();
        script("parser.add_argument('--resume-from')");
        assert_eq!(
            likely_flag(&command, folder.path()).as_deref(),
            Some("--resume-from")
        );
        assert_eq!(Resume::known(&command, folder.path()), None);
        script("path = os.environ.get('LOWTIDE_CHECKPOINT')");
        let known = Resume::known(&command, folder.path()).unwrap();
        assert_eq!(known.command(&command, Path::new("x")), command);
        assert_eq!(
            known.by_hand(Path::new("x")),
            "the same command, with LOWTIDE_CHECKPOINT=x before it"
        );
        assert_eq!(likely_flag(&command, folder.path()), None);
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
