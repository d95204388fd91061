//! Where the bytes are: an early look into the suspect process against a late one.

use crate::look::{CHANGED, Kind, Look, Part, TIME_RAN_OUT};
use crate::units::{Bytes, show_bytes};

use super::{Memory, Moment, PartGrowth};

/// Members of a part that are told.
const MEMBERS: usize = 3;
/// Members that moved by less than this share of the growth are not told.
const LEAST_MEMBER: f64 = 0.02;
/// Parts that moved by less than this share of the growth are not told.
const LEAST_PART: f64 = 0.005;

/// Looks whose growth differs from that of the floor by less than this share of it tell of the floor.
const LIKE_THE_FLOOR: f64 = 0.2;
/// A pair that stands apart by less than this share of the longest distance is too close.
const APART: f64 = 0.4;
/// What distance is worth: a pair over the whole run may differ from the floor by so much more than
/// one that is hardly apart.
const WORTH_OF_DISTANCE: f64 = 0.5;

pub(crate) type Looked = (Look, Option<u64>);

/// The looks that say most, if they lie far enough apart: neither cut short nor torn by a spike; else those
/// that were not cut short; else all.
pub(crate) fn comparable(looks: &[Looked]) -> Vec<&Looked> {
    let span = |of: &[&Looked]| match (of.first(), of.last()) {
        (Some(first), Some(last)) => last.0.at.since(first.0.at).seconds(),
        _ => 0.0,
    };
    let all: Vec<&Looked> = looks.iter().collect();
    let without = |faults: &[&str]| {
        let faulty = |what: &String| faults.iter().any(|fault| what.contains(fault));
        let fine = |look: &&Looked| !look.0.incomplete.iter().any(faulty);
        let fine: Vec<&Looked> = looks.iter().filter(fine).collect();
        (fine.len() >= 2 && span(&fine) >= APART * span(&all)).then_some(fine)
    };
    without(&[TIME_RAN_OUT, CHANGED])
        .or_else(|| without(&[TIME_RAN_OUT]))
        .unwrap_or(all)
}

/// The two looks that tell most of the growth: the first and the last, unless one of them was taken
/// on top of a spike or a tooth, which would hide what the floor did. `floor` is its height at a look.
pub(crate) fn pair<'a>(
    looks: &[&'a Looked],
    floor: impl Fn(&Looked) -> Option<f64>,
) -> Option<(&'a Looked, &'a Looked)> {
    let (first, last) = (*looks.first()?, *looks.last()?);
    if first.0.at >= last.0.at {
        return None;
    }
    let off = |a: &Looked, b: &Looked| {
        let grew = b.0.held.as_f64() - a.0.held.as_f64();
        let rose = floor(b)? - floor(a)?;
        (rose > 0.0).then(|| (grew - rose).abs() / rose)
    };
    if off(first, last).is_none_or(|off| off <= LIKE_THE_FLOOR) {
        return Some((first, last));
    }
    let span = last.0.at.since(first.0.at).seconds();
    let pairs = looks.iter().enumerate().flat_map(|(i, a)| {
        let later = looks[i + 1..].iter();
        later.filter_map(move |b| {
            let (a, b) = (*a, *b);
            let apart = b.0.at.since(a.0.at).seconds() / span;
            (apart >= APART).then_some((a, b, apart))
        })
    });
    let cost = |a: &Looked, b: &Looked, apart: f64| {
        off(a, b).unwrap_or(f64::INFINITY) + WORTH_OF_DISTANCE * (1.0 - apart)
    };
    pairs
        .map(|(a, b, apart)| (a, b, cost(a, b, apart)))
        .min_by(|a, b| a.2.total_cmp(&b.2))
        .map(|(a, b, _)| (a, b))
}

pub(crate) fn memory(looks: &[Looked], (first, last): (&Looked, &Looked), role: &str) -> Memory {
    let grew = last.0.held.as_f64() - first.0.held.as_f64();
    let whole = if grew.abs() < 1.0 { 1.0 } else { grew };
    let mut parts: Vec<PartGrowth> = kinds(&first.0, &last.0)
        .map(|kind| part(kind, &first.0, &last.0, whole))
        .collect();
    let held: f64 = parts
        .iter()
        .filter(|p| p.kind.is_held())
        .map(|p| p.grew)
        .sum();
    parts.retain(|part| part.grew.abs() >= LEAST_PART * whole.abs());
    parts.sort_by(|a, b| b.grew.total_cmp(&a.grew));
    let mut incomplete = first.0.incomplete.clone();
    for what in &last.0.incomplete {
        if !incomplete.contains(what) {
            incomplete.push(what.clone());
        }
    }
    let moment = |(look, step): &Looked| Moment {
        seconds: look.at.seconds(),
        step: step.map(|step| step as f64),
    };
    Memory {
        pid: last.0.id.pid,
        role: role.to_owned(),
        from: moment(first),
        to: moment(last),
        grew,
        parts,
        conclusive: true,
        accounted: (1.0 - (held - grew).abs() / whole.abs()).clamp(0.0, 1.0),
        incomplete,
        cost: looks.iter().map(|(look, _)| look.cpu.seconds()).sum(),
        looks: looks.len(),
    }
}

