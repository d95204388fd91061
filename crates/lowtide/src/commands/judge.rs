//! `lowtide judge SOURCE`: the verdict on a recording or on any file with a series in it.

use anyhow::Result;
use lowtide_core::mark::Geometry;
use lowtide_core::units::Bytes;
use lowtide_core::verdict::{Axis, Class};

use crate::show::style::Style;
use crate::show::{json, list, mortem, text};
use crate::source::{self, Said};
use crate::tell::{print, print_json};

/// Say whether memory leaks, warms up, spikes or is stable, with the evidence
///
/// Examples:
///   lowtide judge last
///   lowtide judge run2.csv --examples 663 --batch 2 --accumulate 4 --limit 32GB
///   grep RAM train.log | lowtide judge - --json
///   lowtide judge docker-stats.txt --name trainer
///   lowtide judge top.txt --all
#[derive(clap::Args, Debug)]
#[command(verbatim_doc_comment)]
pub(crate) struct JudgeArgs {
    /// A run (path, name or `last`), a CSV, an mprof file, a log; `-` is stdin
    source: String,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
    /// List every series of the file, each with its verdict
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    said: SaidArgs,
}

/// What the series itself cannot show.
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct SaidArgs {
    /// Examples in the training set
    #[arg(long, value_name = "N")]
    examples: Option<u64>,
    /// Examples in a batch, on one device
    #[arg(long, value_name = "N")]
    batch: Option<u64>,
    /// Batches accumulated in one optimizer step
    #[arg(long, value_name = "N")]
    accumulate: Option<u64>,
    /// Number of ranks
    #[arg(long, value_name = "N")]
    world: Option<u64>,
    /// Optimizer steps in one epoch, if you would rather say that
    #[arg(long, value_name = "N")]
    epoch_steps: Option<f64>,
    /// Steps of the whole run, where the source does not say
    #[arg(long, value_name = "N")]
    steps: Option<u64>,
    /// The memory that must not be exceeded (32GB, 28GiB)
    #[arg(long)]
    limit: Option<Bytes>,
    /// What the x of the series counts
    #[arg(long, value_enum)]
    axis: Option<AxisArg>,
    /// The column, or in a log the label, that holds the memory
    #[arg(long)]
    column: Option<String>,
    /// The unit of sizes that carry none (MB, GiB, kB, B)
    #[arg(long)]
    unit: Option<String>,
    /// Which process of a file that has several
    #[arg(long, value_name = "N")]
    pid: Option<u32>,
    /// Which process, container, pod or metric of such a file, by (a part of) its name
    #[arg(long, value_name = "TEXT")]
    name: Option<String>,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum AxisArg {
    Step,
    Time,
    Sample,
}

impl SaidArgs {
    pub(crate) fn said(&self) -> Said {
        Said {
            axis: self.axis.map(|axis| match axis {
                AxisArg::Step => Axis::Step,
                AxisArg::Time => Axis::Time,
                AxisArg::Sample => Axis::Sample,
            }),
            geometry: Geometry {
                examples: self.examples,
                batch: self.batch,
                accumulate: self.accumulate,
                world: self.world,
                epoch_steps: self.epoch_steps,
            },
            total_steps: self.steps,
            limit: self.limit,
            column: self.column.clone(),
            unit: self.unit.clone(),
            pid: self.pid,
            name: self.name.clone(),
            steps_expected: false,
        }
    }
}

pub(crate) fn run(args: &JudgeArgs) -> Result<i32> {
    if args.all {
        return run_all(args);
    }
    let judged = source::open(&args.source, &args.said.said())?;
    if args.json {
        let how = judged.how.as_deref();
        let object = json::verdict(&judged.verdict, how, judged.mortem.as_ref())?;
        print_json(object)?;
    } else {
        let style = Style::of(&std::io::stdout());
        let how = judged.how.as_deref();
        print(&text::render(&judged.verdict, &judged.series, how, style))?;
        if let Some(found) = &judged.mortem {
            print(&format!("\n{}", mortem::text(found)))?;
        }
    }
    Ok(exit_code(judged.verdict.verdict))
}

/// Every series of a file. The worst verdict is the exit code.
fn run_all(args: &JudgeArgs) -> Result<i32> {
    let listed = source::open_all(&args.source, &args.said.said())?;
    if args.json {
        print_json(json::listed(&args.source, &listed)?)?;
    } else {
        let style = Style::of(&std::io::stdout());
        print(&list::render(&args.source, &listed, style))?;
    }
    let has = |class: Class| listed.iter().any(|one| one.verdict.verdict == class);
    let worst = [Class::Leak, Class::TooEarly].into_iter().find(|c| has(*c));
    Ok(exit_code(worst.unwrap_or(Class::Stable)))
}

/// 0 not leaking, 1 leak, 3 too early.
pub(crate) fn exit_code(class: Class) -> i32 {
    match class {
        Class::Leak => 1,
        Class::TooEarly => 3,
        Class::WarmUp | Class::Spikes | Class::Stable => 0,
    }
}
