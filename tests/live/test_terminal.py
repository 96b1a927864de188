import io
import os
import sys
import time

import pytest
from tests.live.records import GrowingRecord

from bedside.cli import run as bedside
from bedside.errors import NotARun
from bedside.live.served_folder import FRESH, Folder, is_growing
from bedside.live.terminal import follow, frame, judge
from bedside.report.styled_lines import plain


@pytest.fixture
def record(tmp_path):
    made = GrowingRecord(tmp_path / "runs" / "a")
    made.grow(80)
    yield made
    made.close()


def screen(record):
    (found,) = Folder(record.folder).runs().values()
    return plain(frame(*judge(found), 80, growing=True))


def test_it_shows_the_vitals_the_layers_and_what_was_found(record):
    record.grow(40, loss=float("nan"))
    shown = screen(record)
    assert "· training ·" in shown.splitlines()[0]
    assert "grad_norm  " in shown
    assert "first over last: 0.4 / 0.9 = 0.444" in shown
    assert "ERROR  NUM101 nonfinite-loss" in shown
    assert max(map(len, shown.splitlines())) <= 100


def test_a_run_is_not_said_to_train_once_its_record_is_closed_or_long_silent(record):
    (found,) = Folder(record.folder).runs().values()
    run, answer = judge(found)
    assert "· nothing new ·" in plain(frame(run, answer, 80, growing=False))
    record.close(finished=None)  # as when the interpreter ends without a word
    (found,) = Folder(record.folder).runs().values()
    run, answer = judge(found)
    assert "· ended ·" in plain(frame(run, answer, 80, growing=is_growing(found, run.ended)))


@pytest.mark.parametrize(("age", "growing"), [(FRESH - 30, True), (FRESH + 5, False)])
def test_a_run_that_was_killed_counts_as_training_for_two_minutes(record, age, growing):
    (found,) = Folder(record.folder).runs().values()
    for path in record.folder.iterdir():
        os.utime(path, (time.time() - age,) * 2)
    assert is_growing(found, ended=False) is growing


def test_a_finding_goes_when_the_run_no_longer_shows_it(record):
    assert "ERROR" not in screen(record)


def test_without_a_terminal_it_is_shown_once(record, capsys):
    follow(record.folder.parent)
    assert "loss" in capsys.readouterr().out


def test_on_a_terminal_it_follows_until_the_run_ends(record, monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    naps = []

    def nap(seconds):
        naps.append(seconds)
        record.grow(10)
        if len(naps) == 3:
            record.close()

    terminal = Terminal()
    monkeypatch.setattr(sys, "stdout", terminal)
    monkeypatch.setattr("bedside.live.terminal.time.sleep", nap)
    follow(record.folder)
    assert len(naps) == 3
    assert "110 steps" in terminal.getvalue()


def test_a_folder_without_a_run_is_said_in_three_lines(tmp_path, capsys):
    with pytest.raises(NotARun, match="There is no run in"):
        follow(tmp_path)
    assert bedside(["watch", str(tmp_path)]) == 2
    assert "Expected: a run folder" in capsys.readouterr().err
