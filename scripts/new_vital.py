"""Start a vital: its entry in the vocabulary, a file that reads it, and a test by a slower, obvious route.

    python scripts/new_vital.py dead_fraction --moment forward --per module

What it makes imports and lints; the test against the slow route fails until the vital is read.
"""

from __future__ import annotations

import argparse
import re

from scaffolding import ROOT, create, edit, insert_before, main, refuse_existing

from bedside.errors import BadOption
from bedside.record.vocabulary import VITALS

VOCABULARY = ROOT / "src/bedside/record/vocabulary.py"

COLLECTOR = '''"""TODO: what `{name}` is, in one sentence.

## Moment
{moment}: TODO: why there, and what the number would be a moment earlier or later.

## Cost
TODO: passes over the data, memory, host transfers (none of its own: hand the tensor to `freight.py`).
"""

from __future__ import annotations

from torch import Tensor


def {name}(tensor: Tensor) -> Tensor:
    """Left on the device: the recorder brings all of a step's numbers over in one transfer."""
    raise NotImplementedError("TODO")
'''

TEST = """import torch

from bedside.collect.{name} import {name}


def test_{name}_equals_the_slow_obvious_way():
    values = torch.randn(64, generator=torch.Generator().manual_seed(0))
    slow = sum(float(value) for value in values.double())  # TODO: the definition, element by element, in float64
    torch.testing.assert_close({name}(values).double().item(), slow, rtol=1e-5, atol=0.0)
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
    file, test = ROOT / f"src/bedside/collect/{name}.py", ROOT / f"tests/collect/test_{name}.py"
    refuse_existing(file, test)
    create(file, COLLECTOR.format(name=name, moment=given.moment))
    create(test, TEST.format(name=name))
    edit(VOCABULARY, lambda lines: _entered(lines, name, given.moment, given.per))
    print(f"Next: write the definition in {file.relative_to(ROOT)}; CONTRIBUTING.md has the five steps.")


def _entered(lines: list[str], name: str, moment: str, per: str) -> list[str]:
    owner = f', per="{per}"' if per else ""
    entry = f'{name.upper()} = Vital("{name}", "{moment}", "TODO: what it is."{owner})'
    lines = insert_before(lines, [entry, ""], lambda line: line.startswith("VITALS:"), "class Need")
    return insert_before(lines, [f"        {name.upper()},"], lambda line: line == "    )", "VITALS:")


if __name__ == "__main__":
    main(new_vital)
