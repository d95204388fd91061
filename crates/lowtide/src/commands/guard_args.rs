//! The guard's flags, for `run` and `attach`.

use std::path::{Path, PathBuf};

use anyhow::Result;
use lowtide_core::guard::Every;
use lowtide_core::units::parse_duration;

use lowtide_session::failure::Failure;
use lowtide_session::watch::output_folders;

use lowtide_session::AskBy;
use lowtide_session::guard::Plan;
use lowtide_session::guard::checkpoints::Places;
use lowtide_session::guard::resume::Resume;

/// A leak of 1 % of the room a step would need this many for ten thousand steps; a loop without
/// progress is noticed long before.
const MAX_RESTARTS: u32 = 100;

#[derive(clap::Args, Clone, Debug)]
#[command(next_help_heading = "Guard")]
pub(super) struct GuardArgs {
    /// Get to the end of the run: before memory runs out, have the job save and stop, and start it again from there
    #[arg(long)]
    pub guard: bool,
    /// How the job is told to go on: words for its command line, with {checkpoint} in them
    #[arg(
        long,
        value_name = "WORDS",
        requires = "guard",
        allow_hyphen_values = true
    )]
    resume_arg: Option<String>,
    /// Where the job writes its checkpoints [default: the folders that its command names, and here]
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
    /// None without `--guard`. `cwd` is the job's.
    pub(super) fn plan(&self, command: &[String], cwd: &Path) -> Result<Option<Plan>> {
        if !self.guard {
            return Ok(None);
        }
        let resume = match &self.resume_arg {
            Some(text) => Some(Resume::given(text).map_err(|error| {
                Failure::usage(error).hint("for example: --resume-arg '--resume {checkpoint}'")
            })?),
            None => Resume::known(command, cwd),
        };
        let places = match &self.checkpoints {
            Some(folder) => Places::named(std::path::absolute(folder)?),
            None => Places::guessed(output_folders(cwd, command)),
        };
        Ok(Some(Plan {
            places,
            resume,
            max_restarts: self.max_restarts,
            signal: self.signal,
            every: self.restart_every,
        }))
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

    #[test]
    fn times_and_steps_are_told_apart() {
        assert_eq!(parse_every("30m"), Ok(Every::Seconds(1800.0)));
        assert_eq!(parse_every("500steps"), Ok(Every::Steps(500)));
        assert!(parse_every("0steps").is_err());
        assert!(parse_every("often").is_err());
    }
}
