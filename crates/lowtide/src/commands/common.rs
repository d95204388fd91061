//! Flags and words that `run`, `attach`, `demo` and `check` share.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use lowtide_core::units::{Cap, Share, parse_duration};
use lowtide_session::session::Ended;
use lowtide_session::watch::{LookInside, Watch, WatchOptions};

use crate::serve;
use crate::show::ending::{self, Cost};
use crate::show::mortem;

#[derive(clap::Args, Clone, Debug)]
pub(crate) struct WatchArgs {
    /// Where the recording goes [default: a new folder under the user's state directory]
    #[arg(short = 'o', long = "output", value_name = "DIR")]
    output: Option<PathBuf>,
    /// Time between two ticks (`run` ticks twice a second in the first minute)
    #[arg(short, long, value_parser = parse_duration, default_value = "1s")]
    interval: Duration,
    /// Share of wall time that careful readings (PSS, USS) may take
    #[arg(long, default_value = "0.1%")]
    budget: Share,
    /// Judge and guard against this limit, or this part of the one found (28GB, 32GiB, 90%)
    #[arg(long)]
    limit: Option<Cap>,
    /// Run CMD at EVENT: limit-near, leak, verdict, end
    #[arg(long = "on", num_args = 2, value_names = ["EVENT", "CMD"], action = clap::ArgAction::Append)]
    hooks: Vec<String>,
    /// Look into the processes that matter: where their bytes are, who holds what grows in Python, and steps that they
    /// do not tell (1 % of a core at most for each); `stop` has a census of Python's objects stop its process for some
    /// 0.1 s
    #[arg(
        long,
        value_enum,
        default_value = "on",
        value_name = "off|on|stop",
        hide_possible_values = true
    )]
    looks: LooksArg,
    /// Have the training loop trim its allocator when it has grown, to tell what is held from what is
    /// only kept (needs the lowtide package in the loop)
    #[arg(long, value_enum, value_name = "trim", hide_possible_values = true)]
    probe: Option<ProbeKind>,
    /// Store no command line, only the program's name; `explain` knows fewer causes then
    #[arg(long)]
    no_command: bool,
    /// Show this run on a page while it goes on [default address: 127.0.0.1:7380]
    #[arg(long, value_name = "ADDR", num_args = 0..=1, require_equals = true, default_missing_value = serve::DEFAULT)]
    web: Option<SocketAddr>,
    /// Let everybody on this machine see that page without its token
    #[arg(long, requires = "web")]
    open: bool,
    /// Say nothing on stderr
    #[arg(short, long)]
    quiet: bool,
}

/// A page of a run that goes on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Web {
    pub address: SocketAddr,
    /// Everybody on this machine may look.
    pub open: bool,
}

#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
enum LooksArg {
    Off,
    On,
    Stop,
}

impl From<LooksArg> for LookInside {
    fn from(looks: LooksArg) -> LookInside {
        match looks {
            LooksArg::Off => LookInside::Off,
            LooksArg::On => LookInside::On,
            LooksArg::Stop => LookInside::Stop,
        }
    }
}

#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
enum ProbeKind {
    Trim,
}

impl WatchArgs {
    /// Where the page is wanted, if it is.
    pub(crate) fn web(&self) -> Option<Web> {
        self.web.map(|address| Web {
            address,
            open: self.open,
        })
    }

    pub(crate) fn options(&self) -> WatchOptions {
        WatchOptions {
            interval: self.interval,
            budget: self.budget,
            limit: self.limit,
            output: self.output.clone(),
            hooks: self.hooks.clone(),
            quiet: self.quiet,
            looks: self.looks.into(),
            probe: self.probe.is_some(),
            inside: false,
            no_command: self.no_command,
        }
    }
}

/// What is printed when watching ends.
pub(crate) fn end_of_run(watch: &Watch) -> String {
    let spent = watch.spent();
    let cost = Cost {
        cpu: spent.cpu,
        locked: spent.locked,
    };
    ending::text(&watch.run, cost, watch.dir().map(PathBuf::as_path))
}

/// Says what the guard did and how the job died.
pub(crate) fn tell_end(ended: &Ended) {
    let Some(watch) = &ended.watch else { return };
    let teller = watch.teller();
    if let Some(guarded) = &ended.guarded {
        teller.block(&format!("  {:<10} {guarded}", "guard"));
    }
    if let Some(found) = &ended.mortem {
        teller.block(&mortem::text(found));
    }
}
