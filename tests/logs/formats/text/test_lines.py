"""Habits of printing that many programs share."""

from __future__ import annotations

import math

import pytest
from tests.logs.printed import curve, run_of

from bedside.logs import load
from bedside.logs.formats.text.lines import read_lines
from bedside.logs.log import Log
from bedside.record.metric_direction import goes_up


def test_a_progress_bar_with_carriage_returns_and_colours():
    bar = "\x1b[32mEpoch 1/2:  50%|█████     | 5/10 [00:01<00:01,  4.99it/s, loss=0.9, lr=0.001]\x1b[0m"
    later = "Epoch 1/2: 100%|██████████| 10/10 [00:02<00:00,  4.99it/s, loss=0.7, lr=0.001]"
    run = run_of(bar + "\r" + later)
    assert sorted(curve(run.loss).values()) == [0.7, 0.9]
    assert list(curve(run.series("lr")).values()) == [0.001, 0.001]


def test_python_logging_with_epochs_only():
    run = run_of(
        "INFO:root:Epoch 1/3 - loss: 0.9 - acc: 50.0% - val_loss: 1.0 - val_acc: 48.5%",
        "INFO:root:Epoch 2/3 - loss: 0.7 - acc: 60.0% - val_loss: 0.9 - val_acc: 51.5%",
        "INFO:root:Epoch 3/3 - loss: nan - acc: 10.0% - val_loss: nan - val_acc: 10.0%",
    )
    assert run.axis == "epoch"
    assert curve(run.loss)[2] == 0.7
    assert math.isnan(curve(run.loss)[3])
    assert curve(run.series("val/accuracy"))[2] == pytest.approx(0.515)
    assert run.config["epochs"] == 3


def test_a_printed_dictionary():
    run = run_of(
        "{'global_steps': 335, 'eval_loss': 4.115, 'eval_mlm_accuracy': 0.37}",
        "{'global_steps': 670, 'eval_loss': 3.874, 'eval_mlm_accuracy': 0.40}",
        "{'e2e_time': 1485.2, 'final_loss': 0.0}",
    )
    assert curve(run.series("val/loss")) == {335: 4.115, 670: 3.874}
    assert not run.has("loss")


def test_a_line_that_begins_with_validation_measures_that():
    run = run_of(
        "step 10 | loss 1.0", "Validation: loss 1.2, accuracy 0.5", "step 20 | loss 0.8", "[eval] step 20 loss 1.1"
    )
    assert curve(run.loss) == {10: 1.0, 20: 0.8}
    assert curve(run.series("val/loss")) == {10: 1.2, 20: 1.1}
    assert curve(run.series("val/accuracy")) == {10: 0.5}


def test_the_command_line_and_the_configuration_are_settings_and_no_readings():
    run = run_of(
        "python train.py --epochs 8 --lr 2.0e-3 --max-grad-norm 5.0 --loss-weight 3",
        "Namespace(lr=0.1, max_steps=100, weight_decay=0.01, vocab_size=50257)",
        "step 1 loss 3.0",
        "step 2 loss 2.0",
    )
    assert curve(run.loss) == {1: 3.0, 2: 2.0}
    assert run.config["epochs"] == 8
    assert run.config["max_grad_norm"] == 5.0
    assert run.config["vocab_size"] == 50257
    assert run.config["learning_rate"] == 2.0e-3


def test_talk_is_no_metric():
    run = run_of("step 1 loss 3.0", "Saved 3 files to disk 7", "step 2 loss 2.0", "GPU 0 has 8 GB", "step 3 loss 1.0")
    assert [key for key, _ in run.series_keys] == ["loss"]


@pytest.mark.parametrize(
    "line",
    [
        "",
        "\n",
        "no numbers here",
        "=" * 5000,
        "a" * 70000,
        "1 2 3 4",
        "[1, 2",
        "[1][2",
        "[[[[[",
        "\x00\x1b[",
        "loss:",
        "nan",
    ],
)
def test_any_line_may_come(line):
    assert isinstance(read_lines([line]), Log)


