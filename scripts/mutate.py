"""Change one small thing at a time, in a copy of the tree, and list the changes that no test notices.

    .venv/bin/python scripts/mutate.py src/bedside/comparison --sample 100
    .venv/bin/python scripts/mutate.py src/bedside/rules/overfitting.py --only number

A survivor is a number, a comparison or a sign that nothing holds in place: write the test just above and just below it,
remove it if nothing depends on it, or leave it if both ways are right. Each change is judged by the tests of the file,
with --wide by those of the files that import it as well. Needs `fork`, so not Windows.
"""

from __future__ import annotations

import argparse
import ast
import compileall
import copy
import gc
import importlib
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OTHER = {ast.Lt: ast.GtE, ast.GtE: ast.Lt, ast.Gt: ast.LtE, ast.LtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq}
OTHER |= {ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In}
EMPTY = {"list": "[]", "dict": "{}", "tuple": "()", "set": "set()", "float": "0.0", "int": "0", "str": "''"}
SMALL = (0, 1, 2)  # in a function: indices, halves and squares
FACTOR = 10
Mutation = tuple[Path, int, int]  # of the file's nth node, the mth change


def changes(node: ast.AST, inside: dict[int, ast.FunctionDef]) -> Iterator[tuple[str, ast.AST]]:
    """What a node may become, each with the kind of the change; `inside` tells the function a node is in."""
    match node:
        case ast.Constant(value=int() | float() as value) if value and not isinstance(value, bool):
            if not (id(node) in inside and value in SMALL):
                lower = value // FACTOR or int(value > 1) if isinstance(value, int) else value / FACTOR
                yield from (("number", ast.Constant(each)) for each in (value * FACTOR, lower))
        case ast.Compare(ops=[op]) if type(op) in OTHER:
            yield "comparison", ast.Compare(node.left, [OTHER[type(op)]()], node.comparators)
        case ast.BoolOp():
            yield "and/or", ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)
        case ast.Call(func=ast.Name(id="min" | "max" as name)):
            other = ast.Name("max" if name == "min" else "min", ast.Load())
            yield "min/max", ast.Call(other, node.args, node.keywords)
        case ast.UnaryOp(op=ast.Not()) | ast.UnaryOp(op=ast.USub(), operand=ast.Name()):
            yield "sign", node.operand
        case ast.If(test=ast.Name() | ast.Call() | ast.Attribute()):
            yield "condition", ast.If(ast.UnaryOp(ast.Not(), node.test), node.body, node.orelse)
        case ast.Expr(value=ast.Yield() | ast.YieldFrom()):
            yield "result", ast.Pass()
        case ast.Return(value=ast.expr() as value) if id(node) in inside and (kind := inside[id(node)].returns):
            said = ast.unparse(kind)
            if said == "bool":
                yield "result", ast.Return(ast.UnaryOp(ast.Not(), value))
            elif (empty := "None" if "None" in said else EMPTY.get(said.split("[")[0])) and ast.unparse(value) != empty:
                yield "result", ast.Return(ast.parse(empty, mode="eval").body)


