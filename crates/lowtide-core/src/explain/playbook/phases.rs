//! What evaluations, saves, log calls and tools on the side take or keep.

use crate::look::MemoryClass;
use crate::mark::TrainingLoop;
use crate::units::show_bytes;
use crate::verdict::Axis;

use super::super::hook::Hook;
use super::super::signs::{PhaseExcursion, Signs};
use super::KnownCause;
use super::experiment::{Expect, Recipe, To, Trial};
use super::sign::{
    BARE, FLAT, Sign, carried_by, doubt, goes_on, large, not, not_ended, of_a_leak, seen, unknown,
};

/// What stays after an excursion, as a share of it, when it "returns".
const RETURNS: f64 = 0.2;
/// What took less than this share of the level, at most, took nothing on top.
const HARDLY: f64 = 0.02;
/// Excursions are of the same height when the largest is at most this many times the smallest.
const ALIKE: f64 = 2.0;
/// Lists of metrics cannot keep more than this in a step: 250 dictionary entries are about 0.1 MB.
const METRICS: f64 = 50_000.0;

pub(super) const CAUSES: &[KnownCause] = &[
    KnownCause {
        id: "P10",
        title: "evaluation gathers its outputs",
        cause: "the loop collects the logits of the whole evaluation set before it computes metrics: examples x tokens x vocabulary x 4 bytes, twice or three times that while they are joined",
        fix: "prediction_loss_only=True or preprocess_logits_for_metrics (argmax), batch_eval_metrics, a smaller evaluation set",
        sources: &[
            "https://github.com/huggingface/transformers/issues/15466",
            "https://github.com/huggingface/transformers/issues/12878",
            "https://github.com/huggingface/transformers/issues/10722",
        ],
        blamed: Some("evaluation"),
        spike: true,
        unseen: false,
        signature: eval_ramp,
        experiment: Trial {
            says: "evaluate on half the examples, or set prediction_loss_only=True",
            change: Recipe::Flag {
                names: &["eval_examples", "max_eval_samples", "eval_samples"],
                to: To::Half,
                arm: "half-eval",
            },
            expect: Expect::Says("the excursion is half as high, or gone"),
        },
    },
    KnownCause {
        id: "P11",
        title: "each evaluation leaves something behind",
        cause: "outputs kept by the loop or by a metric until the next evaluation, or in a list",
        fix: "clear them at the end of the evaluation; a newer Lightning",
        sources: &[
            "https://github.com/Lightning-AI/pytorch-lightning/issues/5735",
            "https://github.com/Lightning-AI/pytorch-lightning/issues/14270",
        ],
        blamed: None,
        spike: false,
        unseen: false,
        signature: |signs| {
            vec![match signs.is_driven_by("evaluation") {
                Some(driver) => seen(format!(
                    "{} with each evaluation, nothing between them",
                    show_bytes(driver.per_unit)
                )),
                None if signs.counted.evaluations == 0 => not("no evaluations"),
                None => not("growth does not come with evaluations"),
            }]
        },
        experiment: Trial {
            says: "the same job without evaluation (eval_strategy=no, limit_val_batches=0)",
            change: Recipe::Setting("eval_strategy", To::Value("no")),
            expect: Expect::Says("the stairs are gone"),
        },
    },
    KnownCause {
        id: "P20",
        title: "saving a checkpoint",
        cause: "a state_dict copied to the host, staging of asynchronous saves, torch.save buffers; if it stays: staging that is never freed",
        fix: "sharded saves, wait for the save before, reuse of staging buffers; leave headroom for it",
        sources: &[
            "https://github.com/pytorch/pytorch/issues/170163",
            "https://github.com/NVIDIA/Megatron-LM/issues/61",
        ],
        blamed: None,
        spike: true,
        unseen: false,
        signature: saves,
        experiment: Trial {
            says: "save half as often",
            change: Recipe::Flag {
                names: &["save_steps", "save_every"],
                to: To::Twice,
                arm: "rarer-saves",
            },
            expect: Expect::Says("half as many rises, of the same height"),
        },
    },
    KnownCause {
        id: "P21",
        title: "a logger keeps what it is given",
        cause: "wandb tables, media and watch(), figures that are never closed, queues of TensorBoard",
        fix: "close figures, Agg backend, smaller media, log more rarely, update the logger",
        sources: &[
            "https://github.com/wandb/wandb/issues/2644",
            "https://github.com/pytorch/pytorch/issues/43616",
        ],
        blamed: Some("loggers"),
        spike: false,
        unseen: false,
        signature: loggers,
        experiment: Trial {
            says: "the same job without its loggers (or log ten times as rarely)",
            change: Recipe::Env(&[("WANDB_MODE", "disabled"), ("MLFLOW_TRACKING_URI", "")]),
            expect: Expect::Says("the growth is gone, or a tenth"),
        },
    },
    KnownCause {
        id: "P22",
        title: "lists of metrics grow",
        cause: "state.log_history, a list of losses, exceptions kept with their tracebacks",
        fix: "a deque with a length, or write them out",
        sources: &["https://docs.python.org/3/library/collections.html#collections.deque"],
        blamed: Some("lists of numbers and log records"),
        spike: false,
        unseen: false,
        signature: metric_lists,
        experiment: Trial {
            says: "{hook} counts objects by type: look at what grew at the end",
            change: Recipe::Hook(Hook::Counts),
            expect: Expect::Says("dict, float or list lead"),
        },
    },
    KnownCause {
        id: "P28",
        title: "a profiler keeps its events",
        cause: "torch.profiler, memory history, tracemalloc or memray keep events as long as they run",
        fix: "a schedule, max_entries, or switch it off",
        sources: &[
            "https://github.com/bloomberg/memray/issues/565",
            "https://github.com/pytorch/pytorch/issues/129674",
        ],
        blamed: None,
        spike: false,
        unseen: false,
        signature: profilers,
        experiment: Trial {
            says: "the same job without the profiler",
            change: Recipe::Env(&[("PYTHONTRACEMALLOC", "0")]),
            expect: Expect::Says("the growth is gone"),
        },
    },
];

