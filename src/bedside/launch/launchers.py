"""`bedside run torchrun … train.py`: the launcher starts `bedside run train.py` on every rank.

The launcher's own parser finds the script among its arguments, so that no option has to be known here.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Any

from bedside.errors import BadOption

BEDSIDE = ["bedside", "run"]


def launcher_command(words: Sequence[str], ours: Sequence[str]) -> list[str] | None:
    """The command to execute instead, with our options `ours` for every rank; None if `words` name no launcher."""
    name, rest = os.path.basename(words[0]), list(words[1:])
    if os.path.exists(words[0]) and os.path.dirname(words[0]) == "":
        return None  # a script of this name
    if name == "torchrun":
        from torch.distributed.run import get_args_parser

        return [sys.executable, "-m", "torch.distributed.run", *_with_bedside(get_args_parser(), rest, ours)]
    if name == "accelerate" and rest[:1] == ["launch"]:
        from accelerate.commands.launch import launch_command_parser

        command = [sys.executable, "-m", "accelerate.commands.accelerate_cli", "launch"]
        return [*command, *_with_bedside(launch_command_parser(), rest[1:], ours)]
    return None


def _with_bedside(parser: Any, words: list[str], ours: Sequence[str]) -> list[str]:
    parsed = parser.parse_args(words)
    if getattr(parsed, "no_python", False):
        raise BadOption(
            "With --no-python the launcher starts a program, which bedside cannot look into.",
            expected="a Python script, or -m MODULE",
            try_="the program itself as bedside run SCRIPT, after --no-python",
        )
    place = len(words) - len(parsed.training_script_args) - 1
    before, script, after = words[:place], words[place], words[place + 1 :]
    if parsed.module:  # `-m` stays where it is, and names us
        return [*before, *BEDSIDE, *ours, "-m", script, *after]
    return [*before, "-m", *BEDSIDE, *ours, script, *after]