def test_an_overflow_of_zero_is_none():
    run = run_of(*(f"step {i} loss {9 - i} overflow: {int(i == 3)}" for i in range(1, 6)))
    assert curve(run.series("skipped")) == {1: 0, 2: 0, 3: 1, 4: 0, 5: 0}
    assert len(run.loss) == 5


def test_digits_in_a_name_are_part_of_it():
    run = run_of(
        "step 1 loss 2.0",
        "val/g0/loss: 1.5",
        "val/g1/loss: 1.7",
        "step 2 loss 1.0",
        "val/g0/loss: 1.2",
        "val/g1/loss: 1.4",
    )
    assert run.owners("val/loss") == ["g0", "g1"]


def test_batches_without_a_total_begin_anew():
    run = run_of(*(f"ep: {e}, batch: {b}, ntokens: 485.20/513, loss: {9 - e}" for e in range(2) for b in (20, 40)))
    assert curve(run.loss) == {20: 9, 40: 9, 61: 8, 81: 8}


def test_a_name_that_comes_twice_belongs_to_the_split_before_it():
    line = "Epoch {} | Train Loss: 11.2 | Token Acc: 0.05 | Val Loss: 10.9 | Token Acc: 0.07"
    run = run_of(line.format(0), line.format(1))
    assert curve(run.series("val/token_acc")) == {0: 0.07, 1: 0.07}
    assert curve(run.series("train/token_acc")) == {0: 0.05, 1: 0.05}


def test_sentences_around_a_number_are_not_its_name():
    run = run_of(
        "Epoch: 1| train loss: 0.5",
        "Epoch 1: Val acc is 86.0%",
        "Epoch: 2| train loss: 0.4",
        "Saved best with val loss 0.3",
    )
    assert curve(run.series("val/accuracy")) == {1: 0.86}
    assert curve(run.series("val/loss")) == {2: 0.3}


def test_a_progress_bar_tells_the_step_of_the_dictionary_after_it():
    bars = ["Loading shards:  33%|███▎  | 1/3 [00:01<00:02,  1.39s/it]"]
    for step in (10, 20):
        bars += [f"  0%|      | {step}/4854 [00:16<2:14:42,  1.67s/it]", f"   {{'loss': {30 - step}, 'epoch': 0.01}}"]
    assert curve(run_of(*bars).loss) == {10: 20, 20: 10}


def test_bars_of_an_evaluation_do_not_move_the_run():
    lines = []
    for step in (10, 20, 30):
        lines += [
            f"  1%|▏    | {step}/4875 [00:10<3:12:11,  2.37s/it]",
            f"{{'loss': {40 - step}, 'epoch': {step / 10}}}",
            "  0%|     | 0/63 [00:00<?, ?it/s]",
            "100%|█████| 63/63 [00:12<00:00,  5.0it/s]",
            f"{{'eval_loss': {41 - step}, 'epoch': {step / 10}}}",
        ]
    run = run_of(*lines)
    assert curve(run.loss) == {10: 30, 20: 20, 30: 10}
    assert curve(run.series("val/loss")) == {10: 31, 20: 21, 30: 11}


def test_bars_that_fill_again_and_again_are_epochs_that_nobody_names():
    run = run_of(
        *(f"{b}%|██| {b}/100 [00:01<00:02, 9it/s, loss={9 - e - b / 100}]" for e in range(3) for b in (50, 100))
    )
    assert curve(run.loss) == {50: 8.5, 100: 8.0, 150: 7.5, 200: 7.0, 250: 6.5, 300: 6.0}


def test_a_bar_that_repeats_the_last_evaluation_reads_it_once():
    bar = "Epoch {}:  50%|██ | {}/20 [00:03<00:04, 31.21it/s, train_loss={}, val_loss={}]"
    run = run_of(*(bar.format(e, b, 9 - e - b / 20, 10 - e) for e in range(3) for b in (5, 10, 15, 20)))
    assert curve(run.series("val/loss")) == {5: 10, 25: 9, 45: 8}
    assert len(run.loss) == 12


