//! Watching a job: one turn of sample, record, judge, tell. `session` owns the loop and its clock; this
//! owns everything that happens in a turn.
//!
//! Every entry goes to the recorder and to the run's fold in the same order, so that replaying the
//! recording gives the same answer as was shown live.

mod clock;
mod glances;
mod guarded;
mod hooks;
mod inside;
mod log_files;
mod looks;
mod probe;
mod state_file;
mod teller;
mod verdicts;
pub(crate) mod voice;

use std::path::PathBuf;
use std::sync::mpsc::{Sender, channel};
use std::time::{Duration, SystemTime};

use anyhow::Result;
use lowtide_core::entry::{Entry, EventKind, Exit, Header};
use lowtide_core::guard::{Every, Policy, Ruling};
use lowtide_core::look::{Examiner, LookWhy};
use lowtide_core::mark::{Mark, MarkSource};
use lowtide_core::output::StepReader;
use lowtide_core::process::ProcId;
use lowtide_core::run::Run;
use lowtide_core::sample::{GapWhy, Reading, Sample};
use lowtide_core::text::short;
use lowtide_core::tree::program::is_python;
use lowtide_core::units::{Bytes, Cap, Micros, Share};
use lowtide_core::verdict::{Class, Verdict};
use lowtide_recording::{NewRun, Recorder, Store};
use lowtide_sys::look::MappingExaminer;
use lowtide_sys::proc::Proc;
use lowtide_sys::sampler::{Change, Sampler};

use crate::failure::Failure;
use crate::marks::Inbox;
use crate::monotonic::monotonic_ns;

pub use state_file::named_folders;
pub use teller::Teller;

pub(crate) use clock::Ticker;
pub(crate) use log_files::LogFiles;
pub(crate) use state_file::StateFile;

use clock::Clock;

use glances::Due;
use hooks::{HookEvent, Hooks};
use inside::{InsideWatch, NewMeters};
use looks::{CensusExaminer, Looks, Reached, Target};
use probe::{Ask, Probe};

/// What `run` and `attach` have in common.
#[derive(Clone, Debug)]
pub struct WatchOptions {
    pub interval: Duration,
    pub budget: Share,
    pub limit: Option<Cap>,
    pub output: Option<PathBuf>,
    pub hooks: Vec<String>,
    pub quiet: bool,
    pub looks: LookInside,
    /// `--probe trim`.
    pub probe: bool,
    /// `--inside`: each Python of the job looks at itself.
    pub inside: bool,
    /// `--no-command`: no command line is stored or shown.
    pub no_command: bool,
}

/// `--looks`: whether anything inside the processes that matter is read, beside what the kernel counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LookInside {
    Off,
    On,
    /// And a census stops them for a moment, so that it is of one moment.
    Stop,
}

impl WatchOptions {
    /// Share of wall time for careful readings unless the user says otherwise: a 1 GB process is read
    /// every 18 s then, and nobody notices.
    pub const BUDGET: Share = Share(0.001);
}

/// The choice of the one to watch is told when it has stood for this long: a job's first moments are
/// shells and launchers, and a script of short commands has no choice worth telling.
const SETTLES: Micros = Micros(2_000_000);
/// How long a disk that hangs may hold up our end.
const FINISH_WITHIN: Duration = Duration::from_secs(5);

pub struct Watch {
    pub run: Run,
    sampler: Sampler,
    recorder: Option<Recorder>,
    inbox: Option<Inbox>,
    steps: StepReader,
    hooks: Hooks,
    teller: Teller,
    clock: Clock,
    looks: Option<Looks>,
    inside: Option<InsideWatch>,
    /// The job was not started by us.
    attached: bool,
    probe: Option<Probe>,
    sample: Sample,
    policy: Policy,
    /// `--restart-every`.
    every: Option<Every>,
    /// The policy has failed in this attempt, and is not asked any more.
    unguarded: bool,
    /// What the guard's policy says of the newest sample.
    ruling: Option<Ruling>,
    /// The job is stopped (Ctrl-Z, SIGSTOP).
    stopped: bool,
    /// A guard may stop it: it can go on from what it saves.
    may_stop: bool,
    standing: Option<(Class, u32)>,
    told: Option<Class>,
    /// That something grows was told.
    told_growth: bool,
    /// When the choice of the one to watch is to be told.
    untold: Option<Micros>,
    /// When lists are told anew what becomes of this run.
    glance: Due,
    dir: Option<PathBuf>,
    no_command: bool,
    /// A live view that gets every entry.
    listener: Option<Listener>,
}

