"""Lines that begin with a bare count and a colon, and name their numbers in their own way, put as everybody else does.

Darknet writes each name behind its number; CatBoost calls training "learn" and validation "test". A bare count with a
colon is otherwise the rank that srun puts before each line.

>>> list(with_names_in_front([" 9: 2.5, 2.7 avg loss, 0.001 rate, 4.1 seconds, 576 images, 9.2 hours left"]))
['iter 9: loss 2.5, avg loss 2.7, learning rate 0.001']
>>> list(with_names_in_front(["Epoch #3: loss 0.5", "第4轮 loss 0.4"]))
['Epoch 3: loss 0.5', 'epoch 4,  loss 0.4']
>>> list(with_names_in_front(["step_200:\\tloss_-4.1"]))
['step 200:\\tloss -4.1']
>>> list(with_names_in_front(["10:\\tlearn: 0.51\\ttest: 0.62\\tbest: 0.62 (10)\\ttotal: 5s\\tremaining: 9s"]))
['iter 10: train loss 0.51, val loss 0.62']
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from bedside.naming.metric_names import read_name

_COUNTED = re.compile(r"\s*(?P<count>\d{1,12}):\s+(?P<rest>\S.*)")
_NUMBERED = re.compile(r"(?i)\b(epoch|step|iter(?:ation)?|episode|round|update)\s?#\s?(?=\d)")
_NTH = re.compile(r"(?i)第\s{0,3}(\d{1,12})\s{0,3}(?:/\s{0,3}(\d{1,12})\s{0,3})?(轮|个?\s?epoch|个?周期|步|次迭代)")
_VALUE = r"(?P<value>[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?|[-+]?nan|[-+]?inf)"
_BEHIND = re.compile(rf"(?i)\s*{_VALUE}(?:\s+(?P<name>[a-z][a-z ]{{0,30}}?))?\s*")
_LEARN = re.compile(rf"(?i)learn: {_VALUE}(?:\s+test: (?P<test>\S+))?\s")
MEANINGS = {
    "": "loss",
    "avg": "avg loss",
    "rate": "learning rate",
}  # what stands without a name is the loss of this very step
_STEP_JOINED = re.compile(r"(?i)^\s{0,20}(epoch|step|iter(?:ation)?|update)_(\d{1,15})(?=[\s:,;|])")
_VALUE_JOINED = re.compile(
    r"(?i)(?<![\w/.])([a-z]{1,20}(?:_[a-z]{1,20}){0,3})_([-+]?\d{1,20}\.\d{1,20}(?:e[-+]?\d{1,3})?|[-+]?nan|[-+]?inf)"
    r"(?![\w.]|\s?[:=])"
)
MAX_FIELDS = 20
MAX_LENGTH = 500  # characters of such a line


def with_names_in_front(lines: Iterable[str]) -> Iterator[str]:
    for line in lines:
        if "#" in line or "第" in line:
            line = _NTH.sub(_counted, _NUMBERED.sub(r"\1 ", line))
        joined = _STEP_JOINED.match(line)
        if joined is not None and len(line) <= MAX_LENGTH:
            line = f"{joined[1]} {joined[2]}{_VALUE_JOINED.sub(_apart, line[joined.end() :])}"
        yield (_put_otherwise(line) if len(line) <= MAX_LENGTH else "") or line


def _counted(match: re.Match[str]) -> str:
    total = f"/{match[2]}" if match[2] else ""
    return f"{'step' if match[3] in ('步', '次迭代') else 'epoch'} {match[1]}{total}, "


def _apart(match: re.Match[str]) -> str:
    return f"{match[1]} {match[2]}"


def _put_otherwise(line: str) -> str:
    counted = _COUNTED.match(line)
    if counted is None:
        return ""
    learn = _LEARN.match(counted["rest"] + " ")
    if learn is not None:
        test = f", val loss {learn['test']}" if learn["test"] else ""
        return f"iter {counted['count']}: train loss {learn['value']}{test}"
    fields = counted["rest"].split(",")
    found = [_BEHIND.fullmatch(field) for field in fields] if 2 < len(fields) <= MAX_FIELDS else []
    named = [(MEANINGS.get(each["name"] or "", each["name"]), each["value"]) for each in found if each is not None]
    if len(named) != len(fields) or not any(read_name(name).kind == "loss" for name, _ in named[1:]):
        return ""
    pairs = [f"{name} {value}" for name, value in named if read_name(name).kind in ("loss", "metric", "lr")]
    return f"iter {counted['count']}: {', '.join(pairs)}"
