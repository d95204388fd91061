//! Why a job died, as it stands in the recording and on the screen. `Run::explain_end` makes it;
//! `run`, `judge` and the views show it.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::entry::Exit;
use crate::later;
use crate::sample::Limit;
use crate::units::{Bytes, Micros};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PostMortem {
    pub at: Micros,
    #[serde(default, deserialize_with = "later::or_default")]
    pub cause: Cause,
    #[serde(default, deserialize_with = "later::or_default")]
    pub exit: Option<Exit>,
    /// The training process that ended first, where that is known.
    pub who: Option<Victim>,
    /// When the tree was last seen alive; what follows is of that moment.
    pub seen_at: Micros,
    pub held: Bytes,
    pub limit: Option<Limit>,
    /// Those who held most, the largest first.
    pub holders: Vec<Holder>,
    /// The furthest step that was done.
    pub step: Option<u64>,
    pub total_steps: Option<u64>,
    /// The last steps: seconds since the run began, and the step.
    pub steps: Vec<(f64, u64)>,
    pub attempt: u32,
    /// How fast memory rose, when it did.
    pub grew: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Cause {
    /// The kernel killed in a group whose limit was met.
    GroupOom { group: String, kills: u64 },
    /// The machine had no memory left.
    NodeOom { line: String },
    /// We did it.
    Guard { text: String },
    /// Somebody sent it, or the process itself.
    Signal { signal: i32 },
    /// One of several ranks ended, and the launcher took the others down.
    RankLost { code: i32 },
    /// Nobody saw the end: we died with the job, or lost it.
    Unseen { likely_oom: bool },
    /// Found by a later lowtide.
    #[default]
    Other,
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Cause::GroupOom { group, kills } => {
                let what = match kills {
                    1 => "a process".to_owned(),
                    kills => format!("{kills} processes"),
                };
                let group = if group.is_empty() { "?" } else { group };
                write!(
                    f,
                    "out of memory: the kernel killed {what} at the limit of cgroup {group}"
                )
            }
            Cause::NodeOom { line } => {
                write!(f, "out of memory: the machine had none left ({line})")
            }
            Cause::Guard { text } => write!(f, "the guard ended it: {text}"),
            Cause::Signal { signal } => write!(
                f,
                "signal {signal} from outside: no OOM kill was counted, and the guard did not send it"
            ),
            Cause::RankLost { code } => write!(
                f,
                "one rank ended and the launcher took down the others (code {code}); no OOM kill was counted"
            ),
            Cause::Unseen { likely_oom: true } => f.write_str(
                "the recording stops without an end, close to the limit: most likely out of memory, and lowtide was killed with the job",
            ),
            Cause::Unseen { likely_oom: false } => f.write_str(
                "the recording stops without an end, and memory was not short: lowtide was killed, or the machine went down",
            ),
            Cause::Other => f.write_str("a cause that this lowtide does not know"),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Victim {
    pub pid: u32,
    pub role: String,
    pub command: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    pub pid: u32,
    pub role: String,
    pub command: String,
    pub held: Bytes,
    /// Since it was first seen.
    pub grown: Bytes,
}
