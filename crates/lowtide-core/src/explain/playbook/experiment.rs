//! The experiment of an entry: what to change, as data, and what to expect. `lowtide explain` makes a line for
//! a shell of it where the job's command is known; a program can carry it out from the data alone.

use super::super::hook::Hook;
use super::super::signs::{JobSigns, Signs};
use super::super::{Change, Experiment};

/// An entry's experiment, before the job is known.
pub(crate) struct Trial {
    /// [`HOOK`] stands for the hook of a [`Recipe::Hook`], as it is written in the job's loop.
    pub says: &'static str,
    pub change: Recipe,
    pub expect: Expect,
}

const HOOK: &str = "{hook}";

/// What is changed about the job.
pub(crate) enum Recipe {
    /// Environment variables; one with an empty value is as good as not set.
    Env(&'static [(&'static str, &'static str)]),
    /// The value of a flag of the command: whichever of these names it has. `arm` names the run.
    Flag {
        names: &'static [&'static str],
        to: To,
        arm: &'static str,
    },
    /// An argument of a library, by its usual name: only the job's code or configuration has it.
    Setting(&'static str, To),
    /// A file of the job's cgroup.
    Cgroup(&'static str, To),
    /// Something of the Python package, in the loop.
    Hook(Hook),
    /// Only who knows the code can make it.
    Code,
    /// Nothing is changed, and the job is looked at with another tool; by this command, if one is enough.
    Probe(&'static [&'static str]),
}

/// The new value, told by itself or by the old one.
#[derive(Clone, Copy)]
pub(crate) enum To {
    Value(&'static str),
    Half,
    Twice,
    /// What is right for the machine.
    Small,
}

pub(crate) enum Expect {
    Says(&'static str),
    /// With places of this run.
    Here(fn(&Signs) -> String),
}

impl To {
    /// None where the old value is no number that could be halved.
    fn of(self, value: &str) -> Option<String> {
        let count = || value.parse::<u64>().ok();
        match self {
            To::Value(value) => Some(value.to_owned()),
            To::Half => count().filter(|n| *n > 1).map(|n| (n / 2).to_string()),
            To::Twice => count().map(|n| (2 * n).to_string()),
            To::Small => None,
        }
    }

    fn in_words(self) -> &'static str {
        match self {
            To::Value(value) => value,
            To::Half => "half",
            To::Twice => "twice",
            To::Small => "small",
        }
    }
}

impl Trial {
    pub(crate) fn on(&self, signs: &Signs) -> Experiment {
        let changes = self.change.of(&signs.job);
        Experiment {
            says: match self.change {
                Recipe::Hook(hook) => self.says.replace(HOOK, signs.hook(hook)),
                _ => self.says.to_owned(),
            },
            command: command(&signs.job, &changes, &self.change.arm()),
            changes,
            expect: match self.expect {
                Expect::Says(says) => says.to_owned(),
                Expect::Here(says) => says(signs),
            },
        }
    }
}

impl Recipe {
    /// The same for this job.
    fn of(&self, job: &JobSigns) -> Vec<Change> {
        let setting = |name: &str, to: To| Change::Setting {
            name: name.to_owned(),
            to: to.in_words().to_owned(),
        };
        match self {
            Recipe::Env(set) => set
                .iter()
                .map(|(name, value)| Change::Env {
                    name: (*name).to_owned(),
                    value: (*value).to_owned(),
                })
                .collect(),
            Recipe::Flag { names, to, .. } => {
                let flags = flags(&job.command, names, *to);
                if flags.is_empty() {
                    names
                        .first()
                        .map(|name| setting(name, *to))
                        .into_iter()
                        .collect()
                } else {
                    flags
                }
            }
            Recipe::Setting(name, to) => vec![setting(name, *to)],
            Recipe::Cgroup(file, to) => vec![Change::Cgroup {
                file: (*file).to_owned(),
                to: to.in_words().to_owned(),
            }],
            Recipe::Hook(hook) => vec![match hook.callback(job.training_loop) {
                Some(callback) => Change::Hook {
                    callback: callback.to_owned(),
                },
                None => Change::Code,
            }],
            Recipe::Code => vec![Change::Code],
            Recipe::Probe(command) => vec![Change::Probe {
                command: command.iter().map(|word| (*word).to_owned()).collect(),
            }],
        }
    }

