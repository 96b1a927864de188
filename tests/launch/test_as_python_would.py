"""A launched script finds everything as under `python`: `__main__`, argv, the path, its exceptions and its end."""

from __future__ import annotations

import json
import os
import sys

import pytest
from tests.launch.processes import BEDSIDE, PYTHON, TRAINING, run, without_the_report, written

WHO_AM_I = """'''The docstring.'''
import json, sys, __main__
me = {name: repr(globals().get(name)) for name in ("__name__", "__file__", "__package__", "__doc__", "__cached__")}
me["loader"] = type(globals().get("__loader__")).__name__
me["spec"] = getattr(globals().get("__spec__"), "name", None)
me["same"] = vars(__main__) is globals()
me["argv"], me["path"] = sys.argv, sys.path[0]
me["early"] = [name for name in ("torch", "numpy", "bedside.monitor") if name in sys.modules]
print(json.dumps(me))
"""


@pytest.fixture
def project(tmp_path):
    written(tmp_path, WHO_AM_I, "deep/script.py")
    written(tmp_path, WHO_AM_I, "package/__main__.py")
    written(tmp_path, "", "package/__init__.py")
    written(tmp_path, WHO_AM_I, "package/module.py")
    (tmp_path / "link.py").symlink_to(tmp_path / "deep/script.py")
    return tmp_path


@pytest.mark.parametrize(
    "words",
    [
        ["deep/script.py", "--epochs", "3", "-m", "--help"],
        ["link.py"],
        ["package", "a"],
        ["-m", "package", "-c", "x"],
        ["-m", "package.module", "--lr=1"],
        ["-c", WHO_AM_I, "--quiet"],
    ],
    ids=["script", "symlink", "folder", "package", "module", "code"],
)
def test_main_its_attributes_argv_and_path(project, words):
    plain, launched = run([*PYTHON, *words], project), run([*BEDSIDE, *words], project)
    assert plain.returncode == launched.returncode == 0, launched.stderr
    expected, found = json.loads(plain.stdout), json.loads(launched.stdout)
    if words[0] == "-c":  # python's own -c has the builtin importer as loader; nobody asks for it
        expected.pop("loader"), found.pop("loader")
    assert found == expected


def test_under_safe_path_no_folder_is_put_in_front(project):
    safe = [sys.executable, "-P"]
    plain, launched = (
        run([*safe, "deep/script.py"], project),
        run([*safe, "-m", "bedside", "run", "deep/script.py"], project),
    )
    assert json.loads(launched.stdout)["path"] == json.loads(plain.stdout)["path"]


FAILING = """
import sys
def inner():
    raise ValueError("too bad")
def outer():
    try:
        {}
    except KeyError as error:
        raise RuntimeError("worse") from error
outer()
"""


@pytest.mark.parametrize(
    "text",
    [
        FAILING.format("inner()"),
        FAILING.format("{}['x']"),
        "import sys\nsys.exit(3)",
        "import sys\nsys.exit('a message')",
        "raise SystemExit",
        "import os\nos._exit(5)",
        "raise KeyboardInterrupt",
        "def f(:\n",
        "import atexit\natexit.register(print, 'bye')\nprint('hello')",
        "import sys\nsys.excepthook = lambda *e: print('mine', e[0].__name__, e[2].tb_next)\n1 / 0",
        "import sys\ndef hook(*e): raise TypeError('broken hook')\nsys.excepthook = hook\n1 / 0",
        "import no_such_package",
        "import threading, time\nthreading.Thread(target=lambda: (time.sleep(0.2), print('late'))).start()",
    ],
)
def test_output_traceback_and_exit_code_are_the_script_s_own(tmp_path, text):
    name = written(tmp_path, text)
    plain, launched = run([*PYTHON, name], tmp_path), run([*BEDSIDE, name], tmp_path)
    assert launched.returncode == plain.returncode
    assert launched.stdout == plain.stdout
    assert without_the_report(launched.stderr) == plain.stderr.rstrip("\n")


def test_a_debugger_talks_to_the_terminal(tmp_path):
    name = written(tmp_path, "x = 41\nbreakpoint()\nprint(x + 1)\n")
    commands = "p x\nw\nc\n"
    plain, launched = run([*PYTHON, name], tmp_path, input=commands), run([*BEDSIDE, name], tmp_path, input=commands)
    assert "(Pdb) 41" in launched.stdout
    assert launched.stdout.splitlines()[-1] == plain.stdout.splitlines()[-1]