/// Takes entries and never waits.
pub type Listener = Box<dyn FnMut(&Entry) + Send>;

/// What can fail for want of a right or a folder, tried before the job starts.
pub struct Plan {
    header: Header,
    new: Option<NewRun>,
    hooks: Hooks,
    teller: Teller,
    clock: Clock,
    looks: LookInside,
    probe: bool,
    no_command: bool,
    /// How long the job has run already.
    before: Micros,
}

impl Plan {
    /// Without `-o`, a home that cannot be written is no reason to refuse the job.
    pub fn new(options: &WatchOptions, how: &str, command: &[String]) -> Result<Plan> {
        let hooks = Hooks::new(&options.hooks)
            .map_err(|error| Failure::usage(error).hint(hooks::EVENTS))?;
        let teller = Teller::new(options.quiet);
        let clock = Clock::start();
        let mut header = clock::header(how, command, &clock, options.interval, options.budget);
        if options.no_command {
            // Before the run is named after it.
            header.command = program_of(command);
        }
        let created = Store::from_env().and_then(|store| {
            let output = options.output.as_deref();
            store.create(
                clock.timestamp(),
                &header.command,
                std::process::id(),
                output,
            )
        });
        let new = match created {
            Ok(new) => Some(new),
            Err(error) if options.output.is_none() => {
                teller.say(&format!("nothing is recorded: {error}"));
                teller.hint("set LOWTIDE_HOME or give -o DIR");
                None
            }
            Err(error) => return Err(error.into()),
        };
        header.name = new.as_ref().map(|new| new.name.clone()).unwrap_or_default();
        Ok(Plan {
            header,
            new,
            hooks,
            teller,
            clock,
            looks: options.looks,
            probe: options.probe,
            no_command: options.no_command,
            before: Micros(0),
        })
    }

    /// Of a job that began at this moment.
    pub(crate) fn since(self, began: SystemTime) -> Plan {
        let before = began.elapsed().unwrap_or_default();
        Plan {
            before: Micros::from_seconds(before.as_secs_f64()),
            ..self
        }
    }

    pub fn clock(&self) -> Clock {
        self.clock
    }

    pub fn teller(&self) -> &Teller {
        &self.teller
    }

    /// The job did not start: its empty folder is not left behind.
    pub(crate) fn abandon(self) {
        let Some(new) = self.new else { return };
        // Both only succeed on what is empty or a link of ours: nothing of the user's can be lost.
        let _ = std::fs::remove_dir(&new.dir);
        if let Ok(store) = Store::from_env() {
            let link = store.runs_dir().join(&new.name);
            if link.is_symlink() {
                let _ = std::fs::remove_file(link);
            }
        }
    }
}

impl Watch {
    pub fn start(plan: Plan, inbox: Option<Inbox>, sampler: Sampler) -> Result<Watch> {
        let Plan {
            header,
            new,
            hooks,
            teller,
            clock,
            looks,
            probe,
            no_command,
            before,
        } = plan;
        let looks_inside = looks != LookInside::Off;
        let steps = StepReader::of_job(&header.command);
        let attached = header.how == "attach";
        let mut run = Run::new();
        run.apply(&Entry::Header(header.clone()));
        let voice = teller.clone();
        let recorder = new
            .as_ref()
            .map(|new| {
                Recorder::start(&new.dir, header, move |notice| {
                    voice.say(&notice.to_string());
                    if let Some(hint) = notice.hint() {
                        voice.hint(hint);
                    }
                })
            })
            .transpose()?;
        let (meters, new_meters) = channel();
        Ok(Watch {
            run,
            sampler,
            recorder,
            inbox,
            steps,
            hooks,
            teller,
            clock,
            looks: looks_inside
                .then(|| Looks::start(examiners(looks, meters), before, looks == LookInside::Stop))
                .flatten(),
            inside: looks_inside
                .then(|| InsideWatch::start(clock, new_meters))
                .flatten(),
            attached,
            probe: probe.then(Probe::default),
            sample: Sample::default(),
            policy: Policy::warning_only(),
            every: None,
            unguarded: false,
            ruling: None,
            stopped: false,
            may_stop: false,
            standing: None,
            told: None,
            told_growth: false,
            untold: None,
            glance: Due::default(),
            dir: new.map(|new| new.dir),
            no_command,
            listener: None,
        })
    }

