"""What each program prints is read as what it means."""

from __future__ import annotations

import math

import pytest
from tests.logs.printed import PROGRAMS, curve, run_of


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


@pytest.mark.parametrize("program", PROGRAMS)
def test_what_programs_print(program):
    text, expected = PROGRAMS[program]
    run = run_of(text)
    for key, values in expected.items():
        assert curve(run.series(key)) == values
