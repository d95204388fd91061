//! Holders that are read again on every tick: what a census named and a few words of each can tell. `lowtide-census`
//! reads them, recordings keep them, [`crate::run`] folds them, and `explain` says what became of each.

use serde::{Deserialize, Serialize};

use crate::process::ProcId;
use crate::units::{Bytes, Micros};

/// From now on these holders of a process are read, in this order, and no others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Followed {
    pub at: Micros,
    pub id: ProcId,
    /// Which list this is: a reading says the same number. One may be lost with a part of a recording.
    #[serde(default)]
    pub list: u64,
    pub holders: Vec<FollowedHolder>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FollowedHolder {
    /// As the census calls it.
    pub name: String,
    /// Its type.
    pub kind: String,
    /// What the census found for each of its items, on average.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub each: Option<Bytes>,
}

/// What was in them at one moment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Lengths {
    pub at: Micros,
    pub id: ProcId,
    /// Of [`Followed`].
    #[serde(default)]
    pub list: u64,
    /// In the order of [`Followed`]; none where a holder was not there, or could not be told.
    pub readings: Vec<Option<HolderReading>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HolderReading {
    /// How many items it has.
    pub length: u64,
    /// The size of its table; the `maxlen` of a deque.
    #[serde(default)]
    pub capacity: Option<u64>,
    /// How many of its slots have something, where it was seen to have empty ones.
    #[serde(default)]
    pub filled: Option<u64>,
    /// Nothing that was looked for of what it had at the reading before is left in it.
    #[serde(default)]
    pub renewed: bool,
}
