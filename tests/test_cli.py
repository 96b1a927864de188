"""The command line as a user meets it: real files, real rules, exit codes, and errors of three lines."""

from __future__ import annotations

import json
import math
import os
import random
import signal
import subprocess
import sys
import time
from contextlib import suppress

import pytest

from bedside import __version__, cli
from bedside.errors import install_extra
from bedside.rules import CATALOGUE


@pytest.fixture
def bedside(capsys, tmp_path, monkeypatch):
    """`bedside("diagnose", "sick.csv")` -> exit code, standard output, standard error; in a folder with two logs."""
    monkeypatch.chdir(tmp_path)
    noise = random.Random(0)
    falling = [2.3 * math.exp(-i / 60) + 0.1 + 0.05 * noise.random() for i in range(300)]
    write_csv("healthy.csv", falling)
    write_csv("sick.csv", falling[:200] + [math.nan] * 100)

    def call(*args):
        code = cli.run(list(args))
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


def write_csv(path, losses):
    with open(path, "w") as file:
        file.write("step,loss,lr\n")
        file.writelines(f"{step},{loss},0.001\n" for step, loss in enumerate(losses))


def assert_three_lines(error):
    lines = error.rstrip("\n").split("\n")
    assert len(lines) == 3, error
    assert lines[0]
    assert lines[1].startswith("  Expected: ")
    assert lines[2].startswith("  Try: ")


def test_a_healthy_run_exits_with_0(bedside):
    code, out, err = bedside("diagnose", "healthy.csv")
    assert (code, err) == (0, "")
    assert out.startswith("healthy.csv · 300 steps · healthy")


def test_a_sick_run_exits_with_1_and_tells_the_story(bedside):
    code, out, _ = bedside("diagnose", "sick.csv")
    assert code == 1
    assert out.startswith("sick.csv · 300 steps · sick: 1 error")
    assert "NUM101 nonfinite-loss" in out
    assert "since step 200" in out


@pytest.mark.parametrize(("fail_on", "code"), [("error", 1), ("warning", 1), ("note", 1), ("never", 0)])
def test_fail_on_decides_the_exit_code(bedside, fail_on, code):
    assert bedside("diagnose", "sick.csv", "--fail-on", fail_on)[0] == code


def test_one_path_is_one_json_object(bedside):
    code, out, _ = bedside("diagnose", "sick.csv", "--format", "json")
    answer = json.loads(out, parse_constant=pytest.fail)
    assert code == 1
    assert list(answer)[:7] == ["bedside", "run", "format", "steps", "verdict", "reason", "findings"]
    assert answer["findings"][0]["code"] == "NUM101"


def test_several_paths_are_a_list_of_json_objects(bedside):
    code, out, _ = bedside("diagnose", "sick.csv", "healthy.csv", "--format", "json")
    assert code == 1
    assert [each["verdict"] for each in json.loads(out)] == ["sick", "healthy"]


def test_an_unreadable_path_among_several_is_reported_and_the_others_go_on(bedside):
    code, out, err = bedside("diagnose", "nowhere", "healthy.csv", "--format", "json")
    assert code == 0
    assert [each["run"] for each in json.loads(out)] == ["healthy.csv"]
    assert_three_lines(err)


def test_nothing_readable_exits_with_2(bedside):
    code, out, err = bedside("diagnose", "nowhere", "nor-here", "--format", "json")
    assert code == 2
    assert json.loads(out) == []
    assert len(err.splitlines()) == 6


def test_a_path_that_does_not_exist_is_a_three_line_error(bedside):
    code, out, err = bedside("diagnose", "nowhere.csv")
    assert (code, out) == (2, "")
    assert_three_lines(err)
    assert "nowhere.csv" in err.splitlines()[0]


