"""The real process over stdin and stdout, asked by the client of the mcp package."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

import pytest

import bedside
from bedside.errors import install_extra

pytest.importorskip("mcp")

TOOLS = {"runs", "diagnose", "explain", "compare", "series", "rules"}


def asked(folder: Path, *calls: tuple[str, dict]) -> list:
    """The answers to these calls, all over one connection."""
    from mcp import Client, StdioServerParameters, stdio_client

    server = StdioServerParameters(command=sys.executable, args=["-m", "bedside", "mcp", str(folder)], cwd=folder)

    async def ask() -> list:
        async with Client(stdio_client(server)) as client:
            return [
                await client.list_tools() if name == "list" else await client.call_tool(name, arguments)
                for name, arguments in calls
            ]

    return asyncio.run(asyncio.wait_for(ask(), 120))


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("agent") / "project"
    folder.mkdir()
    falling = [2.3 * 0.97**step + 0.1 for step in range(100)]
    nan_at_60 = [*falling[:60], *[float("nan")] * 40]
    for name, losses in (("good", falling), ("bad", nan_at_60)):
        rows = "".join(f"{step},{loss}\n" for step, loss in enumerate(losses))
        (folder / f"{name}.csv").write_text(f"step,train_loss\n{rows}")
    (folder.parent / "secret.csv").write_text((folder / "good.csv").read_text())
    (folder / "link.csv").symlink_to(folder.parent / "secret.csv")
    return folder


@pytest.fixture(scope="module")
def answers(folder) -> dict:
    calls = {
        "tools": ("list", {}),
        "runs": ("runs", {}),
        "diagnose": ("diagnose", {"run": "bad.csv"}),
        "absolute": ("diagnose", {"run": str(folder / "bad.csv"), "select": ["NUM"]}),
        "explain": ("explain", {"code": "nonfinite-loss"}),
        "compare": ("compare", {"a": "good.csv", "b": "bad.csv"}),
        "names": ("series", {"run": "bad.csv"}),
        "series": ("series", {"run": "bad.csv", "names": ["train/loss"], "first_step": 50, "points": 10}),
        "rules": ("rules", {}),
        "outside": ("diagnose", {"run": "../secret.csv"}),
        "link": ("diagnose", {"run": "link.csv"}),
        "passwd": ("series", {"run": "/etc/passwd"}),
        "missing file": ("diagnose", {"run": "goood.csv"}),
        "missing argument": ("compare", {"a": "good.csv"}),
        "misspelt argument": ("diagnose", {"run": "good.csv", "baselin": "bad.csv"}),
        "misspelt rule": ("explain", {"code": "GRD999"}),
        "misspelt series": ("series", {"run": "bad.csv", "names": ["los"]}),
        "of another kind": ("series", {"run": "bad.csv", "points": "many"}),
        "too many": ("series", {"run": "bad.csv", "points": 100000}),
        "unknown tool": ("diagnos", {"run": "good.csv"}),
    }
    return dict(zip(calls, asked(folder, *calls.values()), strict=True))


def test_the_tools_are_marked_as_reading_only_and_described(answers):
    tools = {each.name: each for each in answers["tools"].tools}
    assert set(tools) == TOOLS
    assert all(each.annotations.read_only_hint for each in tools.values())
    assert all(len(each.description) > 60 for each in tools.values())
    assert tools["diagnose"].input_schema["required"] == ["run"]


def test_a_diagnosis_is_the_json_contract(answers, folder):
    answer = answers["diagnose"].structured_content
    contract = bedside.diagnose(folder / "bad.csv").to_json()
    assert Path(answer.pop("run")).name == Path(contract.pop("run")).name
    assert answer == json.loads(json.dumps(contract))
    assert answer["verdict"] == "sick"
    assert answer["findings"][0]["name"] == "nonfinite-loss"
    assert json.loads(answers["diagnose"].content[0].text)["verdict"] == "sick"


def test_rules_can_be_selected_and_paths_be_absolute(answers):
    answer = answers["absolute"].structured_content
    assert {each[:3] for each in answer["examined"]} == {"NUM"}


def test_runs_are_listed_without_links_that_lead_out(answers):
    answer = answers["runs"].structured_content
    assert sorted(Path(each["run"]).name for each in answer["runs"]) == ["bad.csv", "good.csv"]
    assert answer["left_out"] == 0


def test_a_rule_is_explained_by_its_page(answers):
    text = answers["explain"].content[0].text
    assert text.startswith("# NUM101 nonfinite-loss")
    assert "## When it is wrong" in text


def test_two_runs_are_compared(answers):
    answer = answers["compare"].structured_content
    assert answer["first"]["step"] == 60
    assert answer["first"]["b"] == "NaN"


def test_series_are_named_and_read(answers):
    assert "train/loss" in answers["names"].structured_content["names"]
    [series] = answers["series"].structured_content["series"]
    assert series["readings"] == 50
    assert len(series["steps"]) == len(series["values"]) <= 12
    assert series["steps"][0] == 50
    assert "NaN" in series["values"]


def test_the_rules_are_the_catalogue(answers):
    from bedside.rules import CATALOGUE

    assert [each["code"] for each in answers["rules"].structured_content["rules"]] == [each.code for each in CATALOGUE]


@pytest.mark.parametrize(
    ("call", "line"),
    [
        ("outside", "'../secret.csv' is not in the folder that this server may read."),
        ("link", "'link.csv' is not in the folder that this server may read."),
        ("passwd", "'/etc/passwd' is not in the folder that this server may read."),
        ("missing file", "goood.csv does not exist."),
        ("missing argument", "`compare` needs `b`."),
        ("misspelt argument", "No argument of `diagnose` is called 'baselin'."),
        ("misspelt rule", "No rule is called 'GRD999'."),
        ("misspelt series", "No series is called 'los'."),
        ("of another kind", "`series` cannot use points='many'."),
        ("too many", "points=100000 is out of range."),
        ("unknown tool", "No tool is called 'diagnos'."),
    ],
)
def test_a_bad_call_is_answered_in_three_lines(answers, call, line):
    answer = answers[call]
    lines = answer.content[0].text.splitlines()
    assert answer.is_error
    assert lines[0].endswith(line)
    assert lines[1].startswith("  Expected: ")
    assert lines[2].startswith("  Try: ")
    assert len(lines) == 3


def test_nothing_is_written(answers, folder):
    assert sorted(path.name for path in folder.iterdir()) == ["bad.csv", "good.csv", "link.csv"]


def test_a_folder_that_is_none_is_refused(tmp_path):
    import subprocess

    command = [sys.executable, "-m", "bedside", "mcp", str(tmp_path / "nowhere")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    assert done.returncode == 2
    assert done.stderr.splitlines()[0].endswith("nowhere is not a folder.")
    assert len(done.stderr.splitlines()) == 3


def test_without_the_package_the_extra_is_named(monkeypatch, capsys):
    import importlib.util

    from bedside.cli import run

    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert run(["mcp"]) == 2
    assert install_extra("mcp") in capsys.readouterr().err
