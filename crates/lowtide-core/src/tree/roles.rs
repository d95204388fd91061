//! The role of a process, with the reason in words. Fed by `lowtide-sys` with what can be seen of
//! the process and its parent; the strongest evidence is asked first.

use super::program::{Program, is_python};
use crate::judge::words::with_article;
use crate::process::{Facts, Member, Role};

/// The relatives that a role depends on.
#[derive(Clone, Copy, Debug, Default)]
pub struct Kin<'a> {
    /// The parent, when it is in the tree too.
    pub parent: Option<(&'a Facts, Role)>,
    /// A process further down shows strong signs of training (libtorch, CUDA or a rank) and is no
    /// helper.
    pub trains_below: bool,
}

/// Programs that start another one and wait for it.
const LAUNCHERS: [&str; 52] = [
    // Python environments
    "uv",
    "uvx",
    "poetry",
    "conda",
    "mamba",
    "micromamba",
    "pipenv",
    "pdm",
    "hatch",
    "rye",
    "pixi",
    "pyenv", // distributed training
    "torchrun",
    "accelerate",
    "deepspeed",
    "composer",
    "colossalai",
    "fabric",
    "horovodrun",
    "lightning", // clusters
    "srun",
    "sbatch",
    "salloc",
    "slurmstepd",
    "mpirun",
    "mpiexec",
    "orterun",
    "prterun",
    "orted",
    "hydra_pmi_proxy",
    "mpiexec.hydra",
    "bsub",
    "qsub",
    // small helpers of the command line
    "nohup",
    "timeout",
    "env",
    "nice",
    "ionice",
    "numactl",
    "taskset",
    "time",
    "setsid",
    "stdbuf",
    "script",
    "sudo",
    "su",
    "xvfb-run", // first processes of containers
    "tini",
    "dumb-init",
    "catatonit",
    "docker-init",
    "lowtide",
];

const SHELLS: [&str; 8] = ["sh", "bash", "dash", "zsh", "ksh", "fish", "ash", "busybox"];

/// `python -m` names that start others. A sub-module counts too.
const LAUNCHER_MODULES: [&str; 6] = [
    "torch.distributed.run",
    "torch.distributed.launch",
    "accelerate.commands",
    "deepspeed.launcher",
    "horovod.runner",
    "colossalai.cli",
];

const LOGGERS: [&str; 9] = [
    "wandb-core",
    "wandb-service",
    "wandb",
    "gpu_stats",
    "tensorboard",
    "mlflow",
    "aim",
    "neptune",
    "comet",
];

/// What torch calls the main thread of a DataLoader worker.
const LOADER_THREAD: &str = "pt_data_worker";
const COMPILE_WORKER: [&str; 2] = [
    "torch/_inductor/compile_worker",
    "torch._inductor.compile_worker",
];

const STARTED_BY_TRAINER: &str = "a Python program started by the trainer";

/// Whether a process whose parent has ended keeps the role it had: its own facts do not tell what it is, a
/// fork looks like its parent. One that ran another program since is no fork any more.
pub(crate) fn outlives_parent(member: &Member) -> bool {
    let known = !member.why.is_empty();
    let Facts {
        libtorch, libcuda, ..
    } = member.facts;
    known && (member.facts.forked || (member.why == STARTED_BY_TRAINER && !libtorch && !libcuda))
}

