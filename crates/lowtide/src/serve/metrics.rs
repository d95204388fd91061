//! `/metrics`: the running runs for Prometheus. Names follow its conventions (bytes, seconds, no pid in
//! labels); a run that is over is not exposed any more.

use std::collections::BTreeMap;
use std::fmt::Write;

use lowtide_core::run::Run;
use lowtide_core::verdict::{Axis, Class, Fits, Verdict};
use lowtide_recording::summary::{RunState, Summary};

use super::Server;
use super::answer::Refusal;

/// Runs that are exposed at most.
const RUNS: usize = 64;

/// One family of values, with its help.
#[derive(Default)]
struct Families(BTreeMap<&'static str, (&'static str, Vec<String>)>);

impl Families {
    fn add(&mut self, name: &'static str, help: &'static str, labels: &[(&str, &str)], value: f64) {
        let labels: Vec<String> = labels
            .iter()
            .map(|(key, text)| format!("{key}=\"{}\"", escaped(text)))
            .collect();
        let family = self.0.entry(name).or_insert_with(|| (help, Vec::new()));
        family
            .1
            .push(format!("{name}{{{}}} {value}", labels.join(",")));
    }

    fn text(&self) -> String {
        let mut out = String::new();
        for (name, (help, values)) in &self.0 {
            let kind = if name.ends_with("_total") {
                "counter"
            } else {
                "gauge"
            };
            let _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} {kind}");
            for value in values {
                let _ = writeln!(out, "{value}");
            }
        }
        out
    }
}

/// A label's text may hold anything a job can name itself.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n")
}

pub fn text(server: &Server) -> Result<String, Refusal> {
    let mut families = Families::default();
    let mut stored = server.store.runs().map_err(Refusal::ourselves)?;
    stored.retain(|run| server.only.as_ref().is_none_or(|only| *only == run.name));
    let running = stored.iter().rev().filter(|run| {
        Summary::read(&run.recording()).is_ok_and(|summary| summary.state == RunState::Running)
    });
    for stored in running.take(RUNS) {
        let Ok(open) = server.shelf.take(&stored.name, stored.recording()) else {
            continue;
        };
        let Ok(mut now) = open.now() else { continue };
        let verdict = now.report().verdict.clone();
        expose(&mut families, &stored.name, &now.picture.run, &verdict);
    }
    Ok(families.text())
}

fn expose(families: &mut Families, name: &str, run: &Run, verdict: &Verdict) {
    let header = run.header();
    let own = ("run", name);
    let info = [
        own,
        ("node", &header.host),
        ("how", &header.how),
        ("command", &header.command.join(" ")),
    ];
    families.add("lowtide_run_info", "A run that goes on", &info, 1.0);
    for class in [
        Class::Leak,
        Class::TooEarly,
        Class::WarmUp,
        Class::Spikes,
        Class::Stable,
    ] {
        let is = f64::from(verdict.verdict == class);
        families.add(
            "lowtide_verdict",
            "The verdict, by class",
            &[own, ("class", &class.to_string())],
            is,
        );
    }
    let slope = match verdict.axis {
        Axis::Step => "lowtide_floor_slope_bytes_per_step",
        Axis::Time | Axis::Sample => "lowtide_floor_slope_bytes_per_second",
    };
    families.add(
        slope,
        "How fast the floor rises",
        &[own],
        verdict.rate.value,
    );
    families.add(
        "lowtide_floor_bytes",
        "The low-water mark",
        &[own],
        verdict.floor.last,
    );
    let summary = run.summary();
    let gauges = [
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
        (
            "lowtide_oom_eta_seconds",
            "Until memory runs out",
            verdict.oom.and_then(|oom| oom.seconds).map(|s| s.at),
        ),
        (
            "lowtide_steps_total",
            "Optimizer steps done",
            summary.last_step.map(|step| step as f64),
        ),
    ];
    for (name, help, value) in gauges {
        if let Some(value) = value {
            families.add(name, help, &[own], value);
        }
    }
    outlook(families, name, verdict);
    memory(families, name, run);
}

