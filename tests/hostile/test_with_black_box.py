"""The same attacks with the black box and the guard on: the training ends as it would alone, and nothing is lost."""

from __future__ import annotations

import random
import signal
from pathlib import Path

import pytest
from tests.hostile.kills import kill_after
from tests.hostile.programs import boxed, on_a_small_disk, run
from tests.hostile.test_endings import ALARMING, CRASH, SYSTEM_EXIT, WAYS, interrupted
from tests.hostile.test_full_disk import FILLS_UP, GOES_AWAY, LIMITED, alone

import bedside

# A gradient that is NaN once, when the disk is already full.
NAN_ON_A_FULL_DISK = """
        model(torch.full((4, 8), float("nan"))).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
"""


def test_a_full_disk(tmp_path: Path) -> None:
    done = on_a_small_disk(boxed(FILLS_UP.replace("{then}", "pass")), tmp_path / "disk", 4000)
    assert done.returncode == 0, done.stderr
    weights, safe, steps, *warned = done.stdout.split(" ", 3)
    assert warned[0].count("bedside") == 1, "one warning"
    assert (weights, steps) == (alone(850), "850")
    assert bedside.load(tmp_path / "kept" / "run").steps >= int(safe)


def test_a_bad_step_on_a_full_disk_is_not_kept_and_not_taken(tmp_path: Path) -> None:
    program = boxed(FILLS_UP.replace("{then}", NAN_ON_A_FULL_DISK.strip()))
    done = on_a_small_disk(program, tmp_path / "disk", 4000)
    assert done.returncode == 0, done.stderr
    weights, _, steps, *warned = done.stdout.split(" ", 3)
    assert "could not keep step 850" in warned[0]
    assert (weights, steps) == (alone(850), "851"), "the step was left out"
    assert not list((tmp_path / "kept" / "run").glob("incidents/*"))


def test_a_limit_on_the_size_of_files(tmp_path: Path) -> None:
    done = run(boxed(LIMITED), tmp_path / "run", python=["-W", "error"])
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [alone(380), "380"]


def test_a_run_folder_that_goes_away(tmp_path: Path) -> None:
    done = run(boxed(GOES_AWAY.replace("{away}", "shutil.rmtree(sys.argv[1])")), tmp_path / "run")
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [alone(180), "120"]
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("way", ["watched", "in a with block"])
def test_an_interrupt(tmp_path: Path, way: str) -> None:
    code, err = interrupted(boxed(WAYS[way]), tmp_path / "run", signal.SIGINT)
    assert code == -signal.SIGINT, err
    # Every step is followed, so it may well be us whom the interrupt meets; then the warning names it as well.
    assert "KeyboardInterrupt" in err
    assert not (tmp_path / "run" / "incidents").exists(), "an interrupt is not an incident"


def test_exit_codes_and_exceptions(tmp_path: Path) -> None:
    assert run(boxed(SYSTEM_EXIT), tmp_path / "a").returncode == 7
    crashed = run(boxed(CRASH), tmp_path / "b")
    assert crashed.returncode == 1
    assert "ValueError: theirs" in crashed.stderr


def test_a_stderr_that_is_closed(tmp_path: Path) -> None:
    program = ALARMING.replace("{before}", "sys.stderr.close()").replace("{after}", "print('done')")
    done = run(boxed(program), tmp_path / "run", timeout=100)
    assert done.returncode == 0
    assert done.stdout.endswith("done\n")
    found = bedside.load(tmp_path / "run")
    assert found.steps == 200
    assert not found.events_of("switched_off")
    assert len(list((tmp_path / "run" / "incidents").iterdir())) == 1


def test_a_kill(tmp_path: Path) -> None:
    found = kill_after(tmp_path / "run", random.uniform(1.5, 3.0), "quick", black_box=True)
    assert found.lost_seconds <= 1.0, found