def test_so_does_one_that_names_steps_only():
    run = run_of(*(f"step {i} | loss {99 - i} | val_loss {9 - i // 4}" for i in range(16)))
    assert curve(run.series("val/loss")) == {0: 9, 4: 8, 8: 7, 12: 6}


def test_an_evaluation_that_freezes_stays_frozen():
    run = run_of(*(f"epoch {e}: train_loss {9 - e} val_loss {max(5.25, 9.5 - e)}" for e in range(9)))
    assert len(run.series("val/loss")) == 9
    run = run_of(*(f"epoch {e}: train_loss {9 - e} val_acc {0.5 + e // 3 / 10}" for e in range(9)))
    assert len(run.series("val/accuracy")) == 9


def test_epochs_too_coarse_to_tell_records_apart():
    run = run_of(
        *(f"{{'loss': {9 - i}, 'epoch': {round(i / 200, 2)}}}" for i in range(6)), "{'eval_loss': 3, 'epoch': 0.03}"
    )
    assert curve(run.loss) == {i: 9 - i for i in range(6)}
    assert curve(run.series("val/loss")) == {5: 3}


def test_a_rate_that_was_rounded_away_is_not_zero():
    run = run_of(*(f"step:{i} - actor/loss:{9 - i} - actor/lr:0.000" for i in range(5)))
    assert run.series("lr").values.tolist() == [0.0] * 5
    run = run_of(*(f"step {i} loss {9 - i} lr {lr}" for i, lr in enumerate(("0.0002", "0.0001", "0.0000"))))
    assert curve(run.series("lr")) == {0: 2e-4, 1: 1e-4, 2: 0.0}
    assert run.environment["rounded"] == {"lr": pytest.approx(5e-5)}
    run = run_of(*(f"step {i} loss {9 - i} lr {lr}" for i, lr in enumerate(("1.5e-05", "1.2345e-06", "0.0"))))
    assert len(run.series("lr")) == 3


def test_sections_of_a_line_name_the_split():
    run = run_of(*(f"Epoch {e} | train: loss {9 - e} acc 0.5 | val: loss {8 - e} acc 0.4" for e in range(3)))
    assert curve(run.loss) == {0: 9, 1: 8, 2: 7}
    assert curve(run.series("val/loss")) == {0: 8, 1: 7, 2: 6}
    assert curve(run.series("val/accuracy")) == {0: 0.4, 1: 0.4, 2: 0.4}


def test_pictures_are_no_part_of_a_name():
    run = run_of(
        "Epoch 1 loss 3.0", "📊 Val Acc: 0.966 | ⭐ Prec: 0.9", "Epoch 2 loss 2.0", "📊 Val Acc: 0.967 | ⭐ Prec: 0.9"
    )
    assert curve(run.series("val/accuracy")) == {1: 0.966, 2: 0.967}


def test_a_sentence_about_the_test_images_is_no_metric():
    run = run_of(
        *(f"Epoch {e}: loss {3 - e}\nAccuracy of the network on the 50000 test images: 7{e}.1%" for e in range(3))
    )
    assert len(run.loss) == 3
    assert not any(vital.startswith("val/") for vital, _ in run.series_keys)


def test_the_first_record_is_no_setting():
    assert "learning_rate" not in run_of("step 1 loss 3.0 lr 1e-6", "step 2 loss 2.0 lr 2e-6").config


