"""Many runs at once: in processes on this machine or on a Ray cluster, with the same answers in the same order.

Runs are handed out one by one, so that memory is bounded by the largest single run and progress is reported as it
happens. A run that cannot be read, that takes too long, or that takes its process down with it becomes a Failure and
does not stop the others.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any

from bedside.diagnosis.workers import SECONDS, Stopped, in_workers
from bedside.errors import BadOption, BedsideError, install_extra
from bedside.finding import Diagnosis, Failure
from bedside.logs import RunFiles, load, read_run
from bedside.logs.remote import RemoteRuns
from bedside.record.run import Run

FEW_RUNS = 8  # runs that are read here and now where each was named by the user: starting processes would take longer
BATCH = 16  # most runs in one batch for Ray: enough to hide the cost of handing it over
AHEAD = 3  # batches waiting for each of its nodes
DOWNLOADING = 3600.0  # seconds for a job that fetches its runs from another machine first


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
    jobs: Sequence[Job],
    order: Order,
    *,
    on: str = "",
    workers: int | None = None,
    tell: Tell | None = None,
    tree: bool = False,
) -> list[Answer]:
    """Diagnose every run; `on="ray"` distributes them over the Ray cluster that is configured.

    Runs that were found in a `tree` are read in processes of their own, however few they are: nobody chose them.
    """
    workers = workers or os.cpu_count() or 1
    answers: list[list[Answer]] = [[] for _ in jobs]
    shared: Shared = {}
    for done, (place, found) in enumerate(_spread(jobs, order, on, workers, tree), 1):
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


def names_of(jobs: Sequence[Job], mapping: Mapping[str, str], *, tree: bool) -> Iterator[tuple[str, dict[str, str]]]:
    """Each run with what its metrics were called and what they were read as."""
    files = [job for job in jobs if isinstance(job, RunFiles)]
    work = partial(_names, mapping=mapping)
    found = in_workers(files, work, workers=1) if tree else ((i, work(each)) for i, each in enumerate(files))
    for place, names in found:
        if not isinstance(names, Stopped):
            yield files[place].name, names


def _names(files: RunFiles, mapping: Mapping[str, str]) -> dict[str, str]:
    try:
        names = read_run(files, mapping).environment.get("names", {})
    except BedsideError:  # stands where its diagnosis would be
        return {}
    return names if isinstance(names, dict) else {}


@lru_cache(maxsize=1)
def _read(path: str, mapping: tuple[tuple[str, str], ...]) -> Run:
    return load(path, mapping=dict(mapping))


def _spread(jobs: Sequence[Job], order: Order, on: str, workers: int, tree: bool) -> Iterator[tuple[int, list[Answer]]]:
    numbered = list(enumerate(jobs))
    if on == "ray":
        yield from _on_ray(numbered, order)
    elif on:
        raise BadOption(f"No engine is called {on!r}.", expected="ray", try_="--on ray")
    elif not tree and (workers == 1 or len(jobs) <= FEW_RUNS):
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
    """Each in a process with limits, so that one run that hangs or fills the memory harms no other."""
    jobs = [job for _, job in numbered]
    work = partial(_answered, order=order)
    for place, found in in_workers(jobs, work, workers=min(workers, len(jobs)), seconds=_seconds):
        job = jobs[place]
        yield numbered[place][0], [_stopped(job, found)] if isinstance(found, Stopped) else found


def _seconds(job: Job) -> float:
    return DOWNLOADING if isinstance(job, RemoteRuns) else SECONDS


def _answered(job: Job, order: Order) -> list[Answer]:
    """As `answers_for`, in a process of its own: a fault of ours is reported for this run alone."""
    try:
        return answers_for(job, order)
    except Exception as ours:
        return [_stopped(job, Stopped(f"bedside itself failed: {type(ours).__name__}: {ours}"))]


def _stopped(job: Job, stopped: Stopped) -> Failure:
    name = job.url if isinstance(job, RemoteRuns) else job.name
    fault = BedsideError(
        f"{name} was given up: {stopped.why}.",
        expected="a run that can be read within the limits that hold in a tree",
        try_=f"bedside diagnose {name}, which has none",
    )
    return Failure(name, str(fault))


def _on_ray(numbered: Sequence[tuple[int, Job]], order: Order) -> Iterator[tuple[int, list[Answer]]]:
    try:
        import ray
    except ImportError:
        raise BadOption(
            "--on ray needs Ray, which is not installed.", expected="the extra `ray`", try_=install_extra("ray")
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
