//! `lowtide runs`: what is kept, and how to keep less.

use std::fmt::Write;
use std::fs;
use std::io::IsTerminal;
use std::os::fd::AsFd;
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result};
use jiff::{Timestamp, tz::TimeZone};
use lowtide_core::entry::Exit;
use lowtide_core::text::{short, shown};
use lowtide_core::units::{Bytes, parse_duration, show_duration};
use lowtide_recording::store::{Store, StoredRun};
use lowtide_recording::summary::{RunState, Summary, recently_written};
use lowtide_recording::{Losses, RecordingError};
use serde_json::json;

use crate::glances::Glances;
use crate::listing::{Looked, at_a_glance};
use crate::show::progress::Progress;
use crate::show::style::Style;
use crate::tell::{print, print_json, tell};

/// List the runs that are kept
#[derive(clap::Args, Debug)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct RunsArgs {
    #[command(subcommand)]
    action: Option<Action>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(clap::Subcommand, Debug)]
enum Action {
    Prune(PruneArgs),
}

/// Delete old runs; never one that still runs
#[derive(clap::Args, Debug)]
#[command(group = clap::ArgGroup::new("rule").required(true).multiple(true))]
pub(crate) struct PruneArgs {
    /// Keep the newest N; alone, delete all others
    #[arg(long, value_name = "N", group = "rule")]
    keep: Option<usize>,
    /// Delete runs that ended longer ago than this (30d, 12h)
    #[arg(long, value_name = "TIME", group = "rule", value_parser = parse_duration)]
    older_than: Option<Duration>,
    /// Delete the oldest runs until the rest fits (2GB)
    #[arg(long, value_name = "SIZE", group = "rule")]
    max_size: Option<Bytes>,
    /// Only say what would be deleted
    #[arg(long)]
    dry_run: bool,
}

/// A command is cut at this many characters in the list.
const COMMAND_WIDTH: usize = 40;
/// Shorter than this, a piece of a command says nothing.
const COMMAND_LEAST: usize = 16;
/// Recordings that nobody has judged yet are read through for so long: the list has to be quick.
pub(super) const JUDGED_WITHIN: Duration = Duration::from_secs(2);

pub(crate) fn run(args: &RunsArgs) -> Result<i32> {
    let store = Store::from_env()?;
    match &args.action {
        None if args.json => print_json(list_json(&store)?)?,
        None => print(&list(&store, room(&std::io::stdout()))?)?,
        Some(Action::Prune(rules)) => print(&prune(&store, rules, SystemTime::now())?)?,
    }
    Ok(0)
}

/// How wide a line may be; a file has room for all.
pub(super) fn room(stream: &(impl IsTerminal + AsFd)) -> usize {
    match stream.is_terminal() {
        true => Style::of(stream).width,
        false => usize::MAX,
    }
}

/// A run with what its recording says.
type Listed = (StoredRun, Result<Looked, RecordingError>);

/// Every run, newest first.
fn looked_at(store: &Store) -> Result<Vec<Listed>> {
    let mut runs = store.runs()?;
    runs.retain(|run| run.recording().is_file());
    let mut progress = Progress::new("looking at runs", runs.len() as u64);
    let glances = Glances::within(JUDGED_WITHIN);
    let looked = runs.into_iter().rev().zip(1..).map(|(run, nth)| {
        let path = run.recording();
        let looked = Summary::read(&path).and_then(|summary| {
            Ok(Looked {
                losses: summary.losses(&path)?,
                glance: glances.of(&path, &summary),
                summary,
            })
        });
        progress.at(nth);
        (run, looked)
    });
    Ok(looked.collect())
}

fn list_json(store: &Store) -> Result<serde_json::Value> {
    let looked = looked_at(store)?.into_iter();
    let runs: Vec<_> = looked
        .map(|(run, looked)| at_a_glance(&run, looked.ok()))
        .collect();
    Ok(json!({"schema": 1, "runs": runs}))
}

