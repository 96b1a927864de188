"""The generated pages are the ones that would be generated now, and --check notices when they are not."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent


@pytest.fixture
def copy(tmp_path):
    for folder in ("src", "scripts", "docs", "examples"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "benchmarks/results", tmp_path / "benchmarks/results")
    for file in ("README.md", "benchmarks/zoo.csv"):
        shutil.copy(ROOT / file, tmp_path / file)
    assert make_docs(tmp_path).returncode == 0
    return tmp_path


def make_docs(copy: Path, *args: str) -> subprocess.CompletedProcess[str]:
    env = os.environ | {"PYTHONPATH": str(copy / "src")}
    script = [sys.executable, "scripts/make_docs.py", *args]
    return subprocess.run(script, cwd=copy, capture_output=True, text=True, check=False, env=env)


def test_fresh_pages_pass_the_check(copy):
    assert make_docs(copy, "--check").returncode == 0


@pytest.mark.parametrize("path", ["docs/rules/NUM101.md", "docs/rules.md", "docs/vitals.md"])
def test_an_edited_page_is_noticed_and_put_right(copy, path):
    (copy / path).write_text("by hand", encoding="utf-8")
    done = make_docs(copy, "--check")
    assert done.returncode == 1
    assert done.stderr.startswith(f"Out of date: {path}.\n")
    make_docs(copy)
    assert make_docs(copy, "--check").returncode == 0


def test_a_page_whose_rule_is_gone_is_noticed_and_removed(copy):
    (copy / "docs/rules/GON101.md").write_text("once upon a time", encoding="utf-8")
    assert make_docs(copy, "--check").returncode == 1
    make_docs(copy)
    assert not (copy / "docs/rules/GON101.md").exists()


def test_the_table_of_families_names_every_rule(copy):
    from bedside.rules import CATALOGUE

    page = (copy / "docs/rules.md").read_text(encoding="utf-8")
    assert all(f"[{rule.name}](rules/{rule.code}.md)" in page for rule in CATALOGUE)


def test_the_front_page_has_its_four_numbers_from_the_tables(copy):
    table = copy / "benchmarks/results/overhead.csv"
    table.write_text(table.read_text(encoding="utf-8").replace("mlp,fused,bedside,", "mlp,fused,bedside,9"), "utf-8")
    make_docs(copy)
    readme = (copy / "README.md").read_text(encoding="utf-8")
    assert readme.count("how it was measured") == 4
    assert re.search(r"\*\*9\d*\.\d % of 0\.5 ms", readme)
    assert "## What it does not do" in readme
