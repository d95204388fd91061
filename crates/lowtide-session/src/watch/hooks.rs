//! `--on EVENT CMD`: runs a command of the user's when something happens.
//!
//! It runs beside the job, never in its tree, and nobody waits for it.

use std::process::{Child, Command, Stdio};
use std::str::FromStr;

use lowtide_core::entry::EventKind;
use lowtide_core::text::shown;

/// What a command can be tied to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HookEvent {
    LimitNear,
    Leak,
    /// The verdict became another one.
    Verdict,
    End,
}

/// For the hint when another word is given.
pub(crate) const EVENTS: &str = "events are limit-near, leak, verdict and end";

impl FromStr for HookEvent {
    type Err = String;

    fn from_str(text: &str) -> Result<HookEvent, String> {
        match text {
            "limit-near" => Ok(HookEvent::LimitNear),
            "leak" => Ok(HookEvent::Leak),
            "verdict" => Ok(HookEvent::Verdict),
            "end" => Ok(HookEvent::End),
            other => Err(format!("--on: `{other}` is no event")),
        }
    }
}

impl HookEvent {
    pub(super) fn of(kind: EventKind) -> Option<HookEvent> {
        match kind {
            EventKind::LimitNear => Some(HookEvent::LimitNear),
            EventKind::Leak => Some(HookEvent::Leak),
            EventKind::Verdict => Some(HookEvent::Verdict),
            _ => None,
        }
    }

    fn name(self) -> &'static str {
        match self {
            HookEvent::LimitNear => "limit-near",
            HookEvent::Leak => "leak",
            HookEvent::Verdict => "verdict",
            HookEvent::End => "end",
        }
    }
}

#[derive(Default)]
pub(super) struct Hooks {
    hooks: Vec<(HookEvent, String)>,
    running: Vec<Child>,
}

impl Hooks {
    /// `pairs` as clap hands them over: EVENT, CMD, EVENT, CMD, …
    pub(super) fn new(pairs: &[String]) -> Result<Hooks, String> {
        let hooks = pairs
            .chunks(2)
            .map(|pair| match pair {
                [event, command] => Ok((event.parse()?, command.clone())),
                _ => Err("--on needs an event and a command".to_owned()),
            })
            .collect::<Result<_, String>>()?;
        Ok(Hooks {
            hooks,
            running: Vec::new(),
        })
    }

    /// Starts the commands tied to `event`; returns what could not be started.
    pub(crate) fn fire(&mut self, event: HookEvent, run: &str, text: &str) -> Vec<String> {
        let mut failed = Vec::new();
        for (_, command) in self.hooks.iter().filter(|(tied, _)| *tied == event) {
            let started = Command::new("sh")
                .args(["-c", command])
                .env("LOWTIDE_EVENT", event.name())
                .env("LOWTIDE_RUN", run)
                // It may end on somebody's screen, and quotes names that others chose.
                .env("LOWTIDE_TEXT", &*shown(text))
                .stdin(Stdio::null())
                // The terminal belongs to the job; a hook that wants to be seen writes somewhere.
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn();
            match started {
                Ok(child) => self.running.push(child),
                Err(error) => failed.push(format!("--on {} {command}: {error}", event.name())),
            }
        }
        failed
    }

    /// Collects those that ended, so that none stays a zombie.
    pub(crate) fn reap(&mut self) {
        self.running
            .retain_mut(|child| matches!(child.try_wait(), Ok(None)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hook_hears_what_happened() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("heard");
        let command = format!("echo $LOWTIDE_EVENT $LOWTIDE_TEXT > {}", file.display());
        let mut hooks = Hooks::new(&["leak".to_owned(), command]).unwrap();
        assert!(hooks.fire(HookEvent::LimitNear, "r", "not this").is_empty());
        assert!(hooks.running.is_empty());
        hooks.fire(HookEvent::Leak, "r", "2 MB a step");
        for child in &mut hooks.running {
            child.wait().unwrap();
        }
        assert_eq!(
            std::fs::read_to_string(&file).unwrap(),
            "leak 2 MB a step\n"
        );
    }

    #[test]
    fn unknown_events_are_refused() {
        assert!(Hooks::new(&["oom".to_owned(), "true".to_owned()]).is_err());
    }
}
