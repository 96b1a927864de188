import math

import numpy as np

from bedside.record.histograms import KIND, Histogram
from bedside.record.run import Event
from bedside.report.instruments import instrument, instruments
from bedside.testing import a_run


def ids(run):
    return [each.id for each in instruments(run)]


def read(run, name):
    return instrument(run, name).read(run)


def test_everything_recorded_is_shown_once():
    run = a_run(
        steps=50,
        loss=list(np.linspace(3, 1, 50)),
        lr=0.1,
        grad_norm={"": 1.0, "a": 1.0, "b": 2.0},
        val_loss=[2.0, 1.0],
        val_accuracy=[0.1, 0.5],
        accuracy=[0.2, 0.6],
        my_number=7.0,
        gradient_noise=3.0,
    )
    assert ids(run) == [
        "loss", "lr", "metric:accuracy", "metric:my_number", "gradient", "layers:grad_norm", "other:gradient_noise",
    ]  # fmt: skip
    shown = {line.key for each in instruments(run) for line in each.read(run).lines}
    assert shown == {"loss", "val/loss", "lr", "grad_norm", "grad_norm/a", "grad_norm/b", "val/accuracy", "accuracy",
                     "my_number", "gradient_noise"}  # fmt: skip


def test_the_loss_is_told_with_its_gap_and_drawn_against_a_blind_guess():
    run = a_run(loss=[2.3] * 50 + [0.5] * 50, val_loss=[2.0, 0.9], config={"classes": 10})
    panel = read(run, "loss")
    assert panel.say == "training 0.5 · validation 0.9 · gap 0.4"
    assert panel.gap == ("loss", "val/loss")
    assert [round(level.value, 3) for level in panel.levels] == [2.303]


def test_a_blind_guess_far_above_the_curve_is_not_drawn():
    assert read(a_run(loss=[0.01] * 100, config={"classes": 10}), "loss").levels == []


def test_a_loss_that_ends_in_nan_says_so():
    assert read(a_run(loss=[1.0] * 50 + [math.nan] * 50), "loss").say == "training NaN at the end"


def test_a_loss_over_many_decades_is_drawn_on_a_logarithm():
    assert read(a_run(loss=list(np.geomspace(10, 1e-3, 50))), "loss").log
    assert not read(a_run(loss=list(np.linspace(3, 1, 50))), "loss").log


def test_clipping_is_counted():
    run = a_run(
        steps=4, loss=1.0, grad_norm=[1.0, 3.0, 0.5, 5.0], grad_norm_clipped=[1.0, 1.0, 0.5, 1.0],
        clip_threshold=1.0, clip_active=[0, 1, 0, 1],
    )  # fmt: skip
    panel = read(run, "gradient")
    assert panel.say == "5 now · clipped at 50 % of the steps · threshold 1"
    assert [line.role for line in panel.lines] == ["training", "validation", "limit"]


def test_layers_have_a_ratio_and_a_table_with_a_word_each():
    run = a_run(steps=20, loss=1.0, grad_norm={"a": 1e-6, "b": 0.0, "c": 0.1, "d": 10.0, "e": math.nan})
    panel = read(run, "layers:grad_norm")
    assert "5 layers" in panel.say
    assert [(row["layer"], row["norm"], row["status"]) for row in panel.extra["table"]] == [
        ("a", "1e-6", "faint"),
        ("b", "0", "no gradient"),
        ("c", "0.1", "in balance"),
        ("d", "10", "dominant"),
        ("e", "NaN", "not finite"),
    ]


def test_containers_are_not_counted_beside_their_layers():
    run = a_run(steps=5, grad_norm={"net": 5.0, "net.0": 3.0, "net.1": 4.0})
    assert [line.label for line in read(run, "layers:grad_norm").lines] == ["net.0", "net.1"]


def test_a_very_deep_model_keeps_its_first_and_last_layer():
    run = a_run(steps=30, grad_norm={f"l{i}": 1.0 for i in range(500)})
    panel = read(run, "layers:grad_norm")
    labels = [line.label for line in panel.lines]
    assert (len(labels), labels[0], labels[-1]) == (120, "l0", "l499")
    assert "500 layers, 120 of them shown" in panel.say


def test_histograms_become_columns_of_shares():
    events = [
        Event(step, KIND, {"weights": {"w": Histogram.of_values([0.5, 0.6, -3.0, 0.0]).packed()}}) for step in (0, 100)
    ]
    panel = read(a_run(loss=[1.0] * 200, events=events), "histograms:weights")
    (one,) = panel.extra["owners"]
    assert one["steps"] == [0, 100]
    assert one["rows"][0] == "-4 to -2"
    assert one["rows"][-1] == "0.5 to 1"
    assert one["shares"][0][-1] == 0.5
    assert sum(one["shares"][0]) == 1.0


def test_a_metric_says_its_best_where_it_is_known_which_way_is_better():
    run = a_run(loss=[1.0] * 10, val_accuracy=[0.2, 0.9, 0.8], val_widgets=[1, 3, 2])
    assert read(run, "metric:accuracy").say == "validation 0.8, best 0.9"
    assert read(run, "metric:widgets").say == "validation 2"