/// Calls the role of a process.
pub fn call(facts: &Facts, kin: Kin<'_>) -> (Role, String) {
    let program = Program::of(&facts.argv);
    let said = |role: Role, why: &str| (role, why.to_owned());

    if let Some(called) = helper(facts, &program, kin) {
        return called;
    }
    if let Some(why) = launcher(&program) {
        return (Role::Launcher, why);
    }
    if facts.forked
        && let Some((parent, role)) = kin.parent
        && let Some(called) = forked(facts, parent, role)
    {
        return called;
    }

    let python = is_python(facts);
    let parent_trains = kin.parent.is_some_and(|(_, role)| role.trains());
    if python || facts.libtorch || facts.libcuda {
        if let Some((rank, world, from)) = rank(facts)
            && world > 1
            // A rank's own helpers inherit its environment.
            && !parent_trains
        {
            if kin.trains_below && !facts.libtorch && !facts.libcuda {
                return said(Role::Launcher, "starts a process that trains");
            }
            return (Role::Rank { rank, world }, format!("{from} says so"));
        }
        if facts.libcuda {
            return said(Role::Trainer, "CUDA in use");
        }
        if facts.libtorch {
            return said(Role::Trainer, "libtorch mapped");
        }
    }
    if python && kin.trains_below {
        return said(Role::Launcher, "starts a process that trains");
    }
    if python {
        let parent_is_torch = kin
            .parent
            .is_some_and(|(parent, role)| role.trains() && (parent.libtorch || parent.libcuda));
        if parent_is_torch {
            return said(Role::Other, STARTED_BY_TRAINER);
        }
        return said(Role::Trainer, "a Python program that nothing else explains");
    }
    said(Role::Other, "nothing says that it trains")
}

/// Helpers that tell by themselves what they are.
fn helper(facts: &Facts, program: &Program<'_>, kin: Kin<'_>) -> Option<(Role, String)> {
    let parent_role = kin.parent.map(|(_, role)| role);
    let argument = |needle: &str| facts.argv.iter().any(|argument| argument.contains(needle));
    let said = |role: Role, why: &str| Some((role, why.to_owned()));

    if COMPILE_WORKER.iter().any(|needle| argument(needle)) {
        return said(Role::CompileWorker, "runs torch's compile_worker");
    }
    if facts.forked && parent_role == Some(Role::CompileWorker) {
        return said(Role::CompileWorker, "forked by a compile worker");
    }
    if facts.comm == LOADER_THREAD || facts.threads.iter().any(|name| name == LOADER_THREAD) {
        return said(Role::LoaderWorker, "its thread is named pt_data_worker");
    }
    if let Program::Code(code) = program {
        if code.contains("multiprocessing.resource_tracker")
            || code.contains("multiprocessing.semaphore_tracker")
        {
            return said(
                Role::ResourceTracker,
                "runs multiprocessing.resource_tracker",
            );
        }
        if code.contains("multiprocessing.forkserver") {
            // The server's children keep its command line.
            return if parent_role == Some(Role::ResourceTracker) {
                said(
                    Role::LoaderWorker,
                    "started by multiprocessing's fork server",
                )
            } else {
                said(Role::ResourceTracker, "runs multiprocessing.forkserver")
            };
        }
        if code.contains("multiprocessing.spawn") {
            return if facts.libcuda {
                said(
                    Role::Trainer,
                    "started by multiprocessing.spawn, CUDA in use",
                )
            } else {
                said(Role::LoaderWorker, "started by multiprocessing.spawn")
            };
        }
    }
    let name = program.name();
    let is_logger = |known: &str| {
        name.strip_prefix(known)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '-']))
    };
    if let Some(known) = LOGGERS.into_iter().find(|known| is_logger(known)) {
        return Some((Role::Logger, format!("runs {known}")));
    }
    None
}

fn launcher(program: &Program<'_>) -> Option<String> {
    let name = program.name();
    match program {
        Program::Binary(_) if SHELLS.contains(&name) => Some(format!("a shell ({name})")),
        Program::Binary(_) | Program::Script(_) if LAUNCHERS.contains(&name) => {
            Some(format!("{name} starts other programs"))
        }
        Program::Module(_) => LAUNCHER_MODULES
            .iter()
            .find(|module| {
                name.strip_prefix(**module)
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
            })
            .map(|module| format!("python -m {module} starts other programs")),
        _ => None,
    }
}

