"""torch.autograd.detect_anomaly stops at the first backward function that returns NaN. For NaN only."""

from __future__ import annotations

import torch

from peers.listener import ERROR, Listener, Said
from peers.scenarios import Training


class Adapter(Listener):
    def start(self, training: Training) -> None:
        torch.autograd.set_detect_anomaly(True)

    def raised(self, error: Exception) -> list[Said]:
        return (
            [Said(str(error).splitlines()[0], severity=ERROR)] if "nan values" in str(error) else super().raised(error)
        )
