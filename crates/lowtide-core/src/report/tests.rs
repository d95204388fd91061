//! The report of runs made entry by entry: what every view shows is in it, however long the run was.

use crate::entry::{Entry, EventKind, Header};
use crate::judge::judge;
use crate::look::{Breakdown, By, Examiner, Look, LookWhy, MemoryClass, Part};
use crate::mark::{Geometry, Mark, Phase};
use crate::point::{Context, Point, Track};
use crate::process::{Facts, Member, ProcId, Role};
use crate::sample::{Limit, LimitFrom, Pss, Reading, Sample, TreeSum};
use crate::series::Series;
use crate::units::{Bytes, Micros};
use crate::verdict::{Axis, Class, Meter, Needs, Outlook};

use super::forecast::forecast;
use super::{Detail, LineName, Picture, Report};

const MB: u64 = 1_000_000;

fn id(pid: u32) -> ProcId {
    ProcId { pid, start: 9 }
}

fn member(pid: u32, role: Role) -> Entry {
    Entry::Member(Member {
        id: id(pid),
        parent: None,
        facts: Facts {
            argv: vec!["python".to_owned(), "train.py".to_owned()],
            ..Facts::default()
        },
        role,
        why: "a test says so".to_owned(),
    })
}

fn reading(pid: u32, anon: u64) -> Reading {
    Reading {
        anon: Bytes(anon),
        file: Bytes(50 * MB),
        vsize: Bytes(1 << 33),
        peak: Bytes(anon),
        threads: 4,
        ..Reading::of(id(pid))
    }
}

/// A trainer that leaks 2 MB a second, with one spike, beside a flat worker; a step a second.
fn leaking(seconds: u64, spike: u64, detail: Detail) -> Picture {
    let mut picture = Picture::new(detail);
    picture.apply(&Entry::Header(Header {
        name: "run".to_owned(),
        ..Header::default()
    }));
    picture.apply(&member(1, Role::Trainer));
    picture.apply(&member(2, Role::LoaderWorker));
    picture.apply(&Entry::Watch {
        at: Micros(0),
        id: id(1),
        why: "it trains".to_owned(),
    });
    for second in 0..seconds {
        let at = Micros(second * 1_000_000);
        picture.apply(&Entry::Mark(Mark {
            at,
            step: Some(second + 1),
            epoch: Some(second as f64 / 100.0),
            geometry: Some(Geometry {
                epoch_steps: Some(100.0),
                ..Geometry::default()
            }),
            phase: Some(if second % 100 > 95 {
                Phase::Eval
            } else {
                Phase::Train
            }),
            ..Mark::default()
        }));
        let extra = if second == spike { 900 * MB } else { 0 };
        let (a, b) = (1000 * MB + 2 * MB * second + extra, 300 * MB);
        picture.apply(&Entry::Sample(Sample {
            seq: second,
            at,
            readings: vec![reading(1, a), reading(2, b)],
            tree: TreeSum {
                held: Bytes(a + b),
                ..TreeSum::default()
            },
            limit: Some(Limit {
                bytes: Bytes(8000 * MB),
                from: LimitFrom::User,
                used: Bytes(a + b + 1000 * MB),
            }),
            ..Sample::default()
        }));
    }
    picture
}

