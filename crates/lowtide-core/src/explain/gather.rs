//! Gathers the signs: from a run with all that it remembers, or from a bare series.

use crate::judge::{Examined, examined};
use crate::look::{Breakdown, By, Examiner, Look, MemoryClass, Objects, Part, Reserved};
use crate::mark::Phase;
use crate::point::Context;
use crate::process::Role;
use crate::run::levels::{Episode, Held, Levels};
use crate::run::occurrences::At;
use crate::run::{ProcessTrack, Run, Taken};
use crate::series::Series;
use crate::stats;
use crate::units::{Bytes, unit_factor};
use crate::verdict::{Axis, Class, Meter, Verdict};

use super::counts::{self, Beside};
use super::driver::{self, drivers};
use super::held;
use super::lengths;
use super::memory::{self, Pair};
use super::objects;
use super::seen::{grown, meets, was_cut_short};
use super::signs::{
    Blocks, Climb, Copies, Counted, Course, EpochSign, FirstAndLast, ObjectCount, ObjectsSign,
    PhaseExcursion, ReservedSign, RoleSign, Signs,
};
use super::{BreakdownGrowth, Memory};

/// Blocks below this are nodes and headers; tensors and pictures are larger.
const SMALL_BLOCK: f64 = 1024.0;
/// Freed by the program, and still there.
const FREED: [MemoryClass; 2] = [MemoryClass::GlibcFree, MemoryClass::GlibcHoles];
/// glibc's first mmap threshold and the last one that it may raise it to (mallopt(3)).
const LARGE_BLOCK: std::ops::Range<f64> = 131_072.0..33_554_432.0;

/// A bare series: nothing but its course.
pub(crate) fn of_series(verdict: &Verdict, series: &Series, context: &Context) -> Signs {
    let examined = examined(series, context);
    let mut signs = Signs::blank(verdict.verdict, verdict.axis, verdict.meter);
    signs.job.name = verdict.source.clone();
    signs.drivers = drivers(verdict, series, &examined, driver::CountedBeside::default());
    course(&mut signs, verdict, &examined);
    signs
}

/// A recording.
pub(crate) fn of_run(
    run: &Run,
    verdict: &Verdict,
    (series, taken): (&Series, &Series),
    context: &Context,
) -> Signs {
    let what_was_taken = examined(taken, context);
    let examined = examined(series, context);
    let id = verdict.process.as_ref().and_then(|process| process.id);
    let track = id.and_then(|id| run.process(id));
    let mut signs = Signs::blank(verdict.verdict, verdict.axis, verdict.meter);
    signs.recorded = true;
    signs.drivers = drivers(
        verdict,
        taken,
        &what_was_taken,
        driver::CountedBeside {
            occurrences: Some(&run.occurrences),
            held: track.map(|track| &track.kept),
            compiles: track.is_some_and(|track| track.member.facts.libtorch),
        },
    );
    course(&mut signs, verdict, &examined);
    signs.job.name = run.header().name.clone();
    signs.job.command = run.header().command.clone();
    signs.job.training_loop = run.training_loop();
    if let Some(track) = track {
        // Of a role or the tree one process was looked into, and only its own part can be seen in it.
        let growers = run.growers(signs.course.from);
        let own = growers
            .iter()
            .find(|(one, _)| one.member.id == track.member.id);
        signs.own_grew = own
            .map(|(_, grew)| *grew)
            .filter(|_| verdict.meter == Meter::Pss);
        of_process(
            &mut signs,
            run,
            track,
            &examined,
            verdict.axis == Axis::Step,
        );
        signs.holders = lengths::grown(run.holders(track.member.id), run.looks(track.member.id));
        let counted = track.counted_objects(verdict.axis == Axis::Step);
        signs.object_growth =
            counted.and_then(|counted| objects::rise(counted, context, &signs.course));
    }
    of_tree(&mut signs, run, verdict.axis == Axis::Step);
    signs.counted = counted(run);
    signs.surroundings = span(run.surroundings.0.first(), run.surroundings.0.last());
    signs
}

