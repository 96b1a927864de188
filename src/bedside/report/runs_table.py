"""Many runs as a table: the worst first, one line each, and the unreadable ones at the end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from bedside.finding import Diagnosis, Failure, Severity
from bedside.report.styled_lines import WIDTH, Line, line
from bedside.wording import count, plural, printable

VERDICTS = ("sick", "unclear", "healthy")
NAME = 40  # columns of a run's name at most; the end of a path says more than its beginning


def table_lines(answers: Sequence[Diagnosis | Failure], width: int = WIDTH) -> list[Line]:
    """The table, with the role of each part."""
    examined = sorted((each for each in answers if isinstance(each, Diagnosis)), key=badness)
    failed = [each for each in answers if isinstance(each, Failure)]
    above = _folder_above_all([each.run for each in answers])
    names = {each.run: printable(each.run.removeprefix(above)) for each in examined}
    wide = min(NAME, max(map(len, names.values()), default=0))
    return [
        *([line((f"in {printable(above)}", "quiet"))] if above else []),
        *(_row(each, f"{_shortened(names[each.run], wide):<{wide}}", width) for each in examined),
        *_failures(failed, width),
        line(),
        _sum(examined, failed),
    ]


def _folder_above_all(names: Sequence[str]) -> str:
    """The path that all names begin with; said once, it leaves room for what differs."""
    if len(names) < 2:
        return ""
    low, high = min(names), max(names)
    same = next((i for i, (a, b) in enumerate(zip(low, high, strict=False)) if a != b), min(len(low), len(high)))
    return low[: low.rfind("/", 0, same) + 1]


def badness(diagnosis: Diagnosis) -> tuple[object, ...]:
    """Worst first: errors before warnings, sick before unclear, and more findings before fewer."""
    alarms = [f.severity for f in diagnosis.findings if f.severity > Severity.NOTE and not f.preview]
    return (VERDICTS.index(diagnosis.verdict), -max(alarms, default=0), -len(alarms), diagnosis.run)


def _row(diagnosis: Diagnosis, name: str, width: int) -> Line:
    said = ""
    if finding := diagnosis.primary:
        more = len([f for f in diagnosis.findings if f.severity > Severity.NOTE and not f.preview]) - 1
        said = f"{finding.code} {finding.name} since {count(finding.first_step)}"
        said += f", and {count(more)} more" if more > 0 else ""
    unit = "epochs" if diagnosis.axis == "epoch" else "steps"
    length = f"{count(diagnosis.steps)} {unit}"
    room = max(10, width - len(name) - 28)
    said = said if len(said) <= room else said[: room - 1] + "…"
    return line(f"{name}  ", (f"{diagnosis.verdict:<7}", diagnosis.verdict), f"  {length:>15}  {said}")


def _failures(failed: Sequence[Failure], width: int) -> Iterator[Line]:
    if failed:
        yield line()
        yield line(("Could not be read:", "warning"))
    for each in failed:
        yield line(f"  {_shortened(printable(each.error.splitlines()[0]), width - 2)}")


def _sum(examined: Sequence[Diagnosis], failed: Sequence[Failure]) -> Line:
    verdicts = Counter(each.verdict for each in examined)
    parts = [f"{count(verdicts[verdict])} {verdict}" for verdict in VERDICTS if verdicts[verdict]]
    if failed:
        parts.append(f"{count(len(failed))} not readable")
    return line((f"{plural(len(examined) + len(failed), 'run')}: {', '.join(parts)}.", "strong"))


def _shortened(text: str, most: int) -> str:
    return text if len(text) <= most else "…" + text[-(most - 1) :]
