"""Who may use the live page, and what the page may do.

The server listens on this machine only, answers only to names of this machine (a foreign name in the Host header is
how a web page of somebody else's would reach it), asks for a token where one was set, answers no request that could
change anything, and sends a policy under which a page can load and run nothing but its own two files.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterable
from http.cookies import SimpleCookie
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cache-control": "no-store",
}
COOKIE = "bedside-token"
LOCAL = ("127.0.0.1", "localhost", "::1")


class Security:
    """Wraps the application: checks every request, and puts the headers on every answer."""

    def __init__(self, app: ASGIApp, hosts: Iterable[str] = LOCAL, token: str = "") -> None:
        self._app = app
        self._hosts = {each.lower() for each in hosts}
        self._token = token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        asked = parse_qs(scope.get("query_string", b"").decode("latin-1")).get("token", [""])[-1]

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                answer = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    answer[name] = value
                if self._token and asked and self._is_token(asked):
                    answer["set-cookie"] = f"{COOKIE}={self._token}; HttpOnly; SameSite=Strict; Path=/"
            await send(message)

        refusal = self._refusal(scope, headers, asked)
        await (refusal or self._app)(scope, receive, guarded)

    def _refusal(self, scope: Scope, headers: Headers, asked: str) -> PlainTextResponse | None:
        if scope["method"] not in ("GET", "HEAD"):
            return PlainTextResponse("Nothing can be changed here.\n", 405)
        if host_name(headers.get("host", "")) not in self._hosts:
            return PlainTextResponse("This server does not answer to that name.\n", 403)
        if self._token and not (self._is_token(asked) or self._is_token(self._kept(headers))):
            return PlainTextResponse("A token is needed: open the address that `bedside serve` printed.\n", 401)
        return None

    def _is_token(self, said: str) -> bool:
        return hmac.compare_digest(said.encode(), self._token.encode())

    @staticmethod
    def _kept(headers: Headers) -> str:
        cookie: SimpleCookie = SimpleCookie()
        cookie.load(headers.get("cookie", ""))
        return cookie[COOKIE].value if COOKIE in cookie else ""


def host_name(header: str) -> str:
    """The name in a Host header, without its port."""
    if header.startswith("["):
        return header[1:].partition("]")[0].lower()
    return header.partition(":")[0].lower()