fn span<T: Copy>(first: Option<&T>, last: Option<&T>) -> Option<FirstAndLast<T>> {
    Some(FirstAndLast {
        first: *first?,
        last: *last?,
    })
}

fn course(signs: &mut Signs, verdict: &Verdict, examined: &Examined) {
    signs.growing = verdict.growing || verdict.verdict == Class::Leak;
    signs.bound = verdict.bound.clone();
    let growth = verdict.growth.as_ref();
    let (from, to) = growth.map_or((0.0, 0.0), |growth| (growth.from, growth.to));
    let part = examined.fine.from(from).until(f64::next_up(to));
    signs.course = Course {
        grew: growth.map_or(0.0, |growth| growth.bytes),
        level: verdict.floor.last,
        from,
        to,
        begin: examined.fine.first_x(),
        end: examined.fine.last_x(),
        settled: verdict.settled_at,
        creeps: verdict.creep,
        rate: growth.map_or(0.0, |g| g.bytes / (g.to - g.from).max(f64::MIN_POSITIVE)),
        rises: stats::effective_rises(&part.ys),
        teeth: examined.valleys.is_some(),
        decides_at: verdict.decides_at,
    };
    signs.epoch = examined.epoch.map(|epoch| EpochSign {
        steps: epoch.steps,
        begin: epoch.begin,
        end: epoch.end(),
        counted: epoch.examples_per_step.is_some(),
        with_it: verdict.verdict == Class::WarmUp
            && verdict.settled_at.is_some()
            && growth.is_some_and(|g| g.driver.as_deref() == Some("new-example")),
    });
}

fn of_process(
    signs: &mut Signs,
    run: &Run,
    track: &ProcessTrack,
    examined: &Examined,
    on_steps: bool,
) {
    let facts = &track.member.facts;
    signs.job.role = track.member.role.name().to_owned();
    signs.job.argv = track.command();
    signs.job.env = facts.env.clone();
    signs.job.libtorch = facts.libtorch;
    signs.job.libcuda = facts.libcuda;
    signs.job.forked = facts.forked;
    signs.job.trains = track.member.role.trains();
    let looks = run.looks(track.member.id);
    let role = track.member.role.to_string();
    of_looks(signs, &role, looks, examined, on_steps, (run, track));
    signs.objects = objects_seen(looks, &track.kept);
    if let Some(cleaned) = run.cleanups.of(track.member.id.pid) {
        signs.cleaned = cleaned.clone();
    }
    let begin = signs.course.begin;
    signs.levels = trained(&track.kept, on_steps, begin);
    // A worker opens its queues and its data before it hands over the first batch.
    let trained = track.kept.levels.iter();
    let trained: Vec<&Levels> = trained.filter(|p| trains(p, on_steps, begin)).collect();
    signs.threads = climb(trained.iter().map(|levels| levels.threads));
    if let (Some(threads), Some(last)) = (&mut signs.threads, last_threads(&track.kept)) {
        threads.last = last;
    }
    signs.files = climb(trained.iter().filter_map(|levels| levels.fds));
    signs.evaluation = excursion(&track.kept, Phase::Eval);
    signs.save = excursion(&track.kept, Phase::Save);
}

