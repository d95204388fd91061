//! Will it end? Growth that is shown is a leak only when something would have ended it and did not. One
//! case for each thing that is known, and for each kind of harmless growth that was once accused.

use lowtide_core::judge::judge;
use lowtide_core::judge::prior::{Lasted, Prior};
use lowtide_core::mark::Geometry;
use lowtide_core::point::{Context, Point, Reserve, Round, RoundKind};
use lowtide_core::series::Series;
use lowtide_core::units::{Bytes, show_duration};
use lowtide_core::verdict::{Axis, BoundKind, Class, Fits, Meter, Verdict};

const MB: f64 = 1e6;

/// Steps are a fifth of a second.
const PACE: f64 = 0.2;

/// A job of 3,600 steps, five a second, as a watch sees it: a sample every half second.
struct Job {
    context: Context,
    steps: f64,
}

impl Job {
    fn new() -> Job {
        Job {
            context: Context {
                marked: true,
                first_step: Some(0.0),
                total_steps: Some(3600.0),
                limit: Some(Bytes(25_000_000_000)),
                ..Context::default()
            },
            steps: 3600.0,
        }
    }

    fn epoch(mut self, steps: f64) -> Job {
        self.context.geometry = Geometry {
            epoch_steps: Some(steps),
            ..Geometry::default()
        };
        self
    }

    /// The same for so many steps.
    fn long(mut self, steps: f64) -> Job {
        self.steps = steps;
        self.context.total_steps = Some(steps);
        self
    }

    /// Every verdict of the run, four a minute, with its step; sizes are MB.
    fn verdicts(&self, held: impl Fn(f64) -> f64) -> Vec<(f64, Verdict)> {
        let mut series = Series::new(Axis::Step, Meter::Held);
        let mut verdicts = Vec::new();
        for tick in 0..(self.steps / 2.5) as u32 {
            let step = (f64::from(tick) * 2.5).floor();
            let wobble = f64::from(tick.wrapping_mul(2_654_435_761) % 1000) / 1000.0;
            series.push(Point {
                seconds: Some(f64::from(tick) / 2.0),
                ..Point::new(step, MB * (held(step) + 0.5 * wobble))
            });
            if tick % 30 == 29 {
                verdicts.push((step, judge(&series, &self.context)));
            }
        }
        verdicts
    }

    fn last(&self, held: impl Fn(f64) -> f64) -> Verdict {
        self.verdicts(held).pop().unwrap().1
    }

    fn at(&self, step: f64, held: impl Fn(f64) -> f64) -> Verdict {
        let all = self.verdicts(held);
        let found = all.into_iter().rev().find(|(at, _)| *at <= step);
        found.unwrap().1
    }
}

/// Steps of growth after which it is surely a leak, in epochs of so many.
fn surely_leaks_after(epoch: f64) -> f64 {
    let lasted = |steps: f64| Lasted {
        told: false,
        epochs: Some(steps / epoch),
        steps: Some(steps),
        seconds: Some(PACE * steps),
    };
    Prior::PUBLISHED.sure_after(lasted).unwrap()
}

#[track_caller]
fn never_accused(verdicts: &[(f64, Verdict)]) {
    for (step, verdict) in verdicts {
        let evidence = &verdict.evidence;
        assert_ne!(
            verdict.verdict,
            Class::Leak,
            "at step {step}: {evidence:#?}"
        );
    }
}

/// What half of the harmless jobs were accused of: lines that end later than anybody waited.
#[test]
fn harmless_growth_is_accused_at_no_moment() {
    type Shape = fn(f64) -> f64;
    let kinds: [(&str, Shape); 7] = [
        ("a replay buffer", |x| 120.0 + 0.3 * x.min(3000.0)),
        ("drawn with replacement", |x| {
            120.0 + 800.0 * (1.0 - (-x / 900.0).exp())
        }),
        ("a first epoch", |x| 400.0 + 0.4 * x.min(1800.0)),
        ("entries that expire", |x| 150.0 + 0.8 * x.min(900.0)),
        ("saw-teeth", |x| 100.0 + 0.9 * (x % 800.0)),
        ("cleared at step 700", |x| 100.0 + 0.9 * (x % 700.0)),
        ("an epoch longer than the run", |x| 300.0 + 0.2 * x),
    ];
    for (name, held) in kinds {
        let verdicts = Job::new().verdicts(held);
        never_accused(&verdicts);
        let growing = verdicts.iter().find(|(_, v)| v.growing);
        assert!(growing.is_some(), "{name} was seen to grow");
    }
}

