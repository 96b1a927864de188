"""The README does what it says: its snippets are run in order, as a newcomer would, in an empty folder."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
SNIPPETS = re.findall(r"^```(python|console)\n(.*?)^```", README, re.DOTALL | re.MULTILINE)


def run(args: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    env = os.environ | {"OMP_NUM_THREADS": "1"}
    return subprocess.run(args, cwd=folder, capture_output=True, text=True, check=False, env=env)


def test_the_snippets_run_from_top_to_bottom(tmp_path):
    assert [language for language, _ in SNIPPETS] == ["python", "console"]
    for language, text in SNIPPETS:
        if language == "python":
            done = run([sys.executable, "-W", "error", "-c", text], tmp_path)
            assert done.returncode == 0, done.stderr
            assert "200 steps · healthy" in done.stdout
            continue
        for line in text.splitlines():
            program, *args = shlex.split(line.removeprefix("$ "))
            assert program == "bedside"
            done = run([sys.executable, "-c", "from bedside.cli import main; main()", *args], tmp_path)
            assert done.returncode == 0, f"{line}\n{done.stderr}"
    assert (tmp_path / "report.html").exists()


def test_the_readme_is_told_in_its_order():
    headings = re.findall(r"^## (.+)$", README, re.MULTILINE)
    assert headings == [
        "Three lines",
        "Install",
        "What it finds",
        "How right it is",
        "What it costs",
        "What it does not do",
    ]
    assert README.index("<!-- report -->") < README.index("## Three lines")


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"])
def test_every_link_leads_somewhere(name):
    text = (ROOT / name).read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#]+)\)", text):
        assert (ROOT / target).exists(), target


@pytest.mark.slow
def test_the_report_tells_the_story_that_the_demo_tells():
    done = run([sys.executable, "scripts/make_report.py", "--check"], ROOT)
    assert done.returncode == 0, done.stderr