/// Compares the looks, breakdown by breakdown.
fn of_looks(
    signs: &mut Signs,
    role: &str,
    looks: &[Taken],
    examined: &Examined,
    on_steps: bool,
    (run, track): (&Run, &ProcessTrack),
) {
    // Looks before the first step show the start-up, which is no part of the growth.
    let begun = looks.partition_point(|taken| match on_steps {
        true => {
            let step = taken.step.map(|step| step as f64);
            step.is_none_or(|step| step < signs.course.begin)
        }
        false => taken.look.at.seconds() < signs.course.begin,
    });
    let pairs = memory::pairs(&looks[begun..], |taken| floor_at(examined, on_steps, taken));
    let mapped = pairs.iter().find(|pair| *pair.by == By::Mapping);
    signs.unread = mapped.is_some_and(was_cut_short);
    let growth = |pair: &Pair| {
        let saw_it = meets(pair, &signs.course, on_steps);
        grown(pair, signs.to_be_seen(), saw_it)
    };
    let breakdowns: Vec<BreakdownGrowth> = pairs.iter().filter_map(growth).collect();
    let beside = beside(signs, run, track, on_steps);
    let counted = counts::counted(&pairs, &breakdowns, &beside);
    if let Some(last) = pairs.first().map(|pair| &pair.last.look) {
        signs.memory = Some(Memory {
            pid: last.id.pid,
            role: role.to_owned(),
            looks: looks.len(),
            cost: looks
                .iter()
                .map(|taken| taken.look.cost.cpu.seconds())
                .sum(),
            breakdowns,
            counted,
        });
    }
    signs.held = held::of_pairs(&pairs)
        .filter(|_| signs.course.grew > 0.0)
        .and_then(|pair| {
            let saw_it = meets(pair, &signs.course, on_steps);
            held::held(pair, signs.to_be_seen(), saw_it)
        });
    if let Some(pair) = mapped {
        of_mappings(signs, &pair.first.look, &pair.last.look);
    }
}

/// What counts of blocks and tensors are set against.
fn beside<'a>(
    signs: &'a Signs,
    run: &'a Run,
    track: &'a ProcessTrack,
    on_steps: bool,
) -> Beside<'a> {
    let geometry = run.geometry();
    Beside {
        looks: run.looks(track.member.id),
        occurrences: &run.occurrences,
        epoch: signs.epoch,
        driver: counts::driver_of(signs, on_steps),
        on_steps,
        stride: run.step_stride(),
        examples_per_step: geometry.examples_per_step(),
        batch: geometry.batch,
        libtorch: track.member.facts.libtorch,
    }
}

/// What the layout of the address space says beside the classes of memory.
fn of_mappings(signs: &mut Signs, first: &Look, last: &Look) {
    signs.blocks = Some(blocks(first, last));
    signs.shared = memory::grown(MemoryClass::Shared, first, last)
        .into_iter()
        .map(|member| (member.name.to_owned(), member.bytes))
        .collect();
    signs.freed = Some(FREED.iter().map(|class| last.bytes(*class).as_f64()).sum());
    let (Some(first), Some(last)) = (&first.layout, &last.layout) else {
        return;
    };
    signs.counts = Some(FirstAndLast {
        first: first.counts,
        last: last.counts,
    });
    signs.reserved = reserved(&first.reserved, &last.reserved);
    signs.pools = last.pools.clone();
    signs.python = last.python;
}

/// The floor at a look: the lowest of the points around it, and where there are teeth the line of their
/// valleys, also for a look before the first of them: it may lie on top of a tooth.
fn floor_at(examined: &Examined, on_steps: bool, taken: &Taken) -> Option<f64> {
    const AROUND: usize = 2;
    let x = if on_steps {
        taken.step? as f64
    } else {
        taken.look.at.seconds()
    };
    if let Some(valleys) = &examined.valleys {
        return valleys.at(x);
    }
    let line = &examined.fine;
    let at = line.xs.partition_point(|v| *v < x);
    let near = at.saturating_sub(AROUND)..(at + AROUND).min(line.len());
    line.ys[near].iter().copied().reduce(f64::min)
}

/// `80 B blocks`, `blocks of 41.0 kB to 45.1 kB`: how large one is.
pub(crate) fn block_size(name: &str) -> Option<f64> {
    let name = name.strip_prefix("blocks of ").unwrap_or(name);
    let mut words = name.split_whitespace();
    let number: f64 = words.next()?.replace(',', "").parse().ok()?;
    Some(number * unit_factor(words.next()?)?)
}

fn blocks(first: &Look, last: &Look) -> Blocks {
    let mut blocks = Blocks::default();
    for kind in [MemoryClass::GlibcLive, MemoryClass::GlibcMapped] {
        for member in memory::grown(kind, first, last) {
            match block_size(member.name) {
                Some(size) if size < SMALL_BLOCK => blocks.small += member.bytes,
                // A block that has a mapping of its own goes back to the system when it is freed.
                Some(size) if LARGE_BLOCK.contains(&size) && kind == MemoryClass::GlibcLive => {
                    blocks.large += member.bytes;
                }
                _ => {}
            }
        }
    }
    blocks
}

