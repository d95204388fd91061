//! A run as metrics: the verdict, how far it is, what it needs, and what its processes hold by role.

use std::borrow::Cow;
use std::collections::BTreeMap;

use lowtide_core::meter::{Meter, Unit};
use lowtide_core::process::Role;
use lowtide_core::run::Run;
use lowtide_core::verdict::{Axis, Class, Fits, Verdict};

use super::{Kind, Label, Metric};

pub(super) fn of_run(name: &str, run: &Run, verdict: &Verdict) -> Vec<Metric> {
    let mut out = Metrics {
        run: name,
        made: Vec::new(),
    };
    about(&mut out, run);
    judged(&mut out, verdict);
    outlook(&mut out, verdict);
    if let Some(step) = run.furthest_step() {
        out.counter("lowtide_steps_total", "Optimizer steps done", step as f64);
    }
    let lost = verdict.lost.as_ref().map_or(0, |lost| lost.ticks);
    out.counter(
        "lowtide_lost_ticks_total",
        "Ticks that the recording should hold and does not",
        lost as f64,
    );
    memory(&mut out, run);
    out.made
}

/// Metrics of one run, whose name they all carry.
struct Metrics<'a> {
    run: &'a str,
    made: Vec<Metric>,
}

impl Metrics<'_> {
    fn gauge(
        &mut self,
        name: impl Into<Cow<'static, str>>,
        help: &'static str,
        labels: impl IntoIterator<Item = Label>,
        value: f64,
    ) {
        let own = ("run", self.run.to_owned());
        self.made.push(Metric {
            name: name.into(),
            help,
            kind: Kind::Gauge,
            labels: [own].into_iter().chain(labels).collect(),
            value,
        });
    }

    fn counter(&mut self, name: &'static str, help: &'static str, value: f64) {
        self.made.push(Metric {
            name: name.into(),
            help,
            kind: Kind::Counter,
            labels: vec![("run", self.run.to_owned())],
            value,
        });
    }
}

fn about(out: &mut Metrics, run: &Run) {
    let header = run.header();
    let info = [
        ("node", header.host.clone()),
        ("how", header.how.clone()),
        ("command", header.command.join(" ")),
    ];
    out.gauge("lowtide_run_info", "A run that goes on", info, 1.0);
}

fn judged(out: &mut Metrics, verdict: &Verdict) {
    for class in [
        Class::Leak,
        Class::TooEarly,
        Class::WarmUp,
        Class::Spikes,
        Class::Stable,
    ] {
        let is = f64::from(verdict.verdict == class);
        let label = ("class", class.to_string());
        out.gauge("lowtide_verdict", "The verdict, by class", [label], is);
    }
    let slope = match verdict.axis {
        Axis::Step => "lowtide_floor_slope_bytes_per_step",
        Axis::Time | Axis::Sample => "lowtide_floor_slope_bytes_per_second",
    };
    out.gauge(slope, "How fast the floor rises", [], verdict.rate.value);
    let floor = verdict.floor.last;
    out.gauge("lowtide_floor_bytes", "The low-water mark", [], floor);
    let oom = verdict.oom.and_then(|oom| oom.seconds).map(|s| s.at);
    for (name, help, value) in [
        (
            "lowtide_limit_bytes",
            "The smallest limit that applies",
            verdict.limit,
        ),
        (
            "lowtide_headroom_bytes",
            "What is left below the limit",
            verdict.headroom,
        ),
        ("lowtide_oom_eta_seconds", "Until memory runs out", oom),
    ] {
        if let Some(value) = value {
            out.gauge(name, help, [], value);
        }
    }
}

/// Whether it grows, and what the run needs until its end.
fn outlook(out: &mut Metrics, verdict: &Verdict) {
    out.gauge(
        "lowtide_growing",
        "1 while the floor rises steadily, whether or not that ends",
        [],
        f64::from(verdict.growing),
    );
    let Some(outlook) = &verdict.outlook else {
        return;
    };
    let needs = outlook.needs;
    for (bound, bytes) in [
        ("low", needs.low),
        ("value", needs.value),
        ("high", needs.high),
    ] {
        out.gauge(
            "lowtide_outlook_needs_bytes",
            "What the run needs until its end, as a range",
            [("bound", bound.to_owned())],
            bytes,
        );
    }
    let fits = outlook.fits.map(|fits| match fits {
        Fits::Yes => 1.0,
        Fits::Tight => 0.5,
        Fits::No => 0.0,
    });
    if let Some(fits) = fits {
        out.gauge(
            "lowtide_outlook_fits",
            "Whether that is below the limit: 1 yes, 0.5 the limit lies within the range, 0 no",
            [],
            fits,
        );
    }
}

/// Every meter that views draw, of living processes, added up by role and rank.
fn memory(out: &mut Metrics, run: &Run) {
    let mut sums: BTreeMap<(&str, Option<u32>, Meter), u64> = BTreeMap::new();
    for track in run.processes().filter(|track| track.gone.is_none()) {
        let Some(last) = &track.last else { continue };
        let (role, rank) = match track.member.role {
            Role::Rank { rank, .. } => ("rank", Some(rank)),
            other => (other.name(), None),
        };
        for info in Meter::drawn() {
            if let Some(value) = (info.get)(last) {
                let sum = sums.entry((role, rank, info.meter)).or_default();
                *sum = sum.saturating_add(value);
            }
        }
    }
    for ((role, rank, meter), sum) in sums {
        let (name, help) = family(meter);
        let value = match meter.info().unit {
            Unit::Bytes | Unit::Count(_) => sum as f64,
            Unit::Seconds => sum as f64 / 1e6,
        };
        let rank = rank.map(|rank| ("rank", rank.to_string()));
        let kind = (name == MEMORY).then(|| ("kind", meter.to_string()));
        let role = ("role", role.to_owned());
        out.gauge(
            name,
            help,
            [role].into_iter().chain(rank).chain(kind),
            value,
        );
    }
}

const MEMORY: &str = "lowtide_process_memory_bytes";

/// Memory of the host is one family, by kind; what is counted otherwise has one of its own.
fn family(meter: Meter) -> (Cow<'static, str>, &'static str) {
    let info = meter.info();
    match info.unit {
        Unit::Bytes if meter == Meter::Gpu => (
            "lowtide_gpu_memory_bytes".into(),
            "GPU memory of the processes of a role",
        ),
        Unit::Bytes => (
            MEMORY.into(),
            "Memory of the processes of a role; shared pages count in each but pss",
        ),
        Unit::Seconds => (
            format!("lowtide_process_{}_seconds", info.name).into(),
            info.meaning,
        ),
        Unit::Count(_) => (
            format!("lowtide_process_{}", info.name).into(),
            info.meaning,
        ),
    }
}
