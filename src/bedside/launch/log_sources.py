"""Where scripts log: one small patch for each package, applied when the script imports it.

Each calls the package's own method first and passes its arguments on to us afterwards. Methods are replaced on their
class, and where a package hands out bound methods early (`wandb.log`), the one beneath is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from bedside.collect.hooks.replacement import Replacement

Receive = Callable[..., None]  # (metrics, validating=False)
EVALUATION = re.compile(r"\b(val|valid|validat|eval|test)", re.IGNORECASE)


def after(owner: Any, name: str, tell: Callable[..., None]) -> None:
    """`tell` gets the arguments of every call of the method, once the call has succeeded."""

    def make(original: Any) -> Any:
        def method(*args: Any, **kwargs: Any) -> Any:
            result = original(*args, **kwargs)
            tell(*args, **kwargs)
            return result

        return method

    Replacement(owner, name, make).install()


def summary_writer(module: Any, receive: Receive) -> None:
    """torch.utils.tensorboard and tensorboardX have the same methods."""

    def scalar(self: Any, tag: str, scalar_value: Any, *args: Any, **kwargs: Any) -> None:
        receive({tag: scalar_value})

    def scalars(self: Any, main_tag: str, tag_scalar_dict: Mapping[str, Any], *args: Any, **kwargs: Any) -> None:
        receive({f"{main_tag}/{tag}": value for tag, value in tag_scalar_dict.items()})

    after(module.SummaryWriter, "add_scalar", scalar)
    after(module.SummaryWriter, "add_scalars", scalars)


def wandb_run(module: Any, receive: Receive) -> None:
    after(module.Run, "_log", lambda self, data, *args, **kwargs: receive(data))


def mlflow_client(module: Any, receive: Receive) -> None:
    def batch(self: Any, run_id: str, metrics: Any = (), *args: Any, **kwargs: Any) -> None:
        receive({each.key: each.value for each in metrics})

    after(module.MlflowClient, "log_metric", lambda self, run_id, key, value, *args, **kwargs: receive({key: value}))
    after(module.MlflowClient, "log_batch", batch)


def comet_experiment(module: Any, receive: Receive) -> None:
    def several(self: Any, dic: Mapping[str, Any], prefix: str | None = None, *args: Any, **kwargs: Any) -> None:
        receive({f"{prefix}_{name}" if prefix else name: value for name, value in dic.items()})

    after(module.CometExperiment, "log_metric", lambda self, name, value, *args, **kwargs: receive({name: value}))
    after(module.CometExperiment, "log_metrics", several)


def transformers_callbacks(module: Any, receive: Receive) -> None:
    def on_log(self: Any, args: Any, state: Any, control: Any, logs: Any = None, **kwargs: Any) -> None:
        receive(logs or {})

    after(module.CallbackHandler, "on_log", on_log)


def lightning_connector(module: Any, receive: Receive) -> None:
    """Before the loggers, so that metrics with `logger=False` come through as well."""
    after(module._LoggerConnector, "log_metrics", lambda self, metrics, *args, **kwargs: receive(metrics))


def tqdm_bar(module: Any, receive: Receive) -> None:
    def postfix(self: Any, ordered_dict: Any = None, refresh: bool = True, **more: Any) -> None:
        receive({**dict(ordered_dict or {}), **more}, bool(EVALUATION.search(getattr(self, "desc", None) or "")))

    after(module.tqdm, "set_postfix", postfix)


SOURCES: dict[str, Callable[[Any, Receive], None]] = {
    "torch.utils.tensorboard.writer": summary_writer,
    "tensorboardX.writer": summary_writer,
    "wandb.sdk.wandb_run": wandb_run,
    "mlflow.tracking.client": mlflow_client,
    "comet_ml.experiment": comet_experiment,
    "transformers.trainer_callback": transformers_callbacks,
    "lightning.pytorch.trainer.connectors.logger_connector.logger_connector": lightning_connector,
    "pytorch_lightning.trainer.connectors.logger_connector.logger_connector": lightning_connector,
    "tqdm.std": tqdm_bar,
}