def test_the_user_s_own_sitecustomize_runs(tmp_path):
    written(tmp_path, "import builtins\nbuiltins.mine = 'sitecustomize'", "site/sitecustomize.py")
    name = written(tmp_path, "print(mine)")
    launched = run([*BEDSIDE, name], tmp_path, env={"PYTHONPATH": str(tmp_path / "site")})
    assert launched.stdout == "sitecustomize\n"


def test_what_the_script_sets_before_importing_torch_still_counts(tmp_path):
    text = "import os\nos.environ['OMP_NUM_THREADS'] = '3'\nimport torch\nprint(torch.get_num_threads())"
    env = {name: value for name, value in os.environ.items() if name != "OMP_NUM_THREADS"}
    name = written(tmp_path, text)
    plain, launched = (run([*way, name], tmp_path, env=env | {"OMP_NUM_THREADS": ""}) for way in (PYTHON, BEDSIDE))
    assert launched.stdout == plain.stdout


@pytest.mark.parametrize(
    "ending",
    [
        "pass",
        "raise ValueError('mid-way')",
        "signal.raise_signal(signal.SIGINT)",
        "os.kill(os.getpid(), signal.SIGTERM)",
        "sys.exit(7)",
    ],
)
def test_the_diagnosis_comes_at_the_end_however_the_script_ends(tmp_path, ending):
    name = written(tmp_path, TRAINING.format(at_step_59=ending))
    plain, launched = run([*PYTHON, name], tmp_path), run([*BEDSIDE, name], tmp_path)
    assert launched.returncode == plain.returncode
    assert launched.stdout == plain.stdout
    steps = 80 if ending == "pass" else 60
    assert f"{steps} steps" in launched.stderr
    assert launched.stderr.count("The record is in bedside-runs/") == 1
    assert without_the_report(launched.stderr) == plain.stderr.rstrip("\n")


def test_an_error_inside_the_model_is_shown_without_our_hooks(tmp_path):
    text = TRAINING.format(at_step_59="model(torch.randn(3, 9))")
    name = written(tmp_path, text)
    plain, launched = run([*PYTHON, name], tmp_path), run([*BEDSIDE, name], tmp_path)
    assert "bedside/" not in without_the_report(launched.stderr)
    assert launched.stderr.splitlines()[0] == plain.stderr.splitlines()[0]
    assert "mat1 and mat2 shapes cannot be multiplied" in launched.stderr


CHILDREN = """
import multiprocessing, sys
def work(n):
    import torch
    from torch import nn
    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for _ in range(30):
        x = torch.randn(16, 4)
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), x.sum(1, keepdim=True)).backward()
        optimizer.step()
    print("child", sys.argv[1:], n, flush=True)
if __name__ == "__main__":
    context = multiprocessing.get_context(sys.argv[1])
    child = context.Process(target=work, args=(7,))
    child.start()
    child.join()
    print("parent", child.exitcode)
"""


@pytest.mark.parametrize("method", ["spawn", "fork", "forkserver"])
def test_the_process_that_trains_reports_once(tmp_path, method):
    name = written(tmp_path, CHILDREN)
    launched = run([*BEDSIDE, name, method, "--x"], tmp_path)
    assert launched.returncode == 0, launched.stderr
    assert launched.stdout == f"child ['{method}', '--x'] 7\nparent 0\n"
    assert launched.stderr.count("30 steps") == 1
    assert launched.stderr.count("The record is in") == 1


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["train.pyy"], "There is no script 'train.pyy'."),
        (["empty"], "The folder 'empty' has no __main__.py."),
        (["-m", "no.such"], "No module is called 'no.such'."),
        (["--run-dir", "full", "script.py"], "'full' is not empty."),
        (["-m", "-c", "x"], "Both -m and -c were given."),
    ],
)
def test_a_bad_call_is_told_in_three_lines(tmp_path, words, line):
    written(tmp_path, "print('ran')")
    written(tmp_path, "x", "full/file.txt")
    (tmp_path / "empty").mkdir()
    launched = run([*BEDSIDE, *words], tmp_path)
    lines = launched.stderr.splitlines()
    assert launched.returncode == 2
    assert (lines[0], len(lines)) == (line, 3)
    assert [line[:10] for line in lines[1:]] == ["  Expected", "  Try: " + lines[2][7:10]]
    assert launched.stdout == ""