/// Takes back the shares: what the two looks differ by is not the growth.
pub(crate) fn without_shares(memory: &mut Memory) {
    memory.conclusive = false;
    memory.accounted = 0.0;
    for part in &mut memory.parts {
        part.share = 0.0;
    }
}

fn kinds<'a>(first: &'a Look, last: &'a Look) -> impl Iterator<Item = Kind> + 'a {
    let old = first.parts.iter().map(|part| part.kind);
    let new = last.parts.iter().map(|part| part.kind);
    let new = new.filter(|kind| first.parts.iter().all(|part| part.kind != *kind));
    old.chain(new)
}

fn part(kind: Kind, first: &Look, last: &Look, whole: f64) -> PartGrowth {
    let (before, after) = (first.bytes(kind).as_f64(), last.bytes(kind).as_f64());
    let grew = after - before;
    PartGrowth {
        kind,
        name: kind.name().to_owned(),
        first: before,
        last: after,
        grew,
        share: if kind.is_held() { grew / whole } else { 0.0 },
        members: members(kind, first, last, whole),
    }
}

/// One member that grew.
pub(crate) struct Member<'a> {
    pub name: &'a str,
    pub count: i64,
    pub bytes: f64,
}

/// The members of one part that grew, largest growth first.
pub(crate) fn grown<'a>(kind: Kind, first: &'a Look, last: &'a Look) -> Vec<Member<'a>> {
    let of = |look: &'a Look| look.parts.iter().find(|part| part.kind == kind);
    let before = |name: &str| {
        let part: Option<&Part> = of(first);
        let found = part.and_then(|part| part.members.iter().find(|member| member.name == name));
        found.map_or((0, Bytes::ZERO), |member| (member.count, member.bytes))
    };
    let mut grown: Vec<Member<'a>> = of(last)
        .into_iter()
        .flat_map(|part| &part.members)
        .map(|member| {
            let (count, bytes) = before(&member.name);
            Member {
                name: &member.name,
                count: (member.count as i64).saturating_sub(count as i64),
                bytes: member.bytes.as_f64() - bytes.as_f64(),
            }
        })
        .filter(|member| member.bytes > 0.0)
        .collect();
    grown.sort_by(|a, b| b.bytes.total_cmp(&a.bytes));
    grown
}

fn members(kind: Kind, first: &Look, last: &Look, whole: f64) -> Vec<String> {
    grown(kind, first, last)
        .into_iter()
        .filter(|member| member.bytes >= LEAST_MEMBER * whole.abs())
        .take(MEMBERS)
        .map(|member| {
            let sign = if member.count >= 0 { "+" } else { "-" };
            format!(
                "{}: {sign}{}, {}",
                member.name,
                member.count.unsigned_abs(),
                show_bytes(member.bytes)
            )
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::look::{Allocator, Counts, LookWhy};
    use crate::process::ProcId;
    use crate::units::Micros;

    fn look(second: u64, fault: Option<&str>) -> Looked {
        let look = Look {
            at: Micros(second * 1_000_000),
            id: ProcId { pid: 1, start: 1 },
            why: LookWhy::Due,
            parts: Vec::new(),
            held: Bytes(0),
            allocator: Allocator::Glibc,
            reserved: Vec::new(),
            pools: Vec::new(),
            python: None,
            counts: Counts::default(),
            incomplete: fault.map(str::to_owned).into_iter().collect(),
            wall: Micros(0),
            cpu: Micros(0),
        };
        (look, Some(second))
    }

    fn told(looks: &[Looked]) -> Vec<u64> {
        let steps = comparable(looks).into_iter();
        steps.filter_map(|(_, step)| *step).collect()
    }

    #[test]
    fn looks_torn_by_a_spike_or_cut_short_give_way() {
        let torn = Some("memory changed by 11.7 MB while it was looked at");
        let cut = Some("time ran out after 2.0 s of work");
        let looks = [
            look(3, torn),
            look(6, None),
            look(12, cut),
            look(16, None),
            look(22, torn),
        ];
        assert_eq!(told(&looks), [6, 16]);
        // What is left must tell of most of the run.
        let close = [
            look(3, torn),
            look(6, None),
            look(7, None),
            look(12, cut),
            look(22, torn),
        ];
        assert_eq!(told(&close), [3, 6, 7, 22]);
        assert_eq!(told(&[look(3, cut), look(9, cut)]), [3, 9]);
        assert_eq!(told(&[]), Vec::<u64>::new());
    }
}
