"""What modules and non-linearities put out: mean, RMS, extremes, zeros, saturation, NaN, and how much it varies.

Of every output a few thousand elements are looked at, spread over samples and units (`subsample.py`). While the forward
runs outputs are only kept; when it leaves they are read together (`output_summaries.py`), so that the cost is a few
calls per forward and not per module. An output that is overwritten in place before the forward leaves
(`ReLU(inplace=True)` after it) would be read too late: its version counter tells, the reading is dropped, and from then
on such an output is copied at once.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterable
from typing import Any

import numpy as np
from torch import Tensor, nn

from bedside.collect.collector import Collector, RowSet, WatchContext
from bedside.collect.hooks.called_modules import Forward
from bedside.collect.hooks.function_calls import FunctionCalls
from bedside.collect.hooks.module_outputs import ModuleCalls, keeping_cost
from bedside.collect.model.nonlinearities import FUNCTIONS, MODULES
from bedside.collect.model.parameter_layout import plain_name
from bedside.collect.probes import not_probed
from bedside.collect.reading.device_queue import PendingValue
from bedside.collect.reading.nested_tensors import NoGradients, floating_in
from bedside.collect.reading.observed_outputs import ENTRIES, Observed, Plan
from bedside.collect.reading.output_summaries import SUMMARY, Sheets, Stack
from bedside.errors import pass_on_interrupts
from bedside.record.missing import MISSING
from bedside.record.run import Event, Key


class Activations(Collector):
    """Observes every module and every non-linearity of a sampled forward."""

    name = "activations"
    vitals = SUMMARY

    def __init__(self, context: WatchContext) -> None:
        super().__init__(context)
        self._function_calls = FunctionCalls(FUNCTIONS, self._called)
        self._calls: ModuleCalls | None = None
        self._names: dict[int, str] = {}
        self._kept: list[Any] = []  # ENTRIES for each output: tuples would keep the garbage collector busy
        self._copies: dict[int, Tensor] = {}  # of those that are known to be overwritten
        self._entered: nn.Module | None = None
        self._plans: dict[nn.Module | None, Plan] = {}  # by the module that was entered
        self._kinds: dict[str, str] = {}
        self._reported_kinds = 0
        self._overwritten: set[tuple[int, str]] = set()  # whose outputs are: module and function
        self._owners: dict[str, None] = {}  # in the order of the first forward: the front of the network first
        self._columns: list[Key] = []
        self._read: list[tuple[Sheets | Stack, PendingValue]] = []
        self._waiting: list[tuple[int, list[tuple[Sheets | Stack, PendingValue]]]] = []
        self._turn = 0
        self._reported_not_copied = False

    def begin_reading(self, forward: Forward) -> bool:
        began = time.perf_counter()
        if self._calls is None:
            self._calls = self._get_to_know()
        self._turn += 1
        self._entered = forward.module
        self._function_calls.on()
        self._calls.on(forward.module)
        self.hook_seconds += time.perf_counter() - began
        return True

    def _get_to_know(self) -> ModuleCalls:
        self._names = {id(m): plain_name(name) for name, m in self.model.named_modules()}
        if not any(isinstance(m, tuple(MODULES)) and type(m) not in MODULES for m in self.model.modules()):
            # What nn.ReLU returns is observed from the module: who called F.relu need not be found out.
            self._function_calls.ignored_callers = frozenset(
                id(getattr(each.forward, "__code__", None)) for each in MODULES
            )
        named = [m for m in self.model.modules() if self._names[id(m)]]  # the root's output is not read
        return ModuleCalls([m for m in named if not _hands_on(m)], self._returned)

    def end_reading(self) -> None:
        began = time.perf_counter()
        self._release()
        kept, self._kept = self._kept, []
        copies, self._copies = self._copies, {}
        if self._function_calls.error is not None:
            raise self._function_calls.error
        observed = Observed(kept, copies)
        with NoGradients():
            for reader in self._plan(observed).readers:
                self._read.append((reader, self.queue.put(reader.read(observed.tensors, self._turn))))
        self.hook_seconds += keeping_cost() * len(observed.tensors) + time.perf_counter() - began

    def _plan(self, observed: Observed) -> Plan:
        plan = self._plans.get(self._entered)
        if plan is None or observed.overwritten or not plan.fits(observed):
            plan = Plan(observed, self._names)
            self._owners |= dict.fromkeys(plan.owners)
            self._kinds = plan.kinds | self._kinds
            if observed.overwritten:  # next time they are copied, and read
                self._overwritten |= {(id(observed.modules[at]), observed.functions[at]) for at in observed.overwritten}
            else:
                self._plans[self._entered] = plan
        return plan

    def detach(self, step: int) -> None:
        if self._read:
            read, self._read = self._read, []
            self._waiting.append((step, read))

    def end(self) -> None:
        self._release()

    def events(self) -> Iterable[Event]:
        why = self.context.forward_hooks.not_copied
        if why and not self._reported_not_copied:
            self._reported_not_copied = True
            yield not_probed(self.context.step, "compiled model", why)
        if len(self._kinds) > self._reported_kinds:
            self._reported_kinds = len(self._kinds)
            yield Event(self.context.step, "nonlinearities", dict(self._kinds), time.time())

    def _release(self) -> None:
        self._function_calls.off()
        if self._calls is not None:
            self._calls.off()

    def _called(self, function: str, module: nn.Module | None, args: Any, kwargs: Any, output: Any) -> None:
        for tensor in floating_in(output)[:1]:
            self._keep(module, function, tensor)

    def _returned(self, module: nn.Module, output: Any) -> None:
        try:
            if type(output) is Tensor and not self._overwritten and not output.is_inference():
                self._kept += (module, "", output, output._version)  # as _keep does, without the call
            else:
                for tensor in floating_in(output)[:1]:
                    self._keep(module, "", tensor)
        except Exception as error:
            pass_on_interrupts(error)
            self._function_calls.error = error

    def _keep(self, module: nn.Module | None, function: str, tensor: Tensor) -> None:
        if tensor.is_inference() or (self._overwritten and (id(module), function) in self._overwritten):
            self._copies[len(self._kept) // ENTRIES] = tensor.detach().clone()
            self._kept += (module, function, tensor, None)
        else:
            self._kept += (module, function, tensor, tensor._version)

    def rows(self) -> Iterable[RowSet]:
        waiting, self._waiting = self._waiting, []
        if not waiting:
            return
        place = {owner: i for i, owner in enumerate(self._owners)}
        if len(self._columns) != len(self.vitals) * len(place):
            self._columns = [(vital, owner) for vital in self.vitals for owner in place]
        values = np.full((len(waiting), len(self.vitals), len(place)), MISSING)
        found: dict[Sheets | Stack, list[tuple[int, PendingValue]]] = defaultdict(list)
        for row, (_, read) in enumerate(waiting):
            for reader, pending in read:
                found[reader].append((row, pending))
        for reader, readings in found.items():
            numbers = reader.finished(np.stack([pending.numbers for _, pending in readings]))
            rows = np.asarray([row for row, _ in readings])
            owners = np.asarray([place[owner] for owner in reader.owners])
            values[rows[:, None], :, owners] = numbers.transpose(0, 2, 1)
        yield RowSet("activations", self._columns, [step for step, _ in waiting], values.reshape(len(waiting), -1))


def _hands_on(module: nn.Module) -> bool:
    """Whether it returns what its last child returned, where that is observed anyway."""
    return type(module) is nn.Sequential and len(module) > 0 and not module._forward_hooks
