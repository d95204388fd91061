"""The same numbers as plain metrics in W&B, TensorBoard or MLflow, for those who have them."""

import importlib
import os
from typing import Callable, List, Mapping, Optional, Sequence, Union

from . import _warn

Log = Callable[[Mapping[str, float], int], None]


def open_all(names: Union[str, Sequence[str]], log_dir: Optional[str] = None) -> Log:
    """One function that logs to each of `names` ("wandb", "tensorboard", "mlflow")."""
    makers = {"wandb": _wandb, "tensorboard": lambda: _tensorboard(log_dir), "mlflow": _mlflow}
    sinks: List[Log] = []
    for name in [names] if isinstance(names, str) else names:
        maker = makers.get(name)
        if maker is None:
            _warn.once("log_to=%r is unknown; it may be wandb, tensorboard or mlflow" % (name,))
            continue
        try:
            sinks.append(maker())
        except ImportError as error:
            _warn.once("log_to=%r needs a package that is not installed: %s" % (name, error))
        except Exception as error:
            _warn.once("log_to=%r could not be opened: %s" % (name, error))

    def log(metrics: Mapping[str, float], step: int) -> None:
        for sink in sinks:
            try:
                sink(metrics, step)
            except Exception as error:
                _warn.once("logging failed and goes on without: %s" % error)

    return log


def _wandb() -> Log:
    wandb = importlib.import_module("wandb")

    def log(metrics: Mapping[str, float], step: int) -> None:
        if wandb.run is not None:
            # Without `step=`: the trainer's own logging moves that counter, and W&B drops what
            # comes late. The step travels as a metric.
            wandb.run.log({**metrics, "lowtide/step": step})

    return log


def _tensorboard(log_dir: Optional[str]) -> Log:
    try:
        module = importlib.import_module("torch.utils.tensorboard")
    except ImportError:
        module = importlib.import_module("tensorboardX")
    writer = module.SummaryWriter(os.path.join(log_dir or "runs", "lowtide"))

    def log(metrics: Mapping[str, float], step: int) -> None:
        for name, value in metrics.items():
            writer.add_scalar(name, value, step)
        writer.flush()

    return log


def _mlflow() -> Log:
    mlflow = importlib.import_module("mlflow")

    def log(metrics: Mapping[str, float], step: int) -> None:
        if mlflow.active_run() is not None:
            mlflow.log_metrics(dict(metrics), step=step)

    return log
