"""A page for each experiment of the lab: what it does, how it is called, a program that runs, what it prints and draws.

Text and signature come from the experiment's file, the program from `examples/lab/`, and what it printed and drew from
`docs/pictures/lab/`, which `make pictures` makes anew. Nothing here imports torch.
"""

from __future__ import annotations

import ast
from pathlib import Path

from bedside.lab import EXPERIMENTS

SOURCE = "src/bedside/lab/experiments/{name}.py"
MADE = f"<!-- Made by scripts/make_docs.py: edit {SOURCE} or examples/lab/{{name}}.py. -->\n\n"


def lab_pages(root: Path) -> dict[Path, str]:
    """Every page and what it should say today."""
    return {root / f"docs/lab/{name}.md": _page(root, name) for name in EXPERIMENTS}


def lab_table() -> str:
    rows = [f"| [`{name}`](lab/{name}.md) | {sentence} |" for name, sentence in EXPERIMENTS.items()]
    return "| experiment | question |\n|---|---|\n" + "\n".join(rows)


def _page(root: Path, name: str) -> str:
    source = ast.parse((root / SOURCE.format(name=name)).read_text(encoding="utf-8"))
    example = (root / f"examples/lab/{name}.py").read_text(encoding="utf-8")
    kept = root / "docs/pictures/lab"
    printed = (kept / f"{name}.txt").read_text(encoding="utf-8").rstrip()
    parts = [
        MADE.format(name=name) + f"# {name}",
        _fenced(ast.get_docstring(source) or ""),
        *_call(source, name),
        "## Example",
        f"```python\n{example.rstrip()}\n```",
        f"It prints\n\n```text\n{printed}\n```",
    ]
    if (kept / f"{name}.png").exists():
        parts.append(f"![What {name} draws](../pictures/lab/{name}.png)")
    parts.append("[All experiments](../lab.md)")
    return "\n\n".join(parts) + "\n"


def _call(source: ast.Module, name: str) -> list[str]:
    """The signature and its explanation; a module of several functions explains itself."""
    for each in source.body:
        if isinstance(each, ast.FunctionDef) and each.name == name:
            call = f"```python\nlab.{name}({ast.unparse(each.args)})\n```"
            return ["## How it is called", call, _listed(ast.get_docstring(each) or "")]
    return []


def _listed(text: str) -> str:
    """`Args:` as a list."""
    about, _, args = text.partition("\nArgs:\n")
    items: list[str] = []
    for line in args.splitlines():
        if line.startswith("    ") and not line.startswith("     "):
            argument, _, meaning = line.strip().partition(": ")
            items.append(f"- `{argument}`: {meaning}")
        elif line.strip():
            items.append("  " + line.strip())
    return about.strip() + ("\n\n" + "\n".join(items) if items else "")


def _fenced(text: str) -> str:
    """Doctests as code blocks."""
    blocks = text.split("\n\n")
    return "\n\n".join(f"```pycon\n{each}\n```" if each.startswith(">>>") else each for each in blocks)