def test_what_keras_says_about_its_checkpoints_is_no_reading():
    lines = []
    for epoch, (loss, before) in enumerate([(0.9, "inf"), (0.8, "0.90000"), (0.7, "0.80000")], 1):
        lines += [
            f"Epoch {epoch}/3",
            f"80/80 [=======] - ETA: 0s - loss: {loss}",
            f"Epoch {epoch}: val_loss improved from {before} to {loss}, saving model to model.h5",
            f"80/80 [=======] - 15s 145ms/step - loss: {loss} - val_loss: {loss}",
            f"Epoch {epoch}: ReduceLROnPlateau reducing learning rate to 0.0001.",
        ]
    run = run_of(*lines, "Epoch 4: val_loss did not improve from 0.70000")
    assert run.series("val/loss").values.tolist() == run.loss.values.tolist() == [0.9, 0.8, 0.7]
    assert not any("improve" in vital or vital == "lr" for vital, _ in run.series_keys)


def test_a_name_may_tell_its_step_or_its_window_first():
    run = run_of(*(f"Train Loss at Epoch {e}: 0.{9 - e}\nValidation Loss at Epoch {e}: 0.{8 - e}" for e in range(3)))
    assert curve(run.loss) == {0: 0.9, 1: 0.8, 2: 0.7}
    assert curve(run.series("val/loss")) == {0: 0.8, 1: 0.7, 2: 0.6}
    run = run_of(*(f"Episode {e} | avg reward (last 10): {20 + e} | avg loss: 0.{9 - e}" for e in (1, 2, 3)))
    assert curve(run.loss) == {1: 0.8, 2: 0.7, 3: 0.6}
    assert curve(run.series("train/avg_reward")) == {1: 21, 2: 22, 3: 23}


def test_lines_without_any_step_are_counted_if_they_are_many():
    run = run_of(*(f"loss:0.{99 - i}, accuracy:0.{10 + i}" for i in range(20)))
    assert len(run.loss) == 20
    assert any("counted" in note for note in run.notes)
    assert not read_lines(["loss: 0.5", "loss: 0.4"])
    run = run_of("| Epochs | 500 |", *(f"Training Loss: 0.{99 - i}\nValidation loss: 0.{89 - i}" for i in range(20)))
    assert len(run.loss) == len(run.series("val/loss")) == 20


def test_a_bar_of_steps_tells_how_many_there_will_be():
    assert run_of("Steps:   7%|▎     | 20/300 [00:12<1:02:11,  1.21s/it, step_loss=0.125]").config["max_steps"] == 300


def test_a_configuration_printed_again_does_not_move_the_run():
    lines = []
    for epoch in (1, 2, 3):
        lines += [f"EPOCH {epoch} of 30", f"EPOCH loss: 0.{9 - epoch}", "TRAIN:", "  batch_size: 8", "  epochs: 30"]
    run = run_of(*lines)
    assert curve(run.loss) == {1: 0.8, 2: 0.7, 3: 0.6}
    assert run.config["epochs"] == 30


def test_train_after_the_loss_is_something_else():
    run = run_of(*(f"Epoch: {e:03d}, Loss: {9 - e}, Train: 0.{e}, Val: 0.{e}" for e in range(1, 4)))
    assert curve(run.loss) == {1: 8, 2: 7, 3: 6}
    assert not any("loss" in vital and vital != "loss" for vital, _ in run.series_keys)


@pytest.mark.parametrize("clock", ["Global step {}:", "Round {},", "Trained batch 7 in epoch {},", "end of epoch {} |"])
def test_clocks_as_people_call_them(clock):
    run = run_of(*(f"{clock.format(i)} loss {9 - i}" for i in range(1, 4)))
    assert curve(run.loss) == {1: 8, 2: 7, 3: 6}


def test_bare_lines_of_a_step_a_split_and_a_value():
    run = run_of(
        "0 val 10.9434", "0 hella 0.2463", "0 train 10.942823", "250 val 6.0727", "250 train 5.91", "500 val nan"
    )
    assert curve(run.loss) == {0: 10.942823, 250: 5.91}
    assert math.isnan(curve(run.series("val/loss"))[500])


