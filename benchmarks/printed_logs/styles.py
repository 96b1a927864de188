"""How programs print what they train: a style turns a History into the files of a log folder."""

# ruff: noqa: E501 (one case, one printed line: one line)

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Callable, Iterator

from .trainings import History

Files = dict[str, str]
Style = Callable[[History], Files]


def thinned(history: History, at_most: int = 200) -> list[dict[str, float]]:
    """Every n-th step, as programs log them."""
    every = max(1, len(history.steps) // at_most)
    return history.steps[::every]


def clock(second: float) -> str:
    minutes, seconds = divmod(int(second), 60)
    hours, minutes = divmod(minutes, 60)
    return f"2024-03-05 {9 + hours:02d}:{minutes:02d}:{seconds:02d}"


def text(lines: Iterator[str], name: str = "train.log") -> Files:
    return {name: "\n".join(lines) + "\n"}


def epochs_of(history: History) -> Iterator[tuple[dict[str, float], list[dict[str, float]]]]:
    for epoch in history.epochs:
        yield epoch, [step for step in history.steps if step["epoch"] == epoch["epoch"]]


def tqdm(history: History) -> Files:
    def lines() -> Iterator[str]:
        per_epoch = history.steps_per_epoch
        for epoch, steps in epochs_of(history):
            bars = []
            for place, step in list(enumerate(steps, 1))[:: max(1, per_epoch // 5)]:
                share = place / per_epoch
                bars.append(
                    f"Epoch {int(epoch['epoch'])}/{history.planned_epochs}: {100 * share:3.0f}%|{'█' * int(10 * share):10}| "
                    f"{place}/{per_epoch} [00:{place:02d}<00:{per_epoch - place:02d}, 9.81it/s, loss={step['loss']:.3f}]"
                )
            yield "\r".join(bars)
            accuracy = f", val acc {100 * epoch['val_acc']:.2f}%" if "val_acc" in epoch else ""
            yield f"Validation: val loss {epoch['val_loss']:.4f}{accuracy}"

    return text(lines())


def logger(history: History) -> Files:
    def lines() -> Iterator[str]:
        yield f"{clock(0)},101 - INFO - Using device: cpu"
        for epoch in history.epochs:
            said = f"Train Loss: {epoch['train_loss']:.4f}, Val Loss: {epoch['val_loss']:.4f}"
            said += f", Val Acc: {100 * epoch['val_acc']:.2f}%" if "val_acc" in epoch else ""
            yield f"{clock(31 * epoch['epoch'])},374 - INFO - Epoch {int(epoch['epoch'])}/{history.planned_epochs}, {said}"

    return text(lines())


def accuracy_only(history: History) -> Files:
    def lines() -> Iterator[str]:
        for epoch in history.epochs:
            yield (
                f"epoch {int(epoch['epoch'])}: train accuracy = {epoch['train_acc']:.4f}, "
                f"test accuracy = {epoch['val_acc']:.4f}"
            )

    return text(lines(), "out.txt")


def json_lines(history: History) -> Files:
    def lines() -> Iterator[str]:
        for epoch, steps in epochs_of(history):
            for step in steps[:: max(1, len(steps) // 10)]:
                yield json.dumps(
                    {
                        "mode": "train",
                        "epoch": int(step["epoch"]),
                        "iter": int(step["step"]),
                        "lr": step["lr"],
                        "loss": round(step["loss"], 5),
                        "grad_norm": round(step["grad_norm"], 5),
                        "time": 0.031,
                    }
                )
            evaluated = {name[4:]: round(value, 5) for name, value in epoch.items() if name.startswith("val_")}
            yield json.dumps({"mode": "val", "epoch": int(epoch["epoch"]), "iter": int(epoch["step"]), **evaluated})

    return text(lines(), "log.json")


def keras_line(history: History, epoch: dict[str, float]) -> str:
    bar = f"{history.steps_per_epoch}/{history.steps_per_epoch} [==============================] - 1s 5ms/step"
    said = [f"loss: {_keras(epoch['train_loss'])}"]
    said += [f"accuracy: {epoch['train_acc']:.4f}"] if "train_acc" in epoch else []
    said += [f"val_loss: {_keras(epoch['val_loss'])}"]
    said += [f"val_accuracy: {epoch['val_acc']:.4f}"] if "val_acc" in epoch else []
    return " - ".join([bar, *said])


def _keras(value: float) -> str:
    return f"{value:.4f}" if not value < 1e-3 else f"{value:.4e}"


def keras(history: History) -> Files:
    def lines() -> Iterator[str]:
        for epoch in history.epochs:
            yield f"Epoch {int(epoch['epoch'])}/{history.planned_epochs}"
            yield keras_line(history, epoch)

    return text(lines(), "nohup.out")


def fairseq(history: History) -> Files:
    def lines() -> Iterator[str]:
        for epoch, steps in epochs_of(history):
            number, stamp = int(epoch["epoch"]), clock(60 * epoch["epoch"])
            for step in steps[:: max(1, len(steps) // 5)]:
                loss = step["loss"] / math.log(2)
                yield (
                    f"{stamp} | INFO | train_inner | epoch {number:03d}: {int(step['step']):6d} / "
                    f"{history.steps_per_epoch} loss={loss:.3f}, ppl={_two_to(loss)}, wps=15300.2, ups=5.2, wpb=2944, "
                    f"bsz=128, num_updates={int(step['step'])}, lr={step['lr']:.6g}, gnorm={step['grad_norm']:.3f}, "
                    f"train_wall=19, wall={20 * number}"
                )
            valid = epoch["val_loss"] / math.log(2)
            yield (
                f"{stamp} | INFO | valid | epoch {number:03d} | valid on 'valid' subset | loss {valid:.3f} | "
                f"ppl {_two_to(valid)} | wps 45122 | wpb 2104 | bsz 100 | num_updates {int(epoch['step'])}"
            )

    return text(lines())


def _two_to(value: float) -> str:
    return f"{2**value:.2f}" if value < 900 else "inf"


def markdown(history: History) -> Files:
    def lines() -> Iterator[str]:
        yield "# Results"
        yield ""
        yield "| Epoch | Training Loss | Validation Loss | Accuracy |"
        yield "|:-----:|:-------------:|:---------------:|:--------:|"
        for epoch in history.epochs:
            yield (
                f"| {int(epoch['epoch'])} | {epoch['train_loss']:.4f} | {epoch['val_loss']:.4f} | "
                f"{epoch.get('val_acc', math.nan):.4f} |"
            )

    return text(lines(), "log.txt")


def nested(history: History) -> Files:
    def lines() -> Iterator[str]:
        for epoch in history.epochs:
            parts = {
                split: {name[len(split) + 1 :]: value for name, value in epoch.items() if name.startswith(f"{split}_")}
                for split in ("train", "val")
            }
            yield str({"epoch": int(epoch["epoch"]), **parts, "lr": epoch["lr"]})

    return text(lines(), "stdout.txt")


def summary(history: History) -> Files:
    def lines() -> Iterator[str]:
        for epoch in history.epochs:
            yield f"Epoch {int(epoch['epoch']) - 1}/{history.planned_epochs - 1}"
            yield "----------"
            for split in ("train", "val"):
                accuracy = f" Acc: {epoch[f'{split}_acc']:.4f}" if f"{split}_acc" in epoch else ""
                yield f"{split} Loss: {epoch[f'{split}_loss']:.4f}{accuracy}"
            yield ""
        yield f"Training complete in {len(history.epochs)}m 12s"

    return text(lines(), "training.txt")


def gappy_csv(history: History) -> Files:
    """One table for steps and evaluations, most of its cells blank."""
    names = [name for name in history.epochs[-1] if name.startswith("val_")]
    out = io.StringIO()
    table = csv.writer(out, lineterminator="\n")
    table.writerow(["epoch", "step", "train_loss_step", "lr", *names])
    for epoch, steps in epochs_of(history):
        for step in steps[:: max(1, len(steps) // 10)]:
            table.writerow([int(step["epoch"]), int(step["step"]), step["loss"], step["lr"], *[""] * len(names)])
        table.writerow([int(epoch["epoch"]), int(epoch["step"]), "", "", *[epoch[name] for name in names]])
    return {"metrics.csv": out.getvalue()}


def epoch_csv(history: History) -> Files:
    out = io.StringIO()
    table = csv.writer(out, lineterminator="\n")
    names = [name for name in ("train_acc", "train_loss", "val_acc", "val_loss") if name in history.epochs[0]]
    table.writerow(["epoch", *[name.removeprefix("train_") for name in names]])
    for epoch in history.epochs:
        table.writerow([int(epoch["epoch"]) - 1, *[epoch[name] for name in names]])
    return {"training.log": out.getvalue()}


def notebook(history: History) -> Files:
    printed: list[str] = []
    for epoch in history.epochs:
        printed += [f"Epoch {int(epoch['epoch'])}/{history.planned_epochs}\n", keras_line(history, epoch) + "\n"]
    cells = [
        {"cell_type": "markdown", "metadata": {}, "source": ["# My first network"]},
        {
            "cell_type": "code",
            "execution_count": 7,
            "metadata": {},
            "source": ["history = model.fit(x, y, validation_data=(xv, yv))"],
            "outputs": [{"name": "stdout", "output_type": "stream", "text": printed}],
        },
    ]
    return {"train.ipynb": json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})}


def nanogpt(history: History) -> Files:
    def lines() -> Iterator[str]:
        yield "number of parameters: 0.01M"
        for epoch, steps in epochs_of(history):
            for step in steps[:: max(1, len(steps) // 10)]:
                yield f"iter {int(step['step'])}: loss {step['loss']:.4f}, time 23.15ms, mfu 3.10%"
            yield f"step {int(epoch['step'])}: train loss {epoch['train_loss']:.4f}, val loss {epoch['val_loss']:.4f}"

    return text(lines(), "out.log")


def imagenet(history: History) -> Files:
    def lines() -> Iterator[str]:
        per_epoch = history.steps_per_epoch
        for epoch, steps in epochs_of(history):
            number, seen = int(epoch["epoch"]) - 1, [0.0, 0.0]
            for place, step in enumerate(steps):
                seen = [seen[0] + step["loss"], seen[1] + 100 * step.get("acc", 0.0)]
                if place % max(1, per_epoch // 5) == 0:
                    yield (
                        f"Epoch: [{number}][{place:3d}/{per_epoch}]\tTime  0.231 ( 0.244)\tData  0.001 ( 0.010)\t"
                        f"Loss {step['loss']:.4e} ({seen[0] / (place + 1):.4e})\t"
                        f"Acc@1 {100 * step.get('acc', 0.0):6.2f} ({seen[1] / (place + 1):6.2f})"
                    )
            yield f"Test: [0/5]\tTime  0.120 ( 0.120)\tLoss {epoch['val_loss']:.4e} ({epoch['val_loss']:.4e})"
            yield f" * Acc@1 {100 * epoch.get('val_acc', 0.0):.3f}"

    return text(lines())


def hf_printed(history: History) -> Files:
    def lines() -> Iterator[str]:
        for epoch, steps in epochs_of(history):
            for place, step in list(enumerate(steps, 1))[:: max(1, len(steps) // 5)]:
                when = round(epoch["epoch"] - 1 + place / len(steps), 2)
                said = {"loss": round(step["loss"], 4), "grad_norm": step["grad_norm"], "learning_rate": step["lr"]}
                yield str({**said, "epoch": when})
            evaluated = {"eval_loss": epoch["val_loss"]}
            evaluated |= {"eval_accuracy": epoch["val_acc"]} if "val_acc" in epoch else {}
            yield str({**evaluated, "eval_runtime": 1.31, "eval_samples_per_second": 381.2, "epoch": epoch["epoch"]})

    return text(lines(), "slurm-1234.out")


def perplexity_only(history: History) -> Files:
    def lines() -> Iterator[str]:
        yield "-" * 89
        for epoch in history.epochs:
            shown = (
                min(math.exp(min(epoch["val_loss"], 700)), 1e300)
                if epoch["val_loss"] == epoch["val_loss"]
                else math.nan
            )
            trained = (
                math.exp(min(epoch["train_loss"], 700)) if epoch["train_loss"] == epoch["train_loss"] else math.nan
            )
            yield f"| end of epoch {int(epoch['epoch']):3d} | time:  5.31s | train ppl {trained:8.2f} | valid ppl {shown:8.2f}"
            yield "-" * 89

    return text(lines())


def mm(history: History) -> Files:
    def lines() -> Iterator[str]:
        for epoch, steps in epochs_of(history):
            number, stamp = int(epoch["epoch"]), clock(45 * epoch["epoch"])
            for place, step in list(enumerate(steps, 1))[:: max(1, len(steps) // 4)]:
                yield (
                    f"{stamp},871 - mmcls - INFO - Epoch [{number}][{place}/{history.steps_per_epoch}]\t"
                    f"lr: {step['lr']:.3e}, eta: 0:10:12, time: 0.215, data_time: 0.011, memory: 1811, "
                    f"grad_norm: {step['grad_norm']:.4f}, loss: {step['loss']:.4f}"
                )
            if "val_acc" in epoch:
                yield (
                    f"{stamp},991 - mmcls - INFO - Epoch(val) [{number}][5]\taccuracy_top-1: {100 * epoch['val_acc']:.4f}, "
                    f"loss: {epoch['val_loss']:.4f}"
                )

    return text(lines(), "20240305_090000.log")


def class_table(history: History) -> Files:
    """A table of scores per class after each epoch, as detectors print it."""

    def lines() -> Iterator[str]:
        for epoch in history.epochs:
            yield f"Epoch {int(epoch['epoch'])}: train_loss={epoch['train_loss']:.4f} val_loss={epoch['val_loss']:.4f}"
            yield "+--------+--------+"
            yield "| class  | recall |"
            yield "+--------+--------+"
            for name in ("cat", "dog", "car", "bus", "cup"):
                place = ("cat", "dog", "car", "bus", "cup").index(name)
                yield f"| {name:6} | {epoch.get(f'recall_{place}', 0.0):.3f}  |"
            yield "+--------+--------+"
            yield f"| mean   | {epoch['val_acc']:.3f}  |"
            yield "+--------+--------+"

    return text(lines())


def gan_prints(history: History) -> Files:
    def lines() -> Iterator[str]:
        for step in thinned(history):
            place = int(step["step"] - 1) % history.steps_per_epoch
            yield (
                f"[{int(step['epoch']) - 1}/{history.planned_epochs}][{place}/{history.steps_per_epoch}]\t"
                f"Loss_D: {step['loss_d']:.4f}\tLoss_G: {step['loss_g']:.4f}\t"
                f"D(x): {step['d_x']:.4f}\tD(G(z)): {step['d_g']:.4f}"
            )

    return text(lines())


def rollouts(history: History) -> Files:
    """The boxes of a reinforcement-learning library."""

    def lines() -> Iterator[str]:
        for step in history.steps:
            yield "-" * 37
            yield "| rollout/                |           |"
            yield f"|    ep_len_mean          | {step['length']:<9.4g} |"
            yield f"|    ep_rew_mean          | {step['reward']:<9.4g} |"
            yield "| time/                   |           |"
            yield f"|    iterations           | {int(step['epoch']):<9} |"
            yield f"|    total_timesteps      | {int(step['step']):<9} |"
            yield "| train/                  |           |"
            yield f"|    entropy_loss         | {-step['entropy']:<9.4g} |"
            yield f"|    policy_gradient_loss | {step['loss']:<9.4g} |"
            yield "-" * 37

    return text(lines())


def episodes(history: History) -> Files:
    def lines() -> Iterator[str]:
        for step in history.steps:
            yield (
                f"Episode {int(step['step'])}\tLast reward: {step['reward'] + 0.5:.2f}\t"
                f"Average reward: {step['reward']:.2f}\tloss: {step['loss']:.4f}"
            )

    return text(lines())


STYLES: dict[str, Style] = {
    style.__name__: style
    for style in (
        tqdm,
        logger,
        accuracy_only,
        json_lines,
        keras,
        fairseq,
        markdown,
        nested,
        summary,
        gappy_csv,
        epoch_csv,
        notebook,
        nanogpt,
        imagenet,
        hf_printed,
        perplexity_only,
        mm,
        class_table,
        gan_prints,
        rollouts,
        episodes,
    )
}
