"""The commands of CONTRIBUTING, run in a copy of the tree exactly as they stand there."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
COPIED = ("src", "scripts", "tests", "benchmarks", "docs", "examples", "README.md", "CONTRIBUTING.md", "pyproject.toml")


def sections() -> dict[str, list[str]]:
    """The commands under each heading."""
    found = {}
    for part in re.split(r"^## ", (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
        commands = re.findall(r"^\$ (.+)$", part, flags=re.MULTILINE)
        if commands:
            found[part.splitlines()[0]] = commands
    return found


@pytest.fixture
def copy(tmp_path):
    for name in COPIED:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__", "node_modules"))
        else:
            shutil.copy(ROOT / name, tmp_path / name)
    (tmp_path / ".venv").symlink_to(sys.prefix)
    return tmp_path


def shell(copy: Path, command: str) -> subprocess.CompletedProcess[str]:
    env = {key: value for key, value in os.environ.items() if not key.startswith(("PYTEST", "COLUMNS"))}
    env |= {"PYTHONPATH": f"{copy / 'src'}:{copy}", "PYTEST_ADDOPTS": "-p no:cacheprovider -q"}
    return subprocess.run(command, shell=True, cwd=copy, capture_output=True, text=True, check=False, env=env)


@pytest.mark.parametrize("section", sections())
def test_every_command_works_and_what_it_makes_is_complete(copy, section):
    for command in sections()[section]:
        done = shell(copy, command)
        assert done.returncode == 0, f"{command}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
        if "pytest" in command:
            assert re.search(r"\d+ passed", done.stdout), f"{command} ran nothing:\n{done.stdout}"
    for check in ("ruff check --no-cache src tests", "ruff format --check --no-cache src tests"):
        done = shell(copy, f".venv/bin/{check}")
        assert done.returncode == 0, done.stdout


def test_there_is_a_way_to_add_each_of_them():
    assert list(sections()) == ["Add a rule", "Add a vital", "Add a specimen"]