#[test]
fn growth_past_the_epoch_is_a_leak_and_growth_within_it_is_open() {
    let leak = |x: f64| 300.0 + 0.3 * x;
    let job = Job::new().epoch(800.0);
    let early = job.at(700.0, leak);
    assert_eq!(early.verdict, Class::TooEarly);
    let bound = early.bound.as_ref().unwrap();
    assert_eq!((bound.kind, bound.at), (BoundKind::Epoch, Some(800.0)));
    let outlook = early.outlook.as_ref().unwrap();
    assert_eq!(outlook.ends_at, Some(3600.0));
    let [ends, goes_on] = &outlook.futures[..] else {
        panic!("{outlook:#?}")
    };
    assert!((ends.needs / (540.0 * MB) - 1.0).abs() < 0.02, "{ends:?}");
    assert!(
        (goes_on.needs / (1380.0 * MB) - 1.0).abs() < 0.02,
        "{goes_on:?}"
    );
    // A pass is over, and few stores are larger than some.
    let sure = surely_leaks_after(800.0);
    let open = job.at(0.95 * sure, leak);
    assert!(open.is_open_growth() && open.steady, "{open:#?}");
    assert_eq!(job.at(1.05 * sure, leak).verdict, Class::Leak);
    let cached = |x: f64| 300.0 + 0.3 * x.min(800.0);
    let verdicts = job.verdicts(cached);
    never_accused(&verdicts);
    assert_eq!(verdicts.last().unwrap().1.verdict, Class::WarmUp);
}

/// A store that begins to fill after the first pass has an end of its own.
#[test]
fn growth_that_begins_later_has_to_outlast_an_epoch_of_its_own() {
    let sure = surely_leaks_after(800.0);
    let job = Job::new().epoch(800.0).long(1500.0 + 1.2 * sure);
    let late = |x: f64| 300.0 + 0.5 * (x - 1500.0).max(0.0);
    assert_ne!(job.at(1500.0 + 0.95 * sure, late).verdict, Class::Leak);
    assert_eq!(job.last(late).verdict, Class::Leak);
    never_accused(&job.verdicts(|x| 300.0 + 0.5 * (x - 1500.0).clamp(0.0, 700.0)));
}

/// A cache that is filled by drawing with replacement goes on a little after the first epoch.
#[test]
fn a_cache_that_fades_after_the_epoch_is_no_leak() {
    let drawn = |x: f64| 150.0 + 900.0 * (1.0 - (-x / 800.0).exp());
    never_accused(&Job::new().epoch(800.0).verdicts(drawn));
}

#[test]
fn reserved_memory_ends_at_its_size() {
    let mut job = Job::new();
    job.context.reserved = Some(Reserve {
        end: 1120.0 * MB,
        left: 500.0 * MB,
        share: 0.97,
        why: "one block of 1.00 GB reserved".to_owned(),
    });
    let fill = |x: f64| 120.0 + 1000.0 * (x / 3000.0).min(1.0);
    let verdict = job.at(300.0, fill);
    assert_eq!(verdict.verdict, Class::WarmUp, "{verdict:#?}");
    assert!(verdict.is_under_way() && verdict.growing);
    assert_eq!(verdict.predicted_plateau, Some(1120.0 * MB));
    assert_eq!(verdict.leaking, Some(false));
    let outlook = verdict.outlook.as_ref().unwrap();
    assert_eq!(outlook.fits, Some(Fits::Yes));
    assert!(outlook.needs.low <= 1120.0 * MB && 1120.0 * MB <= outlook.needs.high);
    // Full and level: a warm-up that is over.
    let verdict = job.last(|x| 120.0 + 1000.0 * (x / 1500.0).min(1.0));
    assert!(verdict.settled_at.is_some(), "{verdict:#?}");
    // Full a moment ago: nothing has to be shown by the line, the size tells.
    let mut full = Job::new();
    full.context.reserved = job.context.reserved.clone();
    full.context.reserved.as_mut().unwrap().left = 0.0;
    let verdict = full.at(3100.0, fill);
    let settled = verdict.settled_at.unwrap();
    assert!((2850.0..3050.0).contains(&settled), "{verdict:#?}");
    assert!(!verdict.growing && !verdict.is_under_way());
    assert!(
        verdict.rate.value == 0.0 && verdict.rate.low < 0.0,
        "{verdict:#?}"
    );
    let grown = verdict.growth.unwrap();
    assert!(
        (grown.bytes / (1000.0 * MB) - 1.0).abs() < 0.05,
        "{grown:?}"
    );
    // Past its end the end is refuted, which makes nobody a leak, an epoch passed or not.
    let mut refuted = Job::new().epoch(500.0);
    refuted.context.reserved = job.context.reserved.clone();
    for job in [&job, &refuted] {
        let verdict = job.last(|x| 120.0 + 0.4 * x);
        assert_eq!(verdict.verdict, Class::TooEarly, "{verdict:#?}");
    }
    // It has to explain the growth.
    job.context.reserved.as_mut().unwrap().share = 0.8;
    assert_eq!(job.at(300.0, fill).verdict, Class::TooEarly);
}