fn climb(counts: impl Iterator<Item = f64>) -> Option<Climb> {
    let counts: Vec<f64> = counts.collect();
    Some(Climb {
        first: *counts.first()?,
        half: counts[(counts.len() - 1) / 2],
        last: *counts.last()?,
    })
}

/// What was touched of the pieces that both looks saw. One that changed its size was not asked for as a
/// whole: it is not told where it ends.
fn reserved(first: &[Reserved], last: &[Reserved]) -> Option<ReservedSign> {
    let same = |old: &Reserved, new: &Reserved| old.is(new) && old.size == new.size;
    let mut found = ReservedSign::default();
    let mut most = 0.0;
    for piece in last {
        let Some(before) = first.iter().find(|old| same(old, piece)) else {
            continue;
        };
        let grew = piece.touched.as_f64() - before.touched.as_f64();
        if grew <= 0.0 {
            continue;
        }
        found.pieces += 1;
        found.grew += grew;
        found.touched += piece.touched.as_f64();
        found.size += piece.size.as_f64();
        if grew > most {
            most = grew;
            found.name = piece.name.clone();
        }
    }
    (found.pieces > 0).then_some(found)
}

fn excursion(held: &Held, phase: Phase) -> PhaseExcursion {
    let of: Vec<&Episode> = held.episodes.iter().filter(|e| e.phase == phase).collect();
    let middle = |value: fn(&Episode) -> f64| {
        let mut values: Vec<f64> = of.iter().map(|e| value(e)).collect();
        stats::median(&mut values).unwrap_or(0.0)
    };
    let rises = || of.iter().map(|e| e.peak - e.before);
    PhaseExcursion {
        seen: of.len(),
        rise: middle(|e| e.peak - e.before),
        least: rises().reduce(f64::min).unwrap_or(0.0),
        most: rises().reduce(f64::max).unwrap_or(0.0),
        kept: middle(|e| e.after - e.before),
    }
}

/// The first and the last look at Python's objects, of the examiner that looked last among those that looked twice:
/// the package stops to count where a census does.
fn objects_seen(looks: &[Taken], held: &Held) -> Option<ObjectsSign> {
    let mut examiners: Vec<&Examiner> = Vec::new();
    for taken in looks.iter().rev().filter(|taken| tells_of_tensors(taken)) {
        let examiner = &taken.look.examiner;
        if !examiners.contains(&examiner) {
            examiners.push(examiner);
        }
    }
    let seen = |examiner| objects_seen_by(examiner, looks, held);
    examiners.into_iter().find_map(seen)
}

/// A census tells of tensors only where it could take them apart; the package asks torch itself.
fn tells_of_tensors(taken: &Taken) -> bool {
    let look = &taken.look;
    let names_some = || {
        let tensors = look.breakdown(&By::TensorGroup);
        tensors.is_some_and(|tensors| !tensors.parts.is_empty())
    };
    look.objects.is_some() && (look.examiner != Examiner::Census || names_some())
}

fn objects_seen_by(examiner: &Examiner, looks: &[Taken], held: &Held) -> Option<ObjectsSign> {
    let of_it = looks
        .iter()
        .filter(|taken| taken.look.examiner == *examiner && tells_of_tensors(taken));
    let counts: Vec<ObjectCount> = of_it
        .filter_map(|taken| Some(object_count(taken, taken.look.objects?)))
        .collect();
    let span = span(counts.first(), counts.last())?;
    if span.last.at.seconds <= span.first.at.seconds {
        return None;
    }
    let near = |seconds: f64| nearest(held, seconds).map_or(0.0, Levels::held);
    Some(ObjectsSign {
        looks: counts.len(),
        span,
        held: near(span.last.at.seconds) - near(span.first.at.seconds),
    })
}