/// Two lines a run: what it is, and what became of its memory.
fn list(store: &Store, room: usize) -> Result<String> {
    let listed = looked_at(store)?;
    let mut out = String::new();
    if listed.is_empty() {
        tell!("no runs in {}", store.runs_dir().display());
        return Ok(out);
    }
    // A folder may be called anything.
    let names = listed.iter().map(|(run, _)| shown(&run.name));
    let width = names.map(|name| name.chars().count()).max().unwrap_or(0);
    let head = facts_line(
        ["NAME", "STARTED", "LENGTH", "PEAK", "STATE"].map(str::to_owned),
        width,
    );
    writeln!(out, "{}", with_command(head, "COMMAND", room).trim_end())?;
    for (run, looked) in &listed {
        let name = shown(&run.name);
        match looked {
            Ok(looked) => {
                let line = facts_line(facts(name.into_owned(), looked), width);
                let command = looked.summary.header.command.join(" ");
                let command = shown(&command);
                writeln!(out, "{}", with_command(line, &command, room).trim_end())?;
                let says = looked
                    .glance
                    .as_ref()
                    .map(|glance| shown(&glance.says).into_owned());
                let says = says.unwrap_or_else(|| {
                    format!("not judged yet: lowtide judge {}", shown(&run.name))
                });
                writeln!(out, "  {}", short(&says, room.saturating_sub(2)))?;
            }
            Err(error) => {
                let error = error.to_string();
                writeln!(out, "{name:width$}  unreadable: {}", shown(&error))?;
            }
        }
    }
    Ok(out)
}

fn facts(name: String, looked: &Looked) -> [String; 5] {
    let summary = &looked.summary;
    [
        name,
        local_time(summary.header.started.0),
        show_duration(summary.last.seconds().round()),
        summary.peak.to_string(),
        state_text(summary.state) + loss_text(looked.losses),
    ]
}

fn facts_line([name, started, length, peak, state]: [String; 5], width: usize) -> String {
    format!("{name:width$}  {started:11}  {length:>7}  {peak:>7}  {state:9}")
}

/// The command behind the facts, as far as there is room.
fn with_command(line: String, command: &str, room: usize) -> String {
    let left = room.saturating_sub(line.chars().count() + 2);
    match left {
        0..COMMAND_LEAST => line,
        _ => format!("{line}  {}", short(command, left.min(COMMAND_WIDTH))),
    }
}

fn state_text(state: RunState) -> String {
    match state {
        RunState::Running => "running".to_owned(),
        RunState::Ended(None) => "ended".to_owned(),
        RunState::Ended(Some(Exit::Code(code))) => format!("ended {code}"),
        RunState::Ended(Some(Exit::Signal(signal))) => format!("signal {signal}"),
        RunState::CutOff => "cut off".to_owned(),
    }
}

fn loss_text(losses: Option<Losses>) -> &'static str {
    match losses {
        Some(losses) if losses.damaged => ", damaged",
        Some(losses) if losses.ticks > 0 => ", ticks lost",
        _ => "",
    }
}

fn local_time(micros: u64) -> String {
    let time = i64::try_from(micros).ok();
    let time = time.and_then(|micros| Timestamp::from_microsecond(micros).ok());
    time.map_or_else(String::new, |time| {
        let local = time.to_zoned(TimeZone::system());
        local.strftime("%m-%d %H:%M").to_string()
    })
}

/// What pruning looks at.
#[derive(Clone, Copy, Debug)]
struct Prunable {
    running: bool,
    age: Duration,
    /// What deleting it would free: nothing for a recording that lies elsewhere.
    size: Bytes,
}

/// Which of the runs (oldest first) go.
fn doomed(runs: &[Prunable], rules: &PruneArgs) -> Vec<bool> {
    let kept_by_number = |index: usize| rules.keep.is_some_and(|keep| index + keep >= runs.len());
    let only_number = rules.older_than.is_none() && rules.max_size.is_none();
    let mut total: Bytes = runs.iter().map(|run| run.size).sum();
    let mut doomed = Vec::with_capacity(runs.len());
    for (index, run) in runs.iter().enumerate() {
        let old = rules.older_than.is_some_and(|limit| run.age > limit);
        let too_much = run.size > Bytes::ZERO && rules.max_size.is_some_and(|limit| total > limit);
        let goes = !run.running && !kept_by_number(index) && (old || too_much || only_number);
        if goes {
            total = total.saturating_sub(run.size);
        }
        doomed.push(goes);
    }
    doomed
}

