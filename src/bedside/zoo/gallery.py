"""The gallery of failures: real runs of the zoo as cards that the live page shows, packed into one file.

    python -c "from bedside.zoo.gallery import write; write()"

The file is made once and shipped, so that a reader needs neither torch nor patience. A card has the curves of every
severity beside the healthy twin's, the gradient of each layer, what bedside says about it, and what to do.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import bedside.live
from bedside.zoo.cards import curves_of
from bedside.zoo.readouts import readouts
from bedside.zoo.run_cache import CACHE, TWIN, recorded
from bedside.zoo.specimen import Specimen
from bedside.zoo.specimens import find_specimen

FILE = Path(bedside.live.__file__).with_name("gallery.json")
SEED = 100  # the guide's
CURVES = ("loss", "val/loss", "grad_norm", "lr")

SECTIONS: dict[str, tuple[str, ...]] = {
    "What the loss looks like": (
        "textbook", "learning-rate-ten", "learning-rate-1e-6", "oscillating-loss", "hundred-examples", "underfitting",
        "bad-batch", "nan-from-module-four",
    ),
    "Gradients": ("ten-sigmoid-layers", "exploding-depth", "dead-layer", "clipping-too-tight", "detached-backbone"),
    "Overfitting, and what cures it": ("overfitting-uncured",),
    "Activations": ("dead-relu", "saturated-tanh", "collapsed-attention", "symmetric-units"),
    "Schedules and loops": ("missing-warmup", "schedule-ended-early", "no-zero-grad", "double-softmax"),
    "Data": ("labels-torn-from-inputs", "validation-scaled-otherwise", "lopsided-labels"),
}  # fmt: skip
# The same loss on top, four different stories below: (what it is called, specimen, severity).
REGIMES = (
    ("healthy", "ten-sigmoid-layers", TWIN),
    ("vanishing", "ten-sigmoid-layers", "severe"),
    ("exploding", "exploding-depth", "mild"),
    ("dead layer", "dead-layer", "marked"),
)


def gallery(seed: int = SEED, cache: Path = CACHE) -> dict[str, Any]:
    """All cards, by section, with the runs they show."""
    wanted = dict.fromkeys(name for names in SECTIONS.values() for name in names)
    return {
        "sections": [{"title": title, "cards": list(names)} for title, names in SECTIONS.items()],
        "regimes": [{"title": title, "card": name, "severity": severity} for title, name, severity in REGIMES],
        "cards": {name: _card(find_specimen(name), seed, cache) for name in wanted},
    }


def write(seed: int = SEED, cache: Path = CACHE, path: Path = FILE) -> Path:
    path.write_text(json.dumps(gallery(seed, cache), allow_nan=False, separators=(",", ":")) + "\n", encoding="utf-8")
    return path


def _card(specimen: Specimen, seed: int, cache: Path) -> dict[str, Any]:
    card = curves_of(specimen, seed, cache)
    runs = {}
    for severity, run in card["runs"].items():
        kept = {key: run[key] for key in ("severity", "steps", "verdict", "onset", "diagnosis", "prescription")}
        curves = {key: points for key, points in run["curves"].items() if key in CURVES}
        ends_with = readouts(recorded(specimen, severity, seed, cache))
        runs[severity] = kept | {"curves": curves, "layers": run["layers"].get("grad_norm", {}), "readouts": ends_with}
    return {key: card[key] for key in ("name", "title", "kind", "line")} | {"runs": runs}
