"""Every format on one line, the most particular first: the first that recognises a file has it.

Where one folder tells of the same run twice (AlgoPerf writes a CSV and TensorBoard files, LLaMA-Factory the
Trainer's state and a log of its own), the earlier line is the richer source.
"""

from __future__ import annotations

from bedside.errors import unknown_name
from bedside.logs.formats import (
    aim,
    algoperf,
    comet,
    csv,
    detectron2,
    fastai,
    hf_trainer,
    json_records,
    keras,
    lightning,
    llama_factory,
    mlflow,
    mlperf,
    notebook,
    trackio,
    ultralytics,
    wandb,
    wandb_export,
)
from bedside.logs.formats.log_format import Format
from bedside.logs.formats.tensorboard import event_files as tensorboard
from bedside.logs.formats.text import lines as text

OWN = "bedside"

FORMATS: tuple[Format, ...] = (
    notebook.FORMAT,
    wandb.FORMAT,
    hf_trainer.FORMAT,
    algoperf.FORMAT,
    lightning.FORMAT,
    tensorboard.FORMAT,
    llama_factory.FORMAT,
    ultralytics.FORMAT,
    detectron2.FORMAT,
    mlflow.FORMAT,
    trackio.FORMAT,
    aim.FORMAT,
    comet.FORMAT,
    wandb_export.FORMAT,
    fastai.FORMAT,
    keras.FORMAT,
    mlperf.FORMAT,
    csv.FORMAT,
    json_records.FORMAT,
    text.FORMAT,
)


def format_named(name: str) -> Format:
    """The format that `--format-in NAME` asks for."""
    for each in FORMATS:
        if each.name == name.strip().lower().replace("_", "-"):
            return each
    raise unknown_name("format", name, [OWN, *(each.name for each in FORMATS)], try_="--format-in csv")
