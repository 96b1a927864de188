"""`bedside preflight`: exit codes, formats, and three lines for what cannot be looked at."""

from __future__ import annotations

import json

import pytest

from bedside.cli import run

PROGRAM = """
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

def setup():
    torch.manual_seed(0)
    x = torch.randn(64, 4)
    model = nn.Linear(4, 2)
    return {"model": model, "train_loader": DataLoader(TensorDataset(x, (x[:, 0] > 0).long()), 16, shuffle=True),
            "loss_fn": nn.CrossEntropyLoss(), "optimizer": torch.optim.SGD(model.parameters(), lr=0.1)}

def sick():
    return setup() | {"model": nn.Sequential(nn.Linear(4, 2), nn.Softmax(1)), "optimizer": None}

def a_list(): return []
def a_strange_key(): return setup() | {"modle": 1}
def without_loader(): return {"model": nn.Linear(1, 1)}
def raises(): raise RuntimeError("no data here")
"""


@pytest.fixture
def program(tmp_path, monkeypatch):
    (tmp_path / "trainer_of_mine.py").write_text(PROGRAM)
    monkeypatch.chdir(tmp_path)
    return "trainer_of_mine.py"


def test_a_healthy_training_exits_with_zero(program, capsys):
    assert run(["preflight", f"{program}:setup"]) == 0
    result = capsys.readouterr().out
    assert result.startswith("Preflight of Linear, fast depth\n")
    assert " 0 failed" in result


def test_a_module_and_what_is_wrong_with_it(program, capsys):
    assert run(["preflight", "trainer_of_mine:sick", "--select", "PRE102,PRE101"]) == 1
    assert "FAILED       PRE102" in capsys.readouterr().out
    assert run(["preflight", "trainer_of_mine:sick", "--select", "PRE102", "--fail-on", "never"]) == 0


def test_json_and_numbers(program, capsys):
    assert run(["preflight", f"{program}:setup", "--format", "json", "--ignore", "PRE106"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["passed"] is True
    assert "PRE106" not in [each["code"] for each in result["checks"]]
    assert run(["preflight", f"{program}:setup", "-v", "--select", "PRE104"]) == 0
    assert "label entropy" in capsys.readouterr().out


def test_the_list_and_the_page_of_a_check(capsys):
    assert run(["preflight", "--list"]) == 0
    assert capsys.readouterr().out.startswith("PRE101  output-fits-target")
    assert run(["explain", "pre102"]) == 0
    assert capsys.readouterr().out.startswith("# PRE102 loss-fits-output")


@pytest.mark.parametrize(
    ("target", "what"),
    [
        ("trainer_of_mine.py", "'trainer_of_mine.py' does not name a function."),
        ("nowhere.py:setup", "There is no file 'nowhere.py'."),
        ("nowhere.at.all:setup", "No module is called 'nowhere.at.all'."),
        ("trainer_of_mine.py:setpu", "No function in trainer_of_mine.py is called 'setpu'."),
        ("trainer_of_mine.py:a_list", "trainer_of_mine.py:a_list returned a list."),
        ("trainer_of_mine.py:a_strange_key", "trainer_of_mine.py:a_strange_key returned a dict with the key 'modle'."),
        (
            "trainer_of_mine.py:without_loader",
            "trainer_of_mine.py:without_loader returned a dict without 'train_loader'.",
        ),
        ("trainer_of_mine.py:raises", "trainer_of_mine.py:raises raised RuntimeError: no data here."),
    ],
)
def test_what_cannot_be_looked_at_is_three_lines_and_exit_code_two(program, capsys, target, what):
    assert run(["preflight", target]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == what
    assert lines[1].startswith("  Expected: ")
    assert lines[2].startswith("  Try: ")


def test_no_target_and_an_unknown_page_are_errors(capsys):
    assert run(["preflight"]) == 2
    assert run(["explain", "PRE999"]) == 2
    assert "No check is called 'PRE999'." in capsys.readouterr().err