/// Each evaluation is the same work again: the tenth has nothing new to keep.
#[test]
fn growth_in_rounds_is_told_by_its_rounds() {
    let mut job = Job::new();
    job.context.rounds = (1..20)
        .map(|k| Round {
            kind: RoundKind::Evaluation,
            x: f64::from(k) * 180.0,
        })
        .collect();
    let stairs = |x: f64| 300.0 + 14.0 * (x / 180.0).floor();
    assert_ne!(job.at(1500.0, stairs).verdict, Class::Leak);
    let verdict = job.last(stairs);
    assert_eq!(verdict.verdict, Class::Leak, "{verdict:#?}");
    let said = verdict
        .evidence
        .iter()
        .any(|e| e.rule == "growth in rounds");
    assert!(said, "{:#?}", verdict.evidence);
    // A ring of the last ten results, and growth that does not come with them.
    never_accused(&job.verdicts(|x| 300.0 + 14.0 * (x / 180.0).floor().min(10.0)));
    never_accused(&job.verdicts(|x| 300.0 + 0.06 * x));
}

/// Fills are over sooner: the time that it takes is said in words.
#[test]
fn growth_that_outlasts_what_fills_is_a_leak() {
    let lasted = |seconds: f64| Lasted {
        told: false,
        seconds: Some(seconds),
        ..Lasted::default()
    };
    let sure = Prior::PUBLISHED.sure_after(lasted).unwrap();
    let look = |seconds: f64, per_hour: f64| {
        let points: Vec<Point> = (0..(seconds / 10.0) as u32)
            .map(|i| {
                let seconds = f64::from(i) * 10.0;
                let wobble = f64::from(i.wrapping_mul(7919) % 13);
                Point::new(
                    seconds,
                    MB * (3000.0 + per_hour * seconds / 3600.0 + wobble),
                )
            })
            .collect();
        let series = Series::from_points(Axis::Time, Meter::Held, &points);
        judge(&series, &Context::default())
    };
    // Fast or slow: a cache beside a large model fills like one beside a small one.
    for per_hour in [600.0, 1500.0] {
        let says = |verdict: &Verdict, seconds: f64| {
            let told = show_duration(seconds);
            verdict.evidence.iter().any(|e| e.says.contains(&told))
        };
        let open = look(0.95 * sure, per_hour);
        assert_eq!(open.verdict, Class::TooEarly);
        assert!(says(&open, sure), "{open:#?}");
        let leak = look(1.1 * sure, per_hour);
        assert_eq!(leak.verdict, Class::Leak, "{leak:#?}");
        let growth = leak.growth.as_ref().unwrap();
        assert!(says(&leak, growth.to - growth.from), "{leak:#?}");
    }
}

/// Steps may be fast: without a clock nobody knows how long growth lasted.
#[test]
fn without_a_clock_no_number_of_steps_is_enough() {
    for axis in [Axis::Step, Axis::Sample] {
        let points: Vec<Point> = (0..60_000)
            .map(|i| Point::new(f64::from(i), MB * (800.0 + 0.03 * f64::from(i))))
            .collect();
        let series = Series::from_points(axis, Meter::Held, &points);
        let verdict = judge(&series, &Context::default());
        assert_eq!(verdict.verdict, Class::TooEarly, "{verdict:#?}");
        assert!(verdict.steady && verdict.decides_at.is_none());
    }
}

/// A rollout is no evaluation: its buffer fills with each, whatever spike comes with it. And a fill under
/// spikes is a fill.
#[test]
fn rounds_that_nobody_marked_accuse_nobody() {
    let spike = |x: f64| if x % 60.0 < 8.0 { 400.0 } else { 0.0 };
    let job = Job::new();
    never_accused(&job.verdicts(|x| 600.0 + 30.0 * (x / 60.0).floor() + spike(x)));
    never_accused(&job.verdicts(|x| 600.0 + 0.5 * x + spike(x)));
}

