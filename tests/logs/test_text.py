"""Lines as real programs print them; the numbers in them are made up."""

from __future__ import annotations

import math
import random
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bedside.logs.line_numbers import line_numbers
from bedside.logs.line_shapes import Shapes
from bedside.logs.log import Log
from bedside.logs.meaning import to_run
from bedside.logs.text import read_lines


def run_of(*lines: str):
    return to_run(read_lines("\n".join(lines).splitlines()), "text")


def curve(series):
    return dict(zip(series.steps.tolist(), series.values.tolist(), strict=True))


def test_nanogpt():
    run = run_of(
        "number of parameters: 10.65M",
        "step 0: train loss 4.2874, val loss 4.2823",
        "iter 0: loss 4.2650, time 45321.17ms, mfu -100.00%",
        "iter 10: loss 3.2438, time 17.93ms, mfu 20.66%",
        "step 20: train loss 2.6, val loss 2.7",
        "iter 20: loss 2.7899, time 18.01ms, mfu 20.66%",
    )
    assert curve(run.loss) == {0: 4.2650, 10: 3.2438, 20: 2.7899}
    assert curve(run.series("val/loss")) == {0: 4.2823, 20: 2.7}


def test_llm_c_and_modded_nanogpt():
    run = run_of(
        "s:0 tel:11.0092",
        "s:0 trl:11.0091 lr:0.000001 norm:15.37",
        "s:1 trl:10.9598 lr:0.000002 norm:15.24",
        "s:2 tel:9.5",
    )
    assert curve(run.loss) == {0: 11.0091, 1: 10.9598}
    assert curve(run.series("val/loss")) == {0: 11.0092, 2: 9.5}
    assert curve(run.series("grad_norm")) == {0: 15.37, 1: 15.24}


def test_modded_nanogpt_with_totals():
    run = run_of(
        "step:0/1770 val_loss:10.8258 train_time:0ms step_avg:nanms",
        "step:1/1770 train_time:87ms step_avg:87.5ms",
        "step:125/1770 val_loss:4.6458 train_time:12ms step_avg:104.3ms",
    )
    assert curve(run.series("val/loss")) == {0: 10.8258, 125: 4.6458}
    assert run.config["max_steps"] == 1770


def test_megatron():
    line = (
        " [2024-05-01 10:00:00] iteration {:8d}/  500000 | consumed samples: {:12d} |"
        " elapsed time per iteration (ms): 5123.4 | learning rate: 1.500E-04 | global batch size:   512 |"
        " lm loss: {:.6E} | loss scale: 65536.0 | grad norm: 1.234 |"
        " number of skipped iterations:   0 | number of nan iterations:   0 |"
    )
    run = run_of(*(line.format(i, i * 512, 10.0 / i) for i in (100, 200, 300)))
    assert curve(run.loss) == {100: 0.1, 200: 0.05, 300: pytest.approx(0.0333333, abs=1e-7)}
    assert curve(run.series("lr"))[200] == 1.5e-4
    assert curve(run.series("grad_norm"))[300] == 1.234
    assert curve(run.series("loss_scale"))[100] == 65536
    assert curve(run.series("skipped")) == {100: 0, 200: 0, 300: 0}
    assert run.config["max_steps"] == 500000


def test_deepspeed_overflows_are_skipped_steps():
    run = run_of(
        "***** Evaluating perplexity, Epoch 0/16 *****",
        "ppl: 4998.29638671875",
        "[2023-04-18 01:46:52,554] [INFO] [loss_scaler.py:188:update_scale] [deepspeed] OVERFLOW! Rank 0 Skipping step."
        " Attempted loss scale: 65536, reducing to 32768",
        "[2023-04-18 01:46:59,142] [INFO] [logging.py:96:log_dist] [Rank 0] step=10, skipped=1,"
        " lr=[9.6e-06, 9.6e-06], mom=[(0.9, 0.95)]",
        "[2023-04-18 01:47:59,142] [INFO] [logging.py:96:log_dist] [Rank 0] step=20, skipped=1,"
        " lr=[9.5e-06, 9.5e-06], mom=[(0.9, 0.95)]",
        "***** Evaluating perplexity, Epoch 1/16 *****",
        "ppl: 2.0",
    )
    assert curve(run.series("skipped")) == {0: 0, 1: 1, 10: 0, 20: 0}
    assert curve(run.series("loss_scale")) == {1: 32768}
    assert curve(run.series("val/perplexity")) == {0: 4998.29638671875, 20: 2.0}
    assert curve(run.series("val/loss"))[20] == math.log(2)
    assert curve(run.series("lr")) == {10: 9.6e-06, 20: 9.5e-06}


