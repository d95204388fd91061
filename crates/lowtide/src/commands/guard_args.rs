//! The guard's flags, for `run` and `attach`.

use std::path::{Path, PathBuf};

use anyhow::Result;
use lowtide_core::guard::Every;
use lowtide_core::units::parse_duration;

use lowtide_session::failure::Failure;
use lowtide_session::watch::named_folders;

use lowtide_session::AskBy;
use lowtide_session::guard::checkpoints::Places;
use lowtide_session::guard::resume::{Resume, likely_flag};
use lowtide_session::guard::{Mode, Plan};

/// A leak of 1 % of the room a step would need this many for ten thousand steps; a loop without
/// progress is noticed long before.
const MAX_RESTARTS: u32 = 100;

#[derive(clap::Args, Clone, Debug)]
#[command(next_help_heading = "Guard")]
pub(super) struct GuardArgs {
    /// Get to the end of the run: before memory runs out, have the job save and stop, and start it again from there
    ///
    /// --guard=restart (the same as --guard) stops a job only when it is known where it saves and how it resumes; one
    /// that could not be started again is warned about. --guard=stop has it save and stop in time in any case, and
    /// leaves it there (exit code 75).
    #[arg(
        long,
        value_name = "WHAT",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "restart",
        value_parser = parse_mode
    )]
    guard: Option<Mode>,
    /// How the job is told to go on: words for its command line, with {checkpoint} in them
    #[arg(
        long,
        value_name = "WORDS",
        requires = "guard",
        allow_hyphen_values = true
    )]
    resume_arg: Option<String>,
    /// Where the job writes its checkpoints [default: worked out from its command, its files and what it tells]
    #[arg(long, value_name = "DIR", requires = "guard")]
    checkpoints: Option<PathBuf>,
    /// Restarts at most
    #[arg(long, value_name = "N", requires = "guard", default_value_t = MAX_RESTARTS)]
    max_restarts: u32,
    /// Restart after so much time or so many steps, whatever memory does (30m, 500steps)
    #[arg(long, value_name = "TIME|STEPS", requires = "guard", value_parser = parse_every)]
    restart_every: Option<Every>,
    /// Ask by this signal too, for a job that does not read lowtide's page (TERM, USR1, USR2)
    #[arg(long, value_name = "SIGNAL", requires = "guard")]
    signal: Option<AskBy>,
}

impl GuardArgs {
    pub(super) fn is_wanted(&self) -> bool {
        self.guard.is_some()
    }

    /// None without `--guard`. `cwd` is the job's.
    pub(super) fn plan(&self, command: &[String], cwd: &Path) -> Result<Option<Plan>> {
        let Some(mode) = self.guard else {
            return Ok(None);
        };
        let resume = match &self.resume_arg {
            Some(text) => Some(Resume::given(text).map_err(|error| {
                Failure::usage(error).hint("for example: --resume-arg '--resume {checkpoint}'")
            })?),
            None => Resume::known(command, cwd),
        };
        let places = match &self.checkpoints {
            Some(folder) => Places::named(std::path::absolute(folder)?),
            None => Places::guessed(cwd.to_owned(), named_folders(cwd, command)),
        };
        Ok(Some(Plan {
            mode,
            places,
            flag: likely_flag(command, cwd),
            resume,
            max_restarts: self.max_restarts,
            signal: self.signal,
            every: self.restart_every,
        }))
    }
}

fn parse_mode(text: &str) -> Result<Mode, String> {
    match text {
        "restart" => Ok(Mode::Restart),
        "stop" => Ok(Mode::Stop),
        _ => Err("restart or stop".to_owned()),
    }
}

fn parse_every(text: &str) -> Result<Every, String> {
    if let Some(steps) = text.strip_suffix("steps").or(text.strip_suffix("step")) {
        return match steps.trim().parse() {
            Ok(steps) if steps > 0 => Ok(Every::Steps(steps)),
            _ => Err(format!("`{text}`: expected something like 500steps")),
        };
    }
    match parse_duration(text) {
        Ok(time) if !time.is_zero() => Ok(Every::Seconds(time.as_secs_f64())),
        _ => Err(format!(
            "`{text}`: expected a time (30m) or steps (500steps)"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(clap::Parser)]
    struct Line {
        #[command(flatten)]
        guard: GuardArgs,
        #[arg(last = true)]
        command: Vec<String>,
    }

    #[test]
    fn the_value_of_guard_is_never_the_next_word() {
        let mode = |words: &str| {
            let words = std::iter::once("lowtide").chain(words.split_whitespace());
            Line::try_parse_from(words).map(|line| (line.guard.guard, line.command.len()))
        };
        assert_eq!(mode("--guard -- python").unwrap(), (Some(Mode::Restart), 1));
        assert_eq!(mode("--guard=restart").unwrap().0, Some(Mode::Restart));
        assert_eq!(mode("--guard=stop -- a b").unwrap(), (Some(Mode::Stop), 2));
        assert_eq!(mode("-- a").unwrap().0, None);
        assert!(mode("--guard=often").is_err() && mode("--checkpoints x").is_err());
    }

    #[test]
    fn times_and_steps_are_told_apart() {
        assert_eq!(parse_every("30m"), Ok(Every::Seconds(1800.0)));
        assert_eq!(parse_every("500steps"), Ok(Every::Steps(500)));
        assert!(parse_every("0steps").is_err());
        assert!(parse_every("often").is_err());
    }
}