fn excursion(signs: &Signs, excursion: &PhaseExcursion, name: &str) -> Vec<Sign> {
    if excursion.seen == 0 {
        return if signs.recorded {
            Vec::new()
        } else {
            vec![unknown(format!("a bare log does not say when {name}s run"))]
        };
    }
    let key = if large(signs, excursion.rise) {
        seen(format!(
            "{} {name}s took {} on top, {} at most",
            excursion.seen,
            show_bytes(excursion.rise),
            show_bytes(excursion.most)
        ))
    } else {
        let says = format!(
            "each {name} took {} on top",
            show_bytes(excursion.rise.max(0.0))
        );
        // Readings come once a second: the highest moment may lie between them.
        match excursion.most < HARDLY * signs.course.level {
            true => not(says),
            false => doubt(says),
        }
    };
    let returns = if excursion.kept <= RETURNS * excursion.rise {
        seen("memory came back after it")
    } else {
        doubt(format!("{} stayed after it", show_bytes(excursion.kept)))
    };
    vec![key, returns]
}

fn eval_ramp(signs: &Signs) -> Vec<Sign> {
    let mut found = excursion(signs, &signs.evaluation, "evaluation");
    let evaluation = &signs.evaluation;
    if evaluation.seen >= 2 && evaluation.least > 0.0 {
        found.push(if evaluation.most <= ALIKE * evaluation.least {
            seen("each as high as the others")
        } else {
            unknown("they differ in height")
        });
    }
    found
}

fn saves(signs: &Signs) -> Vec<Sign> {
    if let Some(driver) = signs.is_driven_by("save") {
        return vec![seen(format!(
            "{} stay with each save",
            show_bytes(driver.per_unit)
        ))];
    }
    excursion(signs, &signs.save, "save")
}

fn loggers(signs: &Signs) -> Vec<Sign> {
    if !signs.recorded {
        return vec![unknown(BARE)];
    }
    if signs.job.role == "logger" {
        return vec![
            of_a_leak(
                signs,
                format!("the growing process is a logger: {}", signs.job.argv),
                "its own buffers fill too: WANDB_MODE=disabled would tell",
            ),
            not_ended(signs),
        ];
    }
    if let Some(driver) = signs.is_driven_by("log") {
        return vec![
            seen(format!(
                "{} with each log call",
                show_bytes(driver.per_unit)
            )),
            not_ended(signs),
        ];
    }
    let key = if signs.counted.logs == 0 {
        if !signs.job.libtorch {
            return Vec::new();
        }
        unknown(untold_logs(signs))
    } else if signs.may_be_driven_by("log") {
        unknown("log calls came as regularly as steps: log ten times as rarely to part them")
    } else {
        // Hooks and handlers of a logger work in every step.
        doubt("growth does not come with log calls: the same job without its loggers would tell")
    };
    vec![key, goes_on(signs)]
}

/// Only Trainer has a callback for its log calls.
fn untold_logs(signs: &Signs) -> String {
    match signs.job.training_loop {
        Some(TrainingLoop::Trainer) => {
            let callback = signs.hook(Hook::Counts);
            format!("log calls were not told: {callback} does")
        }
        _ => "log calls were not told: the same job without its loggers would tell".to_owned(),
    }
}

fn metric_lists(signs: &Signs) -> Vec<Sign> {
    if signs.axis != Axis::Step {
        return vec![unknown("steps are not known")];
    }
    let key = match goes_on(signs) {
        Sign::Seen(_) if signs.course.rate < METRICS => of_a_leak(
            signs,
            format!("{} a step", show_bytes(signs.course.rate)),
            &format!(
                "so does any small cache until it is full: {} counts objects by type",
                signs.hook(Hook::Counts)
            ),
        ),
        Sign::Seen(_) => {
            let says = format!(
                "{} a step: a list of numbers keeps less than {} a step",
                show_bytes(signs.course.rate),
                show_bytes(METRICS)
            );
            // A number for each token or example is more, and lies in small objects.
            let small = signs.share(&[MemoryClass::PythonLive]);
            match small.is_some_and(|small| small < FLAT) {
                true => not(says),
                false => doubt(says),
            }
        }
        other => other,
    };
    let small = carried_by(signs, &[MemoryClass::PythonLive], "Python small objects");
    vec![key, small.or_doubt()]
}

fn profilers(signs: &Signs) -> Vec<Sign> {
    let argv = &signs.job.argv;
    let named = ["memray", "-X tracemalloc", "scalene"]
        .into_iter()
        .find(|name| argv.contains(name));
    let set = signs
        .job
        .env
        .iter()
        .find(|(name, value)| name == "PYTHONTRACEMALLOC" && value != "0");
    // That it runs says nothing of what grows.
    let key = |says| {
        of_a_leak(
            signs,
            says,
            "what the job itself keeps grows under it too: the same job without it would tell",
        )
    };
    let key = match (named, set) {
        (Some(name), _) => key(format!("the job runs under {name}")),
        (_, Some((name, value))) => key(format!("{name}={value}")),
        _ => not("no profiler in the command"),
    };
    vec![key, goes_on(signs)]
}
