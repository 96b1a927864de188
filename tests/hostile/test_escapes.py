"""What a file calls its metrics, modules and runs never reaches a terminal as anything but text."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.hostile.programs import command, run

from bedside.record.run import Event
from bedside.record.sqlite.writer import Store

# Move the cursor, change the title, a link, the eight-bit form of an escape, text that runs backwards, a bell.
EVIL = "\x1b[2J\x1b]0;owned\x07\x1b]8;;http:evil\x1b\\\x9b31m\u202egnp.exe\x08\x7f"
DANGEROUS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def a_log(path: Path) -> Path:
    header = f"step,loss,val_loss,lr,grad_norm/{EVIL},metric{EVIL},a,b,c,d\n"
    rows = [
        f"{i},{'nan' if i > 150 else 1 + i},{1 + i},0.1,{10.0**i if i < 300 else 1},{i},1,2,3,4\n" for i in range(200)
    ]
    path.write_text(header + "".join(rows))
    return path


def a_record(folder: Path) -> Path:
    store = Store.create(folder)
    modules = [("grad_norm", f"layer{i}{EVIL}") for i in range(4)]
    steps = np.arange(200)
    store.rows(
        store.declare("scalars", [("loss", ""), ("lr", "")], "f8"), steps, steps * 1.0, np.full((200, 2), np.nan)
    )
    store.rows(store.declare("modules", modules), steps, steps * 1.0, np.full((200, 4), np.nan))
    store.event(Event(3, "switched_off", {"where": EVIL, "error": EVIL, "all": True}))
    store.event(Event(5, EVIL, {EVIL: EVIL}))
    store.event(Event(7, "not_recorded", {"first": EVIL, "last": EVIL, "why": EVIL}))
    store.config({EVIL: EVIL, "model": EVIL})
    store.close(finished=True)
    return folder


@pytest.mark.parametrize("format_", ["text", "json", "markdown", "github"])
@pytest.mark.parametrize("names", [[], ["--explain-names"]], ids=["", "explain-names"])
def test_no_format_of_a_diagnosis_passes_an_escape(tmp_path: Path, format_: str, names: list[str]) -> None:
    folder = tmp_path / f"evil{EVIL}"
    folder.mkdir()
    result = command("diagnose", a_log(folder / "log.csv"), a_record(folder / "run"), "--format", format_, *names)
    assert result.code in (0, 1), result.err
    assert not DANGEROUS.search(result.out), DANGEROUS.search(result.out)
    assert not DANGEROUS.search(result.err)
    assert "owned" in result.out, "the words are there, as text"
    assert "cannot be read" not in result.err
    assert "no log" not in result.err


def test_tables_comparisons_reports_and_errors_pass_none_either(tmp_path: Path) -> None:
    folder = tmp_path / f"evil{EVIL}"
    folder.mkdir()
    log, record = a_log(folder / "log.csv"), a_record(folder / "run")
    (folder / "broken.sqlite").write_bytes(b"SQLite format 3\0" + b"x" * 100)
    calls: list[list[str | Path]] = [
        ["diagnose", folder],
        ["diagnose", folder / f"nothing{EVIL}"],
        ["diagnose", log, "--baseline", record],
        ["diagnose", log, "--select", EVIL],
        ["diagnose", log, "--map", EVIL],
        ["diagnose", log, "--config", folder / EVIL],
        ["compare", log, record],
        ["explain", EVIL],
        [EVIL],
        ["report", log, "-o", tmp_path / "report.html"],
    ]
    for call in calls:
        result = command(*[str(each).replace("\0", "") for each in call])
        assert "bedside itself failed" not in result.err, (call, result.err)
        assert not DANGEROUS.search(result.out + result.err), (call, DANGEROUS.search(result.out + result.err))
    assert not DANGEROUS.search((tmp_path / "report.html").read_text())


ALARM = """
class Bad(nn.Linear):
    def forward(self, x):
        return super().forward(x) * float("nan")
model = nn.Sequential()
model.add_module("layer" + sys.argv[2].replace(".", ""), Bad(8, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
with bedside.watch(model, optimizer, run_dir=sys.argv[1]) as monitor:
    train(60)
print(str(monitor.diagnose()))
"""


def test_an_alarm_that_names_a_module_passes_none(tmp_path: Path) -> None:
    done = run(ALARM, tmp_path / "run", EVIL)
    assert done.returncode == 0, done.stderr
    assert "owned" in done.stderr
    assert not DANGEROUS.search(done.stdout + done.stderr)


SCRIPT = """
import sys, torch, bedside, bedside.sinks
from torch import nn
evil = sys.argv[1]
class Refuses(bedside.sinks.JsonLines):
    def write(self, step, values):
        raise OSError(evil)
model = nn.Sequential()
model.add_module("layer" + evil.replace(".", ""), nn.Linear(8, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
if sys.argv[2] == "sinks":
    bedside.watch(model, optimizer, run_dir=sys.argv[3], sinks=[Refuses(sys.argv[3] + ".jsonl")])
for _ in range(60):
    optimizer.zero_grad()
    (model(torch.randn(4, 8)).sum() * float("nan")).backward()
    optimizer.step()
"""


@pytest.mark.parametrize("how", ["launch", "sinks"])
def test_a_script_under_bedside_run_and_a_sink_that_fails_pass_none(tmp_path: Path, how: str) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    folder = tmp_path / f"runs{EVIL}"
    call = [sys.executable, "-m", "bedside", "run", "--run-dir", folder, script, EVIL, how, tmp_path / "own"]
    result = subprocess.run([str(each) for each in call], capture_output=True, text=True, errors="replace", timeout=120)
    assert "owned" in result.stderr, result.stderr
    assert not DANGEROUS.search(result.stdout + result.stderr), DANGEROUS.search(result.stdout + result.stderr)


def test_the_live_page_of_such_a_folder_passes_none(tmp_path: Path) -> None:
    folder = tmp_path / f"runs{EVIL}"
    a_record(folder / "run")
    result = command("watch", folder / "run", "--once")
    assert "owned" in result.out
    assert not DANGEROUS.search(result.out + result.err)
    process = subprocess.Popen(
        [sys.executable, "-m", "bedside.live.server", str(folder), str(os.getpid())], stderr=subprocess.PIPE, text=True
    )
    try:
        assert process.stderr is not None
        said = process.stderr.readline()
    finally:
        process.terminate()
        process.communicate()
    assert "owned" in said
    assert "http://127.0.0.1" in said
    assert not DANGEROUS.search(said)
