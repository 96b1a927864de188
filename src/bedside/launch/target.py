"""What to run, prepared as `python` itself prepares it: `__main__` and its attributes, `sys.argv`, `sys.path[0]`."""

from __future__ import annotations

import builtins
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import find_spec, spec_from_file_location
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from bedside.errors import BadOption, NoSuchPath

REPLACED: list[ModuleType] = []  # the `__main__` that was ours: freeing a module empties it, and we still run in it


@dataclass(frozen=True)
class Target:
    """A script as the user names it: a path, with `-m` a module, with `-c` a line of code."""

    what: str
    args: Sequence[str] = ()
    kind: str = "path"  # path, module or code

    def prepare(self) -> tuple[CodeType, ModuleType]:
        """Sets up argv, path and `__main__`; returns the code to run in it. A script that cannot be found is an
        error of the user's call; one that cannot be compiled raises its own SyntaxError."""
        if self.kind == "module":
            return self._module()
        if self.kind == "code":
            self._enter("-c", "")
            return compile(self.what, "<string>", "exec", dont_inherit=True), _main()
        return self._path()

    def _path(self) -> tuple[CodeType, ModuleType]:
        if os.path.isdir(self.what):
            file = os.path.abspath(os.path.join(self.what, "__main__.py"))
            if not os.path.isfile(file):
                raise NoSuchPath(
                    f"The folder {self.what!r} has no __main__.py.",
                    expected="a Python file, or a folder with a __main__.py in it",
                    try_=_nearby(self.what),
                )
            self._enter(self.what, os.path.abspath(self.what))
            return _source(file), _main(file, spec=spec_from_file_location("__main__", file), package="")
        if not os.path.isfile(self.what):
            raise NoSuchPath(
                f"There is no script {self.what!r}.",
                expected="a Python file, a folder with a __main__.py, -m MODULE, or torchrun … / accelerate launch …",
                try_=_nearby(os.path.dirname(self.what) or "."),
            )
        file = os.path.abspath(self.what)
        self._enter(self.what, os.path.dirname(os.path.realpath(self.what)))
        return _source(file), _main(file)

    def _module(self) -> tuple[CodeType, ModuleType]:
        self._enter("-m", os.getcwd())  # as long as the module is being looked for
        spec = _find(self.what)
        if spec is not None and spec.submodule_search_locations is not None:
            spec = _find(f"{self.what}.__main__")
        loader: Any = None if spec is None else spec.loader
        code = loader.get_code(spec.name) if spec is not None and hasattr(loader, "get_code") else None
        if spec is None or code is None:
            raise BadOption(
                f"No module is called {self.what!r}.",
                expected="a module that `python -m` can run, or a package with a __main__.py",
                try_=f"python -m {self.what} in the same folder, or bedside run SCRIPT",
            )
        origin = spec.origin or ""
        sys.argv[0] = origin
        return code, _main(origin, spec=spec, package=spec.parent)

    def _enter(self, name: str, folder: str) -> None:
        sys.argv = [name, *self.args]
        if not sys.flags.safe_path:  # under -P and -I there is no folder of the script's in the path
            sys.path[0] = folder


def names_in(code: CodeType) -> set[str]:
    """Every name that the code uses: its variables, attributes and arguments."""
    inner = [each for each in code.co_consts if isinstance(each, CodeType)]
    return {*code.co_names, *code.co_varnames}.union(*map(names_in, inner))


def _find(name: str) -> ModuleSpec | None:
    try:
        return find_spec(name)
    except ModuleNotFoundError as error:
        if error.name and (name == error.name or name.startswith(error.name + ".")):
            return None
        raise  # the package exists, and something that it imports does not


def _source(file: str) -> CodeType:
    return compile(Path(file).read_bytes(), file, "exec", dont_inherit=True)


def _main(file: str = "", *, spec: ModuleSpec | None = None, package: str | None = None) -> ModuleType:
    main = ModuleType("__main__")
    attributes: dict[str, Any] = {"__builtins__": builtins, "__annotations__": {}, "__spec__": spec}
    if file:
        loader = spec.loader if spec is not None else SourceFileLoader("__main__", file)
        attributes |= {"__file__": file, "__loader__": loader, "__cached__": spec and spec.cached}
    vars(main).update(attributes, __package__=package)
    REPLACED.append(sys.modules["__main__"])
    sys.modules["__main__"] = main
    return main


def _nearby(folder: str) -> str:
    """The call with a script that does exist."""
    scripts = sorted(Path(folder).glob("*.py")) if os.path.isdir(folder) else []
    likely = [each for each in scripts if "train" in each.name or "main" in each.name] or scripts
    return f"bedside run {os.path.normpath(likely[0])}" if likely else "bedside run train.py --its --arguments"
