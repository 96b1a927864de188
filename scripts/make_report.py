"""Put the report of the demo's sick net into the README: a real one, of a run made just now.

    python scripts/make_report.py

Not part of `make_docs.py --check`, because training differs in the last digits from machine to machine; a test
checks instead that the README's report still tells the story that the demo tells.
"""

from __future__ import annotations

import re
import subprocess
import sys

from make_docs import ROOT, between

RULE = "─" * 5


def report_of_the_sick_net() -> str:
    """What `bedside demo` prints about the second net, without the name of the temporary folder."""
    done = subprocess.run(
        [sys.executable, "-c", "from bedside.cli import main; main()", "demo"],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    _, _, rest = done.stdout.partition(" the sick net ")
    lines = rest.splitlines()[1:]
    end = next(index for index, line in enumerate(lines) if line.startswith(RULE))
    return re.sub(r"\S*bedside-demo-\w+/", "", "\n".join(lines[:end])).strip("\n")


if __name__ == "__main__":
    readme = ROOT / "README.md"
    text = f"```text\n{report_of_the_sick_net()}\n```"
    readme.write_text(between(readme.read_text(encoding="utf-8"), "report", text), encoding="utf-8")
    print("README.md has the report of a run made just now.")
