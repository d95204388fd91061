//! The command line: verbs and their help. Each verb's own flags stand beside the verb.

use clap::{Parser, Subcommand};

use crate::commands::{
    attach::AttachArgs, census::CensusArgs, check::CheckArgs, demo::DemoArgs, doctor::DoctorArgs,
    explain::ExplainArgs, export::ExportArgs, judge::JudgeArgs, ps::PsArgs, report::ReportArgs,
    run::RunArgs, runs::RunsArgs, serve::ServeArgs,
};

/// Tells whether the memory of a training job leaks, warms up or just spikes
#[derive(Debug, Parser)]
#[command(name = "lowtide", version, arg_required_else_help = true)]
#[command(
    after_help = "Start with:\n  lowtide demo\n  lowtide run -- python train.py\n  lowtide judge last\n  lowtide help words   what floor, driver, outlook and the other words mean"
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub verb: Verb,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    Run(RunArgs),
    Attach(AttachArgs),
    Ps(PsArgs),
    Judge(JudgeArgs),
    Explain(ExplainArgs),
    Census(CensusArgs),
    Check(CheckArgs),
    Report(ReportArgs),
    Serve(ServeArgs),
    Runs(RunsArgs),
    Export(ExportArgs),
    Doctor(DoctorArgs),
    Demo(DemoArgs),
}
