//! What was read of a process's loops at one moment, before anybody weighs it. Addresses are names: they tell one
//! object from another and are never followed here.

/// All of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Inside {
    pub trainers: Vec<TrainerSeen>,
    pub fits: Vec<FitSeen>,
    pub bars: Vec<BarSeen>,
    pub passes: Vec<PassSeen>,
    /// The largest models are in training mode; none where there is no model, or where some are and some are not.
    pub training: Option<bool>,
    /// torch is there, and whether anything in it optimizes.
    pub optimizes: Option<bool>,
    /// What counts the steps of optimizers; none where that could not be told.
    pub clocks: Option<Vec<ClockSeen>>,
    /// Lengths of the loaders that are known.
    pub loader_lengths: Vec<u64>,
}

/// A tensor of an optimizer: how often it was changed in place. All of them change with every step of their optimizer,
/// and with nothing else that a loop does again and again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClockSeen {
    pub optimizer: u64,
    pub address: u64,
    /// One change is one step, and there were none before the first. A parameter is changed when it is made or loaded, too,
    /// and once or twice in a step.
    pub is_exact: bool,
    /// Its optimizer is known to change it once a step.
    pub is_plain: bool,
    pub ticks: u64,
}

/// transformers' `TrainerState`, with the arguments of its Trainer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TrainerSeen {
    pub address: u64,
    pub step: u64,
    pub max_steps: u64,
    pub epoch: Option<f64>,
    /// How many epochs there are, as the arguments say it.
    pub epochs: Option<f64>,
    /// The arguments give the steps themselves: then the number of epochs is theirs in round numbers.
    pub by_steps: bool,
    pub batch: Option<u64>,
    pub accumulate: Option<u64>,
    pub examples: Option<u64>,
    /// Whether its model is in training mode.
    pub training: Option<bool>,
    /// Its trainer is between the beginning and the end of `train()`.
    pub in_train: bool,
}

/// Lightning's fit loop.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FitSeen {
    pub address: u64,
    pub step: u64,
    pub max_steps: Option<u64>,
    pub max_epochs: Option<u64>,
    /// Epochs done.
    pub epoch: u64,
    /// Batches in an epoch, and batches in a step.
    pub batches: Option<u64>,
    pub accumulate: Option<u64>,
    pub batch: Option<u64>,
    pub examples: Option<u64>,
    pub stage: Option<Stage>,
}

/// What Lightning's trainer is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    Train,
    /// Validation, its rehearsal, a test, a prediction.
    Other,
}

/// A tqdm bar that is open and shown.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BarSeen {
    pub address: u64,
    pub n: u64,
    pub initial: u64,
    pub total: Option<u64>,
    pub label: String,
    /// `it`, `B`, `epoch`.
    pub unit: String,
    /// When it began, by its own clock, in seconds.
    pub started: f64,
    /// What is shown of it: a bar that a loop goes through has shown all that it counts.
    pub shown: u64,
    /// It goes through a DataLoader.
    pub over_loader: bool,
    pub inside: Enclosing,
    /// A bar that is not shown is inside its loop.
    pub around_hidden: bool,
}

/// The loop around a counter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Enclosing {
    /// It could not be seen.
    #[default]
    Unknown,
    /// There is none.
    Nothing,
    /// `for i in range(...)`: the value that it is at, that at which it ends, and where it began if that is known.
    Range {
        value: i64,
        end: i64,
        start: Option<i64>,
    },
    /// A tqdm bar, by its address.
    Bar(u64),
    /// A loop over something else.
    Other,
}

/// A pass over a DataLoader that is under way.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PassSeen {
    /// Of the loader, which outlives the pass.
    pub loader: u64,
    /// Of the iterator: another one is another pass.
    pub iterator: u64,
    /// Batches that the loop has got.
    pub batches: u64,
    /// Of the loader.
    pub length: Option<u64>,
    pub examples: Option<u64>,
    pub batch: Option<u64>,
    /// Batches in a step, where accelerate says so.
    pub accumulate: Option<u64>,
    /// Passes done before, where the loader counts them.
    pub passes: Option<u64>,
    pub accelerated: bool,
    pub inside: Enclosing,
}