/// A pool of the last ten snapshots, one an epoch, is no first pass over the data; nor is it a leak.
#[test]
fn what_every_epoch_leaves_behind_is_told_by_its_epochs() {
    let job = Job::new().epoch(200.0);
    let pool = |most: f64| move |x: f64| 300.0 + 18.0 * (x / 200.0).floor().min(most);
    never_accused(&job.verdicts(pool(10.0)));
    let verdict = job.last(pool(f64::INFINITY));
    assert_eq!(verdict.verdict, Class::Leak, "{verdict:#?}");
    let by_rounds = |e: &lowtide_core::verdict::Evidence| e.says.contains("each epoch leaves");
    assert!(verdict.evidence.iter().any(by_rounds), "{verdict:#?}");
}

/// One floor point between two rounds cannot tell what grew in them from what grew between.
#[test]
fn rounds_closer_than_the_floor_can_tell_accuse_nobody() {
    let mut job = Job::new();
    job.context.rounds = (1..240)
        .map(|k| Round {
            kind: RoundKind::Save,
            x: f64::from(k) * 15.0,
        })
        .collect();
    never_accused(&job.verdicts(|x| 300.0 + 0.3 * x));
}

/// Workers keep what they load, and each sees another eighth or sixteenth of the data in every pass.
#[test]
fn what_workers_share_of_a_pass_ends_much_later() {
    let shared = |shards: f64| {
        move |x: f64| {
            let (done, part) = ((x / 300.0).floor(), (x / 300.0).fract());
            let kept = 1.0 - 1.0 / shards;
            let new = |pass: f64| kept.powf(pass);
            let before: f64 = (0..done as u32).map(|pass| new(f64::from(pass))).sum();
            400.0 + 200.0 * (before + part * new(done))
        }
    };
    // By then half of what each sees is new to it at most.
    for (shards, passes) in [(8.0, 6.0), (16.0, 11.0)] {
        let sure = surely_leaks_after(300.0 * passes);
        let mut job = Job::new().epoch(300.0).long(1.1 * sure);
        job.context.shards = shards;
        never_accused(&job.verdicts(shared(shards)));
        // A leak keeps its pace.
        let leak = |x: f64| 400.0 + 0.6 * x;
        assert_ne!(job.at(0.95 * sure, leak).verdict, Class::Leak);
        assert_eq!(job.last(leak).verdict, Class::Leak);
        // If all stores were full at once, only this would keep it from being a leak.
        job.context.prior = Prior::PUBLISHED.times(1e-3);
        never_accused(&job.verdicts(shared(shards)));
        job.context.shards = 1.0;
        let alone = job.verdicts(shared(shards));
        let accused = alone.iter().any(|(_, v)| v.verdict == Class::Leak);
        assert!(accused, "the rule is what decides it");
    }
}

/// A floor that stopped near the limit is open: memory may be full, or it was a fill that just fits.
#[test]
fn a_fill_that_ends_below_the_limit_is_no_leak() {
    let mut job = Job::new();
    job.context.limit = Some(Bytes(1_030_000_000));
    let verdicts = job.verdicts(|x| 300.0 + 0.4 * x.min(1750.0));
    never_accused(&verdicts);
    let (_, last) = verdicts.last().unwrap();
    assert!(
        last.evidence.iter().any(|e| e.rule == "memory is full"),
        "{last:#?}"
    );
}

/// A place beyond the last step is never reached.
#[test]
fn nothing_is_promised_beyond_the_end_of_the_run() {
    let leak = |x: f64| 300.0 + 0.3 * x;
    for (step, verdict) in Job::new().verdicts(leak) {
        assert_eq!(verdict.oom, None, "at step {step}");
        assert!(
            verdict.decides_at.is_none_or(|at| at <= 3600.0),
            "at step {step}"
        );
    }
    let mut over = Job::new();
    over.context.over = true;
    let verdict = over.last(leak);
    assert_eq!((verdict.decides_at, verdict.safe_until_then), (None, None));
    let outlook = verdict.outlook.unwrap();
    assert_eq!(
        (outlook.seconds, outlook.fits),
        (Some(0.0), Some(Fits::Yes))
    );
    assert!((outlook.needs.value / (1380.0 * MB) - 1.0).abs() < 0.01);
    assert!(outlook.says.starts_with("needed "), "{}", outlook.says);
}

