"""Plain text logs: nanoGPT, llm.c, OLMo, Megatron, DeepSpeed, Python `logging`, tqdm, and anything that prints numbers.

There is no pattern per project. A line is cut at its numbers, and the words before a number are its name:
`iter 250: loss 1.23, time 5ms` has iter = 250, loss = 1.23, time = 5. One of the names is the step; a line
without one belongs to the step before it. `line_numbers.py` does the cutting, `clock.py` finds the
step, this module follows the run.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from bedside.logs.filtered_nan import recover_filtered
from bedside.logs.formats.log_format import HEAD, UTF_16, Format, Unreadable, as_utf8, encoding_of
from bedside.logs.formats.text.bare_splits import name_bare_splits
from bedside.logs.formats.text.boxes import in_one_line
from bedside.logs.formats.text.clock import EPOCHS, STEPS, Clock, counts
from bedside.logs.formats.text.columns import SKIPS, clean
from bedside.logs.formats.text.decimal_commas import with_points
from bedside.logs.formats.text.line_numbers import Found
from bedside.logs.formats.text.line_shapes import Shapes
from bedside.logs.formats.text.names import column_of, has_training_loss, told_apart
from bedside.logs.formats.text.tables import row_of
from bedside.logs.formats.text.unnamed_steps import with_names_in_front
from bedside.logs.formats.text.whole_curves import add_curves, curves_in
from bedside.logs.formats.text.yolo_console import with_yolo_scores
from bedside.logs.hidden_nan import recover_nones
from bedside.logs.log import Log
from bedside.logs.numbers import number
from bedside.naming.config_names import settings_in_text
from bedside.naming.metric_names import read_name

MAX_LINE_LENGTH = 2**15  # characters that are looked at; nobody prints a longer record
MAX_NAMES = 5_000
OTHER_BAR = "other bar: "  # before the names of what stands in bars of another length
TURNS = 2  # returns to the first length that make it a habit
A_DUMP = 20  # numbers in a line that says config or Namespace: a printed configuration, not a record
RECENT = 500  # readings among which a rounded one is looked for: a best is announced at once, or at the end
MANY_DIGITS = 15  # of a number that nobody rounded
ENOUGH_READINGS = 10  # readings that make lines without any step a log
_SKIPPED = re.compile(
    r"(?i)\boverflow\b(?!\s*[:=]\s*(?:0|false))|\bskipp(?:ed|ing)\s+(?:this\s+|the\s+)?(?:step|batch|update|iteration)\b"
)
_FINAL = re.compile(r"(?i)final[ _](?=\w)")
_NEW_SCALE = re.compile(r"(?i)(?:reducing to|new (?:loss )?scale:?|loss scale to)\s*(\d[\d.eE+]*)")


def _without_final(names: tuple[str, ...]) -> tuple[str, ...]:
    """`Epoch 3 | Final Loss: 19.5`: what was final for an epoch is its reading, not one about the whole run."""
    if not any(counts(name) in EPOCHS for name in names) or not any(_FINAL.match(name) for name in names):
        return names
    return tuple([_FINAL.sub("", name) for name in names])


class _Reader:
    """Where in the run the text is, and what it has said so far."""

    def __init__(self) -> None:
        self.log = Log("text")
        self.clock = Clock()
        self.shapes = Shapes()
        self.header: list[str] = []  # of a table in the text
        self.split = ""  # what the current lines measure
        self.unclocked = Log("text")  # readings before any step was known
        self.trains = False  # the current line has a training loss
        self.last_evaluation: dict[str, tuple[float, str]] = {}  # in a bar: its epoch and value
        self.carried: dict[str, tuple[float, float, float]] = {}  # step, value, line: perhaps of the epoch before
        self.repeated: set[str] = set()  # evaluations of an epoch before that a bar shows on its way
        self.full = True  # no progress bar in the current line says that there is more to come
        self.skips: tuple[float | None, int] = (None, 0)  # since which step, how many
        self.line = 0
        self.curves: dict[str, list[float]] = {}  # that were printed whole
        self.bars: list[float] = []  # the lengths of training's bars, as they took turns

    def read(self, text: str) -> None:
        self.line += 1
        shape = self.shapes.of(text)
        skipped = shape.skips and bool(_SKIPPED.search(text))
        found: Sequence[Found] = (row_of(text, self.header) if self.header else []) or shape.read(text)
        if "[" in text and not any(counts(each.name) in (*STEPS, *EPOCHS) for each in found) and self._curves(text):
            return
        if skipped and not any(each.name.lower() in STEPS for each in found):
            self._skipped(text)
            return
        if not found:
            self.header = shape.header or self.header
            self.split = shape.split or self.split
            return
        names = tuple([each.name for each in found])
        apart = told_apart(_without_final(names))
        if apart != names:
            found = [replace(each, name=name) for each, name in zip(found, apart, strict=True)]
        self.trains = has_training_loss(apart, tuple([each.section for each in found]), shape.split)
        if shape.announces and not self.trains and self._known_already(found, shape.split or self.split):
            return
        if (self.clock.step is None and not self.trains) or shape.config or shape.command:
            for key, value in settings_in_text(text).items():
                self.log.config.setdefault(key, value)
            if shape.command or (len(found) > A_DUMP and shape.config):
                return
        if shape.summary:
            return
        other_bar = self._other_bar(found, shape.split)
        said = self.clock.read(found, evaluating=shape.split in ("val", "test"), trains=self.trains)
        if shape.split or said:  # a record of its own ends what the line before was about
            self.split = shape.split
        self.full = not any(not each.name and each.total and each.value < each.total for each in found)
        read: set[tuple[str, str]] = set()
        for each in found:
            if each.name not in said and (each.section, each.name) not in read:  # again: an average of it
                read.add((each.section, each.name))
                self._metric(each, other_bar)
        if skipped:
            self.log.add(SKIPS, self.clock.step or 0.0, 1.0, float(self.line))

    def _curves(self, text: str) -> bool:
        """Whether whole curves stand in the line; the longest of each name is kept."""
        curves = curves_in(text)
        for name, values in curves.items():
            if len(values) > len(self.curves.get(name, ())):
                self.curves[name] = values
        return bool(curves)

    def _known_already(self, found: Sequence[Found], split: str) -> bool:
        """Whether a line that speaks of the best weights only repeats what was read before, rounded or not: of an
        earlier step, or at a step that was evaluated already."""
        clock, known = self.clock, []
        epochs = [each.value - (clock.epoch or 0.0) for each in found if counts(each.name) in EPOCHS]
        steps = [each.value - (clock.step or 0.0) for each in found if counts(each.name) in STEPS]
        if any(ahead > 0 for ahead in (*epochs, *steps)):
            return False
        earlier = any(ahead < 0 for ahead in (*epochs, *steps))
        for each in found:
            column = column_of(each.name, each.section, split)
            if column is None or not column.known:
                continue
            before = self.log.columns.get(column.name)
            if before is None or not (earlier or before.steps[-1] == clock.step):
                return False
            digits = len(repr(each.value).partition(".")[2])
            rounded = 1 < digits < MANY_DIGITS and any(round(v, digits) == each.value for v in before.values[-RECENT:])
            known.append(rounded or each.value in before.values)
        return bool(known) and all(known)

    def _other_bar(self, found: Sequence[Found], split: str) -> bool:
        """Whether the line is another bar than that of the training, though it names the same things."""
        bar = next((each.total for each in reversed(found) if not each.name and each.total), None)  # not 20000/50000
        if bar is None or not self.trains or split or any(each.section for each in found):
            return False
        if self.bars[-1:] != [bar]:
            self.bars.append(bar)
        return bar != self.bars[0]

    def _metric(self, each: Found, other_bar: bool = False) -> None:
        column = column_of(each.name, each.section, self.split)
        if column is None:
            return
        if other_bar and read_name(column.name).kind in ("loss", "metric"):
            self._add(f"{OTHER_BAR}{column.name}", self.clock.step or 0.0, each.value, float(self.line))
            return
        step, line = self.clock.step, float(self.line)
        if each.blank:
            self.log.blank(column.name, step or 0.0, line)
            return
        if step is None:
            if column.known:
                self.unclocked.add(column.name, line, each.value, line)
            if not (column.known and column.evaluated):
                return  # before the first step only an evaluation of the untrained model is a reading
        value = each.value / each.total if each.total and column.counted else each.value  # 9842/10000
        if column.repeated and self._told_before(column.name, value):
            return
        self._add(column.name, step or 0.0, value, line)

    def _add(self, name: str, step: float, value: float, line: float) -> None:
        if name in self.log.columns or len(self.log.columns) < MAX_NAMES:
            self.log.add(name, step, value, line)

    def _told_before(self, name: str, value: float) -> bool:
        """A progress bar repeats the last evaluation beside the training loss until the next one replaces it.

        The same value in the next epoch is a reading of its own only if it still stands there when the bar is full.
        """
        if not self.trains or self.clock.epoch is None:
            return False
        evaluation = (self.clock.epoch, str(value))  # NaN is equal to itself here
        before, self.last_evaluation[name] = self.last_evaluation.get(name), evaluation
        if before is None or before[1] != evaluation[1]:
            if before is not None and before[0] != evaluation[0]:
                self._keep_carried(name)
            self.carried.pop(name, None)
            return False
        if before[0] != evaluation[0]:
            self._keep_carried(name)
        elif name not in self.carried:
            return True  # printed in this epoch
        self.carried[name] = (self.clock.step or 0.0, value, float(self.line) if self.full else math.nan)
        if not self.full:
            self.repeated.add(name)
        return True

    def _keep_carried(self, name: str) -> None:
        """The epoch is over, and nothing replaced what stood there when it began."""
        step, value, line = self.carried.pop(name, (0.0, 0.0, math.nan))
        if not math.isnan(line):  # the bar was full
            self._add(name, step, value, line)

    def _skipped(self, text: str) -> None:
        step = self.clock.step
        self.skips = (step, self.skips[1] + 1 if self.skips[0] == step else 1)
        at = (step or 0.0) + self.skips[1]
        self.log.add(SKIPS, at, 1.0, float(self.line))
        scale = _NEW_SCALE.search(text)
        value = number(scale[1].rstrip(".")) if scale else None
        if value is not None:
            self.log.add("loss_scale", at, value, float(self.line))

    def _settle_bars(self) -> None:
        """Bars of two lengths that take turns are training and evaluation; else the length has changed on the way."""
        turns = sum(after == self.bars[0] for after in self.bars[1:])
        for name in [name for name in self.log.columns if name.startswith(OTHER_BAR)]:
            column, plain = self.log.columns.pop(name), name.removeprefix(OTHER_BAR)
            if turns >= TURNS and len(set(self.bars)) == 2:
                self.log.columns.setdefault(f"val/{read_name(plain).metric}", column)
            else:
                for step, value, order in zip(column.steps, column.values, column.order, strict=True):
                    self.log.add(plain, step, value, order)

    def finish(self) -> Log:
        for name in list(self.carried):
            self._keep_carried(name)
        self.log.axis = self.clock.axis if self.clock.step is not None else "step"
        if self.clock.step is None and max(map(len, self.unclocked.columns.values()), default=0) >= ENOUGH_READINGS:
            self.log.columns.update(self.unclocked.columns)
            self.log.note("No line has a step: lines were counted.")
        self.log.parts_add_up = {"box_loss", "cls_loss"} <= {name.lower() for name in self.log.columns}  # Ultralytics
        for what, length in self.clock.length.items():
            self.log.config.setdefault(what, length)
        if add_curves(self.log, self.curves):
            self.log.axis = "epoch"
        self._settle_bars()
        name_bare_splits(self.log)
        recover_nones(self.log)
        recover_filtered(self.log)
        clean(self.log, bars_repeat=self.clock.epoch is None, repeated=self.repeated)
        return self.log


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
                file.seek(at - at % 2)  # UTF-16 has two bytes a letter
                found += b"\n\0"[: 1 + found.startswith(UTF_16[0])] + file.read(HEAD).partition(b"\n")[2]
    return as_utf8(found)


def read(paths: Sequence[Path], part: str = "") -> Log:
    log = read_lines(lines_of(paths[0]))
    if not log:
        raise Unreadable("no line of it has a loss or a metric with a step")
    return log


def lines_of(path: Path) -> Iterator[str]:
    """The lines of a file; a progress bar's carriage returns end lines too, and endless lines are cut."""
    with open(path, encoding=encoding_of(path), errors="replace", newline=None) as file:
        begins = True
        while line := file.readline(MAX_LINE_LENGTH):
            if begins:
                yield line
            begins = line.endswith("\n")


def read_lines(lines: Iterable[str]) -> Log:
    reader = _Reader()
    for line in in_one_line(with_names_in_front(with_yolo_scores(with_points(lines)))):
        reader.read(line)
    return reader.finish()


FORMAT = Format("text", "a text log with steps and losses", recognises, read)