/// A fork that never ran another program: what it is depends on who forked it.
fn forked(facts: &Facts, parent: &Facts, parent_role: Role) -> Option<(Role, String)> {
    // CUDA does not survive a fork: a child that uses it while its parent does not is a trainer.
    if facts.libcuda && !parent.libcuda {
        return Some((Role::Trainer, "forked, CUDA in use".to_owned()));
    }
    match parent_role {
        Role::Trainer | Role::Rank { .. } | Role::LoaderWorker => Some((
            Role::LoaderWorker,
            format!(
                "forked from {} without running another program",
                with_article(parent_role.name())
            ),
        )),
        Role::Launcher => Some((
            Role::Launcher,
            "forked from a launcher, has not run its program yet".to_owned(),
        )),
        Role::Logger => Some((Role::Logger, "forked from a logger".to_owned())),
        _ => None,
    }
}

/// Rank and number of ranks by the environment: torchrun, Slurm, MPI.
pub fn rank(facts: &Facts) -> Option<(u32, u32, &'static str)> {
    let number = |name: &str| -> Option<u32> {
        let (_, value) = facts.env.iter().find(|(known, _)| known == name)?;
        value.parse().ok()
    };
    let families = [
        ("RANK", "WORLD_SIZE"),
        ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
        ("PMI_RANK", "PMI_SIZE"),
        ("SLURM_PROCID", "SLURM_NTASKS"),
    ];
    families.into_iter().find_map(|(rank, world)| {
        let (rank_value, world_value) = (number(rank)?, number(world)?);
        (rank_value < world_value).then_some((rank_value, world_value, rank))
    })
}

