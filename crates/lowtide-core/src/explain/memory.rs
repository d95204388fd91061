//! Where the bytes went: an early look into the suspect process against a late one, breakdown by
//! breakdown. All breakdowns are compared by the same code, whatever they are by.

use crate::look::{Breakdown, By, Examiner, Look, MemoryClass, Missing, Part, PartMember, Said};
use crate::run::{Taken, breakdowns_of};
use crate::units::{Bytes, show_bytes};

use super::{BreakdownGrowth, Moment, PartGrowth};

/// Parts of a breakdown that are told: nobody reads further.
const PARTS: usize = 16;
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
/// Looks between which the floor rose by less than this share of what it rose by between all of them came before or
/// after the growth: what grew in a first epoch is over when the second look comes.
const MOST_OF_THE_RISE: f64 = 0.5;
/// What distance is worth: a pair over the whole run may differ from the floor by so much more than
/// one that is hardly apart.
const WORTH_OF_DISTANCE: f64 = 0.5;

/// Two looks of one examiner that both have a breakdown.
pub(crate) struct Pair<'a> {
    pub by: &'a By,
    pub first: &'a Taken,
    pub last: &'a Taken,
    /// Looks that had it.
    looks: usize,
}

/// For everything that looks were broken down by, the two that tell most of the growth; what was seen
/// first comes first. `floor` is its height at a look.
pub(crate) fn pairs<'a>(
    looks: &'a [Taken],
    floor: impl Fn(&Taken) -> Option<f64>,
) -> Vec<Pair<'a>> {
    let pair = |(examiner, by): (&Examiner, &'a By)| {
        let has = |taken: &&Taken| taken.has((examiner, by));
        let of: Vec<&Taken> = looks.iter().filter(has).collect();
        let (first, last) = pair(&comparable(&of, &floor), &floor)?;
        Some(Pair {
            by,
            first,
            last,
            looks: of.len(),
        })
    };
    breakdowns_of(looks).into_iter().filter_map(pair).collect()
}

/// The looks that say most, if they lie far enough apart: neither cut short nor torn by a spike, where those saw the
/// growth as well; else those that were not cut short; else all.
fn comparable<'a>(looks: &[&'a Taken], floor: impl Fn(&Taken) -> Option<f64>) -> Vec<&'a Taken> {
    let span = |of: &[&Taken]| match (of.first(), of.last()) {
        (Some(first), Some(last)) => last.look.at.since(first.look.at).seconds(),
        _ => 0.0,
    };
    let without = |faulty: fn(&Missing) -> bool| {
        let fine = |taken: &&&Taken| !taken.look.missing.iter().any(faulty);
        let fine: Vec<&Taken> = looks.iter().filter(fine).copied().collect();
        (fine.len() >= 2 && span(&fine) >= APART * span(looks)).then_some(fine)
    };
    let whole = without(Missing::is_cut_short);
    let rise = |of: &[&Taken]| Some(floor(of.last()?)? - floor(of.first()?)?);
    // A spike shows in what is compared, but growth that was over by then shows in nothing.
    let all = rise(whole.as_deref().unwrap_or(looks));
    let saw_it = |fine: &Vec<&Taken>| {
        let both = rise(fine).zip(all);
        both.is_none_or(|(fine, all)| fine >= MOST_OF_THE_RISE * all)
    };
    without(|missing| missing.is_cut_short() || missing.is_torn())
        .filter(saw_it)
        .or(whole)
        .unwrap_or_else(|| looks.to_vec())
}

/// The two looks that tell most of the growth: the first and the last, unless one of them was taken
/// on top of a spike or a tooth, which would hide what the floor did.
fn pair<'a>(
    looks: &[&'a Taken],
    floor: impl Fn(&Taken) -> Option<f64>,
) -> Option<(&'a Taken, &'a Taken)> {
    let (first, last) = (*looks.first()?, *looks.last()?);
    if first.look.at >= last.look.at {
        return None;
    }
    let off = |a: &Taken, b: &Taken| {
        let grew = b.look.held?.as_f64() - a.look.held?.as_f64();
        let rose = floor(b)? - floor(a)?;
        (rose > 0.0).then(|| (grew - rose).abs() / rose)
    };
    if off(first, last).is_none_or(|off| off <= LIKE_THE_FLOOR) {
        return Some((first, last));
    }
    let span = last.look.at.since(first.look.at).seconds();
    let pairs = looks.iter().enumerate().flat_map(|(i, a)| {
        let later = looks[i + 1..].iter();
        later.filter_map(move |b| {
            let (a, b) = (*a, *b);
            let apart = b.look.at.since(a.look.at).seconds() / span;
            (apart >= APART).then_some((a, b, apart))
        })
    });
    let cost = |a: &Taken, b: &Taken, apart: f64| {
        off(a, b).unwrap_or(f64::INFINITY) + WORTH_OF_DISTANCE * (1.0 - apart)
    };
    pairs
        .map(|(a, b, apart)| (a, b, cost(a, b, apart)))
        .min_by(|a, b| a.2.total_cmp(&b.2))
        .map(|(a, b, _)| (a, b))
}

