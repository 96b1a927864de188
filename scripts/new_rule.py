"""Start a rule: its file with the page to fill in, its test file, and its line in the catalogue.

    python scripts/new_rule.py GRD111 sleeping-head --severity warning --needs "grad_norm per module"

What it makes imports, lints and stays silent; the test that it speaks fails until it does.
"""

from __future__ import annotations

import argparse
import re

from scaffolding import ROOT, create, edit, insert_before, main, refuse_existing

from bedside import __version__
from bedside.errors import BadOption, unknown_name
from bedside.finding import Severity
from bedside.record import vocabulary
from bedside.rules import CATALOGUE
from bedside.wording import FAMILIES

RULES = ROOT / "src/bedside/rules"

PAGE = '''"""TODO: the rule in one sentence.

## What it sees
TODO: the symptom, in the words of somebody who looks at the curves.

## Why it matters
TODO: what it costs, by which mechanism.

## How it decides
TODO: the statistic, against the run's own past where possible, and the `limit` it is held against.

## When it is wrong
TODO: healthy runs that look like this.

## What to try
1. TODO: the most likely cure, with the number to type.

## Example
>>> from bedside.testing import a_run
>>> {function}.check(a_run(loss=[3.0, 2.0, 1.0]))
[]

## References
- TODO: where the idea or the numbers come from.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from bedside.finding import Finding, Severity
from bedside.record.run import Run{vocabulary}
from bedside.rules.base import rule


@dataclass(frozen=True)
class Limits:
    limit: float = 1.0  # TODO: where this number comes from


@rule("{code}", severity=Severity.{severity}, needs=[{needs}], limits=Limits(), preview_since="{version}")
def {function}(run: Run, limits: Limits) -> Iterator[Finding]:
    yield from ()  # TODO: yield {function}.finding(message, first_step=…, last_step=…, confidence=…, …)
'''

TEST = """import pytest

from bedside.rules.{function} import {function}
from bedside.testing import a_run


def test_speaks_when_TODO():
    pytest.fail("TODO: the smallest run that has it, and what the finding says: where, since when, which number")


def test_stays_silent_when_the_run_is_healthy():
    assert {function}.check(a_run(loss=[3.0, 2.0, 1.0])) == []
"""


def new_rule() -> None:
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("code", help="a family and a number that was never used, e.g. GRD111")
    words.add_argument("name", help='completes "this run shows …", e.g. sleeping-head')
    words.add_argument("--severity", choices=[each.word for each in Severity], default="warning")
    words.add_argument("--needs", action="append", default=[], help='e.g. "grad_norm per module"; may be repeated')
    given = words.parse_args()
    code, name, function = given.code.upper(), given.name.replace("_", "-"), given.name.replace("-", "_")
    _refuse_bad(code, name)
    file, test = RULES / f"{function}.py", ROOT / f"tests/rules/test_{function}.py"
    refuse_existing(file, test)
    needs = [_constant(need) for need in given.needs]
    imported = sorted({need.split(".")[0] for need in needs})
    create(
        file,
        PAGE.format(
            function=function,
            code=code,
            severity=given.severity.upper(),
            needs=", ".join(needs),
            vocabulary=f"\nfrom bedside.record.vocabulary import {', '.join(imported)}" if imported else "",
            version=__version__.rpartition(".")[0],
        ),
    )
    create(test, TEST.format(function=function))
    edit(RULES / "__init__.py", lambda lines: _catalogued(lines, code, function))
    print(f"Next: write the page in {file.relative_to(ROOT)} before the check; CONTRIBUTING.md has the five steps.")


def _refuse_bad(code: str, name: str) -> None:
    if not re.fullmatch(r"[A-Z]{3}\d{3}", code) or code[:3] not in FAMILIES:
        raise unknown_name("family", code[:3], FAMILIES, try_="python scripts/new_rule.py GRD111 sleeping-head")
    if not re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", name):
        raise BadOption(f"{name!r} is not a rule's name.", expected="small letters and dashes, e.g. sleeping-head")
    if taken := next((each for each in CATALOGUE if each.code == code), None):
        free = max(int(each.code[3:]) for each in CATALOGUE if each.code[:3] == code[:3]) + 1
        raise BadOption(
            f"{code} is {taken.name}.", expected="a code of its own: codes are never reused", try_=f"{code[:3]}{free}"
        )


def _constant(need: str) -> str:
    """`grad_norm per module` as the vocabulary spells it in code: `GRAD_NORM.per_owner`."""
    vital, _, per = need.partition(" per ")
    names = {each.name: key for key, each in vars(vocabulary).items() if isinstance(each, vocabulary.Vital)}
    if vital not in names:
        raise unknown_name("vital", vital, names, try_="docs/vitals.md lists them all")
    return names[vital] + (".per_owner" if per else "")


def _catalogued(lines: list[str], code: str, function: str) -> list[str]:
    """The import in alphabetical order, the rule in code order: families as the design lists them."""
    new = f"from bedside.rules.{function} import {function}"
    lines = insert_before(lines, [new], lambda line: line > new or not line.startswith("from"), "from bedside.errors")
    families = list(FAMILIES)
    order = {each.function.__name__: (families.index(each.code[:3]), each.code) for each in CATALOGUE}
    place = (families.index(code[:3]), code)
    later = [f"    {each}," for each, rank in order.items() if rank > place]
    return insert_before(lines, [f"    {function},"], lambda line: line in later or line == ")", "CATALOGUE:")


if __name__ == "__main__":
    main(new_rule)
