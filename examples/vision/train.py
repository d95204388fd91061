"""Fine-tune a small vision-language model with LoRA, as a team would write it.

    python train.py                              # tiny model, synthetic pictures, no download
    python train.py --model Qwen/checkpoint --data folder
    python train.py --images kept --epochs 3     # the founding bug
    python train.py --leak list                  # a leak of a known size

It watches its own memory through lowtide's callback; `--no-callback` leaves that out.
"""

import argparse
import ctypes
import hashlib
import os
import shutil
import sys
from pathlib import Path

os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
sys.path.insert(0, str(Path(__file__).resolve().parent))

import numpy as np  # noqa: E402
import torch  # noqa: E402
from transformers import TrainerCallback, TrainingArguments, set_seed  # noqa: E402
from transformers.trainer_utils import get_last_checkpoint  # noqa: E402

import collate  # noqa: E402
import data  # noqa: E402
import leaks  # noqa: E402
import model as models  # noqa: E402


# From malloc.h, and glibc's own first value.
M_MMAP_THRESHOLD, MMAP_THRESHOLD = -3, 128 * 1024


def options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", default="tiny", help="path of a checkpoint, or tiny")
    parser.add_argument("--data", default="synthetic", help="folder with annotations.jsonl, or synthetic")
    parser.add_argument("--examples", type=int, default=96)
    parser.add_argument("--eval-examples", type=int, default=96)
    parser.add_argument("--image-size", type=int, default=512, help="side of the stored pictures, in pixels")
    parser.add_argument("--images", choices=("on-demand", "kept"), default="on-demand")
    parser.add_argument("--epochs", type=float, default=2)
    parser.add_argument("--steps", type=int, default=-1, help="instead of --epochs")
    parser.add_argument("--batch", type=int, default=2)
    parser.add_argument("--accumulate", type=int, default=2)
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--eval-every", type=int, default=0, help="steps; 0: never")
    parser.add_argument("--save-every", type=int, default=0, help="steps; 0: never")
    parser.add_argument("--out", default="out")
    parser.add_argument("--resume", nargs="?", const=True, default=None, metavar="CHECKPOINT")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument(
        "--allocator",
        choices=("steady", "default"),
        help="steady (the default but with --leak graph): large blocks go back to the system when freed",
    )
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--leak", choices=leaks.NAMES)
    parser.add_argument("--no-callback", action="store_true")
    parser.add_argument("--every", type=int, default=10, help="steps between two lines of the callback")
    parser.add_argument("--trace", metavar="FILE", help="append a line for each optimizer step, and one for the final weights")
    return parser.parse_args()


def steady_allocator():
    """Keep glibc's limit for blocks of their own at its first value.

    Otherwise glibc raises it up to 32 MB as large blocks are freed; tensors then live in the heap,
    and those that stay keep the free memory between them from going back.
    """
    libc = ctypes.CDLL(None)
    if hasattr(libc, "mallopt"):
        libc.mallopt(M_MMAP_THRESHOLD, MMAP_THRESHOLD)


def datasets(chosen):
    """(training, evaluation). The evaluation's pictures are always decoded on demand."""
    if chosen.data == "synthetic":
        table = data.synthetic(chosen.examples, chosen.image_size)
        held_out = data.synthetic(chosen.eval_examples, chosen.image_size, first=chosen.examples)
    else:
        whole = data.from_folder(chosen.data)
        split = whole.train_test_split(test_size=0.1, seed=chosen.seed)
        table, held_out = split["train"], split["test"]
    if chosen.images == "kept":
        training = data.Kept(table)
    elif chosen.leak == "worker":
        training = leaks.LeakyWorkerData(table)
    else:
        training = data.OnDemand(table)
    return training, data.OnDemand(held_out)


def arguments(chosen, gpu):
    every = {"eval": chosen.eval_every, "save": chosen.save_every}
    return TrainingArguments(
        output_dir=chosen.out,
        num_train_epochs=chosen.epochs,
        max_steps=chosen.steps,
        per_device_train_batch_size=chosen.batch,
        per_device_eval_batch_size=8,
        gradient_accumulation_steps=chosen.accumulate,
        learning_rate=2e-4,
        logging_steps=1 if chosen.leak == "log-history" else 5,
        eval_strategy="steps" if every["eval"] else "no",
        eval_steps=every["eval"] or None,
        save_strategy="steps" if every["save"] else "no",
        save_steps=every["save"] or 500,
        save_total_limit=2,
        dataloader_num_workers=chosen.workers,
        dataloader_persistent_workers=chosen.workers > 0,
        dataloader_pin_memory=gpu,
        gradient_checkpointing=gpu,
        bf16=gpu,
        use_cpu=not gpu,
        torch_compile=chosen.compile,
        torch_compile_backend=None if not chosen.compile else "inductor" if _has_compiler() else "aot_eager",
        remove_unused_columns=False,
        label_names=["labels"],
        report_to=[],
        seed=chosen.seed,
        data_seed=chosen.seed,
    )


def accuracy(predictions):
    """The share of the answers' tokens that the model gets right."""
    guessed = predictions.predictions[:, :-1].argmax(-1)
    wanted = predictions.label_ids[:, 1:]
    counted = wanted != collate.IGNORED
    return {"accuracy": float(np.mean(guessed[counted] == wanted[counted]))}


