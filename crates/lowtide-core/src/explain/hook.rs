//! What the Python package would show from inside a loop, named as it is written in this one. Each loop is hooked
//! into in its own way: Lightning refuses callbacks made for Trainer, and a loop written by hand takes none.

use crate::mark::TrainingLoop;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hook {
    /// Tells steps.
    Steps,
    /// Tells evaluations and saves.
    Phases,
    /// Counts tensors, objects and examples, and reads torch's own counters.
    Counts,
    /// Names lines of code whose objects stay.
    Lines,
    /// Calls the garbage collector, and says what that freed.
    Collects,
    /// Has malloc give back what is free, and says what that was.
    Trims,
}

impl Hook {
    /// As it is written in this loop; where it is not known whose that is, in a way that fits any.
    pub(crate) fn in_words(self, training_loop: Option<TrainingLoop>) -> &'static str {
        use TrainingLoop::{Lightning, Plain, Trainer};
        match (self, training_loop) {
            (Hook::Steps | Hook::Phases | Hook::Counts, Some(Trainer)) => {
                "lowtide.hf.LowtideCallback()"
            }
            (Hook::Steps | Hook::Phases | Hook::Counts, Some(Lightning)) => {
                "lowtide.lightning.LowtideCallback()"
            }
            (Hook::Steps, _) => "lowtide.mark(step=step)",
            (Hook::Phases, _) => "`with lowtide.phase(\"eval\"):` or (\"save\")",
            (Hook::Counts, Some(Plain)) => "lowtide.torch.Loop(model, optimizer, loader)",
            (Hook::Counts, None) => "the hook of lowtide.hf, lowtide.lightning or lowtide.torch",
            (Hook::Lines, Some(Trainer)) => {
                "lowtide.hf.LowtideCallback(tracemalloc=Window(20, 40))"
            }
            (Hook::Lines, Some(Lightning)) => {
                "lowtide.lightning.LowtideCallback(tracemalloc=Window(20, 40))"
            }
            (Hook::Lines, _) => {
                "window = lowtide.tracemalloc.Window(20, 40) and window.step(step) in the loop"
            }
            (Hook::Collects, Some(Trainer)) => {
                "callbacks=[lowtide.cleanup.MemoryCleanup(every=10, trim=False)]"
            }
            // It is a callback for Trainer only.
            (Hook::Collects, Some(Lightning)) => {
                "self.cleanup = lowtide.cleanup.MemoryCleanup(every=10, trim=False) and self.cleanup.step(self.global_step) in on_train_batch_end"
            }
            (Hook::Collects, _) => {
                "cleanup = lowtide.cleanup.MemoryCleanup(every=10, trim=False) and cleanup.step(step) in the loop"
            }
            (Hook::Trims, Some(Trainer)) => {
                "callbacks=[lowtide.cleanup.MemoryCleanup(every=10, gc=False)]"
            }
            (Hook::Trims, Some(Lightning)) => {
                "self.cleanup = lowtide.cleanup.MemoryCleanup(every=10, gc=False) and self.cleanup.step(self.global_step) in on_train_batch_end"
            }
            (Hook::Trims, _) => {
                "cleanup = lowtide.cleanup.MemoryCleanup(every=10, gc=False) and cleanup.step(step) in the loop"
            }
        }
    }

    /// The callback that does it, where the loop takes callbacks and there is one for it.
    pub(crate) fn callback(self, training_loop: Option<TrainingLoop>) -> Option<&'static str> {
        let words = self.in_words(training_loop);
        match (self, training_loop?) {
            (_, TrainingLoop::Plain) | (Hook::Collects | Hook::Trims, TrainingLoop::Lightning) => {
                None
            }
            (Hook::Collects | Hook::Trims, TrainingLoop::Trainer) => {
                words.strip_prefix("callbacks=[")?.strip_suffix(']')
            }
            _ => Some(words),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use TrainingLoop::{Lightning, Plain, Trainer};

    const ALL: [Hook; 6] = [
        Hook::Steps,
        Hook::Phases,
        Hook::Counts,
        Hook::Lines,
        Hook::Collects,
        Hook::Trims,
    ];

    #[test]
    fn no_loop_is_told_to_take_the_hook_of_another() {
        for hook in ALL {
            let trainer = hook.in_words(Some(Trainer));
            assert!(!trainer.contains("lightning") && !trainer.contains("torch."));
            let lightning = hook.in_words(Some(Lightning));
            assert!(!lightning.contains("hf.") && !lightning.contains("callbacks=["));
            for known in [Some(Plain), None] {
                let any = hook.in_words(known);
                assert!(!any.contains("LowtideCallback") && !any.contains("callbacks=["));
            }
        }
    }

    #[test]
    fn a_callback_is_named_only_to_a_loop_that_takes_it() {
        for hook in ALL {
            let trainer = hook.callback(Some(Trainer)).unwrap();
            assert!(trainer.starts_with("lowtide.") && trainer.ends_with(')'));
            assert_eq!(
                (hook.callback(Some(Plain)), hook.callback(None)),
                (None, None)
            );
        }
        assert_eq!(Hook::Collects.callback(Some(Lightning)), None);
        assert_eq!(
            Hook::Counts.callback(Some(Lightning)),
            Some("lowtide.lightning.LowtideCallback()")
        );
    }
}
