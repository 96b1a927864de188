"""One reader of metric names: what `monitor.log` makes of a name is what a log with that column makes of it."""

from __future__ import annotations

import pytest
import torch

import bedside

# Spelling -> the series it is. A run that is watched has a training loss and a rate of its own, so that names of
# those are kept beside them (`train/loss`) instead of replacing every fiftieth of their readings.
SPELLINGS = {
    "val_loss": "val/loss", "val/loss": "val/loss", "valid_loss": "val/loss", "validation_loss": "val/loss",
    "validation/loss": "val/loss", "eval_loss": "val/loss", "eval/loss": "val/loss", "dev_loss": "val/loss",
    "dev/loss": "val/loss", "Loss/val": "val/loss", "Loss/valid": "val/loss", "loss/validation": "val/loss",
    "Val Loss": "val/loss", "valLoss": "val/loss", "ValLoss": "val/loss", "vloss": "val/loss",
    "val_ce_loss": "val/loss",
    "val_nll": "val/loss", "Validation Loss": "val/loss", "holdout_loss": "val/loss", "eval.loss": "val/loss",
    "loss_val": "val/loss", "val_total_loss": "val/loss", "evaluation/loss": "val/loss", "val_losses": "val/loss",
    "val_recon_loss": "val/loss", "val_acc": "val/accuracy", "val_accuracy": "val/accuracy",
    "val/acc": "val/accuracy", "eval_accuracy": "val/accuracy", "Accuracy/val": "val/accuracy",
    "dev_acc": "val/accuracy", "valid/top1": "val/accuracy", "val_f1": "val/f1", "eval/f1": "val/f1",
    "val_auc": "val/auc", "val_bleu": "val/bleu", "eval_rougeL": "val/rouge_l", "val/mAP50": "val/map50",
    "val_wer": "val/wer", "val_perplexity": "val/perplexity", "eval_ppl": "val/perplexity", "val_iou": "val/iou",
    "val_dice_coef": "val/dice_coef", "val_mae": "val/mae", "val_rmse": "val/rmse", "val_r2": "val/r2",
    "train_acc": "train/accuracy", "train/accuracy": "train/accuracy", "acc": "train/accuracy",
    "accuracy": "train/accuracy", "train_f1": "train/f1", "reward": "train/reward", "Accuracy/train": "train/accuracy",
    "test_loss": "val/loss", "test/acc": "val/accuracy", "Loss/test": "val/loss",
    "val/pile/loss": "val/loss/pile", "eval/c4/loss": "val/loss/c4",
    "temperature": "temperature", "my_number": "my_number", "entropy_bonus": "entropy_bonus",
    "kl_loss": "part/kl_loss", "train_recon_loss": "part/recon_loss",
    "vali_loss": "val/loss", "Vali Loss": "val/loss", "heldout_loss": "val/loss", "held_out/loss": "val/loss",
    "held-out loss": "val/loss", "cv_loss": "val/loss", "xval_loss": "val/loss", "crossval_loss": "val/loss",
    "valid_1's l2": "val/1_l2", "valid_0's binary_logloss": "val/loss", "eval-logloss": "val/loss",
    "validation-rmse": "val/rmse", "test-mlogloss": "val/loss", "val_loss_epoch": "val/loss",
    "epoch_val_acc": "val/accuracy", "test.loss": "val/loss", "loss(val)": "val/loss", "loss [val]": "val/loss",
    "val|loss": "val/loss", "val:loss": "val/loss", "devLoss": "val/loss", "avg_val_loss": "val/loss",
    "loss/val/total": "val/loss", "validation loss (epoch)": "val/loss", "dev_ppl": "val/perplexity",
    "lm loss validation": "val/loss", "lm loss validation PPL": "val/perplexity", "Val/Acc@1": "val/accuracy",
    "val_hit@10": "val/hit_top10", "metrics/mAP50(B)": "train/map50_b", "train/box_loss": "part/box_loss",
    "val/box_loss": "val/loss", "eval/mean_reward": "val/mean_reward", "eval/rewards/mean": "val/mean/rewards",
    "rollout/ep_rew_mean": "train/rollout_ep_rew_mean", "val_iou_epoch": "val/iou", "mae_val": "val/mae",
    "val_sparse_categorical_accuracy": "val/sparse_categorical_accuracy", "val bits per byte": "val/bits_per_byte",
    "best_val_acc": "best_val_acc", "eval_runtime": "eval_runtime", "tokens_per_second": "tokens_per_second",
    "val_loss/dataloader_idx_1": "val/loss/dataloader_idx_1", "train_loss_epoch": "loss_epoch",
}  # fmt: skip
STEPS = 6
VALUES = [3.0, 2.5, 2.0, 1.75, 1.5, 1.25]