impl Pair<'_> {
    /// What either of the looks could not see.
    pub(crate) fn missing(&self) -> Vec<&Missing> {
        let mut missing: Vec<&Missing> = self.first.look.missing.iter().collect();
        for what in &self.last.look.missing {
            if !missing.contains(&what) {
                missing.push(what);
            }
        }
        missing
    }

    /// Looks that had it.
    pub(crate) fn looks(&self) -> usize {
        self.looks
    }

    /// What the process grew by between the two looks.
    pub(crate) fn grew(&self) -> Option<f64> {
        let held = |taken: &Taken| taken.look.held.map(Bytes::as_f64);
        Some(held(self.last)? - held(self.first)?)
    }

    pub(crate) fn growth(&self) -> Option<BreakdownGrowth> {
        let first = self.first.look.breakdown(self.by)?;
        let last = self.last.look.breakdown(self.by)?;
        let mut parts: Vec<PartGrowth> = names(first, last)
            .map(|name| part(name, first, last))
            .collect();
        let counted = parts.iter().filter(|part| part.held);
        let sum: f64 = counted.map(|part| part.grew).sum();
        let grew = self.grew().unwrap_or(sum);
        let whole = if grew.abs() < 1.0 { 1.0 } else { grew };
        // Where other parts shrank, those that grew did so by more than the process: shares are of what they
        // grew by together, so that none is above all of it.
        let rises = parts.iter().filter(|part| part.held);
        let rises: f64 = rises.map(|part| part.grew.max(0.0)).sum();
        let gross = rises.max(whole.abs());
        for part in &mut parts {
            let share = (part.grew / gross).max(0.0);
            part.share = if part.held && grew > 0.0 { share } else { 0.0 };
            part.members = members(&part.name, first, last, whole);
        }
        parts.retain(|part| {
            let moved = part.grew.abs() >= LEAST_PART * whole.abs();
            moved || part.last.is_none() && part.more > Some(0)
        });
        parts.sort_by(|a, b| b.grew.total_cmp(&a.grew).then(b.more.cmp(&a.more)));
        parts.truncate(PARTS);
        let moment = |taken: &Taken| Moment {
            seconds: taken.look.at.seconds(),
            step: taken.step.map(|step| step as f64),
        };
        Some(BreakdownGrowth {
            by: self.by.clone(),
            title: self.by.to_string(),
            examiner: self.last.look.examiner.clone(),
            looks: self.looks,
            from: moment(self.first),
            to: moment(self.last),
            grew,
            parts,
            conclusive: true,
            accounted: (1.0 - (sum - grew).abs() / whole.abs()).clamp(0.0, 1.0),
            missing: self.missing().into_iter().map(Said::from).collect(),
        })
    }
}

/// Takes back the shares: what the two looks differ by is not the growth.
pub(crate) fn without_shares(growth: &mut BreakdownGrowth) {
    growth.conclusive = false;
    growth.accounted = 0.0;
    for part in &mut growth.parts {
        part.share = 0.0;
    }
}

fn names<'a>(first: &'a Breakdown, last: &'a Breakdown) -> impl Iterator<Item = &'a str> {
    let old = first.parts.iter().map(|part| part.name.as_str());
    let new = last.parts.iter().map(|part| part.name.as_str());
    let new = new.filter(|name| first.part(name).is_none());
    old.chain(new)
}

