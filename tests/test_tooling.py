"""The same commands everywhere: make, CI and the hook before a commit."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def planned(goal: str) -> str:
    env = {key: value for key, value in os.environ.items() if not key.startswith("MAKE")}  # we may run under make
    command = ["make", "-n", "--no-print-directory", goal]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, env=env).stdout


def test_every_hook_runs_a_command_that_make_lint_runs_too():
    hooks = re.findall(r"entry: (.+)", (ROOT / ".pre-commit-config.yaml").read_text())
    lint = planned("lint")
    assert len(hooks) == 5
    for hook in hooks:
        assert hook.removesuffix(" --force-exclude") in lint


def test_ci_runs_make_test_and_pytest_comes_last():
    script = ROOT / ".ci/run"
    assert os.access(script, os.X_OK)
    assert script.read_text().endswith("exec make test\n")
    assert planned("test").splitlines()[-1].endswith("pytest -n 2")


def test_every_pip_call_goes_through_the_constraints():
    calls = [line for line in (ROOT / "Makefile").read_text().splitlines() if "pip install" in line]
    assert calls
    assert all("-c constraints.txt" in line for line in calls)


def test_no_file_of_ours_names_a_network_host():
    for name in ("Makefile", ".ci/run", ".pre-commit-config.yaml", "pyproject.toml", "constraints.txt", "README.md"):
        assert not re.search(r"https?://", (ROOT / name).read_text()), name


def test_files_that_a_package_lists_exist_beside_it():
    listed = [
        (package, name)
        for package in (ROOT / "src/bedside").rglob("__init__.py")
        for name in re.findall(r"^    (\w+\.py)  ", package.read_text(encoding="utf-8"), re.MULTILINE)
    ]
    assert len(listed) > 10
    missing = [f"{package.parent.name}/{name}" for package, name in listed if not (package.parent / name).exists()]
    assert not missing
