"""What is known about the making of a run, and what is kept out of it."""

from __future__ import annotations

import platform
import socket
import subprocess
import sys
from pathlib import Path

import pytest

import bedside
from bedside.record.environment import environment, git_state


def git(folder: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=a", "-c", "user.email=a@b.c"]
    done = subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def test_versions_device_and_seed_are_there_and_the_host_is_not() -> None:
    facts = environment(device="cuda:0", seed=2**63)
    assert facts["python"] == platform.python_version()
    assert facts["bedside"] == bedside.__version__
    assert facts["numpy"] == sys.modules["numpy"].__version__
    assert (facts["device"], facts["seed"]) == ("cuda:0", 2**63)
    assert facts["started"][:2] == "20"
    assert not [key for key, value in facts.items() if key != "command" and socket.gethostname() == value]


def test_torch_is_named_only_if_somebody_else_has_imported_it() -> None:
    script = "import sys; from bedside.record.environment import environment; print('torch' in environment()); "
    script += "print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    assert done.stdout.split() == ["False", "False"]


def test_the_commit_and_whether_it_was_changed(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    (tmp_path / "train.py").write_text("lr = 0.1")
    git(tmp_path, "add", "train.py")
    git(tmp_path, "commit", "-qm", "first")
    commit = git(tmp_path, "rev-parse", "HEAD")
    (tmp_path / "notes.txt").touch()  # untracked: not part of the commit's truth
    assert git_state(tmp_path) == {"git_commit": commit, "git_dirty": False}
    (tmp_path / "train.py").write_text("lr = 0.2")
    assert git_state(tmp_path) == {"git_commit": commit, "git_dirty": True}
    assert environment(folder=tmp_path)["git_commit"] == commit


def test_without_git_there_is_no_commit_and_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert git_state(tmp_path) == {}
    monkeypatch.setenv("PATH", str(tmp_path))
    assert git_state(tmp_path) == {}


def test_secrets_on_the_command_line_are_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "orig_argv", ["python", "t.py", "--lr=0.1", "--hub_token=abc", "--secret", "-v"])
    assert environment()["command"] == "python t.py --lr=0.1 '--hub_token=***' --secret '***'"
