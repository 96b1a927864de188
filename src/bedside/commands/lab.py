"""`bedside lab`: the experiments, one line each, or one of them in full."""

from __future__ import annotations

from typing import Any

import click

from bedside.commands.choice import OneOf


@click.command(short_help="List the experiments of bedside.lab.")
@click.argument("name", required=False)
@click.option("--format", "format_", type=OneOf(["text", "json"]), default="text", show_default=True)
def lab(name: str | None, format_: str) -> None:
    """List the experiments that can be run on a model, or show how one of them is called.

    They are Python functions, since they need your model and data:

    \b
        from bedside import lab
        print(lab.lr_range(model, loader, loss_fn, optimizer))
    """
    from bedside.lab import EXPERIMENTS

    if name is not None:
        click.echo(_page(name))
        return
    if format_ == "json":
        import json

        click.echo(json.dumps([{"name": each, "sentence": asks} for each, asks in EXPERIMENTS.items()], indent=2))
        return
    width = max(map(len, EXPERIMENTS))
    for each, asks in EXPERIMENTS.items():
        click.echo(f"{each:<{width}}  {asks}.")
    click.echo("\nEach puts everything back. How one is called: bedside lab NAME")


def _page(name: str) -> str:
    """The experiment's file is its page; its signature and arguments follow."""
    import inspect
    import sys

    from bedside import lab as room
    from bedside.errors import BedsideError, install_extra, unknown_name

    chosen = name.replace("-", "_")
    if chosen not in room.EXPERIMENTS:
        raise unknown_name("experiment", name, room.EXPERIMENTS, try_="bedside lab")
    try:
        found: Any = getattr(room, chosen)
    except ModuleNotFoundError as error:
        raise BedsideError(
            f"The lab needs {error.name}, which is not installed.",
            expected="torch",
            try_=install_extra("torch,lab"),
        ) from None
    if inspect.ismodule(found):
        return inspect.getdoc(found) or ""
    about = inspect.getdoc(sys.modules[found.__module__]) or ""
    call = str(inspect.signature(found)).replace("bedside.training.", "").replace("'", "")
    return f"{about}\n\nlab.{chosen}{call}\n\n{inspect.getdoc(found)}"
