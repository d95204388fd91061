//! Views: they see core types and decide nothing.

pub mod chart;
pub mod check;
pub mod drawing;
pub mod ending;
pub mod explain;
pub mod jobs;
pub mod json;
pub mod letters;
pub mod markdown;
pub mod mortem;
pub mod outlook;
pub mod page;
pub mod png;
pub mod progress;
pub mod style;
pub mod summary;
pub mod svg;
pub mod text;
pub mod tui;