/// Returns what went, a line each.
fn prune(store: &Store, rules: &PruneArgs, now: SystemTime) -> Result<String> {
    let mut out = String::new();
    let mut runs = store.runs()?;
    // A link whose recording was deleted leads nowhere. A folder without one is not a run, or not yet.
    for link in runs.iter().filter(|run| run.linked && !run.dir.exists()) {
        if !rules.dry_run {
            fs::remove_file(&link.dir)
                .with_context(|| format!("cannot delete {}", link.dir.display()))?;
        }
    }
    runs.retain(|run| run.recording().is_file());
    let prunable: Vec<Prunable> = runs.iter().map(|run| prunable_of(run, now)).collect();
    let doomed = doomed(&prunable, rules);
    let verb = if rules.dry_run {
        "would delete"
    } else {
        "deleted"
    };
    let (mut count, mut freed) = (0, Bytes::ZERO);
    for ((run, it), _) in runs
        .iter()
        .zip(&prunable)
        .zip(doomed)
        .filter(|(_, goes)| *goes)
    {
        if !rules.dry_run {
            delete(run)?;
        }
        let note = if run.linked {
            " (only the link: the recording was put elsewhere)"
        } else {
            ""
        };
        writeln!(out, "{verb} {}{note}", shown(&run.name))?;
        count += 1;
        freed = freed + it.size;
    }
    tell!("{verb} {count} of {} runs, {freed}", runs.len());
    Ok(out)
}

fn prunable_of(run: &StoredRun, now: SystemTime) -> Prunable {
    let path = run.recording();
    let meta = fs::metadata(&path).ok();
    let written = meta.as_ref().and_then(|m| m.modified().ok());
    Prunable {
        // One that cannot be read may have just begun, or be a newer lowtide's.
        running: Summary::read(&path).map_or_else(
            |_| recently_written(&path),
            |s| s.state == RunState::Running,
        ),
        age: written
            .and_then(|written| now.duration_since(written).ok())
            .unwrap_or_default(),
        size: match meta {
            Some(meta) if !run.linked => Bytes(meta.len()),
            _ => Bytes::ZERO,
        },
    }
}

fn delete(run: &StoredRun) -> Result<()> {
    let done = if run.linked {
        fs::remove_file(&run.dir)
    } else {
        fs::remove_dir_all(&run.dir)
    };
    done.with_context(|| format!("cannot delete {}", run.dir.display()))
}

#[cfg(test)]
mod tests {
    use lowtide_core::entry::{Entry, Header};
    use lowtide_core::units::Micros;

    use super::*;
    use lowtide_recording::{FILE_NAME, Recorder};

    const DAY: Duration = Duration::from_secs(86_400);

    fn rules(keep: Option<usize>, days: Option<u32>, max: Option<u64>) -> PruneArgs {
        PruneArgs {
            keep,
            older_than: days.map(|days| DAY * days),
            max_size: max.map(Bytes),
            dry_run: false,
        }
    }

    /// Oldest first: 10, 9, … 1 days old, 100 bytes each; the third one still runs.
    fn ten() -> Vec<Prunable> {
        (0..10)
            .map(|index| Prunable {
                running: index == 2,
                age: DAY * (10 - index),
                size: Bytes(100),
            })
            .collect()
    }

    fn gone(runs: &[Prunable], rules: &PruneArgs) -> Vec<usize> {
        let doomed = doomed(runs, rules);
        (0..runs.len()).filter(|&index| doomed[index]).collect()
    }

    #[test]
    fn a_running_run_is_never_deleted() {
        assert_eq!(
            gone(&ten(), &rules(Some(0), None, None)),
            [0, 1, 3, 4, 5, 6, 7, 8, 9]
        );
        assert_eq!(
            gone(&ten(), &rules(None, Some(0), Some(0))),
            [0, 1, 3, 4, 5, 6, 7, 8, 9]
        );
    }

