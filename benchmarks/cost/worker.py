"""One training, in a process of its own: reads how many steps to make, writes what they took, as JSON, line by line.

python -m cost.worker WORKLOAD PLACE [--fused]     (with benchmarks/ on PYTHONPATH)

A negative number asks for steps of the same training that nobody watches, with every hook set aside: of two processes
one is often slower by a few per cent from beginning to end, and so is one of two trainings in a process.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import sys
import time
import warnings

import torch
from torch import nn

from .watchers import Watcher, watcher
from .workloads import WORKLOADS, Training, build


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("workload", choices=WORKLOADS)
    parser.add_argument("place")
    parser.add_argument("--fused", action="store_true")
    asked = parser.parse_args()
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever a tool prints goes elsewhere
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    training, nobody = build(asked.workload, asked.fused), Watcher()
    one = watcher(asked.place)
    one.start(training)
    done, ended = 0, time.perf_counter()
    gc.collect()
    for line in sys.stdin:
        if (steps := int(line)) < 0:
            with one.away(training):
                took = {"cpu": make(nobody, training, 0, -steps)}
        else:
            one.resumed(time.perf_counter() - ended if done else 0.0)
            own, reading = one.own_seconds(), one.reading_seconds()
            began = time.perf_counter()
            took = {"cpu": make(one, training, done, steps), "wall": time.perf_counter() - began}
            done += steps
            if own is not None:
                took |= {"own": one.own_seconds() - own, "reading": one.reading_seconds() - reading}
            ended = time.perf_counter()
        print(json.dumps(took), file=answers, flush=True)


def make(one: Watcher, training: Training, done: int, steps: int) -> float:
    """So many steps; returns the seconds of processor time."""
    cpu = time.process_time()
    for step in range(done, done + steps):
        x, y = training.batch()
        one.before_step(step, x, y)
        training.optimizer.zero_grad()
        loss = one.backward(training, x, y)
        one.after_backward(step, loss)
        if training.clip is not None:
            nn.utils.clip_grad_norm_(training.model.parameters(), training.clip)
        training.optimizer.step()
        one.after_step(step, loss)
    return time.process_time() - cpu


if __name__ == "__main__":
    main()
