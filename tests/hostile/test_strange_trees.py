"""Trees that somebody sent: pipes, devices, sockets, links to elsewhere, and files that are larger than they look."""

from __future__ import annotations

import json
import os
import shutil
import socket
import sqlite3
import zipfile
from contextlib import closing
from pathlib import Path

import pytest
from tests.hostile.programs import a_healthy_table, command, is_a_three_line_error

from bedside.record.sqlite.writer import Store

STATE = {"log_history": [{"step": step, "loss": 1.0} for step in range(100)]}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    a_healthy_table(tmp_path / "tree" / "good" / "log.csv")
    a_healthy_table(tmp_path / "tree" / "fine" / "log.csv")
    return tmp_path / "tree"


def test_pipes_sockets_and_devices_in_a_tree_are_never_opened(tree: Path) -> None:
    for name in ("log.csv", "events.out.tfevents.1", "rank0.sqlite", "trainer_state.json", "mlflow.db", "a.wandb"):
        (tree / f"pipe-{name}").mkdir()
        os.mkfifo(tree / f"pipe-{name}" / name)
        (tree / f"device-{name}").mkdir()
        (tree / f"device-{name}" / name).symlink_to("/dev/zero")
    (tree / "run" / "checkpoint-5").mkdir(parents=True)
    os.mkfifo(tree / "run" / "checkpoint-5" / "trainer_state.json")
    os.mkfifo(tree / "good" / "hparams.yaml")
    (tree / "split" / "train").mkdir(parents=True)
    (tree / "split" / "val").mkdir()
    for split in ("train", "val"):
        os.mkfifo(tree / "split" / split / "events.out.tfevents.1")
    listener = socket.socket(socket.AF_UNIX)
    here = os.getcwd()
    os.chdir(tree)  # a socket's whole path must be short
    try:
        listener.bind("socket.csv")
    finally:
        os.chdir(here)
    result = command("diagnose", tree, timeout=60)
    listener.close()
    assert result.code == 0, result.err
    assert "2 runs: 2 healthy." in result.out


def test_links_out_of_a_tree_are_not_followed(tree: Path, tmp_path: Path) -> None:
    secret = tmp_path / "elsewhere"
    a_healthy_table(secret / "log.csv")
    Store.create(secret / "record").close()
    (secret / "trainer_state.json").write_text(json.dumps(STATE))
    (secret / "hparams.yaml").write_text("password: hunter2\n")
    (tree / "log.csv").symlink_to(secret / "log.csv")
    (tree / "folder").symlink_to(secret)
    (tree / "record").mkdir()
    (tree / "record" / "rank0.sqlite").symlink_to(secret / "record" / "rank0.sqlite")
    (tree / "trainer" / "checkpoint-9").mkdir(parents=True)
    (tree / "trainer" / "checkpoint-9" / "trainer_state.json").symlink_to(secret / "trainer_state.json")
    (tree / "split").mkdir()
    for split in ("train", "val"):
        (tree / "split" / split).symlink_to(secret)
    (tree / "loop").symlink_to(tree)
    (tree / "again.csv").symlink_to(tree / "good" / "log.csv")  # inside, so it is a file of the tree
    result = command("diagnose", tree, "--format", "json", "--fail-on", "never", timeout=60)
    found = [each["run"] for each in json.loads(result.out)]
    assert sorted(each.removeprefix(f"{tree}/") for each in found) == ["again.csv", "fine/log.csv", "good/log.csv"]
    assert "hunter2" not in result.out + result.err


