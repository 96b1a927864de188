"""Start a vital: its entry in the vocabulary, a collector that reads it, its place among the collectors, and a test.

    python scripts/new_vital.py largest_weight --moment "after optimizer.step" --per module

What it makes works: it records the largest absolute weight after each sampled step, and its test compares that with a
slower, obvious way. Replace the definition in both.
"""

from __future__ import annotations

import argparse
import re

from scaffolding import ROOT, create, edit, insert_before, main, refuse_existing

from bedside.errors import BadOption
from bedside.record.vocabulary import VITALS

VOCABULARY = ROOT / "src/bedside/record/vocabulary.py"
VITALS_FOLDER = ROOT / "src/bedside/collect/vitals"

COLLECTOR = '''"""The largest absolute weight. (TODO: what `{name}` is, and why it is read {moment}.)"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import torch
from torch import Tensor

from bedside.collect.collector import Collector, RowSet, WatchContext
from bedside.collect.reading.device_queue import PendingValue


def largest(weights: Iterable[Tensor]) -> Tensor:
    """Left on the device: the numbers of many steps are brought over in one transfer."""
    return torch.stack([each.detach().abs().amax().double() for each in weights]).amax()


class {title}(Collector):
    """Writes `{name}`."""

    name = "{name}"
    vitals = ("{name}",)

    def __init__(self, context: WatchContext) -> None:
        super().__init__(context)
        self._waiting: list[tuple[int, list[str], PendingValue]] = []
        self._stepped = False

    def attach(self, step: int) -> None:
        self._stepped = False

    def step_ended(self, optimizer: Any, closure: bool) -> None:
        self._stepped = True

    def detach(self, step: int) -> None:
        owners = dict(self._owners())
        if owners and self._stepped:  # watching may also end in the middle of a step
            numbers = torch.stack([largest(weights) for weights in owners.values()])
            self._waiting.append((step, list(owners), self.queue.put(numbers)))

    def rows(self) -> Iterator[RowSet]:
        waiting, self._waiting = self._waiting, []
        for step, owners, pending in waiting:
            columns = [("{name}", owner) for owner in owners]
            yield RowSet("{name}", columns, [step], pending.numbers.reshape(1, -1))

    def _owners(self) -> Iterator[tuple[str, list[Tensor]]]:
{owners}
'''

PER_MODULE = """        for owner, module in self.model.named_modules():
            # What is stored, and never a property of the user's module: reading one may run code.
            weights = [each for each in module._parameters.values() if each is not None and each.numel()]
            if weights:
                yield owner, weights"""

OF_THE_RUN = """        weights = [each for each in self.model.parameters() if each.numel()]
        if weights:
            yield "", weights"""

TEST = """from __future__ import annotations

import torch
from tests.collect.watched import watched


def test_{name}_equals_the_slow_obvious_way(tmp_path):
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    expected = []

    def body(step, monitor):
        optimizer.zero_grad()
        model(torch.randn(16, 4)).square().mean().backward()
        optimizer.step()
        expected.append(max(abs(weight) for each in {measured} for weight in each.flatten().tolist()))

    run = watched(model, optimizer, tmp_path, body, budget=None)
    torch.testing.assert_close(run.series("{name}"{owner}).values.tolist(), expected, rtol=1e-6, atol=0.0)
"""


def new_vital() -> None:
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("name", help="what practitioners would plot, e.g. dead_fraction")
    words.add_argument("--moment", required=True, help="where in the loop of collect/__init__.py, e.g. forward")
    words.add_argument("--per", choices=["", "module", "group", "category"], default="")
    given = words.parse_args()
    name = given.name
    if not re.fullmatch(r"[a-z][a-z0-9]*(_[a-z0-9]+)*", name):
        raise BadOption(f"{name!r} is not a vital's name.", expected="small letters and underscores: dead_fraction")
    if name in VITALS:
        raise BadOption(f"{name} is in the vocabulary already.", expected="a vital of its own; see docs/vitals.md")
    file, test = VITALS_FOLDER / f"{name}.py", ROOT / f"tests/collect/vitals/test_{name}.py"
    refuse_existing(file, test)
    title = "".join(word.capitalize() for word in name.split("_"))
    owners = PER_MODULE if given.per else OF_THE_RUN
    create(file, COLLECTOR.format(name=name, moment=given.moment, title=title, owners=owners))
    owner, measured = (', "0"', "model[0].parameters()") if given.per else ("", "model.parameters()")
    create(test, TEST.format(name=name, owner=owner, measured=measured))
    edit(VITALS_FOLDER / "__init__.py", lambda lines: _listed(lines, name, title))
    edit(VOCABULARY, lambda lines: _forward_begins(lines, name, given.moment, given.per))
    print(f"Next: write the definition in {file.relative_to(ROOT)}; CONTRIBUTING.md has the steps.")


def _listed(lines: list[str], name: str, title: str) -> list[str]:
    """The import in alphabetical order, the collector at the end of the list."""
    new = f"from bedside.collect.vitals.{name} import {title}"
    lines = insert_before(
        lines, [new], lambda line: line > new or not line.startswith("from"), "from bedside.collect.c"
    )
    return insert_before(lines, [f"    {title},"], lambda line: line == ")", "COLLECTORS:")


def _forward_begins(lines: list[str], name: str, moment: str, per: str) -> list[str]:
    owner = f', per="{per}"' if per else ""
    called = f'{name.upper()} = Vital("{name}", "{moment}", "TODO: what it is."{owner})'
    lines = insert_before(lines, [called, ""], lambda line: line.startswith("VITALS:"), "class Need")
    return insert_before(lines, [f"        {name.upper()},"], lambda line: line == "    )", "VITALS:")


if __name__ == "__main__":
    main(new_vital)
