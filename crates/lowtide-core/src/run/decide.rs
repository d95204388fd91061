//! The run's verdict: every process, role and the tree are judged alike, and the one that decides is named.
//!
//! More series mean more chances to be wrong, so an accusation needs two things beside its own
//! verdict: what grew is material for the tree, and the tree's own line allows that growth.

use crate::explain::{self, Explanation};
use crate::judge::{judge, outlook, whose_memory};
use crate::mark::Phase;
use crate::point::{Context, Kept, Round, RoundKind};
use crate::process::ProcId;
use crate::series::Series;
use crate::units::Bytes;
use crate::verdict::{Axis, Lost, Meter, Outlook, ProcessRef, Verdict};

use super::Run;
use super::choose::{Judgement, Judgements, Who};
use super::occurrences::Count;
use super::track::{BothAxes, ProcessTrack};

/// Growth below this share of the tree's level is nobody's leak: the judge's own materiality, 1 %.
pub(super) const MATERIAL: f64 = 0.01;

/// A process must have been there for this share of the run to be judged by itself; the role's line covers the rest.
const LIVED: f64 = 0.25;

/// And it must have been there at the end, give or take how long a job takes to end.
const UNTIL: f64 = 0.8;

/// A process's outlook is the run's when it makes this share of the tree's growth.
const CARRIES: f64 = 0.9;

/// What others hold of the limit is told from this share of it on.
const HELD_BY_OTHERS: f64 = 0.1;

/// Whose memory decides a verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    Process(ProcId),
    /// All processes of one role together.
    Role(&'static str),
    Tree,
    /// The GPU memory of the tree.
    Gpu,
}

impl Run {
    /// The verdict on the run up to now.
    pub fn verdict(&self) -> Verdict {
        self.judged().0
    }

    /// The verdict and the series that decides it, for a chart.
    pub fn judged(&self) -> (Verdict, &Series) {
        let (verdict, series, _) = self.decided();
        (verdict, series)
    }

    /// The verdict, the series that decides it, and whose that is.
    pub fn decided(&self) -> (Verdict, &Series, Subject) {
        let now = self.decided_now();
        let mut decided = self.attempts.overrules(&now.0).unwrap_or(now);
        decided.0.lost = Lost::of(self.lost_ticks, self.damaged, self.samples);
        decided
    }

    /// The same for the running attempt alone.
    pub(super) fn decided_now(&self) -> (Verdict, &Series, Subject) {
        let tree = Judgement {
            who: Who::Tree,
            verdict: self.judge_tree(),
            looks: 0,
        };
        let level = self.tree.extremes.max.max(1.0);
        // In a script of short commands the one watched last says nothing of the run.
        let watched = self
            .watched()
            .filter(|(track, _)| track.member.role.trains() || self.lived_long(track))
            .map(|(track, _)| Judgement {
                who: Who::Process(track),
                verdict: self.judge_process(track),
                looks: self.looks(track.member.id).len(),
            });
        let others = self.other_candidates(level);
        let all = Judgements {
            tree: &tree,
            watched: watched.as_ref(),
            others: &others,
            level,
            over: self.is_over().then(|| self.series_of(&self.tree)),
        };
        let chosen = all.choose();
        let lines = match chosen.who {
            Who::Process(track) => &track.lines,
            Who::Role(role) => self
                .roles
                .get(role)
                .map_or(&self.tree, |track| &track.lines),
            Who::Tree => &self.tree,
            Who::Gpu => self.gpu.as_ref().unwrap_or(&self.tree),
        };
        let subject = match chosen.who {
            Who::Process(track) => Subject::Process(track.member.id),
            Who::Role(role) => Subject::Role(role),
            Who::Tree => Subject::Tree,
            Who::Gpu => Subject::Gpu,
        };
        let mut verdict = self.finish(chosen);
        if subject != Subject::Gpu {
            verdict.outlook = self.outlook(chosen, lines, &tree);
        }
        (verdict, self.series_of(lines), subject)
    }

    /// What the whole run needs: the tree's outlook, or that of the process that carries its growth with
    /// what the others of the tree hold now.
    fn outlook(
        &self,
        chosen: &Judgement<'_>,
        lines: &BothAxes,
        tree: &Judgement<'_>,
    ) -> Option<Outlook> {
        let over = self.is_over();
        let carries = chosen.moved() >= CARRIES * tree.moved() && !over;
        let own = chosen.verdict.outlook.as_ref().filter(|_| carries);
        let mut outlook = own.or(tree.verdict.outlook.as_ref())?.clone();
        let beside = match own {
            Some(_) => self.tree.extremes.last - lines.extremes.last,
            None => 0.0,
        };
        // What loading took, or an earlier attempt, was needed too.
        outlook.shift(beside, self.tree.extremes.max.max(self.attempts.peak));
        let limit = self.limit_override.or(self.limit.as_ref().map(|l| l.bytes));
        let limit = limit.map(Bytes::as_f64);
        // A limit that the user set is this run's alone, and a run that is over had what it needed.
        let shared = self.limit.as_ref();
        let shared = shared.filter(|_| !over && self.limit_override.is_none());
        let others = shared.map_or(0.0, |limit| {
            (limit.used.as_f64() - self.tree.extremes.last).max(0.0)
        });
        outlook.measure(limit.map(|limit| limit - others));
        outlook.others = shared.and_then(|limit| self.others.per_minute(limit));
        let worth_telling = limit.is_some_and(|limit| others >= HELD_BY_OTHERS * limit);
        outlook.others_hold = worth_telling.then_some(others);
        outlook::tell(&mut outlook, chosen.verdict.axis, limit);
        Some(outlook)
    }

