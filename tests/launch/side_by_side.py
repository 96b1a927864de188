"""Runs scripts as `python` and as `bedside run` would, each in a forked process, so that torch is imported once.

python side_by_side.py OUT      takes names on stdin and answers each with a line, when OUT has NAME.plain.pt,
                                NAME.watched.pt, both outputs, and the records
"""

from __future__ import annotations

import atexit
import os
import runpy
import sys
from pathlib import Path

import torch  # once, for all of them
import torch._dynamo  # noqa: F401
from tqdm import tqdm  # noqa: F401

from bedside.launch.options import Options
from bedside.launch.runner import run_script
from bedside.launch.target import Target

SCRIPTS = Path(__file__).parent / "scripts"


def side_by_side(out: Path, name: str) -> None:
    script = str(SCRIPTS / f"{name}.py")
    for kind in ("plain", "watched"):
        process = os.fork()
        if process == 0:
            code = 1
            try:
                os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
                for stream in (1, 2):
                    file = os.open(out / f"{name}.{kind}.{'out' if stream == 1 else 'err'}", os.O_WRONLY | os.O_CREAT)
                    os.dup2(file, stream)
                arguments = [str(out / f"{name}.{kind}.pt")]
                if kind == "plain":
                    sys.argv = [script, *arguments]
                    runpy.run_path(script, run_name="__main__")
                else:
                    run_script(Target(script, arguments), Options(out / name))
                    atexit._run_exitfuncs()
                code = 0
            finally:
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(code)
        _, status = os.waitpid(process, 0)
        (out / f"{name}.{kind}.code").write_text(str(os.waitstatus_to_exitcode(status)))


if __name__ == "__main__":
    for line in sys.stdin:
        if line.startswith("keras"):
            os.environ["KERAS_BACKEND"] = "torch"
            import keras  # noqa: F401  (once as well)
        side_by_side(Path(sys.argv[1]), line.strip())
        print("done", flush=True)
