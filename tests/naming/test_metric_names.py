from __future__ import annotations

import pytest

from bedside.naming.metric_names import read_name
from bedside.naming.resolve import resolve


@pytest.mark.parametrize(
    ("name", "split"),
    [
        ("loss", ""), ("train/loss", "train"), ("train_loss", "train"), ("Train Loss", "train"),
        (" train/loss ", "train"),
        ("eval_loss", "val"), ("val_loss", "val"), ("valid.loss", "val"), ("validation/loss", "val"),
        ("Loss/val", "val"),
        ("Loss/train", "train"), ("valLoss", "val"), ("test/loss", "test"), ("dev loss", "val"), ("loss/test", "test"),
        ("lm loss", "train"), ("trl", "train"), ("tel", "val"), ("train/CrossEntropyLoss", "train"),
        ("metrics/eval/LanguageCrossEntropy", "val"), ("loss/train/total", "train"), ("train/CE loss", "train"),
        ("lm loss validation", "val"), ("reduced_train_loss", "train"), ("Train/Samples/train_loss", "train"),
        ("epoch_loss", ""), ("Training Loss", "train"), ("train_losses", "train"),
        ("eval/lm/c4/CrossEntropyLoss", "val"),
    ],
)  # fmt: skip
def test_a_loss_is_a_loss_of_its_split(name, split):
    assert (read_name(name).kind, read_name(name).split) == ("loss", split)


@pytest.mark.parametrize(
    ("name", "owner"),
    [
        ("lr", ""), ("learning_rate", ""), ("learning rate", ""), ("train/learning_rate", ""), ("Train/LR", ""),
        ("lr-AdamW", ""), ("lr-AdamW/pg1", "group_1"), ("lr-AdamW/pg2", "group_2"), ("lr/pg0", ""), ("lr_1", "group_1"),
        ("optim/LR (group 0)", ""), ("optim/LR (group 2)", "group_2"), ("x/lr0", ""), ("x/lr1", "group_1"),
        ("train_lr", ""), ("lr-DecoupledAdamW/group0", ""), ("learning-rate", ""),
        ("adjusted_lr", ""), ("optim/effective_lr", ""), ("scaled learning rate", ""),
        ("optim/learning_rate_group0", ""), ("optim/learning_rate_group3", "group_3"),
    ],
)  # fmt: skip
def test_the_learning_rate_has_many_names(name, owner):
    assert (read_name(name).kind, read_name(name).owner) == ("lr", owner)


@pytest.mark.parametrize("name", ["lr-Adam-momentum", "lr-SGD-weight_decay", "lr_scheduler", "lrp", "flr/x"])
def test_not_everything_that_begins_with_lr_is_one(name):
    assert read_name(name).kind != "lr"


@pytest.mark.parametrize(
    ("name", "owner"),
    [
        ("grad_norm", ""), ("train/grad_norm", ""), ("gradient norm", ""), ("Gradient_Norm", ""), ("gnorm", ""),
        ("global_grad_norm", ""), ("optim/total_grad_norm", ""), ("grad_2.0_norm_total", ""), ("norm", ""),
        ("grad-norm", ""), ("grad_norm/overall", ""), ("total_norm/grad", ""),
        ("l2_norm/grad/global", ""), ("l2_norm/grad/model.blocks.0", "model.blocks.0"), ("optim/total grad norm", ""),
        ("grad_2.0_norm/head.bias", "head.bias"), ("grad_norm/layers.0", "layers.0"), ("encoder/grad_norm", "encoder"),
        ("optim/grad/module.blocks.2.ff.weight.norm", "blocks.2.ff.weight"), ("gradients/fc/norm", "fc"),
    ],
)  # fmt: skip
def test_the_gradient_norm_of_the_whole_and_of_its_modules(name, owner):
    assert (read_name(name).kind, read_name(name).owner) == ("grad_norm", owner)


@pytest.mark.parametrize(
    "name",
    ["grad_provenance/embedding_grad_l2_norm", "optim/exp_avg/module.w.norm", "layer_norm", "batch_norm/mean",
     "optim/grad/module.w.max", "grad_provenance/output_proj_clip_threshold"],
)  # fmt: skip
def test_other_norms_are_no_gradient_norms(name):
    assert read_name(name).kind == "other"


