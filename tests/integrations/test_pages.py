"""The example of every page runs as it stands, and leaves a record that makes sense."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import bedside

PAGES = Path(__file__).parents[2] / "docs" / "integrations"
NEEDS = {"lightning": "lightning", "transformers": "transformers", "accelerate": "accelerate", "ignite": "ignite"}
NEEDS |= {"keras": "keras", "ray": "ray"}
STEPS = {"lightning": 40, "transformers": 40, "accelerate": 32, "ignite": 80, "keras": 64, "ray": 60}
STEPS["optimizer_in_backward"] = 80
VALIDATES = {"lightning": 4, "transformers": 4, "accelerate": 4, "ignite": 4, "keras": 4}


@pytest.mark.parametrize("page", sorted(path.stem for path in PAGES.glob("*.md")))
def test_the_example_of_a_page_runs(tmp_path, page):
    package = NEEDS.get(page)
    if package and importlib.util.find_spec(package) is None:
        pytest.skip(f"{package} is not installed")
    [code] = re.findall(r"```python\n(.*?)```", (PAGES / f"{page}.md").read_text(encoding="utf-8"), re.S)
    (tmp_path / "example.py").write_text(f"STORAGE = {str(tmp_path / 'storage')!r}\n{code}")
    env = {**os.environ, "OMP_NUM_THREADS": "1", "RAY_TRAIN_V2_ENABLED": "1", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}
    done = subprocess.run(
        [sys.executable, "example.py"], cwd=tmp_path, capture_output=True, text=True, timeout=200, env=env
    )
    assert done.returncode == 0, done.stderr[-3000:]
    [folder] = {path.parent for path in tmp_path.rglob("rank0.sqlite")}
    run = bedside.load(folder)
    assert (run.steps, len(run.loss)) == (STEPS[page], STEPS[page])
    assert run.loss.values[-5:].mean() < run.loss.values[:5].mean()
    assert run.series("grad_norm").steps[:20].tolist() == list(range(20))  # later ones as the clock allows
    assert len(run.series("val/loss")) == VALIDATES.get(page, 0)
    diagnosis = bedside.diagnose(folder)
    assert diagnosis.verdict != "sick", str(diagnosis)
    assert page == "ray" or f"{STEPS[page]} steps" in done.stderr
    if page == "ray":
        assert run.owners("rank_loss") == ["0", "1"]  # one record a worker, in the storage that all of them see
        assert [event.data["world_size"] for event in run.events_of("ranks")] == [2]