    pub fn teller(&self) -> &Teller {
        &self.teller
    }

    /// Time since the run began.
    pub fn now(&self) -> Micros {
        self.clock.now()
    }

    pub fn dir(&self) -> Option<&PathBuf> {
        self.dir.as_ref()
    }

    /// From here on a live view gets every entry, and first the header; none lets it go.
    pub fn listen(&mut self, mut listener: Option<Listener>) {
        if let Some(listener) = &mut listener {
            listener(&Entry::Header(self.run.header().clone()));
        }
        self.listener = listener;
    }

    fn enter(&mut self, entry: Entry) {
        self.take_in(&entry);
        if let Entry::Mark(mark) = &entry
            && self.run.steps_from() == Some(mark.source)
        {
            self.tell_policy(mark);
        }
    }

    fn take_in(&mut self, entry: &Entry) {
        if let Some(recorder) = &self.recorder {
            recorder.send(entry);
        }
        self.run.apply(entry);
        if let Some(listener) = &mut self.listener {
            listener(entry);
        }
    }

    /// What the job printed, and when, by the monotonic clock: its steps become marks.
    pub(crate) fn output(&mut self, bytes: &[u8], printed_ns: u64) {
        let at = self.clock.at(printed_ns);
        for mark in self.steps.feed(bytes, at) {
            self.enter(Entry::Mark(mark));
        }
    }

    /// What the job printed before it was watched: where its loop stands, as one mark. The moments of what
    /// was printed are not known.
    pub(crate) fn printed_before(&mut self, bytes: &[u8]) {
        let now = self.clock.now();
        let marks = self.steps.feed(bytes, now);
        if let Some(mark) = marks.into_iter().reduce(Mark::then) {
            self.enter(Entry::Mark(mark));
        }
    }

    pub fn mark(&mut self, mark: Mark) {
        self.enter(Entry::Mark(mark));
    }

    pub fn event(&mut self, kind: EventKind, text: String) {
        let at = self.clock.now();
        if let Some(event) = HookEvent::of(kind) {
            let run = self.run.header().name.clone();
            for failed in self.hooks.fire(event, &run, &text) {
                self.teller.say(&failed);
            }
        }
        self.enter(Entry::Event { at, kind, text });
    }

    /// Reads the tree once. `late` is how much later than planned it comes.
    /// False when nothing of the tree is left.
    pub fn tick(&mut self, late: Duration) -> bool {
        self.take_marks();
        if let Some(inbox) = &mut self.inbox {
            if inbox.mend() {
                let folder = inbox.folder().display();
                let text = format!("{folder} was removed, and is made again: marks go through it");
                self.teller.say(&text);
            }
            // A page that cannot be written leaves the loop without requests: its usual state.
            let _ = inbox.page().beat(monotonic_ns());
        }
        let counted = self.take_inside();
        let now = self.clock.now();
        let mut sample = std::mem::take(&mut self.sample);
        // A tick that cannot read at all leaves a hole in the sequence, and the next one tries again.
        let changes = self.sampler.tick(now, &mut sample).unwrap_or_default();
        for (id, counts) in counted {
            let mut readings = sample.readings.iter_mut();
            if let Some(reading) = readings.find(|reading| reading.id == id) {
                reading.objects = Some(counts.objects);
                reading.collections = counts.collections;
            }
        }
        sample.late = Micros(late.as_micros() as u64);
        let anybody = !sample.readings.is_empty();
        for change in changes {
            self.tree_changed(change, now);
        }
        let entry = Entry::Sample(sample);
        self.take_in(&entry);
        if let Entry::Sample(sample) = entry {
            self.sample = sample;
        }
        self.tell_choice();
        let verdict = self.judge();
        self.keep_glance(&verdict);
        self.look(&verdict);
        self.probe();
        self.hooks.reap();
        anybody
    }

