"""bedside itself: one line, and its findings as it ranks them, by their message alone. Previews count as notes."""

from __future__ import annotations

import tempfile

import bedside
from peers.listener import NOTE, Listener, Said, level
from peers.scenarios import Training


class Adapter(Listener):
    def start(self, training: Training) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.monitor = bedside.watch(training.model, training.optimizer, run_dir=f"{self.folder.name}/run", quiet=True)

    def said(self) -> list[Said]:
        with self.folder, self.monitor:
            findings = self.monitor.diagnose().findings
        return [
            Said(
                f"{f.code} {f.name}",
                f.message,
                NOTE if f.preview else level(f.severity.word),
                tuple(f.where),
                (f.first_step,),
            )
            for f in findings
        ]
