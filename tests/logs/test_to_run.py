"""Which loss is the loss, what the evaluation sets are, and what a log implies."""

from __future__ import annotations

import numpy as np

from bedside.logs.log import Log
from bedside.logs.to_run import to_run


def a_log(steps=10, *, format="csv", **columns):
    """A Log of plain columns: a list is one value per step, a dict gives step: value."""
    log = Log(format)
    for name, values in columns.items():
        pairs = values.items() if isinstance(values, dict) else enumerate(values)
        for step, value in pairs:
            log.add(name.replace("__", "/"), step, float(value), step)
    return log


FALLING = [10 - i for i in range(10)]


def keys(run):
    return ["/".join(filter(None, key)) for key in run.series_keys]


def test_the_plain_loss_wins_and_parts_stay_parts():
    run = to_run(a_log(loss=FALLING, box_loss=FALLING, cls_loss=FALLING), "x")
    assert set(keys(run)) == {"loss", "part/box_loss", "part/cls_loss"}


def test_a_single_loss_is_the_loss_whatever_it_is_called():
    assert keys(to_run(a_log(train__ctc_loss=FALLING), "x")) == ["loss"]


def test_several_losses_without_a_total_are_kept_as_parts_and_said_so():
    run = to_run(a_log(g_loss=FALLING, d_loss=FALLING), "x")
    assert set(keys(run)) == {"part/g_loss", "part/d_loss"}
    assert "no total" in run.notes[0]


def test_a_dense_loss_is_chosen_over_its_epoch_mean():
    dense = dict.fromkeys(range(100), 5.0)
    log = Log("text")
    for step, value in dense.items():
        log.add("Loss/tok", step, value, step)
    for step in (50, 99):
        log.add("Training Loss", step, 4.0, step)
    run = to_run(log, "x")
    assert len(run.loss) == 100
    assert len(run.series("loss_epoch")) == 2


def test_lightning_gives_a_loss_per_step_and_one_per_epoch():
    run = to_run(
        a_log(train_loss_step=FALLING, train_loss_epoch={4: 7, 9: 2}, val_loss_epoch={9: 3}, val_loss_step=FALLING), "x"
    )
    assert len(run.loss) == 10
    assert run.series("loss_epoch").values.tolist() == [7, 2]
    assert run.series("val/loss").values.tolist() == [3]


def test_evaluation_sets_own_their_losses_and_the_mean_stands_for_them():
    run = to_run(
        a_log(
            loss=FALLING,
            eval_g0_loss=FALLING,
            eval_g0_accuracy=FALLING,
            eval_g1_loss=[2] * 10,
            eval_g1_accuracy=FALLING,
        ),
        "x",
    )
    assert run.owners("val/loss") == ["g0", "g1"]
    assert run.owners("val/accuracy") == ["g0", "g1"]
    np.testing.assert_allclose(run.series("val/loss").values, (np.array(FALLING) + 2) / 2)
    assert any("mean of 2 evaluation sets" in note for note in run.notes)


def test_parts_of_a_validation_loss_are_no_evaluation_sets():
    run = to_run(a_log(loss=FALLING, val_loss=FALLING, val_box_loss=FALLING, val_cls_loss=FALLING), "x")
    assert run.owners("val/loss") == []
    assert {"val/box_loss", "val/cls_loss"} <= set(keys(run))


def test_test_is_validation_when_there_is_no_other():
    only = to_run(a_log(loss=FALLING, test_loss=FALLING), "x")
    assert only.has("val/loss")
    assert any("called test" in note for note in only.notes)
    both = to_run(a_log(loss=FALLING, test_loss=FALLING, val_loss=FALLING), "x")
    assert both.has("test/loss")
    assert both.has("val/loss")


def test_algoperf_evaluates_its_training_set():
    book = {"accumulated_submission_time": FALLING, "preemption_count": FALLING}
    both = to_run(a_log(loss=FALLING, train__loss={1: 3, 9: 2}, train__accuracy={1: 0.1, 9: 0.2}, **book), "x")
    assert both.series("eval_train/loss").values.tolist() == [3, 2]
    assert both.has("eval_train/accuracy")
    alone = to_run(a_log(train__loss={1: 3, 9: 2}, train__accuracy={1: 0.1, 9: 0.2}, **book), "x")
    assert alone.loss.values.tolist() == [3, 2]
    assert alone.has("train/accuracy")
    assert any("takes its place" in note for note in alone.notes)