#[test]
fn memory_that_runs_out_before_the_last_step_is_told_with_it() {
    let mut job = Job::new().epoch(300.0);
    job.context.limit = Some(Bytes(1_000_000_000));
    let verdict = job.at(1200.0, |x| 300.0 + 0.5 * x);
    assert_eq!(verdict.verdict, Class::Leak);
    assert!(
        (verdict.oom.unwrap().at - 1400.0).abs() < 20.0,
        "{verdict:#?}"
    );
    assert_eq!(verdict.outlook.unwrap().fits, Some(Fits::No));
}

/// Three points that rise have a rate.
#[test]
fn three_points_have_a_rate_and_an_outlook() {
    let points = [(10.0, 5552.0), (20.0, 7159.0), (30.0, 8851.0)];
    let points = points.map(|(x, mb)| Point::new(x, mb * MB));
    let series = Series::from_points(Axis::Step, Meter::Rss, &points);
    let verdict = judge(&series, &Context::default());
    assert!(verdict.growing && !verdict.steady);
    assert!((verdict.rate.value / (165.0 * MB) - 1.0).abs() < 0.02);
    assert!(verdict.rate.low < verdict.rate.value && verdict.rate.value < verdict.rate.high);
    assert!(verdict.outlook.is_some());
    // With the length of an epoch and of the run both futures are there, to the run's last step.
    let context = Context {
        geometry: Geometry {
            epoch_steps: Some(82.875),
            ..Geometry::default()
        },
        total_steps: Some(240.0),
        ..Context::default()
    };
    let outlook = judge(&series, &context).outlook.unwrap();
    let needs: Vec<f64> = outlook.futures.iter().map(|f| f.needs / 1e9).collect();
    assert!(
        (needs[0] - 17.6).abs() < 0.2,
        "ends with the epoch: {needs:?}"
    );
    assert!((needs[1] - 43.5).abs() < 0.3, "goes on: {needs:?}");
    assert!(outlook.needs.low / 1e9 <= needs[0] && needs[1] <= outlook.needs.high / 1e9);
}

/// Under saw-teeth the valleys tell whether growth kept its pace after an epoch; the teeth hide it.
#[test]
fn a_leak_under_teeth_outlasts_the_epoch_by_its_valleys() {
    let job = Job::new().epoch(300.0);
    let teeth = |x: f64| 400.0 + 0.3 * x + 120.0 * (x % 170.0) / 170.0;
    let verdict = job.last(teeth);
    assert_eq!(verdict.verdict, Class::Leak, "{verdict:#?}");
    // It began after the first pass.
    let late = job.last(|x| teeth((x - 1200.0).max(0.0)));
    assert_eq!(late.verdict, Class::Leak, "{late:#?}");
}

/// The first seconds decide nothing, but where the first pass ends is known in them too.
#[test]
fn the_first_seconds_know_their_epoch() {
    let job = Job::new().epoch(400.0);
    let points = |n: u32| {
        let point = |i: u32| Point {
            seconds: Some(f64::from(i) * 0.2),
            ..Point::new(f64::from(i), MB * (300.0 + 4.0 * f64::from(i)))
        };
        let points: Vec<Point> = (0..n).map(point).collect();
        Series::from_points(Axis::Step, Meter::Held, &points)
    };
    let verdict = judge(&points(40), &job.context);
    assert!(verdict.is_open_growth(), "{verdict:#?}");
    assert_eq!(verdict.decides_at, Some(500.0));
    assert!((verdict.predicted_plateau.unwrap() / (1900.0 * MB) - 1.0).abs() < 0.05);
    let unknown = judge(&points(40), &Job::new().context);
    assert_eq!(unknown.verdict, Class::TooEarly);
    assert_eq!(unknown.decides_at, None);
}

/// The best ten evaluations are kept, over many epochs: they are no first pass, and no leak.
#[test]
fn a_pool_of_evaluations_is_not_accused_by_the_epoch() {
    let mut job = Job::new().epoch(300.0);
    job.context.rounds = (1..24)
        .map(|k| Round {
            kind: RoundKind::Evaluation,
            x: f64::from(k) * 150.0,
        })
        .collect();
    never_accused(&job.verdicts(|x| 300.0 + 14.0 * (x / 150.0).floor().min(10.0)));
}
