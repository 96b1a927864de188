"""The numbers of one line of text, each with the words that stand before it.

>>> [(f.name, f.value) for f in line_numbers("iter 250: loss 1.23, time 5ms")]
[('iter', 250.0), ('loss', 1.23), ('time', 5.0)]
>>> [(f.name, f.value, f.total) for f in line_numbers("[step=10/1000,epoch=0] | lm loss: 1.5E+00 |")]
[('step', 10.0, 1000.0), ('epoch', 0.0, None), ('lm loss', 1.5, None)]
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from bedside.logs.numbers import WRAPPING
from bedside.naming.name_parts import SPLITS, split_words

_ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
# Dates, clock times, versions, addresses and paths hold digits that are not readings.
# Every alternative that begins with digits looks back first, so that a long row of digits is tried once.
_NOT_READINGS = re.compile(
    r"""(?x)
    ^\s*[IWEF]\d{4}\s\d{2}:\d{2}:\d{2}\.\d{1,9}\s+\d{1,20}\s[^\]\s]{1,200}\]                # glog: Caffe, JAX
  | (?<![\d.])\d{4}[-/]\d{1,2}[-/]\d{1,2}(?:[T ]\d{1,2}:\d{2}(?::\d{2})?(?:[.,]\d{1,9})?)?Z?   # dates
  | (?<![\w.@])\d{1,3}:\d{2}(?::\d{2})?(?:[.,]\d{1,9})?(?!\w)                            # clock times, not `@1:34.1`
  | (?<!\w)\w{1,200}\.(?:py|cpp|cc|cu|json|txt|log|npy|bin|pt|pth)(?::\d+)?              # files and their lines
  | (?<![\w.])[A-Za-z_][\w.]{0,80}:[A-Za-z_<]\w{0,80}>?:\d+                               # module:function:line
  | \[\w{1,80}(?:\.\w{1,80}){1,20}:\d+\]                                                   # [module.function:line]
  | \[?\b(?i:rank|pid)[:=]?\s*\d+\]?:?                                                     # ranks, processes
  | (?<![\w.])\d{1,12}-(?=\d{1,12}(?:epoch|batch|iter|step))                              # 101-200batch
  | ^\s*\d{1,9}:\s                                                                        # srun's rank prefix
  | (?<![\w.])\d{1,9}(?:\.\d{1,9}){2,20}(?![\w.])                                         # versions, addresses
  | (?<![\w.])\d{1,12}(?:\.\d{1,12})?\s?(?:it|s|ex|tok|steps?|batch(?:es)?|samples?|iters?|examples?)
        /(?:s|it|sec|step|batch)\w*\b(?!\s*[=:])                                           # speeds, not `tok/s=`
  | (?<!\d)\d{1,3}%\|[^|]*\|                                                              # a progress bar
    """
)
# What stands before the level in a line of Python's logging: time, host, module, line. It is not a reading.
_LEVEL = re.compile(r"^.{0,160}?\b(?:INFO|WARNING|WARN|DEBUG|ERROR|CRITICAL)\b\]?:?(?:(?<=:)[\w.]+:)?")
_NUMBER = re.compile(
    r"""(?x)
    (?<![\w.@\#])(?P<ordinal>\d{1,15})(?P<of>epoch|batch|iter|step|update)(?:e?s)?(?![a-zA-Z0-9_])  # ESPnet: 3epoch
  | (?<![\w.@\#])(?<![a-zA-Z]\d-)(?<![a-zA-Z]\d\d-)
        (?P<number>[-+]?(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?(?!\d|,\d)|\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?)
        (?!\d*[a-zA-Z]{4})                                                                # 3DBall is a name
        (?P<unit>\s?%|[a-zA-Z]{0,3}(?![\w.]))?
        (?:(?:\s*/\s*|\sof\s)(?P<total>\d{1,15})(?![\w.]))?
  | (?<![\w./\-])(?<!\bof\s)(?P<special>[-+]?(?:nan|NaN|NAN|inf|Inf|INF|infinity|Infinity|None|null))
        (?:\.0+)?(?![\w./\-])  # Lightning's bar prints nan.0
    """
)
# A full stop ends a sentence behind a whole word or a unit: `3DBall. Step: 9. Time: 10 s. Mean`, not `Avg. loss`.
# `top 1 acc: 0.7`, `Top-5: 0.9`: the digit belongs to the name.
_TOP = re.compile(
    r"(?i)\btop[ _-]?(?P<k>\d{1,2})(?:[ _-](?P<what>acc(?:uracy)?|err(?:or)?|prec(?:ision)?)\b|(?<=[ -]\d)(?=\s?[:=]))"
)
_CUT = re.compile(r"[,;，；|│\t{}()\[\]<>]|\s-\s|\s{2,}|(?<=[a-zA-Z]{5})\.\s|(?<=^s)\.\s|(?<=\ss)\.\s|^\.\s")
TIMES = frozenset(("us", "ms", "s", "sec", "min"))
_EDGES = " \t:：=\"'`*#>-~/+"
NONE = frozenset({"None", "null"})
MAX_NUMBERS_IN_A_LINE = 2_000
_CLOSES = re.compile(r"\s?\)\s?[:=]")
_AT = re.compile(r"(?i)(.+?)\s(?:at|in|of|after|on|for)\s(epoch|step|iteration|iter|episode|round)$")
_BAR_OF = re.compile(r"(?i)\b(steps?|iters?|iterations?|updates?)\s?:?\s{0,4};\s*$")  # `Steps:  10%|█  | 100/1000`
_ALONE = re.compile(r"\](?!\[)")
LEADING = "[]"  # the name of a number in brackets that a line begins with
# `[valid] loss=2`, `| Val: loss 2`, `'val': {'loss': 2`: what follows is measured there, until the line says another.
_SECTION = re.compile(
    r"(?i)(?:^|(?<=[\s|,;\[(\]{'\"]))(train(?:ing)?|val(?:id(?:ation)?)?|test(?:ing)?|eval(?:uation)?|dev)"
    r"(?:\s?(?:[\]):]|\s-\s)\s{0,4}(?=[a-zA-Z])|['\"]:\s?\{['\"](?=[a-zA-Z]))"
)
# `250 val 6.0727`: a step, a split, and its loss, with nothing that says so.
_BARE = re.compile(
    r"(?i)\s*(?P<step>\d{1,15})[\s,:]+(?P<split>train(?:ing)?|val(?:id(?:ation)?)?|eval|dev|test)[\s,:=]+"
    r"(?P<loss>[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[-+]?\d+)?|[-+]?nan|[-+]?inf)\s*$"
)
# `|grad| = 0.31`, `‖g‖: 0.31`: the bars are part of the name and mean a norm.
_IN_BARS = re.compile(r"(?i)(?:\|{1,2}|‖)\s?(?P<what>[a-z]\w{0,20})\s?(?:\|{1,2}|‖)(?:_?2)?\s?[=:]?\s*$")
_OF_GRADIENTS = frozenset("g grad grads gradient gradients dw".split())
_OF_WEIGHTS = frozenset("w theta weight weights param params".split())
FILLERS = frozenset("is was are of at in on with and the a an".split())  # `Val acc is 86%`


@dataclass
class Found:
    """One number: its name as written, its value, the total in `10/100`, and `[3][10/100]`'s inner count.

    `section` is the split that the line announced before it, as in `train: loss 1 acc 2 | val: loss 3 acc 4`.
    """

    name: str
    value: float
    total: float | None = None
    inner: Found | None = None
    section: str = ""
    blank: bool = False  # `None` stands there
    timed: bool = False  # `Step: 21ms` is how long it took

    @property
    def whole(self) -> bool:
        return not self.timed and math.isfinite(self.value) and self.value == int(self.value) and self.value >= 0


@dataclass
class Spot:
    """Where a number stands in a line, and its name: the same in every line that differs in digits only."""

    name: str
    where: slice
    total: slice | None = None
    percent: bool = False
    inner: Spot | None = None
    section: str = ""
    timed: bool = False

    def read(self, line: str) -> Found:
        written = line[self.where].replace(",", "")
        if written in NONE:
            return Found(self.name, math.nan, section=self.section, blank=True)
        value = float(written)
        return Found(
            self.name,
            value / 100 if self.percent else value,
            float(line[self.total]) if self.total else None,
            self.inner.read(line) if self.inner else None,
            self.section,
            timed=self.timed,
        )


def tidy(line: str) -> str:
    """A line, as long as before, with blanks for colours, log prefixes, dates and other digits."""
    bare = _TOP.sub(_in_one_word, WRAPPING.sub(_blanked, uncoloured(line)))
    return _NOT_READINGS.sub(_fenced, _LEVEL.sub(_blanked, bare, count=1))


def _in_one_word(match: re.Match[str]) -> str:
    """`top 1 acc` as acc__top1, which is as long."""
    what, end = match["what"] or "acc", f"top{match['k']}" if match["what"] else match["k"]
    return what + "_" * (len(match[0]) - len(what) - len(end)) + end


def uncoloured(line: str) -> str:
    return _ANSI.sub(_blanked, line) if "\x1b" in line else line


def _blanked(match: re.Match[str]) -> str:
    return " " * len(match[0])


def _fenced(match: re.Match[str]) -> str:
    return ";" + " " * (len(match[0]) - 1)


def line_numbers(line: str) -> list[Found]:
    """The readings in a line, in order."""
    return [spot.read(line) for spot in spots_in(tidy(line))]


def spots_in(line: str) -> list[Spot]:
    """Where the readings of a tidy line are. A list gives its first element; an average in brackets is left out."""
    bare = _BARE.match(line)
    if bare:
        return [
            Spot("step", slice(*bare.span("step"))),
            Spot(f"{SPLITS[bare['split'].lower()]}/loss", slice(*bare.span("loss"))),
        ]
    found: list[Spot] = []
    end, section, waiting = 0, "", ""  # the last: a name whose number comes after this one
    for match in _NUMBER.finditer(line):
        gap = line[end : match.start()]
        end = match.end()
        announced = _SECTION.findall(gap)
        section = SPLITS[announced[-1].lower()] if announced else section
        name = match["of"] or _name(gap) or waiting
        waiting = ""
        if _CLOSES.match(line, end) and "(" in gap and split_words(name)[-1:] not in (["epoch"], ["step"], ["iter"]):
            waiting = _name(gap.partition("(")[0])  # `avg reward (last 10): 28.1`
            if waiting:
                continue
        at = _AT.match(name)
        if at:  # `Train loss at epoch 3: 0.5`
            waiting, name = at[1], at[2]
        if not found and not name and gap.strip() == "[" and _ALONE.match(line, match.end("number")):
            name = LEADING  # XGBoost and LightGBM: `[10]  train-rmse: 0.5`
        label = _BAR_OF.search(gap) if match["total"] and not name else None
        name = label[1] if label else name
        total = slice(*match.span("total")) if match["total"] else None
        kind = "special" if match["special"] else "ordinal" if match["of"] else "number"
        unit = (match["unit"] or "").strip()
        timed = unit in TIMES and total is None
        each = Spot(name, slice(*match.span(kind)), total, unit == "%", section=section, timed=timed)
        if not name and found and _nests(line, found[-1], each, gap.strip(), end):
            if found[-1].inner is None:
                found[-1].inner = each
            continue
        if name or not found or total:
            found.append(each)  # else the second element of a list, or a running average in brackets
        if len(found) >= MAX_NUMBERS_IN_A_LINE:
            break
    return found


def _nests(line: str, outer: Spot, inner: Spot, between: str, end: int) -> bool:
    """`Train: 3 [10/100`, `Epoch: [3][10/100]`, `[3/90][10/100]` and `[3, 10]`: an epoch, and a count within it."""
    if not line[outer.where].isdigit() or (outer.total and outer.name):
        return False
    if between == ",":
        return (
            outer.name == ""
            and not outer.total
            and line[: outer.where.start].strip() == "["
            and line[end : end + 1] == "]"
        )
    return between == "][" or (between == "[" and inner.total is not None)


def lead(line: str) -> str:
    """What stands before the first number of a tidy line."""
    match = _NUMBER.search(line)
    return line[: match.start()] if match else line


def _name(gap: str) -> str:
    """The words right before a number; in a table they stand in the cell before it."""
    bars = _IN_BARS.search(gap)
    if bars:
        what = bars["what"].lower()
        return "grad norm" if what in _OF_GRADIENTS else "param norm" if what in _OF_WEIGHTS else f"{what} norm"
    pieces = _CUT.split(gap.rstrip(" \t([{\"'"))
    piece = pieces[-1].strip(_EDGES)
    if not piece and len(pieces) > 1 and gap.rstrip().endswith(("|", "│")):
        piece = next((found for found in (each.strip(_EDGES) for each in pieces[-2::-1]) if found), "")
    words = [word for word in piece.split() if word.isascii() or any(map(str.isalnum, word))]  # no pictures
    while words and words[-1].lower() in FILLERS:
        words.pop()
    while words and words[0].lower() in FILLERS:
        words.pop(0)
    return " ".join(words if len(words) <= 5 else words[-2:]).strip(_EDGES)