fn object_count(taken: &Taken, objects: Objects) -> ObjectCount {
    let look = &taken.look;
    let tensors = look.breakdown(&By::TensorGroup);
    let devices = look.breakdown(&By::Device);
    let host = match devices {
        Some(devices) => devices.part("cpu").and_then(|part| part.bytes),
        None => tensors.map(host_bytes),
    };
    ObjectCount {
        at: At {
            seconds: look.at.seconds(),
            step: taken.step.map(|step| step as f64),
        },
        tensors: tensors.map_or(0.0, |tensors| tensors.count() as f64),
        host_bytes: host.unwrap_or_default().as_f64(),
        with_graph: objects.with_graph as f64,
        objects: objects.tracked as f64,
        cuda: objects.cuda,
    }
}

/// Of tensors in this machine's memory, where nobody sums up their storages.
fn host_bytes(tensors: &Breakdown) -> Bytes {
    let is_host = |part: &&Part| {
        let name = part.name.strip_prefix("Tensor ").unwrap_or(&part.name);
        name.starts_with("cpu ")
    };
    let parts = tensors.parts.iter().filter(is_host);
    let bytes = parts.filter_map(|part| part.bytes);
    bytes.fold(Bytes::ZERO, |sum, bytes| sum + bytes)
}

fn of_tree(signs: &mut Signs, run: &Run, on_steps: bool) {
    let since = middle_of_growth(run, signs, on_steps);
    signs.roles = run
        .role_growth(on_steps)
        .map(|(line, grew)| {
            // Copies that came before a process was read carefully are no growth of the line.
            let copied = copies(run, Some(line.role), since).map_or(0.0, |copies| copies.copied());
            RoleSign {
                role: line.role.to_owned(),
                count: line.count,
                own: line.own.as_f64(),
                grew: grew.map_or(copied, |grew| grew.max(copied)),
                known: grew.is_some(),
                class: line.verdict,
            }
        })
        .collect();
    let growers = run.growers(signs.course.from);
    let others = growers
        .iter()
        .filter(|(track, _)| track.member.role.name() != signs.job.role);
    signs.beside = others.map(|(_, grew)| grew).sum();
    let twice = |track: &&ProcessTrack| run.looks(track.member.id).len() >= 2;
    let workers = run
        .processes()
        .filter(|track| track.member.role == Role::LoaderWorker);
    signs.workers_looked_into = workers.filter(twice).count();
    signs.tree_grew = Some(run.tree_growth(on_steps));
    let begin = signs.course.begin;
    let moved = |track: &ProcessTrack| {
        let levels = trained(&track.kept, on_steps, begin)?;
        Some(levels.last.held() - levels.first.held())
    };
    signs.watched_grew = run.watched().and_then(|(track, _)| moved(track));
    for track in run.processes() {
        if let Role::Rank { rank, .. } = track.member.role {
            signs.ranks.extend(moved(track).map(|grew| (rank, grew)));
        }
    }
    signs.copies = copies(run, None, since);
    signs.ranks.sort_by_key(|(rank, _)| *rank);
}

/// Seconds of the run at which half of the growth was passed.
fn middle_of_growth(run: &Run, signs: &Signs, on_steps: bool) -> f64 {
    let middle = (signs.course.from + signs.course.to) / 2.0;
    match on_steps {
        true => run.second_of(middle),
        false => middle,
    }
}

/// Of all forked processes, or of those of one role. Who was not read since some second may have copied more.
fn copies(run: &Run, role: Option<&str>, since: f64) -> Option<Copies> {
    let all = run
        .processes()
        .filter(|track| role.is_none_or(|role| track.member.role.name() == role))
        .filter(|track| track.member.facts.forked);
    let found = all.map(|track| match copied(track) {
        Some((copies, at))
            if at >= since || track.gone.is_some_and(|gone| gone.seconds() < since) =>
        {
            copies
        }
        Some((copies, _)) => Copies {
            unread: 1,
            ..copies
        },
        None => Copies {
            unread: 1,
            ..Copies::default()
        },
    });
    let add = |all: Copies, one: Copies| Copies {
        forked: all.forked + one.forked,
        unread: all.unread + one.unread,
        private: all.private + one.private,
        taken: all.taken + one.taken,
    };
    found.reduce(add).filter(|copies| copies.forked > 0)
}

