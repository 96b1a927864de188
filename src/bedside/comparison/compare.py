"""Two runs compared: where they diverge, which vital and module diverged first, and what was set differently."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bedside.comparison.divergence import find_divergence, same_numbers
from bedside.comparison.result import Comparison, Difference, Divergence
from bedside.record.run import Key, Run

PICTURE_POINTS = 400
# In the order in which a step makes them; what was given comes before what came of it.
ORDER = (
    "lr clip_threshold loss_scale micro_batches input label activation zero_fraction saturated dead attention loss "
    "grad nonfinite gradient update relative effective swallowed param loss_epoch val/"
).split()
# Times and clocks, counts that a share shows as well, and means whose scale nobody knows.
NOT_COMPARED = (
    "step_time data_wait batch_fingerprint epoch training_forwards skipped grads_not_zeroed alive_units dead_units "
    "dying_units activation_mean input_mean"
).split()
NOT_REPORTED = ("started", "names", "git_dirty")  # always different, or no difference


def compare_runs(a: Run, b: Run) -> Comparison:
    """The comparison of two loaded runs."""
    common = [key for key in a.series_keys if key in set(b.series_keys) and key[0] not in NOT_COMPARED]
    diverged: list[tuple[Key, Divergence]] = []
    alike: list[str] = []
    exact = same_numbers(a.loss, b.loss)
    for key in common:
        left, right = a.series(*key), b.series(*key)
        found = find_divergence(left, right, exact=exact)
        if found is not None:
            diverged.append((key, found))
        elif min(len(left), len(right)) > 1:
            alike.append(left.key)
    diverged.sort(key=lambda each: (each[1].step, _place(each[0], a)))
    first = diverged[0][1] if diverged else None
    return Comparison(
        a=a.name,
        b=b.name,
        steps=(a.steps, b.steps),
        divergences=tuple(found for _, found in diverged),
        first=first,
        alike=tuple(alike),
        only_a=tuple(_missing(a, b)),
        only_b=tuple(_missing(b, a)),
        settings=tuple(_differences(a.config, b.config)),
        environment=tuple(_differences(a.environment, b.environment)),
        pictures=_pictures(a, b, first),
        axis=a.axis,
    )


def _place(key: Key, run: Run) -> tuple[int, int]:
    """Where in a step a vital is read, and where in the model its owner stands; the whole after its parts."""
    vital, owner = key
    moment = next((i for i, word in enumerate(ORDER) if vital.startswith(word)), len(ORDER))
    owners = run.owners(vital)
    return moment, owners.index(owner) if owner else len(owners)


def _missing(a: Run, b: Run) -> Iterator[str]:
    """Series that only `a` has."""
    there = set(b.series_keys)
    for vital, owner in a.series_keys:
        if (vital, owner) not in there:
            yield f"{vital}/{owner}" if owner else vital


def _differences(a: Mapping[str, Any], b: Mapping[str, Any]) -> Iterator[Difference]:
    left, right = dict(_flat(a)), dict(_flat(b))
    for name in dict.fromkeys([*left, *right]):
        if name.split(".")[0] not in NOT_REPORTED and left.get(name) != right.get(name):
            yield Difference(name, left.get(name), right.get(name))


def _flat(value: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """Settings in settings under dotted names."""
    items: Any = value.items() if isinstance(value, Mapping) else enumerate(value) if isinstance(value, list) else None
    if items is None or not value:
        yield name, value
        return
    for key, each in items:
        yield from _flat(each, f"{name}.{key}" if name else str(key))


def _pictures(a: Run, b: Run, first: Divergence | None) -> dict[str, Any]:
    """The curves to draw: the losses, and what diverged first."""
    wanted = ["loss", "val/loss", *([first.key] if first else [])]
    pictures = {}
    for vital, owner in a.series_keys:
        key = f"{vital}/{owner}" if owner else vital
        if key in wanted and (vital, owner) in b.series_keys:
            thin = [each.series(vital, owner).thinned(PICTURE_POINTS) for each in (a, b)]
            left, right = (list(zip(each.steps.tolist(), each.values.tolist(), strict=True)) for each in thin)
            if left and right:
                pictures[key] = (left, right)
    return {key: pictures[key] for key in wanted if key in pictures}
