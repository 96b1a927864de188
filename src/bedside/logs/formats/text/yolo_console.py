"""What YOLO prints on the console, put as everybody else does: losses under short heads, scores under a line of heads.

Its newer versions name their losses (`box_loss`), older ones do not (`box`). Scores stand in a row of their own that
begins with "all", under names which share their line with a progress bar.

>>> heads = "   Class  Images  Labels   P    R  mAP@.5 mAP@.5:.95: 100%|##| 9/9 [00:01<00:00]"
>>> list(with_yolo_scores([heads, "   all  140  300  0.5 0.4 0.6 0.3"]))[1]
'val/precision: 0.5, val/recall: 0.4, val/mAP_50: 0.6, val/mAP_50_95: 0.3'
>>> list(with_yolo_scores(["  Epoch   gpu_mem   box   obj   cls   labels  img_size"]))
['  Epoch   gpu_mem   box_loss   obj_loss   cls_loss   labels  img_size']
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

MAX_LENGTH = 1_000  # characters of such a line, with its bar
_LOSSES = re.compile(
    r"(?i)\s*epoch\s+(?:gpu_)?mem\S*\s+box\s.*\b(?:cls|obj)\b.*\b(?:labels|targets|instances|size|img_size)\b"
)
_PART = re.compile(r"\b(box|obj|cls|dfl|seg|theta)\b(?!_)")
_SCORES = re.compile(r"\s*Class\s+Images\s+(?:Labels|Instances|Targets)\s+(?P<names>\S.{0,200}?):?\s*(?:\d{1,3}%|$)")
_ALL = re.compile(r"\s*all\s+\d{1,9}\s+\d{1,9}\s+(?P<values>[-+\d.e\sna]{1,200})$")
_SHORT = {
    "Box(P": "precision",
    "P": "precision",
    "R": "recall",
    "mAP@.5": "mAP_50",
    "mAP@0.5": "mAP_50",
    "mAP50": "mAP_50",
}
_STRICT = re.compile(r"mAP@?0?\.?50?[:-]0?\.?95\)?")


def with_yolo_scores(lines: Iterable[str]) -> Iterator[str]:
    names: list[str] = []
    for line in lines:
        if len(line) > MAX_LENGTH:
            yield line
            continue
        if _LOSSES.match(line):
            line = _PART.sub(r"\1_loss", line)
        heads = _SCORES.match(line)
        if heads is not None:
            names = [_STRICT.sub("mAP_50_95", _SHORT.get(name, name)) for name in heads["names"].split()]
            yield ""  # its bar counts batches of an evaluation
            continue
        row = _ALL.match(line) if names else None
        values = row["values"].split() if row is not None else []
        if values and len(values) == len(names) and all(name.isidentifier() for name in names):
            line = ", ".join(f"val/{name}: {value}" for name, value in zip(names, values, strict=True))
        yield line
