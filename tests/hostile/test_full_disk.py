"""A disk that fills up, and a run folder that goes away: one warning, and the training goes on as if alone."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.hostile.programs import on_a_small_disk, run

import bedside

ALL_CALLS = """
def everything(monitor):
    monitor.epoch()
    monitor.log(extra=1.0)
    with monitor.validation():
        monitor.log(accuracy=0.5)
    return monitor.diagnose()
"""

FILLS_UP = (
    ALL_CALLS
    + """
disk = Path(sys.argv[1])
with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    with bedside.watch(model, optimizer, run_dir=disk / "run") as monitor:
        train(150)
        everything(monitor)
        safe = monitor.step
        with open(disk / "ballast", "wb", buffering=0) as file:
            while True:
                try:
                    file.write(bytes(4096))
                except OSError:
                    break
        time.sleep(0.6)
        train(700)
        everything(monitor)
        {then}
torch.save(model.state_dict(), sys.argv[1] + ".pt")
print(weights(), safe, monitor.step, [str(each.message) for each in seen])
"""
)
ALONE = "train({steps}); print(weights())"


def alone(steps: int) -> str:
    return run(ALONE.replace("{steps}", str(steps))).stdout.strip()


def test_on_a_full_disk_there_is_one_warning_and_the_training_goes_on(tmp_path: Path) -> None:
    done = on_a_small_disk(FILLS_UP.replace("{then}", "pass"), tmp_path / "disk", 4000)
    assert done.returncode == 0, done.stderr
    weights, safe, steps, *warned = done.stdout.split(" ", 3)
    assert warned[0].count("cannot be written") == 1
    assert warned[0].count("bedside") == 1, "one warning"
    assert int(steps) == 850
    assert weights == alone(850)
    assert (tmp_path / "disk.pt").exists()
    assert bedside.load(tmp_path / "kept" / "run").steps >= int(safe), "the record so far stays readable"


def test_what_was_kept_in_memory_is_written_when_there_is_room_again(tmp_path: Path) -> None:
    program = FILLS_UP.replace("{then}", "os.remove(disk / 'ballast'); train(50)")
    done = on_a_small_disk(program, tmp_path / "disk", 4000)
    assert done.returncode == 0, done.stderr
    run_ = bedside.load(tmp_path / "kept" / "run")
    assert run_.loss.steps.tolist() == list(range(900))
    assert run_.series("val/accuracy").steps.tolist() == [149, 849]
    assert run_.finished is True


LIMITED = (
    ALL_CALLS
    + """
import resource
monitor = bedside.watch(model, optimizer, run_dir=sys.argv[1])
train(60)
everything(monitor)
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, resource.RLIM_INFINITY))
for _ in range(8):
    train(40)
    time.sleep(0.1)
everything(monitor)
monitor.close()
print(weights(), monitor.diagnose().steps)
"""
)


def test_a_limit_on_the_size_of_files_harms_no_more_than_a_full_disk(tmp_path: Path) -> None:
    done = run(LIMITED, tmp_path / "run", python=["-W", "error"])
    assert done.returncode == 0, done.stderr
    weights, steps = done.stdout.split()
    assert weights == alone(380)
    assert steps == "380", "a diagnosis from memory knows all steps"
    assert done.stderr.count("cannot be written") == 1
    assert bedside.load(tmp_path / "run").steps >= 60


GOES_AWAY = (
    ALL_CALLS
    + """
import shutil
monitor = bedside.watch(model, optimizer, run_dir=sys.argv[1])
train(60)
{away}
time.sleep(0.6)
train(60)
found = everything(monitor)
train(60)
monitor.close()
torch.save(model.state_dict(), sys.argv[1] + ".pt")
print(weights(), found.steps)
"""
)


@pytest.mark.parametrize(
    "away", ["shutil.move(sys.argv[1], sys.argv[1] + '-moved')", "shutil.rmtree(sys.argv[1])"], ids=["moved", "deleted"]
)
def test_a_run_folder_that_goes_away_harms_nobody(tmp_path: Path, away: str) -> None:
    done = run(GOES_AWAY.replace("{away}", away), tmp_path / "run")
    assert done.returncode == 0, done.stderr
    weights, steps = done.stdout.split()
    assert weights == alone(180)
    assert steps == "120"
    assert done.stderr.count("was moved or deleted") == 1
    assert "Traceback" not in done.stderr
    assert (tmp_path / "run.pt").exists()
    assert not (tmp_path / "run").exists(), "what the user removed is not made again"
    if "move" in away:
        assert bedside.load(tmp_path / "run-moved").steps == 180, "the record moved along"


NO_FILES = (
    ALL_CALLS
    + """
import resource
monitor = bedside.watch(model, optimizer, run_dir=sys.argv[1])
train(60)
everything(monitor)
resource.setrlimit(resource.RLIMIT_NOFILE, (len(os.listdir("/proc/self/fd")) - 1, 4096))
train(60)
found = everything(monitor)
summary = monitor.summary()
monitor.close()
print(weights(), found.steps, summary["steps"])
"""
)


def test_a_process_that_may_open_no_more_files_is_told_what_memory_holds(tmp_path: Path) -> None:
    done = run(NO_FILES, tmp_path / "run")
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [alone(120), "120", "120"]
