"""The routes of the live page. All of them only read."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import asynccontextmanager
from importlib.resources import files
from multiprocessing import get_context

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from bedside.errors import BedsideError
from bedside.live.run_data import index, opened, panel_data, series_data
from bedside.live.runs import Runs
from bedside.live.security import Security
from bedside.live.served_folder import Folder
from bedside.live.verdicts import compared, rule_list
from bedside.logs import RunFiles
from bedside.report.instruments.panel import SECTIONS
from bedside.report.standalone import static

PAGE = (
    '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
    '<meta name="viewport" content="width=device-width,initial-scale=1"><title>bedside</title>'
    '<link rel="icon" href="data:,"><link rel="stylesheet" href="app.css"></head>'
    '<body><div id="app"></div><noscript>The live page needs JavaScript; <code>bedside watch RUN</code> shows a run in '
    'a terminal.</noscript><script src="app.js"></script></body></html>\n'
)
MAX_COMPARED = 12  # runs on one chart


def make_app(
    folder: Folder, *, hosts: tuple[str, ...] = ("127.0.0.1", "localhost", "::1"), token: str = ""
) -> Starlette:
    """The application for a folder of runs."""
    runs = Runs(folder)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            runs.start(pool)
            yield
            runs.stop()

    routes = _Routes(runs)
    return Starlette(
        routes=[
            Route("/", routes.page),
            Route("/app.js", routes.script),
            Route("/app.css", routes.style),
            Route("/api/runs", routes.list_runs),
            Route("/api/rules", routes.rules),
            Route("/api/rules/{code}", routes.rule),
            Route("/api/gallery", routes.gallery),
            Route("/api/compare", routes.compare),
            Route("/api/run", routes.run),
            Route("/api/panel", routes.panel),
            Route("/api/series", routes.series),
            Route("/api/stream", routes.stream),
        ],
        middleware=[
            Middleware(Security, hosts=hosts, token=token),
            Middleware(GZipMiddleware, minimum_size=2000, compresslevel=3),
        ],
        lifespan=lifespan,
    )


class _Routes:
    def __init__(self, runs: Runs) -> None:
        self._runs = runs

    async def page(self, request: Request) -> Response:
        return HTMLResponse(PAGE)

    async def script(self, request: Request) -> Response:
        return Response(static("app.js"), media_type="text/javascript")

    async def style(self, request: Request) -> Response:
        return Response(static("app.css"), media_type="text/css")

    async def list_runs(self, request: Request) -> Response:
        """Rows that changed since the version that the page has; the others it has already."""
        version = _number(request.query_params.get("version"), 0)
        return JSONResponse({"folder": self._runs.folder.title, **await self._runs.rows(version)})

    async def run(self, request: Request) -> Response:
        """What is known of one run: its panels, and its story as soon as it is worked out."""
        name, found = self._asked_run(request)
        if found is None:
            return _missing(name)
        story = self._runs.story(name)
        try:
            known = await asyncio.to_thread(lambda: index(found, opened(found)))
        except BedsideError as error:
            return JSONResponse({"error": str(error)}, 422)
        return JSONResponse({"name": name, "story": story, "sections": SECTIONS, **known})

    async def panel(self, request: Request) -> Response:
        name, found = self._asked_run(request)
        if found is None:
            return _missing(name)
        steps = _steps(request)
        wanted = request.query_params.get("id", "")
        data = await asyncio.to_thread(lambda: panel_data(opened(found), wanted, steps))
        if data is None:
            return _missing(wanted)
        self._runs.remember(name, wanted, [line["key"] for line in data["panel"]["lines"]])
        return JSONResponse(data)

    async def series(self, request: Request) -> Response:
        name, found = self._asked_run(request)
        if found is None:
            return _missing(name)
        keys = request.query_params.getlist("key")
        return JSONResponse(await asyncio.to_thread(lambda: series_data(opened(found), keys)))

    async def stream(self, request: Request) -> Response:
        """Server-sent events: points of the series that the page shows, and the story when it changes."""
        name, found = self._asked_run(request)
        if found is None:
            return _missing(name)
        asked = request.query_params
        keys = {*asked.getlist("key")}
        for panel in asked.getlist("panel"):
            keys |= set(await self._runs.keys_of(name, found, panel))
        cursor = _number(request.headers.get("last-event-id") or asked.get("cursor"), -1)
        return StreamingResponse(
            self._runs.feed(name, found).watch(sorted(keys), cursor),
            media_type="text/event-stream",
            headers={"x-accel-buffering": "no"},  # a proxy in between must not collect them
        )

    async def compare(self, request: Request) -> Response:
        """Several runs on one axis, and where the others diverge from the first."""
        names = request.query_params.getlist("run")[:MAX_COMPARED]
        runs = [(found, name) for name in names if (found := self._runs.folder.run(name)) is not None]
        if len(runs) < 2:
            return JSONResponse({"error": "Choose two runs or more."}, 422)
        try:
            return JSONResponse(await self._runs.work(compared, runs))
        except BedsideError as error:
            return JSONResponse({"error": str(error)}, 422)

    async def rules(self, request: Request) -> Response:
        return JSONResponse({"rules": rule_list()})

    async def rule(self, request: Request) -> Response:
        from bedside.rules import find_rule
        from bedside.rules.page import page

        try:
            return JSONResponse({"text": page(find_rule(request.path_params["code"]))})
        except BedsideError:
            return _missing(request.path_params["code"])

    async def gallery(self, request: Request) -> Response:
        return Response(
            (files("bedside.live") / "gallery.json").read_text(encoding="utf-8"), media_type="application/json"
        )

    def _asked_run(self, request: Request) -> tuple[str, RunFiles | None]:
        name = request.query_params.get("run", "")
        return name, self._runs.folder.run(name)


def _missing(name: str) -> Response:
    return JSONResponse({"error": f"There is no {name!r} here."}, 404)


def _steps(request: Request) -> tuple[int, int] | None:
    asked = request.query_params
    if "from" not in asked or "to" not in asked:
        return None
    return _number(asked["from"], 0), _number(asked["to"], 2**40)


def _number(text: str | None, otherwise: int) -> int:
    try:
        return int(float(text)) if text else otherwise
    except (ValueError, OverflowError):
        return otherwise
