"""An environment of its own for every tool, made once under `.cache/peers/` and used again.

Each sees its own packages first and behind them one shared folder that holds torch and what torch needs, nothing
else: unpacking torch a dozen times would take longer than all the trainings together.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CACHE = ROOT / ".cache" / "peers"
PATIENCE = 900  # seconds for one installation; torch takes three minutes on a busy machine


class NotInstalled(Exception):
    """pip said no; the message is its last line."""


def python_for(tool: str, requires: Sequence[str]) -> Path:
    """The interpreter of a tool's environment, installed if need be. What requires nothing runs in this one."""
    if not requires:
        return Path(sys.executable)
    folder = _environment("torch", ["torch", "numpy"], behind=None)
    return _environment(tool, requires, behind=folder) / "bin" / "python"


def _environment(name: str, requires: Sequence[str], *, behind: Path | None) -> Path:
    folder = CACHE / name
    stamp, wanted = folder / "installed.txt", "\n".join(requires)
    if stamp.exists() and stamp.read_text() == wanted:
        return folder
    print(f"installing {wanted} …", flush=True)
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    if behind is not None:
        (_packages(folder) / "shared.pth").write_text(f"{_packages(behind)}\n")
    pip = [folder / "bin" / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    try:
        done = subprocess.run(
            [*pip, "-c", ROOT / "constraints.txt", *requires], capture_output=True, text=True, timeout=PATIENCE
        )
    except subprocess.TimeoutExpired as late:
        raise NotInstalled(f"pip took more than {PATIENCE} s") from late
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
        raise NotInstalled(lines[-1] if lines else f"pip exited with {done.returncode}")
    stamp.write_text(wanted)
    return folder


def _packages(folder: Path) -> Path:
    return next((folder / "lib").glob("python*/site-packages"))
