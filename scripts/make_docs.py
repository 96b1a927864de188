"""Make the pages that are written elsewhere: rules from their docstrings, vitals from the vocabulary, tables from data.

    python scripts/make_docs.py            write docs/{rules,preflight,lab}/*.md, rules.md, vitals.md, zoo.md, tables
    python scripts/make_docs.py --check    change nothing; exit 1 if any of it is out of date

The pages are committed, so that they can be read where the code is, and CI compares.
"""

from __future__ import annotations

import argparse
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path

from budget_table import budget_table
from calibration_page import RESULTS as CALIBRATION
from calibration_page import calibration_page
from cost_tables import costs
from front_numbers import front_numbers
from lab_pages import lab_pages, lab_table
from page_costs import page_costs
from preflight_numbers import preflight_numbers
from zoo_pages import zoo_page

from bedside.logs import FORMATS
from bedside.preflight.checks import CATALOGUE as CHECKS
from bedside.record.vocabulary import VITALS, Vital
from bedside.rules import CATALOGUE, Rule
from bedside.rules.page import family, needs, page, status
from bedside.wording import plural

ROOT = Path(__file__).resolve().parent.parent
ZOO = "benchmarks/zoo.csv"
PREFLIGHT = "benchmarks/results/preflight.csv"
BUDGET = "benchmarks/results/budget.csv"
COSTS = ("benchmarks/results/overhead.csv", "benchmarks/results/limits.csv")
MADE = "<!-- Made by scripts/make_docs.py: edit {source} and run `make docs`. -->\n\n"


def generated(root: Path = ROOT, catalogue: Sequence[Rule] = CATALOGUE) -> dict[Path, str]:
    """Every generated file and what it should say today."""
    pages = {
        root / f"docs/rules/{rule.code}.md": MADE.format(source=f"src/bedside/rules/{rule.function.__name__}.py")
        + page(rule)
        for rule in catalogue
    }
    pages |= {
        root / f"docs/preflight/{check.code}.md": MADE.format(
            source=f"src/bedside/preflight/checks/{check.name.replace('-', '_')}.py"
        )
        + page(check)
        for check in CHECKS
    }
    pages[root / "docs/calibration.md"] = MADE.format(source="benchmarks/calibration.py") + calibration_page(
        root / CALIBRATION
    )
    filled = {
        "README.md": {"numbers": front_numbers(root)},
        "docs/lab.md": {"experiments": lab_table()},
        "docs/pages.md": {"costs": page_costs(root / "benchmarks/results/pages.csv")},
        "docs/cost.md": {"costs": costs(*(root / name for name in COSTS)), "budget": budget_table(root / BUDGET)},
        "docs/logs.md": {"formats": formats_sentence()},
        "docs/preflight.md": {"checks": checks_table(), "numbers": preflight_numbers(root / PREFLIGHT)},
    }
    for name, parts in filled.items():
        text = (root / name).read_text(encoding="utf-8")
        for marker, part in parts.items():
            text = between(text, marker, part, name)
        pages[root / name] = text
    return (
        pages
        | lab_pages(root)
        | {
            root / "docs/rules.md": rules_table(catalogue),
            root / "docs/vitals.md": vitals_table(catalogue),
            root / "docs/zoo.md": MADE.format(source="the specimen's file") + zoo_page(root / ZOO),
        }
    )


def rules_table(catalogue: Sequence[Rule]) -> str:
    rows = [
        f"| [{rule.code}](rules/{rule.code}.md) | {rule.name} | {rule.severity.word} | {status(rule)} | "
        f"{needs(rule)} | {_cell(rule.title)} |"
        for rule in catalogue
    ]
    head = "| code | name | severity | status | needs | |\n|---|---|---|---|---|---|\n"
    intro = (
        "# The rules\n\nEach rule's page says what it sees, why it matters, how it decides, when it is wrong and what "
        "to try. A *preview* is shown but never fails a gate. A rule without needs checks for itself whether it "
        "can be applied.\n\n"
    )
    families = f"## By family\n\n{families_table(catalogue)}\n\n## By code\n\n"
    return MADE.format(source="the rule's file") + intro + families + head + "\n".join(rows) + "\n"


