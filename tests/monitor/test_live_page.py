"""`watch(..., serve=True)`: a page beside the training, which does not notice it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest
import torch

import bedside
from bedside.errors import BedsideError

SCRIPT = """
import sys, time, torch, bedside
torch.manual_seed(0)
model = torch.nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
with bedside.watch(model, optimizer, run_dir=sys.argv[1], quiet=True, serve=True):
    for step in range(200):
        loss = model(torch.randn(8, 4)).square().mean()
        optimizer.zero_grad(); loss.backward(); optimizer.step()
    sys.stdin.readline()
print(float(sum(p.detach().double().sum() for p in model.parameters())))
"""


def answers(address: str) -> bool:
    try:
        return urllib.request.urlopen(address, timeout=2).status == 200
    except OSError:
        return False


def test_the_address_is_printed_and_the_page_ends_with_the_training(tmp_path: Path) -> None:
    training = subprocess.Popen(
        [sys.executable, "-c", SCRIPT, str(tmp_path / "run")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert training.stderr is not None
    address = re.search(r"http://127\.0\.0\.1:\d+/", training.stderr.readline())
    assert address is not None
    assert answers(address[0])
    out, _ = training.communicate("\n", timeout=60)
    assert training.returncode == 0
    torch.manual_seed(0)  # the same training, unwatched
    model = torch.nn.Linear(4, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(200):
        loss = model(torch.randn(8, 4)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert float(out) == float(sum(p.detach().double().sum() for p in model.parameters()))
    for _ in range(100):
        if not answers(address[0]):
            return
        time.sleep(0.1)
    pytest.fail("the page outlived the training")


def test_without_the_extra_it_is_refused_before_anything_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bedside.monitor.live_page.find_spec", lambda name: None)
    model = torch.nn.Linear(2, 1)
    with pytest.raises(BedsideError, match="serve=True needs starlette and uvicorn"):
        bedside.watch(model, torch.optim.SGD(model.parameters(), lr=0.1), run_dir=tmp_path / "run", serve=True)
    assert not (tmp_path / "run").exists()
