"""The forward passes of the model: all of them are seen, and the training forwards of a sampled step are read.

Between samples, only one slot is installed, on the module that the user calls. When a sampled training forward begins,
collectors put slots on inner modules and replace functions; when it ends or fails, all of that is gone again. So no
code outside the forward pass ever runs into a replaced function, and the recomputation of activation checkpointing,
which runs in the backward pass, is never counted.

A compiled model cannot be read from inside: its graph would change. A few times in a run an uncompiled copy is given
the same batch, and collectors read that.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from threading import get_ident
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from bedside.collect.hooks.called_modules import CalledModule, Forward, Search, compiled_wrappers, is_compiled
from bedside.collect.hooks.copies import observed_as
from bedside.collect.probes import Probes
from bedside.errors import pass_on_interrupts
from bedside.training.model_copy import NotCopied, independent

if TYPE_CHECKING:
    from bedside.collect.collector import Collector

COMPILED_SAMPLES = (1, 2, 4, 10, 30, 100, 300, 1000)  # of the samples of a compiled model: those at which it is copied
STEPS_BEFORE_SEARCH = 2  # steps without a forward before a search: the first backward may come from a restored graph


class ForwardHooks:
    """Observes every forward of the model; lets collectors read the training forwards of a sampled step.

    `begun` and `ended` are called for every forward that is not skipped on the fast path; `failed` for a collector that
    raised."""

    def __init__(self, model: nn.Module, probes: Probes | None = None) -> None:
        self.model = model
        self.not_copied = ""  # why a compiled model was not read
        self._probes = probes or Probes()
        self._samples_of_compiled = 0
        self.validating = False
        self.spent = 0.0  # seconds here, since the budget was last updated
        self.last: Forward | None = None  # the forward that the next backward belongs to; dropped after the step
        self.training_mode: bool | None = None  # the mode training forwards usually have, once known
        self.blind = False  # steps go by, but no forward is ever seen
        self._begun: Callable[[Forward], bool] = lambda forward: True
        self._forward_over: Callable[[Any], None] = lambda output: None
        self._failed: Callable[[Collector, Exception], None] = lambda collector, error: None
        self._caught: Callable[[str, BaseException], None] = _raised
        self._called_modules: list[CalledModule] = []
        self._compiled_inside = any(is_compiled(module) for module in model.modules())
        self._under_way: list[tuple[CalledModule, int]] = []  # calls that were reported and have not ended; the thread
        self._due: list[Collector] = []
        self._sampling: list[Collector] = []
        self._sampled_modules: set[int] = set()  # those that have been read in this step
        self._forward_seen = False
        self._steps_without_forward = 0
        self._search: Search | None = None

    def install(
        self,
        begun: Callable[[Forward], bool],
        ended: Callable[[Any], None],
        failed: Callable[[Collector, Exception], None],
        caught: Callable[[str, BaseException], None],
    ) -> None:
        """`begun` says whether the forward is this training's; `ended` gets the output, None if there is none. `caught`
        is called with whatever else fails here: the user's forward must not be affected."""
        self._begun, self._forward_over, self._failed, self._caught = begun, ended, failed, caught
        self._observe(compiled_wrappers(self.model) or [self.model])

    def remove(self) -> None:
        """May be repeated; nothing is left on the model."""
        self._stop_sampling()
        for called in self._called_modules:
            called.close()
        if self._search is not None:
            self._search.stop()
        self._called_modules, self._search, self._due, self.last = [], None, [], None

    def expect(self, collectors: Sequence[Collector]) -> None:
        """These read the next training forward of each called module."""
        self._due = list(collectors)
        self._sampled_modules = set()

    @property
    def compiled(self) -> bool:
        """Whether the model can only be read beside the training."""
        return self._compiled_inside or any(is_compiled(called.module) for called in self._called_modules)

    # What the monitor reports.

    def before_backward(self) -> None:
        """The forward is over and its weights are still the same: a compiled model is read now."""
        if self._due and self.last is not None and self.compiled and self._is_sampled(self.last):
            self._samples_of_compiled += 1
            if self._samples_of_compiled in COMPILED_SAMPLES and not self.not_copied:
                self._read_copy(self.last)

    def _read_copy(self, forward: Forward) -> None:
        try:
            with self._probes.copy(forward.module) as copy, ExitStack() as stack:
                stack.enter_context(observed_as(forward.module, copy))
                for device, dtype in forward.autocast:
                    stack.enter_context(torch.autocast(device, dtype))
                args, kwargs = independent((forward.args, forward.kwargs))
                try:
                    self._start_sampling(forward)
                    copy(*args, **kwargs)
                finally:
                    self._stop_sampling()
        except NotCopied as why:
            self.not_copied = str(why)
        except Exception as error:
            pass_on_interrupts(error)
            self.not_copied = f"a forward of its copy failed ({type(error).__name__}: {error})"

    def after_backward(self, ours: bool) -> None:
        if ours and self.last is not None and self.last.grad:
            self.training_mode = self.last.training

    def enter_fast_path(self, thread: int) -> Sequence[CalledModule]:
        """Training forwards are only counted from here on. Returns the called modules, which keep what came in."""
        for called in self._called_modules:
            called.enter_fast_path(self.training_mode, thread)
        return self._called_modules

    def leave_fast_path(self) -> list[Forward]:
        """Report all forwards again; returns those of this step that were not reported."""
        missed: list[Forward] = []
        for called in self._called_modules:
            called.leave_fast_path()
            if called.skipped:
                forward = Forward(called, called.args, called.kwargs, grad=True, validating=False)
                forward.autocast = called.autocast
                missed += [forward] * called.skipped
                self.last, self._forward_seen = forward, True
            called.forget()
        return missed

    @property
    def fast_path_possible(self) -> bool:
        """Whether it is known what a usual forward is."""
        return self._search is None and (self.training_mode is not None or self.blind or not self._called_modules)

    @property
    def tells_of_training(self) -> bool:
        """Whether a training that is taken up again begins with a forward that is seen: it is known what a training
        forward is, and none waits for its backward."""
        last = self.last
        waits = last is not None and last.grad and last.training == self.training_mode
        return self._search is None and not self.blind and self.training_mode is not None and not waits

    def step_ended(self) -> None:
        """Lets go of the batch, and looks for other called modules when these never are."""
        if not self._called_modules:
            return
        self.last = None
        for called in self._called_modules:
            if called.counted:
                called.usual_count, called.counted = min(called.usual_count or called.counted, called.counted), 0
        if self._search is not None:
            self._search_ended(self._search)
        elif self._forward_seen:
            self._steps_without_forward = 0
        elif not self.blind:
            self._steps_without_forward += 1
            if self._steps_without_forward >= STEPS_BEFORE_SEARCH:
                self._search = Search(self.model)
                self._search.start()
        self._forward_seen = False

    def compile_begins(self) -> None:
        """Something is about to be compiled. Anything of ours would be compiled in, and removing it would cause another
        compilation; so a part of the model that is compiled by itself is not read from inside either."""
        if self._sampling:
            self._compiled_inside = True
            self._stop_sampling()
        if self._search is not None:
            self._search.stop()

    # What the calls do.

    def _observe(self, modules: Sequence[nn.Module]) -> None:
        """Every slot on a module is in the list, even if an interrupt comes in between."""
        for called in self._called_modules:
            called.close()
        self._called_modules = [CalledModule(each, self._forward_begins, self._forward_ended) for each in modules]
        for called in self._called_modules:
            called.open()

    def _forward_begins(self, called: CalledModule, args: Any, kwargs: Any) -> bool:
        try:
            return self._observe_begin(called, args, kwargs)
        except Exception as error:
            self._caught("forward", error)
            return False

    def _forward_ended(self, called: CalledModule, output: Any) -> None:
        try:
            self._observe_end(called, output)
        except Exception as error:
            self._caught("forward", error)

    def _observe_begin(self, called: CalledModule, args: Any, kwargs: Any) -> bool:
        """Says whether it is this training's; another thread may evaluate the model while its forward is under way."""
        if self._sampling and all(thread == get_ident() for _, thread in self._under_way):
            self._stop_sampling()  # of a forward that was interrupted
        began = time.perf_counter()
        forward = Forward(called, args, kwargs, grad=torch.is_grad_enabled(), validating=self.validating)
        if not self._begun(forward):
            return False
        self._under_way.append((called, get_ident()))
        self._forward_seen = True
        if forward.grad and forward.training == self.training_mode:
            called.counted += 1
            called.autocast = forward.autocast
        self.last = forward
        self.spent += time.perf_counter() - began
        if self._due and self._is_sampled(forward) and not self.compiled:
            self._start_sampling(forward)
        return True

    def _observe_end(self, called: CalledModule, output: Any) -> None:
        call = called, get_ident()
        if self._under_way and self._under_way[-1] == call:
            self._under_way.pop()
            if self._sampling:
                self._stop_sampling()
            self._forward_over(output)
        elif call not in self._under_way:
            return
        else:  # an inner call was interrupted before its end was seen
            self._under_way.clear()
            self._stop_sampling()

    def _is_sampled(self, forward: Forward) -> bool:
        """Whether this is a training forward (as far as that can be known before its backward), and the first of its
        module in this step: micro-batches are alike, so one of them is enough."""
        usual = self.training_mode is None or forward.training == self.training_mode
        return forward.grad and usual and not forward.validating and id(forward.module) not in self._sampled_modules

    def _start_sampling(self, forward: Forward) -> None:
        self._sampled_modules.add(id(forward.module))
        for collector in self._due:
            self._sampling.append(collector)  # before it begins: whatever happens, it will also end
            try:
                if not collector.begin_reading(forward) and collector in self._sampling:
                    self._sampling.remove(collector)
            except Exception as error:
                pass_on_interrupts(error)
                self._failed(collector, error)

    def _stop_sampling(self) -> None:
        while self._sampling:
            collector = self._sampling[-1]
            try:
                collector.end_reading()
            except Exception as error:
                pass_on_interrupts(error)
                self._failed(collector, error)
            # It may be gone: a signal handler that calls the model ends the reading of the forward it interrupted.
            self._sampling[:] = [each for each in self._sampling if each is not collector]

    def _search_ended(self, search: Search) -> None:
        """The modules that were called in the step that has just ended are the ones the user calls."""
        search.stop()
        self._search = None
        self._steps_without_forward = 0
        if search.found:
            self._observe(list(search.found.values()))
        else:
            self.blind = True


def _raised(where: str, error: BaseException) -> None:
    """Until somebody else takes care of it."""
    raise error