def watched(tmp_path, log):
    """The run of six steps, with `log(monitor, step)` after each."""
    model = torch.nn.Linear(2, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with bedside.watch(model, optimizer, run_dir=tmp_path / "live", quiet=True) as monitor:
        for step in range(STEPS):
            optimizer.zero_grad()
            model(torch.ones(4, 2)).square().mean().backward()
            optimizer.step()
            log(monitor, step)
    return bedside.load(tmp_path / "live")


def table(tmp_path, columns):
    """The same as a CSV, beside a training loss as every watched run has it."""
    file = tmp_path / "log.csv"
    rows = [["step", "train_loss", *columns]]
    rows += [[step, 5 - 0.1 * step, *(values[step] for values in columns.values())] for step in range(STEPS)]
    file.write_text("\n".join(",".join(map(str, row)) for row in rows))
    return bedside.load(file)


def test_there_are_a_hundred_spellings():
    assert len(SPELLINGS) >= 100


@pytest.mark.parametrize("name", SPELLINGS)
def test_a_name_is_the_same_series_live_and_from_a_file(tmp_path, name):
    live = watched(tmp_path, lambda monitor, step: monitor.log({name: VALUES[step]}))
    file = table(tmp_path, {name: VALUES})
    key = SPELLINGS[name]
    assert live[key].values.tolist() == file[key].values.tolist() == VALUES


RISING = [
    1.0,
    0.7,
    0.5,
    0.45,
    0.43,
    0.45,
    0.5,
    0.56,
    0.63,
    0.7,
    0.78,
    0.86,
    0.94,
    1.02,
    1.1,
    1.18,
    1.26,
    1.34,
    1.4,
    1.5,
]


@pytest.mark.parametrize("name", ["val_loss", "dev_loss", "Loss/val"])
def test_overfitting_is_found_whatever_the_validation_loss_is_called(tmp_path, name):
    torch.manual_seed(0)
    model = torch.nn.Linear(8, 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    target = torch.randn(8, 1)
    with bedside.watch(model, optimizer, run_dir=tmp_path / "live", quiet=True) as monitor:
        for step in range(400):
            inputs = torch.randn(32, 8)
            loss = (model(inputs) - inputs @ target).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if step % 20 == 19:
                monitor.log({name: RISING[step // 20]})
        found = monitor.diagnose()
    assert "overfitting" in [each.name for each in found.findings]


# Names that only their neighbours explain, and the losses that they imply.
TOGETHER = {
    ("val_ppl",): {"val/perplexity", "val/loss"},
    ("eval/c4/loss", "eval/pile/loss"): {"val/loss/c4", "val/loss/pile", "val/loss"},
    ("val_set_a_loss", "val_set_a_acc"): {"val/loss/set_a", "val/accuracy/set_a", "val/loss"},
    ("val_loss_epoch", "val_loss_step"): {"val/loss", "val_loss_step"},
    ("val/box_loss", "val/cls_loss"): {"val/box_loss", "val/cls_loss"},
    ("test_loss", "test_ppl"): {"val/loss", "val/perplexity"},
}


@pytest.mark.parametrize("names", TOGETHER, ids=" and ".join)
def test_names_that_are_logged_together_are_the_same_series(tmp_path, names):
    live = watched(tmp_path, lambda monitor, step: monitor.log(dict.fromkeys(names, VALUES[step])))
    file = table(tmp_path, dict.fromkeys(names, VALUES))
    for run in (live, file):
        assert {key for key in run if key.startswith(("val", "test"))} == TOGETHER[names]
    for key in TOGETHER[names]:
        assert live[key].values.tolist() == file[key].values.tolist()


def test_test_and_validation_stay_two(tmp_path):
    both = {"val_loss": VALUES, "test_loss": VALUES[::-1]}
    live = watched(tmp_path, lambda monitor, step: monitor.log({name: each[step] for name, each in both.items()}))
    file = table(tmp_path, both)
    for run in (live, file):
        assert run["val/loss"].values.tolist() == VALUES
        assert run["test/loss"].values.tolist() == VALUES[::-1]


def test_what_says_train_stays_training_beside_validation_metrics(tmp_path):
    both = {"val_loss": VALUES, "train/acc": VALUES[::-1]}
    live = watched(tmp_path, lambda monitor, step: monitor.log({name: each[step] for name, each in both.items()}))
    for run in (live, table(tmp_path, both)):
        assert run["train/accuracy"].values.tolist() == VALUES[::-1]
        assert "val/accuracy" not in run


def test_a_bare_metric_beside_a_validation_loss_is_a_validation_metric(tmp_path):
    both = {"val_loss": VALUES, "f1": VALUES[::-1]}
    live = watched(tmp_path, lambda monitor, step: monitor.log({name: each[step] for name, each in both.items()}))
    for run in (live, table(tmp_path, both)):
        assert run["val/f1"].values.tolist() == VALUES[::-1]


def test_a_training_loss_of_the_users_own_does_not_replace_the_one_that_was_read(tmp_path):
    live = watched(tmp_path, lambda monitor, step: monitor.log(train_loss=1000.0))
    assert len(live["loss"]) == STEPS
    assert (live["loss"].values < 100).all()


@pytest.mark.parametrize("axis", ["step", "global_step", "epoch", "tokens"])
def test_axes_are_no_metrics(tmp_path, axis):
    live = watched(tmp_path, lambda monitor, step: monitor.log({"val_loss": VALUES[step], axis: step}))
    assert live["val/loss"].values.tolist() == VALUES
    assert not [name for name in live if name.endswith(("/step", "/epoch", "/tokens", "global_step"))]


def test_a_number_may_name_an_earlier_step(tmp_path):
    late = watched(tmp_path, lambda monitor, step: monitor.log(val_loss=VALUES[step], step=max(0, step - 2)))
    assert late["val/loss"].last_step == STEPS - 3


def test_calls_within_one_evaluation_are_averaged_by_their_weight(tmp_path):
    def evaluate(monitor, step):
        with monitor.validation():
            monitor.log(loss=1.0 + step, n=3)
            monitor.log(loss=5.0 + step, acc=0.5, n=1)

    live = watched(tmp_path, evaluate)
    assert live["val/loss"].values.tolist() == [2.0 + step for step in range(STEPS)]
    assert live["val/accuracy"].values.tolist() == [0.5] * STEPS


def test_a_weight_must_be_a_number_of_samples(tmp_path):
    with pytest.raises(bedside.BedsideError, match="n=0 is not a number of samples"):
        watched(tmp_path, lambda monitor, step: monitor.log(loss=1.0, n=0))
