"""The same sums by native code, where numba is installed (`kernels.py`): one pass over each tensor, one call for all.

Plain torch and numpy pay for every call and for every buffer in between. Here the addresses of many tensors go into one
call that reads each once. Blocks of squares are added up in float32 and their sums in float64, as plain torch does.

Addresses and sizes are read anew for every call, while the tensors are held: a kept address could point to memory that
has been given back, or that is shorter by now (`p.data = p.data[:k]`). Those of parameters are kept by `addresses.py`,
which holds the memory as well. Only float32 on the CPU that lies in one piece is taken, and nothing whose memory was
given back while the tensor stayed; everything else is read by plain torch.

numba takes a second to load, and several to compile when it is used for the first time (the result is kept on disk);
and it stays in memory, with 130 MB. So it is loaded, in a thread of its own, only once plain torch has taken as long as
loading does; under a budget, where it saves no time but reads more often, only if a reading is dear. Until it is done,
and whenever it fails, plain torch is taken. `BEDSIDE_NATIVE=0` in the environment turns it off.
"""

from __future__ import annotations

import importlib.util
import os
import threading
from collections.abc import Sequence
from operator import attrgetter
from types import ModuleType

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from bedside.collect.reading.native.float32 import WIDTH
from bedside.collect.reading.subsample import Cut
from bedside.training.freed_tensors import is_freed

Floats = NDArray[np.float64]

RESULTS_AT_ONCE = 400  # parameters whose results are made room for at a time
LOADING_SECONDS = 1.0  # seconds that loading takes: worth it once plain torch has taken as long
DEAR_READING = 2e-3  # seconds: a small net takes 0.3 to 0.8 ms, one of 522 tensors 2.5 ms, larger ones more

_kernels: ModuleType | None = None
_begun = False


def available() -> bool:
    """Whether it can be had at all; asks without loading anything."""
    return os.environ.get("BEDSIDE_NATIVE", "1") != "0" and importlib.util.find_spec("numba") is not None


def ready() -> bool:
    return _kernels is not None


def is_worth_loading(sum_seconds: float, reading: float, limited: bool) -> bool:
    """Given the seconds that adding up took in all and at one reading, and whether there is a budget."""
    return sum_seconds > LOADING_SECONDS and (not limited or reading > DEAR_READING)


def load_in_background() -> None:
    """Begin to load, once; training goes on meanwhile."""
    global _begun
    if not _begun and available():
        _begun = True
        threading.Thread(target=load, name="bedside-native", daemon=True).start()


def load() -> bool:
    """Load and compile now. Says whether there is anything to use; what fails leaves plain torch."""
    global _kernels
    if _kernels is None and available():
        try:
            _kernels = _compiled()
        except Exception:  # an unusual platform, a numba that does not fit: the numbers are the same without
            return False
    return _kernels is not None


def suits(tensor: Tensor | None) -> bool:
    """Whether the kernels can read this one."""
    if tensor is None or tensor.dtype is not torch.float32 or not tensor.is_cpu or tensor.layout is not torch.strided:
        return False
    in_one_piece = tensor.is_contiguous() or (
        tensor.dim() == 4 and tensor.is_contiguous(memory_format=torch.channels_last)
    )
    return in_one_piece and not hasattr(tensor, "to_local") and not is_freed(tensor)


def all_suit(tensors: Sequence[Tensor | None]) -> bool:
    """Whether they all do and are there, when they belong to plain parameters on the CPU; asked without a loop."""
    try:
        return (
            set(map(_dtype, tensors)) <= {torch.float32}
            and all(map(_is_contiguous, tensors))
            and all(map(_data_ptr, tensors))  # an address of nothing: freed, or empty
        )
    except (TypeError, AttributeError, RuntimeError):  # one is None, or sparse
        return False


def squares(tensors: Sequence[Tensor]) -> Floats:
    """Squared norms of tensors that suit."""
    assert _kernels is not None
    out = np.empty(len(tensors))
    _kernels.sum_squares(_addresses(tensors), _sizes(tensors), out)
    return out


