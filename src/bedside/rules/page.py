"""A rule's page in Markdown, made from the rule's own file: `bedside explain`, the docs and the HTML report show it.

The text is the module's docstring; the limits come from its `Limits`, each with the comment that says where the
number comes from, so that a reader can doubt it.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, Protocol

from bedside.finding import Severity
from bedside.wording import FAMILIES, value

SECTIONS = (
    "What it sees",
    "Why it matters",
    "How it decides",
    "When it is wrong",
    "What to try",
    "Example",
    "References",
)


@dataclass(frozen=True)
class Limit:
    name: str
    value: str
    origin: str


class Documented(Protocol):
    """A rule, or a check before the run: whatever has a code, limits and a docstring for a page."""

    @property
    def code(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def title(self) -> str: ...
    @property
    def page(self) -> str: ...
    @property
    def severity(self) -> Severity: ...
    @property
    def needs(self) -> Sequence[object]: ...
    @property
    def limits(self) -> Any: ...
    @property
    def preview_since(self) -> str: ...


def page(rule: Documented) -> str:
    """The whole page: title, facts, the docstring's sections, and the limits."""
    _, _, sections = rule.page.partition("\n")
    parts = [f"# {rule.code} {rule.name}", rule.title, _facts(rule), _examples_fenced(sections.strip())]
    if limits := limits_of(rule.limits):
        rows = "\n".join(f"- `{each.name}` = {each.value}: {each.origin}" for each in limits)
        parts.append(f"## Limits\n{rows}")
    return "\n\n".join(parts) + "\n"


def needs(rule: Documented) -> str:
    """`grad_norm per module, loss`; empty for a rule that checks for itself whether it can be applied."""
    return ", ".join(str(need) for need in rule.needs)


def status(rule: Documented) -> str:
    return f"preview since {rule.preview_since}" if rule.preview_since else "stable"


def family(rule: Documented) -> str:
    return FAMILIES.get(rule.code[:3], rule.code[:3])


def as_json(rule: Documented) -> dict[str, Any]:
    """The rule's line in the catalogue as plain data; the keys do not change between versions."""
    return {
        "code": rule.code,
        "name": rule.name,
        "severity": rule.severity.word,
        "status": "preview" if rule.preview_since else "stable",
        "needs": [str(need) for need in rule.needs],
        "sentence": rule.title,
    }


def _facts(rule: Documented) -> str:
    facts = [family(rule), rule.severity.word, status(rule)]
    return " · ".join([*facts, f"needs {needs(rule)}"] if rule.needs else facts)


def _examples_fenced(text: str) -> str:
    """Doctests as code blocks: without them Markdown would run the lines together."""
    lines: list[str] = []
    fenced = False
    for line in text.splitlines():
        if line.startswith(">>>") and not fenced:
            lines, fenced = [*lines, "```python"], True
        elif fenced and not line.strip():
            lines, fenced = [*lines, "```"], False
        lines.append(line)
    return "\n".join([*lines, "```"] if fenced else lines)


def limits_of(limits: Any) -> list[Limit]:
    """Every limit with the comment beside it, or the one above it."""
    source = inspect.getsource(type(limits))
    found = []
    for field in fields(limits):
        beside = re.search(rf"^ +{field.name}: [^#\n]*# *(.+)$", source, re.MULTILINE)
        above = re.search(rf"((?:^ +#.*\n)+) +{field.name}:", source, re.MULTILINE)
        origin = beside[1] if beside else " ".join(re.findall(r"# *(.+)", above[1])) if above else "not stated"
        found.append(Limit(field.name, value(getattr(limits, field.name)), origin.strip()))
    return found
