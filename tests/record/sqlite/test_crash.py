"""A real writer, killed with -9: at most the last second is lost, and what is left can be read and resumed."""

from __future__ import annotations

import os
import random
import select
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from bedside.record.sqlite.reader import open_run
from bedside.record.sqlite.writer import COMMIT_EVERY, Store

# Reports every step, with the moment at which it began to write it, after it was written.
WRITER = """
import sys, time
from pathlib import Path
import numpy as np
from bedside.record.sqlite.writer import Store
store = Store.create(Path(sys.argv[1]))
scalars = store.declare("scalars", [("loss", ""), ("lr", "")], "f8")
modules = store.declare("modules", [("grad_norm", f"layer{i}") for i in range(100)])
for step in range(10**9):
    began = time.monotonic()
    store.rows(scalars, [step], [began], np.array([[step, 0.1]], float))
    store.rows(modules, [step], [began], np.full((1, 100), float(step)))
    store.commit_if_due()
    print(step, began, flush=True)
    time.sleep(0.002)
"""


@pytest.mark.parametrize("after", [0.05, 1.2, 2.5])
def test_killing_the_writer_loses_at_most_the_last_second(tmp_path: Path, after: float) -> None:
    reports = tmp_path / "reports"
    with reports.open("wb") as said:
        writer = subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path / "run")], stdout=said)
        while not reports.stat().st_size:
            assert writer.poll() is None
        select.select([], [], [], after + random.uniform(0, 0.4))  # a moment that nobody chose
        writer.send_signal(signal.SIGKILL)
        assert writer.wait() == -signal.SIGKILL
    *lines, _ = reports.read_text().split("\n")
    began = {int(step): float(moment) for step, moment in map(str.split, lines)}
    last_heard = max(began.values())

    run = open_run(tmp_path / "run")
    loss, layer = run.loss, run.series("grad_norm", "layer99")
    np.testing.assert_array_equal(loss.values, np.arange(len(loss)))  # no hole, no torn row
    np.testing.assert_array_equal(layer.values, np.arange(len(layer)))
    safe = [step for step, moment in began.items() if moment <= last_heard - COMMIT_EVERY]
    assert len(layer) >= len(safe)
    assert run.finished is None

    store = Store.resume(tmp_path / "run")
    assert store.last_step == len(loss) - 1
    store.close()


EVENTS = """
import os, signal, sys
from pathlib import Path
from bedside.record.run import Event
from bedside.record.sqlite.writer import Store
store = Store.create(Path(sys.argv[1]))
store.metric(4, "val/loss", 1.0)
store.event(Event(5, "coverage"))
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_an_event_is_safe_the_moment_it_is_written(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", EVENTS, str(tmp_path)], check=False)
    assert done.returncode == -signal.SIGKILL
    run = open_run(tmp_path)
    assert [event.kind for event in run.events] == ["coverage"]
    assert run.series("val/loss").steps.tolist() == [4]


# A child that leaves through the interpreter's front door takes its copy of the connection down with it.
FORKS = """
import os, sys
from pathlib import Path
import numpy as np
from bedside.record.sqlite.writer import Store
store = Store.create(Path(sys.argv[1]))
scalars = store.declare("scalars", [("loss", "")])
for step in range(100):
    store.rows(scalars, [step], [0.0], np.array([[float(step)]]))
    if step % 20 == 10:
        if os.fork() == 0:
            sys.exit()
        os.wait()
        store.commit()
os._exit(0)  # without closing
"""


def test_children_that_exit_normally_do_no_harm(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-W", "ignore", "-c", FORKS, str(tmp_path)], check=True)
    assert len(open_run(tmp_path).loss) == 91
    assert not os.path.exists(tmp_path / "rank0.sqlite-journal")
