"""Small real trainings, printed as people print them: what is said of the printed log alone.

    python benchmarks/printed_logs.py [--half in_sight] [--details] [NAME ...]      some two minutes
    python benchmarks/printed_logs.py --keep FOLDER      leave the logs there, with the curves' ends in curves.txt

The trainings in printed_logs/cases.py are real (their noise is not drawn), each is printed in one of some twenty
styles and read back from the file. A sick log is *caught* when an error or a warning is one that an expert would
accept, *exact* when it names what is wrong; findings of rules in preview count. Every second case is held out: its logs
are not to be looked at while rules or readers are changed. The figures go to results/printed_logs.csv; what was said
before anything was changed is kept in results/printed_logs_first_sight.csv.
"""

from __future__ import annotations

import argparse
import csv
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from bedside.diagnosis.engine import examine
from bedside.errors import BedsideError
from bedside.finding import Severity
from bedside.logs import load
from printed_logs.cases import CASES, Case
from printed_logs.styles import STYLES
from printed_logs.trainings import History

RESULTS = Path(__file__).parent / "results" / "printed_logs.csv"
COLUMNS = ("half", "name", "style", "sick", "caught", "exact", "alarmed", "verdict", "found", "unread")


def curve(case: Case, history: History) -> str:
    """First, lowest, highest and last of what was measured: what an expert looks at before giving a label."""
    rows = history.epochs or history.steps
    said = [f"{case.name} ({case.style}):"]
    for name in rows[0]:
        if name in ("step", "epoch", "lr") or name.startswith("recall"):
            continue
        column = [row[name] for row in rows]
        said.append(f"  {name} {column[0]:.3g} min {min(column):.3g} max {max(column):.3g} last {column[-1]:.3g}")
    return "\n".join(said)


def judge(case: Case, folder: Path) -> dict[str, Any]:
    row: dict[str, Any] = {
        "half": "held_out" if case.held_out else "in_sight",
        "name": case.name,
        "style": case.style,
        "sick": int(case.sick),
    }
    try:
        diagnosis = examine(load(folder))
    except BedsideError as problem:
        return row | {"caught": 0, "exact": 0, "alarmed": 0, "verdict": "unread", "found": "", "unread": problem.what}
    alarms = [one for one in diagnosis.findings if one.severity >= Severity.WARNING]
    found = list(dict.fromkeys(one.name for one in alarms))
    return row | {
        "caught": int(bool({*case.exact, *case.also} & set(found))) if case.sick else "",
        "exact": int(bool(set(case.exact) & set(found))) if case.sick else "",
        "alarmed": int(any(not one.preview for one in alarms)) if not case.sick else "",
        "verdict": diagnosis.verdict,
        "found": " ".join(found),
        "unread": "",
    }


def table(rows: Sequence[dict[str, Any]]) -> str:
    lines = [
        f"{'':10}{'sick':>6}{'caught':>8}{'exact':>7}{'called healthy':>16}{'healthy':>10}{'alarmed':>9}{'unread':>8}"
    ]
    for half in ("in_sight", "held_out"):
        mine = [row for row in rows if row["half"] == half]
        sick, healthy = [row for row in mine if row["sick"]], [row for row in mine if not row["sick"]]
        lines.append(
            f"{half:10}{len(sick):6}{sum(row['caught'] for row in sick):8}{sum(row['exact'] for row in sick):7}"
            f"{sum(row['verdict'] == 'healthy' for row in sick):16}{len(healthy):10}"
            f"{sum(row['alarmed'] for row in healthy):9}{sum(row['verdict'] == 'unread' for row in mine):8}"
        )
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--half", choices=["in_sight", "held_out"])
    parser.add_argument("--details", action="store_true", help="show what was said of each log")
    parser.add_argument("--keep", type=Path, help="leave the logs in this folder")
    parser.add_argument("--csv", type=Path, default=RESULTS)
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    chosen = [
        case
        for case in CASES
        if (not options.names or case.name in options.names)
        and options.half in (None, "held_out" if case.held_out else "in_sight")
    ]
    rows = []
    with tempfile.TemporaryDirectory() as scratch:
        root = options.keep or Path(scratch)
        for case in chosen:
            folder = root / case.name
            if not folder.exists():
                folder.mkdir(parents=True)
                history = case.train()
                for name, text in STYLES[case.style](history).items():
                    (folder / name).write_text(text, encoding="utf-8")
                with (root / "curves.txt").open("a") as curves:
                    print(curve(case, history), file=curves)
            rows.append(judge(case, folder))
            if options.details:
                row = rows[-1]
                good = row["exact"] if case.sick else not row["alarmed"] and row["verdict"] != "unread"
                print(
                    "ok   " if good else "WRONG",
                    row["name"],
                    f"({row['style']}):",
                    row["verdict"],
                    row["found"],
                    row["unread"],
                )
    print(table(rows))
    if len(chosen) == len(CASES):
        with options.csv.open("w", newline="") as file:
            writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
