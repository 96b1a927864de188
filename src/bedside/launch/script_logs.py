"""What the script itself logs, to whatever tracker: validation metrics come for free.

What bedside measures itself (the training loss, rates, gradient norms, clocks) is left out. The rest waits until the
next step and is then logged once, at the step after which it came: a progress bar that shows a running mean, or two
trackers that get the same number, do not count twice.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from typing import Any

from bedside.launch.after_import import AfterImport
from bedside.launch.attach import Attach
from bedside.launch.log_sources import SOURCES
from bedside.naming.metric_names import read_name
from bedside.naming.name_parts import SPLITS, split_words

MEASURED = ("lr", "grad_norm", "grad_norm_clipped", "param_norm", "loss_scale", "skipped", "epoch", "clock")
MAX_NAMES = 200  # different metrics of one script; images and embeddings of a thousand classes are not for us


class ScriptLogs:
    """Receives metrics from all sources, and hands them to the monitor of the training that is going on."""

    def __init__(self, attach: Attach) -> None:
        self._attach = attach
        self._waiting: dict[str, float] = {}
        self._names: set[str] = set()
        self._trains_in_train_mode = False
        attach.before_step = self._before_step

    def listen(self, imports: AfterImport) -> None:
        for name, patch in SOURCES.items():
            imports.call(name, partial(self._patch, patch))

    def received(self, metrics: Mapping[str, Any], validating: bool = False) -> None:
        """Whatever a logger was given. Never raises: the script's call has already succeeded."""
        try:
            validating = validating or self._in_evaluation()
            for name, value in metrics.items():
                vital = vital_of(str(name), validating)
                if vital is not None and (vital in self._names or len(self._names) < MAX_NAMES):
                    self._waiting[vital] = float(value)
                    self._names.add(vital)
        except Exception:  # a text, an image, a histogram: not a metric
            return

    def hand_over(self) -> None:
        """To the monitor, at the step that was the last one."""
        monitor = self._attach.newest
        if self._waiting and monitor is not None:
            waiting, self._waiting = self._waiting, {}
            with suppress(Exception):  # the monitor may have been closed: at the end of the process, or by a failure
                monitor.log(waiting)

    def _patch(self, patch: Any, module: Any) -> None:
        try:
            patch(module, self.received)
        except Exception:  # another version of the package, without the method that this one has
            return

    def _before_step(self) -> None:
        if self._waiting:
            self.hand_over()
        monitor = self._attach.newest
        if monitor is not None:
            self._trains_in_train_mode = any(root.training for root in self._attach.watched[-1].roots)

    def _in_evaluation(self) -> bool:
        """The model is in evaluation mode, and was not when it was last trained."""
        return (
            self._trains_in_train_mode
            and bool(self._attach.watched)
            and not any(root.training for root in self._attach.watched[-1].roots)
        )


def vital_of(name: str, validating: bool) -> str | None:
    """The name under which a metric is kept; None for what is measured anyway."""
    read = read_name(name)
    if read.kind in MEASURED:
        return None
    says_so = not SPLITS.keys().isdisjoint(split_words(name))
    split = read.split if says_so or not validating else "val"
    if read.kind == "loss":
        if split in ("", "train"):
            return None
        return f"{split}/loss" if read.rank <= 1 and not read.owner else f"{split}/{read.metric or name}"
    if read.kind == "metric":
        return f"{split or 'train'}/{read.metric}"
    return f"val/{name}" if split == "val" and not says_so else name
