"""Starting the live page: where it listens, what it prints, and when it ends."""

from __future__ import annotations

import os
import secrets
import socket
import sys
import threading
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

from bedside import stderr
from bedside.errors import BadOption, BedsideError, install_extra
from bedside.wording import printable

HOST, PORT = "127.0.0.1", 8642
TRIES = 20  # ports after the first that are tried when it is taken
EVERYWHERE = ("0.0.0.0", "::")


def serve(
    root: Path,
    *,
    host: str = HOST,
    port: int | None = None,
    token: str | None = None,
    say: Callable[[str], None] = print,
    parent: int | None = None,
) -> None:
    """Serve a folder of runs until interrupted; with a `parent` process, until that one ends."""
    if find_spec("starlette") is None or find_spec("uvicorn") is None:
        raise BedsideError(
            "The live page needs starlette and uvicorn, which are not installed.",
            expected="the extra `live`; `bedside watch RUN` shows a run in the terminal without it",
            try_=install_extra("live"),
        )
    import uvicorn

    from bedside.live.app import make_app
    from bedside.live.security import LOCAL
    from bedside.live.served_folder import Folder

    folder = Folder(root)
    local = host in LOCAL
    if token is None:
        token = "" if local else secrets.token_urlsafe(16)
    elif not token:
        raise BadOption("The token is empty.", expected="a secret of your own", try_="bedside serve DIR --token SECRET")
    names = LOCAL if local else (*LOCAL, host, socket.gethostname(), *_own_addresses(host))
    listening = _listen(host, port)
    address = f"http://{_shown(host)}:{listening.getsockname()[1]}/" + (f"?token={token}" if token else "")
    say(printable(f"bedside: {root} is at {address}"))
    app = make_app(folder, hosts=tuple(names), token=token)
    config = uvicorn.Config(
        app, log_level="warning", access_log=False, timeout_graceful_shutdown=1, lifespan="on", server_header=False
    )
    server = uvicorn.Server(config)
    if parent is not None:
        threading.Thread(target=_end_with, args=(parent, server), daemon=True).start()
    server.run(sockets=[listening])


def _listen(host: str, port: int | None) -> socket.socket:
    """A socket on the port that was asked for, or on the first free one after the usual."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    ports = [port] if port is not None else [*range(PORT, PORT + TRIES), 0]
    for each in ports:
        listening = socket.socket(family, socket.SOCK_STREAM)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((host, each))
            listening.listen(128)
            return listening
        except (OSError, OverflowError) as refused:
            listening.close()
            why = getattr(refused, "strerror", None) or str(refused)
    raise BadOption(
        f"Port {ports[0]} of {host} cannot be used: {why.rstrip('.')}.",
        expected="a free port (1 to 65535) and an address of this machine",
        try_="bedside serve DIR, which looks for a free one",
    )


def _shown(host: str) -> str:
    if host in EVERYWHERE:
        return socket.gethostname()
    return f"[{host}]" if ":" in host else host


def _own_addresses(host: str) -> list[str]:
    """By which addresses this machine may be called when it listens on all of them."""
    if host not in EVERYWHERE:
        return []
    try:
        return sorted({str(info[4][0]) for info in socket.getaddrinfo(socket.gethostname(), None)})
    except OSError:
        return []


def _end_with(parent: int, server: object) -> None:
    """Stop when the process that started us is gone: nobody should find a forgotten server."""
    while os.getppid() == parent:
        time.sleep(1.0)
    server.should_exit = True  # type: ignore[attr-defined]  # uvicorn.Server, which is imported above


def main() -> None:
    """`python -m bedside.live.server RUN_DIR PARENT`: what `watch(..., serve=True)` starts."""
    serve(Path(sys.argv[1]), say=stderr.say, parent=int(sys.argv[2]))


if __name__ == "__main__":
    main()