    /// The job has ended, and somebody saw it.
    fn is_over(&self) -> bool {
        let nobody = || self.processes.values().all(|track| track.gone.is_some());
        self.end.is_some_and(|exit| exit.is_some() || nobody())
    }

    /// The verdict with its suspects, its series, and what explains it. For when it is asked, not for
    /// every tick.
    pub fn explained(&self) -> (Verdict, &Series, Explanation) {
        let (verdict, series, _, explanation) = self.decided_and_explained();
        (verdict, series, explanation)
    }

    /// All of it, for a report.
    pub(crate) fn decided_and_explained(&self) -> (Verdict, &Series, Subject, Explanation) {
        let (mut verdict, series, subject) = self.decided();
        let context = self.context(self.limit_override.or(self.limit.as_ref().map(|l| l.bytes)));
        let taken = match subject {
            Subject::Role(role) => self.roles.get(role).map(|role| &role.by_itself),
            _ => None,
        };
        let taken = taken.map_or(series, |taken| self.series_of(taken));
        let (explanation, suspects) = explain::of_run(self, &verdict, (series, taken), &context);
        verdict.suspects = suspects;
        (verdict, series, subject, explanation)
    }

    pub(super) fn on_steps(&self) -> bool {
        self.steps.usable() && self.axis_override != Some(Axis::Time)
    }

