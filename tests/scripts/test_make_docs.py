"""The generated pages are the ones that would be generated now, and --check notices when they are not."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent


@pytest.fixture
def copy(tmp_path):
    for folder in ("src", "scripts", "docs"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "README.md", tmp_path)
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


def test_the_readmes_table_names_every_rule_and_keeps_its_prose(copy):
    from bedside.rules import CATALOGUE

    readme = (copy / "README.md").read_text(encoding="utf-8")
    assert all(f"[{rule.name}](docs/rules/{rule.code}.md)" in readme for rule in CATALOGUE)
    assert "## What it does not do" in readme
