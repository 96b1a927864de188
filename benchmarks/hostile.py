"""The long version of tests/hostile: kills, interrupts, a soak and damaged files, counted.

    make hostile                                 200 kills, 1,000 interrupts, an hour's soak, 100,000 files
    python -m benchmarks.hostile --kills 20 --interrupts 200 --lines 600 --soak 60 --files 5000 [--only kills]

* **kills**: real trainings, several at once, killed with -9 after a random time; how many seconds of steps each record
  lacks.
* **interrupts**: a training that is interrupted at random moments, in our code or its own, catches each interrupt and
  goes on, watched anew where the interrupt ended watching; after each of those and at the end the model must work,
  hooks must be gone, gradients be on, and the records must open. Where torch itself leaves gradients off (an interrupt
  at the very end of its step does that without us, too), that is counted apart and put right.
* **lines**: every line of ours that a small training executes, interrupted at its first time, its last, its second and
  a middle one, each in a process of its own; weights must be those of a training interrupted without us. In random
  order, so that `--lines SECONDS` takes a fair sample; `lines_interrupted` says of how many lines.
* **soak**: one training, watched for so many seconds; how much memory, how many threads and files it gained.
* **fuzz**: records, settings and the arguments of the command, damaged at random: each must end in a result or in the
  three-line error, within ten seconds.

Writes benchmarks/results/hostile.csv with the numbers of what was really run.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import io
import os
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.hostile.every_line import every_line
from tests.hostile.kills import PACES, kill_after
from tests.hostile.programs import run

import bedside
from bedside.cli import run as command
from bedside.errors import BedsideError
from bedside.settings import read_settings

RESULTS = Path(__file__).absolute().parent / "results" / "hostile.csv"
TOO_LONG = 10.0  # seconds of processor time for one damaged file of a few kilobytes
Figures = dict[str, float | int]

INTERRUPTS = """
import random, shutil, signal, traceback
wanted, caught, within, recorded, broken, torchs_own = int(sys.argv[2]), 0, 0, 0, 0, 0
def interrupt(number, frame):  # raises what Ctrl-C raises, in the middle of whatever runs
    global within
    while frame is not None and "/bedside/" not in frame.f_code.co_filename:
        frame = frame.f_back
    within += frame is not None
    raise KeyboardInterrupt
def close():
    global recorded
    monitor.close()
    recorded += bedside.load(folder).steps
    shutil.rmtree(folder)
signal.signal(signal.SIGALRM, interrupt)
before = [(len(m._forward_hooks), len(m._forward_pre_hooks), set(vars(m))) for m in model.modules()]
left = 0
random.seed(0)
monitor = None
while caught < wanted and not broken:
    if monitor is None or monitor.dispatcher.off:  # an interrupt in our code ended it: the next meets a watched model
        if monitor is not None:
            close()
            after = [(len(m._forward_hooks), len(m._forward_pre_hooks), set(vars(m))) for m in model.modules()]
            left += before != after or not torch.is_grad_enabled()
        folder = Path(sys.argv[1]) / str(caught)
        monitor = bedside.watch(model, optimizer, run_dir=folder, quiet=True)
        train(random.choice((0, 5, 30, 130)))  # full readings, samples and the fast path are all met
    try:
        signal.setitimer(signal.ITIMER_REAL, random.uniform(0.0002, 0.02))
        train(10**6)
    except KeyboardInterrupt as interrupted:
        caught += 1
        if not torch.is_grad_enabled():
            if "/bedside/" in "".join(traceback.format_tb(interrupted.__traceback__)):
                left += 1
            else:  # torch leaves them off if it is interrupted at the very end of a step, with and without us
                torchs_own += 1
            torch.set_grad_enabled(True)
    except BaseException as error:
        print(repr(error), file=sys.stderr)
        broken = 1
    signal.setitimer(signal.ITIMER_REAL, 0)
