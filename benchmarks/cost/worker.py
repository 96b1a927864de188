"""One training, in a process of its own: reads how many steps to make, writes what they took, as JSON, line by line.

python -m cost.worker WORKLOAD PLACE [--fused]     (with benchmarks/ on PYTHONPATH)
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

from .watchers import watcher
from .workloads import WORKLOADS, build


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
    training = build(asked.workload, asked.fused)
    one = watcher(asked.place)
    one.start(training)
    done, ended = 0, time.perf_counter()
    gc.collect()
    for line in sys.stdin:
        one.resumed(time.perf_counter() - ended)
        steps, cpu, own = int(line), time.process_time(), one.own_seconds()
        for _ in range(steps):
            x, y = training.batch()
            one.before_step(done, x, y)
            training.optimizer.zero_grad()
            loss = one.backward(training, x, y)
            one.after_backward(done, loss)
            if training.clip is not None:
                nn.utils.clip_grad_norm_(training.model.parameters(), training.clip)
            training.optimizer.step()
            one.after_step(done, loss)
            done += 1
        took = {"cpu": time.process_time() - cpu, "steps": steps}
        if own is not None:
            took["own"] = (one.own_seconds() or 0.0) - own
        ended = time.perf_counter()
        print(json.dumps(took), file=answers, flush=True)


if __name__ == "__main__":
    main()
