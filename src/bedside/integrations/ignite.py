"""Ignite: `attach(trainer, model, optimizer, evaluators={"val": evaluator})`.

from bedside.integrations.ignite import attach

monitor = attach(trainer, model, optimizer, evaluators={"val": evaluator})
trainer.run(loader, max_epochs=3)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ignite.engine import Engine, Events

from bedside.monitor.monitor import Monitor
from bedside.monitor.watch import watch


def attach(
    trainer: Engine, model: Any, optimizer: Any, evaluators: Mapping[str, Engine] | None = None, **options: Any
) -> Monitor:
    """Watch what `trainer` trains; each evaluator's metrics are logged under its name when it has run.

    Args:
        trainer: The engine that steps the optimizer.
        model: As for `bedside.watch`.
        optimizer: As for `bedside.watch`.
        evaluators: Engines by what they evaluate: `val`, `test`; one called `train` evaluates the training set.
        options: Further arguments of `bedside.watch`.
    """
    monitor = watch(model, optimizer, **options)
    trainer.add_event_handler(Events.EPOCH_STARTED, lambda engine: monitor.epoch(engine.state.epoch - 1))
    trainer.add_event_handler(Events.COMPLETED, lambda engine: monitor.close(finished=True))
    trainer.add_event_handler(Events.EXCEPTION_RAISED, _failed, monitor)
    for name, evaluator in (evaluators or {}).items():
        evaluator.add_event_handler(Events.COMPLETED, _evaluated, monitor, name)
    return monitor


def _evaluated(engine: Engine, monitor: Monitor, name: str) -> None:
    numbers = {each: value for each, value in engine.state.metrics.items() if isinstance(value, (int, float))}
    if numbers:
        monitor.log({f"{name}/{each}": value for each, value in numbers.items()})


def _failed(engine: Engine, error: BaseException, monitor: Monitor) -> None:
    monitor.close(finished=False)
    raise error  # a handler of this event takes the exception over, and it is the user's
