"""What a preflight returns: one line per check, the findings, JSON, and an exit code."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from bedside import __version__
from bedside.finding import Finding, NotExamined, Severity
from bedside.preflight.check import Answer, Passed
from bedside.report.json import finding_to_json
from bedside.report.json import plain as plain_json
from bedside.report.styled_lines import WIDTH, Line, line, plain, wrapped
from bedside.report.text import shortened
from bedside.wording import capital, counted, number, plural, printable, value, words

STATUS = 13  # columns of "not examined" and a space
DRAWN = "drawn"  # the number that is a picture: shown in a line of its own
ROLES = {"passed": "healthy", "note": "note", "not examined": "quiet"}


@dataclass(frozen=True)
class Checked:
    """One check's answer and how long it took."""

    answer: Answer
    seconds: float = 0.0

    @property
    def status(self) -> str:
        if isinstance(self.answer, NotExamined):
            return "not examined"
        if isinstance(self.answer, Passed):
            return "passed"
        return "note" if self.answer.severity is Severity.NOTE else "failed"

    @property
    def message(self) -> str:
        if isinstance(self.answer, NotExamined):
            return f"{'it raised' if self.answer.broken else 'needs'} {', '.join(self.answer.needs)}"
        return self.answer.message

    @property
    def numbers(self) -> Mapping[str, Any]:
        if isinstance(self.answer, Finding):
            return self.answer.evidence
        return self.answer.numbers if isinstance(self.answer, Passed) else {}


@dataclass(frozen=True)
class Preflight:
    """The answers of all checks, in the catalogue's order. True if none of them failed."""

    model: str
    depth: str
    checked: tuple[Checked, ...]

    @property
    def passed(self) -> tuple[Passed, ...]:
        return tuple(each.answer for each in self.checked if isinstance(each.answer, Passed))

    @property
    def failed(self) -> tuple[Finding, ...]:
        """Errors and warnings."""
        return tuple(each for each in self.findings if each.severity > Severity.NOTE)

    @property
    def notes(self) -> tuple[Finding, ...]:
        """What is worth knowing and fails nothing."""
        return tuple(each for each in self.findings if each.severity is Severity.NOTE)

    @property
    def not_examined(self) -> tuple[NotExamined, ...]:
        return tuple(each.answer for each in self.checked if isinstance(each.answer, NotExamined))

    @property
    def findings(self) -> tuple[Finding, ...]:
        return tuple(each.answer for each in self.checked if isinstance(each.answer, Finding))

    @property
    def seconds(self) -> float:
        return sum(each.seconds for each in self.checked)

    def __bool__(self) -> bool:
        return not self.failed

    def at_least(self, severity: Severity) -> list[Finding]:
        return [each for each in self.findings if each.severity >= severity]

    def __str__(self) -> str:
        return plain(self.lines())

    def to_text(self, *, verbose: bool = False) -> str:
        """One line per check; `verbose` adds the numbers."""
        return plain(self.lines(verbose=verbose))

    def lines(self, width: int = WIDTH, *, verbose: bool = False) -> Iterator[Line]:
        """The report, for a terminal or a file."""
        yield line((f"Preflight of {printable(self.model)}, {self.depth} depth", "strong"))
        for each in self.checked:
            yield from _lines(each, width, verbose=verbose)
        yield from wrapped((f"{self.summary}.", "strong"), width=width)

    @property
    def summary(self) -> str:
        """`2 failed, 25 passed, 1 note, 3 not examined, in 4.1 s`."""
        notes = counted({"note": len(self.notes)})
        parts = [f"{len(self.failed)} failed", f"{len(self.passed)} passed", notes]
        parts.append(f"{len(self.not_examined)} not examined" if self.not_examined else "")
        return f"{plural(len(self.checked), 'check')}: {', '.join(filter(None, parts))}, in {number(self.seconds, 2)} s"

    def to_json(self) -> dict[str, Any]:
        """Plain dicts and lists; findings and not_examined as `bedside diagnose --format json` has them."""
        checks = [
            {
                "code": each.answer.code,
                "name": each.answer.name,
                "status": each.status,
                "message": each.message,
                "numbers": plain_json(each.numbers),
                "seconds": round(each.seconds, 4),
            }
            for each in self.checked
        ]
        return {
            "bedside": __version__,
            "model": self.model,
            "depth": self.depth,
            "passed": bool(self),
            "checks": checks,
            "findings": [finding_to_json(each) for each in self.findings],
            "not_examined": [{"code": each.code, "needs": list(each.needs)} for each in self.not_examined],
        }

    def _repr_html_(self) -> str:
        from html import escape

        return f"<pre>{escape(str(self))}</pre>"


def _lines(checked: Checked, width: int, *, verbose: bool) -> Iterator[Line]:
    answer, status = checked.answer, checked.status
    role = answer.severity.word if isinstance(answer, Finding) else ROLES[status]
    head = (f"{status.upper() if status == 'failed' else status:<{STATUS}}", role)
    label = (f"{answer.code} {answer.name}: ", "strong" if status == "failed" else "")
    indent, message = " " * STATUS, printable(checked.message)
    if not verbose and not isinstance(answer, Finding):
        yield line(head, label, (shortened(message, width - STATUS - len(label[0])), ""))
    else:
        yield from wrapped(head, label, (message, ""), rest=indent + "  ", width=width)
    if drawn := checked.numbers.get(DRAWN):
        yield line(indent + "  ", (printable(str(drawn)), "curve"))
    if isinstance(answer, Finding):
        for advice in answer.try_[:3] if answer.severity > Severity.NOTE else ():
            yield from wrapped(capital(printable(advice)), first=f"{indent}→ ", width=width)
    if not verbose:
        return
    if isinstance(answer, Finding):
        for other in answer.could_also_be:
            yield from wrapped((f"or: {printable(other)}", "quiet"), first=indent + "  ", width=width)
    if checked.numbers:
        said = " · ".join(f"{words(key)} {value(each)}" for key, each in checked.numbers.items() if key != DRAWN)
        yield from wrapped((said, "quiet"), first=indent + "  ", width=width)
