"""README's table of what watching should cost at most, and what it was found to cost, from benchmarks/results.

The aims were set on a prototype before any of this was built: fused AdamW, one thread, time inside the watcher unless
something else is said. Nobody writes a verdict by hand: it is the comparison of the two numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

Row = dict[str, str]

NETS = {"mlp": "MLP", "deep": "deep net", "resnet": "ResNet", "gpt": "GPT"}
# Tensors and parameters of each training.
SHAPES = {"mlp": (6, 109_386), "deep": (524, 146_602), "resnet": (47, 981_360), "gpt": (77, 9_891_840)}
SHAPES |= {f"chain-{n}": (2 * n, 72 * (n - 2) + 258) for n in (10, 100, 1000, 5000)}
NORMS, NATIVE = "bedside, norms every step", "bedside, norms every step, native"
LOSS_ONLY, OUTPUTS = "bedside, loss only", "bedside, activations every step"
NAIVE, COMPOSER = "naive hooks, all our norms", "Composer's formula"


class Goal(NamedTuple):
    what: str
    aim: str
    found: str
    verdict: str


class Costs:
    """What was measured, by net and way of watching; NaN where it was not."""

    def __init__(self, rows: Sequence[Row], limits: Sequence[Row]) -> None:
        self._rows = {(row["workload"], row["watcher"]): row for row in rows if row["optimizer"] == "fused"}
        self._limits = {row["what"]: float(row["value"]) for row in limits}

    def number(self, net: str, watcher: str, column: str) -> float:
        return float(self._rows.get((net, watcher), {}).get(column) or math.nan)

    def inside(self, net: str, watcher: str) -> float:
        """Per cent of the unwatched step."""
        return self.number(net, watcher, "inside")

    def microseconds(self, net: str, watcher: str, column: str = "inside") -> float:
        return self.number(net, watcher, column) / 100 * self.number(net, watcher, "base_ms") * 1e3

    def limit(self, beginning: str, end: str = "") -> float:
        found = [value for what, value in self._limits.items() if what.startswith(beginning) and what.endswith(end)]
        return found[0] if found else math.nan


def goals_table(rows: Sequence[Row], limits: Sequence[Row]) -> str:
    head = ["| aimed at (four numbers: MLP, deep net, ResNet, GPT) | aim | found | |", "|---|---|---|---|"]
    return "\n".join([*head, *(f"| {' | '.join(goal)} |" for goal in goals(Costs(rows, limits)))])


def goals(costs: Costs) -> Iterator[Goal]:
    yield _at_most(
        "loss, rate and clipping alone, MLP: inside, and over the whole step",
        {"inside": 10, "whole": 15},
        {"inside": costs.microseconds("mlp", LOSS_ONLY), "whole": costs.microseconds("mlp", LOSS_ONLY, "percent")},
        " µs",
    )
    yield _at_most(
        "the default over the whole step, MLP", {"mlp": 3}, {"mlp": costs.number("mlp", "bedside", "percent")}
    )
    yield _at_most(
        "the default by its own account, times 1.5 for what it does not see: deep net, ResNet, GPT",
        dict.fromkeys(("deep", "resnet", "gpt"), 1),
        {net: costs.limit("per cent by its own account", net) for net in ("deep", "resnet", "gpt")},
    )
    yield _on_nets("norms at every step", (22, 8, 0.2, 2), lambda net: costs.inside(net, NORMS))
    yield _on_nets("the same, native", (10, 2.5, 0.1, 1), lambda net: costs.inside(net, NATIVE))
    for ours, other, name, aims in (
        (NORMS, NAIVE, "norms: less than the naive way", (8, 60, 8, 15)),
        (NATIVE, NAIVE, "the same, native", (25, 25, 25, 25)),
        (NORMS, COMPOSER, "norms: less than Composer's formula", (3, 3, 3, 3)),
        (NATIVE, COMPOSER, "the same, native", (10, 10, 10, 10)),
    ):
        times = {net: costs.inside(net, other) / costs.inside(net, ours) for net in NETS}
        yield _at_least(name, dict(zip(NETS, aims, strict=True)), times)
    for way, end, aim in (("with torch and numpy", "numpy", 2.5), ("native", "native", 1.3)):
        moving = costs.limit("time over that of moving", end)
        yield _at_most(f"norms of ten million parameters {way}: over moving their bytes", {"": aim}, {"": moving}, "x")
    for ours, said, allowed in (
        (NORMS, "40 µs + 3.5 a tensor + 0.0015 a parameter", (40, 3.5, 1.5e-3)),
        (NATIVE, "10 µs + 0.8 a tensor + 0.0008 a parameter", (10, 0.8, 0.8e-3)),
    ):
        yield _growth(costs, ours, said, allowed)
    yield _at_most(
        "transfers a step: default, and everything at every step",
        {"default": 0.05, "everything": 0.05},
        {"default": costs.limit("transfers", "budget"), "everything": costs.limit("transfers", "step")},
        "",
    )
    yield _at_most(
        "bytes a parameter: default, and exact updates at every step",
        {"default": 0.5, "exact": 4.1},
        {"default": costs.limit("bytes", "budget"), "exact": costs.limit("bytes", "step")},
        "",
    )
    yield _on_nets("a step at which activations are read", (35, 15, 1.5, 1.5), lambda net: costs.inside(net, OUTPUTS))
    yield _at_most("and attention, GPT", {"gpt": 1}, {"gpt": costs.limit("per cent of a step for attention")})
    yield _at_most("rules over 100 metrics, a step", {"": 5}, {"": costs.limit("microseconds a step for rules")}, " µs")
    error = "relative error of a norm"
    yield _at_most(
        "error of a norm of a hundred million elements: torch and numpy, and native",
        {"plain": 1e-6, "native": 1e-6},
        {"plain": costs.limit(error, "numpy"), "native": costs.limit(error, "native")},
        "",
    )


def _on_nets(what: str, aims: Sequence[float], found: Callable[[str], float]) -> Goal:
    return _at_most(what, dict(zip(NETS, aims, strict=True)), {net: found(net) for net in NETS})


def _at_most(what: str, aims: Mapping[str, float], found: Mapping[str, float], unit: str = " %") -> Goal:
    missed = [key for key, aim in aims.items() if not _rounded(found[key]) <= aim]
    return Goal(what, _listed(aims, unit), _listed(found, unit), _verdict(missed, found))


def _at_least(what: str, aims: Mapping[str, float], found: Mapping[str, float]) -> Goal:
    missed = [key for key, aim in aims.items() if not _rounded(found[key]) >= aim]
    return Goal(what, _listed(aims, "x"), _listed(found, "x"), _verdict(missed, found))


def _growth(costs: Costs, watcher: str, said: str, allowed: tuple[float, float, float]) -> Goal:
    fixed, a_tensor, a_parameter = allowed
    shares = {
        net: costs.microseconds(net, watcher) / (fixed + a_tensor * tensors + a_parameter * parameters)
        for net, (tensors, parameters) in SHAPES.items()
    }
    known = [share for share in shares.values() if not math.isnan(share)]
    missed = [net for net, share in shares.items() if share > 1]
    found = f"{_short(min(known))} to {_short(max(known))} of it" if known else "–"
    what = "growth, native" if watcher == NATIVE else "growth with tensors and parameters, these nets and four chains"
    return Goal(what, said, found, _verdict(missed, shares))


def _listed(numbers: Mapping[str, float], unit: str) -> str:
    same = len(set(numbers.values())) == 1
    return ", ".join(_short(number) for number in list(numbers.values())[: 1 if same else None]) + unit


def _verdict(missed: Sequence[str], found: Mapping[str, float]) -> str:
    if any(math.isnan(number) for number in found.values()):
        return "not measured in full"
    if missed and len(found) > 1:
        return "missed: " + ", ".join(NETS.get(key, key) for key in missed)
    return "missed" if missed else "holds"


def _rounded(number: float) -> float:
    """As it is shown: 14.96 is printed as 15, and judged as that."""
    return number if math.isnan(number) else float(f"{number:.3g}" if number >= 1e-3 else f"{number:.2g}")


def _short(number: float) -> str:
    if math.isnan(number):
        return "–"
    return f"{_rounded(number):,.0f}" if number >= 100 else f"{_rounded(number):g}"
