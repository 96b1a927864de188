"""`bedside.preflight`: run the checks over the user's own objects, and put everything back."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import Any

from torch import nn

from bedside.errors import BadOption, BedsideError, nearest_first, unknown_name
from bedside.lab.progress_bar import progress as shown
from bedside.preflight.check import Check
from bedside.preflight.checks import CATALOGUE
from bedside.preflight.preflight_result import Checked, Preflight
from bedside.preflight.setup import Setup
from bedside.training.forward import Forward, LossFunction
from bedside.training.step import Loop

DEPTHS = ("fast", "full")


def preflight(
    model: nn.Module,
    train_loader: Iterable[Any],
    loss_fn: LossFunction | None = None,
    optimizer: Any = None,
    *,
    val_loader: Iterable[Any] | None = None,
    scheduler: Any = None,
    steps: int | None = None,
    classes: int | None = None,
    depth: str = "fast",
    forward: Forward | None = None,
    loop: Loop | None = None,
    select: Sequence[str] = (),
    ignore: Sequence[str] = (),
    progress: bool | None = None,
) -> Preflight:
    """Check a training before its first step; nothing of it is changed, not even the random numbers.

    Args:
        model: The model as it will be trained.
        train_loader: Anything that yields batches and can be started anew: tensors, tuples, dicts, dataclasses.
        loss_fn: A function of (output, batch) or (output, target); None where the model computes its own `.loss`.
        optimizer: The optimizer, or a list of them.
        val_loader: The validation loader; without it, checks that compare the two are not examined.
        scheduler: The learning-rate scheduler.
        steps: Optimizer steps that the run will take, for the schedule.
        classes: How many classes there are, where the outputs do not say it.
        depth: "fast" takes seconds; "full" also trains for a few hundred steps, which are taken back.
        forward: How the model is called, `lambda model, batch: ...`, where it cannot be guessed.
        loop: How the loop takes a step: `bedside.lab.Loop(autocast=torch.bfloat16, accumulate=4, clip=1.0)`.
        select: Only these checks, by code or name.
        ignore: All but these checks.
        progress: Whether to show a progress bar; by default where standard error is a terminal.

    Returns:
        A Preflight: prints one line per check; true if nothing failed; `.passed`, `.failed`, `.notes`,
        `.not_examined`, `.to_json()`.
    """
    try:
        chosen = chosen_checks(select, ignore)
        _refuse(depth, steps, classes)
        setup = Setup(
            model,
            train_loader,
            loss_fn,
            optimizer,
            val_loader=val_loader,
            scheduler=scheduler,
            steps=steps,
            classes=classes,
            depth=depth,
            forward=forward,
            loop=loop,
        )
        with setup.opened():
            checked = [_timed(check, setup) for check in shown(chosen, "Preflight", total=len(chosen), show=progress)]
    except BedsideError as error:
        raise error.with_call("help(bedside.preflight)") from None
    return Preflight(type(model).__name__, depth, tuple(checked))


def _timed(check: Check, setup: Setup) -> Checked:
    began = time.perf_counter()
    answer = check.examine(setup)
    setup.rewind()
    return Checked(answer, time.perf_counter() - began)


def chosen_checks(select: Sequence[str] = (), ignore: Sequence[str] = ()) -> list[Check]:
    """The checks that are selected and not ignored, by code or name; unknown ones are refused."""
    wanted, unwanted = ({find_check(word).code for word in each} for each in (select, ignore))
    return [each for each in CATALOGUE if (not wanted or each.code in wanted) and each.code not in unwanted]


def find_check(word: str) -> Check:
    """The check with this code or name, in any case, with dashes or underscores."""
    asked = word.strip().lower().replace("_", "-")
    for each in CATALOGUE:
        if asked in (each.code.lower(), each.name):
            return each
    names = [*(each.code for each in CATALOGUE), *(each.name for each in CATALOGUE)]
    raise unknown_name("check", word, names, try_="bedside preflight --list")


def _refuse(depth: str, steps: int | None, classes: int | None) -> None:
    if depth not in DEPTHS:
        raise BadOption(
            f"depth={depth!r} is not a depth.",
            expected=f"one of {nearest_first(str(depth), DEPTHS)}",
            try_="depth='fast'",
        )
    for name, given, least in (("steps", steps, 1), ("classes", classes, 2)):
        if given is not None and (isinstance(given, bool) or not isinstance(given, int) or given < least):
            raise BadOption(
                f"{name}={given!r} is not a number of {name}.",
                expected=f"a whole number from {least} on",
                try_=f"{name}={1000 if name == 'steps' else 10}",
            )
