"""An experiment and the monitors: its steps are not part of the watched run, its result is an event in the record of
whoever watches the model."""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, ParamSpec, TypeVar

from bedside.errors import BedsideError
from bedside.lab.experiment_result import Result
from bedside.monitor.monitor import monitors
from bedside.report.lab_results import KIND

Options = ParamSpec("Options")
Answer = TypeVar("Answer", bound=Result)

_running: ContextVar[bool] = ContextVar("running", default=False)


def experiment(function: Callable[Options, Answer]) -> Callable[Options, Answer]:
    """Around every public experiment: errors show the call to type, and the result is written into the record."""

    @functools.wraps(function)
    def run(*args: Options.args, **kwargs: Options.kwargs) -> Answer:
        if _running.get():  # part of another experiment, whose result is the one to keep
            return function(*args, **kwargs)
        token = _running.set(True)
        try:
            result = function(*args, **kwargs)
        except BedsideError as error:
            raise error.with_call(f"help(bedside.lab.{function.__name__})") from None
        finally:
            _running.reset(token)
        model = args[0] if args else kwargs.get("model")
        for monitor in [each for each in monitors() if model in (each, each.model)]:
            add_to_record(result, monitor)
        return result

    return run


def add_to_record(result: Result, monitor: Any) -> None:
    """Write the result into the monitor's record, as an event at the present step."""
    monitor._events.note(KIND, result.to_json() | {"picture": result.picture()})
