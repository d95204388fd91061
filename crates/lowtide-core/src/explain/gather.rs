//! Gathers the signs: from a run with all that it remembers, or from a bare series.

use crate::judge::{Looked, looked_at};
use crate::look::{Kind, Look};
use crate::mark::Phase;
use crate::point::Context;
use crate::process::Role;
use crate::run::inside::Records;
use crate::run::parts::{Episode, Held};
use crate::run::{ProcessTrack, Run};
use crate::series::Series;
use crate::stats;
use crate::units::unit_factor;
use crate::verdict::{Class, Verdict};

use super::driver::{self, drivers};
use super::memory::{grown, memory};
use super::signs::{
    Blocks, Copies, Counted, Course, EpochSign, Excursion, InsideSign, RoleSign, Signs, Span,
};

/// Blocks below this are nodes and headers; tensors and pictures are larger.
const SMALL_BLOCK: f64 = 1024.0;
/// glibc's first mmap threshold and the last one that it may raise it to (mallopt(3)).
const LARGE_BLOCK: std::ops::Range<f64> = 131_072.0..33_554_432.0;

/// A bare series: nothing but its course.
pub(crate) fn of_series(verdict: &Verdict, series: &Series, context: &Context) -> Signs {
    let looked = looked_at(series, context);
    let mut signs = Signs::blank(verdict.verdict, verdict.axis, verdict.meter);
    signs.job.name = verdict.source.clone();
    signs.drivers = drivers(verdict, series, &looked, driver::Counted::default());
    course(&mut signs, verdict, &looked, context);
    signs
}

/// A recording.
pub(crate) fn of_run(run: &Run, verdict: &Verdict, series: &Series, context: &Context) -> Signs {
    let looked = looked_at(series, context);
    let id = verdict.process.as_ref().and_then(|process| process.id);
    let track = id.and_then(|id| run.process(id));
    let mut signs = Signs::blank(verdict.verdict, verdict.axis, verdict.meter);
    signs.recorded = true;
    signs.drivers = drivers(
        verdict,
        series,
        &looked,
        driver::Counted {
            happened: Some(&run.happened),
            held: track.map(|track| &track.parts),
        },
    );
    course(&mut signs, verdict, &looked, context);
    signs.job.name = run.header().name.clone();
    signs.job.command = run.header().command.clone();
    if let Some(track) = track {
        of_process(&mut signs, run, track);
    }
    of_tree(&mut signs, run);
    signs.counted = counted(run);
    signs.around = span(run.around.0.first(), run.around.0.last());
    signs
}

fn span<T: Copy>(first: Option<&T>, last: Option<&T>) -> Option<Span<T>> {
    Some(Span {
        first: *first?,
        last: *last?,
    })
}

fn course(signs: &mut Signs, verdict: &Verdict, looked: &Looked, context: &Context) {
    let growth = verdict.growth.as_ref();
    let (from, to) = growth.map_or((0.0, 0.0), |growth| (growth.from, growth.to));
    let part = looked.fine.from(from).until(f64::next_up(to));
    signs.course = Course {
        grew: growth.map_or(0.0, |growth| growth.bytes),
        level: verdict.floor.last,
        from,
        to,
        begin: looked.fine.first_x(),
        end: looked.fine.last_x(),
        settled: verdict.settled_at,
        rate: growth.map_or(0.0, |g| g.bytes / (g.to - g.from).max(f64::MIN_POSITIVE)),
        rises: stats::effective_rises(&part.ys),
        teeth: looked.valleys.is_some(),
        decides_at: verdict.decides_at,
    };
    signs.epoch = looked.epoch.map(|epoch| EpochSign {
        steps: epoch.steps,
        begin: epoch.begin,
        end: epoch.end(),
        examples: context.geometry.examples,
        with_it: verdict.verdict == Class::WarmUp
            && growth.is_some_and(|g| g.driver.as_deref() == Some("new-example")),
    });
}

fn of_process(signs: &mut Signs, run: &Run, track: &ProcessTrack) {
    let facts = &track.member.facts;
    signs.job.role = track.member.role.name().to_owned();
    signs.job.argv = track.command();
    signs.job.env = facts.env.clone();
    signs.job.libtorch = facts.libtorch;
    signs.job.libcuda = facts.libcuda;
    signs.job.forked = facts.forked;
    signs.job.trains = track.member.role.trains();
    let looks = run.looks(track.member.id);
    signs.memory = memory(looks, &track.member.role.to_string());
    if let (Some(_), Some((first, _)), Some((last, _))) =
        (&signs.memory, looks.first(), looks.last())
    {
        signs.counts = Some(Span {
            first: first.counts,
            last: last.counts,
        });
        signs.blocks = Some(blocks(first, last));
        signs.shared = grown(Kind::Shared, first, last)
            .into_iter()
            .map(|member| (member.name.to_owned(), member.bytes))
            .collect();
    }
    signs.parts = span(track.parts.parts.first(), track.parts.parts.last());
    signs.evaluation = excursion(&track.parts, Phase::Eval);
    signs.save = excursion(&track.parts, Phase::Save);
    signs.inside = run
        .records
        .of(track.member.id.pid)
        .and_then(|records| inside(records, &track.parts));
}