    /// What the training loop has told since the last call.
    pub(crate) fn take_marks(&mut self) {
        let now = self.clock.now();
        let Some(inbox) = &mut self.inbox else { return };
        let run = &self.run;
        let entries = inbox.drain(self.clock.started_ns(), now, |pid| run.living(pid));
        let older = inbox.heard_older();
        for entry in entries {
            self.enter(entry);
        }
        if older {
            self.teller.say(
                "the job's lowtide package is older than this program: its marks are not taken",
            );
            self.teller
                .hint("install the same version: pip install --upgrade lowtide");
        }
    }

    fn tree_changed(&mut self, change: Change, now: Micros) {
        match change {
            Change::Member(mut member) => {
                if let Some(inbox) = &mut self.inbox
                    && is_python(&member.facts)
                {
                    inbox.invite(member.id);
                }
                if self.no_command {
                    member.facts = member.facts.without_command();
                }
                self.enter(Entry::Member(member));
            }
            Change::Left(id) => {
                if let Some(inbox) = &mut self.inbox {
                    inbox.uninvite(id);
                }
                self.enter(Entry::Gone { id, at: now });
            }
            Change::Watch { id, why } => {
                self.enter(Entry::Watch { at: now, id, why });
                self.untold = Some(Micros(now.0 + SETTLES.0));
            }
        }
    }

    /// Names the process that is watched.
    fn tell_choice(&mut self) {
        if self.untold.is_none_or(|due| self.run.last_at() < due) {
            return;
        }
        self.untold = None;
        if let Some((track, why)) = self.run.watched() {
            self.teller.say(&self.describe(track.member.id, why));
        }
    }

    fn describe(&self, id: ProcId, why: &str) -> String {
        let command = self
            .run
            .process(id)
            .map(|track| track.command())
            .unwrap_or_default();
        let role = self
            .run
            .process(id)
            .map(|track| track.member.role.to_string());
        let role = role.unwrap_or_default();
        format!(
            "watching {} ({role}, {}): {why}",
            id.pid,
            short(&command, 60)
        )
    }

    /// A look into the watched process is wanted as soon as the budget allows.
    pub(crate) fn look_soon(&mut self, why: LookWhy) {
        if let Some(looks) = &mut self.looks {
            looks.soon(why);
        }
    }

    /// `--probe trim`: asks the loop to trim when there is something to learn from it.
    fn probe(&mut self) {
        let Some(probe) = &mut self.probe else { return };
        let Some((track, _)) = self.run.watched() else {
            return;
        };
        let held = track.last.as_ref().map_or(Bytes::ZERO, |last| last.held());
        let speaks = self.run.steps_from() == Some(MarkSource::Callback);
        match probe.turn(self.clock.now(), held, speaks) {
            Ask::Nothing => {}
            Ask::Trims(trims) => {
                if let Some(inbox) = &mut self.inbox {
                    // A page that cannot be written leaves the loop without the request.
                    let _ = inbox.page().ask_trims(trims);
                }
            }
            Ask::Refuse => {
                self.teller
                    .say("--probe trim: this job does not use the lowtide package: nobody can trim in it");
                self.teller.hint(
                    "add lowtide.hf.LowtideCallback() or lowtide.mark(step=...) to the training loop",
                );
            }
        }
    }

