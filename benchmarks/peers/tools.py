"""The tools that are compared, and what pip installs for each."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Tool:
    requires: tuple[str, ...]
    ranked: bool = False  # orders its own findings; otherwise they are taken by severity, then as they were said
    only: tuple[str, ...] = ()  # the scenarios it is meant for, if not all
    fed: str = ""  # what a user has to hand over, beside the model and the optimizer


TOOLS = {
    "bedside": Tool((), ranked=True, fed="nothing"),
    "torchmortem": Tool(("torchmortem==0.1.1",), ranked=True, fed="the loss"),
    "torch-audit": Tool(("torch-audit==0.3.0",), fed="nothing; audits every 10 steps, not every 1000"),
    "training-doctor": Tool(("training-doctor==0.1.0",), fed="loss, learning rate, gradient norm"),
    "trainpulse": Tool(("trainpulse==0.4.0",), fed="loss, learning rate, gradient norm"),
    "trainscope": Tool(("trainscope==1.8.1",), fed="the loss"),
    "neural-observatory": Tool(("neural-observatory==0.5.1",), ranked=True, fed="the step"),
    "ormas-monitor": Tool(("ormas-monitor==0.2.3",), fed="the loss"),
    "stabilityguard": Tool(("stabilityguard==0.3.0",), fed="nothing"),
    "runmedic": Tool(("runmedic==0.1.1",), ranked=True, fed="a CSV of loss, learning rate, gradient norm"),
    "sk-autod": Tool(("sk-autod==0.1.1",), ranked=True, fed="training and validation loss, every 10 steps an epoch"),
    "detect-anomaly": Tool((), only=("nan",), fed="nothing; part of torch"),
    "hf-debug": Tool((), only=("nan",), fed="nothing; part of transformers"),
}