def test_select_and_ignore_choose_rules_and_families(bedside):
    _, out, _ = bedside("diagnose", "sick.csv", "--format", "json", "--select", "NUM101,LOS")
    answer = json.loads(out)
    assert {code[:3] for code in answer["examined"]} == {"NUM", "LOS"}
    _, out, _ = bedside("diagnose", "sick.csv", "--ignore", "num", "--format", "json")
    assert not any(each["code"].startswith("NUM") for each in json.loads(out)["findings"])


def test_an_unknown_code_is_refused_with_the_nearest(bedside):
    code, _, err = bedside("diagnose", "sick.csv", "--select", "NUM1001")
    assert code == 2
    assert_three_lines(err)
    assert err.splitlines()[1].startswith("  Expected: one of NUM101")


@pytest.mark.parametrize("form", ["markdown", "github"])
def test_other_formats_name_the_finding(bedside, form):
    _, out, _ = bedside("diagnose", "sick.csv", "--format", form)
    assert "NUM101" in out


@pytest.mark.parametrize(
    ("args", "first", "expected"),
    [
        (["diagnos"], "No command is called 'diagnos'.", "one of diagnose"),
        (["zoo", "lst"], "No command is called 'lst'.", "one of list"),
        (["diagnose", "x", "--formt", "json"], "No option is called '--formt'.", "one of --format"),
        (["--versoin"], "No option is called '--versoin'.", "one of --version"),
        (["diagnose", "x", "--format", "jsn"], "No --format is called 'jsn'.", "one of json"),
        (["diagnose"], "Missing argument 'PATH...'.", "bedside diagnose [OPTIONS] PATH..."),
        (["explain", "NUM101", "NUM102"], "Got unexpected extra argument (NUM102).", "bedside explain [OPTIONS] CODE"),
        (["explain", "nonfinite-los"], "No rule is called 'nonfinite-los'.", "one of nonfinite-loss"),
    ],
)
def test_a_slip_of_the_keyboard_is_a_three_line_error(bedside, args, first, expected):
    code, out, err = bedside(*args)
    assert (code, out) == (2, "")
    assert_three_lines(err)
    assert err.splitlines()[0] == first
    assert err.splitlines()[1].startswith(f"  Expected: {expected}")


def test_the_version_is_told(bedside):
    assert bedside("--version") == (0, f"bedside {__version__}\n", "")


@pytest.mark.parametrize("args", [[], ["--help"], ["-h"]])
def test_help_lists_every_command(bedside, args):
    code, out, _ = bedside(*args)
    assert code == 0
    for command in ("demo", "diagnose", "explain", "report", "rules", "serve", "watch"):
        assert f"\n  {command} " in out


@pytest.mark.parametrize("word", ["NUM101", "num101", "nonfinite-loss", "nonfinite_loss"])
def test_explain_takes_code_or_name(bedside, word):
    code, out, _ = bedside("explain", word)
    assert code == 0
    assert out.startswith("# NUM101 nonfinite-loss\n")
    assert "## When it is wrong" in out


def test_rules_lists_the_whole_catalogue(bedside):
    _, out, _ = bedside("rules")
    assert [line.split()[0] for line in out.splitlines() if line[0] != " "] == [rule.code for rule in CATALOGUE]
    assert all(len(line) <= 100 for line in out.splitlines())


def test_rules_as_json(bedside):
    _, out, _ = bedside("rules", "--format", "json")
    first = json.loads(out)[0]
    assert list(first) == ["code", "name", "severity", "status", "needs", "sentence"]
    assert first["code"] == CATALOGUE[0].code


def test_report_writes_a_page(bedside, tmp_path):
    code, out, _ = bedside("report", "sick.csv", "-o", "page.html")
    assert (code, out) == (0, "page.html: sick.csv is sick\n")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>")
    assert "NUM101 nonfinite-loss" in page


def test_report_says_when_it_cannot_write(bedside):
    code, _, err = bedside("report", "sick.csv", "-o", "no/such/folder.html")
    assert code == 2
    assert_three_lines(err)
    assert "No such file or directory" in err


