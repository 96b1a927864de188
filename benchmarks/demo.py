"""Does the demo hold on every seed? Both of its nets on ten seeds: what was said while they trained, and at the end.

    python benchmarks/demo.py [--seeds 10]

The healthy net must stay silent while it trains and be called healthy; the sick one must be called sick, and its
primary finding must name the learnable scale. Writes benchmarks/results/demo.csv; exits with 1 where a seed fails.
"""

from __future__ import annotations

import argparse
import csv
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bedside import demo

RESULTS = Path(__file__).parent / "results" / "demo.csv"
SCALE = "pixel_scale"


class Heard:
    """In place of a terminal: keeps what the demo prints."""

    is_terminal = False

    def __init__(self) -> None:
        self.lines: list[str] = []

    def print(self, line: str) -> None:
        self.lines.append(line)


def row(seed: int, net: str) -> dict[str, Any]:
    console = Heard()
    with tempfile.TemporaryDirectory() as folder:
        diagnosis, accuracy = demo._train(net == "sick", Path(folder) / net, console, seed)
    primary = diagnosis.primary
    named = primary is not None and (SCALE in primary.where or SCALE in primary.message)
    alarms = [finding.name for finding in diagnosis.findings if finding.severity.word != "note"]
    return {
        "seed": seed,
        "net": net,
        "verdict": diagnosis.verdict,
        "primary": "" if primary is None else primary.name,
        "names_the_scale": "yes" if named else "no",
        "alarms_live": len(console.lines),
        "alarms": " ".join(dict.fromkeys(alarms)),
        "accuracy": f"{accuracy:.3f}",
        "holds": "yes" if _holds(net, diagnosis.verdict, named, len(console.lines)) else "no",
    }


def _holds(net: str, verdict: str, named: bool, live: int) -> bool:
    return (verdict == "sick" and named) if net == "sick" else (verdict == "healthy" and live == 0)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=10)
    options = parser.parse_args(arguments)
    import torch

    torch.set_num_threads(1)
    rows = []
    for seed in range(options.seeds):
        for net in ("healthy", "sick"):
            rows.append(row(seed, net))
            print(*rows[-1].values(), sep="  ", flush=True)
    with RESULTS.open("w", newline="", encoding="utf-8") as file:
        table = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        table.writeheader()
        table.writerows(rows)
    return 0 if all(each["holds"] == "yes" for each in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
