"""What a project has decided for itself: `[tool.bedside]` in pyproject.toml, or bedside.toml.

    [tool.bedside]
    ignore = ["GEN109"]
    fail_on = "warning"
    limits.gradient-always-clipped.often = 0.95
    map = { my_objective = "loss", noise = "-" }

The file is looked for upwards from the run's folder, then from the current one; the first that has settings counts. A
name that bedside does not know is refused, because a misspelt setting that is silently ignored is worse than none.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from bedside.errors import BadOption, BedsideError, NoSuchPath, nearest_first
from bedside.record.run import Run
from bedside.rules import CATALOGUE, Rule, find_rule

OWN, SHARED = "bedside.toml", "pyproject.toml"
KEYS = ("select", "ignore", "fail_on", "limits", "map")
MAX_BYTES = 2**20  # of a file of settings
FAIL_ON = ("error", "warning", "note", "never")

Limits = Mapping[str, Mapping[str, Any]]  # by the name of the rule


@dataclass(frozen=True)
class Settings:
    """Everything that can be decided; what is not said stays as it is."""

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    fail_on: str = "error"
    limits: Limits = field(default_factory=dict)
    map: Mapping[str, str] = field(default_factory=dict)
    path: Path | None = None  # where they stand; None when nobody decided anything

    def rules(self, *, select: Sequence[str] = (), ignore: Sequence[str] = ()) -> tuple[Rule, ...]:
        """The catalogue as decided here; `select` and `ignore`, when given, take the place of what the file says."""
        return chosen(select=select or self.select, ignore=ignore or self.ignore, limits=self.limits)

    def load(self, path_or_run: str | os.PathLike[str] | Run) -> Run:
        """The run at a path, with the project's names for its metrics; a Run is taken as it is."""
        if isinstance(path_or_run, Run):
            return path_or_run
        from bedside.logs import load

        return load(path_or_run, mapping=self.map)


def chosen(*, select: Sequence[str] = (), ignore: Sequence[str] = (), limits: Limits | None = None) -> tuple[Rule, ...]:
    """The catalogue less what was not asked for, with changed limits; families ("GRD") count as all their codes."""
    for word in (*select, *ignore):
        _known(word)
    return tuple(
        each.with_limits(**limits[each.name]) if limits and each.name in limits else each
        for each in CATALOGUE
        if (not select or _named(each, select)) and not _named(each, ignore)
    )


def _known(word: str) -> None:
    if not any(each.code[:3] == word.strip().upper() for each in CATALOGUE):
        find_rule(word)


def _named(each: Rule, words: Sequence[str]) -> bool:
    plain = [word.strip().lower().replace("_", "-") for word in words]
    return any(word in (each.code.lower(), each.code[:3].lower(), each.name) for word in plain)


def settings_for(
    *places: str | os.PathLike[str], config: str | os.PathLike[str] | None = None, use: bool = True
) -> Settings:
    """The settings that count for runs at these places: `config` if it is given, else the nearest file that has any."""
    if not use:
        return Settings()
    if config is not None:
        path = Path(config)
        if not path.is_file():
            raise NoSuchPath(
                f"{path} does not exist.",
                expected=f"{OWN}, or a {SHARED} with a [tool.bedside] table",
                try_=f"--config {OWN}, or --no-config",
            )
        return read_settings(path)
    for place in (*places, "."):
        for folder in _upwards(Path(place)):
            for name in (OWN, SHARED):
                if (folder / name).is_file() and (found := _table(folder / name)) is not None:
                    return _settings(folder / name, found)
    return Settings()


def _upwards(place: Path) -> Sequence[Path]:
    """This place and all above it; none, if it is in a working directory that no longer exists."""
    try:
        path = place.absolute()
    except FileNotFoundError:
        return ()
    return (path, *path.parents)


def read_settings(path: Path) -> Settings:
    """The settings in this file; none if it has no table of ours."""
    table = _table(path)
    return Settings(path=path) if table is None else _settings(path, table)


