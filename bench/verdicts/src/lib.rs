//! Scores the judge on runs and traces whose truth is known, next to the rules people use today. The corpus
//! of this repository is always judged; further folders are when they are given.

pub mod corpus;
pub mod founding;
pub mod outlook;
pub mod prefixes;
pub mod ramp;
pub mod rules;
pub mod score;
pub mod scored;
pub mod speed;
pub mod stats;
pub mod trace;
pub mod zoo;
