"""The HTML report: one file with the front end, the data and the words inside it, and no request to anywhere.

The script is the one that the live page uses. It is inlined as it is (never as base64, which browsers take a minute to
read), and the policy in the page's head allows this script and no other, whatever a metric may be called.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping
from functools import cache
from html import escape
from importlib.resources import files
from typing import Any

from bedside.finding import Diagnosis
from bedside.record.run import Run
from bedside.report import presentation
from bedside.report.page_data import page_data


def run_to_page(run: Run, diagnosis: Diagnosis, rule_pages: Mapping[str, str] | None = None) -> str:
    """The report of a run; `rule_pages` are the texts of rules by code, shown on demand."""
    script, style = static("app.js"), static("app.css")
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'"
    )
    title = escape(f"{presentation.run_name(diagnosis)}: {diagnosis.verdict}")
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        f"<title>{title} · bedside</title><style>{style}</style></head>"
        f'<body><div id="app"></div><noscript><pre>{escape(str(diagnosis))}</pre></noscript>'
        f'<script type="application/json" id="data">{embedded(page_data(run, diagnosis, rule_pages))}</script>'
        f"<script>{script}</script></body></html>\n"
    )


def embedded(data: Any) -> str:
    """JSON that cannot end the script element it stands in; in ASCII, so that it holds no control characters."""
    return json.dumps(data, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")


@cache
def static(name: str) -> str:
    """A file of the built front end; `web/` has its sources."""
    return (files("bedside.report") / "static" / name).read_text(encoding="utf-8")


def _hash(script: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
