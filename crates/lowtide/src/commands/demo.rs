//! `lowtide demo`: a tour that needs nothing. It starts two small real jobs, watches both as `run`
//! would, and prints what it saw.

use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};
use lowtide_session::failure::Failure;
use lowtide_session::session::{self, Ended, NoView};
use lowtide_session::watch::{LookInside, WatchOptions};

use crate::commands::common::end_of_run;
use crate::show::page::random_hex;
use crate::tell::print;

/// Watch two small jobs for a minute: one that warms up, one that leaks
#[derive(clap::Args, Debug)]
pub(crate) struct DemoArgs {}

const SCRIPT: &str = include_str!("../demo/train.py");

/// Five ticks a second, so that a job of half a minute has enough to judge.
const INTERVAL: Duration = Duration::from_millis(200);

struct Act {
    title: &'static str,
    flags: &'static str,
}

const ACTS: [Act; 2] = [
    Act {
        title: "1. A trainer that keeps what it decodes: it grows for one epoch, and spikes at every evaluation",
        flags: "--keep",
    },
    Act {
        title: "2. The same trainer with a slow leak under the same spikes",
        // Seven epochs: after so many of five seconds each, growth that goes on is a leak.
        flags: "--leak-kb 500 --steps 280",
    },
];

pub(crate) fn run(_: &DemoArgs) -> Result<i32> {
    if Command::new("python3").arg("--version").output().is_err() {
        return Err(Failure::unseen(
            "the demo's jobs are written in Python, and there is no python3 here",
        )
        .hint("install Python 3, or watch a job of yours: lowtide run -- CMD")
        .into());
    }
    // Ours alone and made just now: what lies there is run.
    let folder = std::env::temp_dir().join(format!("lowtide-demo-{}", random_hex(8)?));
    std::fs::DirBuilder::new()
        .mode(0o700)
        .create(&folder)
        .context("cannot make a folder for the demo")?;
    let script = folder.join("train.py");
    std::fs::write(&script, SCRIPT).context("cannot write the demo's script")?;
    let done = ACTS.iter().try_for_each(|act| play(act, &script));
    let _ = std::fs::remove_dir_all(&folder);
    done?;
    print("\nNow yours: lowtide run -- python train.py\n")?;
    Ok(0)
}

fn play(act: &Act, script: &Path) -> Result<()> {
    let shell = format!("python3 {} {}; exit $?", script.display(), act.flags);
    print(&format!(
        "\n{}\n   lowtide run -- sh -c 'python3 train.py {}'\n\n",
        act.title, act.flags
    ))?;
    let options = WatchOptions {
        interval: INTERVAL,
        budget: WatchOptions::BUDGET,
        limit: None,
        output: None,
        hooks: Vec::new(),
        quiet: false,
        looks: LookInside::On,
        inside: false,
        probe: false,
        no_command: false,
    };
    let command = ["sh", "-c", &shell].map(str::to_owned);
    if let Ended {
        watch: Some(watch), ..
    } = session::run(&command, &options, None, None, &mut NoView)?
    {
        print(&end_of_run(&watch))?;
    }
    Ok(())
}