def test_a_misspelt_metric_in_map_is_refused_with_the_nearest_names(bedside):
    code, out, err = bedside("diagnose", "sick.csv", "--map", "los=val/loss")
    assert (code, out) == (2, "")
    assert_three_lines(err)
    assert err.startswith("No metric of this log is called 'los'.\n  Expected: one of loss")
    assert bedside("diagnose", "healthy.csv", "--map", "loss=val/loss", "--fail-on", "never")[0] == 0


def test_the_zoo_alone_lists_its_commands(bedside):
    code, out, err = bedside("zoo")
    assert (code, err) == (0, "")
    assert "guide" in out


def test_replay_names_what_is_missing(bedside, monkeypatch):
    monkeypatch.setitem(sys.modules, "bedside.incident.incident", None)
    code, out, err = bedside("replay", "incidents/step_7")
    assert (code, out) == (2, "")
    assert_three_lines(err)
    assert "which is not installed" in err


def test_the_demo_names_the_extra_when_scikit_learn_is_missing(bedside, monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn", None)
    code, out, err = bedside("demo")
    assert (code, out) == (2, "")
    assert_three_lines(err)
    assert "sklearn is not installed" in err
    assert err.splitlines()[2] == f"  Try: {install_extra('demo')}"


def test_a_deleted_working_directory_is_not_a_failure_of_ours(bedside, tmp_path, monkeypatch):
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    code, out, err = bedside("run", "train.py")
    assert (code, out) == (2, "")
    assert_three_lines(err)
    assert err.startswith("The working directory was deleted.\n")


def test_an_unexpected_exception_asks_to_be_reported(bedside, monkeypatch):
    monkeypatch.setattr("bedside.logs.find_runs", lambda *_, **__: 1 / 0)
    monkeypatch.delenv("BEDSIDE_DEBUG", raising=False)
    code, _, err = bedside("diagnose", "sick.csv")
    assert code == 2
    assert_three_lines(err)
    assert err.startswith("bedside itself failed: ZeroDivisionError: division by zero\n")
    assert "BEDSIDE_DEBUG=1" in err
    monkeypatch.setenv("BEDSIDE_DEBUG", "1")
    with pytest.raises(ZeroDivisionError):
        cli.run(["diagnose", "sick.csv"])


BEDSIDE = [sys.executable, "-c", "from bedside.cli import main; main()"]


def test_a_reader_that_leaves_early_is_no_error(bedside):
    shell = subprocess.Popen([*BEDSIDE, "rules"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    shell.stdout.close()  # before it has written anything
    _, err = shell.communicate(timeout=60)
    assert err == b""
    assert shell.returncode == 141


def _once_it_is_open(process, path):
    """Waits until the process has opened the file, however long a busy machine takes to get there."""
    for _ in range(6000):
        with suppress(OSError):
            if str(path) in [
                os.readlink(f"/proc/{process.pid}/fd/{each}") for each in os.listdir(f"/proc/{process.pid}/fd")
            ]:
                return
        time.sleep(0.01)
    raise AssertionError(f"nobody opened {path}")


def test_an_interrupt_is_quiet(tmp_path):
    long = tmp_path / "log.csv"
    long.write_text("step,loss\n" + "".join(f"{step},1.0\n" for step in range(3_000_000)))  # seconds of reading
    reading = subprocess.Popen(
        [*BEDSIDE, "diagnose", str(long)],
        stderr=subprocess.PIPE,
        # Whoever runs the tests in the background of a script makes its children ignore the key.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    _once_it_is_open(reading, long)
    reading.send_signal(signal.SIGINT)
    _, err = reading.communicate(timeout=60)
    assert err.strip() == b""
    assert reading.returncode == 130


def test_a_terminal_that_knows_only_ascii_gets_the_words(bedside):
    env = os.environ | {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    result = subprocess.run([*BEDSIDE, "diagnose", "sick.csv"], capture_output=True, env=env, check=False)
    assert result.returncode == 1
    assert b"NUM101 nonfinite-loss" in result.stdout
