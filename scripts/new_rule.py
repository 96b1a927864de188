"""Start a rule: a file that works, its tests of both kinds, and its line in the catalogue.

    python scripts/new_rule.py GRD111 sleeping-head --severity warning --needs "grad_norm per module"

What it makes passes every test that a rule must pass: it speaks where the first vital it needs grew tenfold against the
run's own past, and is silent elsewhere. Replace the page first, then the check. It begins as a preview.
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

PAGE = '''"""TODO: the rule in one sentence, such as: `{vital}` grows far beyond its own past.

## What it sees
`{vital}` at the end of the run is more than `times` what it was at the start. (TODO: the symptom, in the words of
somebody who looks at the curves.)

## Why it matters
TODO: what it costs, by which mechanism.

## How it decides
The median of the last quarter of the readings against that of the first quarter. (TODO: prefer change against the run's
own past to absolute numbers.)

## When it is wrong
TODO: healthy runs that look like this.

## What to try
1. TODO: the most likely cure, with the number to type.

## Example
>>> from bedside.testing import a_run
>>> print(*{function}.check(a_run({example})))
{code} {name}: {said}

## References
- TODO: author (year), title: where the idea or the numbers come from.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from bedside.errors import NotEnough
from bedside.finding import Finding, Severity
from bedside.record.run import Run
from bedside.record.vocabulary import {imported}
from bedside.rules.base import rule
from bedside.wording import number


@dataclass(frozen=True)
class Limits:
    times: float = 10.0  # TODO: where this number comes from
    readings: int = 20  # five in each quarter: a median of fewer is one reading


@rule("{code}", severity=Severity.{severity}, needs=[{needs}], limits=Limits(), preview_since="{version}")
def {function}(run: Run, limits: Limits) -> Iterator[Finding]:
    for series in {series}:
        readings = series.finite()
        if len(readings) < limits.readings:
            raise NotEnough(f"{{limits.readings}} readings of {{series.key}}, has {{len(readings)}}")
        before, now = readings.head(len(readings) // 4).median(), readings.median(len(readings) // 4)
        if now > limits.times * before > 0:
            yield {function}.finding(
                f"{{series.key}} rose from {{number(before)}} to {{number(now)}}.",
                where=[series.owner] if series.owner else [],
                first_step=readings.first_step,
                last_step=readings.last_step,
                confidence=0.5,
                evidence={{"before": before, "now": now, "limit": limits.times}},
                series=[series.key],
                try_=["TODO: what to do, with the number to type."],
            )
'''

TEST = """from __future__ import annotations

from bedside.rules.{function} import {function}
from bedside.testing import a_run


def test_speaks_when_it_grew_tenfold():
    (finding,) = {function}.check(a_run({example}))
    assert finding.message == "{said}"


def test_stays_silent_when_it_hardly_changes():
    assert {function}.check(a_run({steady})) == []
"""

RISES = "[1.0] * 30 + [50.0] * 30"
STEADY = "[1.0] * 30 + [1.5] * 30"


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
    needs = [_constant(need) for need in given.needs or ["loss"]]
    vital, _, per = (given.needs or ["loss"])[0].partition(" per ")
    keyword = vital.replace("val/", "val_")
    owner = "layers.0"
    words_for = {
        "function": function,
        "name": name,
        "code": code,
        "severity": given.severity.upper(),
        "needs": ", ".join(needs),
        "imported": ", ".join(sorted({need.split(".")[0] for need in needs})),
        "version": __version__.rpartition(".")[0],
        "vital": vital,
        "series": f"run.of({needs[0].split('.')[0]}.name)" if per else f"[run.series({needs[0].split('.')[0]}.name)]",
        "example": f'{keyword}={{"{owner}": {RISES}}}' if per else f"{keyword}={RISES}",
        "steady": f'{keyword}={{"{owner}": {STEADY}}}' if per else f"{keyword}={STEADY}",
        "said": f"{vital}/{owner} rose from 1 to 50." if per else f"{vital} rose from 1 to 50.",
    }
    create(file, PAGE.format(**words_for))
    create(test, TEST.format(**words_for))
    edit(RULES / "__init__.py", lambda lines: _catalogued(lines, code, function))
    print(f"Next: write the page in {file.relative_to(ROOT)} before the check; CONTRIBUTING.md has the steps.")


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
