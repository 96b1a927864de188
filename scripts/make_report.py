"""Put the report of the demo's sick net into the README: a real one, of a run made just now.

    python scripts/make_report.py            train, and write the report into the README
    python scripts/make_report.py --check    train, and exit 1 if the README's report tells another story

Training differs in the last digits from machine to machine, and a slow one reads less often to stay within its budget,
so the check compares the story: the verdict, and the findings that are told with a heading of their own.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys

from make_docs import ROOT, between

RULE = "─" * 5
README = ROOT / "README.md"


def report_of_the_sick_net() -> str:
    """What `bedside demo` prints about the second net, with a plain name for its temporary folder."""
    done = subprocess.run(
        [sys.executable, "-c", "from bedside.cli import main; main()", "demo"],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    _, _, rest = done.stdout.partition(" the sick net ")
    lines = rest.splitlines()[1:]
    end = next(index for index, line in enumerate(lines) if line.startswith(RULE))
    return re.sub(r"\S*bedside-demo-\w+/", "demo/", "\n".join(lines[:end])).strip("\n")


def story(report: str) -> list[str]:
    """The verdict and the headings."""
    return re.findall(r"^\S+ · [\d,]+ steps · \w+|^(?:ERROR|WARNING)  .*", report, re.MULTILINE)


def main() -> int:
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--check", action="store_true")
    check = words.parse_args().check
    report = report_of_the_sick_net()
    text = README.read_text(encoding="utf-8")
    if not check:
        README.write_text(between(text, "report", f"```text\n{report}\n```"), encoding="utf-8")
        print("README.md has the report of a run made just now.")
        return 0
    shown = text.partition("<!-- report -->")[2].partition("<!-- /report -->")[0]
    if story(shown) != story(report):
        print(
            f"README.md tells another story than the demo: {story(shown)}.\n"
            f"  Expected: {story(report)}\n  Try: python scripts/make_report.py",
            file=sys.stderr,
        )
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
