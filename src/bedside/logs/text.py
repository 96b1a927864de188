"""Plain text logs: nanoGPT, llm.c, OLMo, Megatron, DeepSpeed, Python `logging`, tqdm, and whoever prints numbers.

There is no pattern per project. A line is cut at its numbers, and the words before a number are its name:
`iter 250: loss 1.23, time 5ms` has iter = 250, loss = 1.23, time = 5. One of the names tells the step; a line
without one belongs to the step before it. `line_numbers.py` does the cutting, this module follows the run.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from bedside.logs.config import settings_in_text
from bedside.logs.format import HEAD, Format, Unreadable
from bedside.logs.line_numbers import Found, lead, line_numbers, tidy
from bedside.logs.log import Column, Log
from bedside.logs.names import SPLITS, read_name, split_words

LONGEST_LINE = 2**15  # characters that are looked at; nobody prints a longer record
LONGEST_NAME = 120
MOST_NAMES = 5_000
SEEN, SHARE = 3, 0.05  # steps, and share of all steps, at which a name nobody knows must stand: less is talk
A_DUMP = 20  # numbers in a line that says config or Namespace: a printed configuration, not a record
# The first of these names in a line is its step: a count over the whole run before one that may begin again.
STEPS = (
    *("global_step", "global_steps", "step", "steps", "iteration", "iterations", "iter", "iters", "it"),
    *("update", "num_updates", "current_steps", "s"),
)
EPOCHS = ("epoch", "epochs", "ep")
BATCHES = ("", "batch", "batches", "minibatch")  # no name at all: a progress bar's 10/100
SKIPS = "skipped steps"  # the column of lines that say so
_MENTIONS = re.compile(r"(?i)overflow|skip(?:ped|ping)")
_SKIP_LINE = re.compile(
    r"(?i)\boverflow\b(?!\s*[:=]\s*(?:0|false))|\bskipp(?:ed|ing)\s+(?:this\s+|the\s+)?(?:step|batch|update|iteration)\b"
)
_NEW_SCALE = re.compile(r"(?i)(?:reducing to|new (?:loss )?scale:?|loss scale to)\s*(\d[\d.eE+]*)")
_CONFIG_LINE = re.compile(r"(?i)(?:namespace|config|args|arguments|settings)\w{0,40}\s{0,9}[({:=]")
_COMMAND_LINE = re.compile(r"\s--\w[\w-]*[ =][^\n]*\s--\w")
_EVALUATING = re.compile(r"(?i)\bevaluat|\bvalidat")


class _Reader:
    """Where in the run the text is, and what it has said so far."""

    def __init__(self) -> None:
        self.log = Log("text")
        self.step: float | None = None
        self.has_steps = False  # some line said a step, so epochs are only epochs
        self.epoch: float | None = None
        self.per_epoch: float | None = None
        self.split = ""  # what the lines at hand measure
        self.skips = 0
        self.line = 0

    def read(self, text: str) -> None:
        self.line += 1
        if _MENTIONS.search(text) and _SKIP_LINE.search(text):
            self._skipped(text)
            return
        line = tidy(text)
        found = line_numbers(line)
        split = _split(lead(line))
        if not found:
            self.split = split or self.split
            return
        if self.step is None or _CONFIG_LINE.search(text):
            for key, value in settings_in_text(text).items():
                self.log.config.setdefault(key, value)
            if _COMMAND_LINE.search(text) or (len(found) > A_DUMP and _CONFIG_LINE.search(text)):
                return
        said = self._clock(found, split)
        if split or said:  # a record of its own ends what the line before was about
            self.split = split
        for each in found:
            if each.name not in said:
                self._metric(each)

    def _clock(self, found: Sequence[Found], split: str) -> set[str]:
        """Take step and epoch from the line; returns the names that told them."""
        by_name: dict[str, Found] = {}
        for each in found:
            name = each.name.lower().rsplit(": ", 1)[-1]  # `Summary: Epoch: 3`
            by_name.setdefault(name.removeprefix("train/").removeprefix("trainer/"), each)
        nested = next((each for each in found if each.inner is not None and each.whole), None)
        step = next((by_name[name] for name in STEPS if name in by_name and by_name[name].whole), None)
        epoch = next((by_name[name] for name in EPOCHS if name in by_name), None)
        batch = next((by_name[name] for name in BATCHES if name in by_name and by_name[name].total), None)
        said = {each.name for each in (nested, step, epoch, batch) if each is not None}
        if split in ("val", "test") and step is None and (nested or batch):
            return said  # batches of an evaluation do not move the run
        if epoch is not None and nested is None:
            self.epoch = epoch.value
            if epoch.total:
                self.log.config.setdefault("epochs", int(epoch.total))
        if nested is not None and nested.inner is not None and nested.inner.total:  # [epoch][batch/batches]
            self.log.config["steps_per_epoch"] = int(nested.inner.total)
            self._at(nested.value * nested.inner.total + nested.inner.value)
        elif step is not None:
            said |= {by_name[name].name for name in (*STEPS, *BATCHES) if name in by_name}
            self._at(step.value)
            if step.total:
                self.log.config.setdefault("max_steps", int(step.total))
        elif batch is not None and batch.total:
            within = self.epoch is not None and (epoch is not None or self.per_epoch == batch.total)
            self.per_epoch = batch.total if within else self.per_epoch
            self._at(batch.value + (batch.total * (self.epoch or 0.0) if within else 0.0))
        elif epoch is not None and not self.has_steps:
            self._at(epoch.value, is_step=False)
        return said

    def _at(self, step: float, *, is_step: bool = True) -> None:
        self.has_steps = self.has_steps or is_step
        self.log.axis = "step" if self.has_steps else "epoch"
        if self.step != step:
            self.skips = 0
        self.step = step

    def _metric(self, each: Found) -> None:
        name = each.name
        meaning = read_name(name)
        if not name or len(name) > LONGEST_NAME or meaning.kind in ("epoch", "clock"):
            return
        judged = meaning.kind in ("loss", "metric")
        if judged and meaning.split in ("val", "test") and not meaning.owner:
            name = f"{meaning.split}/{meaning.metric}"  # `Validation: loss` and `[eval] … loss` are one
        elif judged and self.split in ("val", "test") and not _says_split(name):
            name = f"{self.split}/{meaning.metric}"
        if self.step is None and not (judged and "val" in (self.split, meaning.split)):
            return  # before the first step only an evaluation of the untrained model is a reading
        if name in self.log.columns or len(self.log.columns) < MOST_NAMES:
            self.log.add(name, self.step or 0.0, each.value, float(self.line))

    def _skipped(self, text: str) -> None:
        self.skips += 1
        at = (self.step or 0.0) + self.skips
        self.log.add(SKIPS, at, 1.0, float(self.line))
        scale = _NEW_SCALE.search(text)
        if scale:
            try:
                self.log.add("loss_scale", at, float(scale[1].rstrip(".")), float(self.line))
            except ValueError:
                return


def _split(lead: str) -> str:
    """What a line says it measures before its first number: `Evaluating perplexity`, `TRAIN [`, `valid |`."""
    if _EVALUATING.search(lead):
        return "val"
    return next((SPLITS[word] for word in split_words(lead[-80:]) if word in SPLITS and len(word) > 2), "")


def _says_split(name: str) -> bool:
    return any(word in SPLITS for word in split_words(name))


def recognises(path: Path, head: bytes) -> bool:
    """Text in which some line has a loss or a metric with a step."""
    if b"\0" in head:
        return False
    log = read_lines(head.decode("utf-8", errors="replace").splitlines())
    return any(read_name(name).kind in ("loss", "metric", "grad_norm") for name in log.columns)


def parts_of(path: Path) -> bytes:
    """Beginning, middle and end of a file: a long preamble hides what a log is."""
    size = path.stat().st_size
    with open(path, "rb") as file:
        found = file.read(HEAD)
        for at in (size // 2, size - HEAD):
            if at > HEAD:
                file.seek(at)
                found += b"\n" + file.read(HEAD).partition(b"\n")[2]
    return found


def read(paths: Sequence[Path], part: str = "") -> Log:
    log = read_lines(lines_of(paths[0]))
    if not log:
        raise Unreadable("no line of it has a loss or a metric with a step")
    return log


def lines_of(path: Path) -> Iterator[str]:
    """The lines of a file; a progress bar's carriage returns end lines too, and endless lines are cut."""
    with open(path, encoding="utf-8", errors="replace", newline=None) as file:
        begins = True
        while line := file.readline(LONGEST_LINE):
            if begins:
                yield line
            begins = line.endswith("\n")


