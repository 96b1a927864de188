"""Lines that differ in the digits of their numbers only are taken apart once.

A log prints the same few lines for ever, with other numbers. What a line is about, where its numbers stand and what
they are called depends on everything but those digits, so it is worked out once per shape.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from bedside.logs.formats.text.line_numbers import Found, Spot, lead, spots_in, tidy
from bedside.logs.formats.text.tables import header_in
from bedside.naming.name_parts import SPLITS, split_words

MAX_SHAPES = 5_000  # shapes remembered; a log with more is not a log of records
MAX_LINE_LENGTH = 2_000  # characters of a line that is worth remembering
# Numbers that are not part of a word: in `g0_loss` the 0 is its name, and so are 95 in `mAP50-95` and 5 in `top 5`.
_FREE = re.compile(r"((?<![tT][oO][pP][ -])(?<![\w@.#])(?<![a-zA-Z]\d-)(?<![a-zA-Z]\d\d-)\d[\d.,]*)")
_SAME_DIGIT = str.maketrans("123456789", "000000000")
_SKIPS = re.compile(r"(?i)\boverflow\b|\bskipp(?:ed|ing)\b")
_CONFIG = re.compile(r"(?i)(?:namespace|config|args|arguments|settings)\w{0,40}\s{0,9}[({:=]")
_COMMAND = re.compile(r"\s--\w[\w-]*[ =][^\n]*\s--\w")
_SUMMARY = re.compile(r"train_runtime")  # what the HF Trainer prints about the whole run
_ANNOUNCES = re.compile(r"(?i)\b(?:best|sav(?:ed|ing)|load(?:ed|ing)|restor(?:ed|ing))\b")
_EVALUATING = re.compile(r"(?i)\bevaluat|\bvalidat|\bsaving dict for\b")  # the last: TensorFlow's Estimator


@dataclass
class Shape:
    """What a line is about, whatever its digits are."""

    spots: list[Spot]
    split: str  # train, val, test: what it says it measures
    header: list[str]  # the names, if it is the first line of a table
    skips: bool  # it speaks of overflow or of something skipped; the digits decide
    config: bool  # it speaks of settings
    command: bool  # a command line with options
    summary: bool  # about the whole run
    announces: bool  # it speaks of the best weights, or of weights that were saved or loaded

    def read(self, line: str) -> list[Found]:
        return [spot.read(line) for spot in self.spots]


class Shapes:
    """The shapes of one log."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], Shape] = {}

    def of(self, line: str) -> Shape:
        if len(line) > MAX_LINE_LENGTH:
            return _shape(line)
        pieces = _FREE.split(line)
        key = ("\0".join(pieces[::2]), "\0".join(pieces[1::2]).translate(_SAME_DIGIT))
        shape = self._known.get(key)
        if shape is None:
            shape = _shape(line)
            if len(self._known) < MAX_SHAPES:
                self._known[key] = shape
        return shape


def _shape(line: str) -> Shape:
    plain = tidy(line)
    spots = spots_in(plain)
    return Shape(
        spots,
        _split(lead(plain)),
        [] if spots else header_in(plain),
        bool(_SKIPS.search(line)),
        bool(_CONFIG.search(line)),
        bool(_COMMAND.search(line)),
        bool(_SUMMARY.search(line)),
        bool(_ANNOUNCES.search(line)),
    )


def _split(lead: str) -> str:
    """What a line says it measures before its first number: `Evaluating perplexity`, `TRAIN [`, `valid |`."""
    if _EVALUATING.search(lead):
        return "val"
    return next((SPLITS[word] for word in split_words(lead[-80:]) if word in SPLITS and len(word) > 2), "")
