"""BatchNorm in training with one sample in the batch: its statistics are those of that sample, and no others'.

In training each sample is normalised by itself; in evaluation by running averages that fit none. Counted where a
training forward gets a first input of one row while a BatchNorm of the model is in training mode. Of two rows of plain
features nothing is left but which of them is the larger: normalised, they are 1 and -1. So these count, too.
"""

from __future__ import annotations

from collections.abc import Iterable

from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm

from bedside.collect.collector import Collector, WatchContext
from bedside.collect.hooks.called_modules import Forward
from bedside.collect.model.parameter_layout import plain_name
from bedside.collect.model.stored import stored
from bedside.collect.vitals.inputs import first_input
from bedside.collect.vitals.loop_checks import Tally
from bedside.record.run import Event


class SingleSamples(Collector):
    """Counts training forwards of one sample through a BatchNorm that is training, and evaluations that are not."""

    name = "single samples"
    sampled = False

    def __init__(self, context: WatchContext) -> None:
        super().__init__(context)
        norms = [(plain_name(name), each) for name, each in self.model.named_modules() if isinstance(each, _BatchNorm)]
        self._norms = [(name, each) for name, each in norms if stored(each, "track_running_stats")]
        self._tally = Tally("single_samples")
        self._forwards = self._evaluations = 0
        self._ended = False

    def forward_begins(self, forward: Forward) -> None:
        if not self._norms:
            return
        if forward.validating or not forward.grad:
            self._evaluations += not forward.training
            return
        self._forwards += 1
        batch = first_input((forward.args, forward.kwargs))
        if batch is None or batch.dim() < 2 or len(batch) > 2:
            return
        table = batch.dim() == 2 and batch.is_floating_point()
        kind = _BatchNorm if len(batch) == 1 else nn.BatchNorm1d
        training = [name for name, each in self._norms if each.training and isinstance(each, kind)]
        if training and (len(batch) == 1 or table):
            counts = {"forwards": self._forwards, "evaluations": self._evaluations, "rows": len(batch)}
            self._tally.add(self.context.step, True, where=training[:20], **counts)

    def end(self) -> None:
        self._ended = True
        if self._tally.count:
            self._tally.facts.update(forwards=self._forwards, evaluations=self._evaluations)

    def events(self) -> Iterable[Event]:
        return self._tally.news(self._ended)
