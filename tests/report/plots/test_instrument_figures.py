import numpy as np
import pytest

from bedside.report.instruments import instrument
from bedside.report.instruments.panel import Mark
from bedside.report.plots.instrument_figures import draw, write_figures
from bedside.report.plots.smoothing import moving_mean
from bedside.testing import a_run


@pytest.fixture
def run():
    loss = np.geomspace(3, 0.1, 300)
    loss[250:] = np.nan
    return a_run(
        loss=loss, val_loss=[2.0, 1.0, 0.5], lr=0.1, grad_norm={"": 1.0, "a": 0.1, "b": 1.0}, config={"classes": 10}
    )


def test_the_loss_is_drawn_raw_and_smoothed_with_the_onset(run):
    axes = draw(instrument(run, "loss").read(run), marks=[Mark(40, "LOS101 begins, 40")]).axes[0]
    labels = axes.get_legend_handles_labels()[1]
    assert labels[:3] == ["training loss, raw", "mean of 6", "validation loss, 3 evaluations"]
    assert "LOS101 begins, 40" in labels
    raw = axes.lines[0]
    assert np.isnan(raw.get_ydata()[-1])
    assert axes.get_title(loc="left") == "Training and validation loss"


def test_layers_are_a_map_with_the_first_on_top(run):
    axes = draw(instrument(run, "layers:grad_norm").read(run)).axes[0]
    assert axes.images[0].get_array().shape == (2, 200)
    assert [label.get_text() for label in axes.get_yticklabels()] == ["a", "b"]


def test_every_chart_becomes_a_file(run, tmp_path):
    names = sorted(path.name for path in write_figures(run, tmp_path / "charts"))
    assert names == ["gradient.png", "layers-grad_norm.png", "loss.png", "lr.png"]
    assert all((tmp_path / "charts" / name).read_bytes().startswith(b"\x89PNG") for name in names)


def test_a_moving_mean_after_a_spike_keeps_its_digits():
    values = np.ones(100)
    values[3] = 1e11
    means = moving_mean(values, 6)
    assert np.allclose(means[10:], 1.0)