def checks_table() -> str:
    rows = [
        f"| [{check.code}](preflight/{check.code}.md) | {check.name} | {check.severity.word} | {check.depth} | "
        f"{_cell(check.title)} |"
        for check in CHECKS
    ]
    head = f"{plural(len(CHECKS), 'check')}.\n\n| code | name | severity | depth | |\n|---|---|---|---|---|\n"
    return head + "\n".join(rows)


def vitals_table(catalogue: Sequence[Rule]) -> str:
    rows = [_vital_row(vital, catalogue) for vital in VITALS.values()]
    intro = (
        "# The vitals\n\nWhat is read from a run, and at which moment of the loop: where a number is read changes "
        "the number. Metrics that you log yourself are called `val/<metric>`.\n\n"
    )
    head = "| vital | read | also per | what it is | needed by |\n|---|---|---|---|---|\n"
    return MADE.format(source="src/bedside/record/vocabulary.py") + intro + head + "\n".join(rows) + "\n"


def _vital_row(vital: Vital, catalogue: Sequence[Rule]) -> str:
    users = [rule for rule in catalogue if vital.name in {need.vital for need in rule.needs}]
    links = ", ".join(f"[{rule.code}](rules/{rule.code}.md)" for rule in users)
    meaning = vital.meaning + (f" In {vital.unit}." if vital.unit else "")
    return f"| `{vital.name}` | {vital.moment} | {vital.per} | {_cell(meaning)} | {links} |"


def families_table(catalogue: Sequence[Rule]) -> str:
    """One row a family, for the eye."""
    families: dict[str, list[str]] = {}
    for rule in catalogue:
        preview = "*" if rule.preview else ""
        families.setdefault(family(rule), []).append(f"[{rule.name}](rules/{rule.code}.md){preview}")
    rows = "\n".join(f"| {name} | {', '.join(rules)} |" for name, rules in families.items())
    previews = sum(rule.preview for rule in catalogue)
    counts = f"{plural(len(catalogue), 'rule')}" + (f", {previews} of them previews (*)" if previews else "") + "."
    return f"{counts}\n\n| family | this run shows … |\n|---|---|\n{rows}"


def formats_sentence() -> str:
    said = "Recognised by their content: " + "; ".join(each.title for each in FORMATS) + "."
    return textwrap.fill(said, 118)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def between(text: str, marker: str, new: str, file: str = "README.md") -> str:
    """`text` with what stands between `<!-- marker -->` and `<!-- /marker -->` replaced."""
    begin, end = f"<!-- {marker} -->", f"<!-- /{marker} -->"
    if text.count(begin) != 1 or text.count(end) != 1:
        raise SystemExit(f"{file} should have {begin} and {end} once each.")
    head, _, rest = text.partition(begin)
    _, _, tail = rest.partition(end)
    return f"{head}{begin}\n{new}\n{end}{tail}"


def leftovers(root: Path, wanted: dict[Path, str]) -> list[Path]:
    """Pages of rules, checks and experiments that are no longer listed."""
    folders = ("rules", "preflight", "lab")
    pages = [path for folder in folders for path in sorted((root / "docs" / folder).glob("*.md"))]
    return [path for path in pages if path not in wanted]


def main() -> int:
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--check", action="store_true")
    check = words.parse_args().check
    wanted = generated()
    changed = [path for path, text in wanted.items() if not path.exists() or path.read_text(encoding="utf-8") != text]
    gone = leftovers(ROOT, wanted)
    if not check:
        for path in changed:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(wanted[path], encoding="utf-8")
        for path in gone:
            path.unlink()
        print(f"Wrote {plural(len(changed), 'file')}, removed {len(gone)}, of {len(wanted)}.")
        return 0
    if changed or gone:
        names = ", ".join(str(path.relative_to(ROOT)) for path in [*changed, *gone])
        print(f"Out of date: {names}.\n  Expected: what the docstrings say today\n  Try: make docs", file=sys.stderr)
        return 1
    print(f"{plural(len(wanted), 'generated file')} up to date.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
