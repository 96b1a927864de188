"""Options that several commands share: one of a few words, and where the settings stand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from bedside.errors import nearest_first, unknown_name


class OneOf(click.Choice[str]):
    """click's Choice, with the three-line error of the house."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        words = [str(choice) for choice in self.choices]
        if value in words:
            return value
        option = param.opts[0] if param else "choice"
        where = ctx.command_path if ctx else "bedside"
        nearest = nearest_first(str(value), words).split(",")[0]
        raise unknown_name(option, str(value), words, try_=f"{where} {option} {nearest}")


Command = TypeVar("Command", bound=Callable[..., Any])


def settings_options(command: Command) -> Command:
    """`--config PATH` and `--no-config`: by default the nearest bedside.toml or pyproject.toml counts."""
    which = click.option("--config", metavar="FILE", help="Settings to use instead of the nearest ones.")
    none = click.option("--no-config", is_flag=True, help="No settings at all.")
    return which(none(command))