train(5)
close()
model(torch.randn(2, 8))
broken |= not all(bool(p.isfinite().all()) for p in model.parameters())
print(caught, within, int(broken), left, torchs_own, recorded)
"""

SOAK = """
import threading
def held():
    pages = int(open("/proc/self/statm").read().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20, threading.active_count(), len(os.listdir("/proc/self/fd"))
monitor = bedside.watch(model, optimizer, run_dir=sys.argv[1], quiet=True)
ends, warm = time.monotonic() + float(sys.argv[2]), None
began = time.monotonic()
while time.monotonic() < ends:
    train(50)
    time.sleep(0.1)  # a data loader's time: an hour of it need not take an hour of the processor
    if monitor.step % 500 == 0:
        monitor.log(val_loss=1.0)
    if warm is None and time.monotonic() - began > 0.2 * float(sys.argv[2]):
        warm = held()
last = held()
steps = monitor.step
monitor.close()
print(steps, *(now - then for now, then in zip(last, warm)))
"""


def kills(count: int, folder: Path, at_once: int) -> Figures:
    rng = random.Random(0)
    plans = [(number, list(PACES)[number % len(PACES)], rng.uniform(1.0, 4.0)) for number in range(count)]

    def killed(plan: tuple[int, str, float]) -> float:
        number, pace, seconds = plan
        found = kill_after(folder / str(number), seconds, pace, evaluates=pace == "usual")
        shutil.rmtree(folder / str(number))
        if found.lost_seconds > 1.0:
            print(pace, found, flush=True)
        return found.lost_seconds

    with ThreadPoolExecutor(at_once) as pool:
        lost = list(pool.map(killed, plans))
    over = sum(each > 1.0 for each in lost)
    return {"kills": count, "lost_over_one_second": over, "worst_lost_seconds": round(max(lost), 3)}


def interrupts(count: int, folder: Path) -> Figures:
    done = run(INTERRUPTS, folder / "run", str(count), timeout=3600)
    if done.returncode:
        raise SystemExit(f"the interrupted training ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    names = ("interrupts", "in_our_code", "model_broken", "left_behind", "gradients_off_by_torch", "steps_recorded")
    return dict(zip(names, map(int, done.stdout.split()[-6:]), strict=True))


def soak(seconds: float, folder: Path) -> Figures:
    done = run(SOAK, folder / "run", str(seconds), timeout=seconds + 300)
    if done.returncode:
        raise SystemExit(f"the soak ended with {done.returncode}:\n{done.stderr}")
    steps, megabytes, threads, files = done.stdout.split()[-4:]
    gained = {"threads_gained": int(threads), "files_gained": int(files)}
    return {"seconds": seconds, "steps": int(steps), "megabytes_gained": round(float(megabytes), 1), **gained}


def a_record(folder: Path) -> bytes:
    """The bytes of a small true record."""
    program = "with bedside.watch(model, optimizer, run_dir=sys.argv[1], quiet=True): train(30)"
    assert run(program, folder).returncode == 0
    return (folder / "rank0.sqlite").read_bytes()


SETTINGS = b"""
ignore = ["GEN109", "unfinished-schedule"]
select = []
fail_on = "warning"
limits.GRD103.often = 0.9
limits.frozen-validation.same = 5
map = { my_objective = "loss", noise = "-" }
"""
ARGUMENTS = (
    *"diagnose explain rules report compare --format json --fail-on error -v --select GRD101 NUM --map a=b".split(),
    *("--config", "x.toml", "--no-config", "-o", "x/y", "--baseline", "\0", "", "nan", "-1", "--", "💥", "a" * 5000),
)


def fuzz(count: int, folder: Path) -> Figures:
    """A third each: records, settings, arguments."""
    from benchmarks.fuzz import mutated

    record, rng = a_record(folder / "seed"), random.Random(0)
    target, settings = folder / "rank0.sqlite", folder / "bedside.toml"

    def records() -> None:
        target.write_bytes(mutated(record, rng))
        bedside.load(target)

    def tables() -> None:
        settings.write_bytes(mutated(SETTINGS, rng))
        read_settings(settings)

    def arguments() -> None:
        chosen = [rng.choice((*ARGUMENTS, str(target), str(settings))) for _ in range(rng.randrange(1, 6))]
        code = quietly(lambda: command([each.replace("\0", "?") for each in chosen]))
        if code not in (0, 1, 2):
            raise AssertionError(f"exit code {code} of {chosen}")

    os.chdir(folder)  # whatever a command writes
    ends: Counter[str] = Counter()
    slowest = 0.0
    for number in range(count):
        kind = (records, tables, arguments)[number % 3]
        began = time.process_time()
        try:
            kind()
            ends["fine"] += 1
        except BedsideError as error:
            three = len(str(error).splitlines()) == 3
            ends["refused" if three else "failures"] += 1
        except Exception as error:
            ends["failures"] += 1
            print(f"{kind.__name__}: {type(error).__name__}: {error}"[:300])
        slowest = max(slowest, time.process_time() - began)
        for extra in folder.glob("rank0.sqlite-*"):
            extra.unlink()
    failures = ends["failures"] + (slowest > TOO_LONG)
    return {"files": count, "refused": ends["refused"], "failures": failures, "slowest_seconds": round(slowest, 1)}


def quietly(call: Callable[[], int]) -> int:
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()) as said:
        code = call()
    if "bedside itself failed" in said.getvalue():
        raise AssertionError(said.getvalue())
    return code


def rows(part: str, figures: Figures) -> Iterator[dict[str, object]]:
    yield from ({"part": part, "figure": name, "value": value} for name, value in figures.items())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--at-once", type=int, default=4, help="trainings that are killed side by side")
    parser.add_argument("--interrupts", type=int, default=1000)
    parser.add_argument(
        "--lines", type=float, default=1e9, metavar="SECONDS", help="no interrupt of a line is begun later"
    )
    parser.add_argument("--soak", type=float, default=3600.0, metavar="SECONDS")
    parser.add_argument("--files", type=int, default=100_000)
    parser.add_argument("--only", choices=("kills", "interrupts", "lines", "soak", "fuzz"))
    options = parser.parse_args()
    parts: dict[str, Callable[[Path], Figures]] = {
        "kills": lambda folder: kills(options.kills, folder, options.at_once),
        "interrupts": lambda folder: interrupts(options.interrupts, folder),
        "lines": lambda folder: every_line(folder, options.at_once, options.lines),
        "soak": lambda folder: soak(options.soak, folder),
        "fuzz": lambda folder: fuzz(options.files, folder),
    }
    found = []
    if options.only and RESULTS.exists():  # the others stay
        with RESULTS.open(newline="") as file:
            found = [row for row in csv.DictReader(file) if row["part"] != options.only]
    for part, measure in parts.items():
        if options.only in (None, part):
            with tempfile.TemporaryDirectory() as folder:
                figures = measure(Path(folder))
            print(part, figures, flush=True)
            found += list(rows(part, figures))
    with RESULTS.open("w", newline="") as file:
        table = csv.DictWriter(file, ["part", "figure", "value"], lineterminator="\n")
        table.writeheader()
        table.writerows(found)
    bad = ("lost_over_one_second", "model_broken", "left_behind", "hooks_left", "weights_different", "failures")
    return int(any(float(row["value"]) for row in found if row["figure"] in bad))


if __name__ == "__main__":
    sys.exit(main())
