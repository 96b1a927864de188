"""Recorded runs of the zoo, trained once and kept under a key of the code and settings that made them."""

from __future__ import annotations

import functools
import hashlib
import os
import shutil
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import torch

import bedside
from bedside.monitor.monitor import Monitor
from bedside.record.run import Run
from bedside.record.sqlite.reader import open_run
from bedside.zoo.specimen import Case, Specimen

CACHE = Path(".cache/zoo")
TWIN = "healthy"  # the severity of a twin
# What a recorded run depends on, besides its own file: how it is trained and how it is watched.
SHARED = (
    "zoo/data.py",
    "zoo/models.py",
    "zoo/training_loop.py",
    "zoo/specimen.py",
    "zoo/run_cache.py",
    "collect",
    "monitor",
    "record",
)


def kept(specimen: Specimen, severity: str, seed: int, cache: Path = CACHE) -> Path:
    """The folder of this run, from the cache or trained now. Severity `healthy` is the twin."""
    folder = cache / specimen.name / f"{severity}-{seed}-{_key(specimen)}"
    if not folder.exists():
        unfinished = folder.with_name(f"{folder.name}.{os.getpid()}")
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.parent.mkdir(parents=True, exist_ok=True)
        run_case(specimen, severity, seed, unfinished)
        for old in folder.parent.glob(f"{severity}-{seed}-*"):
            if not old.suffix and old != folder:  # made by older code; one with a suffix is being made now
                shutil.rmtree(old, ignore_errors=True)
        try:
            unfinished.rename(folder)
        except OSError:  # another process was quicker
            shutil.rmtree(unfinished)
    return folder


def recorded(specimen: Specimen, severity: str, seed: int, cache: Path = CACHE) -> Run:
    return open_run(kept(specimen, severity, seed, cache))


def run_case(
    specimen: Specimen, severity: str, seed: int, folder: Path, look: Callable[[Monitor], None] = lambda monitor: None
) -> None:
    """Train one run of a specimen into a folder: the same numbers for the same seed, and one thread."""
    sick = specimen.sick and severity != TWIN
    case = Case(sick, specimen.value_of(severity) if sick else None, seed, folder, look)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    try:
        with warnings.catch_warnings():
            # torch warns about some of these faults itself; bedside should be right about them without that.
            warnings.simplefilter("ignore", UserWarning)
            specimen.train(case)
    finally:
        torch.set_num_threads(threads)


def _key(specimen: Specimen) -> str:
    own = hashlib.sha256(specimen.file.read_bytes()).hexdigest()
    versions = f"{torch.__version__} {sys.version_info[:2]}"
    return hashlib.sha256(f"{own} {_shared_code()} {versions}".encode()).hexdigest()[:12]


@functools.cache
def _shared_code() -> str:
    root = Path(bedside.__file__).parent
    digest = hashlib.sha256()
    for each in SHARED:
        for file in sorted((root / each).rglob("*.py")) if (root / each).is_dir() else [root / each]:
            digest.update(file.read_bytes())
    return digest.hexdigest()