    /// On steps when they are known, else on time.
    fn series_of<'a>(&self, lines: &'a BothAxes) -> &'a Series {
        if self.on_steps() {
            &lines.step
        } else {
            &lines.time
        }
    }

    /// A process by itself: the looks into it say where its growth ends, its readings what rounds left.
    pub(super) fn judge_process(&self, track: &ProcessTrack) -> Verdict {
        self.judge_lines(&track.lines, |context| Context {
            reserved: self.reserve_of(track.member.id),
            shards: self.shards(track.member.role.name()),
            kept: self.kept(track),
            ..context
        })
    }

    /// All processes of one role as one line.
    pub(super) fn judge_role(&self, role: &str, lines: &BothAxes) -> Verdict {
        self.judge_lines(lines, |context| Context {
            reserved: self.reserve_for(lines, self.on_steps()),
            shards: self.shards(role),
            ..context
        })
    }

    pub(super) fn judge_tree(&self) -> Verdict {
        let on_steps = self.on_steps();
        // Whoever grew most sets how much of the data each of them sees in a pass.
        let most = self.roles.iter().max_by(|a, b| {
            let grew = |lines: &BothAxes| lines.grew(on_steps);
            grew(&a.1.lines).total_cmp(&grew(&b.1.lines))
        });
        self.judge_lines(&self.tree, |context| Context {
            reserved: self.reserve_for(&self.tree, on_steps),
            shards: most.map_or(1.0, |(role, _)| self.shards(role)),
            ..context
        })
    }

    /// How many processes share one pass over the data with one of this role: workers, and ranks.
    fn shards(&self, role: &str) -> f64 {
        self.roles.get(role).map_or(1.0, |track| track.most as f64)
    }

    fn judge_lines(&self, lines: &BothAxes, with: impl FnOnce(Context) -> Context) -> Verdict {
        let headroom = self.headroom();
        // The limit holds for all that counts against it; this line may take what is left.
        let limit = headroom.map(|left| Bytes((lines.extremes.last + left).max(0.0) as u64));
        judge(self.series_of(lines), &with(self.context(limit)))
    }

    /// The limit of host memory says nothing of it.
    fn judge_gpu(&self, lines: &BothAxes) -> Verdict {
        judge(self.series_of(lines), &self.context(None))
    }

    fn context(&self, limit: Option<Bytes>) -> Context {
        Context {
            geometry: self.geometry(),
            told: self.geometry_override.steps_per_epoch().is_some(),
            limit,
            marked: self.on_steps(),
            first_step: self.steps.first().map(|step| step as f64),
            resumed: self.attempts.restarts > 0,
            total_steps: self.total_steps().map(|total| total as f64),
            over: self.is_over(),
            shards: 1.0,
            reserved: None,
            epoch_ends: self
                .occurrences
                .passes()
                .map_or(Vec::new(), |passes| self.places(passes)),
            rounds: self.rounds(),
            kept: Vec::new(),
            prior: self.prior,
        }
    }

    /// Where something happened, on the axis that is judged.
    fn places(&self, count: &Count) -> Vec<f64> {
        let on_steps = self.on_steps();
        count.places(|at| if on_steps { at.step } else { Some(at.seconds) })
    }

    /// Evaluations and saves, and the phase that each is.
    fn counted_rounds(&self) -> [(RoundKind, Phase, &Count); 2] {
        [
            (
                RoundKind::Evaluation,
                Phase::Eval,
                &self.occurrences.evaluations,
            ),
            (RoundKind::Save, Phase::Save, &self.occurrences.saves),
        ]
    }

    /// Where evaluations and saves began, on the axis that is judged. Of very many only some places are
    /// kept, and growth between those would be theirs: [`Run::kept`] tells what they left.
    fn rounds(&self) -> Vec<Round> {
        let rounds = self.counted_rounds().into_iter();
        let all = rounds.filter(|(.., count)| count.is_whole());
        all.flat_map(|(kind, _, count)| {
            let places = self.places(count).into_iter();
            places.map(move |x| Round { kind, x })
        })
        .collect()
    }

    /// What this process kept after evaluations and saves.
    fn kept(&self, track: &ProcessTrack) -> Vec<Kept> {
        let of = |(kind, phase, count): (RoundKind, Phase, &Count)| {
            let episodes = track.kept.episodes.iter().filter(|e| e.phase == phase);
            Some(Kept {
                kind,
                count: count.total() as usize,
                from: self.places(count).first().copied()?,
                each: episodes.map(|e| e.after - e.before).collect(),
            })
        };
        self.counted_rounds().into_iter().filter_map(of).collect()
    }

    /// What is left below the limit; negative when it is passed.
    pub fn headroom(&self) -> Option<f64> {
        match (self.limit_override, &self.limit) {
            (Some(limit), _) => Some(limit.as_f64() - self.tree.extremes.last),
            (None, Some(limit)) => Some(limit.bytes.as_f64() - limit.used.as_f64()),
            (None, None) => None,
        }
    }

    /// There for a good part of the run and until its end; at the end of a job everybody is gone.
    pub(super) fn lived_long(&self, track: &ProcessTrack) -> bool {
        let began = self.attempts.since;
        let until = track.gone.unwrap_or(self.last_at);
        let run = self.last_at.since(began).seconds();
        track.since >= began
            && until.since(track.since).seconds() >= LIVED * run
            && until.since(began).seconds() >= UNTIL * run
    }

    /// Processes, roles and GPUs whose growth could matter; the cheap look at extremes keeps the
    /// cost of a tree of a thousand idle processes near zero.
    fn other_candidates(&self, level: f64) -> Vec<Judgement<'_>> {
        let grew = |lines: &BothAxes| lines.extremes.last - lines.extremes.min >= MATERIAL * level;
        let watched = self.watched.as_ref().map(|(id, _)| *id);
        let processes = self
            .processes
            .values()
            .filter(|track| Some(track.member.id) != watched)
            .filter(|track| self.lived_long(track) && grew(&track.lines))
            .map(|track| (Who::Process(track), &track.lines));
        let roles = self
            .roles
            .iter()
            .filter(|(_, track)| grew(&track.lines))
            .map(|(role, track)| (Who::Role(role), &track.lines));
        let gpu = self.gpu.iter().map(|lines| (Who::Gpu, lines));
        processes
            .chain(roles)
            .chain(gpu)
            .map(|(who, lines)| Judgement {
                who,
                verdict: match who {
                    Who::Process(track) => self.judge_process(track),
                    Who::Role(role) => self.judge_role(role, lines),
                    Who::Tree => self.judge_tree(),
                    Who::Gpu => self.judge_gpu(lines),
                },
                looks: match who {
                    Who::Process(track) => self.looks(track.member.id).len(),
                    Who::Role(_) | Who::Tree | Who::Gpu => 0,
                },
            })
            .collect()
    }

    /// Fills in what only the run knows: the source, the process, the meter, the true limit.
    fn finish<'a>(&'a self, chosen: &Judgement<'a>) -> Verdict {
        let mut verdict = chosen.verdict.clone();
        verdict.source = self.header.name.clone();
        verdict.process = self.named(chosen).map(|track| self.reference(track));
        verdict.meter = match chosen.who {
            Who::Process(track) => track.main_meter(),
            Who::Role(_) | Who::Tree => Meter::Pss,
            Who::Gpu => Meter::Gpu,
        };
        verdict.evidence.extend(match chosen.who {
            Who::Process(_) => None,
            Who::Role(role) => Some(whose_memory::role(role)),
            Who::Tree => Some(whose_memory::tree()),
            Who::Gpu => Some(whose_memory::gpu()),
        });
        if !matches!(chosen.who, Who::Gpu) {
            let limit = self
                .limit_override
                .or(self.limit.as_ref().map(|limit| limit.bytes));
            verdict.limit = limit.map(Bytes::as_f64);
            verdict.headroom = self.headroom();
        }
        verdict
    }

    fn reference(&self, track: &ProcessTrack) -> ProcessRef {
        let why = match self.watched() {
            Some((watched, why)) if watched.member.id == track.member.id => why.to_owned(),
            _ => format!("its growth decides; {}", track.member.why),
        };
        ProcessRef {
            pid: track.member.id.pid,
            id: Some(track.member.id),
            role: track.member.role.to_string(),
            command: track.command(),
            why,
        }
    }
}
