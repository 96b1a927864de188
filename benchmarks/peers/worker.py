"""A tool listens to its trainings, in its own environment; its words go to a file, one line of JSON per training.

    python -m peers.worker TOOL ANSWERS.jsonl --scenarios nan dead --seeds 0 1     (with benchmarks/ on PYTHONPATH)

Every training runs in a fork of its own, so that no tool meets what it left behind the last time.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import sys
import time
import traceback
import warnings
from collections.abc import Sequence
from dataclasses import asdict
from importlib import metadata
from pathlib import Path
from typing import Any

import torch

from .listener import Listener
from .scenarios import build, train

AT_HOME = {"detect-anomaly": "torch", "hf-debug": "transformers"}  # tools that are part of another package


def adapter(tool: str) -> type[Listener]:
    return importlib.import_module(f"{__package__}.adapters.{tool.replace('-', '_')}").Adapter


def listen(listener: Listener, scenario: str, seed: int) -> dict[str, Any]:
    training = build(scenario, seed)
    try:
        train(training, listener)
        said = listener.said()
    except Exception as error:
        said = listener.raised(error)
    return {"said": [asdict(one) for one in said], "loss": training.losses[-1] if training.losses else None}


def answer(tool: str, make: type[Listener], scenario: str, seed: int) -> dict[str, Any]:
    result = {"tool": tool, "version": metadata.version(AT_HOME.get(tool, tool)), "scenario": scenario, "seed": seed}
    began = time.process_time()
    try:
        result |= listen(make(), scenario, seed)
    except Exception as error:
        traceback.print_exc()
        result |= {"error": f"{type(error).__name__}: {error}"}
    return result | {"seconds": round(time.process_time() - began, 1)}


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tool")
    parser.add_argument("answers", type=Path)
    parser.add_argument("--scenarios", nargs="+", required=True)
    parser.add_argument("--seeds", nargs="+", type=int, required=True)
    parser.add_argument("--minutes", type=float, default=float("inf"), help="begin no further seed after so long")
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")  # what Python says of a tool's code is not what the tool says of the training
    make, began = adapter(options.tool), time.monotonic()
    for seed in options.seeds:
        if time.monotonic() - began > 60 * options.minutes:
            break
        for scenario in options.scenarios:
            child = os.fork()
            if child == 0:
                line = json.dumps(answer(options.tool, make, scenario, seed))
                with options.answers.open("a") as file:
                    file.write(line + "\n")
                os._exit(0)
            os.waitpid(child, 0)
    return 0


if __name__ == "__main__":
    sys.exit(main())
