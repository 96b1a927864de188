"""An option that takes one of a few words, and says which is nearest when it was given another."""

from __future__ import annotations

from typing import Any

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
