import json
import math
from pathlib import Path

import numpy as np

from bedside import __version__
from bedside.report.json import plain

TOP = ["bedside", "run", "format", "steps", "verdict", "reason", "findings", "not_examined"]
FINDING = [
    "code", "name", "severity", "confidence", "first_step", "last_step", "where", "primary", "message", "evidence",
    "causes", "could_also_be", "try",
]  # fmt: skip


def test_the_contract_has_its_keys_in_its_order(sick):
    answer = sick.to_json()
    assert list(answer)[: len(TOP)] == TOP
    assert list(answer["findings"][0])[: len(FINDING)] == FINDING
    assert answer["not_examined"][0] == {"code": "ACT101", "needs": ["dead_fraction per module"]}


def test_the_contract_says_what_the_design_says(sick):
    answer = sick.to_json()
    assert answer["bedside"] == __version__
    assert (answer["run"], answer["format"], answer["steps"], answer["verdict"]) == ("runs/a", "bedside", 1200, "sick")
    first = answer["findings"][0]
    assert first["severity"] == "error"
    assert first["where"] == ["layers.0", "layers.1"]
    assert first["primary"] is True
    assert first["preview"] is False
    assert first["evidence"]["ratio"] == 1e-8


def test_it_survives_strict_json(hostile, sick):
    for each in (hostile, sick):
        assert json.loads(json.dumps(each.to_json(), allow_nan=False)) == each.to_json()


def test_what_json_cannot_hold_is_written_as_a_string():
    given = {"a": math.nan, "b": [math.inf, -math.inf], "c": np.float32(1.5), "d": np.arange(2), "e": {2, 1}, 3: None}
    assert plain(given) == {
        "a": "NaN", "b": ["Infinity", "-Infinity"], "c": 1.5, "d": [0, 1], "e": [1, 2], "3": None,
    }  # fmt: skip


def test_every_key_is_explained_in_the_docs(sick):
    docs = (Path(__file__).resolve().parents[2] / "docs/reports.md").read_text(encoding="utf-8")
    answer = sick.to_json()
    for key in (*answer, *answer["findings"][0]):
        assert f"`{key}`" in docs, key