def test_a_record_over_several_lines_with_thousands_separators():
    run = run_of(
        "2025-12-26 19:17:38.772\ta-host-03:0\tolmo.train:990\tINFO\t[step=10/1000,epoch=0]",
        "    optim/total_grad_norm=5.485",
        "    train/CrossEntropyLoss=9.051",
        "    train/Perplexity=8,528",
        "    throughput/total_tokens=20,971,520",
        "2025-12-26 19:18:38.772\ta-host-03:0\tolmo.train:990\tINFO\t[step=20/1000,epoch=0]",
        "    optim/total_grad_norm=2.194",
        "    train/CrossEntropyLoss=8.581",
        "    train/Perplexity=5,330",
    )
    assert curve(run.loss) == {10: 9.051, 20: 8.581}
    assert curve(run.series("train/perplexity")) == {10: 8528, 20: 5330}
    assert curve(run.series("grad_norm")) == {10: 5.485, 20: 2.194}


def test_epoch_and_batch_counters_with_running_averages():
    run = run_of(
        "0: TRAIN [0][0/100]\tTime 0.451 (0.451)\tLoss/tok 10.7019 (10.7)\tLR 2.047e-05",
        "0: TRAIN [0][50/100]\tTime 0.155 (0.156)\tLoss/tok 9.3415 (9.8444)\tLR 3.244e-05",
        "0: TEST [0][0/3]\tTime 0.604 (0.604)\tTok/s 26546 (26546)",
        "0: TRAIN [1][0/100]\tTime 0.155 (0.156)\tLoss/tok 8.5 (9.0)\tLR 3.3e-05",
    )
    assert curve(run.loss) == {0: 10.7019, 50: 9.3415, 100: 8.5}
    assert curve(run.series("lr"))[100] == 3.3e-05


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
    assert [key for key, _ in run.keys] == ["loss"]


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


