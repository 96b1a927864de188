"""Small records for the tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from os import geteuid, seteuid
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from bedside.record.sqlite.writer import Store

NOBODY = 65534


def write(store: Store, first: int, last: int, *, offset: float = 0.0) -> None:
    """Steps `first` to `last` of a loss that says its own step, plus `offset`."""
    steps = np.arange(first, last + 1)
    store.rows(store.declare("scalars", [("loss", "")], "f8"), steps, steps * 1.0, (steps + offset)[:, np.newaxis])


def a_record(run_dir: Path, steps: int = 10, *, close: bool = True) -> Store:
    store = Store.create(run_dir)
    write(store, 0, steps - 1)
    store.commit()
    if close:
        store.close(finished=True)
    return store


@contextmanager
def an_open_folder() -> Iterator[Path]:
    """A folder that others may look into, which pytest's own are not."""
    with TemporaryDirectory(prefix="bedside-test-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        yield folder
        folder.chmod(0o755)


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Nobody may write to the folder meanwhile; root, who always may, becomes nobody."""
    for each in folder.iterdir():
        each.chmod(0o444)
    folder.chmod(0o555)
    was = geteuid()
    if was == 0:
        seteuid(NOBODY)
    try:
        yield
    finally:
        seteuid(was)
        folder.chmod(0o755)
