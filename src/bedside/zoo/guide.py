"""The guide to hang above the desk: the most common failures on one page, drawn from real runs of the zoo.

Each card has the loss (training, validation, and the healthy twin's in grey), the gradient of every layer, how much of
the differences between inputs is left after every layer, and what to do.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from html import escape
from pathlib import Path

from bedside.analysis.leaf_modules import leaves
from bedside.errors import BadOption, BedsideError
from bedside.record.run import Run
from bedside.record.vocabulary import GRAD_NORM
from bedside.zoo.drawing import HELD_OUT, TRAIN, TWIN, bars, curves
from bedside.zoo.run_cache import CACHE, recorded
from bedside.zoo.run_cache import TWIN as HEALTHY
from bedside.zoo.specimens import find_specimen

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
PIXELS_PER_MM = 96 / 25.4  # of a page, by definition
SCALE = 300 / 96  # a PNG for print has 300 dots per inch
A4 = (210, 297)
LAST = 20  # readings at the end that stand for a layer
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
        "Overfitting",
        "hundred-examples",
        "severe",
        "Training falls on, validation turns and climbs.",
        "More data, augmentation, weight decay.",
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

STYLE = """
@page{size:A4 portrait;margin:0}
*{box-sizing:border-box}
body{margin:0;width:210mm;height:297mm;padding:7mm 7mm 0;color:#20242a;background:#fff;
 font-family:Helvetica,Arial,'DejaVu Sans',sans-serif;-webkit-print-color-adjust:exact;print-color-adjust:exact}
h1{font-size:25pt;line-height:1;margin:0 0 1.5mm}
p.legend{font-size:11.5pt;margin:0 0 3mm}
p.legend b{padding:0 .3em}
main{display:grid;grid-template-columns:1fr 1fr;gap:3.2mm}
section{border:.4mm solid #20242a;border-radius:2mm;padding:2mm 2.4mm;height:62.6mm;overflow:hidden}
section.well{border-color:#2e8b57;border-width:.8mm}
h2{font-size:17pt;line-height:1;margin:0 0 1.2mm;white-space:nowrap}
.plots{display:flex;gap:1mm}
.see,.do{font-size:12.5pt;line-height:1.16;margin:1mm 0 0}
.do{font-weight:700}
.do::before{content:"→ ";color:#c62a2f}
section.well .do::before{color:#2e8b57}
footer{font-size:9pt;margin-top:2mm;display:flex;justify-content:space-between}
svg{display:block}
"""


def write_guide(output: Path, seed: int, cache: Path = CACHE) -> None:
    """Write the guide as .html, .pdf or .png; the last two need a browser to print with."""
    kind = output.suffix.lower()
    if kind not in (".html", ".pdf", ".png"):
        raise BadOption(
            f"The guide cannot be written as {output.name!r}.",
            expected="a name that ends in .html, .pdf or .png",
            try_="bedside zoo guide -o guide.pdf",
        )
    browser = _browser() if kind != ".html" else ""
    page = guide_page(seed, cache)
    if kind == ".html":
        output.write_text(page, encoding="utf-8")
        return
    with tempfile.TemporaryDirectory(prefix="bedside-guide-") as folder:
        source = Path(folder) / "guide.html"
        source.write_text(page, encoding="utf-8")
        _print(browser, source, output.absolute(), folder)


def guide_page(seed: int, cache: Path = CACHE) -> str:
    """The page, self-contained."""
    cards = "".join(_card(card, seed, cache) for card in CARDS)
    legend = (
        f'<b style="color:{TRAIN}">training loss</b><b style="color:{HELD_OUT}">validation loss</b>'
        f'<b style="color:#8b929c">the same run, healthy</b><b style="color:#c62a2f">¦ it begins</b>'
        " Bars: one per layer, log scale."
    )
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>What is wrong with my training?</title>'
        f"<style>{STYLE}</style></head><body><h1>What is wrong with my training?</h1>"
        f'<p class="legend">{legend}</p><main>{cards}</main>'
        "<footer><span>Real runs: bedside zoo run NAME</span><span>bedside zoo guide</span></footer></body></html>\n"
    )


def _card(card: Card, seed: int, cache: Path) -> str:
    specimen = find_specimen(card.specimen)
    run = recorded(specimen, card.severity, seed, cache)
    lines = [(run.series("loss"), TRAIN), (run.series("val/loss"), HELD_OUT)]
    mark = None
    if specimen.sick:
        lines.insert(0, (recorded(specimen, HEALTHY, seed, cache).series("loss"), TWIN))
        mark = specimen.onset_in(run) or None
    size = {"width": 21.5, "height": 36}
    plots = (
        curves(lines, width=46, height=36, title="loss", steps=run.steps, mark=mark)
        + bars(_gradients(run), title="gradient", decades=6.0, healthy_above=QUIET, **size)
        + bars(_signal(run), title="signal left", decades=4.0, healthy_above=FAINT, **size)
    )
    well = "" if specimen.sick else " class=well"
    return (
        f'<section{well}><h2>{escape(card.title)}</h2><div class="plots">{plots}</div>'
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
    """The step from which on the loss is no number, if there is one: layers are shown as they were before."""
    import numpy as np

    bad = run.loss.steps[~np.isfinite(run.loss.values)]
    return int(bad[0]) if len(bad) else run.steps


def _browser() -> str:
    for name in BROWSERS:
        if path := shutil.which(name):
            return path
    raise BedsideError(
        "No browser was found to print the guide with.",
        expected=f"one of {', '.join(BROWSERS)}; the HTML page needs none",
        try_="apt-get install chromium, or: bedside zoo guide -o guide.html",
    )


def _print(browser: str, source: Path, output: Path, profile: str) -> None:
    width, height = (round(side * PIXELS_PER_MM) for side in A4)
    how = (
        [f"--print-to-pdf={output}", "--no-pdf-header-footer"]
        if output.suffix.lower() == ".pdf"
        else [f"--screenshot={output}", f"--window-size={width},{height}", f"--force-device-scale-factor={SCALE}"]
    )
    command = [browser, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={profile}/profile", *how]
    done = subprocess.run([*command, source.as_uri()], capture_output=True, text=True, timeout=120)
    if done.returncode or not output.exists():
        reason = (done.stderr.strip().splitlines() or ["it did not say why"])[-1]
        raise BedsideError(
            f"{Path(browser).name} could not print the guide: {reason}",
            expected="a file after at most two minutes",
            try_="bedside zoo guide -o guide.html, and print it yourself",
        )