/// Strong signs of training in a process that is no helper itself.
pub(crate) fn clearly_trains(facts: &Facts, role: Role) -> bool {
    role.trains() && (facts.libtorch || facts.libcuda || rank(facts).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(command: &str) -> Facts {
        let argv: Vec<String> = command.split(' ').map(str::to_owned).collect();
        Facts {
            comm: argv[0].clone(),
            argv,
            ..Facts::default()
        }
    }

    fn torch(command: &str) -> Facts {
        Facts {
            libtorch: true,
            ..facts(command)
        }
    }

    fn alone(facts: &Facts) -> Role {
        call(facts, Kin::default()).0
    }

    fn below(facts: &Facts, parent: &Facts, role: Role) -> Role {
        call(
            facts,
            Kin {
                parent: Some((parent, role)),
                trains_below: false,
            },
        )
        .0
    }

    #[test]
    fn launchers_are_known_by_name() {
        for command in [
            "uv run python train.py",
            "/env/bin/python3.11 /env/bin/torchrun --nproc-per-node 2 train.py",
            "/env/bin/python /env/bin/accelerate launch train.py",
            "python -m torch.distributed.run train.py",
            "python -m accelerate.commands.launch train.py",
            "srun python train.py",
            "mpirun -n 4 python train.py",
            "sh -c python_train",
            "/bin/bash train.sh",
            "nohup python train.py",
            "conda run -n env python train.py",
            "poetry run python train.py",
            "timeout 60 python train.py",
            "numactl --interleave=all python train.py",
            "time python train.py",
            "/usr/bin/tini -- python train.py",
        ] {
            assert_eq!(alone(&facts(command)), Role::Launcher, "{command}");
        }
        for command in [
            "python train.py",
            "python torchrunner.py",
            "python -m torch.distributed.runner",
            "python uvicorn.py",
        ] {
            assert_ne!(alone(&facts(command)), Role::Launcher, "{command}");
        }
    }

    #[test]
    fn a_launcher_stays_one_with_torch_and_a_rank() {
        let mut launcher = torch("python -m torch.distributed.run train.py");
        launcher.env = vec![
            ("RANK".into(), "0".into()),
            ("WORLD_SIZE".into(), "2".into()),
        ];
        assert_eq!(alone(&launcher), Role::Launcher);
    }

    #[test]
    fn helpers_are_told_from_the_trainer() {
        let trainer = torch("python train.py");
        let code = |code: &str| Facts {
            argv: vec!["python".into(), "-c".into(), code.into()],
            libtorch: true,
            ..Facts::default()
        };
        let compile = torch("python /env/torch/_inductor/compile_worker/__main__.py --workers=32");
        assert_eq!(
            below(&compile, &trainer, Role::Trainer),
            Role::CompileWorker
        );
        let pool = Facts {
            forked: true,
            ..compile.clone()
        };
        assert_eq!(
            below(&pool, &compile, Role::CompileWorker),
            Role::CompileWorker
        );
        let worker = Facts {
            forked: true,
            ..trainer.clone()
        };
        assert_eq!(below(&worker, &trainer, Role::Trainer), Role::LoaderWorker);
        let named = Facts {
            comm: LOADER_THREAD.into(),
            ..torch("python train.py")
        };
        assert_eq!(alone(&named), Role::LoaderWorker);
        let tracker = code("from multiprocessing.resource_tracker import main;main(9)");
        assert_eq!(
            below(&tracker, &trainer, Role::Trainer),
            Role::ResourceTracker
        );
        let spawned =
            code("from multiprocessing.spawn import spawn_main; spawn_main(tracker_fd=7)");
        assert_eq!(below(&spawned, &trainer, Role::Trainer), Role::LoaderWorker);
        let server = code("from multiprocessing.forkserver import main; main(3, 4)");
        assert_eq!(
            below(&server, &trainer, Role::Trainer),
            Role::ResourceTracker
        );
        assert_eq!(
            below(&server, &server, Role::ResourceTracker),
            Role::LoaderWorker
        );
        assert_eq!(
            below(
                &facts("/env/bin/wandb-core --port x"),
                &trainer,
                Role::Trainer
            ),
            Role::Logger
        );
        assert_eq!(
            below(&facts("python tool.py"), &trainer, Role::Trainer),
            Role::Other
        );
        assert_eq!(
            below(&facts("nvidia-smi"), &trainer, Role::Trainer),
            Role::Other
        );
    }

    #[test]
    fn ranks_come_from_the_environment_but_not_to_helpers() {
        let env = |pairs: &[(&str, &str)]| -> Vec<(String, String)> {
            pairs
                .iter()
                .map(|(n, v)| ((*n).to_owned(), (*v).to_owned()))
                .collect()
        };
        let two = Role::Rank { rank: 1, world: 2 };
        for pairs in [
            [("RANK", "1"), ("WORLD_SIZE", "2")],
            [("SLURM_PROCID", "1"), ("SLURM_NTASKS", "2")],
            [("OMPI_COMM_WORLD_RANK", "1"), ("OMPI_COMM_WORLD_SIZE", "2")],
            [("PMI_RANK", "1"), ("PMI_SIZE", "2")],
        ] {
            let rank = Facts {
                env: env(&pairs),
                ..facts("python train.py")
            };
            assert_eq!(alone(&rank), two);
            let helper = Facts {
                env: env(&pairs),
                ..facts("python tool.py")
            };
            assert_ne!(below(&helper, &rank, two), two);
            let worker = Facts {
                forked: true,
                ..rank.clone()
            };
            assert_eq!(below(&worker, &rank, two), Role::LoaderWorker);
        }
        let alone_in_world = Facts {
            env: env(&[("RANK", "0"), ("WORLD_SIZE", "1")]),
            ..facts("python train.py")
        };
        assert_eq!(alone(&alone_in_world), Role::Trainer);
    }

    #[test]
    fn a_python_wrapper_is_a_launcher_once_a_trainer_is_below() {
        let wrapper = facts("python launch_everything.py");
        assert_eq!(alone(&wrapper), Role::Trainer);
        let kin = Kin {
            parent: None,
            trains_below: true,
        };
        assert_eq!(call(&wrapper, kin).0, Role::Launcher);
        // A trainer with libtorch stays one even when something below trains too.
        assert_eq!(call(&torch("python train.py"), kin).0, Role::Trainer);
    }
}
