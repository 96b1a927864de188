"""stabilityguard wraps the optimizer and skips what it takes for a spike; its reports are the boxes it prints."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from stabilityguard import GuardedOptimizer

from peers.listener import Listener, Said, module_of, once_each
from peers.scenarios import Training


class Adapter(Listener):
    def start(self, training: Training) -> None:
        self.folder = tempfile.TemporaryDirectory()
        training.optimizer = GuardedOptimizer(training.optimizer, training.model, log_dir=self.folder.name)

    def said(self) -> list[Said]:
        with self.folder:
            files = sorted(Path(self.folder.name).glob("spike_step*.json"), key=lambda f: int(f.stem[10:]))
            reports = [json.loads(file.read_text()) for file in files]
        return once_each(map(self.box, reports))

    @staticmethod
    def box(report: dict) -> Said:
        spike, nan = report["snapshot"], ", ".join(sorted(report["nan_layers"]))
        layer = spike["spike_layer"]
        text = f"@ step {spike['step']}; trigger layer {layer}; ratio {spike['spike_ratio']}"
        title = f"SPIKE DETECTED; NaN layers: {nan}" if nan else "SPIKE DETECTED"
        return Said(title, text, where=(module_of(layer),), steps=(spike["step"],))
