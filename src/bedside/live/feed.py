"""One reader per run for all who watch it: what is new is read once and goes to every viewer, by cursor.

No history is ever sent twice. A viewer states up to which step it has each panel, and is sent everything since and from
then on. After a broken connection the browser itself sends the last cursor it saw (`Last-Event-ID`).
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from bedside.errors import BedsideError
from bedside.live.run_data import new_data
from bedside.live.served_folder import signature
from bedside.logs import RunFiles

POLL = 0.5  # seconds between two looks at a run that somebody watches
HEARTBEAT = 15.0  # seconds after which a silent stream says that it is alive, so that proxies keep it
MAX_WAITING = 100  # updates that a viewer may be behind; then it has to connect anew


@dataclass(eq=False)
class Viewer:
    """One open page: which series it shows, and what it has not been sent yet."""

    keys: tuple[str, ...]
    waiting: asyncio.Queue[tuple[str, str, int]] = field(default_factory=lambda: asyncio.Queue(MAX_WAITING))

    def send(self, event: str, data: str, cursor: int) -> bool:
        try:
            self.waiting.put_nowait((event, data, cursor))
        except asyncio.QueueFull:
            return False
        return True


class Feed:
    """Follows one run as long as anybody watches it."""

    def __init__(self, found: RunFiles, judge: Callable[[], Any]) -> None:
        self._found = found
        self._judge = judge  # asks for a new verdict; the answer comes by `story`
        self._viewers: set[Viewer] = set()
        self._cursor = -1
        self._seen: Any = None
        self._task: asyncio.Task[None] | None = None

    async def watch(self, keys: Sequence[str], cursor: int) -> AsyncIterator[str]:
        """Server-sent events for one viewer that has everything up to `cursor`."""
        viewer = Viewer(tuple(sorted(keys)))
        try:
            # It joins first, so that nothing can fall between; the page leaves out the steps it already has.
            self._viewers.add(viewer)
            data, last = await asyncio.to_thread(new_data, self._found, viewer.keys, cursor + 1)
            self._cursor = max(self._cursor, last) if self._task else last
            if data["series"]:
                yield event("points", _packed(data), last)
            else:
                yield event("hello", "{}", last)
            if self._task is None:
                self._task = asyncio.create_task(self._follow())
            while True:
                try:
                    yield event(*await asyncio.wait_for(viewer.waiting.get(), HEARTBEAT))
                except TimeoutError:
                    yield ": still here\n\n"
                if viewer not in self._viewers and viewer.waiting.empty():
                    return
        finally:
            self._viewers.discard(viewer)

    def story(self, data: dict[str, Any]) -> None:
        """A new verdict or other findings: every viewer gets it."""
        packed = _packed(data)
        for viewer in list(self._viewers):
            self._send(viewer, "story", packed)

    async def _follow(self) -> None:
        try:
            while self._viewers:
                await asyncio.sleep(POLL)
                now = signature(self._found)
                if now == self._seen:
                    continue
                self._seen = now
                await self._send_new()
                self._judge()
        finally:
            self._task = None

    async def _send_new(self) -> None:
        """Read once what all of them show, and pack it once for all that show the same."""
        shown = {viewer.keys for viewer in self._viewers}
        last = self._cursor
        for keys in shown:
            try:
                data, until = await asyncio.to_thread(new_data, self._found, keys, self._cursor + 1)
            except BedsideError:  # it is being moved or written at the moment: the next time will do
                self._seen = None
                return
            if not data["series"]:
                continue
            last, packed = max(last, until), _packed(data)
            for viewer in [each for each in self._viewers if each.keys == keys]:
                self._send(viewer, "points", packed, until)
        self._cursor = last

    def _send(self, viewer: Viewer, kind: str, packed: str, cursor: int | None = None) -> None:
        if not viewer.send(kind, packed, self._cursor if cursor is None else cursor):
            self._viewers.discard(viewer)  # too slow: it will connect anew and say where it is


def event(kind: str, data: str, cursor: int) -> str:
    return f"event: {kind}\nid: {cursor}\ndata: {data}\n\n"


def _packed(data: Any) -> str:
    return json.dumps(data, allow_nan=False, separators=(",", ":"))
