//! Whether the job could go on after a stop: where it saves, how it resumes, and from what. A guard asks only a job
//! of which it knows that; what is missing is said once, early, with the flag that mends it.

use std::path::{Path, PathBuf};

use lowtide_core::entry::EventKind;
use lowtide_core::units::Micros;

use super::checkpoints::{Checkpoint, Checkpoints, Places, Standing};
use super::resume::Resume;
use super::scout::Scout;
use super::sights::Sights;
use super::{Guard, Mode};
use crate::watch::Watch;

/// When what is missing is told: so many steps are done, so that the package has said what it can, or so much time
/// has passed without a step.
const STEPS: u64 = 3;
const WITHOUT_STEPS: Micros = Micros(10_000_000);

/// What was found out, over all attempts.
#[derive(Default)]
pub(super) struct Prospect {
    /// Begun with the first tick, when signals for us are held back in every thread; none in it: it cannot be had.
    scout: Option<Option<Scout>>,
    sights: Sights,
    /// The newest complete checkpoint, and the folders of which nobody knows whose they are.
    newest: Option<Checkpoint>,
    doubtful: Vec<PathBuf>,
    /// When this attempt began, and its first step.
    began: Option<Micros>,
    first: Option<u64>,
    told_missing: Vec<Missing>,
    told_folder: Option<PathBuf>,
}

/// What is missing to start the job again after a stop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Missing {
    /// How it resumes.
    Way,
    /// Where it saves; these folders may be another job's.
    Place { doubtful: Vec<PathBuf> },
    /// It has saved nothing, and does not save when it is asked.
    Checkpoint,
}

impl Prospect {
    pub(super) fn next_attempt(&mut self) {
        (self.began, self.first) = (None, None);
        self.told_missing.clear();
    }

    pub(super) fn newest(&self) -> Option<&Checkpoint> {
        self.newest.as_ref()
    }

    fn take_in(&mut self, found: Checkpoints) {
        self.newest = found.complete.into_iter().next();
        self.doubtful = found.doubtful;
    }
}

impl Missing {
    fn why(&self) -> String {
        match self {
            Missing::Way => "how this job resumes is not known".to_owned(),
            Missing::Place { doubtful } if doubtful.is_empty() => {
                "no checkpoint folder is known yet".to_owned()
            }
            Missing::Place { doubtful } => format!(
                "checkpoints in {} may be another job's",
                named(doubtful.iter().map(PathBuf::as_path))
            ),
            Missing::Checkpoint => {
                "it has saved nothing yet, and nothing says that it saves when asked".to_owned()
            }
        }
    }

    fn hint(&self, guard: &Guard) -> String {
        match self {
            Missing::Way => guard.plan.flag.as_ref().map_or_else(
                || "say it with --resume-arg '--resume {checkpoint}'".to_owned(),
                |flag| format!("its script has such a flag: --resume-arg '{flag} {{checkpoint}}'"),
            ),
            Missing::Place { doubtful } => match doubtful.first() {
                Some(folder) => format!("say which: --checkpoints '{}'", folder.display()),
                None => "say where it saves: --checkpoints DIR".to_owned(),
            },
            Missing::Checkpoint => {
                "save now and then, or add lowtide.guard() to the loop; --signal USR1 if it saves on a signal"
                    .to_owned()
            }
        }
    }
}

fn whys(missing: &[Missing]) -> String {
    let whys: Vec<String> = missing.iter().map(Missing::why).collect();
    whys.join(", and ")
}

fn named<'a>(folders: impl Iterator<Item = &'a Path>) -> String {
    const NAMED: usize = 3;
    let names: Vec<String> = folders.map(|path| path.display().to_string()).collect();
    match names.len().checked_sub(NAMED) {
        Some(more) if more > 0 => format!("{} and {more} more", names[..NAMED].join(", ")),
        _ => names.join(" and "),
    }
}

