"""Which outputs of a forward are read, and under which names: decided once, for all forwards that are like it.

A container that hands on what its last child returned adds nothing, and neither do integers; a function is named after
the module that called it, and shared ones are numbered. To find that out takes longer than to read the outputs, so it
is kept as a *plan*, which fits as long as the same modules return tensors of the same sizes in the same order.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from operator import attrgetter
from typing import Any

import torch
from torch import Tensor, nn

from bedside.collect.model.nonlinearities import KINDS, MODULES, Numbered, call_name
from bedside.collect.reading.output_summaries import Output, readers
from bedside.collect.reading.subsample import Cut
from bedside.collect.reading.unit_axis import channels_come_second
from bedside.training.freed_tensors import is_freed

# Where the graph does not tell, as in a forward without gradients: these do, and all others hand on what they get.
CHANNELS_SECOND = (nn.Conv1d, nn.ConvTranspose1d, nn.BatchNorm1d, nn.InstanceNorm1d, nn.GroupNorm, nn.MaxPool1d)
FEATURES_LAST = (nn.Linear, nn.LayerNorm, nn.Embedding, nn.RNNBase, nn.MultiheadAttention)
ENTRIES = 4  # of a kept output: the module, the function it called or "", the tensor, its version or None of a copy

_looks = attrgetter("dtype", "is_cpu")
_version = attrgetter("_version")


class Observed:
    """Everything that modules and non-linearities returned in one forward, in order."""

    def __init__(self, kept: list[Any], copies: Mapping[int, Tensor]) -> None:
        self.modules: list[nn.Module | None] = kept[0::ENTRIES]
        self.functions: list[str] = kept[1::ENTRIES]
        self.returned: list[Tensor] = kept[2::ENTRIES]
        versions: list[int | None] = kept[3::ENTRIES]
        self.tensors = self.returned  # as they were when they were returned
        self.overwritten: list[int] = []  # or their memory given back
        if copies:
            self.tensors = [copies.get(place, tensor) for place, tensor in enumerate(self.returned)]
        if copies or list(map(_version, self.returned)) != versions or any(map(is_freed, self.returned)):
            self.overwritten = [
                place
                for place, (tensor, version) in enumerate(zip(self.returned, versions, strict=True))
                if version is not None and (tensor._version != version or is_freed(tensor))
            ]
        self.looks = list(map(_looks, self.tensors))
        # All shapes would take four times as long to compare; a batch of another form shows at the ends.
        self.sizes = list(map(Tensor.numel, self.tensors))
        self.shapes = [tensor.shape for tensor in (*self.tensors[:1], *self.tensors[-1:])]


class Plan:
    """How the outputs of a forward are read."""

    def __init__(self, observed: Observed, names: Mapping[int, str]) -> None:
        self._modules, self._functions = observed.modules, observed.functions
        self._looks, self._sizes, self._shapes = observed.looks, observed.sizes, observed.shapes
        self._handed_on: list[tuple[int, int, bool]] = []  # places, and whether they hold the same tensor
        outputs = list(self._worth_reading(observed, names))
        self.owners = [output.owner for output in outputs]
        self.kinds = {output.owner: output.kind.name for output in outputs if output.kind is not None}
        late = set(observed.overwritten)
        self.readers = readers([output for output in outputs if output.place not in late], observed.tensors)

    def fits(self, observed: Observed) -> bool:
        returned = observed.returned
        return (
            self._modules == observed.modules
            and self._functions == observed.functions
            and self._looks == observed.looks
            and self._sizes == observed.sizes
            and self._shapes == observed.shapes
            and all((returned[one] is returned[other]) is same for one, other, same in self._handed_on)
        )

    def _worth_reading(self, observed: Observed, names: Mapping[int, str]) -> Iterator[Output]:
        numbered = Numbered()
        previous: int | None = None
        channels_second = False
        for place, (module, function) in enumerate(zip(observed.modules, observed.functions, strict=True)):
            name = names.get(id(module), "" if module is None else None)
            if name is None or not (name or function):  # the root's output is its last child's, or the loss's business
                continue
            kind = KINDS[function] if function else MODULES.get(type(module))
            if not function and previous is not None:
                same = observed.returned[place] is observed.returned[previous]
                self._handed_on.append((place, previous, same))
                # A non-linearity in place returns what it was given; if its function was observed, it adds nothing.
                if same and (kind is None or module is observed.modules[previous]):
                    continue
            known = channels_come_second(observed.returned[place]) if observed.returned[place].dim() == 3 else None
            if known is not None:
                channels_second = known
            elif isinstance(module, CHANNELS_SECOND + FEATURES_LAST):
                channels_second = isinstance(module, CHANNELS_SECOND)
            tensor = observed.tensors[place]
            if not tensor.is_floating_point() or tensor.layout is not torch.strided or not tensor.numel():
                continue
            owner = numbered(call_name(module, name, function) if function else name)
            if owner is None:
                continue
            previous = place
            cut = Cut.for_shape(tensor.shape, features_last=tensor.dim() < 4 and not channels_second)
            yield Output(place, owner, kind, cut, tensor.shape, tensor.dtype)