    #[test]
    fn each_rule_deletes_the_oldest_and_keep_protects_the_newest() {
        assert_eq!(gone(&ten(), &rules(Some(7), None, None)), [0, 1]);
        assert_eq!(gone(&ten(), &rules(None, Some(6), None)), [0, 1, 3]);
        assert_eq!(gone(&ten(), &rules(None, None, Some(650))), [0, 1, 3, 4]);
        assert_eq!(gone(&ten(), &rules(Some(9), Some(6), Some(650))), [0]);
    }

    #[test]
    fn recordings_that_lie_elsewhere_take_no_room_and_are_not_deleted_for_it() {
        let mut runs = ten();
        runs[0].size = Bytes::ZERO;
        assert_eq!(gone(&runs, &rules(None, None, Some(750))), [1, 3]);
    }

    #[test]
    fn the_list_says_what_became_of_each_run_newest_first() {
        let home = tempfile::tempdir().unwrap();
        let store = Store::at(home.path());
        let command = vec!["python".to_owned(), "-c".to_owned(), "a\nb".to_owned()];
        for (day, exit) in [("01", None), ("02", Some(Exit::Signal(9)))] {
            let started: Timestamp = format!("2026-01-{day}T00:00:00Z").parse().unwrap();
            let run = store.create(started, &command, 1, None).unwrap();
            let header = Header {
                started: Micros(started.as_microsecond() as u64),
                command: command.clone(),
                ..Header::default()
            };
            let recorder = Recorder::start(&run.dir, header, |notice| panic!("{notice}")).unwrap();
            let at = Micros(90_000_000);
            recorder.send(&Entry::End { at, exit });
            recorder.finish(Duration::from_secs(60)).unwrap();
        }
        let broken = store.create(Timestamp::UNIX_EPOCH, &[], 1, None).unwrap();
        fs::write(broken.dir.join(FILE_NAME), "something else").unwrap();
        let text = list(&store, usize::MAX).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 6, "{text}");
        assert!(lines[1].starts_with("20260102-000000-python-1"), "{text}");
        assert!(
            lines[1].contains("1m 30s") && lines[1].contains("signal 9"),
            "{text}"
        );
        assert!(lines[1].ends_with(r"python -c a\nb"), "{text}");
        assert_eq!(lines[2], "  too early to say");
        assert!(lines[3].contains("ended "), "{text}");
        assert!(lines[5].ends_with("is not a lowtide recording"), "{text}");
        // Judged once, and kept for the next list.
        let kept = store
            .runs_dir()
            .join("20260102-000000-python-1")
            .join("recording.glance.json");
        assert!(kept.is_file());
        let narrow = list(&store, 80).unwrap();
        assert!(
            narrow
                .lines()
                .take(5)
                .all(|line| line.chars().count() <= 80),
            "{narrow}"
        );
        assert!(!narrow.contains("COMMAND"), "{narrow}");
    }

    #[test]
    fn prune_deletes_folders_and_links_but_no_recording_that_was_put_elsewhere() {
        let home = tempfile::tempdir().unwrap();
        let store = Store::at(home.path());
        let mine = home.path().join("mine");
        let make = |time: &str, out: Option<&std::path::Path>| {
            let run = store.create(time.parse().unwrap(), &[], 1, out).unwrap();
            let file = fs::File::create(run.dir.join(FILE_NAME)).unwrap();
            // Not readable and long untouched: cut off before its first byte.
            file.set_modified(SystemTime::UNIX_EPOCH).unwrap();
            run
        };
        let old = make("2026-01-01T00:00:00Z", None);
        let linked = make("2026-01-02T00:00:00Z", Some(&mine));
        let fresh = make("2026-01-03T00:00:00Z", None);
        let now = SystemTime::now();
        fs::File::open(fresh.dir.join(FILE_NAME))
            .unwrap()
            .set_modified(now)
            .unwrap();
        let mut rules = rules(Some(0), None, None);
        rules.dry_run = true;
        let said = prune(&store, &rules, now).unwrap();
        assert!(old.dir.exists());
        assert_eq!(said.lines().count(), 2);
        rules.dry_run = false;
        prune(&store, &rules, now).unwrap();
        assert!(!old.dir.exists());
        assert!(fresh.dir.exists(), "it may have just begun");
        assert!(mine.join(FILE_NAME).exists());
        assert!(!store.runs_dir().join(&linked.name).exists());
    }
}