    /// What the run is called.
    fn arm(&self) -> String {
        match self {
            Recipe::Env([(name, _), ..]) => name.trim_matches('_').to_lowercase().replace('_', "-"),
            Recipe::Flag { arm, .. } => (*arm).to_owned(),
            _ => "arm".to_owned(),
        }
    }
}

/// A flag of a command: where its value is, and how it is spelled.
struct Flag<'a> {
    name: &'a str,
    value: &'a str,
    /// The word that holds the value: its own (`--name=value`), or the next.
    at: usize,
    joined: bool,
}

fn flags_of(command: &[String]) -> impl Iterator<Item = Flag<'_>> {
    command.iter().enumerate().filter_map(|(at, word)| {
        let word = word.starts_with('-').then_some(word.as_str())?;
        match word.split_once('=') {
            Some((name, value)) => Some(Flag {
                name,
                value,
                at,
                joined: true,
            }),
            None => command.get(at + 1).map(|value| Flag {
                name: word,
                value,
                at: at + 1,
                joined: false,
            }),
        }
    })
}

/// Changes of the flags of these names that the command has.
fn flags(command: &[String], names: &[&str], to: To) -> Vec<Change> {
    let plain = |name: &str| name.replace('-', "_").trim_start_matches('_').to_owned();
    flags_of(command)
        .filter(|flag| names.contains(&plain(flag.name).as_str()))
        .filter_map(|flag| {
            Some(Change::Flag {
                name: flag.name.to_owned(),
                from: flag.value.to_owned(),
                to: to.of(flag.value)?,
            })
        })
        .collect()
}

/// The job's command with its flags changed.
fn changed(command: &[String], changes: &[Change]) -> Vec<String> {
    let mut words = command.to_vec();
    for flag in flags_of(command) {
        let new = changes.iter().find_map(|change| match change {
            Change::Flag { name, from, to } if name == flag.name && from == flag.value => Some(to),
            _ => None,
        });
        if let Some(new) = new {
            words[flag.at] = match flag.joined {
                true => format!("{}={new}", flag.name),
                false => new.clone(),
            };
        }
    }
    words
}

/// For a shell: the same job, changed, and compared with this run. None where a shell cannot do it.
fn command(job: &JobSigns, changes: &[Change], arm: &str) -> Option<String> {
    if let [Change::Probe { command }] = changes {
        return (!command.is_empty()).then(|| line(command));
    }
    let by_shell = |change: &Change| matches!(change, Change::Env { .. } | Change::Flag { .. });
    if job.command.is_empty() || !changes.iter().all(by_shell) {
        return None;
    }
    let set = changes.iter().filter_map(Change::assignment);
    let mut words: Vec<String> = set.collect();
    if !words.is_empty() {
        words.insert(0, "env".to_owned());
    }
    words.extend(changed(&job.command, changes));
    Some(format!(
        "lowtide run -o {arm} -- {}; lowtide check {arm} --baseline {}",
        line(&words),
        quoted(&job.name)
    ))
}

fn line(words: &[String]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| quoted(word)).collect();
    quoted.join(" ")
}