def test_a_name_in_bars_is_a_norm_and_what_follows_it_no_speed():
    run = run_of(*(f"[step {i}] loss={3 - i / 10:.2f} |grad|={1 + i / 10:.2f} tok/s=81234" for i in range(5)))
    assert curve(run.series("grad_norm")) == pytest.approx({i: 1 + i / 10 for i in range(5)})
    assert curve(run_of("step 1 loss 2.0 ‖g‖: 0.5", "step 2 loss 1.9 ‖g‖: 0.4").series("grad_norm")) == {1: 0.5, 2: 0.4}


def test_talk_that_looks_like_a_bare_line_needs_a_split():
    assert not read_lines(["3 files 12", "250 images 60.5", "12 epochs 0.5"])


def test_a_printed_dictionary_of_dictionaries_tells_its_splits_apart():
    run = run_of(
        "{'epoch': 1, 'train': {'loss': 2.31, 'acc': 0.11}, 'val': {'loss': 2.25, 'acc': 0.14}, 'lr': 0.001}",
        "{'epoch': 2, 'train': {'loss': 2.24, 'acc': 0.15}, 'val': {'loss': 2.24, 'acc': 0.16}, 'lr': 0.001}",
    )
    assert list(curve(run.loss).values()) == [2.31, 2.24]
    assert list(curve(run.series("val/loss")).values()) == [2.25, 2.24]
    assert list(curve(run.series("val/accuracy")).values()) == [0.14, 0.16]
    assert list(curve(run.series("lr")).values()) == [0.001, 0.001]


def test_a_reward_in_a_box_is_a_score_that_should_rise():
    assert goes_up("train/ep_rew_mean") is True


def test_numbers_in_the_clothes_of_numpy_torch_jax_and_tensorflow():
    run = run_of(
        "{'step': 1, 'loss': np.float64(2.31), 'acc': np.float32(0.1)}",
        "{'step': 2, 'loss': np.float64(nan), 'acc': tensor(0.2)}",
        "{'step': 3, 'loss': tensor(2.11, device='cuda:0', grad_fn=<NllLossBackward0>), 'acc': tensor([0.3])}",
        "{'step': 4, 'loss': array(1.91, dtype=float32), 'acc': Array(0.4, dtype=float32, weak_type=True)}",
        "step 5 loss tensor(1.8, device='cuda:0') acc <tf.Tensor: shape=(), dtype=float32, numpy=0.5>",
    )
    assert run.loss.steps.tolist() == [1, 2, 3, 4, 5]
    assert run.loss.values.tolist() == [2.31, pytest.approx(math.nan, nan_ok=True), 2.11, 1.91, 1.8]
    assert curve(run.series("train/accuracy")) == {1: 0.1, 2: 0.2, 3: 0.3, 4: 0.4, 5: 0.5}
    assert {vital for vital, _ in run.series_keys} == {"loss", "train/accuracy"}


def test_a_format_may_add_a_digit_to_nan():
    run = run_of("step 1 loss 2.5", "step 2 loss nan.0", "step 3 loss inf.0")
    assert run.loss.values.tolist() == [2.5, pytest.approx(math.nan, nan_ok=True), math.inf]


BAR = "Epoch {}: {}|███| {}/10 [00:01<00:00,  8.1it/s, v_num=0, train_loss={}{}]"


def test_an_evaluation_that_a_bar_carries_into_the_next_epoch_is_one_reading():
    run = run_of(
        BAR.format(0, "100%", 10, 2.3, ", val_loss=2.200"),
        BAR.format(1, " 50%", 5, 2.1, ", val_loss=2.200"),
        BAR.format(1, "100%", 10, 2.0, ", val_loss=2.200"),
        BAR.format(1, "100%", 10, 2.0, ", val_loss=2.100"),
        BAR.format(2, " 50%", 5, 1.9, ", val_loss=2.100"),
    )
    assert curve(run.series("val/loss")) == {10: 2.2, 20: 2.1}


