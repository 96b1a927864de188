"""torch-audit, patched in. Its default of an audit every 1000 steps would see one step of 300, so: every 10."""

from __future__ import annotations

from torch_audit import autopatch

from peers.listener import Listener, Said, level, module_of, once_each
from peers.scenarios import Training


class Adapter(Listener):
    def start(self, training: Training) -> None:
        self.auditor = autopatch(training.model, optimizer=training.optimizer, every_n_steps=10)

    def said(self) -> list[Said]:
        result = self.auditor.finish(report=False)
        self.auditor.unpatch()
        return once_each(
            Said(
                f"{f.rule_id} {result.rules[f.rule_id].title}",
                f.message,
                level(f.severity.value),
                (module_of(f.module_path),) if f.module_path and f.module_path != "global" else (),
                () if f.step is None else (f.step,),
            )
            for f in result.findings
        )