def _table(path: Path) -> Mapping[str, Any] | None:
    try:
        if path.stat().st_size > MAX_BYTES:
            raise tomllib.TOMLDecodeError(f"it has more than {MAX_BYTES // 2**20} MB")
        whole = tomllib.loads(path.read_text(encoding="utf-8"))
    except RecursionError:
        raise BadOption(
            f"{path} cannot be read: it is nested too deeply.",
            expected="a TOML file",
            try_="--no-config, to do without it",
        ) from None
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as broken:
        if path.name == SHARED and not isinstance(broken, tomllib.TOMLDecodeError):
            return None  # somebody else's file, which we may not read
        raise BadOption(
            f"{path} cannot be read: {broken}.", expected="a TOML file", try_="--no-config, to do without it"
        ) from None
    if path.name != SHARED:
        return whole
    tools = whole.get("tool", {})
    table = tools.get("bedside") if isinstance(tools, dict) else None
    return table if isinstance(table, dict) else None


def _settings(path: Path, table: Mapping[str, Any]) -> Settings:
    for key in table:
        if key not in KEYS:
            raise _refused(path, f"No setting is called {key!r}", f"one of {nearest_first(key, KEYS)}")
    words = {key: _words(path, key, table.get(key, [])) for key in ("select", "ignore")}
    fail_on = table.get("fail_on", "error")
    if fail_on not in FAIL_ON:
        expected = f"one of {nearest_first(str(fail_on), FAIL_ON)}"
        raise _refused(path, f"fail_on = {fail_on!r} is not a severity", expected, 'fail_on = "warning"')
    limits = _limits(path, table.get("limits", {}))
    made = Settings(**words, fail_on=fail_on, limits=limits, map=_map(path, table.get("map", {})), path=path)
    try:
        made.rules()
    except BedsideError as unknown:
        raise _refused(path, unknown.what.rstrip("."), unknown.expected, unknown.try_) from None
    return made


def _words(path: Path, key: str, value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise _refused(
            path, f"{key} = {value!r} is not a list of rules", "codes, names or families", f'{key} = ["GEN109"]'
        )
    return tuple(value)


def _map(path: Path, value: Any) -> dict[str, str]:
    if not isinstance(value, dict) or not all(isinstance(each, str) for each in value.values()):
        expected = "names in your logs with ours: loss, val/loss, grad_norm, or - to leave one out"
        raise _refused(path, f"map = {value!r} is not a table of names", expected, 'map = { my_objective = "loss" }')
    return dict(value)


def _limits(path: Path, value: Any) -> dict[str, dict[str, Any]]:
    example = "limits.gradient-always-clipped.often = 0.9"
    if not isinstance(value, dict) or not all(isinstance(each, dict) for each in value.values()):
        raise _refused(path, f"limits = {value!r} is not a table of tables", "one table for each rule", example)
    changed: dict[str, dict[str, Any]] = {}
    for word, changes in value.items():
        try:
            rule = find_rule(word)
        except BedsideError as unknown:
            raise _refused(path, unknown.what.rstrip("."), unknown.expected, unknown.try_) from None
        known = {each.name: getattr(rule.limits, each.name) for each in fields(rule.limits)}
        for name, number in changes.items():
            try_ = f"bedside explain {rule.code}"
            if name not in known:
                expected = f"one of {nearest_first(name, known)}" if known else "nothing: it has no limits"
                raise _refused(path, f"No limit of {rule.name} is called {name!r}", expected, try_)
            if not _same_kind(number, known[name]):
                what = f"limits.{word}.{name} = {number!r} has the wrong type"
                raise _refused(path, what, f"a number like {known[name]!r}", try_)
        changed[rule.name] = dict(changes)
    return changed


def _same_kind(given: Any, usual: Any) -> bool:
    """A float may be given as an int, nothing else may change its kind."""
    if isinstance(usual, bool) or isinstance(given, bool):
        return isinstance(given, bool) and isinstance(usual, bool)
    return isinstance(given, (int, float) if isinstance(usual, float) else type(usual))


def _refused(path: Path, what: str, expected: str, try_: str = "--no-config, to do without it") -> BadOption:
    return BadOption(f"{what}, in {path}.", expected=expected, try_=try_)