def test_perplexity_alone_gives_the_loss():
    run = to_run(a_log(val__perplexity=[np.e**2, np.e]), "x")
    np.testing.assert_allclose(run.series("val/loss").values, [2, 1])
    assert any("logarithm" in note for note in run.notes)


def test_clipping_follows_from_its_threshold():
    log = a_log(loss=FALLING, grad_norm=[0.5, 2.0] * 5)
    log.config = {"max_grad_norm": 1.0}
    run = to_run(log, "x")
    assert run.series("clip_active").values.tolist() == [0, 1] * 5
    assert run.series("grad_clip_ratio").values.tolist() == [0.5, 2.0] * 5
    assert set(run.series("clip_threshold").values) == {1.0}


def test_a_norm_that_never_exceeds_the_threshold_was_read_after_clipping():
    log = a_log(loss=FALLING, grad_norm=[1.0, 0.4] * 5)
    log.config = {"max_grad_norm": 1.0}
    run = to_run(log, "x")
    assert not run.has("grad_norm")
    assert run.series("grad_norm_clipped").values.tolist() == [1.0, 0.4] * 5
    assert run.series("clip_active").values.tolist() == [1, 0] * 5


def test_a_module_is_put_together_from_its_parameters():
    log = a_log(
        **{"grad_norm__fc.weight": [3.0] * 10, "grad_norm__fc.bias": [4.0] * 10, "grad_norm__head.weight": [1.0] * 10}
    )
    run = to_run(log, "x")
    assert run.owners("grad_norm") == ["fc", "head"]
    assert run.series("grad_norm", "fc").values.tolist() == [5.0] * 10


def test_lost_model_order_is_restored():
    names = ["lm_head", "blocks.10.ff", "blocks.2.ff", "wte"]
    log = a_log(**{f"grad_norm__{name}": FALLING for name in names})
    log.keeps_order = False
    assert to_run(log, "x").owners("grad_norm") == ["wte", "blocks.2.ff", "blocks.10.ff", "lm_head"]


def test_lone_nonfinite_gradients_are_kept_and_explained():
    run = to_run(a_log(loss=FALLING, grad_norm=[1, np.nan, 1, 1, np.inf, 1, 1, 1, 1, 1]), "x")
    assert np.isfinite(run.series("grad_norm").values).sum() == 8
    assert any("never two in a row" in note for note in run.notes)


def test_a_running_count_of_skips_becomes_single_skips():
    run = to_run(a_log(loss=FALLING, skipped=[0, 0, 1, 1, 3, 3, 3, 3, 3, 4]), "x")
    assert run.series("skipped").values.tolist() == [0, 0, 1, 0, 1, 0, 0, 0, 0, 1]


def test_what_the_user_says_wins():
    run = to_run(
        a_log(loss=FALLING, objective=[1] * 10, noise=FALLING),
        "x",
        {"objective": "loss", "noise": "-", "loss": "part/old"},
    )
    assert run.loss.values.tolist() == [1] * 10
    assert run.has("part/old")
    assert "noise" not in " ".join(keys(run))
    assert run.environment["names"]["objective"] == "loss"


def test_an_unknown_metric_keeps_its_own_name():
    run = to_run(a_log(loss=FALLING, Banana=FALLING), "x")
    assert run.has("Banana")


def test_two_columns_of_one_meaning_do_not_lose_either():
    run = to_run(a_log(**{"eval_accuracy": FALLING, "val/accuracy": FALLING[:5], "loss": FALLING}), "x")
    assert len(run.series("val/accuracy")) == 10
    assert sum("accuracy" in key for key in keys(run)) == 2


def test_a_norm_that_sits_on_one_value_was_clipped_there():
    norms = [0.25] * 40 + [0.21, 0.18, 0.2499999]
    run = to_run(a_log(loss=range(43, 0, -1), grad_norm=norms), "x")
    assert run.series("clip_threshold").last == 0.25
    assert not run.has("grad_norm")
    assert run.series("clip_active").values.sum() == 41
    assert "taken as clipped" in " ".join(run.notes)


def test_norms_that_differ_are_not_taken_as_clipped():
    rng = np.random.default_rng(0)
    run = to_run(a_log(loss=range(43, 0, -1), grad_norm=np.minimum(np.exp(rng.normal(size=43)), 2.5)), "x")
    assert run.has("grad_norm")
    assert not run.has("clip_threshold")


def test_clip_frequencies_in_percent_become_shares():
    run = to_run(a_log(loss=FALLING, clip_freq=[100, 97, 98, 99, 100, 96, 98, 97, 99, 100]), "x")
    assert run.series("clip_active").values.max() == 1.0
