"""The callbacks in real training loops: Trainer, accelerate, Lightning, plain PyTorch."""

import gc
import json

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from lowtide import _link, _marks, _tensors, _warn  # noqa: E402
from lowtide.cleanup import MemoryCleanup  # noqa: E402
from lowtide.hf import LowtideCallback  # noqa: E402
from transformers import Trainer, TrainerCallback, TrainingArguments  # noqa: E402

EXAMPLES, BATCH, ACCUMULATE, EPOCHS = 50, 2, 4, 3
EPOCH_STEPS = 7  # 25 batches in groups of 4
# These runs are over in a blink: with 1 % of that nothing would be counted.
ALWAYS = 1e9


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(8, 2)

    def forward(self, x=None, labels=None):
        logits = self.layer(x)
        return {"loss": torch.nn.functional.cross_entropy(logits, labels), "logits": logits}


class Data(torch.utils.data.Dataset):
    def __init__(self, count=EXAMPLES):
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        return {"x": torch.full((8,), float(index)), "labels": torch.tensor(index % 2)}


@pytest.fixture(autouse=True)
def one_thread():
    torch.set_num_threads(1)
    _warn._said.clear()


@pytest.fixture
def watched(watched, monkeypatch):
    """Nothing is left out: these loops do a step a millisecond, which is more than is sent, and more than ten datagrams
    may wait for a reader that shares our interpreter's lock. What is dropped then, test_package.py tells."""
    monkeypatch.setattr(_marks, "MIN_GAP_S", 0.0)
    monkeypatch.setattr(_link.socket, "MSG_DONTWAIT", 0)
    return watched


def trainer(tmp_path, callbacks, **options):
    settings = {
        "per_device_train_batch_size": BATCH,
        "gradient_accumulation_steps": ACCUMULATE,
        "num_train_epochs": EPOCHS,
        "logging_steps": 5,
        "report_to": [],
        "use_cpu": True,
        "save_strategy": "no",
        "disable_tqdm": True,
        **options,
    }
    arguments = TrainingArguments(str(tmp_path / "out"), **settings)
    return Trainer(Net(), arguments, train_dataset=Data(), eval_dataset=Data(10), callbacks=callbacks)


def marks(watcher):
    return [m for m in watcher.received() if m.get("kind", "mark") == "mark"]


def test_the_trainer_tells_steps_phases_and_geometry(tmp_path, watched, capsys):
    options = {"eval_strategy": "steps", "eval_steps": 5, "save_strategy": "steps", "save_steps": 10}
    trainer(tmp_path, [LowtideCallback(every=5)], **options).train()
    got = watched.received()
    first, last = got[0], got[-1]
    assert first["geometry"] == {
        "examples": EXAMPLES, "batch": BATCH, "accumulate": ACCUMULATE, "world": 1, "epoch_steps": EPOCH_STEPS,
    }
    assert first["total_steps"] == EPOCHS * EPOCH_STEPS and first["step"] == 0
    assert (last["step"], last["phase"], last["examples"]) == (EPOCHS * EPOCH_STEPS, "end", EPOCHS * EXAMPLES)
    assert last["epoch"] == pytest.approx(EPOCHS)
    assert {m["loop"] for m in got} == {"trainer"}
    steps = [m["step"] for m in got]
    assert steps == sorted(steps) and set(steps) == set(range(EPOCHS * EPOCH_STEPS + 1))
    phases = [(m["step"], m["phase"]) for m in got]
    for step in (5, 10, 15, 20):
        assert (step, "eval") in phases
    order = [phase for step, phase in phases if step == 10]
    assert order.index("eval") < order.index("save") and order[-1] == "train"
    assert {step for step, phase in phases if phase == "save"} >= {10, 20}
    text = capsys.readouterr().err
    assert "begin: host" in text and "50 examples, 7 steps an epoch" in text
    assert "step 5/21 (epoch" in text and "sizing: needed" in text and "its own cost" in text