impl Guard {
    /// Learns what can be learnt at this tick, says what is new, and lets the policy know whether the job may be
    /// stopped.
    pub(super) fn learn(&mut self, watch: &mut Watch) {
        let now = watch.now();
        let living = watch.run.processes().filter(|track| track.gone.is_none());
        let ids = living.map(|track| track.member.id);
        let prospect = &mut self.prospect;
        prospect
            .sights
            .look(now, ids, watch.dir().map(PathBuf::as_path));
        let step = watch.policy().step_of_this_attempt();
        let began = *prospect.began.get_or_insert(now);
        prospect.first = prospect.first.or(step);
        let settled = match step.zip(prospect.first) {
            Some((step, first)) => step >= first + STEPS,
            None => now.since(began) >= WITHOUT_STEPS,
        };
        let places = self.places(watch);
        let since = self.since.earliest();
        let scout = self.prospect.scout.get_or_insert_with(Scout::start);
        if let Some(found) = scout
            .as_mut()
            .and_then(|scout| scout.turn(now, || (places, since)))
        {
            self.prospect
                .take_in(found.of_this_job(watch.run.furthest_step()));
        }
        let missing = self.missing(watch);
        if missing.is_empty() {
            self.tell_learnt(watch);
        } else if settled {
            self.tell_missing(watch, &missing);
        }
        watch.may_stop(self.plan.mode == Mode::Stop || missing.is_empty());
    }

    /// Where this job may save, by all that is known now.
    pub(super) fn places(&self, watch: &Watch) -> Places {
        let mut places = self.plan.places.clone();
        if let Some(told) = watch.told() {
            for folder in &told.saves {
                places.add(folder.clone(), Standing::Told);
            }
            for folder in &told.folders {
                places.add(folder.clone(), Standing::Framework);
            }
        }
        self.prospect.sights.added_to(&mut places);
        places
    }

    /// How it goes on: as the user says, as its script does, or as the job itself has told.
    pub(super) fn resume(&self, watch: &Watch) -> Option<Resume> {
        let told = || Resume::told(watch.told()?.resume.as_deref()?);
        self.plan.resume.clone().or_else(told)
    }

    /// It saves when it is asked: its loop asks us, or the user names a signal.
    pub(super) fn saves_when_asked(&self, watch: &Watch) -> bool {
        self.plan.signal.is_some() || watch.told().is_some_and(|told| told.hears)
    }

    /// What is missing to start it again after a stop; nothing: it may be stopped.
    fn missing(&self, watch: &Watch) -> Vec<Missing> {
        let way = self.resume(watch).is_none().then_some(Missing::Way);
        let saved = if self.prospect.newest.is_some() {
            None
        } else if !self.places(watch).are_known() {
            let doubtful = self.prospect.doubtful.clone();
            Some(Missing::Place { doubtful })
        } else {
            (!self.saves_when_asked(watch)).then_some(Missing::Checkpoint)
        };
        way.into_iter().chain(saved).collect()
    }

    /// Once, and again when something else is missing.
    fn tell_missing(&mut self, watch: &mut Watch, missing: &[Missing]) {
        let told = &self.prospect.told_missing;
        if missing.iter().all(|one| told.contains(one)) {
            return;
        }
        let then = match self.plan.mode {
            Mode::Restart => "until that is known the job is warned about, not stopped",
            Mode::Stop => "the job will be stopped in time, as --guard=stop says",
        };
        self.note(watch, &format!("{}; {then}", whys(missing)));
        self.hint_at(watch, missing);
    }

    fn hint_at(&mut self, watch: &Watch, missing: &[Missing]) {
        for one in missing {
            watch.teller().hint(&one.hint(self));
        }
        self.prospect.told_missing = missing.to_vec();
    }

    /// Where it saves, when that was worked out and not said by anybody.
    fn tell_learnt(&mut self, watch: &mut Watch) {
        let Some(newest) = &self.prospect.newest else {
            return;
        };
        let folder = newest.folder().to_owned();
        let was_missing = !std::mem::take(&mut self.prospect.told_missing).is_empty();
        let worked_out = newest.standing > Standing::Framework || was_missing;
        if !worked_out || self.prospect.told_folder.as_ref() == Some(&folder) {
            return;
        }
        let step = newest
            .step
            .map_or(String::new(), |step| format!(", last step {step}"));
        let text = format!("checkpoints in {}{step}", folder.display());
        self.prospect.told_folder = Some(folder);
        self.note(watch, &text);
    }

    /// The job should be stopped now, and is not.
    pub(super) fn spare(&mut self, watch: &mut Watch, why: &str) {
        let missing = self.missing(watch);
        if missing.is_empty() {
            // It was found since the tick.
            return;
        }
        let text = format!(
            "guard: the job should save and stop now ({why}); it is left running, because {}",
            whys(&missing)
        );
        watch.teller().say(&text);
        watch.event(EventKind::LimitNear, text);
        self.hint_at(watch, &missing);
    }
}
