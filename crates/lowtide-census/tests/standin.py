"""Holds what transformers' Trainer holds, with the standard library alone; a step for every line of input."""

import sys
import types

CLASSES = {
    "transformers.trainer_callback": "class TrainerState:\n def __init__(self, **kept): self.__dict__.update(kept)",
    "transformers.training_args": "class TrainingArguments: pass",
    "transformers.trainer": "class Trainer: pass",
}


def classes():
    for name, source in CLASSES.items():
        module = types.ModuleType(name)
        sys.modules[name] = module
        exec(compile(source, name, "exec"), module.__dict__)
        yield next(one for one in vars(module).values() if isinstance(one, type))


State, Arguments, Trainer = classes()
trainer, args = Trainer(), Arguments()
state = State(global_step=0, max_steps=1000, epoch=0.0, num_train_epochs=2)
args.gradient_accumulation_steps, args.per_device_train_batch_size = 2, 8
args.max_steps, args.num_train_epochs = -1, 2.0
trainer.state, trainer.args = state, args

if __name__ == "__main__":
    # What the test asks for first.
    exec(sys.argv[1] if len(sys.argv) > 1 else "")
    print("ready", flush=True)
    for line in sys.stdin:
        exec(line)
        state.global_step += 1
        print("ready", flush=True)
