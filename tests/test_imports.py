"""The torch line and the quick start, looked at from outside: what does a fresh process load?"""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src/bedside"
HEAVY = ["numpy", "rich", "scipy", "torch"]


def loaded_by(code: str, *, path: Path | None = None) -> set[str]:
    """Which of the heavy packages a fresh process has loaded after `code`."""
    probe = f"{code}\nimport sys\nprint('LOADED', *[name for name in {HEAVY} if name in sys.modules])"
    env = os.environ | ({"PYTHONPATH": str(path)} if path else {})
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True, env=env)
    [line] = [line for line in done.stdout.splitlines() if line.startswith("LOADED")]
    return set(line.split()[1:])


def command(*args: str) -> str:
    return f"from bedside.cli import run\nrun({list(args)})"


@pytest.mark.parametrize("code", ["import bedside", command("--help"), command("--version"), command("diagnose", "-h")])
def test_the_front_door_loads_nothing_heavy(code):
    assert loaded_by(code) == set()


@pytest.mark.parametrize(
    "code", ["import bedside.diagnosis.engine", "import bedside.logs", command("rules"), command("explain", "NUM101")]
)
def test_diagnosing_needs_neither_torch_nor_scipy(code):
    assert loaded_by(code) <= {"numpy"}


def test_the_probe_would_notice(tmp_path):
    (tmp_path / "guest.py").write_text("import numpy\n")
    assert loaded_by("import guest", path=tmp_path) == {"numpy"}


def contracts(root: Path) -> subprocess.CompletedProcess[str]:
    linter = [sys.executable, "-c", "from importlinter.cli import lint_imports_command as run; run()", "--no-cache"]
    env = os.environ | {"PYTHONPATH": str(root / "src")}
    return subprocess.run(linter, cwd=root, capture_output=True, text=True, check=False, env=env)


@pytest.mark.parametrize(
    ("room", "line"),
    [
        ("rules/guest.py", "def check():\n    import torch\n    return torch\n"),  # hidden in a function
        ("record/guest.py", "from bedside.diagnosis import engine\n"),
        ("report/guest.py", "from bedside.rules import CATALOGUE\n"),
        ("logs/guest.py", "from bedside.collect import watch\n"),
    ],
)
def test_the_import_contracts_would_notice(tmp_path, room, line):
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    (tmp_path / "src/bedside" / room).write_text(line)
    done = contracts(tmp_path)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "BROKEN" in done.stdout


def test_rules_never_import_each_other():
    """One file is one rule: what two of them share lives in a helper that is nobody's page."""
    from bedside.rules import CATALOGUE

    names = {rule.function.__name__ for rule in CATALOGUE}
    for name in names:
        tree = ast.parse((ROOT / f"src/bedside/rules/{name}.py").read_text(encoding="utf-8"))
        imported = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module}
        assert not {f"bedside.rules.{other}" for other in names - {name}} & imported, name


def imported_modules(file: Path, modules: set[str]) -> set[str]:
    """What a file imports, inside functions too; imports for type checkers are never run."""

    def nodes(parent: ast.AST) -> Iterator[ast.AST]:
        for child in ast.iter_child_nodes(parent):
            if not (isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test)):
                yield child
                yield from nodes(child)

    found: set[str] = set()
    for node in nodes(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {each.name for each in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = {f"{node.module}.{each.name}" for each in node.names}
            found |= names & modules
            if names - modules:
                found.add(node.module)
    return found & modules


def on_a_cycle(graph: dict[str, set[str]]) -> list[str]:
    """The modules that reach themselves."""

    def reached(start: str) -> set[str]:
        seen: set[str] = set()
        waiting = [start]
        while waiting:
            new = graph[waiting.pop()] - seen
            seen |= new
            waiting += new
        return seen

    return [module for module in graph if module in reached(module)]


def test_no_module_imports_itself_by_way_of_others():
    files = {".".join(each.relative_to(SOURCE.parent).with_suffix("").parts): each for each in SOURCE.rglob("*.py")}
    files = {name.removesuffix(".__init__"): each for name, each in files.items()}
    graph = {name: imported_modules(each, set(files)) - {name} for name, each in files.items()}
    assert len(graph) > 500
    assert on_a_cycle(graph) == []


def test_a_cycle_would_be_noticed():
    assert on_a_cycle({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}) == ["a", "b", "c"]
