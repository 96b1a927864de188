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


@pytest.fixture
def folder(tmp_path):
    """An empty folder, with a log that somebody already has."""
    rows = [f"{step},{3 * 0.99**step:.4f},{0.1 + 3 * 0.985**step:.4f}" for step in range(300)]
    (tmp_path / "your_log.csv").write_text("step,train_loss,val_loss\n" + "\n".join(rows))
    return tmp_path


def test_the_snippets_run_from_top_to_bottom(folder):
    assert [language for language, _ in SNIPPETS] == ["console", "python", "console"]
    for language, text in SNIPPETS:
        if language == "python":
            done = run([sys.executable, "-W", "error", "-c", text], folder)
            assert done.returncode == 0, done.stderr
            assert "200 steps · healthy" in done.stdout
            continue
        for line in text.splitlines():
            program, *args = shlex.split(line.removeprefix("$ "))
            assert program == "bedside"
            done = run([sys.executable, "-c", "from bedside.cli import main; main()", *args], folder)
            assert done.returncode == 0, f"{line}\n{done.stderr}"
    assert (folder / "report.html").exists()


def test_the_front_page_comes_in_its_order():
    headings = re.findall(r"^## (.+)$", README, re.MULTILINE)
    assert headings == [
        "Install",
        "Diagnose a log you already have",
        "Watch a training",
        "Four numbers",
        "What it does not do",
        "Read on",
    ]
    assert README.index("](docs/pictures/") < README.index("## Install")


def test_the_pictures_stay_small():
    pictures = list((ROOT / "docs/pictures").glob("*"))
    assert pictures
    assert sum(each.stat().st_size for each in pictures) < 300 * 1024


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"])
def test_every_link_leads_somewhere(name):
    text = (ROOT / name).read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#]+)\)", text):
        assert (ROOT / target).exists(), target
