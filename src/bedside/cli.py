"""The command line: parse, call one function, choose the exit code.

Exit codes follow the custom of linters: 0 nothing at or above `--fail-on`, 1 findings, 2 nothing could be examined,
with a three-line error. Every command is a file in `commands/`, which imports what is heavy inside its function, so
that `bedside --help` is quick on a machine without torch.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import click

from bedside import __version__
from bedside.commands.choice import CommandGroup
from bedside.commands.compare import compare
from bedside.commands.demo import demo
from bedside.commands.diagnose import diagnose
from bedside.commands.explain import explain
from bedside.commands.lab import lab
from bedside.commands.mcp import mcp
from bedside.commands.preflight import preflight
from bedside.commands.replay import replay
from bedside.commands.report import report
from bedside.commands.rules import rules
from bedside.commands.run import run as run_script
from bedside.commands.serve import serve
from bedside.commands.watch import watch
from bedside.commands.zoo import zoo
from bedside.errors import BadOption, BedsideError, unexpected_failure, unknown_name

COULD_NOT_LOOK = 2
INTERRUPTED = 130  # 128 + SIGINT, as shells count
READER_LEFT = 141  # 128 + SIGPIPE


class _ReaderLeft(Exception):
    """Whoever read our output has enough of it, as in `bedside rules | head -1`."""


class _Commands(CommandGroup):
    """Notices that whoever reads the output has gone."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:  # caught here, because click would make an exit code of 1 of it: findings
            raise _ReaderLeft from None


@click.group(cls=_Commands, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="bedside", message="%(prog)s %(version)s")
@click.pass_context
def commands(ctx: click.Context) -> None:
    """The bedside monitor for neural-network training.

    Says what is wrong with a run, where, since when, how sure it is, and what to try.
    """
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


for each in (
    demo,
    preflight,
    run_script,
    diagnose,
    compare,
    explain,
    rules,
    report,
    serve,
    watch,
    lab,
    replay,
    mcp,
    zoo,
):
    commands.add_command(each)


def main(args: Sequence[str] | None = None) -> NoReturn:
    """The `bedside` command."""
    code = run(args)
    if callable(code):  # `bedside run`: a script of the user's, whose exceptions and exit code are its own
        code()
        sys.exit()
    sys.exit(code)


def run(args: Sequence[str] | None = None) -> int | Callable[[], None]:
    """Run one command and return its exit code, or the script to be run; no exception gets out of here."""
    with contextlib.suppress(AttributeError, ValueError):  # a terminal that cannot draw bars gets question marks
        sys.stdout.reconfigure(errors="replace")  # type: ignore[union-attr]  # replaced streams may lack it
    try:
        code = commands.main(args, prog_name="bedside", standalone_mode=False)
        sys.stdout.flush()
        return code if isinstance(code, int) or callable(code) else 0
    except BedsideError as error:
        return _could_not_look(error)
    except click.UsageError as error:
        return _could_not_look(_in_three_lines(error))
    except (click.Abort, KeyboardInterrupt):
        return INTERRUPTED
    except (BrokenPipeError, _ReaderLeft):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # so that the last flush stays quiet
        return READER_LEFT
    except Exception as unexpected:
        if os.environ.get("BEDSIDE_DEBUG"):
            raise
        return _could_not_look(unexpected_failure(unexpected))


def _could_not_look(error: BedsideError) -> int:
    click.echo(str(error), err=True)
    return COULD_NOT_LOOK


def _in_three_lines(error: click.UsageError) -> BedsideError:
    """click's complaint in the form that every error here has."""
    where = error.ctx.command_path if error.ctx else "bedside"
    try_ = f"{where} --help"
    if isinstance(error, click.NoSuchOption) and error.ctx is not None:
        names = [name for each in error.ctx.command.params for name in each.opts if name.startswith("--")]
        return unknown_name("option", error.option_name, [*names, "--help"], try_=try_)
    usage = error.ctx.get_usage().removeprefix("Usage: ") if error.ctx else "bedside COMMAND"
    what = error.format_message().rstrip(".") + "."
    return BadOption(what, expected=" ".join(usage.split()), try_=try_)