def test_an_evaluation_every_second_epoch_is_told_once():
    lines, told = [], ""
    for epoch in range(8):
        lines += [BAR.format(epoch, f"{10 * at}%", at, 3 - epoch / 10 - at / 100, told) for at in (5, 10)]
        if epoch % 2:
            told = f", val_loss={3 - epoch / 10:.3f}"
            lines.append(BAR.format(epoch, "100%", 10, 3 - epoch / 10 - 0.1, told))
    assert curve(run_of(*lines).series("val/loss")) == {20: 2.9, 40: 2.7, 60: 2.5, 80: 2.3}


def test_a_full_bar_with_the_same_evaluation_is_a_reading_of_its_own():
    run = run_of(*(BAR.format(epoch, "100%", 10, 2.3 - epoch, ", val_acc=0.1") for epoch in range(4)))
    assert len(run.series("val/accuracy")) == 4


def test_a_test_epoch_after_a_bar_is_evaluated_there(tmp_path):
    path = tmp_path / "out.log"
    bar = "\rTrain Epoch: [{e}/120], lr: 0.06, Loss: {loss}: {at}%|██| {at}/100 [00:10<00:10,  5.1it/s]"
    done = "\rTest Epoch: [{e}/120] Acc@1:3{e}.1% Acc@5:80.2%\n"
    bars = ["".join(bar.format(e=e, at=at, loss=9 - e) for at in (50, 100)) + done.format(e=e) for e in (1, 2)]
    path.write_text("".join(bars))
    run = load(path)
    assert curve(run.series("val/accuracy")) == {100: pytest.approx(0.311), 200: pytest.approx(0.321)}
    assert curve(run.loss) == {50: 8, 100: 8, 150: 7, 200: 7}


def test_printed_text_with_decimal_commas():
    run = run_of(
        "Époque 1/10 : perte 2,313 ; précision 0,10 ; perte_val 2,500 ; taux d'apprentissage 0,001",
        "Époque 2/10 : perte 1,157 ; précision 0,20 ; perte_val 1,250 ; taux d'apprentissage 0,001",
    )
    assert curve(run.loss) == {1: 2.313, 2: 1.157}
    assert curve(run.series("val/loss")) == {1: 2.5, 2: 1.25}
    assert curve(run.series("lr")) == {1: 0.001, 2: 0.001}


def test_thousands_stay_thousands():
    run = run_of("step 1,000 loss 12,500 acc 50.5%", "step 2,000 loss 11,500 acc 51.5%")
    assert curve(run.loss) == {1000: 12500, 2000: 11500}
    assert curve(run_of("step 1,000 loss 12,500", "step 2,000 loss 11,500").loss) == {1000: 12500, 2000: 11500}


@pytest.mark.parametrize(("first", "steps"), [(0, [50, 150, 250]), (1, [50, 150, 250]), (7, [650, 750, 850])])
def test_epochs_are_counted_from_zero_or_from_one(first, steps):
    lines = [f"Epoch {first + i} [50/100] loss {9 - i}" for i in range(3)]
    assert list(curve(run_of(*lines).loss)) == steps


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("Epoch {}: val top 1 acc: {:.2f}, top 5 acc: {:.2f}", {"val/acc_top1", "val/acc_top5", "val/accuracy"}),
        ("==== Epoch {}, Top-1: {:.2f} Top-5: {:.2f} ====", {"train/acc_1", "train/acc_5"}),
    ],
)
def test_the_digit_of_top_5_belongs_to_the_name(line, names):
    run = run_of(*[line.format(epoch, 0.1 * epoch, 0.2 * epoch) for epoch in (1, 2, 3)])
    found = [vital for vital in run.vitals if vital in names]
    assert sorted(curve(run.series(vital))[3] for vital in found) == pytest.approx([0.3, 0.6])


