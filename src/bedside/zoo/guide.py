"""The guide to hang above the desk: the most common failures on one page, drawn from real runs of the zoo.

Each card has the loss (training, validation, and the healthy twin's in grey), the gradient of every layer, how much of
the differences between inputs is left after every layer, and what to do.
"""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from pathlib import Path

from bedside.analysis.leaf_modules import leaves
from bedside.errors import BadOption
from bedside.record.run import Run
from bedside.record.vocabulary import GRAD_NORM
from bedside.zoo.drawing import HELD_OUT, TRAIN, TWIN, bars, curves
from bedside.zoo.guide_style import FIT, PAPERS, style
from bedside.zoo.printing import find_browser, print_page
from bedside.zoo.readouts import readouts
from bedside.zoo.run_cache import CACHE, recorded
from bedside.zoo.run_cache import TWIN as HEALTHY
from bedside.zoo.specimens import find_specimen

LAST = 20  # readings at the end that stand for a layer
SHORT = {"training": "train", "validation": "val", "gradient norm": "gradient"}  # so that four fit on a line
QUIET, FAINT = 1e-3, 1e-2  # of the loudest layer: below it a bar is red


@dataclass(frozen=True)
class Card:
    """One failure: where it comes from in the zoo, what to look for, and what to do."""

    title: str
    specimen: str
    severity: str
    see: str
    do: str


CARDS = (
    Card("Healthy", "textbook", "only", "Both curves fall and flatten together.", "Go on."),
    Card(
        "Diverging",
        "learning-rate-ten",
        "severe",
        "The loss leaves at once and stays away.",
        "Learning rate ÷ 10. Stop this run.",
    ),
    Card(
        "Stuck",
        "learning-rate-1e-6",
        "marked",
        "Flat at chance, with healthy gradients.",
        "Learning rate × 10. Check the optimizer.",
    ),
    Card(
        "Oscillating",
        "oscillating-loss",
        "marked",
        "Bounces between two walls and gets no lower.",
        "Learning rate ÷ 3, or decay it. A larger batch.",
    ),
    Card(
        "Overfitting",
        "hundred-examples",
        "severe",
        "Training falls on, validation turns and climbs.",
        "More data, augmentation, weight decay.",
    ),
    Card(
        "Underfitting",
        "underfitting",
        "marked",
        "Both curves flatten together, far too high.",
        "A larger model, longer training, less decay.",
    ),
    Card(
        "Vanishing gradient",
        "ten-sigmoid-layers",
        "severe",
        "The front gets next to nothing of the gradient.",
        "ReLU or GELU, He init, norms, skips.",
    ),
    Card(
        "Dead layer",
        "dead-layer",
        "marked",
        "No gradient before it, no signal behind it.",
        "Check biases, init, learning rate.",
    ),
    Card(
        "Spike",
        "bad-batch",
        "severe",
        "One batch throws the weights off.",
        "Look at that batch. Clip the gradient.",
    ),
    Card(
        "Sudden NaN",
        "nan-from-module-four",
        "only",
        "A good curve that ends between two steps.",
        "First layer not finite? log, sqrt, ÷ 0, fp16.",
    ),
)


def write_guide(output: Path, seed: int, cache: Path = CACHE, paper: str = "a4") -> None:
    """Write the guide as .html, .pdf or .png; the last two need a browser to print with."""
    kind = output.suffix.lower()
    if kind not in (".html", ".pdf", ".png"):
        raise BadOption(
            f"The guide cannot be written as {output.name!r}.",
            expected="a name that ends in .html, .pdf or .png",
            try_="bedside zoo guide -o guide.pdf",
        )
    browser = find_browser() if kind != ".html" else ""
    page = guide_page(seed, cache, paper, on_screen=kind != ".html")
    if kind == ".html":
        output.write_text(page, encoding="utf-8")
    else:
        print_page(browser, page, output, PAPERS[paper])


def guide_page(seed: int, cache: Path = CACHE, paper: str = "a4", *, on_screen: bool = False) -> str:
    """The page, self-contained; `on_screen` shows it as it will be on paper."""
    cards = "".join(_card(card, seed, cache) for card in CARDS)
    legend = (
        f'<b style="color:{TRAIN}">training loss</b><b style="color:#b35600">validation loss</b>'
        f'<b style="color:#6b727c">the same run, healthy</b><b style="color:#c62a2f">¦ it begins</b>'
        "Bars: layers, front on top, log."
    )
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>What is wrong with my training?</title><style>{style(paper, on_screen=on_screen, cards=len(CARDS))}"
        f"</style></head><body{' class=paper' if on_screen else ''}><h1>What is wrong with my training?</h1>"
        f'<p class="legend">{legend}</p><main>{cards}</main>'
        "<footer><span>Real runs: bedside zoo run NAME</span><span>bedside zoo guide</span></footer>"
        f"<script>{FIT}</script></body></html>\n"
    )


def _card(card: Card, seed: int, cache: Path) -> str:
    specimen = find_specimen(card.specimen)
    run = recorded(specimen, card.severity, seed, cache)
    lines = [(run.series("loss"), TRAIN), (run.series("val/loss"), HELD_OUT)]
    mark = None
    if specimen.sick:
        lines.insert(0, (recorded(specimen, HEALTHY, seed, cache).series("loss"), TWIN))
        mark = specimen.onset_in(run) or None
    size = {"width": 21.5, "height": 29}
    plots = (
        curves(lines, width=46, height=29, title="loss", steps=run.steps, mark=mark)
        + bars(_gradients(run), title="gradient", decades=6.0, healthy_above=QUIET, **size)
        + bars(_signal(run), title="signal left", decades=4.0, healthy_above=FAINT, **size)
    )
    numbers = " · ".join(f"{SHORT.get(name, name)} <b>{escape(said)}</b>" for name, said in readouts(run))
    well = "" if specimen.sick else " class=well"
    return (
        f'<section{well}><h2>{escape(card.title)}</h2><div class="plots">{plots}</div><p class="numbers">{numbers}</p>'
        f'<p class="see">{escape(card.see)}</p><p class="do">{escape(card.do)}</p></section>'
    )


def _gradients(run: Run) -> dict[str, float]:
    before = _lost_at(run)
    return {each.owner: each.before(before).median(LAST) for each in leaves(run, GRAD_NORM)}


def _signal(run: Run) -> dict[str, float]:
    """How much the outputs of each layer still differ between inputs, for the layers that have a gradient."""
    before = _lost_at(run)
    owners = [each.owner for each in leaves(run, GRAD_NORM) if each.owner in run.owners("batch_variation")]
    return {owner: run.series("batch_variation", owner).before(before).median(LAST) for owner in owners}


def _lost_at(run: Run) -> int:
    """The step from which on the loss is not a number, if there is one: layers are shown as they were before."""
    import numpy as np

    bad = run.loss.steps[~np.isfinite(run.loss.values)]
    return int(bad[0]) if len(bad) else run.steps
