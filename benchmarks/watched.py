"""Train a program under `bedside.watch` in a process of its own, and keep what was said about it.

A program is a file with `main(watch)` or, where it has a faulty line, `main(watch, faulty)`. It calls `watch(model,
optimizer)` as anybody calls `bedside.watch`, as often as it likes (five folds, five runs), logs what it logs, and ends
with an assertion that it learned: a healthy program that did not learn is an error of ours, not a healthy program.

With `keep=FOLDER` the records stay there, and a program whose records are there is judged anew without training. What a
live monitor said in passing is then that of the training: judge by a training of its own after a rule has changed.
"""

from __future__ import annotations

import json
import multiprocessing
import random
import runpy
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
ALARMING = ("warning", "error")
NOT_APPLICABLE = "NotApplicable"  # where a program has no place for the fault that was to be put in
OUTCOME = "outcome.json"  # in the folder of a program's records: what its training returned and printed


@dataclass(frozen=True)
class Job:
    """One training: which file, with which random numbers, faulty or not (None: it has no faulty line)."""

    file: str
    seed: int = 0
    faulty: bool | None = None
    fault: str = ""  # one that is put in from outside: an operator of injected/
    steps: int = 0  # of the run without that fault, for faults that come at a share of it

    @property
    def name(self) -> str:
        return Path(self.file).stem.replace("_", "-")

    @property
    def folder(self) -> str:
        """A name for its records, among those of other programs, seeds and twins."""
        twin = {None: "", True: "-faulty", False: "-repaired"}[self.faulty]
        fault = f"{self.fault}/" if self.fault else ""
        return f"{fault}{Path(self.file).parent.name}/{self.name}{twin}-{self.seed}"


@dataclass
class Outcome:
    """What was said about the runs of one program."""

    job: Job
    verdicts: list[str] = field(default_factory=list)
    findings: list[dict[str, Any]] = field(default_factory=list)  # as in the JSON report, primary first, at the end
    loud: list[str] = field(default_factory=list)  # alarms printed while it ran
    questions: list[str] = field(default_factory=list)
    seconds: float = 0.0
    steps: int = 0
    score: float | None = None  # what the program returned, higher is better
    failed: str = ""  # the program's own error: it did not learn, or it broke

    @property
    def alarms(self) -> list[dict[str, Any]]:
        return [finding for finding in self.findings if finding["severity"] in ALARMING]

    @property
    def passing(self) -> list[str]:
        """Alarms that were printed while it ran and are gone at the end."""
        return sorted(set(self.loud) - {finding["name"] for finding in self.findings})

    @property
    def primary(self) -> str:
        return next((finding["name"] for finding in self.alarms if finding["primary"]), "")


def train_all(
    jobs: Iterable[Job], processes: int = 2, everything: bool = False, keep: Path | None = None
) -> Iterator[Outcome]:
    """Train them, so many at a time, each with one thread; outcomes in the order of the jobs."""
    # A new process now and then, so that what a program leaves behind (patched modules, caches) does not add up.
    with multiprocessing.get_context("spawn").Pool(processes, maxtasksperchild=8) as pool:
        yield from pool.imap(train_or_judge, [(job, everything, keep) for job in jobs])


def train_or_judge(what: tuple[Job, bool, Path | None]) -> Outcome:
    job, everything, keep = what
    if keep is None:
        with tempfile.TemporaryDirectory() as folder:
            return train(job, everything, Path(folder))
    folder = keep.resolve() / job.folder
    if (folder / OUTCOME).exists():
        return judge(job, folder)
    folder.mkdir(parents=True, exist_ok=True)
    outcome = train(job, everything, folder)
    kept = {name: getattr(outcome, name) for name in ("score", "failed", "seconds", "loud")}
    (folder / OUTCOME).write_text(json.dumps(kept))
    return outcome


def judge(job: Job, folder: Path) -> Outcome:
    """What is said today of the records that an earlier training left."""
    import bedside

    outcome = Outcome(job, **json.loads((folder / OUTCOME).read_text()))
    for place in sorted((each for each in folder.iterdir() if each.is_dir()), key=lambda each: int(each.name)):
        _keep(outcome, bedside.diagnose(place))
    return outcome


def train(job: Job, everything: bool, folder: Path) -> Outcome:
    import numpy as np
    import torch

    import bedside

    torch.set_num_threads(1)
    torch.manual_seed(job.seed)
    np.random.seed(job.seed)
    random.seed(job.seed)
    if str(HERE) not in sys.path:
        sys.path.insert(0, str(HERE))
    outcome, monitors, spoken = Outcome(job), [], []
    budget = {"budget": None} if everything else {}
    with warnings.catch_warnings(), _injected(job) as injection:
        warnings.simplefilter("ignore")

        def watch(model: Any, optimizer: Any, **more: Any) -> Any:
            if injection is not None:
                injection.watch(model, optimizer)
            place = {} if "resume" in more else {"run_dir": folder / str(len(monitors))}
            monitor = bedside.watch(model, optimizer, **place, quiet=True, on_finding=spoken.append, **budget, **more)
            monitors.append(monitor)
            return monitor

        began = time.perf_counter()
        try:
            main = runpy.run_path(job.file)["main"]
            outcome.score = main(watch) if job.faulty is None else main(watch, job.faulty)
        except Exception:
            outcome.failed = traceback.format_exc(limit=-2)
        except BaseException as error:  # of an injection that has no place in this program
            if type(error).__name__ != NOT_APPLICABLE:
                raise
            outcome.failed = NOT_APPLICABLE
        outcome.seconds = round(time.perf_counter() - began, 1)
        for monitor in monitors:
            monitor.close()
        for place in dict.fromkeys(monitor.run_dir for monitor in monitors):
            _keep(outcome, bedside.diagnose(place))
    loud = {finding.name for finding in spoken if finding.severity.word in ALARMING and not finding.preview}
    outcome.loud = sorted(loud)
    return outcome


def _injected(job: Job) -> AbstractContextManager[Any]:
    if not job.fault:
        return nullcontext()
    from injected.injection import injected

    return injected(job.fault, job.steps)


def _keep(outcome: Outcome, diagnosis: Any) -> None:
    said = diagnosis.to_json()
    outcome.verdicts.append(said["verdict"])
    outcome.findings += said["findings"]
    outcome.steps += said["steps"]
    outcome.questions += [each.question for each in diagnosis.differential]