def callbacks(chosen, count):
    found = []
    if not chosen.no_callback:
        from lowtide.hf import LowtideCallback

        # These runs take a minute: within 1 % of that tensors would hardly be counted twice.
        found.append(LowtideCallback(every=chosen.every, count=0.05))
    if chosen.leak in ("native", "log-history", "recompile"):
        found.append(leaks.StepLeak(chosen.leak, count))
    if chosen.trace:
        found.append(Trace(chosen.trace))
    return found


class Trace(TrainerCallback):
    """Which optimizer steps were done and where they led: shows that a resumed run is the same run."""

    def __init__(self, path):
        self.path = path

    def on_step_end(self, args, state, control, **kwargs):
        if state.is_world_process_zero:
            self.say("step %d" % state.global_step)

    def on_train_end(self, args, state, control, model=None, **kwargs):
        if state.is_world_process_zero and state.global_step >= state.max_steps:
            digest = hashlib.sha256()
            for name, weight in sorted(model.named_parameters()):
                digest.update(name.removeprefix("module.").encode())
                digest.update(weight.detach().cpu().contiguous().numpy().tobytes())
            self.say("weights %s" % digest.hexdigest())

    def say(self, line):
        with open(self.path, "a") as file:
            file.write(line + "\n")


def checkpoint(chosen):
    """What to resume from: the one that was named, or the newest that is complete, or nothing."""
    if chosen.resume is None:
        return None
    if chosen.resume is not True:
        return chosen.resume
    last = get_last_checkpoint(chosen.out) if os.path.isdir(chosen.out) else None
    # The Trainer writes its state last: without it, the checkpoint was cut off.
    if last is None or not os.path.exists(os.path.join(last, "trainer_state.json")):
        print("resume: no complete checkpoint in %s, starting at step 0" % chosen.out, flush=True)
        return None
    return last


def main():
    chosen = options()
    if chosen.leak == "worker" and chosen.workers == 0:
        chosen.workers = 1
    if chosen.allocator is None:
        # What a kept graph costs is mostly free memory that the allocator cannot give back: left
        # alone, it shows.
        chosen.allocator = "default" if chosen.leak == "graph" else "steady"
    if chosen.allocator == "steady":
        steady_allocator()
    gpu = torch.cuda.is_available()
    torch.set_num_threads(chosen.threads)
    set_seed(chosen.seed)
    training, evaluation = datasets(chosen)
    model, processor = models.load(chosen.model, gpu)
    settings = arguments(chosen, gpu)
    tell(chosen, settings, training, model)
    count = leaks.Count()
    collator = leaks.LeakyCollator(processor, count) if chosen.leak == "collator" else collate.Collator(processor)
    trainer = leaks.LeakyTrainer(
        model,
        settings,
        leak=chosen.leak,
        count=count,
        data_collator=collator,
        train_dataset=training,
        eval_dataset=evaluation if chosen.eval_every else None,
        compute_metrics=accuracy,
        callbacks=callbacks(chosen, count),
    )
    resume = checkpoint(chosen)
    before = _step_of(resume)
    trainer.train(resume_from_checkpoint=resume, ignore_keys_for_eval=["past_key_values", "rope_deltas"])
    tell_end(chosen, trainer.state.global_step - before, count)
    if torch.distributed.is_initialized():
        # Its threads have to end before the interpreter does: else a rank aborts now and then after its last step.
        torch.distributed.destroy_process_group()


def tell(chosen, settings, training, model):
    trained = sum(p.numel() for p in model.parameters() if p.requires_grad)
    print("model: %s, %.1f M weights, %.2f M trained" % (
        chosen.model, sum(p.numel() for p in model.parameters()) / 1e6, trained / 1e6))
    print("memory: pictures %s, %d workers, pinned %s, KV cache off, gradient checkpointing %s, compile %s, allocator %s" % (
        chosen.images, chosen.workers, settings.dataloader_pin_memory, settings.gradient_checkpointing,
        settings.torch_compile_backend or "off", chosen.allocator))
    print("data: %d examples, %d x %d = %d a step" % (
        len(training), chosen.batch, chosen.accumulate, chosen.batch * chosen.accumulate))
    if chosen.images == "kept":
        print("kept: each picture takes {:,} bytes once decoded, {:,} in all".format(
            training.decoded_bytes(), training.decoded_bytes() * len(training)))
    sys.stdout.flush()


def tell_end(chosen, steps, count):
    print("done: %d steps" % steps)
    if chosen.leak == "worker":
        # Counted in the workers, where this process cannot look: each example is read once.
        count.add(leaks.WORKER_BYTES * chosen.batch * chosen.accumulate * steps)
    if count.bytes and steps:
        print("leaked {:,} bytes in each of {} steps".format(count.bytes // steps, steps))
    elif chosen.leak:
        print("leaked an amount that is not known beforehand in each of %d steps" % steps)
    sys.stdout.flush()


def _has_compiler():
    return any(shutil.which(name) for name in ("cc", "gcc", "clang"))


def _step_of(resume):
    return int(str(resume).rstrip("/").rsplit("-", 1)[-1]) if resume else 0


if __name__ == "__main__":
    main()
