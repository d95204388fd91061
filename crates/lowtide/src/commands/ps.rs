//! `lowtide ps`: the training jobs of this machine, as they are now.

use anyhow::Result;
use lowtide_core::sample::Sample;
use lowtide_core::units::{Micros, Share};
use lowtide_recording::Store;
use lowtide_recording::summary::{RunState, Summary};
use lowtide_sys::find::{TrainingJob, find_training};
use lowtide_sys::proc::Proc;
use lowtide_sys::sampler::{Options, Sampler};

use crate::commands::runs::{JUDGED_WITHIN, room};
use crate::glances::Glances;
use crate::show;
use crate::show::jobs::{SampledJob, Watching};
use crate::tell::{print, print_json, tell};

/// Show the training jobs of this machine once: roles, memory, limit, headroom, and the verdict of those
/// that are watched
#[derive(clap::Args, Debug)]
pub(crate) struct PsArgs {
    /// Only jobs with TEXT in the trainer's command line; any framework or none counts then
    text: Option<String>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// A single sample may be as careful as it needs to be: it is one, not one a second.
const ONE_SAMPLE: Share = Share(1.0);

pub(crate) fn run(args: &PsArgs) -> Result<i32> {
    let jobs = find_training(&Proc::at("/proc")?, args.text.as_deref())?;
    let mut jobs: Vec<SampledJob> = jobs.into_iter().map(sampled).collect();
    let watching = watching();
    for job in &mut jobs {
        job.watching = watching.iter().find(|run| run.is_of(&job.members)).cloned();
    }
    if args.json {
        print_json(show::jobs::json(&jobs))?;
    } else if jobs.is_empty() {
        tell!("lowtide: no training job runs here");
        tell!(
            "hint: `lowtide ps TEXT` finds jobs by their command line, without looking for a framework"
        );
    } else {
        print(&show::jobs::text(&jobs, room(&std::io::stdout())))?;
    }
    Ok(0)
}

/// The job with a sample of its tree.
pub(crate) fn sampled(job: TrainingJob) -> SampledJob {
    SampledJob {
        sample: sample(job.root.pid),
        root: job.root,
        trainer: job.trainer,
        why: job.why,
        members: job.members,
        watching: None,
    }
}

/// The runs of this machine that go on, newest first: what they say of their jobs.
fn watching() -> Vec<Watching> {
    let runs = Store::from_env().and_then(|store| store.runs());
    // Without a store nothing is watched.
    let runs = runs.unwrap_or_default().into_iter().rev();
    let glances = Glances::within(JUDGED_WITHIN);
    runs.filter_map(|run| {
        let path = run.recording();
        let summary = Summary::read(&path).ok()?;
        let glance = (summary.state == RunState::Running)
            .then(|| glances.of(&path, &summary))
            .flatten()?;
        Some(Watching {
            name: run.name,
            glance,
        })
    })
    .collect()
}

fn sample(root: u32) -> Option<Sample> {
    let mut sample = Sample::default();
    let mut sampler = Sampler::new(Options {
        budget: ONE_SAMPLE,
        ..Options::new(vec![root])
    })
    .ok()?;
    // The first tick meets the members, the second has credit for careful readings.
    sampler.tick(Micros(0), &mut sample).ok()?;
    sampler.tick(Micros(1_000_000), &mut sample).ok()?;
    Some(sample)
}
