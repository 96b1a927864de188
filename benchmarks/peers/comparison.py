"""The page `docs/comparison.md`, made from the CSV and from nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import mean, median

from .scenarios import SCENARIOS
from .tools import TOOLS

Row = dict[str, str]
FAULTY = [name for name in SCENARIOS if name != "healthy"]

HEAD = """\
<!-- Made by benchmarks/peers.py from benchmarks/results/peers.csv: run it again instead of editing. -->

# bedside beside its peers

One small training that goes well and seven in which one thing is wrong, the same for every tool: a ReLU network
32-256-256-256-8, AdamW at 1e-3, 300 steps of 128 examples, one thread, {seeds} seeds. Every tool runs in an
environment of its own, attached as its own introduction attaches it, at its defaults. What each of them said, in its
own words, is in `benchmarks/results/peers.csv`; the phrases that count as naming a fault are in
`benchmarks/peers/scoring.py`. To run it again: `python benchmarks/peers.py`.

The faults were chosen by bedside's authors, who then taught bedside to find them; the peers were written for other
faults as well, which are not shown here. Take the table as a description of eight runs, not as a ranking of tools.

## In short
"""

HOW = """
*Found*: how many of the seven faults the tool names in every seed, in words that it does not also use of the healthy
run. *Named at all* drops that last condition. *Put first*: the finding it ranks highest is the one that names the
fault. *Right place*: of the three faults that sit in one module (`nan`, `dead`, `head`), those for which it names that
module and no innocent one. *Findings*: the same words about the same place count once. *False alarms*: warnings and
errors on the healthy run.

## Fault by fault

Seeds in which the fault was found, of those that were run. **Bold**: put first. † named, but in words that the tool
uses of the healthy run too. *alarm*: it warned of something, but did not name the fault. –: no warning.

"""


def page(rows: Sequence[Row]) -> str:
    seeds = len({row["seed"] for row in rows if row["tool"] == "bedside"})
    tools = [tool for tool in TOOLS if any(row["tool"] == tool and not row["error"] for row in rows)]
    general = [tool for tool in tools if not TOOLS[tool].only]
    return "\n".join(
        [
            HEAD.format(seeds={5: "five"}.get(seeds, seeds)),
            *table(
                [
                    "tool",
                    "found",
                    "named at all",
                    "put first",
                    "right place",
                    "findings per faulty run",
                    "healthy runs alarmed",
                    "false alarms per healthy run",
                ],
                [in_short(tool, rows) for tool in general],
            ),
            HOW.rstrip("\n"),
            "",
            *table(["tool", *SCENARIOS], [fault_by_fault(tool, rows) for tool in tools]),
            "",
            "The eight:",
            "",
            *(f"- `{name}`: {what}" for name, what in SCENARIOS.items()),
            "",
            "## What each tool is given",
            "",
            *table(
                ["tool", "version", "given", "trainings"],
                [[tool, version(tool, rows), TOOLS[tool].fed, str(len(answers(tool, rows)))] for tool in tools],
            ),
            *failures(rows),
            "",
        ]
    )


def in_short(tool: str, rows: Sequence[Row]) -> list[str]:
    faulty = [row for row in answers(tool, rows) if row["scenario"] != "healthy"]
    healthy = answers(tool, rows, "healthy")
    placed = [name for name in FAULTY if any(row["place"] for row in rows if row["scenario"] == name)]
    return [
        tool,
        f"{always(tool, rows, 'telling')} of {len(FAULTY)}",
        f"{always(tool, rows, 'named')} of {len(FAULTY)}",
        f"{always(tool, rows, 'telling', 'first')} of {len(FAULTY)}",
        f"{always(tool, rows, 'telling', 'place')} of {len(placed)}",
        f"{median(int(row['findings']) for row in faulty):g}",
        f"{sum(row['alarm'] == '1' for row in healthy)} of {len(healthy)}",
        f"{mean(int(row['alarms']) for row in healthy):.1f}",
    ]


def fault_by_fault(tool: str, rows: Sequence[Row]) -> list[str]:
    return [tool, *(cell(answers(tool, rows, name), name) for name in SCENARIOS)]


def cell(rows: Sequence[Row], scenario: str) -> str:
    if not rows:
        return ""
    alarms = sum(row["alarm"] == "1" for row in rows)
    if scenario == "healthy":
        count = mean(int(row["alarms"]) for row in rows)
        return f"{count:.2g} false" if alarms else "silent"
    found = sum(row["telling"] == "1" for row in rows)
    first = sum(row["telling"] == "1" and row["first"] == "1" for row in rows)
    if found:
        share = f"{found}/{len(rows)}"
        return f"**{share}**" if first == found else f"{share} ({first} first)" if first else share
    if any(row["named"] == "1" for row in rows):
        return "†"
    return "*alarm*" if alarms else "–"


def answers(tool: str, rows: Sequence[Row], scenario: str | None = None) -> list[Row]:
    return [row for row in rows if row["tool"] == tool and not row["error"] and scenario in (None, row["scenario"])]


def always(tool: str, rows: Sequence[Row], *marks: str) -> int:
    """In how many scenarios all these marks are there in every seed."""
    return sum(
        bool(seen := answers(tool, rows, name)) and all(row[mark] == "1" for row in seen for mark in marks)
        for name in FAULTY
    )


def version(tool: str, rows: Sequence[Row]) -> str:
    return next(row["version"] for row in answers(tool, rows))


def failures(rows: Sequence[Row]) -> list[str]:
    failed = [row for row in rows if row["error"]]
    if not failed:
        return []
    lines = [f"- {' '.join(filter(None, (row['tool'], row['scenario'])))}: {row['error']}" for row in failed]
    return ["", "Could not be run:", "", *dict.fromkeys(lines)]


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    return [f"| {' | '.join(cells)} |" for cells in (head, ["---"] * len(head), *rows)]
