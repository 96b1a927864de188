"""What an experiment returns: it prints, plots, serialises, and can be written into a run's record."""

from __future__ import annotations

import base64
import dataclasses
import io
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from bedside.errors import BadOption, install_extra
from bedside.report.json import plain
from bedside.report.lab_results import MAX_PICTURE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


class Result:
    """The base of every result. A subclass is a frozen dataclass with `lines`, and `draw` where there is a picture."""

    experiment: ClassVar[str]
    panels: ClassVar[int] = 1  # pictures beside each other

    def lines(self) -> Iterable[str]:
        """The answer first, then what it rests on."""
        raise NotImplementedError

    def draw(self, *axes: Axes) -> None:
        """The picture, on axes that `plot` made."""
        raise NotImplementedError

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def to_json(self) -> dict[str, Any]:
        """Plain dicts and lists for `json.dumps`; NaN and infinity are the strings "NaN" and "Infinity"."""
        fields = {field.name: plain(getattr(self, field.name)) for field in dataclasses.fields(self)}  # type: ignore[arg-type]  # every subclass is a dataclass
        return {"experiment": self.experiment, "text": str(self), **fields}

    def plot(self, path: str | Path | None = None) -> Figure:
        """A matplotlib figure, saved where `path` says: the ending chooses PNG, SVG or PDF."""
        figure = _figure(self.panels, type(self).draw is Result.draw, self.experiment)
        self.draw(*figure.axes)
        if path is not None:
            _save(figure, Path(path))
        return figure

    def picture(self) -> str | None:
        """The picture as a PNG in base64; None where there is none, or nothing to draw it with."""
        if type(self).draw is Result.draw:
            return None
        try:
            figure = self.plot()
        except BadOption:  # matplotlib is not installed
            return None
        drawn = io.BytesIO()
        figure.savefig(drawn, dpi=80, format="png")
        encoded = base64.b64encode(drawn.getvalue()).decode("ascii")
        return encoded if len(encoded) <= MAX_PICTURE else None

    def _repr_html_(self) -> str:
        from html import escape

        picture = self.picture()
        drawn = f'<img alt="{escape(self.experiment)}" src="data:image/png;base64,{picture}">' if picture else ""
        return f"<pre>{escape(str(self))}</pre>{drawn}"


def _figure(panels: int, nothing_to_draw: bool, experiment: str) -> Figure:
    if nothing_to_draw:
        raise BadOption(f"{experiment} has no picture.", expected="print(result)", try_="result.to_json()")
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise BadOption(
            "matplotlib is not installed.", expected="matplotlib for plots", try_=install_extra("lab")
        ) from None
    figure = Figure(figsize=(6.4 * panels, 3.8), layout="constrained")
    FigureCanvasAgg(figure)  # no window and no global state: pyplot is left to the user
    figure.subplots(1, panels)
    return figure


def _save(figure: Figure, path: Path) -> None:
    known = set(figure.canvas.get_supported_filetypes())
    if path.suffix.lstrip(".").lower() not in known:
        raise BadOption(
            f"No picture can be saved as {path.name!r}.",
            expected="a name that ends in .png, .svg or .pdf",
            try_=f"result.plot({str(path.with_suffix('.png'))!r})",
        )
    figure.savefig(path, dpi=80)
