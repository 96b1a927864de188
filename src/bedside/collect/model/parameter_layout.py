"""Who owns which parameter: the trainable tensors of a model, their names, and the tree that adds them up.

Every named module with trainable parameters is an owner, and so is every *bare* parameter, one that hangs on a
module which has children of its own: a learnable scale that is nobody's module must not hide in a sum. Each
tensor's squared norm is taken once and added up the tree, so cost does not grow with depth.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.parameter import is_lazy

from bedside.collect.model.parameters_below import parameters_below
from bedside.collect.model.shards import shares, world_size

WRAPPERS = ("module", "_orig_mod", "_fsdp_wrapped_module")  # DDP, torch.compile, FSDP1


def plain_name(name: str) -> str:
    """The name the user wrote, without what wrappers put in front of it."""
    if "module" not in name and "_orig_mod" not in name:  # nearly always: names are asked for by the thousand
        return name
    return ".".join(part for part in name.split(".") if part not in WRAPPERS)


@dataclass(frozen=True)
class Layout:
    """The trainable parameters in a fixed order, and which of them each owner adds up."""

    parameters: tuple[nn.Parameter, ...]
    names: tuple[str, ...]
    owners: tuple[str, ...]  # in the order in which the signal passes them, as far as that is known
    home: tuple[str, ...]  # for each parameter: its module, or its own name if it is bare
    _members: NDArray[np.int64]  # parameter indices, owner after owner
    _starts: NDArray[np.int64]  # where each owner's members begin
    lazy: bool  # there are others, whose shape the first forward decides
    index: dict[int, int] = field(default_factory=dict)  # id(parameter) -> position
    shares: NDArray[np.float64] | None = None  # of sharded parameters, how this rank's squares count

    def __len__(self) -> int:
        return len(self.parameters)

    def add_up(self, squares: NDArray[np.float64]) -> NDArray[np.float64]:
        """Squared norms per parameter, (steps, parameters), to norms per owner, (steps, owners)."""
        if not len(self.owners):
            return np.empty((len(squares), 0))
        gathered = squares[:, self._members]
        return np.sqrt(np.add.reduceat(gathered, self._starts, axis=1))

    def of_this_rank(self, squares: NDArray[np.float64]) -> NDArray[np.float64]:
        """Squared norms per parameter as this rank's share of them, which readers add up over all ranks."""
        return squares if self.shares is None else squares * self.shares

    @property
    def ranks(self) -> int:
        """How many hold the parameters together."""
        return 1 if self.shares is None else world_size()

    def most(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """For each owner the largest of its parameters' numbers."""
        if not len(self.owners):
            return np.empty(0, np.int64)
        return np.asarray(np.maximum.reduceat(numbers[self._members], self._starts))

    def same_parameters(self, model: nn.Module) -> bool:
        """Whether the model still has exactly these trainable tensors."""
        mine = self.parameters
        count = 0
        for parameter in model.parameters():
            if is_trainable(parameter):
                if count >= len(mine) or parameter is not mine[count]:
                    return False
                count += 1
        return count == len(mine)


def lay_out(model: nn.Module, gradient_order: Sequence[int] = ()) -> Layout:
    """The layout of a model. `arrival` lists id(parameter) in the order in which gradients arrived, if known:
    backward runs the network in reverse, so the last to arrive is the front."""
    parameters: list[nn.Parameter] = []
    names: list[str] = []
    for name, parameter in model.named_parameters():
        if is_trainable(parameter):
            parameters.append(parameter)
            names.append(plain_name(name))
    index = {id(parameter): position for position, parameter in enumerate(parameters)}
    members: dict[str, list[int]] = {}
    home = list(names)
    below = parameters_below(model)
    for module_name, module in model.named_modules():
        owner = plain_name(module_name)
        inside = sorted(index[each] for each in below[id(module)] if each in index)
        if owner and inside:
            members[owner] = inside
        has_children = any(below[id(child)] for child in module._modules.values() if child is not None)
        own: dict[int, str] = {}
        for short, each in module._parameters.items():
            own.setdefault(id(each), short)  # one that has two names here goes by the first
        for parameter, short in own.items():
            if parameter not in index:
                continue
            if has_children or not owner:
                bare = f"{owner}.{short}" if owner else short
                members[bare] = [index[parameter]]
                home[index[parameter]] = bare
            else:
                home[index[parameter]] = owner
    owners = _front_first(members, parameters, gradient_order)
    return Layout(
        parameters=tuple(parameters),
        names=tuple(names),
        owners=tuple(owners),
        home=tuple(home),
        _members=np.asarray([i for owner in owners for i in members[owner]], np.int64),
        _starts=np.cumsum([0] + [len(members[owner]) for owner in owners[:-1]]) if owners else np.empty(0, np.int64),
        lazy=any(is_lazy(each) for each in model.parameters()),
        index=index,
        shares=shares(parameters),
    )


def is_trainable(parameter: Tensor) -> bool:
    """Whether it gets gradients, and has a shape already."""
    return parameter.requires_grad and not is_lazy(parameter)


def size_of(parameter: Tensor) -> int:
    """How many numbers it holds: none before the first forward, if it is lazy."""
    return 0 if is_lazy(parameter) else parameter.numel()


def _front_first(
    members: dict[str, list[int]], parameters: Sequence[nn.Parameter], gradient_order: Iterable[int]
) -> list[str]:
    """Owners in the order in which the signal passes them: by their front-most parameter, containers first."""
    place = {position: rank for rank, position in enumerate(reversed(list(gradient_order)))}
    if not place:
        return list(members)

    def front(owner: str) -> int:
        known = [place[id(parameters[i])] for i in members[owner] if id(parameters[i]) in place]
        return min(known) if known else -1

    ranks = {owner: front(owner) for owner in members}
    # An owner that got no gradient keeps its place behind its predecessor in the model.
    previous = -1
    for owner in members:
        if ranks[owner] < 0:
            ranks[owner] = previous
        previous = ranks[owner]
    registered = {owner: i for i, owner in enumerate(members)}
    return sorted(members, key=lambda owner: (ranks[owner], owner.count("."), registered[owner]))
