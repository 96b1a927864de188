"""What a project has decided for itself, where it is found, and what is refused."""

from __future__ import annotations

import json

import pytest

import bedside
from bedside import cli
from bedside.errors import BedsideError
from bedside.rules import CATALOGUE, find_rule
from bedside.settings import Settings, chosen, read_settings, settings_for


@pytest.fixture
def project(tmp_path, monkeypatch):
    """`project(text)` writes bedside.toml; a log lies in a folder below."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs").mkdir()
    rows = "".join(f"{step},{2 - step / 200},{2 - step / 300 if step < 100 else float('nan')}\n" for step in range(200))
    (tmp_path / "runs" / "a.csv").write_text("step,loss,my_objective\n" + rows)

    def write(text, name="bedside.toml"):
        (tmp_path / name).write_text(text)
        return tmp_path / name

    return write


def test_select_and_ignore_take_codes_names_and_families():
    assert {each.code[:3] for each in chosen(select=["GRD", "loss-spike"])} == {"GRD", "LOS"}
    assert "NUM101" not in {each.code for each in chosen(ignore=["NUM"])}
    assert len(chosen(ignore=["no_validation"])) == len(CATALOGUE) - 1


def test_limits_are_changed_by_code_or_by_name(project):
    path = project("limits.GRD103.often = 0.5\nlimits.frozen-validation.same = 9\n")
    rules = {each.name: each for each in read_settings(path).rules()}
    assert rules["gradient-always-clipped"].limits.often == 0.5
    assert rules["frozen-validation"].limits.same == 9
    assert find_rule("GRD103").limits.often != 0.5


def test_the_nearest_file_upwards_from_the_run_counts(project, tmp_path):
    project('ignore = ["GEN"]')
    (tmp_path / "runs" / "bedside.toml").write_text('ignore = ["LOS"]')
    assert settings_for(tmp_path / "runs" / "a.csv").ignore == ("LOS",)
    assert settings_for(tmp_path / "elsewhere").ignore == ("GEN",)
    assert settings_for().ignore == ("GEN",)


def test_a_pyproject_without_our_table_is_passed_by(project, tmp_path):
    project('ignore = ["GEN"]')
    (tmp_path / "runs" / "pyproject.toml").write_text('[tool.other]\nx = 1\n[project]\nname = "x"\n')
    assert settings_for(tmp_path / "runs" / "a.csv").ignore == ("GEN",)
    (tmp_path / "runs" / "pyproject.toml").write_text('[tool.bedside]\nselect = ["NUM"]\n')
    assert settings_for(tmp_path / "runs" / "a.csv").select == ("NUM",)


def test_no_file_means_no_decisions(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert settings_for() == Settings()


@pytest.mark.parametrize(
    ("text", "what", "expected"),
    [
        ('ingore = ["GEN"]', "No setting is called 'ingore'", "one of ignore"),
        ('ignore = ["GEN999"]', "No rule is called 'GEN999'", "one of GEN109"),
        ('select = "GEN"', "select = 'GEN' is not a list of rules", "codes, names or families"),
        ('fail_on = "warnings"', "fail_on = 'warnings' is not a severity", "one of warning"),
        ("limits.GRD103.oftn = 0.9", "No limit of gradient-always-clipped is called 'oftn'", "one of often"),
        ('limits.GRD103.often = "0.9"', "limits.GRD103.often = '0.9' has the wrong type", "a number like"),
        ("limits.GRD999.share = 0.9", "No rule is called 'GRD999'", "one of GRD10"),
        ("limits.share = 0.9", "limits = {'share': 0.9} is not a table of tables", "one table for each rule"),
        ("map = { loss = 3 }", "map = {'loss': 3} is not a table of names", "names in your logs with ours"),
        ("ignore = [", "cannot be read", "a TOML file"),
    ],
)
def test_what_is_not_known_is_refused_in_three_lines_that_name_the_file(project, text, what, expected):
    path = project(text)
    with pytest.raises(BedsideError) as refused:
        read_settings(path)
    first, second, third = str(refused.value).split("\n")
    assert what in first
    assert "bedside.toml" in first
    assert second.startswith("  Expected: ")
    assert expected in second
    assert third.startswith("  Try: ")


def test_diagnose_reads_names_and_rules_from_the_settings(project):
    assert bedside.diagnose("runs/a.csv").primary is None  # nobody knows what my_objective is
    project('map = { my_objective = "loss", loss = "-" }')
    assert bedside.diagnose("runs/a.csv").primary.name == "nonfinite-loss"
    project('map = { my_objective = "loss", loss = "-" }\nignore = ["NUM"]')
    assert bedside.diagnose("runs/a.csv").primary is None
    assert bedside.diagnose("runs/a.csv", ignore=["GEN"]).primary.name == "nonfinite-loss"
    assert bedside.diagnose("runs/a.csv", config=False).primary is None


def test_the_command_line_has_the_last_word(project, capsys, tmp_path):
    project('map = { my_objective = "loss", loss = "-" }\nselect = ["NUM"]\nfail_on = "never"')
    assert cli.run(["diagnose", "runs/a.csv", "--format", "json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert [each["name"] for each in answer["findings"]] == ["nonfinite-loss"]
    assert cli.run(["diagnose", "runs/a.csv", "--fail-on", "error"]) == 1
    assert cli.run(["diagnose", "runs/a.csv", "--select", "LRS"]) == 0
    assert cli.run(["diagnose", "runs/a.csv", "--no-config", "--fail-on", "error"]) == 0
    other = project('map = { my_objective = "loss", loss = "-" }\nfail_on = "error"', "other.toml")
    assert cli.run(["diagnose", "runs/a.csv", "--config", str(other)]) == 1
    capsys.readouterr()
    assert cli.run(["diagnose", "runs/a.csv", "--config", "nowhere.toml"]) == 2
    assert "nowhere.toml does not exist." in capsys.readouterr().err


def test_watching_follows_the_settings_while_the_run_is_alive(project, tmp_path):
    import torch

    project('ignore = ["NUM"]\nmap = { score = "val/accuracy", noise = "-" }')
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    recorded = []
    with bedside.watch(
        model, optimizer, run_dir=tmp_path / "runs" / "b", quiet=True, on_finding=recorded.append
    ) as monitor:
        for step in range(60):
            optimizer.zero_grad()
            (model(torch.randn(8, 4)).square().mean() * (float("nan") if step > 30 else 1.0)).backward()
            optimizer.step()
        monitor.log(score=0.5, noise=3.0)
        answer = monitor.diagnose()
    assert not {"NUM101", "NUM102"} & {each.code for each in (*recorded, *answer.findings)}
    run = bedside.load(tmp_path / "runs" / "b")
    assert "val/accuracy" in run.vitals
    assert not {"score", "noise"} & set(run.vitals)


def test_watching_refuses_bad_settings_before_anything_is_written(project, tmp_path):
    import torch

    project('ingore = ["NUM"]')
    model = torch.nn.Linear(4, 1)
    with pytest.raises(BedsideError, match="No setting is called 'ingore'"):
        bedside.watch(model, torch.optim.SGD(model.parameters(), lr=0.01), run_dir=tmp_path / "runs" / "b")
    assert not (tmp_path / "runs" / "b").exists()