/// As a shell reads it back.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,@%+".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mark::TrainingLoop;
    use crate::verdict::{Axis, Class, Meter};

    fn job(command: &str) -> JobSigns {
        JobSigns {
            name: "run-1".to_owned(),
            command: command.split_whitespace().map(str::to_owned).collect(),
            ..JobSigns::default()
        }
    }

    const WORKERS: Recipe = Recipe::Flag {
        names: &["num_workers", "workers"],
        to: To::Value("0"),
        arm: "no-workers",
    };

    fn made(recipe: &Recipe, job: &JobSigns) -> (Vec<Change>, Option<String>) {
        let changes = recipe.of(job);
        let line = command(job, &changes, &recipe.arm());
        (changes, line)
    }

    #[test]
    fn a_flag_is_changed_as_the_command_spells_it() {
        for (before, after) in [
            ("train.py --num-workers 4 -v", "train.py --num-workers 0 -v"),
            ("train.py --num_workers=4", "train.py --num_workers=0"),
            ("train.py -workers 4", "train.py -workers 0"),
        ] {
            let (changes, line) = made(&WORKERS, &job(before));
            assert!(
                matches!(&changes[..], [Change::Flag { from, to, .. }] if from == "4" && to == "0")
            );
            assert_eq!(
                line.unwrap(),
                format!(
                    "lowtide run -o no-workers -- {after}; lowtide check no-workers --baseline run-1"
                )
            );
        }
    }

    /// A flag that the command does not have is a setting somewhere in the code.
    #[test]
    fn what_a_shell_cannot_change_has_no_command() {
        let (changes, line) = made(&WORKERS, &job("train.py"));
        let setting = Change::Setting {
            name: "num_workers".to_owned(),
            to: "0".to_owned(),
        };
        assert_eq!((changes, line), (vec![setting], None));
        let half = Recipe::Flag {
            names: &["examples"],
            to: To::Half,
            arm: "half",
        };
        assert_eq!(made(&half, &job("train.py --examples all")).1, None);
        for recipe in [
            Recipe::Code,
            Recipe::Hook(Hook::Counts),
            Recipe::Cgroup("memory.swap.max", To::Value("0")),
            Recipe::Probe(&[]),
        ] {
            let (changes, line) = made(&recipe, &job("train.py"));
            assert_eq!((changes.len(), line), (1, None));
        }
    }

    #[test]
    fn a_hook_is_a_callback_only_where_the_loop_takes_it() {
        let trial = Trial {
            says: "{hook}: it says what was freed",
            change: Recipe::Hook(Hook::Collects),
            expect: Expect::Says(""),
        };
        let on = |known| {
            let mut signs = Signs::blank(Class::Leak, Axis::Step, Meter::Anon);
            signs.job.training_loop = known;
            trial.on(&signs)
        };
        let trainer = on(Some(TrainingLoop::Trainer));
        let callback = "lowtide.cleanup.MemoryCleanup(every=10, trim=False)".to_owned();
        assert_eq!(trainer.changes, [Change::Hook { callback }]);
        assert!(trainer.says.starts_with("callbacks=[lowtide.cleanup"));
        for known in [
            Some(TrainingLoop::Lightning),
            Some(TrainingLoop::Plain),
            None,
        ] {
            let experiment = on(known);
            assert_eq!(experiment.changes, [Change::Code]);
            assert!(experiment.says.contains("cleanup.step("));
        }
    }

    #[test]
    fn variables_come_before_the_command() {
        let recipe = Recipe::Env(&[("MALLOC_ARENA_MAX", "2"), ("LD_PRELOAD", "")]);
        let (changes, line) = made(&recipe, &job("python train.py"));
        assert_eq!(changes.len(), 2);
        assert_eq!(
            line.unwrap(),
            "lowtide run -o malloc-arena-max -- env MALLOC_ARENA_MAX=2 LD_PRELOAD= python train.py; lowtide check malloc-arena-max --baseline run-1"
        );
        assert_eq!(made(&recipe, &job("")).1, None);
    }

    #[test]
    fn a_probe_runs_beside_the_job() {
        let recipe = Recipe::Probe(&["lowtide", "ps"]);
        assert_eq!(made(&recipe, &job("")).1.as_deref(), Some("lowtide ps"));
    }

    #[test]
    fn words_survive_a_shell() {
        assert_eq!(quoted("a b"), "'a b'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
        assert_eq!(quoted("--lr=1e-3"), "--lr=1e-3");
    }
}
