"""Runs on another machine: `s3://bucket/runs` and whatever else fsspec knows.

What may be a log is copied to a temporary folder, one run's folder at a time, read there and thrown away;
weights and images are never fetched.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any

from bedside.errors import NoSuchPath, NotARun, install_extra
from bedside.logs import sidecar_settings as beside
from bedside.logs.discover import RunFiles, may_be_a_log

_URL = re.compile(r"^[A-Za-z][A-Za-z0-9+.-]+://")
BESIDE = (*beside.YAML, *beside.JSON)  # no logs themselves, but readers look at them


def is_remote(path: str | os.PathLike[str]) -> bool:
    return bool(_URL.match(os.fspath(path)))


@dataclass(frozen=True)
class RemoteRuns:
    """Whatever runs lie at a URL; found when they are fetched."""

    url: str

    @contextmanager
    def fetched(self, format_in: str | None = None) -> Iterator[list[RunFiles]]:
        """The runs at the URL, in a copy that is gone afterwards, under the names they have there."""
        from bedside.logs import find_runs

        with tempfile.TemporaryDirectory(prefix="bedside-") as folder:
            place = Path(folder)
            _fetch(self.url, place)
            single = place / PurePosixPath(self.url).name
            start = single if single.is_file() else place
            try:
                found = find_runs(start, format_in=format_in)
            except NotARun as nothing:
                raise NotARun(
                    nothing.what.replace(str(start), self.url), expected=nothing.expected, try_=nothing.try_
                ) from None
            yield [replace(each, name=each.name.replace(str(start), self.url, 1)) for each in found]


def remote_runs(url: str) -> list[RemoteRuns]:
    """One job per folder below the URL; the URL itself when it holds files, since then it may be a run."""
    system, root = _system(url)
    try:
        entries = system.ls(root, detail=True)
    except FileNotFoundError:
        raise NoSuchPath(f"{url} does not exist.", expected="a folder or a file that can be read there") from None
    except Exception as refused:  # every protocol has exceptions of its own
        raise NotARun(f"{url} cannot be read: {refused}.", expected="a reachable store and the right to read") from None
    folders = sorted(str(entry["name"]).rstrip("/") for entry in entries if entry["type"] == "directory")
    if len(folders) < len(entries) or not folders:
        return [RemoteRuns(url)]
    return [RemoteRuns(f"{url.rstrip('/')}/{PurePosixPath(folder).name}") for folder in folders]


def _fetch(url: str, into: Path) -> None:
    system, root = _system(url)
    try:
        for path in sorted(system.find(root)):
            name = PurePosixPath(path)
            relative = PurePosixPath(name.name) if path == root else name.relative_to(root)
            if (may_be_a_log(name.name) or name.name in BESIDE) and ".." not in relative.parts:
                target = into / relative
                target.parent.mkdir(parents=True, exist_ok=True)
                system.get_file(path, str(target))
    except Exception as refused:  # every protocol has exceptions of its own
        raise NotARun(f"{url} cannot be read: {refused}.", expected="a reachable store and the right to read") from None


def _system(url: str) -> tuple[Any, str]:
    try:
        from fsspec.core import url_to_fs
    except ImportError:
        raise NotARun(
            f"{url} is on another machine, and fsspec is not installed.",
            expected="the extra `remote`, and the protocol's own package (s3fs, gcsfs, adlfs)",
            try_=install_extra("remote"),
        ) from None
    try:
        system, root = url_to_fs(url)
    except (ImportError, ValueError) as unknown:
        raise NotARun(
            f"{url} cannot be reached: {unknown}.", expected="a protocol that fsspec knows", try_="pip install s3fs"
        ) from None
    return system, str(root).rstrip("/")