def test_each_line_is_a_record_and_each_count_a_look(tmp_path, watched):
    trainer(tmp_path, [LowtideCallback(every=5, count=ALWAYS, lines=False)]).train()
    received = watched.received()
    records = [m["record"] for m in received if m.get("kind") == "record"]
    lines = [r for r in records if r["moment"] == "step"]
    assert len(lines) == 4
    assert lines[0]["host"]["anon"] > 1_000_000 and set(lines[0]["gc"]) == {"young", "middle", "old"}
    looks = [m["look"] for m in received if m.get("kind") == "look"]
    assert len(looks) == 5 and looks[0]["why"] == "start" and looks[0]["held"] > 1_000_000
    for look in looks:
        by = {b["by"]: b for b in look["breakdowns"]}
        (cpu,) = [part for part in by["device"]["parts"] if part["name"] == "cpu"]
        tensors = sum(part["count"] for part in by["tensor-group"]["parts"]) + by["tensor-group"].get("rest", {}).get("count", 0)
        assert tensors >= cpu["count"] > 0 and "held" not in cpu
        assert ("python-type" in by) == (look in (looks[0], looks[-1]))
    types = by["python-type"]
    assert len(types["parts"]) == 100 and types["rest"]["parts"] > 0
    assert look["tracked"] >= sum(part["count"] for part in types["parts"])
    assert all(len(json.dumps(look)) < 24_000 for look in looks)
    begin = next(r for r in records if r["moment"] == "begin")
    weights = (8 * 2 + 2) * 4
    assert begin["needs"] == {"parameters_cpu": weights, "gradients_cpu": weights, "optimizer_cpu": 2 * weights}
    end = next(r for r in records if r["moment"] == "end")
    sizing = end["sizing"]
    assert sizing["recommended"] == sizing["peak"] + sizing["checkpoint"] + sizing["reserve"]
    assert all(len(json.dumps(r)) < 32_000 for r in records)


def test_views_share_a_storage():
    before = _tensors.count()
    base = torch.zeros(1000, 1000)
    views = [base[i] for i in range(10)]
    after = _tensors.count()
    assert after.tensors["cpu"] - before.tensors["cpu"] == 11
    assert after.storages["cpu"] - before.storages["cpu"] == 1
    assert after.bytes["cpu"] - before.bytes["cpu"] == 4_000_000
    del views


def test_the_end_names_what_grew(tmp_path, watched, capsys):
    kept = []

    class Leak(TrainerCallback):
        def on_step_end(self, args, state, control, **kwargs):
            kept.append(torch.zeros(250, 1000))

    trainer(tmp_path, [LowtideCallback(every=5, count=ALWAYS), Leak()]).train()
    text = capsys.readouterr().err
    assert "grew: tensors cpu float32[250x1000]" in text


def test_the_guard_makes_a_checkpoint_at_the_named_step(tmp_path, watched, capsys):
    watched.write_page(request=1, stop_at=4)
    job = trainer(tmp_path, [LowtideCallback(every=0)])
    job.train()
    assert job.state.global_step == 4
    assert (tmp_path / "out" / "checkpoint-4" / "trainer_state.json").exists()
    notes = [m["text"] for m in watched.received() if m.get("kind") == "note"]
    assert notes == ["checkpoint at step 4, as the guard asked"]
    # The restarted attempt goes on from there.
    watched.write_page(request=0)
    again = trainer(tmp_path, [LowtideCallback(every=0)])
    again.train(resume_from_checkpoint=True)
    steps = {m["step"] for m in marks(watched)}
    assert steps == set(range(4, 22)) and again.state.global_step == 21


def test_a_callback_added_twice_speaks_once(tmp_path, watched, capsys):
    same = LowtideCallback(every=7)
    trainer(tmp_path, [same, same, LowtideCallback(every=7)]).train()
    text = capsys.readouterr().err
    assert text.count("added twice") == 1
    assert text.count("lowtide: step 7/21") == 1 and text.count("sizing: needed") == 1


def test_the_watcher_killed_in_the_middle(tmp_path, watched, capsys):
    class Kill(TrainerCallback):
        def on_step_end(self, args, state, control, **kwargs):
            if state.global_step == 3:
                watched.close()

    job = trainer(tmp_path, [LowtideCallback(every=5), Kill()])
    job.train()
    assert job.state.global_step == 21
    assert "failed" not in capsys.readouterr().err


def test_an_error_in_the_callback_is_said_once(tmp_path, watched, capsys, monkeypatch):
    monkeypatch.setattr(_tensors, "count", lambda *_: 1 / 0)
    job = trainer(tmp_path, [LowtideCallback(every=1, count=ALWAYS)])
    job.train()
    assert job.state.global_step == 21
    assert capsys.readouterr().err.count("on_step_end failed and is skipped") == 1