fn part(name: &str, first: &Breakdown, last: &Breakdown) -> PartGrowth {
    let (before, after) = (first.part(name), last.part(name));
    let bytes = |part: Option<&Part>, of: &Breakdown| match part {
        Some(part) => part.bytes.map(Bytes::as_f64),
        None => Some(unnamed(of)),
    };
    let (old, new) = (bytes(before, first), bytes(after, last));
    let count = |part: Option<&Part>, of: &Breakdown| match part {
        Some(part) => part.count,
        None => of.rest.is_none().then_some(0),
    };
    let counts = count(before, first).zip(count(after, last));
    let either = after.or(before);
    PartGrowth {
        class: either.and_then(|part| part.class),
        name: name.to_owned(),
        held: either.is_none_or(|part| part.held),
        first: old,
        last: new,
        grew: new.unwrap_or(0.0) - old.unwrap_or(0.0),
        more: counts.map(|(old, new)| (new as i64).saturating_sub(old as i64)),
        share: 0.0,
        members: Vec::new(),
    }
}

/// What a part that is not named may hold: nothing, or as much as the smallest that is, where only the
/// largest are named. So growth is never told too large.
fn unnamed(of: &Breakdown) -> f64 {
    let bytes = of.parts.iter().filter_map(|part| part.bytes);
    let least = bytes.min().filter(|_| of.rest.is_some());
    least.unwrap_or_default().as_f64()
}

/// One member that grew.
pub(crate) struct GrownMember<'a> {
    pub name: &'a str,
    pub count: i64,
    pub bytes: f64,
}

/// The members of one class of memory that grew, largest growth first.
pub(crate) fn grown<'a>(
    class: MemoryClass,
    first: &'a Look,
    last: &'a Look,
) -> Vec<GrownMember<'a>> {
    let of = |look: &'a Look| look.breakdown(&By::Mapping);
    match (of(first), of(last)) {
        (Some(first), Some(last)) => grown_members(class.name(), first, last),
        _ => Vec::new(),
    }
}

fn grown_members<'a>(
    part: &str,
    first: &'a Breakdown,
    last: &'a Breakdown,
) -> Vec<GrownMember<'a>> {
    let of = |breakdown: &'a Breakdown| {
        let part = breakdown.part(part);
        part.map_or(&[][..], |part| part.members.as_slice())
    };
    let before = |name: &str| {
        let found = of(first).iter().find(|member| member.name == name);
        found.map_or((0, Bytes::ZERO), |member| (member.count, member.bytes))
    };
    let grew = |member: &'a PartMember| {
        let (count, bytes) = before(&member.name);
        GrownMember {
            name: &member.name,
            count: (member.count as i64).saturating_sub(count as i64),
            bytes: member.bytes.as_f64() - bytes.as_f64(),
        }
    };
    let mut grown: Vec<GrownMember<'a>> = of(last)
        .iter()
        .map(grew)
        .filter(|member| member.bytes > 0.0)
        .collect();
    grown.sort_by(|a, b| b.bytes.total_cmp(&a.bytes));
    grown
}