#[test]
fn a_report_has_all_that_a_view_shows() {
    let picture = leaking(600, 333, Detail::FILE);
    let report = picture.report(Detail::FILE);
    assert_eq!(report.verdict.verdict, Class::Leak);
    assert_eq!(report.decides.who, "pid:1:9");
    assert_eq!(report.processes.len(), 2);
    assert_eq!(report.epochs.len(), 5);
    assert!(report.spans.iter().any(|span| span.phase == Phase::Eval));
    assert_eq!(report.steps.last(), Some(&[599.0, 600.0]));
    // The spike of one second and the evaluations are not part of the floor.
    assert!(report.floor.len() > 16 && report.floor.windows(2).all(|w| w[0][1] < w[1][1]));
    let forecast = report.forecast.unwrap();
    assert!(forecast.to > forecast.from && (forecast.value - 2e6).abs() < 1e5);
    // The trainer alone is shown: it may take what is left for all.
    let room = report.room.unwrap();
    let last = 1000e6 + 2e6 * 599.0;
    // What was left at the last look that counts, the one before the newest.
    let left = 8000e6 - (last - 2e6 + 1300e6);
    assert!((room.until - (last + left)).abs() < 1e6);
    let stack = report.stack.unwrap();
    assert_eq!(stack.roles, ["loader-worker", "trainer"]);
    for (nth, total) in stack.total.iter().enumerate() {
        assert_eq!(
            stack.parts.iter().map(|part| part[nth]).sum::<u64>(),
            *total
        );
    }
    let text = serde_json::to_string(&picture.report(Detail::FILE)).unwrap();
    assert!(text.contains(r#""who":"tree","meter":"held""#));
}

#[test]
fn a_spike_of_one_second_is_in_every_picture_of_a_long_run() {
    let picture = leaking(20_000, 7_777, Detail::SMALL);
    let report = picture.report(Detail::SMALL);
    let spike = 1000 * MB + 2 * MB * 7_777 + 900 * MB;
    for who in ["pid:1:9", "role:trainer"] {
        let line = report.lines.iter().find(|line| line.who == who).unwrap();
        assert!(line.x.len() <= Detail::SMALL.main);
        assert!(line.high.contains(&spike), "{who}");
    }
    let tree = LineName {
        who: "tree".to_owned(),
        meter: Meter::Held,
    };
    let seen = picture.line(&tree, 7_000.0, 8_000.0, 50).unwrap();
    assert!(seen.x.len() <= 50 && seen.high.contains(&(spike + 300 * MB)));
    let stack = picture.stack(0.0, 1e9, 100).unwrap();
    assert!(stack.total.contains(&(spike + 300 * MB)));
}

#[test]
fn what_does_not_exist_has_no_line() {
    let picture = leaking(10, 99, Detail::SMALL);
    for (who, meter) in [
        ("tree", Meter::Uss),
        ("role:nobody", Meter::Pss),
        ("pid:1", Meter::Held),
        ("pid:1:8", Meter::Held),
        ("pid:1:9", Meter::Swap),
        ("", Meter::Held),
    ] {
        let name = LineName {
            who: who.to_owned(),
            meter,
        };
        assert!(picture.line(&name, 0.0, 1e9, 10).is_none(), "{who}");
    }
    let all = picture.line_names();
    assert!(
        all.iter()
            .all(|name| picture.line(name, 0.0, 1e9, 10).is_some())
    );
}

#[test]
fn every_drawn_meter_of_the_watched_process_is_a_line() {
    let mut picture = leaking(10, 99, Detail::SMALL);
    let at = Micros(10_000_000);
    let pss = Pss {
        at,
        anon: Bytes(3),
        uss: Bytes(2),
        ..Pss::default()
    };
    let full = Reading {
        shmem: Bytes(5),
        swap: Bytes(6),
        gpu: Some(Bytes(7)),
        pss: Some(pss),
        objects: Some(8),
        ..reading(1, MB)
    };
    picture.apply(&Entry::Sample(Sample {
        at,
        readings: vec![full],
        ..Sample::default()
    }));
    let report = picture.report(Detail::SMALL);
    for info in Meter::drawn() {
        let line = report
            .lines
            .iter()
            .find(|line| line.who == "pid:1:9" && line.meter == info.meter);
        let last = line.and_then(|line| line.high.last().copied());
        assert_eq!(last, (info.get)(&full), "{}", info.name);
        assert!(report.meters.iter().any(|known| known.name == info.name));
    }
}

#[test]
fn a_tree_of_short_lived_processes_does_not_grow_us() {
    let mut picture = leaking(10, 99, Detail::SMALL);
    for pid in 100..1000 {
        let at = Micros(u64::from(pid) * 1_000_000);
        picture.apply(&member(pid, Role::Other));
        picture.apply(&Entry::Sample(Sample {
            at,
            readings: vec![reading(1, 9 * MB), reading(pid, MB)],
            ..Sample::default()
        }));
        picture.apply(&Entry::Gone { id: id(pid), at });
    }
    assert!(picture.processes.len() <= 64);
    assert!(picture.processes.get(&id(1)).is_some());
}

#[test]
fn looks_and_events_are_shown() {
    let mut picture = leaking(10, 99, Detail::SMALL);
    for (second, bytes) in [(2, 100), (8, 300)] {
        let at = Micros(second * 1_000_000);
        let mut look = Look::new(at, id(1), LookWhy::Due, Examiner::Mappings);
        let part = Part::of_class(MemoryClass::PythonLive, Bytes(bytes), Vec::new());
        look.held = Some(Bytes(2 * bytes));
        look.breakdowns = vec![Breakdown::new(By::Mapping, vec![part])];
        picture.apply(&Entry::Look(look));
    }
    picture.apply(&Entry::Event {
        at: Micros(3),
        kind: EventKind::LimitNear,
        text: "near".to_owned(),
    });
    let report = picture.report_without_lines();
    let mappings = &report.breakdowns[0];
    assert_eq!(mappings.parts[0].name, "Python small objects");
    assert_eq!(mappings.looks[1].bytes, [Some(300)]);
    assert_eq!(report.events[0].text, "near");
    assert!(report.lines.is_empty() && report.stack.is_none());
}

#[test]
fn a_bare_series_has_a_report_too() {
    let points: Vec<Point> = (1..=240)
        .map(|i| Point::new(f64::from(i), 5e9 + 1e8 * f64::from(i.min(83))))
        .collect();
    let track = Track {
        name: "x".to_owned(),
        axis: Axis::Step,
        meter: Meter::Memory,
        points,
    };
    let series = Series::from_points(track.axis, track.meter, &track.points);
    let verdict = crate::judge::judge(&series, &crate::point::Context::default());
    let report = Report::of_series(&track, &series, verdict, Some(82.9));
    assert_eq!(report.lines[0].x.len(), 240);
    assert_eq!(report.epochs.len(), 2);
    assert_eq!((report.from, report.to), (1.0, 240.0));
}

/// An evaluation is the last that was seen: the floor that is drawn ends where the judged one does.
#[test]
fn an_evaluation_at_the_end_is_not_drawn_as_floor() {
    // Seconds 96 to 99 of each hundred evaluate; the spike is in them.
    let report = leaking(200, 199, Detail::FILE).report(Detail::FILE);
    let last = report.floor.last().unwrap();
    assert!(last[1] <= report.verdict.floor.last, "{last:?}");
}

#[test]
fn a_forecast_of_growth_goes_to_what_the_run_needs_at_its_end() {
    let mut series = Series::new(Axis::Step, Meter::Held);
    (0..=100)
        .for_each(|step| series.push(Point::new(f64::from(step), 1e9 + 1e7 * f64::from(step))));
    let mut verdict = judge(&series, &Context::default());
    verdict.verdict = Class::TooEarly;
    verdict.growing = true;
    verdict.floor.last = 2e9;
    let needs = Needs::new(4e9, 2.5e9, 5e9);
    verdict.outlook = Some(Outlook {
        ends_at: Some(150.0),
        seconds: None,
        needs,
        fits: None,
        futures: Vec::new(),
        later: Vec::new(),
        others: None,
        others_hold: None,
        says: String::new(),
    });
    // Half a gigabyte of it is others': the line itself comes to 2, 3.5 and 4.5.
    let there = forecast(&verdict, &series, 5e8).unwrap();
    assert_eq!((there.from, there.to, there.bytes), (100.0, 150.0, 2e9));
    assert_eq!([there.low, there.value, there.high], [0.0, 3e7, 5e7]);

    // What is far ahead is drawn as far as was seen, at the same slope.
    verdict.outlook.as_mut().unwrap().ends_at = Some(1100.0);
    let there = forecast(&verdict, &series, 5e8).unwrap();
    assert_eq!((there.to, there.value), (200.0, 1.5e6));

    // A line that does not rise is not drawn up to a peak that comes and goes.
    verdict.growing = false;
    verdict.verdict = Class::Spikes;
    let there = forecast(&verdict, &series, 5e8).unwrap();
    assert_eq!(there.value, verdict.rate.value);
    verdict.outlook.as_mut().unwrap().seconds = Some(0.0);
    assert_eq!(forecast(&verdict, &series, 5e8), None, "the run is over");
}
