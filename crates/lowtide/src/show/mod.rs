//! Views: they see core types and decide nothing.

pub(crate) mod census;
pub(crate) mod census_diff;
pub(crate) mod chart;
pub(crate) mod check;
pub(crate) mod drawing;
pub(crate) mod ending;
pub(crate) mod explain;
pub(crate) mod jobs;
pub(crate) mod json;
pub(crate) mod letters;
pub(crate) mod list;
pub(crate) mod markdown;
pub(crate) mod mortem;
pub(crate) mod outlook;
pub(crate) mod page;
pub(crate) mod png;
pub(crate) mod progress;
#[cfg(test)]
mod sentences;
pub(crate) mod style;
pub(crate) mod summary;
pub(crate) mod svg;
pub(crate) mod text;
pub(crate) mod tui;
