"""How a watched program ends: by the same signal, with the same exit code, whatever became of its terminal."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.hostile.programs import TRAINING, run

import bedside

ENDLESS = """
{watch}
train(30)
print("ready", flush=True)
train(10**9)
"""
WATCH = "monitor = bedside.watch(model, optimizer, run_dir=sys.argv[1])"
WAYS = {
    "alone": ENDLESS.replace("{watch}", ""),
    "watched": ENDLESS.replace("{watch}", WATCH),
    "in a with block": """
with bedside.watch(model, optimizer, run_dir=sys.argv[1]):
    train(30)
    print("ready", flush=True)
    train(10**9)
""",
}


def interrupted(program: str, folder: Path, by: signal.Signals) -> tuple[int, str]:
    process = subprocess.Popen(
        [sys.executable, "-c", TRAINING + program, str(folder)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    time.sleep(0.2)
    process.send_signal(by)
    _, err = process.communicate(timeout=120)
    return process.returncode, err


@pytest.mark.parametrize("way", WAYS)
def test_an_interrupted_program_ends_by_the_interrupt_as_without_us(tmp_path: Path, way: str) -> None:
    code, err = interrupted(WAYS[way], tmp_path / "run", signal.SIGINT)
    assert code == -signal.SIGINT, err  # 130 in a shell
    assert err.count("KeyboardInterrupt") == 1
    if way != "alone":
        assert "steps" in err, "the report is there"
        run_ = bedside.load(tmp_path / "run")
        assert run_.finished is False
        assert run_.steps > 30


def test_a_terminated_program_ends_by_the_signal(tmp_path: Path) -> None:
    code, _ = interrupted(WAYS["watched"], tmp_path / "run", signal.SIGTERM)
    assert code == -signal.SIGTERM
    assert bedside.load(tmp_path / "run").steps > 0


# A loss that becomes NaN, so that there is an alarm to print, in a module whose name no terminal can show.
ALARMING = """
class Bad(nn.Linear):
    def forward(self, x):
        return super().forward(x) * (float("nan") if len(seen) > 30 else 1.0)
seen = []
model = nn.Sequential()
model.add_module("schicht_\\udcff_\u00df", Bad(8, 2))
model.register_forward_hook(lambda *_: seen.append(1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
{before}
monitor = bedside.watch(model, optimizer, run_dir=sys.argv[1])
train(200)
{after}
"""


def record_is_whole(folder: Path) -> bool:
    found = bedside.load(folder)
    return found.steps == 200 and not found.events_of("switched_off") and bool(found.events_of("alarm"))


@pytest.mark.parametrize(
    ("stderr", "end"),
    [
        ("sys.stderr.close()", ""),
        ("os.close(2)", "print(monitor.diagnose())"),
        ("sys.stderr = None", "monitor.close()"),
        # What is left in this one's buffer is the program's own affair.
        ("sys.stderr = open('/dev/full', 'w')", "monitor.close(); sys.stderr = sys.__stderr__"),
    ],
    ids=["closed", "closed by the system", "none", "full"],
)
def test_a_stderr_that_is_gone_changes_nothing(tmp_path: Path, stderr: str, end: str) -> None:
    program = ALARMING.replace("{before}", stderr).replace("{after}", f"{end}\nprint('done')")
    done = run(program, tmp_path / "run", timeout=100)
    assert done.returncode == 0
    assert done.stdout.endswith("done\n")
    assert record_is_whole(tmp_path / "run")


def test_a_reader_of_stderr_that_left_changes_nothing(tmp_path: Path) -> None:
    program = ALARMING.replace("{before}", "").replace("{after}", "")
    process = subprocess.Popen(
        [sys.executable, "-c", TRAINING + program, str(tmp_path / "run")], stderr=subprocess.PIPE, text=True
    )
    assert process.stderr is not None
    process.stderr.close()
    assert process.wait(timeout=100) == 0
    assert record_is_whole(tmp_path / "run")


@pytest.mark.parametrize("encoding", ["ascii", "cp1252"])
def test_a_terminal_that_cannot_show_a_name_changes_nothing(tmp_path: Path, encoding: str) -> None:
    program = ALARMING.replace("{before}", f"sys.stderr.reconfigure(encoding='{encoding}', errors='strict')")
    done = run(program.replace("{after}", "print('done')"), tmp_path / "run")
    assert done.returncode == 0, done.stderr
    assert "NUM10" in done.stderr
    assert record_is_whole(tmp_path / "run")


FAILING = """
import warnings
from bedside.collect.vitals import COLLECTORS
monitor = bedside.watch(model, optimizer, run_dir=sys.argv[1])
train(20)
monitor._events.switched_off("a test", "ValueError: nothing")
monitor._events.blind(model)
train(200)
monitor.close()
print(weights())
"""


def test_no_warning_of_ours_raises_where_warnings_are_errors(tmp_path: Path) -> None:
    strict = run(FAILING, tmp_path / "run", python=["-W", "error"])
    assert strict.returncode == 0, strict.stderr
    assert "stopped listening" in strict.stderr
    assert strict.stdout.strip() == run("train(220); print(weights())").stdout.strip()
    assert bedside.load(tmp_path / "run").steps == 220


SYSTEM_EXIT = WATCH + "\ntrain(50)\nsys.exit(7)"
CRASH = WATCH + "\ntrain(50)\nraise ValueError('theirs')"


def test_exit_codes_and_exceptions_are_the_programs_own(tmp_path: Path) -> None:
    assert run(SYSTEM_EXIT, tmp_path / "a").returncode == 7
    crashed = run(CRASH, tmp_path / "b")
    assert crashed.returncode == 1
    assert "ValueError: theirs" in crashed.stderr
    assert bedside.load(tmp_path / "b").finished is False


PIPED = """
import os
from bedside.stderr import say
say("one")
ends = os.pipe()
os.dup2(ends[1], 2)  # stderr was closed, and its number is that of a pipe of the program's
say("two")
os.set_blocking(ends[0], False)
try:
    print(os.read(ends[0], 99))
except BlockingIOError:
    print("nothing")
"""


def test_nothing_is_written_into_a_pipe_that_took_the_number_of_stderr() -> None:
    done = subprocess.run([sys.executable, "-c", PIPED], capture_output=True, text=True, timeout=100, check=True)
    assert (done.stdout, done.stderr) == ("nothing\n", "one\n")