fn members(part: &str, first: &Breakdown, last: &Breakdown, whole: f64) -> Vec<String> {
    grown_members(part, first, last)
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
    use crate::look::{LookWhy, Rest};
    use crate::process::ProcId;
    use crate::units::Micros;

    const ID: ProcId = ProcId { pid: 1, start: 1 };

    fn taken(second: u64, missing: Option<&Missing>) -> Taken {
        let at = Micros(second * 1_000_000);
        let mut look = Look::new(at, ID, LookWhy::Due, Examiner::Mappings);
        look.held = Some(Bytes(0));
        look.missing.extend(missing.cloned());
        Taken {
            look,
            step: Some(second),
        }
    }

    fn told(looks: &[Taken], floor: impl Fn(&Taken) -> Option<f64>) -> Vec<u64> {
        let looks: Vec<&Taken> = looks.iter().collect();
        let steps = comparable(&looks, floor).into_iter();
        steps.filter_map(|taken| taken.step).collect()
    }

    #[test]
    fn looks_torn_by_a_spike_or_cut_short_give_way() {
        let changed = Missing::Changed {
            by: Bytes(11_700_000),
        };
        let ran_out = Missing::TimeRanOut {
            work: Micros(2_000_000),
            wall: Micros(2_000_000),
        };
        let (torn, cut) = (Some(&changed), Some(&ran_out));
        let looks = [
            taken(3, torn),
            taken(6, None),
            taken(12, cut),
            taken(16, None),
            taken(22, torn),
        ];
        assert_eq!(told(&looks, |_| None), [6, 16]);
        // What is left must tell of most of the run.
        let close = [
            taken(3, torn),
            taken(6, None),
            taken(7, None),
            taken(12, cut),
            taken(22, torn),
        ];
        assert_eq!(told(&close, |_| None), [3, 6, 7, 22]);
        assert_eq!(told(&[taken(3, cut), taken(9, cut)], |_| None), [3, 9]);
        assert_eq!(told(&[], |_| None), Vec::<u64>::new());
    }

    /// Pictures that are kept come in the first epoch, of 20 steps. The look at its first step lies in a forward pass,
    /// and the next comes twelve seconds later.
    #[test]
    fn a_torn_look_that_alone_saw_the_beginning_is_compared() {
        let torn = Missing::Changed {
            by: Bytes(30_300_000),
        };
        let kept = |taken: &Taken| Some(563e6 + 18e6 * taken.step?.min(20) as f64);
        let looks = [
            taken(1, Some(&torn)),
            taken(17, None),
            taken(33, None),
            taken(49, None),
        ];
        assert_eq!(told(&looks, kept), [1, 17, 33, 49]);
        // Where others saw most of it, it gives way.
        let early = [
            taken(1, Some(&torn)),
            taken(4, None),
            taken(33, None),
            taken(49, None),
        ];
        assert_eq!(told(&early, kept), [4, 33, 49]);
        // Nothing grew: no reason to take it.
        assert_eq!(told(&looks, |_| Some(563e6)), [17, 33, 49]);
        // One that was cut short tells nothing, whatever it saw.
        let ran_out = Missing::TimeRanOut {
            work: Micros(2_000_000),
            wall: Micros(2_000_000),
        };
        let cut = [
            taken(1, Some(&ran_out)),
            taken(2, Some(&torn)),
            taken(17, None),
            taken(33, None),
        ];
        assert_eq!(told(&cut, kept), [2, 17, 33]);
    }

    /// A breakdown that nobody makes yet is compared like all others; two of one examiner need not be in
    /// the same looks.
    #[test]
    fn whatever_looks_are_broken_down_by_is_compared() {
        let with = |second: u64, held: u64, breakdown: Breakdown| {
            let mut taken = taken(second, None);
            taken.look.held = Some(Bytes(held));
            taken.look.breakdowns.push(breakdown);
            taken
        };
        let holders = |bytes: u64| {
            let mut list = Part::new("train.CACHE (list)", Some(bytes / 10), Some(Bytes(bytes)));
            list.members.push(PartMember::new(
                "Tensor float32[3x8]",
                bytes / 10,
                Bytes(bytes),
            ));
            Breakdown::new(By::Holder, vec![list])
        };
        let sites = |count: u64| {
            let part = Part::new("train.py:8", Some(count), None);
            Breakdown::new(By::CallSite, vec![part])
        };
        let looks = [
            with(1, 1000, holders(100)),
            with(2, 1500, sites(7)),
            with(8, 2000, holders(1000)),
            with(9, 2500, sites(9)),
        ];
        let pairs = pairs(&looks, |_| None);
        let growth: Vec<BreakdownGrowth> = pairs.iter().filter_map(Pair::growth).collect();
        assert_eq!(growth[0].by, By::Holder);
        assert_eq!((growth[0].grew, growth[0].accounted), (1000.0, 0.9));
        let list = &growth[0].parts[0];
        assert_eq!((list.grew, list.share, list.more), (900.0, 0.9, Some(90)));
        assert_eq!(list.members, ["Tensor float32[3x8]: +90, 900 B"]);
        // Of what has no size the number tells.
        assert_eq!(
            (growth[1].by.clone(), growth[1].from.seconds),
            (By::CallSite, 2.0)
        );
        let site = &growth[1].parts[0];
        assert_eq!((site.more, site.last), (Some(2), None));
    }

    #[test]
    fn where_only_the_largest_are_named_growth_is_not_overstated() {
        let named = |names: &[(&str, u64)], rest: Option<Rest>| {
            let part = |(name, bytes): &(&str, u64)| Part::new(*name, None, Some(Bytes(*bytes)));
            Breakdown {
                by: By::PythonType,
                parts: names.iter().map(part).collect(),
                rest,
            }
        };
        let last = named(&[("list", 900), ("dict", 500)], None);
        let whole = named(&[("dict", 400)], None);
        assert_eq!(part("list", &whole, &last).grew, 900.0);
        let cut = named(&[("dict", 400)], Some(Rest::default()));
        assert_eq!(part("list", &cut, &last).grew, 500.0);
    }
}
