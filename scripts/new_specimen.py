"""Start a specimen of the zoo: a training with one fault, beside a healthy twin that differs in one line.

    python scripts/new_specimen.py sleepy-head --expects dead-layer,dead-units --model MLP

What it makes trains, is listed by `bedside zoo list`, and passes every test that a specimen must pass: its fault is a
learning rate that is far too low. Replace the story, the one line and the check that the fault really does harm.
"""

from __future__ import annotations

import argparse
import re

from scaffolding import ROOT, create, edit, insert_before, main, refuse_existing

from bedside.errors import BadOption, unknown_name
from bedside.rules import CATALOGUE
from bedside.zoo.specimens import ZOO

SPECIMENS = ROOT / "src/bedside/zoo/specimens"

PAGE = '''"""TODO: the fault in one sentence, such as: the learning rate is far too low.

## Story
TODO: how this happens to people, in two or three sentences.

## What to see
TODO: the vitals that give it away.

## Source
TODO: author (year), title; or the issue where somebody lost a week to it.
"""

from __future__ import annotations

import torch

from bedside.zoo import data, models
from bedside.zoo.fault_check import ends_worse
from bedside.zoo.specimen import Case, specimen
from bedside.zoo.training_loop import train


@specimen(
    kind="{kind}",
    expects=[{expects}],
    severities={{"mild": 1e-5, "severe": 1e-7}},
    fault_check=ends_worse("val/accuracy", by=0.2),
)
def {function}(case: Case) -> None:
    task = data.digits(case.seed)
    model = models.mlp([64, 64, 10])
    rate = case.severity if case.sick else 3e-3
    train(case, model, torch.optim.Adam(model.parameters(), lr=rate), task)
'''


def new_specimen() -> None:
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("name", help="what the fault is called, e.g. sleepy-head")
    words.add_argument("--expects", required=True, help="rules that would be right, comma-separated")
    words.add_argument("--model", default="MLP", help="the kind of model: MLP, conv net, GPT, LSTM, encoder, …")
    given = words.parse_args()
    name, function = given.name.replace("_", "-"), given.name.replace("-", "_")
    if not re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", name):
        raise BadOption(f"{name!r} is not a specimen's name.", expected="small letters and dashes, e.g. sleepy-head")
    rules = [word.strip() for word in given.expects.split(",") if word.strip()]
    known = [rule.name for rule in CATALOGUE]
    for wrong in (rule for rule in rules if rule not in known):
        raise unknown_name("rule", wrong, known, try_="bedside rules lists them all")
    kinds = sorted({each.kind for each in ZOO})
    if given.model not in kinds:
        raise unknown_name("kind of model", given.model, kinds)
    file = SPECIMENS / f"{function}.py"
    refuse_existing(file)
    expects = "[" + ", ".join(f'"{rule}"' for rule in rules) + "]"
    create(file, PAGE.format(function=function, expects=expects, kind=given.model))
    edit(SPECIMENS / "__init__.py", lambda lines: _listed(lines, function))
    print(f"Next: bedside zoo run {name}, then write the story in {file.relative_to(ROOT)}.")


def _listed(lines: list[str], function: str) -> list[str]:
    """The import in alphabetical order, the specimen at the end of the sick ones' list."""
    new = f"from bedside.zoo.specimens.{function} import {function}"
    lines = insert_before(lines, [new], lambda line: line > new or not line.startswith("from"), "from bedside.zoo.spec")
    return insert_before(lines, [f"    {function},"], lambda line: line == ")", "ZOO")


if __name__ == "__main__":
    main(new_specimen)