/// `80 B blocks`, `1.5 MB blocks`: how large one is.
fn block_size(name: &str) -> Option<f64> {
    let mut words = name.split_whitespace();
    let number: f64 = words.next()?.replace(',', "").parse().ok()?;
    Some(number * unit_factor(words.next()?)?)
}

fn blocks(first: &Look, last: &Look) -> Blocks {
    let mut blocks = Blocks::default();
    for kind in [Kind::GlibcLive, Kind::GlibcMapped] {
        for member in grown(kind, first, last) {
            match block_size(member.name) {
                Some(size) if size < SMALL_BLOCK => blocks.small += member.bytes,
                Some(size) if LARGE_BLOCK.contains(&size) => blocks.large += member.bytes,
                _ => {}
            }
        }
    }
    blocks
}

fn excursion(held: &Held, phase: Phase) -> Excursion {
    let of: Vec<&Episode> = held.episodes.iter().filter(|e| e.phase == phase).collect();
    let middle = |value: fn(&Episode) -> f64| {
        let mut values: Vec<f64> = of.iter().map(|e| value(e)).collect();
        stats::median(&mut values).unwrap_or(0.0)
    };
    let rises = || of.iter().map(|e| e.peak - e.before);
    Excursion {
        seen: of.len(),
        rise: middle(|e| e.peak - e.before),
        least: rises().reduce(f64::min).unwrap_or(0.0),
        most: rises().reduce(f64::max).unwrap_or(0.0),
        kept: middle(|e| e.after - e.before),
    }
}

fn inside(records: &Records, held: &Held) -> Option<InsideSign> {
    let span = span(records.looks.first(), records.looks.last());
    // Clean-ups alone tell something too, but only a pair of looks tells what moved.
    let span = span.filter(|span| span.last.at.seconds > span.first.at.seconds)?;
    let near = |seconds: f64| {
        let distance = |at: f64| (at - seconds).abs();
        let nearest = held
            .parts
            .iter()
            .min_by(|a, b| distance(a.at.seconds).total_cmp(&distance(b.at.seconds)));
        nearest.map_or(0.0, |parts| parts.anon + parts.shmem + parts.swap)
    };
    Some(InsideSign {
        looks: records.looks.count() as usize,
        span,
        held: near(span.last.at.seconds) - near(span.first.at.seconds),
        cleaned: records.cleaned.clone(),
        grew: records.grew.clone(),
    })
}

fn of_tree(signs: &mut Signs, run: &Run) {
    signs.roles = run
        .role_growth()
        .map(|(line, grew)| RoleSign {
            role: line.role.to_owned(),
            count: line.count,
            own: line.own.as_f64(),
            grew,
            class: line.verdict,
        })
        .collect();
    signs.tree_grew = Some(run.tree_growth());
    let moved = |track: &ProcessTrack| {
        let (first, last) = (track.parts.parts.first()?, track.parts.parts.last()?);
        Some((last.anon + last.shmem + last.swap) - (first.anon + first.shmem + first.swap))
    };
    signs.watched_grew = run.watched().and_then(|(track, _)| moved(track));
    let mut copies = Copies::default();
    let mut read = false;
    for track in run.processes() {
        if let Role::Rank { rank, .. } = track.member.role {
            signs.ranks.extend(moved(track).map(|grew| (rank, grew)));
        }
        let parts = track.parts.parts.iter();
        let mut careful = parts.filter(|parts| parts.uss.is_some());
        let Some(first) = careful.next() else {
            continue;
        };
        let last = careful.last().unwrap_or(first);
        read = true;
        copies.anon += last.anon - first.anon;
        copies.private += last.uss.unwrap_or(0.0) - first.uss.unwrap_or(0.0);
        copies.forked += usize::from(track.member.facts.forked);
    }
    signs.copies = read.then_some(copies);
    signs.ranks.sort_by_key(|(rank, _)| *rank);
}

fn counted(run: &Run) -> Counted {
    let happened = &run.happened;
    let starts = &happened.worker_starts;
    let later = happened.evaluations.first().map_or(0.0, |first| {
        starts.total() as f64 - starts.before(first.seconds, |at| Some(at.seconds))
    });
    Counted {
        evaluations: happened.evaluations.total(),
        saves: happened.saves.total(),
        logs: happened.logs.total(),
        epochs: happened.epochs.total(),
        worker_starts: starts.total(),
        later_workers: later as u64,
        slow_steps: happened.slow_steps.total(),
        paced: happened.paced(),
    }
}
