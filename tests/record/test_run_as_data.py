from __future__ import annotations

import math

import pytest

from bedside.errors import BedsideError
from bedside.record.series_names import name_of
from bedside.testing import a_run


@pytest.fixture
def run():
    return a_run(
        loss=[3.0, 2.0, 1.0],
        lr=[0.1, 0.1, 0.05],
        grad_norm={"": [1.0, 1.0, 1.0], "embed": [0.1, 0.2, 0.3], "gain": [0.9, 0.8, 0.7]},
    )


def test_series_have_the_names_that_trackers_show(run):
    assert run.keys() == ["train/loss", "lr", "grad_norm/overall", "grad_norm/embed", "grad_norm/gain"]


@pytest.mark.parametrize("name", ["train/loss", "loss"])
def test_a_series_is_found_by_its_name_outside_and_inside(run, name):
    assert run[name].values.tolist() == [3.0, 2.0, 1.0]
    assert name in run


def test_a_module_has_its_own_series(run):
    assert run["grad_norm/gain"].values.tolist() == [0.9, 0.8, 0.7]


@pytest.mark.parametrize("name", ["activation/rms/encoder", "activation_rms/encoder", "zero_fraction/encoder"])
def test_activations_are_found_under_the_names_of_trackers_and_of_vitals(name):
    run = a_run(activation_rms={"encoder": [1.0, 2.0]}, zero_fraction={"encoder": [0.5, 0.5]})
    assert run.keys() == ["activation/rms/encoder", "activation/zero_fraction/encoder"]
    assert run[name].owner == "encoder"
    assert [name_of((run[each].vital, run[each].owner)) for each in run] == run.keys()


def test_a_logged_training_loss_does_not_hide_behind_the_watched_one():
    run = a_run(**{"loss": [3.0, 2.0], "train/loss": [9.0, 8.0]})
    assert run.keys() == ["train/loss", "train/loss_logged"]
    assert run["train/loss"].last == 2.0
    assert run["train/loss_logged"].last == 8.0
    assert [each["values"][-1] for each in run.to_dict().values()] == [2.0, 8.0]


def test_a_run_and_a_series_are_shown_in_one_line(run):
    assert repr(run) == "<Run a-run: 5 series, see .keys()>"
    assert repr(run["loss"]) == "<Series loss: 3 readings, steps 0 to 2, 3 to 1>"
    assert repr(run.series("never")) == "<Series never: no readings>"


def test_an_unknown_name_raises_with_the_nearest_names(run):
    with pytest.raises(BedsideError) as caught:
        run["grad_norm/gian"]
    what, expected, try_ = str(caught.value).splitlines()
    assert what == "No series is called 'grad_norm/gian'."
    assert expected.startswith("  Expected: one of grad_norm/gain")
    assert try_ == "  Try: run.keys()"
    assert "grad_norm/gian" not in run


def test_patterns_choose_several(run):
    assert [each.owner for each in run.select("grad_norm/*")] == ["", "embed", "gain"]
    with pytest.raises(BedsideError, match="No series is called 'dead"):
        run.select("dead*")


def test_a_run_becomes_plain_lists(run):
    assert run.to_dict("lr") == {"lr": {"steps": [0, 1, 2], "values": [0.1, 0.1, 0.05]}}
    assert list(run.to_dict()) == run.keys()


def test_a_run_becomes_a_data_frame():
    pytest.importorskip("pandas")
    run = a_run(loss=[3.0, 2.0, 1.0, 0.5], **{"val/loss": {"": [2.5]}})
    frame = run.to_pandas()
    assert list(frame.columns) == ["train/loss", "val/loss"]
    assert frame.index.name == "step"
    assert frame["train/loss"].tolist() == [3.0, 2.0, 1.0, 0.5]
    assert math.isnan(frame["val/loss"].iloc[0]) or math.isnan(frame["val/loss"].iloc[-1])


def test_a_plot_has_one_panel_for_each_vital(run):
    pytest.importorskip("matplotlib")
    import bedside.report  # noqa: F401  (registers how a run is drawn, as bedside.load does)

    figure = run.plot("loss", "grad_norm/*", smooth=2)
    assert [axis.get_ylabel() for axis in figure.axes] == ["loss", "grad_norm"]
    assert len(figure.axes[1].lines) == 6, "three series, raw and smoothed"
