"""What several commands share: names among a few, and the options for settings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from bedside.errors import nearest_first, unknown_name


class OneOf(click.Choice[str]):
    """click's Choice, with our three-line error."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        words = [str(choice) for choice in self.choices]
        if value in words:
            return value
        option = param.opts[0] if param else "choice"
        where = ctx.command_path if ctx else "bedside"
        nearest = nearest_first(str(value), words).split(",")[0]
        raise unknown_name(option, str(value), words, try_=f"{where} {option} {nearest}")


class CommandGroup(click.Group):
    """A group that answers an unknown command with the nearest ones."""

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        name = args[0]
        if self.get_command(ctx, name) is None and not name.startswith("-"):
            raise unknown_name("command", name, self.list_commands(ctx), try_=f"{ctx.command_path} --help")
        return super().resolve_command(ctx, args)


Command = TypeVar("Command", bound=Callable[..., Any])


def settings_options(command: Command) -> Command:
    """`--config PATH` and `--no-config`: by default the nearest bedside.toml or pyproject.toml counts."""
    which = click.option("--config", metavar="FILE", help="Use this settings file instead of the nearest one.")
    none = click.option("--no-config", is_flag=True, help="Ignore every settings file.")
    return which(none(command))
