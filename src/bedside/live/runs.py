"""What the server knows about the runs of its folder: rows of the list, stories, and who watches which."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable, Sequence
from concurrent.futures import BrokenExecutor, ProcessPoolExecutor
from typing import Any

from bedside.live.feed import Feed
from bedside.live.run_data import opened
from bedside.live.served_folder import Folder, is_growing, modified, signature
from bedside.live.verdicts import judged
from bedside.logs import RunFiles
from bedside.report.instruments import instrument

REST = 8.0  # times as long as judging took: so long the next verdict waits, so that verdicts take a tenth of a core


class Runs:
    """Keeps verdicts until a run grows, and asks for new ones one at a time."""

    def __init__(self, folder: Folder) -> None:
        self.folder = folder
        self._known: dict[str, dict[str, Any]] = {}
        self._version = 0
        self._last_look: dict[str, float] = {}  # when a run was judged last, by time.monotonic
        self._took: dict[str, float] = {}  # seconds that took, of runs that have grown since they were first judged
        self._asked: dict[str, asyncio.Task[None]] = {}
        self._feeds: dict[str, Feed] = {}
        self._shown: dict[tuple[str, str], list[str]] = {}
        self._pool: ProcessPoolExecutor | None = None
        self._turn: asyncio.Semaphore | None = None

    def start(self, pool: ProcessPoolExecutor) -> None:
        self._pool, self._turn = pool, asyncio.Semaphore(1)

    def stop(self) -> None:
        for each in self._asked.values():
            each.cancel()

    async def work(self, task: Callable[..., Any], *given: Any) -> Any:
        """Something that takes a while, in the second process."""
        assert self._pool is not None
        return await asyncio.get_running_loop().run_in_executor(self._pool, task, *given)

    async def rows(self, since: int) -> dict[str, Any]:
        """The list, with the rows that changed after version `since`; missing verdicts are asked for on the way."""
        found = await asyncio.to_thread(self.folder.runs)
        seen = []
        for name, each in found.items():
            self._ask(name, each)
            when = modified(each)
            ended = name in self._known and self._known[name]["row"]["ended"]
            seen.append([name, round(when), is_growing(each, ended)])
        changed = [each["row"] for each in self._known.values() if each["version"] > since and each["name"] in found]
        return {"version": self._version, "seen": sorted(seen, key=lambda each: -each[1]), "rows": changed}

    def story(self, name: str) -> dict[str, Any] | None:
        found = self.folder.run(name)
        if found is not None:
            self._ask(name, found, soon=True)
        return (self._known.get(name) or {}).get("story")

    def feed(self, name: str, found: RunFiles) -> Feed:
        if name not in self._feeds:
            self._feeds[name] = Feed(found, lambda: self._ask(name, found, soon=True))
        return self._feeds[name]

    def remember(self, name: str, panel: str, keys: Sequence[str]) -> None:
        """Which series a panel shows, so that following it need not read the whole panel again."""
        self._shown[name, panel] = list(keys)

    async def keys_of(self, name: str, found: RunFiles, panel: str) -> list[str]:
        if (name, panel) not in self._shown:
            run = await asyncio.to_thread(opened, found)
            wanted = instrument(run, panel)
            read = await asyncio.to_thread(wanted.read, run) if wanted else None
            self.remember(name, panel, [line.key for line in read.lines] if read else [])
        return self._shown[name, panel]

    def _ask(self, name: str, found: RunFiles, *, soon: bool = False) -> None:
        """Have a run judged if it has grown since, and if the last time is long enough ago."""
        known = self._known.get(name)
        if known is not None and known["signature"] == signature(found):
            return
        if name in self._asked:
            return
        wait = self._wait(name, soon)
        if wait and not soon:
            return
        self._asked[name] = asyncio.create_task(self._judged(name, found, wait))

    def _wait(self, name: str, soon: bool) -> float:
        """Seconds until a run may be judged again. One that is looked at waits for its own cost, the others for that of
        all that grow."""
        took = self._took.get(name, 0.0) if soon else sum(self._took.values())
        return max(0.0, self._last_look.get(name, -math.inf) + max(1.0, REST * took) - time.monotonic())

    async def _judged(self, name: str, found: RunFiles, wait: float) -> None:
        assert self._turn is not None
        try:
            await asyncio.sleep(wait)
            async with self._turn:
                answer = await self.work(judged, found, name)
        except BrokenExecutor:  # the second process died, most likely out of memory: the page goes on without verdicts
            return
        finally:
            self._asked.pop(name, None)
        self._last_look[name] = time.monotonic()
        if name in self._known:
            self._took[name] = answer["seconds"]
        before = (self._known.get(name) or {}).get("story")
        self._version += 1
        self._known[name] = answer | {"name": name, "version": self._version}
        story = answer.get("story")
        if story is not None and story != before and name in self._feeds:
            self._feeds[name].story(story)
        if answer["signature"] != signature(found) and name in self._feeds:
            self._ask(name, found, soon=True)
