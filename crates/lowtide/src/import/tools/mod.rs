//! Files that tools write, each read by the format of its tool: one small file a tool. A tool that lists
//! several processes, containers or metrics makes several series; `choose` takes one of them.
//!
//! A reader says with `is` whether the start of a file is its tool's, and hands what it reads to a [`Gather`].
//! A new one is a file here, a row in [`TOOLS`], its fixtures, and a line in docs/files.md.

mod deepspeed;
mod detectron2;
mod docker_stats;
mod free;
mod gpustat;
mod grafana;
mod kubectl_top;
mod listing;
mod megatron;
mod numbers;
mod nvidia_smi;
mod pidstat;
mod prometheus;
mod ps;
mod ru_maxrss;
mod sar;
mod sstat;
mod top;
mod vmstat;
mod wandb;

use lowtide_core::output::Lines;
use lowtide_core::verdict::Meter;

use super::gather::{Gather, Whose};
use super::{Feed, ImportError, Imported, Options};

pub(super) struct Tool {
    /// As the user calls it: "docker stats".
    pub name: &'static str,
    /// Whether a file that starts so is this tool's. Sure, or not at all: what no tool claims is read as a
    /// table or a log.
    pub is: fn(&[u8]) -> bool,
    pub read: fn(&mut Feed<'_>, &mut Gather) -> Result<(), ImportError>,
}

/// In the order in which they are asked.
const TOOLS: &[Tool] = &[
    wandb::TOOL,
    prometheus::range::TOOL,
    docker_stats::TOOL,
    kubectl_top::TOOL,
    pidstat::TOOL,
    top::TOOL,
    ps::TOOL,
    free::TOOL,
    sar::TOOL,
    vmstat::TOOL,
    nvidia_smi::query::TOOL,
    nvidia_smi::monitor::TOOL,
    nvidia_smi::table::TOOL,
    gpustat::TOOL,
    sstat::TOOL,
    prometheus::text::TOOL,
    grafana::TOOL,
    numbers::TOOL,
    // Logs with other things in them.
    deepspeed::TOOL,
    megatron::TOOL,
    detectron2::TOOL,
    ru_maxrss::TOOL,
];

/// The tool that wrote a file.
pub(super) fn of(start: &[u8]) -> Option<&'static Tool> {
    TOOLS.iter().find(|tool| (tool.is)(start))
}

impl Tool {
    /// Every series of the file.
    pub(super) fn series(
        &self,
        feed: &mut Feed<'_>,
        source: &str,
        options: &Options,
    ) -> Result<Vec<Imported>, ImportError> {
        let mut gather = Gather::new(self.name, options)?;
        (self.read)(feed, &mut gather)?;
        gather.finish(source, options)
    }
}

/// What everybody on the machine uses together.
fn the_machine() -> Whose<'static> {
    Whose {
        name: "the machine",
        pid: None,
        command: None,
        kind: "used memory",
        meter: Meter::Memory,
    }
}

/// Hands over the lines of a text as a terminal shows them: without colours, cut where the cursor jumps, tabs as
/// blanks, empty ones left out.
fn each_text_line(feed: &mut Feed<'_>, mut each: impl FnMut(&str)) -> Result<(), ImportError> {
    let mut lines = Lines::default();
    feed.each_piece(|piece| lines.feed(piece, &mut each))?;
    lines.finish(&mut each);
    Ok(())
}

/// The first lines of a start, likewise: what `is` asks.
fn first_lines(start: &[u8], most: usize) -> Vec<String> {
    /// Headers stand at the top; a log of a gigabyte is not cut into lines to know that.
    const LOOK: usize = 8 << 10;
    let mut found = Vec::new();
    let mut lines = Lines::default();
    let start = &start[..start.len().min(LOOK)];
    let mut take = |line: &str| {
        if found.len() < most {
            found.push(line.to_owned());
        }
    };
    lines.feed(start, &mut take);
    lines.finish(&mut take);
    found
}

#[cfg(test)]
mod tests;