def test_top_1_and_top_5_in_lines_of_their_own_stay_apart():
    run = run_of(*[f"Epoch: {epoch}, top {k} acc: {0.1 * epoch * k}" for epoch in (1, 2) for k in (1, 5)])
    assert {round(run.series(vital).last, 1) for vital in run.vitals} == {0.2, 1.0}


def test_an_iteration_step_counts_over_the_whole_run():
    run = run_of(*[f"Epoch: {n // 3}/9, Iteration step: {1300 * (n + 1)}, loss: {2.0 - 0.1 * n}" for n in range(6)])
    assert list(curve(run.loss)) == [1300, 2600, 3900, 5200, 6500, 7800]


@pytest.mark.parametrize(
    "line",
    [
        "Saved best model (val loss 0.63)",
        "Loaded best model from epoch 3 with val_loss=0.633",
        "Best epoch: 3, val loss: 0.633",
    ],
)
def test_a_line_about_the_best_weights_repeats_a_reading(line):
    losses = [1.1, 0.7, 0.633, 0.65, 0.7]
    run = run_of(*[f"Epoch {n}: train loss {1 / n:.3f}, val loss {each}" for n, each in enumerate(losses, 1)], line)
    assert curve(run.series("val/loss")) == dict(enumerate(losses, 1))


def test_a_line_about_the_best_weights_with_news_is_a_reading():
    run = run_of(*[f"Epoch {n}: saved the best model with val loss {1 / n:.3f}" for n in (1, 2, 3)])
    assert len(run.series("val/loss")) == 3


def test_scores_that_are_named_by_their_split_only():
    run = run_of(
        *[f"Epoch: {n:03d}, Loss: {2 - 0.1 * n:.4f}, Train: {0.06 * n:.4f}, Val: {0.05 * n:.4f}" for n in range(9)]
    )
    assert run.series("val/score").last == 0.4
    assert run.series("train/score").last == 0.48


def test_losses_that_are_named_by_their_split_only_are_no_scores():
    run = run_of(
        *[
            f"Epoch: {n}, Loss: {2 - 0.1 * n:.4f}, Train: {0.9 - 0.06 * n:.4f}, Val: {0.9 - 0.05 * n:.4f}"
            for n in range(9)
        ]
    )
    assert not run.matching("val/")


@pytest.mark.parametrize(
    "line",
    [
        "Epoch #{}: train_loss: {:.2f} ± 0.10, test_loss: {:.2f}",
        "第{}轮 训练损失: {:.2f} 验证损失: {:.2f}",
        "第 {} / 20 个epoch，训练损失：{:.2f}，验证损失：{:.2f}",
    ],
)
def test_epochs_that_are_numbered_in_other_ways(line):
    run = run_of(*[line.format(n, 1 / n, 2 / n) for n in (1, 2, 4)])
    assert run.axis == "epoch"
    assert curve(run.loss) == {1: 1.0, 2: 0.5, 4: 0.25}
    assert curve(run.series("val/loss")) == {1: 2.0, 2: 1.0, 4: 0.5}


@pytest.mark.parametrize(
    "line", ["Epoch {}: val acc 0.85 (best 0.85)", "Epoch {}: train loss 0.5\nval acc 0.85, best 0.85"]
)
def test_an_evaluation_that_names_the_best_is_one_though_its_value_came_before(line):
    run = run_of(*"\n".join(line.format(n) for n in range(1, 7)).splitlines())
    assert curve(run.series("val/accuracy")) == dict.fromkeys(range(1, 7), 0.85)


def test_steps_and_losses_that_are_joined_to_their_names():
    run = run_of("step_100:\tloss_-4.5", "step_120:\tloss_4191.25", "step_140:\tloss_nan")
    assert run.loss.steps.tolist() == [100, 120, 140]
    assert run.loss.values[:2].tolist() == [-4.5, 4191.25]


def test_names_that_end_in_a_number_stay_whole():
    run = run_of(*[f"step_{n}: loss_1: {2 - 0.1 * n:.2f}, loss_2: 0.5" for n in range(1, 8)])
    assert not run.has("loss") or run.loss.values[0] != 1.0


