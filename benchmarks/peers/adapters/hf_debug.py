"""transformers' DebugUnderflowOverflow stops at the first module with NaN or Inf in it. For NaN only."""

from __future__ import annotations

import contextlib
import io
import re

from transformers.debug_utils import DebugUnderflowOverflow

from peers.listener import ERROR, Listener, Said
from peers.scenarios import Training


class Adapter(Listener):
    def start(self, training: Training) -> None:
        self.printed = io.StringIO()
        self.silence = contextlib.redirect_stdout(self.printed)
        self.silence.__enter__()
        self.debugger = DebugUnderflowOverflow(training.model)

    def said(self) -> list[Said]:
        self.silence.__exit__(None, None, None)
        return []

    def raised(self, error: Exception) -> list[Said]:
        self.said()
        if "inf/nan" not in str(error):
            return super().raised(error)
        # Frames are printed in order; the last one is where it stopped: "  4 LogOfNegative".
        frames = re.findall(r"^\s+(\S+) ([A-Z]\w+)$", self.printed.getvalue(), flags=re.MULTILINE)
        name, kind = frames[-1]
        batch = int(re.findall(r"Detected inf/nan during batch_number=(\d+)", self.printed.getvalue())[-1])
        text = f"during batch_number={batch}; last frame: {name} {kind}"
        return [Said("Detected inf/nan", text, ERROR, (name,), (batch,))]