PROGRAMS = {
    "fairseq": (
        "2020-01-01 12:00:00 | INFO | train_inner | epoch 001:    100 / 5000 loss=9.8, ppl=555.2, wps=12345, ups=3.1,"
        " num_updates=100, lr=1.25e-05, gnorm=2.1, loss_scale=128, wall=45",
        {"loss": {100: 9.8}, "grad_norm": {100: 2.1}, "loss_scale": {100: 128.0}, "lr": {100: 1.25e-05}},
    ),
    "timm": (
        "Train: 1 [  50/100 (  4%)]  Loss: 6.93 (6.94)  Time: 0.523s,  489.33/s  (0.8s, 300.1/s)  LR: 1.000e-05\n"
        "Test: [  48/48]  Time: 0.108 (0.219)  Loss:  6.9014 (6.9100)  Acc@1:  0.1179 ( 0.1320)  Acc@5:  0.58 ( 0.55)",
        {"loss": {150: 6.93}, "val/loss": {150: 6.9014}, "val/accuracy": {150: 0.1179}, "lr": {150: 1e-05}},
    ),
    "mmdetection": (
        "2021-06-01 10:00:00,000 - mmdet - INFO - Epoch [1][50/100]\tlr: 2e-03, eta: 1 day, 2:03:04, time: 0.5,"
        " memory: 3900, loss_rpn_cls: 0.6, loss: 1.9\n"
        "2021-06-01 12:01:00,000 - mmdet - INFO - Epoch(val) [1][625]\tbbox_mAP: 0.2210",
        {"loss": {150: 1.9}, "part/loss_rpn_cls": {150: 0.6}, "val/bbox_map": {150: 0.221}},
    ),
    "torchtitan": (
        "[rank0]:2024-05-01 10:00:00,000 - root - INFO - step: 10  loss:  9.1234  grad_norm: 1.23  memory:"
        " 10.50GiB(13.28%)  tps: 5,000  mfu: 20.1%",
        {"loss": {10: 9.1234}, "grad_norm": {10: 1.23}},
    ),
    "the HF Trainer's console": (
        "{'loss': 2.3, 'grad_norm': 1.2, 'epoch': 1.0}\n{'eval_loss': '2.0', 'eval_runtime': '3.0', 'epoch': '1.0'}\n"
        "{'train_runtime': 30.0, 'train_loss': 2.2, 'epoch': 1.0}",
        {"loss": {1: 2.3}, "val/loss": {1: 2.0}, "grad_norm": {1: 1.2}},
    ),
    "Keras": (
        "Epoch 1/2\n 50/100 [====>....] - ETA: 10s - loss: 2.3\n"
        "100/100 [====] - 5s 50ms/step - loss: 1.2 - val_loss: 1.1",
        {"loss": {150: 2.3, 200: 1.2}, "val/loss": {200: 1.1}},
    ),
    "NeMo": (
        "Epoch 0:  10%|█ | 10/100 [00:10<01:30,  1.00s/it, v_num=0, reduced_train_loss=10.9, global_step=9.000]",
        {"loss": {9: 10.9}},
    ),
    "PaddlePaddle, whose iterations begin anew": (
        "[2022/05/01 10:00:00] ppcls INFO: [Train][Epoch 1/120][Iter: 10/312]lr: 0.1, loss: 7.0, batch_cost: 1.2s\n"
        "[2022/05/01 10:10:00] ppcls INFO: [Train][Epoch 2/120][Iter: 10/312]lr: 0.1, loss: 6.5, batch_cost: 1.2s",
        {"loss": {10: 7.0, 322: 6.5}},
    ),
    "loguru": (
        "2024-01-01 10:00:00.000 | INFO     | __main__:train:123 - epoch=1 step=100 train_loss=0.5 val_loss=0.6",
        {"loss": {100: 0.5}, "val/loss": {100: 0.6}},
    ),
    "Stable-Baselines3": (
        "| time/              |          |\n|    total_timesteps | 2048     |\n| train/             |          |\n"
        "|    loss            | 5.2      |\n|    learning_rate   | 0.0003   |",
        {"loss": {2048: 5.2}, "lr": {2048: 0.0003}},
    ),
    "a notebook's table": (
        "Step\tTraining Loss\tValidation Loss\n500\t1.23\t1.10\n1000\t0.93\tnan",
        {"loss": {500: 1.23, 1000: 0.93}},
    ),
    "a table between single blanks": (
        "step loss val_loss\n10 2.5 2.6\n20 2.25 nan",
        {"loss": {10: 2.5, 20: 2.25}},
    ),
    "a Markdown table": (
        "| step | train_loss | val_loss |\n|-----:|-----------:|---------:|\n| 10 | 2.5 | 2.6 |",
        {"loss": {10: 2.5}, "val/loss": {10: 2.6}},
    ),
    "Ultralytics": (
        "      Epoch    GPU_mem   box_loss   cls_loss  Instances       Size\n"
        "      1/100      2.3G      1.252      2.331         10        640: 100%|████| 8/8 [00:01<00:00,  5.1it/s]",
        {"part/box_loss": {1: 1.252}, "part/cls_loss": {1: 2.331}},
    ),
    "llm.c": (
        "step    1/9536 | loss 11.0112 (+nanz)| norm 15.1234 (+nanz)| lr 8.57e-07 | 1234.56 ms | 43.1% bf16 MFU\n"
        "val loss 10.5",
        {"loss": {1: 11.0112}, "grad_norm": {1: 15.1234}, "lr": {1: 8.57e-07}, "val/loss": {1: 10.5}},
    ),
    "Detectron2": (
        "[06/01 10:00:00 d2.utils.events]:  eta: 1 day, 0:00:00  iter: 19  total_loss: 5.1  loss_cls: 4.4  lr: 1.6e-05",
        {"loss": {19: 5.1}, "part/loss_cls": {19: 4.4}, "lr": {19: 1.6e-05}},
    ),
    "PyTorch's CIFAR tutorial": (
        "[1,  2000] loss: 2.2\n[1,  4000] loss: 1.8\n[2,  2000] loss: 1.5",
        {"loss": {2000: 2.2, 4000: 1.8, 6001: 1.5}},
    ),
    "PyTorch's quickstart": (
        "Epoch 1\n-------------------------------\nloss: 1.000000  [   64/60000]\nloss: 2.200000  [ 6464/60000]\n"
        "Test Error: \n Accuracy: 50.5%, Avg loss: 2.158 \n",
        {"loss": {60064: 1.0, 66464: 2.2}, "val/loss": {66464: 2.158}, "val/accuracy": {66464: 0.505}},
    ),
    "PyTorch's DCGAN example": (
        "[0/25][50/1583]\tLoss_D: 1.7\tLoss_G: 4.7\tD(x): 0.5\tD(G(z)): 0.3 / 0.2\n"
        "[1/25][0/1583]\tLoss_D: 1.2\tLoss_G: 4.1\tD(x): 0.5\tD(G(z)): 0.3 / 0.2",
        {"part/loss_d": {50: 1.7, 1583: 1.2}, "part/loss_g": {50: 4.7, 1583: 4.1}},
    ),
    "PyTorch's language model": (
        "| epoch   1 |   200/ 2983 batches | lr 5.00 | ms/batch 12.34 | loss  6.50 | ppl   665.14\n"
        "| end of epoch   1 | time: 12.34s | valid loss  6.10 | valid ppl   445.86",
        {"loss": {3183: 6.5}, "lr": {3183: 5.0}, "val/loss": {3183: 6.1}},
    ),
    "PyTorch's MNIST example": (
        "Train Epoch: 1 [640/60000 (1%)]\tLoss: 1.359780\nTest set: Average loss: 0.0471, Accuracy: 9842/10000 (98%)",
        {"loss": {60640: 1.35978}, "val/loss": {60640: 0.0471}, "val/accuracy": {60640: 0.9842}},
    ),
    "ESPnet, which counts before it names": (
        "[node1] 2023-05-01 10:00:00,123 (trainer:737) INFO: 2epoch:train:101-200batch: iter_time=1.5e-04, loss_ctc=9,"
        " loss=8, grad_norm=3.2, optim0_lr0=1.000e-04, train_time=1.2\n"
        "[node1] 2023-05-01 10:20:00,000 (trainer:338) INFO: 2epoch results: [train] loss_ctc=9.1, loss=8.2,"
        " time=20 minutes, [valid] loss_ctc=7.5, acc=0.8, loss=6.5, time=11.5 seconds",
        {"loss": {200: 8.0}, "val/loss": {200: 6.5}, "val/accuracy": {200: 0.8}, "lr": {200: 1e-4}},
    ),
    "icefall, whose ranks are no progress": (
        "2023-05-01 10:00:00,123 INFO [train.py:890] (0/4) Epoch 1, batch 50, loss[loss=3.5, simple_loss=3.9, over"
        " 7123.00 frames. ], tot_loss[loss=3.6, simple_loss=4.0, over 1423423.12 frames. ], lr: 4.5e-02\n"
        "2023-05-01 10:00:00,123 INFO [train.py:928] (0/4) Epoch 1, validation: loss=3.1, simple_loss=3.3, over 9 f.",
        {"loss": {50: 3.5}, "part/simple_loss": {50: 3.9}, "val/loss": {50: 3.1}, "val/simple_loss": {50: 3.3}},
    ),
    "Caffe": (
        "I0501 10:00:00.123456  1234 solver.cpp:218] Iteration 100 (12.3 iter/s, 8.1s/100 iters), loss = 2.5\n"
        "I0501 10:00:00.123456  1234 sgd_solver.cpp:105] Iteration 100, lr = 0.01\n"
        "I0501 10:00:00.123456  1234 solver.cpp:397]     Test net output #1: loss = 2.4 (* 1 = 2.4 loss)",
        {"loss": {100: 2.5}, "val/loss": {100: 2.4}, "lr": {100: 0.01}},
    ),
    "Flax": (
        "I0501 10:00:00.123456 140123456789 train.py:123] step = 10, loss = 4.5, learning_rate = 3e-4\n"
        "I0501 10:00:00.123456 140123456789 train.py:140] eval in step: 10, loss: 4.4, accuracy: 56.1",
        {"loss": {10: 4.5}, "val/loss": {10: 4.4}, "val/accuracy": {10: 56.1}},
    ),
    "Megatron's validation": (
        "  iteration       10/  500000 | lm loss: 4.5E+00 | number of nan iterations:   0 |\n"
        " validation loss at iteration 10 | lm loss value: 2.7E+00 | lm loss PPL: 1.488E+01 |",
        {"loss": {10: 4.5}, "val/loss": {10: 2.7}, "val/perplexity": {10: 14.88}},
    ),
    "Marian": (
        "[2020-05-01 10:00:00] Ep. 1 : Up. 500 : Sen. 30,000 : Cost 4.5 * 1,000 after 9,000 : Time 45.12s : gNorm 0.9 :"
        " L.r. 3.0000e-04\n[2020-05-01 10:00:00] [valid] Ep. 1 : Up. 500 : cross-entropy : 38.7 : new best",
        {"loss": {500: 4.5}, "val/loss": {500: 38.7}, "grad_norm": {500: 0.9}, "lr": {500: 3e-4}},
    ),
    "LitGPT": (
        "Epoch 1 | iter 4 step 1 | loss train: 4.531, val: n/a | iter time: 312.11 ms (step)\n"
        "Epoch 1 | iter 8 step 2 | loss train: 4.431, val: 4.6 | iter time: 312.11 ms (step)",
        {"loss": {1: 4.531, 2: 4.431}, "val/loss": {2: 4.6}},
    ),
    "Diffusers": (
        "Steps:   7%|▎     | 20/300 [00:12<1:02:11,  1.21s/it, lr=3.00e-04, step_loss=0.125]",
        {"loss": {20: 0.125}, "lr": {20: 3e-4}},
    ),
    "torchtune's bar": (
        "1|20|Loss: 2.25:   7%|▎     | 20/300 [00:12<1:02:11,  1.21s/it]",
        {"loss": {20: 2.25}},
    ),
    "fastai": (
        "epoch     train_loss  valid_loss  accuracy  time    \n0         2.500000    2.400000    0.500000  00:12     \n"
        "1         1.500000    1.400000    0.600000  01:00:12     ",
        {"loss": {0: 2.5, 1: 1.5}, "val/loss": {0: 2.4, 1: 1.4}, "val/accuracy": {0: 0.5, 1: 0.6}},
    ),
    "spaCy": (
        "E    #       LOSS NER  ENTS_F  SCORE \n---  ------  --------  ------  ------\n"
        "  0     200     50.00   40.00    0.40\n  1     400     40.00   41.00    0.41",
        {"loss": {200: 50.0, 400: 40.0}},
    ),
    "BasicSR": (
        "2024-05-01 10:00:00,123 INFO: [train..][epoch:  0, iter:   1,100, lr:(3.000e-04,)] [eta: 1 day, 10:11:12]"
        " l_pix: 1.2000e-02",
        {"loss": {1100: 0.012}, "lr": {1100: 3e-4}},
    ),
    "XGBoost and LightGBM": (
        "[0]\ttrain-logloss:0.65\teval-logloss:0.66\n[1]\ttrain-logloss:0.60\teval-logloss:0.62",
        {"loss": {0: 0.65, 1: 0.6}, "val/loss": {0: 0.66, 1: 0.62}},
    ),
    "fairseq's JSON": (
        '2023-05-01 10:00:00 | INFO | train_inner | {"epoch": 1, "update": 1.0, "loss": "4.5", "num_updates": "100",'
        ' "lr": "3e-04", "gnorm": "1.2"}\n'
        '2023-05-01 10:30:00 | INFO | valid | {"epoch": 1, "valid_loss": "4.4", "valid_wps": "33000"}',
        {"loss": {100: 4.5}, "val/loss": {100: 4.4}},
    ),
    "nnU-Net": (
        "2024-05-01 10:00:00.123456: Epoch 3\n2024-05-01 10:00:00.123456: Current learning rate: 0.01\n"
        "2024-05-01 10:00:00.123456: train_loss -0.5\n2024-05-01 10:00:00.123456: val_loss -0.4\n"
        "2024-05-01 10:00:00.123456: Pseudo dice [0.8123, 0.7]",
        {"loss": {3: -0.5}, "val/loss": {3: -0.4}, "lr": {3: 0.01}, "val/pseudo_dice": {3: 0.8123}},
    ),
    "PyTorch's ImageNet example": (
        "Epoch: [0][  10/5005]\tTime  0.3 ( 0.9)\tLoss 6.9954e+00 (7.0e+00)\tAcc@1   0.50 (  0.07)\n"
        " *   Acc@1 12.5 Acc@5 30.12",
        {"loss": {10: 6.9954}},
    ),
}  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS)
def test_what_programs_print(program):
    text, expected = PROGRAMS[program]
    run = run_of(text)
    for key, values in expected.items():
        assert curve(run.series(key)) == values