def read_lines(lines: Iterable[str]) -> Log:
    reader = _Reader()
    for line in lines:
        reader.read(line)
    _drop_talk(reader.log)
    _skipped_steps(reader.log)
    return reader.log


def _drop_talk(log: Log) -> None:
    """Numbers that nobody knows and that came now and then are talk, not metrics."""
    steps = {name: len(set(column.steps)) for name, column in log.columns.items()}
    needed = max(SEEN, SHARE * max(steps.values(), default=0))
    for name, count in steps.items():
        if read_name(name).kind == "other" and count < needed:
            del log.columns[name]


def _skipped_steps(log: Log) -> None:
    """0 where a step was logged, 1 where one was skipped; a norm printed only on overflow is no vital."""
    skipped = log.columns.pop(SKIPS, None)
    if skipped is None:
        return
    for name, column in list(log.columns.items()):
        kind = read_name(name).kind
        if kind == "grad_norm" and not any(math.isfinite(value) for value in column.values):
            log.note(f"{name} is only printed when a step overflows: read as {len(column)} skipped steps.")
            del log.columns[name]
        elif kind == "skipped":  # a running count of the same
            del log.columns[name]
    made = sorted({step for column in log.columns.values() for step in column.steps} - set(skipped.steps))
    steps = sorted([*((s, 1.0) for s in skipped.steps), *((s, 0.0) for s in made)])
    log.columns[SKIPS] = Column.of((step, skip, step) for step, skip in steps)


FORMAT = Format("text", "a text log with steps and losses", recognises, read)
