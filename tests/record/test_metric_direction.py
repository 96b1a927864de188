from __future__ import annotations

import pytest

from bedside.record.metric_direction import full_score, goes_up, has_code_book, is_loss


@pytest.mark.parametrize(
    "name",
    ["accuracy", "val/acc_0", "val/mean_average_precision", "val/bleu", "val/ssim", "val/dice_coef", "valAUC", "val/f1",
     "val/eval_mlm_accuracy", "recall@10", "val/top5"],
)  # fmt: skip
def test_knows_what_should_rise(name):
    assert goes_up(name) is True


@pytest.mark.parametrize(
    "name",
    ["loss", "val/loss", "val/ctc_loss", "val/wer", "val/fid", "val/rmse", "val/perplexity", "val/error_rate",
     "val/binary_crossentropy", "val/dice_loss", "train/ploss_0", "val/accuracy_loss"],
)  # fmt: skip
def test_knows_what_should_fall(name):
    assert goes_up(name) is False


@pytest.mark.parametrize("name", ["val/num_examples", "grad_norm", "lr", "epoch", "val/runtime", "samples_per_second"])
def test_admits_what_it_does_not_know(name):
    assert goes_up(name) is None


def test_an_error_rate_is_no_loss():
    assert [is_loss(name) for name in ("val/loss", "val/ctc_loss", "val/g0_loss")] == [True] * 3
    assert [is_loss(name) for name in ("val/wer", "val/accuracy")] == [False] * 2


def test_a_share_that_an_average_carried_a_hair_above_one_is_no_percentage():
    assert full_score("train/accuracy", 1.0087) == 1.0
    assert full_score("train/accuracy", 1.03) == 100.0


def test_a_code_book_is_known_by_what_is_logged_beside_its_perplexity():
    assert has_code_book(["loss", "val/recon_error", "val/perplexity"])
    assert has_code_book(["train/vq_loss", "train/perplexity"])
    assert not has_code_book(["loss", "val/perplexity", "val/code_accuracy"])