    /// Takes in what looks have found, and asks for the next one that is due.
    fn look(&mut self, verdict: &Verdict) {
        self.take_look();
        let Some(looks) = &mut self.looks else { return };
        let watched = self.run.watched().map(|(track, _)| track.member.id);
        let suspect = verdict.process.as_ref().and_then(|process| process.id);
        let living = self.sample.readings.iter().filter(|one| one.is_alive());
        let run = &self.run;
        let target = |reading: &Reading| Target {
            python: run
                .process(reading.id)
                .is_some_and(|track| is_python(&track.member.facts)),
            tracked: reading.objects,
            ..Target::new(reading.id, reading.held())
        };
        let all: Vec<Target> = living.map(target).collect();
        let reached = Reached {
            step: self.run.step(),
            total: self.run.total_steps(),
        };
        let headroom = self.run.headroom();
        looks.turn(
            self.clock.now(),
            &all,
            [watched, suspect],
            reached,
            headroom,
        );
        if let Some(spared) = looks.spared() {
            let text = spared.to_string();
            self.teller.say(&text);
            self.event(EventKind::Info, text);
        }
    }

    fn take_look(&mut self) {
        let step = self.run.step();
        let found = (self.looks.as_mut()).map_or_else(Vec::new, |looks| looks.found(step));
        for answer in found {
            match answer {
                Ok(look) => {
                    if let (Examiner::Census, Some(inbox)) = (&look.examiner, &mut self.inbox) {
                        // A page that cannot be written leaves the loop to count for itself, as without us.
                        let _ = inbox.page().counts_objects_of(look.id);
                    }
                    self.enter(Entry::Look(look));
                }
                // A process that has ended is no news; one that cannot be looked into is.
                Err(gap) if gap.why != GapWhy::Vanished => {
                    let at = self.clock.now();
                    self.enter(Entry::Gap { at, gap, ticks: 0 });
                }
                Err(_) => {}
            }
        }
    }

    /// Tells which processes outlived the job's main process; they are left alone.
    pub(crate) fn leftovers(&self) {
        let alive: Vec<String> = self
            .run
            .processes()
            .filter(|track| track.gone.is_none())
            .map(|track| format!("{} ({})", track.member.id.pid, short(&track.command(), 40)))
            .collect();
        if !alive.is_empty() {
            self.teller.say(&format!(
                "the job ended; still running and left alone: {}",
                alive.join(", ")
            ));
        }
    }

    /// The job is over: a last word into the recording. Returns what could not be written.
    pub fn finish(&mut self, exit: Option<Exit>) -> Option<String> {
        let now = self.clock.now();
        self.take_marks();
        self.take_look();
        for mark in self.steps.finish(now) {
            self.enter(Entry::Mark(mark));
        }
        self.enter(Entry::End { at: now, exit });
        if let Some(recorder) = &self.recorder {
            recorder.keep(self.run.glance());
        }
        let run = self.run.header().name.clone();
        let text = exit.map_or_else(|| "watching ended".to_owned(), |exit| format!("{exit:?}"));
        for failed in self.hooks.fire(HookEvent::End, &run, &text) {
            self.teller.say(&failed);
        }
        let recorder = self.recorder.take()?;
        recorder
            .finish(FINISH_WITHIN)
            .err()
            .map(|error| error.to_string())
    }

    /// CPU time and time under targets' locks that watching has cost so far.
    pub fn spent(&self) -> lowtide_sys::sampler::Spent {
        self.sampler.spent()
    }
}

/// The name of a command's program, without its folder and its arguments.
fn program_of(command: &[String]) -> Vec<String> {
    let name = command.first().and_then(|word| word.rsplit('/').next());
    name.map(str::to_owned).into_iter().collect()
}

/// Everybody who can look into a process from here.
fn examiners(looks: LookInside, meters: Sender<NewMeters>) -> Vec<looks::Examiner> {
    let proc = || Proc::at("/proc").ok();
    let mappings = proc().map(|proc| looks::Examiner::Light(Box::new(MappingExaminer { proc })));
    let stop = looks == LookInside::Stop;
    let census = proc().map(|proc| {
        let examiner = CensusExaminer { proc, stop, meters };
        looks::Examiner::Census(Box::new(examiner))
    });
    mappings.into_iter().chain(census).collect()
}