/// A fork begins with its parent's pages and none of its own. What is private later, beyond what it
/// has taken since, are copies of pages that were shared. With the second at which that was read.
fn copied(track: &ProcessTrack) -> Option<(Copies, f64)> {
    let inherited = track.inherited?;
    let levels = track.kept.levels.iter();
    let last = levels.filter(|levels| levels.private.is_some()).last()?;
    let private = last.private?;
    // Shared memory that nobody else maps counts as private too, and is no copy.
    let taken = (private.anon - inherited.anon).max(0.0) + (last.shmem - inherited.shmem).max(0.0);
    let copies = Copies {
        forked: 1,
        unread: 0,
        private: private.uss,
        taken,
    };
    Some((copies, private.seconds))
}

/// What it held when training began, and last.
fn trained(held: &Held, on_steps: bool, begin: f64) -> Option<FirstAndLast<Levels>> {
    let mut since = held.levels.iter().filter(|p| trains(p, on_steps, begin));
    span(since.next().or(held.levels.first()), held.levels.last())
}

/// A process that ends loses its threads before its memory: the last readings together tell how many
/// there were.
fn last_threads(held: &Held) -> Option<f64> {
    const READINGS: usize = 3;
    let threads: Vec<f64> = held.levels.iter().map(|levels| levels.threads).collect();
    let since = threads.len().saturating_sub(READINGS);
    stats::median(&mut threads[since..].to_vec())
}

fn trains(levels: &Levels, on_steps: bool, begin: f64) -> bool {
    match on_steps {
        true => levels.at.step.is_some_and(|step| step >= begin),
        false => levels.at.seconds >= begin,
    }
}

fn nearest(held: &Held, seconds: f64) -> Option<&Levels> {
    let distance = |levels: &Levels| (levels.at.seconds - seconds).abs();
    held.levels
        .iter()
        .min_by(|a, b| distance(a).total_cmp(&distance(b)))
}

fn counted(run: &Run) -> Counted {
    let occurrences = &run.occurrences;
    let starts = &occurrences.worker_starts;
    let later = occurrences.evaluations.first().map_or(0.0, |first| {
        starts.total() as f64 - starts.before(first.seconds, |at| Some(at.seconds))
    });
    Counted {
        evaluations: occurrences.evaluations.total(),
        saves: occurrences.saves.total(),
        logs: occurrences.logs.total(),
        epochs: occurrences.epochs.total(),
        worker_starts: starts.total(),
        later_workers: later as u64,
        slow_steps: occurrences.slow_steps.total(),
        paced: occurrences.paced(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::look::LookWhy;
    use crate::point::{Context, Point};
    use crate::process::ProcId;
    use crate::verdict::Axis;

    /// Else nobody would know that it lies on top of a tooth, and it would be compared with a valley.
    #[test]
    fn a_look_before_the_first_valley_has_a_floor_too() {
        let floor = |step: f64| 50e6 + 3e5 * step;
        let points: Vec<Point> = (1..=150)
            .map(|step| {
                Point::new(
                    f64::from(step),
                    floor(f64::from(step)) + 4e6 * f64::from(step % 10),
                )
            })
            .collect();
        let series = crate::series::Series::from_points(Axis::Step, Meter::Held, &points);
        let examined = crate::judge::examined(&series, &Context::default());
        let first = examined.valleys.as_ref().unwrap().first_x();
        assert!(first > 2.0);
        let id = ProcId { pid: 7, start: 1 };
        let step = first - 1.0;
        let taken = Taken {
            look: Look::new(Default::default(), id, LookWhy::Start, Examiner::Mappings),
            step: Some(step as u64),
        };
        let found = floor_at(&examined, true, &taken).unwrap();
        assert!((found - floor(step)).abs() < 1e6, "{found}");
    }
}