@pytest.mark.parametrize("kind", ["named pipe", "device", "socket"])
def test_what_is_no_file_ends_in_three_lines_when_it_is_named(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "log.csv"
    if kind == "named pipe":
        os.mkfifo(path)
    elif kind == "device":
        path = Path("/dev/zero")
    else:
        listener = socket.socket(socket.AF_UNIX)
        here = os.getcwd()
        os.chdir(tmp_path)
        listener.bind("log.csv")
        os.chdir(here)
        listener.close()
    for arguments in (["diagnose"], ["report", "-o", str(tmp_path / "report.html")]):
        result = command(arguments[0], path, *arguments[1:], timeout=30)
        assert is_a_three_line_error(result), result.err
        assert f"is a {kind}" in result.err


def comet(path: Path, lines: int) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("messages.json", "w") as file:
        for i in range(lines):
            metric = {"metricName": f"metric_{i}", "metricValue": 1.0, "step": 1}
            file.write(json.dumps({"type": "metric_msg", "payload": {"metric": metric}}).encode() + b"\n")
        for step in range(100):
            metric = {"metricName": "loss", "metricValue": 1.0 / (1 + step), "step": step}
            file.write(json.dumps({"type": "metric_msg", "payload": {"metric": metric}}).encode() + b"\n")


def test_a_comet_archive_of_hundreds_of_thousands_of_names_is_bounded(tmp_path: Path) -> None:
    comet(tmp_path / "many.zip", 300_000)
    result = command("diagnose", tmp_path / "many.zip", "--fail-on", "never", timeout=100)
    assert result.code in (0, 2), result.err
    assert "bedside itself failed" not in result.err
    assert result.megabytes < 300
    assert result.seconds < 60


def test_an_archive_that_lists_a_million_files_is_no_log(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "list.zip", "w") as archive:
        for i in range(30_000):
            archive.writestr(f"{i:050d}", b"")
        archive.writestr("messages.json", b"{}")
    result = command("diagnose", tmp_path / "list.zip", timeout=30)
    assert is_a_three_line_error(result), result.err


@pytest.mark.parametrize("filler", ["holes", "commas", "one line"])
def test_a_table_of_two_gigabytes_is_bounded(tmp_path: Path, filler: str) -> None:
    path = tmp_path / "log.csv"
    a_healthy_table(path)
    if filler == "holes":  # a sparse file: two gigabytes that take no room
        os.truncate(path, 2**31)
    elif filler == "commas":
        path.write_text("step,loss," + ",".join(f"m{i}" for i in range(15_000)) + "\n" + ("," * 15_000 + "\n") * 2500)
    else:
        with path.open("ab") as file:
            for _ in range(2**7):
                file.write(b"1" * 2**20)
    result = command("diagnose", path, "--fail-on", "never", timeout=100)
    assert result.code == 0 or is_a_three_line_error(result), result.err
    assert result.megabytes < 300
    assert result.seconds < 60


def test_a_folder_of_settings_that_are_too_large_or_too_deep_is_told_in_three_lines(tmp_path: Path) -> None:
    a_healthy_table(tmp_path / "log.csv")
    for text in ("select = " + "[" * 50_000, "#" * 2**22, 'map = "\x00"'):
        (tmp_path / "bedside.toml").write_text(text)
        result = command("diagnose", tmp_path / "log.csv", timeout=30)
        assert is_a_three_line_error(result), result.err
    shutil.rmtree(tmp_path)


def test_a_database_with_a_view_of_parameters_ends(tmp_path: Path) -> None:
    path = tmp_path / "mlflow.db"
    with closing(sqlite3.connect(path)) as database:
        database.executescript(
            """CREATE TABLE runs (run_uuid, name, status, start_time, lifecycle_stage);
            CREATE TABLE experiments (x);
            CREATE VIEW params AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n)
                SELECT x AS key, 1 AS value, 'a' AS run_uuid FROM n;
            CREATE TABLE metrics (key, value, timestamp, run_uuid, step, is_nan);
            INSERT INTO runs VALUES ('a', 'a', 'FINISHED', 1, 'active');
            INSERT INTO metrics VALUES ('loss', 1.0, 1, 'a', 3, 0);"""
        )
        database.commit()
    result = command("diagnose", path, timeout=60)
    assert result.code in (0, 1) or is_a_three_line_error(result), result.err
    assert result.megabytes < 300