def parsed(path: Path) -> tuple[ast.Module, list[ast.AST], dict[int, ast.FunctionDef]]:
    """A file, its nodes in order, and the innermost function around each node of a body."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    nodes = list(ast.walk(tree))
    functions = [each for each in nodes if isinstance(each, ast.FunctionDef)]
    return tree, nodes, {id(node): each for each in functions for line in each.body for node in ast.walk(line)}


def mutations(path: Path, kind: str | None) -> list[Mutation]:
    _, nodes, inside = parsed(path)
    every = ((place, list(changes(node, inside))) for place, node in enumerate(nodes))
    return [(path, i, j) for i, found in every for j, (what, _) in enumerate(found) if kind in (None, what)]


def mutated(path: Path, place: int, choice: int) -> tuple[str, str]:
    """The file with that change, and the change in words."""
    tree, nodes, inside = parsed(path)
    target = nodes[place]
    new = list(changes(target, inside))[choice][1]
    before, after = (ast.unparse(ast.fix_missing_locations(copy.deepcopy(each))) for each in (target, new))
    before, after = (" ".join(each.split())[:80] for each in (before, after))

    class Swap(ast.NodeTransformer):
        def visit(self, node: ast.AST) -> ast.AST:
            return ast.copy_location(new, node) if node is target else self.generic_visit(node)

    text = ast.unparse(ast.fix_missing_locations(Swap().visit(tree)))
    return text, f"{path.relative_to(ROOT)}:{getattr(target, 'lineno', 0)}: {before}  ->  {after}"


def tests_of(path: Path, imported: dict[Path, set[tuple[str, str]]]) -> tuple[list[str], list[str]]:
    """Its examples, the tests that mirror it and those that import it; and the tests that mirror its importers."""
    source, tests = ROOT / "src" / "bedside", ROOT / "tests"
    module = ".".join(["bedside", *path.relative_to(source).with_suffix("").parts]).removesuffix(".__init__")
    names = {each.name for each in ast.parse(path.read_text()).body if isinstance(each, ast.FunctionDef | ast.ClassDef)}
    package = {(module.rpartition(".")[0], name) for name in names}

    def mirror(file: Path) -> Path:
        folder = tests / file.parent.relative_to(source)
        return folder if file.stem == "__init__" else folder / f"test_{file.name}"

    users = [file for file, used in imported.items() if used & package or module in {name for name, _ in used}]
    near = [mirror(path), *(each for each in users if tests in each.parents)]
    own = mirror(path).exists()  # then a package that hands it on has nothing to add
    far = [mirror(each) for each in users if source in each.parents and not (own and each.stem == "__init__")]
    examples = [f"tests/test_doctests.py::test_the_examples_of[{module}]"] if ">>> " in path.read_text() else []
    near_by, further = (
        [str(each.relative_to(ROOT)) for each in dict.fromkeys(every) if each.exists() and each != tests]
        for every in (near, far)
    )
    return ([*examples, *near_by], [each for each in further if each not in near_by]) if near_by else (further, [])


def all_imports() -> dict[Path, set[tuple[str, str]]]:
    """What each file of the package and of its tests imports: (module, name)."""
    files = [*sorted((ROOT / "tests").rglob("test_*.py")), *sorted((ROOT / "src").rglob("*.py"))]
    nodes = {file: ast.walk(ast.parse(file.read_text(encoding="utf-8"))) for file in files}
    return {
        file: {
            (each.module or "", alias.name)
            for each in found
            if isinstance(each, ast.ImportFrom)
            for alias in each.names
        }
        for file, found in nodes.items()
    }


def passed(tests: tuple[list[str], ...], without: list[str], seconds: int) -> bool:
    return any(tests) and all(passes(each, without, seconds) for each in tests if each)


def passes(tests: list[str], without: list[str], seconds: int) -> bool:
    """Whether these tests of the folder we are in pass, in a process of their own."""
    child = os.fork()
    if child == 0:
        os.setsid()
        signal.alarm(seconds)
        sink = os.open(os.devnull, os.O_WRONLY)
        os.dup2(sink, 1)
        os.dup2(sink, 2)
        os.environ |= {"PYTHONPATH": "src", "PYTHONDONTWRITEBYTECODE": "1"}
        sys.dont_write_bytecode = True
        sys.path.insert(0, os.path.abspath("src"))
        pytest = importlib.import_module("pytest")
        options = ["-x", "-q", "--assert=plain", "-p", "no:cacheprovider"]
        left_out = [f"--{word}={each}" for each in without for word in ("deselect", "ignore")]
        os._exit(pytest.main([*tests, *options, *left_out]))
    _, status = os.waitpid(child, 0)
    with suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)  # what its tests left behind
    return status == 0


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("paths", nargs="+", type=Path)
    parser.add_argument("--sample", type=int, help="so many changes, drawn at random")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", help="number, comparison, and/or, min/max, sign, condition or result")
    parser.add_argument("--without", action="append", default=[], help="a test file or test that is too slow")
    parser.add_argument("--seconds", type=int, default=120, help="for the tests of one change; longer is noticed")
    parser.add_argument("--wide", action="store_true", help="judge survivors by the tests of the importers as well")
    chosen = parser.parse_args()
    files = [each for path in chosen.paths for each in (sorted(path.rglob("*.py")) if path.is_dir() else [path])]
    every = [each for path in files for each in mutations(path.resolve(), chosen.only)]
    if chosen.sample is not None and chosen.sample < len(every):
        every = sorted(random.Random(chosen.seed).sample(every, chosen.sample))
    for guest in ("pytest", "hypothesis", "anyio", "xdist", "numpy", "torch"):  # loaded once, for all that are forked
        with suppress(ImportError):
            importlib.import_module(guest)
    gc.freeze()
    imported = all_imports()
    began, survivors = time.monotonic(), 0
    tests = {path: tests_of(path, imported)[: 1 + chosen.wide] for path in {each[0] for each in every}}
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(ROOT, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns(".*", "__pycache__"))
        compileall.compile_dir(f"{folder}/src", quiet=2)
        os.chdir(folder)
        changed = [mutated(*each) for each in every]  # before anybody edits the tree
        sound = {path for path in tests if passed(tests[path], chosen.without, 5 * chosen.seconds)}
        for path in sorted(tests.keys() - sound):
            print(f"{path.relative_to(ROOT)}: not tried, for its tests fail as it is, or there are none")
        for (path, *_), (text, said) in zip(every, changed, strict=True):
            if path not in sound:
                continue
            here = Path(folder) / path.relative_to(ROOT)
            original = here.read_text(encoding="utf-8")
            here.write_text(text, encoding="utf-8")
            for old in here.parent.glob(f"__pycache__/{here.stem}.*"):
                old.unlink()
            if passed(tests[path], chosen.without, chosen.seconds):
                survivors += 1
                print(said, flush=True)
            here.write_text(original, encoding="utf-8")
        tried = sum(path in sound for path, *_ in every)
        print(f"{tried} changes, {survivors} survived, {time.monotonic() - began:.0f} seconds", flush=True)


if __name__ == "__main__":
    main()
