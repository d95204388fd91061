//! Who is in the tree: a process, what is known of it, and the role it plays.
//!
//! `lowtide-sys` collects [`Facts`]; the role and the choice of the one to watch are decided from them.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::later;

/// A process is a pid and its start time: pids are reused, the pair is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ProcId {
    pub pid: u32,
    /// Clock ticks after boot, field 22 of `/proc/PID/stat`.
    pub start: u64,
}

impl fmt::Display for ProcId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.pid)
    }
}

/// What a process does in a training job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// Only starts others: `uv run`, `accelerate launch`, `torchrun`, `srun`, `sh -c`.
    Launcher,
    /// Runs the training loop.
    Trainer,
    /// Runs the training loop of one rank of a distributed job.
    Rank { rank: u32, world: u32 },
    /// Loads data for a trainer.
    LoaderWorker,
    /// Compiles kernels for a trainer (Inductor).
    CompileWorker,
    /// CPython's multiprocessing resource tracker or fork server.
    ResourceTracker,
    /// Ships logs: wandb, MLflow, TensorBoard.
    Logger,
    #[default]
    Other,
}

impl Role {
    /// Trainers and ranks hold the loop; everything else helps.
    pub fn trains(self) -> bool {
        matches!(self, Role::Trainer | Role::Rank { .. })
    }

    /// All names, in alphabetical order.
    pub(crate) const NAMES: [&'static str; 8] = [
        "compile-worker",
        "launcher",
        "loader-worker",
        "logger",
        "other",
        "rank",
        "resource-tracker",
        "trainer",
    ];

    /// The role without its numbers, as used for grouping and in JSON.
    pub fn name(self) -> &'static str {
        Role::NAMES[self.index()]
    }

    /// Where its name stands in [`Role::NAMES`]: a sum by role is an array.
    pub(crate) fn index(self) -> usize {
        match self {
            Role::CompileWorker => 0,
            Role::Launcher => 1,
            Role::LoaderWorker => 2,
            Role::Logger => 3,
            Role::Other => 4,
            Role::Rank { .. } => 5,
            Role::ResourceTracker => 6,
            Role::Trainer => 7,
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Role::Rank { rank, world } => f.pad(&format!("rank {rank} of {world}")),
            other => f.pad(other.name()),
        }
    }
}

/// What can be seen of a process that does not change from tick to tick.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Facts {
    /// The command line, secrets masked.
    pub argv: Vec<String>,
    /// The kernel's short name (`/proc/PID/comm`).
    pub comm: String,
    /// The program's file, if it could be read.
    pub exe: Option<String>,
    /// Names of this process's threads that say what it does (`pt_data_worker`, …).
    pub threads: Vec<String>,
    /// Environment that matters for memory or for the job's geometry; nothing else is kept.
    pub env: Vec<(String, String)>,
    pub libtorch: bool,
    pub libcuda: bool,
    pub libpython: bool,
    /// Same program and arguments as its parent: a fork without exec.
    pub forked: bool,
}

impl Facts {
    /// For those who want no command line stored: what stays is the program's name.
    pub fn without_command(mut self) -> Facts {
        self.argv.clear();
        // Its path is often the first word of the command line.
        let name = |exe: String| exe.rsplit('/').next().map(str::to_owned);
        self.exe = self.exe.and_then(name);
        self
    }
}

/// A member of the tree, as recorded when it appears or when something about it changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Member {
    pub id: ProcId,
    pub parent: Option<ProcId>,
    pub facts: Facts,
    #[serde(default, deserialize_with = "later::or_default")]
    pub role: Role,
    /// Why it has that role, in words.
    pub why: String,
}