/// Whether it grows, and what the run needs until its end.
fn outlook(families: &mut Families, name: &str, verdict: &Verdict) {
    let own = ("run", name);
    families.add(
        "lowtide_growing",
        "1 while the floor rises steadily, whether or not that ends",
        &[own],
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
        families.add(
            "lowtide_outlook_needs_bytes",
            "What the run needs until its end, as a range",
            &[own, ("bound", bound)],
            bytes,
        );
    }
    let fits = outlook.fits.map(|fits| match fits {
        Fits::Yes => 1.0,
        Fits::Tight => 0.5,
        Fits::No => 0.0,
    });
    if let Some(fits) = fits {
        families.add(
            "lowtide_outlook_fits",
            "Whether that is below the limit: 1 yes, 0.5 the limit lies within the range, 0 no",
            &[own],
            fits,
        );
    }
}

/// Living processes, added up by role and kind.
fn memory(families: &mut Families, name: &str, run: &Run) {
    let mut sums: BTreeMap<(String, &str), u64> = BTreeMap::new();
    for track in run.processes().filter(|track| track.gone.is_none()) {
        let Some(last) = &track.last else { continue };
        let role = track.member.role.to_string();
        let kinds = [
            ("anon", last.anon),
            ("file", last.file),
            ("shmem", last.shmem),
            ("swap", last.swap),
        ];
        let read = last.pss.map(|pss| [("pss", pss.total()), ("uss", pss.uss)]);
        for (kind, bytes) in kinds.into_iter().chain(read.into_iter().flatten()) {
            *sums.entry((role.clone(), kind)).or_default() += bytes.0;
        }
        if let Some(bytes) = last.gpu {
            families.add(
                "lowtide_gpu_memory_bytes",
                "GPU memory of a role's process",
                &[("run", name), ("role", &role)],
                bytes.0 as f64,
            );
        }
    }
    for ((role, kind), bytes) in sums {
        let labels = [("run", name), ("role", role.as_str()), ("kind", kind)];
        families.add(
            "lowtide_process_memory_bytes",
            "Memory of the processes of a role; shared pages count in each but pss",
            &labels,
            bytes as f64,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::show::text::tests::open_growth;

    #[test]
    fn the_outlook_is_exposed_as_far_as_it_is_known() {
        let shown = |verdict: &Verdict| {
            let mut families = Families::default();
            outlook(&mut families, "night1", verdict);
            families.text()
        };
        let mut verdict = open_growth();
        let text = shown(&verdict);
        for line in [
            "lowtide_growing{run=\"night1\"} 1",
            "lowtide_outlook_fits{run=\"night1\"} 0.5",
            "lowtide_outlook_needs_bytes{run=\"night1\",bound=\"low\"} 17900000000",
            "lowtide_outlook_needs_bytes{run=\"night1\",bound=\"high\"} 41000000000",
        ] {
            assert!(text.lines().any(|shown| shown == line), "{line}: {text}");
        }
        for (fits, value) in [(Fits::Yes, "} 1"), (Fits::No, "} 0")] {
            verdict.outlook.as_mut().unwrap().fits = Some(fits);
            let text = shown(&verdict);
            let line = text.lines().find(|l| l.starts_with("lowtide_outlook_fits"));
            assert!(line.unwrap().ends_with(value), "{text}");
        }
        verdict.outlook.as_mut().unwrap().fits = None;
        assert!(!shown(&verdict).contains("lowtide_outlook_fits"));
        verdict.outlook = None;
        verdict.growing = false;
        let text = shown(&verdict);
        assert!(text.contains("lowtide_growing{run=\"night1\"} 0"), "{text}");
        assert!(!text.contains("outlook"), "{text}");
    }

    #[test]
    fn labels_cannot_break_out_of_their_quotes() {
        let mut families = Families::default();
        families.add(
            "x_total",
            "help",
            &[("command", "a\"} 1\nevil{x=\"\\")],
            2.0,
        );
        assert_eq!(
            families.text(),
            "# HELP x_total help\n# TYPE x_total counter\nx_total{command=\"a\\\"} 1\\nevil{x=\\\"\\\\\"} 2\n"
        );
    }
}