@pytest.mark.parametrize(
    ("name", "split", "metric"),
    [
        ("accuracy", "train", "accuracy"), ("acc", "train", "accuracy"), ("val_acc", "val", "accuracy"),
        ("eval_mlm_accuracy", "val", "mlm_accuracy"), ("validation/wer", "val", "wer"),
        ("val/mAP50-95", "val", "map50_95"),
        ("train/Perplexity", "train", "perplexity"), ("ppl", "train", "perplexity"),
        ("Accuracy/test", "test", "accuracy"),
        ("lm loss validation ppl", "val", "perplexity"), ("metrics/eval/Accuracy", "val", "accuracy"),
        ("train/rewards/accuracies", "train", "rewards_accuracies"), ("Acc@1", "train", "accuracy"),
        ("val_dice_coef", "val", "dice_coef"),
        ("Val Acc (%)", "val", "accuracy"), ("acc1", "train", "accuracy"), ("acc5", "train", "acc5"),
        ("train/acc_0", "train", "acc_0"),
    ],
)  # fmt: skip
def test_metrics_belong_to_a_split(name, split, metric):
    found = read_name(name)
    assert (found.kind, found.split, found.metric) == ("metric", split, metric)


@pytest.mark.parametrize(
    "name",
    ["eval_runtime", "eval_samples_per_second", "validation/num_examples", "throughput/total_tokens", "total_duration",
     "score", "train_steps_per_second", "valid_wps", "valid_num_updates", "eval_interval",
     "final_loss", "best_val_acc", "target_accuracy",
     "lm loss vs samples", "learning-rate vs samples", "", "   ", "x" * 10_000],
)  # fmt: skip
def test_bookkeeping_is_never_judged_as_a_metric(name):
    assert read_name(name).kind == "other"


@pytest.mark.parametrize(
    ("name", "kind"),
    [("loss scale", "loss_scale"), ("loss_scale", "loss_scale"), ("new scale", "loss_scale"), ("epoch", "epoch"),
     ("number of skipped iterations", "skipped"), ("trainer/global_step", "clock"), ("iteration", "clock"),
     ("params norm", "param_norm"), ("l2_norm/param/blocks.0", "param_norm"), ("optim/step skipped",
     "skipped"), ("grad_norm_clipped", "grad_norm_clipped")],
)  # fmt: skip
def test_the_machinery_of_a_loop_is_known(name, kind):
    assert read_name(name).kind == kind


def test_lightning_tells_step_and_epoch_apart():
    assert read_name("train_loss_step").over == "step"
    assert read_name("train_loss_epoch").over == "epoch"
    assert read_name("train_loss_epoch").metric == read_name("train_loss_step").metric == "loss"


def test_a_part_ranks_behind_the_whole():
    ranks = [read_name(name).rank for name in ("loss", "total_loss", "Loss/tok", "box_loss", "loss_cls")]
    assert ranks == [0, 0, 1, 2, 2]


@pytest.mark.parametrize(
    "name", ["closs", "l_pix", "D_A", "G_GAN", "cycle_B", "binary_logloss", "valid_1's binary_logloss"]
)
def test_losses_that_do_not_say_so_plainly(name):
    assert read_name(name).kind == "loss"


@pytest.mark.parametrize("name", ["testloss", "valLoss"])
def test_a_split_may_be_joined_to_its_loss(name):
    assert read_name(name).kind == "loss"
    assert name.startswith(read_name(name).split)


@pytest.mark.parametrize(
    ("name", "owner"),
    [("eval/lm/c4-validation/CrossEntropyLoss", "lm/c4-validation"), ("val/pile/loss", "pile"),
     ("val_loss/dataloader_idx_1", "dataloader_idx_1"), ("val/loss", ""), ("train/rewards/loss", "")],
)  # fmt: skip
def test_a_path_names_the_evaluation_set(name, owner):
    assert (read_name(name).kind, read_name(name).owner) == ("loss", owner)


@pytest.mark.parametrize("name", ["clip_freq", "grad_clip_rate", "train/clip_pct", "clipping frequency"])
def test_how_often_clipping_acted_is_known(name):
    assert read_name(name).kind == "clip_active"


@pytest.mark.parametrize("name", ["clip_score", "clip_frac", "clipfrac", "eval/clip", "clip_ratio"])
def test_other_clips_are_not_gradient_clipping(name):
    assert read_name(name).kind != "clip_active"


def test_an_output_that_is_trained_is_no_evaluation_set():
    both = ["loss", "val_loss", "audio_loss", "audio_accuracy", "val_audio_loss", "val_audio_accuracy"]
    assert resolve(both)["val_audio_loss"].owner == ""
    assert resolve(["loss", "val_audio_loss", "val_audio_accuracy"])["val_audio_loss"].owner == "audio"
    assert resolve(both[2:])["val_audio_loss"].owner == "audio"  # two networks in one file
