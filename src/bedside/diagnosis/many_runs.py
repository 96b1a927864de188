"""Many runs at once: in processes on this machine or on a Ray cluster, with the same answers in the same order.

Runs are handed out in small batches, so that memory is bounded by the largest single run and progress is told as
it happens. A run that cannot be read, or that takes its process down with it, becomes a Failure and does not
stop the others.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, replace
from functools import lru_cache
from multiprocessing import get_context
from typing import Any

from bedside.errors import BadOption, BedsideError
from bedside.finding import Diagnosis, Failure
from bedside.logs import RunFiles, load, read_run
from bedside.logs.remote import RemoteRuns
from bedside.record.run import Run

FEW = 8  # runs that are read here and now: starting processes would take longer
BATCH = 16  # most runs in one batch: enough to hide the cost of handing it over
AHEAD = 3  # batches waiting for each process


Answer = Diagnosis | Failure
Job = RunFiles | RemoteRuns
Shared = dict[tuple[Any, ...], tuple[Any, ...]]
Tell = Callable[[int, int], None]  # how many jobs are done, of how many


@dataclass(frozen=True)
class Order:
    """What every process needs to know."""

    select: Sequence[str] = ()
    ignore: Sequence[str] = ()
    mapping: Mapping[str, str] | None = None
    format_in: str | None = None
    limits: Mapping[str, Mapping[str, Any]] | None = None  # of rules by name, as settings change them
    baseline: str | None = None  # path of a good run
    pictures: bool = False  # keep the thinned curves that a full report draws; thousands of them would fill memory


def diagnose_all(
    jobs: Sequence[Job], order: Order, *, on: str = "", workers: int | None = None, tell: Tell | None = None
) -> list[Answer]:
    """Diagnose every run; `on="ray"` distributes them over the Ray cluster that is configured."""
    workers = workers or os.cpu_count() or 1
    answers: list[list[Answer]] = [[] for _ in jobs]
    shared: Shared = {}
    for done, (place, found) in enumerate(_spread(jobs, order, on, workers), 1):
        answers[place] = [_sharing(each, shared) for each in found]
        if tell is not None:
            tell(done, len(jobs))
    return [answer for each in answers for answer in each]


def _sharing(answer: Answer, shared: Shared) -> Answer:
    """What could not be examined is the same in runs of one kind, and most of what an answer weighs."""
    if isinstance(answer, Failure):
        return answer
    return replace(
        answer,
        not_examined=shared.setdefault(answer.not_examined, answer.not_examined),
        examined=shared.setdefault(answer.examined, answer.examined),
    )


def answers_for(job: Job, order: Order) -> list[Answer]:
    """Read and diagnose the runs of one job."""
    from bedside.diagnosis.engine import examine
    from bedside.settings import chosen

    if isinstance(job, RemoteRuns):
        try:
            with job.fetched(order.format_in) as found:
                return [answer for each in found for answer in answers_for(each, order)]
        except BedsideError as error:
            return [Failure(job.url, str(error))]
    try:
        rules = chosen(select=order.select, ignore=order.ignore, limits=order.limits)
        diagnosis = examine(read_run(job, order.mapping), rules, baseline=good_run(order))
    except BedsideError as error:
        return [Failure(job.name, str(error))]
    return [diagnosis if order.pictures else replace(diagnosis, pictures={})]


def good_run(order: Order) -> Run | None:
    """The baseline that was asked for, read once in every process."""
    return None if order.baseline is None else _read(order.baseline, tuple((order.mapping or {}).items()))


@lru_cache(maxsize=1)
def _read(path: str, mapping: tuple[tuple[str, str], ...]) -> Run:
    return load(path, mapping=dict(mapping))


def _spread(jobs: Sequence[Job], order: Order, on: str, workers: int) -> Iterator[tuple[int, list[Answer]]]:
    numbered = list(enumerate(jobs))
    if on == "ray":
        yield from _on_ray(numbered, order)
    elif on:
        raise BadOption(f"No engine is called {on!r}.", expected="ray", try_="--on ray")
    elif workers == 1 or len(jobs) <= FEW:
        for place, job in numbered:
            yield place, answers_for(job, order)
    else:
        yield from _in_processes(numbered, order, workers)


Batch = list[tuple[int, Job]]


def _batches(numbered: Sequence[tuple[int, Job]], workers: int) -> list[Batch]:
    size = max(1, min(BATCH, len(numbered) // (workers * AHEAD)))
    return [list(numbered[at : at + size]) for at in range(0, len(numbered), size)]


def _work(batch: Batch, order: Order) -> list[tuple[int, list[Answer]]]:
    return [(place, answers_for(job, order)) for place, job in batch]


def _in_processes(
    numbered: Sequence[tuple[int, Job]], order: Order, workers: int
) -> Iterator[tuple[int, list[Answer]]]:
    waiting = _batches(numbered, workers)[::-1]
    open_: dict[Future[list[tuple[int, list[Answer]]]], Batch] = {}
    broken: Batch = []
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        while waiting or open_:
            while waiting and len(open_) < workers * AHEAD and not broken:
                batch = waiting.pop()
                open_[pool.submit(_work, batch, order)] = batch
            if broken and not open_:
                break
            for future in wait(open_, return_when=FIRST_COMPLETED).done:
                batch = open_.pop(future)
                try:
                    yield from future.result()
                except BrokenProcessPool:
                    broken += batch
    # A process died, most likely out of memory. Whoever may have been in it goes alone, so that one is blamed.
    for place, job in broken:
        yield place, _alone(job, order)
    if waiting:
        yield from _in_processes([each for batch in waiting[::-1] for each in batch], order, workers)


def _alone(job: Job, order: Order) -> list[Answer]:
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        try:
            return pool.submit(answers_for, job, order).result()
        except BrokenProcessPool:
            name = job.url if isinstance(job, RemoteRuns) else job.name
            died = BedsideError(
                f"The process that read {name} was killed.",
                expected="enough memory for this run",
                try_=f"bedside diagnose {name}",
            )
            return [Failure(name, str(died))]


def _on_ray(numbered: Sequence[tuple[int, Job]], order: Order) -> Iterator[tuple[int, list[Answer]]]:
    try:
        import ray
    except ImportError:
        raise BadOption(
            "--on ray needs Ray, which is not installed.", expected="the extra `ray`", try_="pip install 'bedside[ray]'"
        ) from None
    ours = not ray.is_initialized()
    if ours:
        ray.init(log_to_driver=False, configure_logging=False)
    try:
        work: Any = ray.remote(_work)
        nodes = int(ray.cluster_resources().get("CPU", 1))
        waiting = _batches(numbered, nodes)[::-1]
        open_: list[Any] = []
        while waiting or open_:
            while waiting and len(open_) < nodes * AHEAD:
                open_.append(work.remote(waiting.pop(), order))
            done, open_ = ray.wait(open_)
            for each in done:
                yield from ray.get(each)
    finally:
        if ours:
            ray.shutdown()