def test_a_table_whose_first_two_heads_are_one_space_apart():
    run = run_of(
        " epoch train_loss   val_loss", *[f"{n:6d} {2 - 0.1 * n:10.4f} {2.5 - 0.1 * n:10.4f}" for n in (1, 2, 3)]
    )
    assert curve(run.loss) == {1: 1.9, 2: 1.8, 3: 1.7}
    assert curve(run.series("val/loss")) == {1: 2.4, 2: 2.3, 3: 2.2}


def test_bare_splits_that_fall_are_losses():
    run = run_of(*[f"Iter {50 * n}: train={2.5 - 0.2 * n:.2f}  val={2.6 - 0.1 * n:.2f}" for n in range(8)])
    assert curve(run.loss)[350] == 1.1
    assert curve(run.series("val/loss"))[350] == 1.9


def test_bare_splits_that_rise_beside_no_loss_are_left_alone():
    run = run_of(*[f"Iter {50 * n}: acc 0.5 train={0.2 + 0.05 * n:.2f}  val={0.2 + 0.04 * n:.2f}" for n in range(8)])
    assert not run.has("val/loss")


def _bars(lengths):
    for n, length in enumerate(lengths):
        if n % 2 == 0:
            yield f"Epoch: {n // 2}"
        scores = f"Loss: {2 - 0.1 * n:.2f} | Acc: {40 + n}.0% ({40 + n}/100)"
        yield f" [====>]  Step: 21ms | Tot: 9s | {scores} {length}/{length}"


def test_bars_of_two_lengths_that_take_turns_are_training_and_evaluation():
    run = run_of(*_bars([391, 100] * 5))
    assert run.loss.values.tolist() == pytest.approx([2.0, 1.8, 1.6, 1.4, 1.2])
    assert run.series("val/loss").values.tolist() == pytest.approx([1.9, 1.7, 1.5, 1.3, 1.1])
    assert run.series("val/accuracy").values[0] == pytest.approx(0.41)


def test_a_bar_whose_length_changes_once_is_still_of_the_training():
    run = run_of(*_bars([391, 391, 391, 391, 196, 196, 196, 196]))
    assert not run.matching("val/")
    assert run.loss.values[-1] == pytest.approx(1.3)


def test_scores_on_the_console_of_yolo():
    heads = "      Epoch   gpu_mem       box       obj       cls    labels  img_size"
    scores = "   Class     Images     Labels          P          R     mAP@.5 mAP@.5:.95: 100%|##| 10/10 [00:01<00:00]"
    lines = []
    for n in range(4):
        lines += [
            heads,
            f"     {n}/99     2.64G   0.1{n}   0.05   0.01        24       640: 100%|##| 100/100 [00:15<00:00]",
        ]
        lines += [scores, f"     all        140        300      0.5      0.4      0.{n + 1}      0.3"]
    run = run_of(*lines)
    assert run.series("val/map_50").values.tolist() == [0.1, 0.2, 0.3, 0.4]
    assert run.series("part/box_loss").values.tolist() == [0.10, 0.11, 0.12, 0.13]


def test_whole_curves_in_a_line_are_counted_as_epochs():
    run = run_of("Finished.", "train_losses = [2.5, 2.0, 1.5, 1.25, 1.0]", "val_losses = [2.6, 2.2, 1.9, 1.8, 1.8]")
    assert run.axis == "epoch"
    assert curve(run.loss) == {1: 2.5, 2: 2.0, 3: 1.5, 4: 1.25, 5: 1.0}
    assert curve(run.series("val/loss"))[5] == 1.8


def test_a_list_at_a_step_is_no_curve():
    run = run_of(*[f"step {n} loss [{3 - n:.1f}, 0.2, 0.3, 0.4, 0.5]" for n in range(3)])
    assert curve(run.loss) == {0: 3.0, 1: 2.0, 2: 1.0}
