"""Signal handlers of the program may run in the middle of our code: what they raise is theirs, what they call works."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.hostile.programs import run

import bedside

# A time limit for every step, as an ordinary exception, in the style of the `signal` module's own example.
TIME_LIMITS = """
import random, shutil, signal
class TooLong(Exception):
    pass
def handler(signum, frame):
    global raised
    raised += 1
    raise TooLong
signal.signal(signal.SIGALRM, handler)
random.seed(0)
raised = caught = 0
for number in range(12):
    monitor = bedside.watch(model, optimizer, run_dir=Path(sys.argv[1]) / str(number), quiet=True)
    train(3 * number)
    before = raised
    try:
        signal.setitimer(signal.ITIMER_REAL, random.uniform(0.001, 0.05))
        while raised == before:
            train(1)
    except TooLong:
        caught += 1
    assert torch.is_grad_enabled()
    monitor.close()
    shutil.rmtree(sys.argv[1])
print(raised, caught, sum("_compiled_call_impl" in vars(each) for each in model.modules()))
"""


def test_a_time_limit_of_the_program_is_never_swallowed(tmp_path: Path) -> None:
    done = run(TIME_LIMITS, tmp_path / "run")
    assert done.returncode == 0, done.stderr
    raised, caught, left = map(int, done.stdout.split())
    assert raised == caught == 12
    assert left == 0


HANDLED = """
import random, signal
handled = 0
def handler(signum, frame):
    global handled
    handled += 1
    {handle}
signal.signal(signal.SIGALRM, handler)
random.seed(1)
monitor = bedside.watch(model, optimizer, run_dir=sys.argv[1], quiet=True)
steps = 0
while handled < 25:
    signal.setitimer(signal.ITIMER_REAL, random.uniform(0.0005, 0.01))
    train(10)
    steps += 10
signal.setitimer(signal.ITIMER_REAL, 0)
monitor.close()
print(steps, bedside.load(sys.argv[1]).steps)
"""
CALLS = {
    "evaluates": "with torch.no_grad(): model(torch.zeros(2, 8))",
    "saves": "torch.save(model, sys.argv[1] + '.pt')",
    "logs": "monitor.log(noticed=float(handled))",
}


@pytest.mark.parametrize("name", CALLS)
def test_a_handler_may_use_the_watched_model_at_any_moment(tmp_path: Path, name: str) -> None:
    done = run(HANDLED.replace("{handle}", CALLS[name]), tmp_path / "run")
    assert done.returncode == 0, done.stderr
    trained, recorded = map(int, done.stdout.split())
    assert trained == recorded
    assert not bedside.load(tmp_path / "run").events_of("switched_off")
