"""Faulty programs that had no part in writing the rules, each beside a twin without the one faulty line.

    python benchmarks/strangers.py                              everything, about ten minutes
    python benchmarks/strangers.py --half in_sight --details    the half that rule writers may look at
    python benchmarks/strangers.py kl_summed reward_sign        these only; the table on disk stays as it is

The programs are split by mechanism: those in strangers/in_sight/ may be read while rules are written or changed, those
in strangers/held_out/ may not; they tell how a rule does on what nobody had in mind. Those in strangers/fresh/ were
written by somebody who had not read the rules; what was said of them, and of every later round, before any rule was
changed for it is kept in results/strangers_first_sight.csv. Later rounds were written in the same way and then divided
between the two halves; the newest waits in strangers/newest/ until it has been scored once.
A program says which findings would be right, the cause first. It is *caught* when one of them is an error or
a warning, *exact* when the cause itself is; a finding of a rule in preview counts and is marked. The twin is the
false-alarm test. Results go to benchmarks/results/strangers.csv.
"""

from __future__ import annotations

import argparse
import ast
import csv
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from watched import Job, Outcome, train_all

HERE = Path(__file__).parent
HALVES = ("in_sight", "held_out", "fresh", "newest")
RESULTS = HERE / "results" / "strangers.csv"
COLUMNS = (
    "half",
    "family",
    "program",
    "caught",
    "exact",
    "preview",
    "primary",
    "alarms",
    "verdict",
    "score",
    "twin_alarms",
    "twin_passing",
    "twin_verdict",
    "twin_score",
)


def files(half: str | None = None) -> list[Path]:
    return [
        file for each in HALVES if half in (None, each) for file in sorted((HERE / "strangers" / each).glob("*.py"))
    ]


def label(file: Path) -> dict[str, Any]:
    """FAMILY and EXPECTS of a program, read without running it."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    assigned = [node for node in tree.body if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)]
    known = {node.targets[0].id: node.value for node in assigned if isinstance(node.targets[0], ast.Name)}
    return {name: ast.literal_eval(known[name]) for name in ("FAMILY", "EXPECTS")}


def row(file: Path, sick: Outcome, twin: Outcome) -> dict[str, Any]:
    expects = label(file)["EXPECTS"]
    named = {finding["name"]: finding for finding in reversed(sick.alarms)}
    right = [name for name in expects if name in named]
    return {
        "half": file.parent.name,
        "family": label(file)["FAMILY"],
        "program": sick.job.name,
        "caught": int(bool(right)),
        "exact": int(expects[0] in named),
        "preview": int(bool(right) and all(named[name]["preview"] for name in right)),
        "primary": sick.primary,
        "alarms": " ".join(dict.fromkeys(finding["name"] for finding in sick.alarms)),
        "verdict": " ".join(dict.fromkeys(sick.verdicts)),
        "score": _rounded(sick.score),
        "twin_alarms": " ".join(dict.fromkeys(f["name"] for f in twin.alarms if not f["preview"])),
        "twin_passing": " ".join(twin.passing),
        "twin_verdict": " ".join(dict.fromkeys(twin.verdicts)),
        "twin_score": _rounded(twin.score),
    }


def _rounded(score: float | None) -> str:
    return "" if score is None else f"{score:.4g}"


def summary(rows: Sequence[dict[str, Any]]) -> str:
    lines = []
    for half in HALVES:
        own = [each for each in rows if each["half"] == half]
        if own:
            lines.append(
                f"{half.replace('_', ' ')}: {sum(int(each['caught']) for each in own)} of {len(own)} caught, "
                f"{sum(int(each['exact']) for each in own)} exact, "
                f"{sum(each['verdict'] == 'healthy' for each in own)} called healthy; twins: "
                f"{sum(bool(each['twin_alarms']) for each in own)} alarmed, "
                f"{sum(bool(each['twin_passing']) for each in own)} in passing"
            )
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", nargs="*", metavar="NAME")
    parser.add_argument("--half", choices=HALVES)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--everything", action="store_true", help="record every step in full, whatever it costs")
    parser.add_argument("--details", action="store_true", help="show every finding of the half in sight")
    parser.add_argument("--keep", type=Path, help="leave records in this folder; judge those that are there already")
    options = parser.parse_args(arguments)
    chosen = [file for file in files(options.half) if not options.programs or file.stem in options.programs]
    if unknown := set(options.programs) - {file.stem for file in chosen}:
        parser.error(f"no program is called {', '.join(sorted(unknown))}")
    jobs = [Job(str(file), options.seed, faulty) for file in chosen for faulty in (True, False)]
    outcomes, rows = train_all(jobs, everything=options.everything, keep=options.keep), []
    for file in chosen:
        sick, twin = next(outcomes), next(outcomes)
        rows.append(row(file, sick, twin))
        print(
            "{half:9} {program:34} {caught}{exact} {verdict:8} {alarms} | twin {twin_verdict} {twin_alarms} "
            "| score {score}, twin {twin_score}".format(**rows[-1])
        )
        for outcome in (sick, twin):
            if outcome.failed:
                print(outcome.failed)
            for finding in outcome.findings if options.details and file.parent.name == "in_sight" else ():
                print(f"      {finding['severity']} {finding['name']}: {finding['message']}")
        sys.stdout.flush()
    print(summary(rows))
    if not options.programs and options.half is None and options.seed == 0:
        with RESULTS.open("w", newline="") as table:
            writer = csv.DictWriter(table, COLUMNS, lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
