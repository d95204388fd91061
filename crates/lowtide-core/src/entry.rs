//! What a recording holds, in order. Live views and replay both read a stream of entries.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::followed::{Followed, Lengths};
use crate::later;
use crate::look::Look;
use crate::mark::Mark;
use crate::postmortem::PostMortem;
use crate::process::{Member, ProcId};
use crate::sample::{Gap, Sample};
use crate::units::{Micros, Share};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Entry {
    /// The first entry of every recording.
    Header(Header),
    /// A process joined the tree, or what is known of it changed.
    Member(Member),
    /// A process left the tree.
    Gone {
        id: ProcId,
        at: Micros,
    },
    /// Another process is now the one to watch.
    Watch {
        at: Micros,
        id: ProcId,
        why: String,
    },
    Sample(Sample),
    Mark(Mark),
    /// Where the bytes of a process are, whoever looked.
    Look(Look),
    /// Which holders of a process are read from now on.
    Followed(Followed),
    /// What was in them.
    Lengths(Lengths),
    /// What a clean-up of the Python package freed.
    Cleanup(Cleanup),
    /// The training loop logged.
    Log {
        at: Micros,
        pid: u32,
        /// What it logged, as far as it is numbers.
        values: BTreeMap<String, f64>,
    },
    /// What somebody put in for later, as the JSON object that was sent. Kept and exported, never read.
    Record {
        at: Micros,
        pid: u32,
        json: String,
    },
    /// The guard started the job again.
    Attempt(Attempt),
    /// Why the job died.
    PostMortem(Box<PostMortem>),
    /// Something that is missing and belongs to no sample (ticks that were not recorded).
    Gap {
        at: Micros,
        gap: Gap,
        ticks: u64,
    },
    /// Something worth telling: a limit near, a verdict that changed, what the job printed last.
    Event {
        at: Micros,
        kind: EventKind,
        text: String,
    },
    /// The last entry of a recording that ended by itself.
    End {
        at: Micros,
        #[serde(default, deserialize_with = "later::or_default")]
        exit: Option<Exit>,
    },
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// The run's name, also that of its folder.
    pub name: String,
    /// Wall clock when the run began, since the Unix epoch.
    pub started: Micros,
    pub host: String,
    pub kernel: String,
    /// `run` or `attach`.
    pub how: String,
    /// The job's command, secrets masked.
    pub command: Vec<String>,
    pub cwd: String,
    pub interval: Micros,
    /// Share of wall time that careful readings may take.
    pub budget: Share,
    pub lowtide: String,
    pub cores: u32,
    pub clock_ticks: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cleanup {
    pub at: Micros,
    pub pid: u32,
    /// By part (`gc`, `trim`, `empty_cache`, …) the bytes that came back; less than nothing where the
    /// process grew meanwhile.
    pub freed: BTreeMap<String, i64>,
}

/// A job that is started again is a new process tree; its steps count on from a checkpoint.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attempt {
    pub at: Micros,
    /// From 2: the first attempt is the run's beginning.
    pub number: u32,
    /// What it resumes from; none when it begins anew.
    pub checkpoint: Option<String>,
    pub step: Option<u64>,
    /// Steps that are done a second time.
    pub repeated: u64,
    pub why: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EventKind {
    Info,
    /// Less than a tenth of the limit is left.
    LimitNear,
    Verdict,
    Leak,
    /// The recording itself is in trouble (disk full, queue full).
    Recording,
    JobStopped,
    JobContinued,
    /// What the guard did: asked, stopped, killed, restarted, gave up.
    Guard,
    /// Of a later lowtide.
    #[serde(other)]
    Other,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Exit {
    Code(i32),
    Signal(i32),
}

impl Exit {
    /// As a shell would report it.
    pub fn code(self) -> i32 {
        match self {
            Exit::Code(code) => code,
            Exit::Signal(signal) => 128 + signal,
        }
    }
}
