//! Training loops' state, as the libraries keep it.

use super::World;

/// What is where, for tests that damage it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Loops {
    pub trainer: u64,
    pub state: u64,
    /// `state.global_step`, a number.
    pub step: u64,
    pub fit: u64,
    pub bars: u64,
    pub bar: u64,
    pub loader: u64,
    pub model: u64,
    /// The class of `state`.
    pub state_class: u64,
}

pub(crate) const STEP: u64 = 40;
pub(crate) const MAX_STEPS: u64 = 100;

impl World {
    /// All of them.
    pub(crate) fn loops(&mut self) -> Loops {
        let mut loops = Loops::default();
        self.model(&mut loops);
        self.trainer(&mut loops);
        self.loader(&mut loops);
        self.bars(&mut loops);
        self.fit(&mut loops);
        loops
    }

    fn model(&mut self, loops: &mut Loops) {
        let class = self.class("Module", "torch.nn.modules.module", &[]);
        let optimizers = self.class("Optimizer", "torch.optim.optimizer", &[]);
        let training = self.bool(true);
        let empty = self.dict(&[]);
        let part = self.object(class, &[("training", training), ("_modules", empty)]);
        let parts = self.dict(&[("inner", part)]);
        let linear = self.class("Model", "__main__", &[class]);
        loops.model = self.object(linear, &[("training", training), ("_modules", parts)]);
        let groups = self.list(&[]);
        self.object(optimizers, &[("param_groups", groups)]);
    }

    fn trainer(&mut self, loops: &mut Loops) {
        loops.state_class = self.class("TrainerState", "transformers.trainer_callback", &[]);
        loops.step = self.int(STEP as i64);
        let (most, epochs) = (self.int(MAX_STEPS as i64), self.int(3));
        let (epoch, none) = (self.float(1.25), self.none());
        loops.state = self.object(
            loops.state_class,
            &[
                ("epoch", epoch),
                ("global_step", loops.step),
                ("max_steps", most),
                ("trial_name", none),
                ("num_train_epochs", epochs),
            ],
        );
        let args = self.class("TrainingArguments", "transformers.training_args", &[]);
        let (batch, by_steps, accumulate) = (self.int(8), self.int(-1), self.int(2));
        let epochs = self.float(3.0);
        let args = self.object(
            args,
            &[
                ("per_device_train_batch_size", batch),
                ("max_steps", by_steps),
                ("num_train_epochs", epochs),
                ("gradient_accumulation_steps", accumulate),
            ],
        );
        let base = self.class("Trainer", "transformers.trainer", &[]);
        let class = self.class("MyTrainer", "__main__", &[base]);
        let (dataset, in_train) = (self.range(640), self.bool(true));
        let model = loops.model;
        loops.trainer = self.object(
            class,
            &[
                ("args", args),
                ("is_in_train", in_train),
                ("model", model),
                ("state", loops.state),
                ("train_dataset", dataset),
            ],
        );
    }

    fn loader(&mut self, loops: &mut Loops) {
        let module = "torch.utils.data.sampler";
        let sampler = self.class("RandomSampler", module, &[]);
        let batches = self.class("BatchSampler", module, &[]);
        let class = self.class("DataLoader", "torch.utils.data.dataloader", &[]);
        let (dataset, none) = (self.range(1001), self.none());
        let sampler = self.object(sampler, &[("data_source", dataset), ("_num_samples", none)]);
        let (size, drop) = (self.int(20), self.bool(false));
        let batches = self.object(
            batches,
            &[
                ("sampler", sampler),
                ("batch_size", size),
                ("drop_last", drop),
            ],
        );
        loops.loader = self.object(class, &[("dataset", dataset), ("batch_sampler", batches)]);
    }

    fn bars(&mut self, loops: &mut Loops) {
        let weak = self.class("WeakSet", "_weakrefset", &[]);
        let empty = self.weak_set(&[]);
        let set = self.object(weak, &[("data", empty)]);
        loops.bars = self.class_with("tqdm", "tqdm.std", &[], &[("_instances", set)]);
        let (zero, n, total) = (self.int(0), self.int(7), self.int(51));
        let (desc, unit) = (self.text("train"), self.text("it"));
        let (started, shown) = (self.float(1_700_000_000.5), self.bool(false));
        loops.bar = self.object(
            loops.bars,
            &[
                ("iterable", loops.loader),
                ("desc", desc),
                ("total", total),
                ("unit", unit),
                ("initial", zero),
                ("n", n),
                ("last_print_n", n),
                ("disable", shown),
                ("start_t", started),
            ],
        );
        let held = self.weak_set(&[loops.bar]);
        // The set that the class holds gets another table than it began with.
        let words: Vec<u64> = (16..48).step_by(8).map(|at| self.at(held + at)).collect();
        self.words(empty + 16, &words);
    }

    fn at(&self, address: u64) -> u64 {
        let at = (address - super::BASE) as usize;
        u64::from_le_bytes(*self.bytes[at..].first_chunk().expect("a word"))
    }

    fn fit(&mut self, loops: &mut Loops) {
        let place = "lightning.pytorch.loops";
        let chain = |world: &mut World, names: &[&str], value: u64| {
            names.iter().rev().fold(value, |value, name| {
                let class = world.class("Progress", place, &[]);
                world.object(class, &[(name, value)])
            })
        };
        let (steps, nothing, most) = (self.int(30), self.int(0), self.int(-1));
        let automatic = chain(
            self,
            &["optim_progress", "optimizer", "step", "total", "completed"],
            steps,
        );
        let manual = chain(
            self,
            &["optim_step_progress", "total", "completed"],
            nothing,
        );
        let epoch = self.int(2);
        let progress = chain(self, &["current", "processed"], epoch);
        let combined = chain(self, &["_iterables"], loops.loader);
        let epoch_loop = self.class("_TrainingEpochLoop", place, &[]);
        let epoch_loop = self.object(
            epoch_loop,
            &[
                ("automatic_optimization", automatic),
                ("manual_optimization", manual),
                ("max_steps", most),
            ],
        );
        let fit_loop = self.class("_FitLoop", place, &[]);
        let (batches, epochs) = (self.int(51), self.int(4));
        loops.fit = self.object(
            fit_loop,
            &[
                ("epoch_loop", epoch_loop),
                ("epoch_progress", progress),
                ("max_batches", batches),
                ("max_epochs", epochs),
                ("_combined_loader", combined),
            ],
        );
        let stage = self.text("train");
        let state = chain(self, &["stage", "_value_"], stage);
        let trainer = self.class("Trainer", "lightning.pytorch.trainer.trainer", &[]);
        let one = self.int(1);
        self.object(
            trainer,
            &[
                ("accumulate_grad_batches", one),
                ("fit_loop", loops.fit),
                ("state", state),
            ],
        );
    }
}
