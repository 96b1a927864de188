"""A question with several answers, in lines: the evidence for and against each, and the test that would decide. Where
the most likely answer is the harmless one, the others are kept short.
"""

from __future__ import annotations

from collections.abc import Iterator

from bedside.finding import Differential, Hypothesis
from bedside.report.styled_lines import Line, wrapped
from bedside.wording import capital, percent, printable

SIGNS = 3  # for and against each, in text; the other formats have room for all
UNLIKELY = 0.05  # of the weight: below it, only the strongest sign is shown


def hypothesis_lines(asked: Differential, width: int) -> Iterator[Line]:
    """The question, its answers, and the test to do."""
    yield from wrapped(("QUESTION", "note"), "  ", (printable(asked.question), "strong"), rest="  ", width=width)
    likely = [each for each in asked.hypotheses if each.weight >= UNLIKELY]
    full = likely[:1] if harmless(asked) else likely
    for each in full:
        yield from _answer(each, width)
    for each in asked.hypotheses:
        if each not in full:
            yield from _in_brief(each, width)
    if asked.test is None:
        return
    yield from wrapped(
        ("To decide: ", "quiet"),
        f"{asked.test.name} ({asked.test.cost}). {asked.test.do}",
        first="  ",
        rest="    ",
        width=width,
    )
    for outcome in asked.test.outcomes:
        said = f"If {outcome.seen}: {outcome.means}."
        yield from wrapped(said, first="    - ", width=width)


def harmless(asked: Differential) -> bool:
    """Whether the heaviest answer is that nothing is wrong."""
    return asked.heaviest.test is None


def _in_brief(each: Hypothesis, width: int) -> Iterator[Line]:
    """One line, with the strongest evidence against it, or for it if there is none against."""
    signs = [f"- {each.speaks_against[0]}"] if each.speaks_against else [f"+ {sign}" for sign in each.speaks_for[:1]]
    said = capital(each.title) + "".join(f"  {printable(sign)}" for sign in signs)
    yield from wrapped((f"{percent(each.weight):>6}  ", "quiet"), said, rest=" " * 8, width=width)


def _answer(each: Hypothesis, width: int) -> Iterator[Line]:
    yield from wrapped((f"{percent(each.weight):>6}  ", "strong"), capital(each.title), rest=" " * 8, width=width)
    for mark, signs in (("+", each.speaks_for), ("-", each.speaks_against)):
        for sign in signs[:SIGNS]:
            yield from wrapped(f"{printable(sign)}", first=f"          {mark} ", rest=" " * 12, width=width)
