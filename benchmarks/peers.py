"""bedside beside its peers: what each tool says of a healthy training and of seven broken ones.

    python benchmarks/peers.py [--tools bedside runmedic] [--scenarios nan dead] [--seeds 0 1] [--minutes 10]
    python benchmarks/peers.py --rescore      judge the answers of the last runs again, without running anything

Each tool gets an environment under `.cache/peers/`, made the first time. Answers are kept there; the scores, with the
tools' own words, go to `benchmarks/results/peers.csv`, and from it `docs/comparison.md` is made. Tools that are not
asked for keep the rows they had, and so do seeds.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from peers.comparison import page
from peers.environments import CACHE, ROOT, NotInstalled, python_for
from peers.listener import Said
from peers.scenarios import SCENARIOS
from peers.scoring import ordered, score
from peers.tools import TOOLS

RESULTS = ROOT / "benchmarks" / "results" / "peers.csv"
PAGE = ROOT / "docs" / "comparison.md"
COLUMNS = "tool version scenario seed alarm named telling first place findings alarms messages loss said error".split()
QUOTED = 6  # findings quoted per training, the first ones
LENGTH = 160  # characters of each


def run(tool: str, scenarios: Sequence[str], seeds: Sequence[int], minutes: float) -> str:
    """Let a tool listen; what went wrong with the whole of it, if anything, in a line."""
    wanted = [name for name in scenarios if name in (TOOLS[tool].only or SCENARIOS)]
    try:
        python = python_for(tool, TOOLS[tool].requires)
    except NotInstalled as problem:
        return f"does not install: {problem}"
    file = answers_of(tool)
    file.parent.mkdir(parents=True, exist_ok=True)
    before = [one for one in read(file) if one["scenario"] not in wanted or one["seed"] not in seeds]
    file.write_text("".join(json.dumps(one) + "\n" for one in before))
    command = [python, "-m", "peers.worker", tool, file, "--minutes", str(minutes)]
    command += ["--scenarios", *wanted, "--seeds", *map(str, seeds)]
    environment = os.environ | {"PYTHONPATH": str(ROOT / "benchmarks"), "OMP_NUM_THREADS": "1"}
    with (
        tempfile.TemporaryDirectory() as folder,
        (CACHE / f"{tool}.log").open("w") as log,
    ):  # tools write where they are
        done = subprocess.run(command, cwd=folder, env=environment, stdout=log, stderr=subprocess.STDOUT)
    return f"does not start; see {CACHE / f'{tool}.log'}" if done.returncode else ""


def answers_of(tool: str) -> Path:
    return CACHE / "answers" / f"{tool}.jsonl"


def read(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def rows_of(tool: str) -> list[dict[str, Any]]:
    """The scores of a tool's answers, one row per training."""
    answers = sorted(read(answers_of(tool)), key=lambda one: (list(SCENARIOS).index(one["scenario"]), one["seed"]))
    said = {
        (one["scenario"], one["seed"]): ordered([as_said(s) for s in one.get("said", ())], TOOLS[tool].ranked)
        for one in answers
    }
    rows = []
    for one in answers:
        row = {key: one[key] for key in ("tool", "version", "scenario", "seed")}
        if "error" in one:
            rows.append(row | {"error": one["error"]})
            continue
        words = said[one["scenario"], one["seed"]]
        result = score(words, one["scenario"], said.get(("healthy", one["seed"]), ()))
        marks = {key: "" if value is None else int(value) for key, value in vars(result).items()}
        rows.append(row | marks | {"loss": f"{one['loss']:.4g}", "said": quoted(words)})
    return rows


def as_said(fields: dict[str, Any]) -> Said:
    return Said(**fields | {"where": tuple(fields["where"]), "steps": tuple(fields["steps"])})


def quoted(words: Sequence[Said]) -> str:
    """The first findings, shortened: severity, place, how often, words."""
    parts = []
    for one in words[:QUOTED]:
        place = f" [{', '.join(one.where)}]" if one.where else ""
        times = f" ×{one.times}" if one.times > 1 else ""
        text = " ".join(one.text.split())
        parts.append(f"{one.severity}{place}{times}: {text if len(text) <= LENGTH else text[: LENGTH - 1] + '…'}")
    return " ¶ ".join([*parts, *([f"and {len(words) - QUOTED} more"] if len(words) > QUOTED else [])])


def write(new: dict[str, Iterable[dict[str, Any]]]) -> None:
    """The CSV with these tools' rows replaced, and the page made from it."""
    kept: dict[str, list[dict[str, Any]]] = {}
    if RESULTS.exists():
        with RESULTS.open(newline="") as file:
            for row in csv.DictReader(file):
                kept.setdefault(row["tool"], []).append(row)
    kept |= {tool: list(rows) for tool, rows in new.items()}
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    with RESULTS.open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, restval="", lineterminator="\n")
        writer.writeheader()
        writer.writerows(row for tool in TOOLS for row in kept.get(tool, ()))
    with RESULTS.open(newline="") as file:
        PAGE.write_text(page(list(csv.DictReader(file))), encoding="utf-8")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tools", nargs="+", choices=TOOLS, default=list(TOOLS), metavar="TOOL")
    parser.add_argument("--scenarios", nargs="+", choices=SCENARIOS, default=list(SCENARIOS), metavar="SCENARIO")
    parser.add_argument("--seeds", nargs="+", type=int, default=range(5), metavar="SEED")
    parser.add_argument(
        "--minutes", type=float, default=10.0, help="for each tool: no further seed is begun after that"
    )
    parser.add_argument("--rescore", action="store_true", help="run nothing; judge the kept answers again")
    options = parser.parse_args(arguments)
    for tool in options.tools:
        problem = "" if options.rescore else run(tool, options.scenarios, options.seeds, options.minutes)
        if problem:
            print(f"{tool}: {problem}", flush=True)
            write({tool: [{"tool": tool, "error": problem}]})
        elif rows := rows_of(tool):
            write({tool: rows})
            faulty = [row for row in rows if row["scenario"] != "healthy" and not row.get("error")]
            named, first = (sum(row[mark] for row in faulty) for mark in ("telling", "first"))
            false = sum(row["alarms"] for row in rows if row["scenario"] == "healthy" and not row.get("error"))
            print(f"{tool}: {named} of {len(faulty)} found, {first} put first, {false} false alarms", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
