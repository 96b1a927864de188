"""Lines as real programs print them; the numbers in them are made up."""

from __future__ import annotations

from bedside.logs.formats.text.lines import read_lines
from bedside.logs.to_run import to_run


def run_of(*lines: str):
    return to_run(read_lines("\n".join(lines).splitlines()), "text")


def curve(series):
    return dict(zip(series.steps.tolist(), series.values.tolist(), strict=True))


PROGRAMS = {
    "fairseq": (
        "2020-01-01 12:00:00 | INFO | train_inner | epoch 001:    100 / 5000 loss=9.8, ppl=555.2, wps=12345, ups=3.1,"
        " num_updates=100, lr=1.25e-05, gnorm=2.1, loss_scale=128, wall=45",
        {"loss": {100: 9.8}, "grad_norm": {100: 2.1}, "loss_scale": {100: 128.0}, "lr": {100: 1.25e-05}},
    ),
    "Darknet, which names what stands before": (
        " 9: 2.5, 2.7 avg loss, 0.001000 rate, 4.128 seconds, 576 images, 9.2 hours left\nLoaded: 0.000028 seconds\n"
        " 10: 2.3, 2.6 avg loss, 0.001000 rate, 4.128 seconds, 640 images, 9.2 hours left",
        {"loss": {9: 2.5, 10: 2.3}, "lr": {9: 0.001, 10: 0.001}},
    ),
    "CatBoost": (
        "0:\tlearn: 0.68\ttest: 0.69\tbest: 0.69 (0)\ttotal: 57ms\tremaining: 57.1s\n"
        "100:\tlearn: 0.51\ttest: 0.62\tbest: 0.62 (100)\ttotal: 5s\tremaining: 9s",
        {"loss": {0: 0.68, 100: 0.51}, "val/loss": {0: 0.69, 100: 0.62}},
    ),
    "ML-Agents, in sentences": (
        "[INFO] 3DBall. Step: 12000. Time Elapsed: 100.1 s. Mean Reward: 1.2. Std of Reward: 0.7. Training.\n"
        "[INFO] 3DBall. Step: 24000. Time Elapsed: 200.1 s. Mean Reward: 2.5. Std of Reward: 0.7. Training.",
        {"train/mean_reward": {12000: 1.2, 24000: 2.5}},
    ),
    "timm": (
        "Train: 1 [  50/100 (  4%)]  Loss: 6.93 (6.94)  Time: 0.523s,  489.33/s  (0.8s, 300.1/s)  LR: 1.000e-05\n"
        "Test: [  48/48]  Time: 0.108 (0.219)  Loss:  6.9014 (6.9100)  Acc@1:  0.1179 ( 0.1320)  Acc@5:  0.58 ( 0.55)",
        {"loss": {50: 6.93}, "val/loss": {50: 6.9014}, "val/accuracy": {50: 0.1179}, "lr": {50: 1e-05}},
    ),
    "mmdetection": (
        "2021-06-01 10:00:00,000 - mmdet - INFO - Epoch [1][50/100]\tlr: 2e-03, eta: 1 day, 2:03:04, time: 0.5,"
        " memory: 3900, loss_rpn_cls: 0.6, loss: 1.9\n"
        "2021-06-01 12:01:00,000 - mmdet - INFO - Epoch(val) [1][625]\tbbox_mAP: 0.2210",
        {"loss": {50: 1.9}, "part/loss_rpn_cls": {50: 0.6}, "val/bbox_map": {50: 0.221}},
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
        {"loss": {50: 2.3, 100: 1.2}, "val/loss": {100: 1.1}},
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
    "TensorFlow's Estimator": (
        "INFO:tensorflow:loss = 1.76, step = 200 (0.323 sec)\nINFO:tensorflow:Saving dict for global step 300: accuracy"
        " = 0.91, global_step = 300, loss = 0.31\nINFO:tensorflow:loss = 1.36, step = 300 (0.323 sec)",
        {"loss": {200: 1.76, 300: 1.36}, "val/loss": {300: 0.31}, "val/accuracy": {300: 0.91}},
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
        {"loss": {64: 1.0, 6464: 2.2}, "val/loss": {6464: 2.158}, "val/accuracy": {6464: 0.505}},
    ),
    "PyTorch's DCGAN example": (
        "[0/25][50/1583]\tLoss_D: 1.7\tLoss_G: 4.7\tD(x): 0.5\tD(G(z)): 0.3 / 0.2\n"
        "[1/25][0/1583]\tLoss_D: 1.2\tLoss_G: 4.1\tD(x): 0.5\tD(G(z)): 0.3 / 0.2",
        {"part/loss_d": {50: 1.7, 1583: 1.2}, "part/loss_g": {50: 4.7, 1583: 4.1}},
    ),
    "PyTorch's language model": (
        "| epoch   1 |   200/ 2983 batches | lr 5.00 | ms/batch 12.34 | loss  6.50 | ppl   665.14\n"
        "| end of epoch   1 | time: 12.34s | valid loss  6.10 | valid ppl   445.86",
        {"loss": {200: 6.5}, "lr": {200: 5.0}, "val/loss": {200: 6.1}},
    ),
    "PyTorch's MNIST example": (
        "Train Epoch: 1 [640/60000 (1%)]\tLoss: 1.359780\nTest set: Average loss: 0.0471, Accuracy: 9842/10000 (98%)",
        {"loss": {640: 1.35978}, "val/loss": {640: 0.0471}, "val/accuracy": {640: 0.9842}},
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
