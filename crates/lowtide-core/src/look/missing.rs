//! What a look could not see. Rules ask for the variant; people get its words.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::Allocator;
use crate::judge::words::percent;
use crate::units::{Bytes, Micros, Share, show_bytes};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Missing {
    /// It had to end before all was read: what was not read is not told apart. Of mappings it counts as
    /// [`MemoryClass::OtherAnon`].
    ///
    /// [`MemoryClass::OtherAnon`]: super::MemoryClass::OtherAnon
    TimeRanOut { work: Micros, wall: Micros },
    /// Time ran out while mappings were listed.
    Unlisted,
    /// A spike came or went meanwhile: the parts are not those of one moment.
    Changed { by: Bytes },
    /// The kernel did not let us read it.
    Denied { what: String },
    /// Reading failed otherwise.
    Failed { what: String, error: String },
    /// An allocator whose blocks cannot be walked.
    UnknownAllocator { allocator: Allocator },
    /// Python without the GIL keeps its objects elsewhere.
    FreeThreaded,
    /// Heaps of `malloc` that make no sense as such.
    BrokenHeaps { bytes: Bytes },
    /// Resident pages in reserved address space that is too large to go through.
    Sparse { bytes: Bytes },
    /// Objects of C that are laid out otherwise than those that are known: what lies behind them is not told.
    Undecoded { what: String, count: u64 },
    /// Of two looks that are compared: growth came before or after them.
    Elsewhere { seen: Share },
    /// A newer version of lowtide wrote it.
    #[serde(other)]
    Unknown,
}

impl Missing {
    /// The names that [`Missing::kind`] gives.
    pub const KINDS: [&str; 12] = [
        "time-ran-out",
        "unlisted",
        "changed",
        "denied",
        "failed",
        "unknown-allocator",
        "free-threaded",
        "broken-heaps",
        "sparse",
        "undecoded",
        "elsewhere",
        "unknown",
    ];

    /// Its name in JSON.
    pub fn kind(&self) -> &'static str {
        match self {
            Missing::TimeRanOut { .. } => "time-ran-out",
            Missing::Unlisted => "unlisted",
            Missing::Changed { .. } => "changed",
            Missing::Denied { .. } => "denied",
            Missing::Failed { .. } => "failed",
            Missing::UnknownAllocator { .. } => "unknown-allocator",
            Missing::FreeThreaded => "free-threaded",
            Missing::BrokenHeaps { .. } => "broken-heaps",
            Missing::Sparse { .. } => "sparse",
            Missing::Undecoded { .. } => "undecoded",
            Missing::Elsewhere { .. } => "elsewhere",
            Missing::Unknown => "unknown",
        }
    }

    /// The look was cut short: bytes that it counts as of no kind may be of any.
    pub fn is_cut_short(&self) -> bool {
        matches!(self, Missing::TimeRanOut { .. } | Missing::Unlisted)
    }

    /// The look is torn: its parts are not those of one moment.
    pub fn is_torn(&self) -> bool {
        matches!(self, Missing::Changed { .. })
    }
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Missing::TimeRanOut { work, wall } => write!(
                f,
                "time ran out after {:.1} s of work in {:.1} s: what was not read yet is not told apart",
                work.seconds(),
                wall.seconds()
            ),
            Missing::Unlisted => f.write_str("not all mappings could be listed in time"),
            Missing::Changed { by } => write!(
                f,
                "memory changed by {} while it was looked at: the parts are not those of one moment",
                show_bytes(by.as_f64())
            ),
            Missing::Denied { what } => write!(
                f,
                "{what} could not be read (denied; it takes the same user and no ptrace_scope, or CAP_SYS_PTRACE): only mappings were told apart"
            ),
            Missing::Failed { what, error } => {
                write!(
                    f,
                    "{what} could not be read ({error}): only mappings were told apart"
                )
            }
            Missing::UnknownAllocator { allocator } => match allocator.owner() {
                Some(owner) => write!(f, "malloc is {owner}'s: its blocks cannot be told apart"),
                None => f.write_str("no known malloc was found: its blocks cannot be told apart"),
            },
            Missing::FreeThreaded => {
                f.write_str("Python without the GIL: its small objects cannot be told apart")
            }
            Missing::BrokenHeaps { bytes } => {
                write!(f, "{bytes} of malloc's heaps could not be made out")
            }
            Missing::Sparse { bytes } => write!(
                f,
                "{bytes} in reserved address space of gigabytes was not gone through"
            ),
            Missing::Undecoded { what, count } => write!(
                f,
                "of {count} {what} only the Python object was counted: laid out otherwise than those that are known"
            ),
            Missing::Elsewhere { seen } => write!(
                f,
                "the looks saw {} of the growth: they came before or after it",
                percent(seen.0)
            ),
            Missing::Unknown => f.write_str("something that only a newer lowtide can name"),
        }
    }
}

/// The same for those who read JSON.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Said {
    /// `time-ran-out`, `changed`, `denied`, …
    pub kind: String,
    pub says: String,
}

impl From<&Missing> for Said {
    fn from(missing: &Missing) -> Said {
        Said {
            kind: missing.kind().to_owned(),
            says: missing.to_string(),
        }
    }
}
