"""A run as it was earlier: what a live monitor would have had before it at that step."""

from __future__ import annotations

from dataclasses import replace

from bedside.record.run import Parameter, Run


def as_of(run: Run, step: int) -> Run:
    """Everything recorded up to and including `step`."""
    series = [run.series(vital, owner).before(step + 1) for vital, owner in run.series_keys]
    return Run(
        run.name,
        [each for each in series if each],
        format=run.format,
        events=[event for event in run.events if event.step <= step],
        parameters=[_as_of(parameter, step + 1) for parameter in run.parameters],
        config=run.config,
        environment=run.environment,
        axis=run.axis,
    )


def _as_of(parameter: Parameter, steps: int) -> Parameter:
    """Gradients are counted over the whole run only; earlier counts are taken in proportion."""
    watched = min(parameter.watched_steps, steps)
    share = parameter.gradient_steps / parameter.watched_steps if parameter.watched_steps else 0.0
    return replace(parameter, watched_steps=watched, gradient_steps=round(share * watched))