class Tables:
    """Outputs of modules, each looked at as a table of samples and units."""

    def __init__(self, cuts: Sequence[Cut], limits: Sequence[tuple[float, float]]) -> None:
        self._row_steps, self._column_steps, self._columns, samples, units = np.asarray(
            [(cut.row_step, cut.column_step, cut.columns, cut.samples, cut.units) for cut in cuts], np.int64
        ).T
        nothing = np.zeros(len(cuts), np.int64)
        down = self._row_steps * self._columns
        self._plan = np.stack([nothing, samples, units, down, self._column_steps])
        self._whole = all(cut.whole for cut in cuts)
        self._limits = np.asarray(limits, np.float64)
        self._by_unit = np.empty(units.max())

    def add_up(self, tensors: Sequence[Tensor], turn: int) -> Floats | None:
        """The sums of `output_summaries.py`, (8, outputs), if these can be read; the turn decides where tables
        begin."""
        if not set(map(type, tensors)) <= PLAIN or not all_suit(tensors):
            return None
        assert _kernels is not None
        self._plan[0] = list(map(_data_ptr, tensors))
        if not self._whole:
            self._plan[0] += WIDTH * (turn % self._row_steps * self._columns + turn % self._column_steps)
        found = np.empty((8, len(tensors)))
        _kernels.sum_outputs(self._plan, self._limits, self._by_unit, found)
        return found


class Pairs:
    """Buffers, each for one parameter. Their addresses stay; when those of the parameters are the ones of last time,
    nothing else needs to be asked."""

    def __init__(self, olds: Sequence[Tensor]) -> None:
        self._olds = olds
        self._suited = all(map(suits, olds)) and all(map(_is_contiguous, olds))
        self._known: list[int] = []
        if self._suited:
            # Sizes, and addresses before, now and of gradients: in one array, since every argument of a call costs.
            nothing = np.zeros(len(olds), np.int64)
            self._plan = np.stack([_sizes(olds), _addresses(olds), nothing, nothing])
            self._sizes = self._plan[0].tolist()
            self._gradients = memoryview(self._plan[3])
            self._spare: list[Floats] = []

    def remember(self, news: Sequence[Tensor], addresses: list[int]) -> bool:
        """Copy all, which lie there; says whether that could be done."""
        if self._find(news, addresses):
            assert _kernels is not None
            _kernels.copy(self._plan)
            return True
        return False

    def measure(self, news: Sequence[Tensor], addresses: list[int], *, gradients: bool = False) -> Floats | None:
        """Squared norms of `new - old`, of `new` and perhaps of their gradients: a row each. None if that cannot be
        done; otherwise `old` becomes `new`."""
        if not self._find(news, addresses):
            return None
        assert _kernels is not None
        held = self._find_gradients(news) if gradients else None  # so that no other thread frees them meanwhile
        if not gradients:
            self._plan[3] = self._plan[2]  # the weights once more, which are in the cache
        elif held is None:
            return None
        found = self._room()
        _kernels.sum_changes(self._plan, found)
        return found if gradients else found[:2]

    def _room(self) -> Floats:
        """For results; made many at a time: in a loop that has other things to do, each takes two microseconds."""
        if not self._spare:
            count = len(self._olds)
            self._spare = list(np.empty((max(1, RESULTS_AT_ONCE // count), 3, count)))
        return self._spare.pop()

    def _find_gradients(self, news: Sequence[Tensor]) -> list[Tensor] | None:
        """The gradients, with their addresses in the plan; None if one of them cannot be read."""
        found, float32 = self._gradients, torch.float32  # looked up once: this loop is most of what many tensors take
        held: list[Tensor] = []
        try:
            for place, (new, size) in enumerate(zip(news, self._sizes, strict=True)):
                gradient = new.grad
                if gradient is None or gradient.dtype is not float32 or not gradient.is_contiguous():
                    return None
                address = gradient.data_ptr()
                if gradient.numel() != size or (
                    size and not address
                ):  # no longer as long as its parameter was, or freed
                    return None
                found[place] = address
                held.append(gradient)
        except RuntimeError:  # one is sparse
            return None
        return held

    def _find(self, news: Sequence[Tensor], addresses: list[int]) -> bool:
        if not self._suited:
            return False
        if addresses is not self._known:
            if not all(map(suits, news)) or not all(map(_is_contiguous, news)):
                return False
            if list(map(Tensor.numel, news)) != self._sizes:
                return False
            self._known, self._plan[2] = addresses, addresses
        return True


PLAIN = {Tensor, torch.nn.Parameter}

_dtype = attrgetter("dtype")
_data_ptr = torch.Tensor.data_ptr
_is_contiguous = torch.Tensor.is_contiguous


def _addresses(tensors: Sequence[Tensor]) -> NDArray[np.int64]:
    return np.asarray(list(map(_data_ptr, tensors)), np.int64)


def _sizes(tensors: Sequence[Tensor]) -> NDArray[np.int64]:
    return np.asarray([tensor.numel() for tensor in tensors], np.int64)


def _compiled() -> ModuleType:
    from bedside.collect.reading.native import kernels

    return kernels
