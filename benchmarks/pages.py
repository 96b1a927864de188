"""What the live page costs: under load, and beside other tools' pages while runs grow.

    python benchmarks/pages.py load [--runs 50] [--steps 100000] [--metrics 200] [--viewers 20]
    python benchmarks/pages.py live [--tools bedside tensorboard trackio] [--runs 50] [--points 2000] [--seconds 60]

`load` fills a folder with long runs and asks the server for the list and for charts; the aims are 1 s, 300 ms and
500 MB. `live` opens each tool's own first page in Chromium while every run gets a reading a second, and counts the
bytes that the browser receives and the processor time of the server after the page has settled. Needs the dev extra,
chromium, and for Trackio an environment under `.cache/peers/`, made the first time. Results go to
`benchmarks/results/pages.csv`; rows that were not measured again stay as they were.
"""

from __future__ import annotations

import argparse
import csv
from pathlib import Path

from pages.live import TOOLS, live
from pages.load import load

RESULTS = Path(__file__).parent / "results" / "pages.csv"
COLUMNS = ("part", "what", "number", "unit", "of")


def keep(rows: list[dict[str, str]]) -> None:
    """Replace the rows that were measured again."""
    old = []
    if RESULTS.exists():
        with RESULTS.open(newline="", encoding="utf-8") as file:
            old = list(csv.DictReader(file))
    new = {(row["part"], row["what"]) for row in rows}
    with RESULTS.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows([row for row in old if (row["part"], row["what"]) not in new] + rows)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parts = parser.add_subparsers(dest="part", required=True)
    heavy = parts.add_parser("load")
    heavy.add_argument("--runs", type=int, default=50)
    heavy.add_argument("--steps", type=int, default=100_000)
    heavy.add_argument("--metrics", type=int, default=200)
    heavy.add_argument("--viewers", type=int, default=20)
    growing = parts.add_parser("live")
    growing.add_argument("--tools", nargs="+", default=list(TOOLS), choices=list(TOOLS))
    growing.add_argument("--runs", type=int, default=50)
    growing.add_argument("--points", type=int, default=2000)
    growing.add_argument("--seconds", type=int, default=60)
    options = parser.parse_args()
    if options.part == "load":
        of = f"{options.runs} runs × {options.steps} steps × {options.metrics} metrics"
        numbers = load(options.runs, options.steps, options.metrics, options.viewers)
    else:
        of = f"{options.runs} runs × {options.points} points, {options.seconds} s"
        numbers = live(options.tools, options.runs, options.points, options.seconds)
    rows = []
    for what, (number, unit) in numbers.items():
        print(f"{what:<45}{number:>12,.4g} {unit}", flush=True)
        rows.append({"part": options.part, "what": what, "number": f"{number:.4g}", "unit": unit, "of": of})
    keep(rows)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