def test_it_is_quiet_unless_asked(tmp_path, watched, capsys):
    trainer(tmp_path, [LowtideCallback()]).train()
    text = capsys.readouterr().err
    assert [line.split()[1] for line in text.splitlines() if line.startswith("lowtide: ")] == ["begin:", "end:"], text
    records = [m["record"]["moment"] for m in watched.received() if m.get("kind") == "record"]
    assert records[0] == "begin" and records[-1] == "end"


def test_what_changed_gets_a_line(tmp_path, watched, capsys):
    kept = []

    class Rise(TrainerCallback):
        def on_step_end(self, args, state, control, **kwargs):
            if state.global_step == 15:
                kept.append(torch.ones(400_000_000 // 4))

    # Room for each reading, however short the run is.
    trainer(tmp_path, [Rise(), LowtideCallback(count=ALWAYS)]).train()
    text = capsys.readouterr().err
    (line,) = [line for line in text.splitlines() if line.startswith("lowtide: step")]
    assert line.startswith("lowtide: step 20/21 (epoch ") and " MB since step 0" in line, line


def gradients(model):
    return [p.grad for p in model.parameters()]


def test_cleanup_drops_gradients_that_were_used(tmp_path, watched):
    seen = []

    class Look(TrainerCallback):
        def on_optimizer_step(self, args, state, control, model=None, **kwargs):
            seen.append((state.global_step + 1, [g is None for g in gradients(model)]))

    def run(callbacks):
        transformers.set_seed(7)
        job = trainer(tmp_path, callbacks, logging_steps=1)
        job.train()
        losses = [entry["loss"] for entry in job.state.log_history if "loss" in entry]
        return losses, [p.detach().clone() for p in job.model.parameters()]

    cleanup = MemoryCleanup(every=5, zero_grad=True, on_step=False, on_optimizer_step=True, on_evaluate=False, lines=False)
    losses, weights = run([cleanup, Look()])
    assert len(seen) == 21 and all(all(dropped) == (step % 5 == 0) for step, dropped in seen), seen
    part = cleanup.parts["zero_grad"]
    assert part["calls"] == cleanup.calls == 4 and part["seconds"] > 0
    plain_losses, plain_weights = run([])
    assert losses == plain_losses and len(losses) == 21
    assert all(torch.equal(a, b) for a, b in zip(weights, plain_weights))


def test_cleanup_measures_the_gradients_it_drops(watched):
    """Large ones go back to the system at once, and are counted to it."""
    layer = torch.nn.Linear(4000, 4000)
    optimizer = torch.optim.SGD(layer.parameters())
    cleanup = MemoryCleanup(every=1, zero_grad=True, gc=False, trim=False, empty_cache=False, lines=False)
    layer(torch.ones(1, 4000)).sum().backward()
    cleanup.step(1, optimizer=optimizer)
    assert gradients(layer) == [None, None]
    assert cleanup.parts["zero_grad"]["freed"] > 60_000_000


def test_cleanup_gives_its_balance(tmp_path, watched, capsys):
    cleanup = MemoryCleanup(every=5, zero_grad=True, log_history=2, processor_caches=True)
    job = trainer(tmp_path, [cleanup], eval_strategy="steps", eval_steps=10)
    job.train()
    # Steps 5, 10, 15, 20 and the evaluations: at 10, 20, and in newer versions at the end.
    assert cleanup.calls in (4 + 2, 4 + 3) and cleanup.parts["log_history"]["calls"] == cleanup.calls
    assert "lowtide: cleanup: %d calls" % cleanup.calls in capsys.readouterr().err
    records = [m["record"] for m in watched.received() if m.get("kind") == "record"]
    assert records[-1]["cleanup"]["calls"] == cleanup.calls


def test_kept_pictures_get_a_hint_with_numbers(watched):
    image = pytest.importorskip("PIL.Image")
    from lowtide import _track

    class Kept:
        def __init__(self):
            self.rows = [{"image": image.new("RGB", (100, 50)), "text": "a"} for _ in range(30)]

    class Loader:
        dataset = Kept()

    hints = _track.hints_for(Loader(), 2, None, False)
    assert "30 opened pictures" in hints[0] and "20.0 kB" in hints[0] and "600 kB" in hints[0]
    assert "2 workers" in hints[1] and "1.20 MB" in hints[1]


def test_metrics_go_to_tensorboard(tmp_path, watched, capsys):
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    callback = LowtideCallback(every=7, lines=False, log_to=["tensorboard", "nonsense"])
    trainer(tmp_path, [callback]).train()
    (folder,) = [path.parent for path in tmp_path.rglob("lowtide/events*")]
    events = EventAccumulator(str(folder))
    events.Reload()
    assert [event.step for event in events.Scalars("lowtide/host_anon")] == [7, 14, 21]
    assert "log_to='nonsense' is unknown" in capsys.readouterr().err


def test_a_plain_loop(tmp_path, watched):
    from lowtide.torch import Loop

    net = Net()
    optimizer = torch.optim.AdamW(net.parameters())
    loader = torch.utils.data.DataLoader(Data(20), batch_size=5)
    with Loop(net, optimizer, loader, epochs=2, every=4, lines=False) as loop:
        for _ in range(2):
            for batch in loop.batches():
                net(**batch)["loss"].backward()
                optimizer.step()
                optimizer.zero_grad()
                loop.step()
            with loop.phase("eval"):
                pass
        assert not loop.should_stop
        watched.write_page(request=1, stop_at=8)
        assert loop.should_stop
    got = watched.received()
    assert got[0]["geometry"] == {"examples": 20, "batch": 5, "accumulate": 1, "world": 1, "epoch_steps": 4}
    assert got[-1]["step"] == got[-1]["total_steps"] == 8 and got[-1]["examples"] == 40
    assert "eval" in {m["phase"] for m in got}


def test_accelerate_counts_synchronised_steps(watched):
    accelerate = pytest.importorskip("accelerate")
    from lowtide.torch import Loop

    accelerator = accelerate.Accelerator(cpu=True, gradient_accumulation_steps=2)
    net = Net()
    net, optimizer, loader = accelerator.prepare(
        net, torch.optim.SGD(net.parameters()), torch.utils.data.DataLoader(Data(20), batch_size=5)
    )
    with Loop(net, optimizer, loader, accelerator=accelerator, epochs=1, lines=False) as loop:
        for batch in loop.batches():
            with accelerator.accumulate(net):
                accelerator.backward(net(**batch)["loss"])
                optimizer.step()
                optimizer.zero_grad()
                loop.step()
    got = watched.received()
    assert got[0]["geometry"] == {"examples": 20, "batch": 5, "accumulate": 2, "world": 1, "epoch_steps": 2}
    assert got[-1]["step"] == 2 and got[-1]["examples"] == 20
    assert {m["loop"] for m in got} == {"plain"}


def test_lightning(tmp_path, watched, capsys):
    lightning = pytest.importorskip("lightning.pytorch")
    from lowtide.lightning import LowtideCallback as Callback

    class Module(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.net = Net()

        def training_step(self, batch, index):
            return self.net(**batch)["loss"]

        def validation_step(self, batch, index):
            return self.net(**batch)["loss"]

        def configure_optimizers(self):
            return torch.optim.AdamW(self.parameters())

    def loader():
        return torch.utils.data.DataLoader(Data(40), batch_size=5)

    def fit(callback):
        job = lightning.Trainer(
            max_epochs=2, accumulate_grad_batches=2, callbacks=[callback], accelerator="cpu", logger=False,
            enable_progress_bar=False, enable_checkpointing=False, default_root_dir=tmp_path, enable_model_summary=False,
        )
        job.fit(Module(), loader(), loader())
        return job

    fit(Callback(every=2))
    got = watched.received()
    assert got[0]["geometry"] == {"examples": 40, "batch": 5, "accumulate": 2, "world": 1, "epoch_steps": 4}
    assert got[-1]["step"] == got[-1]["total_steps"] == 8 and got[-1]["phase"] == "end"
    assert {m["loop"] for m in got} == {"lightning"}
    assert "eval" in {m["phase"] for m in got}
    assert "step 8/8" in capsys.readouterr().err
    watched.write_page(request=1, stop_at=3)
    assert fit(Callback(every=0)).global_step == 3
    assert (tmp_path / "lowtide-3.ckpt").exists()


def test_nothing_is_kept_of_the_trainer(tmp_path, watched):
    """A callback that held the model would be the leak it looks for."""
    import weakref

    job = trainer(tmp_path, [LowtideCallback(every=7, lines=False)])
    job.train()
    model = weakref.ref(job.model)
    del job
    gc.collect()
    assert model() is None
