"""Many runs: the same answers here, in processes, and on Ray; and one bad run stops nobody."""

from __future__ import annotations

import json
import os
import signal
import time

import pytest

from bedside.cli import run as command
from bedside.diagnosis import many_runs
from bedside.diagnosis.many_runs import Order, diagnose_all
from bedside.errors import BadOption
from bedside.finding import Diagnosis, Failure
from bedside.logs import RunFiles, find_runs
from bedside.logs.remote import RemoteRuns, remote_runs


@pytest.fixture
def forest(tmp_path):
    """Twelve runs, every fourth of them sick, and one that only looks like a run."""
    for i in range(12):
        rows = [f"{step},{'nan' if i % 4 == 0 and step > 40 else 2 / (1 + 0.1 * step)}" for step in range(60)]
        path = tmp_path / "runs" / f"{i // 3}" / f"run{i}.csv"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("step,loss\n" + "\n".join(rows) + "\n")
    broken = tmp_path / "runs" / "broken" / "trainer_state.json"
    broken.parent.mkdir()
    broken.write_text('{"log_history": [')
    return tmp_path / "runs"


def plainly(answers):
    return [(a.run, a.to_json()) if isinstance(a, Diagnosis) else (a.run, a.error) for a in answers]


def test_processes_answer_as_one_does(forest):
    found = find_runs(forest)
    here = diagnose_all(found, Order(), workers=1)
    there = diagnose_all(found, Order(), workers=2)
    assert plainly(here) == plainly(there)
    assert [a.run for a in here] == [each.name for each in found]


def test_progress_is_told_to_the_end(forest):
    result = []
    diagnose_all(find_runs(forest), Order(), workers=2, tell=lambda done, total: result.append((done, total)))
    assert result == [(i, 13) for i in range(1, 14)]


def test_a_run_that_cannot_be_read_stops_nobody(forest):
    answers = diagnose_all(find_runs(forest), Order(), workers=1)
    (failure,) = [a for a in answers if isinstance(a, Failure)]
    assert failure.run.endswith("broken")
    assert len(failure.error.splitlines()) == 3
    assert sum(isinstance(a, Diagnosis) for a in answers) == 12


def _die_hang_or_grow(job, order):
    if job.name.endswith("run5.csv"):
        os.kill(os.getpid(), signal.SIGKILL)
    if job.name.endswith("run6.csv"):
        time.sleep(60)
    if job.name.endswith("run7.csv"):
        return [bytes(2**34)]
    return many_runs.answers_for(job, order)


def test_a_run_that_dies_hangs_or_fills_the_memory_is_named_and_the_others_are_answered(forest, monkeypatch):
    monkeypatch.setattr(many_runs, "_answered", _die_hang_or_grow)
    monkeypatch.setattr(many_runs, "_seconds", lambda job: 1.0 if "run6" in job.name else 60.0)
    answers = diagnose_all(find_runs(forest), Order(), workers=2)
    failures = {a.run.rsplit("/", 1)[-1]: a.error for a in answers if isinstance(a, Failure)}
    assert set(failures) == {"run5.csv", "run6.csv", "run7.csv", "broken"}
    assert "was killed" in failures["run5.csv"]
    assert "more than 1 seconds" in failures["run6.csv"]
    assert "more than 2 GB" in failures["run7.csv"]
    assert all(len(error.splitlines()) == 3 for error in failures.values())
    assert sum(isinstance(a, Diagnosis) for a in answers) == 9


def test_memory_holds_no_curves_of_a_tree(forest):
    answers = diagnose_all(find_runs(forest), Order(), workers=1)
    assert all(not a.pictures for a in answers if isinstance(a, Diagnosis))


def test_what_runs_have_in_common_is_kept_once(forest):
    answers = [a for a in diagnose_all(find_runs(forest), Order(), workers=2) if isinstance(a, Diagnosis)]
    assert len({id(a.not_examined) for a in answers}) == len({a.not_examined for a in answers}) < len(answers)


def test_the_command_line_tells_a_tree_as_a_table_with_the_worst_first(forest, capsys):
    assert command(["diagnose", str(forest), "--jobs", "1"]) == 1
    out = capsys.readouterr().out.splitlines()
    assert out[0] == f"in {forest}/"
    verdicts = [line.split()[1] for line in out[1:13]]
    assert verdicts == ["sick"] * 3 + ["healthy"] * 9
    assert "NUM101 nonfinite-loss since 41" in out[1]
    assert out[-1] == "13 runs: 3 sick, 9 healthy, 1 not readable."


def test_the_command_line_gives_a_tree_as_a_list_of_objects(forest, capsys):
    assert command(["diagnose", str(forest), "--jobs", "1", "--format", "json", "--fail-on", "never"]) == 0
    out, err = capsys.readouterr()
    assert len(json.loads(out)) == 12
    assert out == json.dumps(json.loads(out), indent=2) + "\n"
    assert "trainer_state" in err or "cannot be read" in err


def test_names_can_be_changed_and_explained(tmp_path, capsys):
    path = tmp_path / "a.csv"
    path.write_text("step,objective,loss\n" + "".join(f"{i},{30 - i},0\n" for i in range(30)))
    command(["diagnose", str(path), "--map", "objective=loss", "--map", "loss=-", "--explain-names"])
    out = capsys.readouterr().out
    assert "objective  → loss" in out


def test_a_map_that_maps_nothing_is_told(tmp_path, capsys):
    assert command(["diagnose", str(tmp_path), "--map", "loss"]) == 2
    assert capsys.readouterr().err.splitlines()[0] == "--map 'loss' is not OLD=NEW."


def test_a_remote_tree_is_read_like_a_local_one(forest):
    fsspec = pytest.importorskip("fsspec")
    memory = fsspec.filesystem("memory")
    memory.put(str(forest), "/bucket/runs", recursive=True)
    try:
        jobs = remote_runs("memory://bucket/runs")
        assert [job.url.rsplit("/", 1)[-1] for job in jobs] == ["0", "1", "2", "3", "broken"]
        there = diagnose_all(jobs, Order(), workers=1)
        here = diagnose_all(find_runs(forest), Order(), workers=1)
        assert [a.run.split("runs/")[-1] for a in there] == [a.run.split("runs/")[-1] for a in here]
        assert [getattr(a, "verdict", "") for a in there] == [getattr(a, "verdict", "") for a in here]
        assert all(a.run.startswith("memory://bucket/runs/") for a in there)
        (single,) = diagnose_all([RemoteRuns("memory://bucket/runs/0/run1.csv")], Order())
        assert single.run == "memory://bucket/runs/0/run1.csv"
    finally:
        memory.rm("/bucket", recursive=True)


def test_an_unknown_protocol_is_a_three_line_error(capsys):
    pytest.importorskip("fsspec")
    assert command(["diagnose", "nowhere://bucket/runs"]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 3


def test_an_unknown_engine_is_refused(forest):
    with pytest.raises(BadOption, match="No engine is called 'slurm'"):
        diagnose_all(find_runs(forest), Order(), on="slurm")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # Ray's own
def test_ray_answers_as_one_process_does(forest):
    pytest.importorskip("ray")
    found = find_runs(forest)
    assert plainly(diagnose_all(found, Order(), on="ray")) == plainly(diagnose_all(found, Order(), workers=1))


def test_an_answer_travels_between_processes():
    import pickle

    job = RunFiles("a", "csv", ())
    assert pickle.loads(pickle.dumps((job, Order()))) == (job, Order())
