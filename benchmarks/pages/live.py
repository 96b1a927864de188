"""Many runs that grow, on the first page of each tool in a real browser: bytes received, processor time of the server.

This is the case that Trackio's users reported: fifty runs of two thousand points each, live. Every tool gets the same
readings by its own writer, one a run and second; what its page does with them is its own affair.
"""

from __future__ import annotations

import math
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

if __name__ != "__main__":  # a writer runs in the tool's own environment, which has none of this
    from pages.servers import cpu_seconds, server
    from peers.environments import python_for

SETTLE = 20.0  # seconds for the page to have loaded before anything is counted
PORT = 8792
BIN = Path(sys.executable).parent
Numbers = dict[str, tuple[float, str]]


@dataclass(frozen=True)
class Tool:
    """How a tool is served, where its page is, and which interpreter its writer needs."""

    command: Callable[[Path, Path], Sequence[str | Path]]  # of its interpreter and the folder
    page: str = "/"
    port: int = PORT
    requires: tuple[str, ...] = ()
    script: str = ""  # run before the page's own
    environment: Callable[[Path], dict[str, str]] = lambda folder: {}


TOOLS = {
    "bedside": Tool(lambda python, folder: [BIN / "bedside", "serve", folder, "--port", str(PORT)]),
    "tensorboard": Tool(
        lambda python, folder: [
            BIN / "tensorboard",
            "--logdir",
            folder,
            "--port",
            str(PORT),
            "--reload_interval",
            "1",
        ],
        # Its page does not follow a run unless it is asked to; every 30 seconds is what it then proposes.
        script="""localStorage.setItem("_tb_global_settings", '{"autoReload": true, "autoReloadPeriodInMs": 30000}')""",
    ),
    "trackio": Tool(
        lambda python, folder: [python.parent / "trackio", "show", "--project", "growing"],
        page="/?project=growing",
        port=7860,
        requires=("trackio",),
        environment=lambda folder: {"TRACKIO_DIR": str(folder), "HF_HUB_OFFLINE": "1"},
    ),
}


@dataclass(frozen=True)
class Spent:
    opening: int  # bytes until the page had settled
    received: int  # bytes afterwards
    server: float  # seconds of processor time afterwards
    workers: float  # of processes that the server started: bedside judges runs in one


def live(tools: Sequence[str], runs: int, points: int, seconds: int) -> Numbers:
    found: Numbers = {}
    for name in tools:
        tool = TOOLS[name]
        python = python_for(name, tool.requires)
        with tempfile.TemporaryDirectory() as folder:
            spent = _measured(name, tool, python, Path(folder), runs, points, seconds)
        found[f"{name}, received to open"] = (spent.opening / 1024, "KB")
        found[f"{name}, received per second"] = (spent.received / seconds / 1024, "KB")
        found[f"{name}, server per second"] = (1000 * spent.server / seconds, "ms")
        if spent.workers:
            found[f"{name}, its other processes per second"] = (1000 * spent.workers / seconds, "ms")
    return found


def _measured(name: str, tool: Tool, python: Path, folder: Path, runs: int, points: int, seconds: int) -> Spent:
    environment = tool.environment(folder)
    writer = [python, __file__, name, str(folder), str(runs), str(points), str(int(SETTLE + seconds + 30))]
    writing = subprocess.Popen(
        list(map(str, writer)), env={**os.environ, **environment}, stdout=subprocess.PIPE, text=True
    )
    try:
        assert writing.stdout is not None
        writing.stdout.readline()  # the history is written, and growth begins
        address = f"http://127.0.0.1:{tool.port}"
        with server(tool.command(python, folder), address, environment) as leader:
            return _browsed(address + tool.page, tool.script, leader, seconds)
    finally:
        writing.kill()


def _browsed(address: str, script: str, leader: int, seconds: int) -> Spent:
    from playwright.sync_api import sync_playwright

    received = 0

    def count(event: dict[str, float]) -> None:
        nonlocal received
        received += int(event["encodedDataLength"] or event["dataLength"])

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1400, "height": 900})
        session = page.context.new_cdp_session(page)
        session.send("Network.enable")
        session.on("Network.dataReceived", count)
        page.add_init_script(script or ";")
        page.goto(address)
        page.wait_for_timeout(1000 * SETTLE)
        opened, received = received, 0
        before = cpu_seconds(leader)
        page.wait_for_timeout(1000 * seconds)
        after = cpu_seconds(leader)
        browser.close()
    server, everything = (after[place] - before[place] for place in (0, 1))
    return Spent(opened, received, server, everything - server)


# The writers, each in the tool's own interpreter: `python live.py TOOL FOLDER RUNS POINTS SECONDS`.


def reading(run: int, step: int) -> float:
    return 2.0 * math.exp(-step / 700) + 0.1 + 0.02 * math.sin(step * (run + 3))


def _write_bedside(folder: Path, runs: int) -> Callable[[int, int], None]:
    import numpy as np

    from bedside.record.sqlite.writer import Store

    stores = [Store.create(folder / f"run-{run:02}") for run in range(runs)]
    sets = [store.declare("scalars", [("loss", "")], "f8") for store in stores]

    def write(first: int, until: int) -> None:
        steps = list(range(first, until))
        for run, (store, columns) in enumerate(zip(stores, sets, strict=True)):
            values = np.asarray([[reading(run, step)] for step in steps])
            store.rows(columns, steps, [time.time()] * len(steps), values)
            store.commit()

    return write


def _write_tensorboard(folder: Path, runs: int) -> Callable[[int, int], None]:
    from torch.utils.tensorboard import SummaryWriter

    writers = [SummaryWriter(str(folder / f"run-{run:02}")) for run in range(runs)]

    def write(first: int, until: int) -> None:
        for run, writer in enumerate(writers):
            for step in range(first, until):
                writer.add_scalar("loss", reading(run, step), step)
            writer.flush()

    return write


def _write_trackio(folder: Path, runs: int) -> Callable[[int, int], None]:
    from trackio.sqlite_storage import SQLiteStorage  # type: ignore[import-not-found]  # in its own environment

    def write(first: int, until: int) -> None:
        steps = list(range(first, until))
        for run in range(runs):
            SQLiteStorage.bulk_log(
                "growing", f"run-{run:02}", [{"loss": reading(run, step)} for step in steps], steps=steps
            )

    return write


def _grow(tool: str, folder: Path, runs: int, points: int, seconds: int) -> None:
    makers = {"bedside": _write_bedside, "tensorboard": _write_tensorboard, "trackio": _write_trackio}
    write = makers[tool](folder, runs)
    write(0, points)
    print("growing", flush=True)
    for second in range(seconds):
        time.sleep(1.0)
        write(points + second, points + second + 1)


if __name__ == "__main__":
    _grow(sys.argv[1], Path(sys.argv[2]), *map(int, sys.argv[3:6]))