FREE = r"(?<![\w@.#])(?<![a-zA-Z]\d-)(?<![a-zA-Z]\d\d-)\d[\d.,]*"  # digits that are no part of a name


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_shape_reads_other_digits_as_the_line_itself_would(program):
    rng = random.Random(program)
    for line in PROGRAMS[program][0].splitlines():
        shapes = Shapes()
        shapes.of(line)
        for _ in range(5):
            other = re.sub(FREE, lambda m: re.sub(r"\d", lambda _: rng.choice("0123456789"), m[0]), line)
            assert shapes.of(other).read(other) == line_numbers(other)


@settings(max_examples=300, deadline=None)
@given(st.text("0123456789.,:-/%[]() |eEabx@_+#", max_size=60), st.randoms())
def test_shapes_agree_with_lines_whatever_the_line(line, rng):
    shapes = Shapes()
    shapes.of(line)
    other = re.sub(FREE, lambda m: re.sub(r"\d", lambda _: rng.choice("0123456789"), m[0]), line)
    assert shapes.of(other).read(other) == line_numbers(other)


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
    assert not run_of(*(f"step:{i} - actor/loss:{9 - i} - actor/lr:0.000" for i in range(5))).series("lr")
    run = run_of(*(f"step {i} loss {9 - i} lr {lr}" for i, lr in enumerate(("0.0002", "0.0001", "0.0000"))))
    assert curve(run.series("lr")) == {0: 2e-4, 1: 1e-4}
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
    assert not any(vital.startswith("val/") for vital, _ in run.keys)


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
    assert not any("improve" in vital or vital == "lr" for vital, _ in run.keys)


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
    assert not any("loss" in vital and vital != "loss" for vital, _ in run.keys)


@pytest.mark.parametrize("clock", ["Global step {}:", "Round {},", "Trained batch 7 in epoch {},", "end of epoch {} |"])
def test_clocks_as_people_call_them(clock):
    run = run_of(*(f"{clock.format(i)} loss {9 - i}" for i in range(1, 4)))
    assert curve(run.loss) == {1: 8, 2: 7, 3: 6}
