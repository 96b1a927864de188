"""Each run is found once, by what its files hold."""

from __future__ import annotations

import json
import os
from dataclasses import replace

import pytest

from bedside.errors import NoSuchPath, NotARun
from bedside.logs import discover as tree
from bedside.logs import find_runs, load
from bedside.logs.formats import csv as table

CSV = "step,loss\n" + "".join(f"{i},{1 / (i + 1)}\n" for i in range(30))


def put(path, text=CSV):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def state(steps):
    records = [{"step": i, "loss": 1.0 / i} for i in range(1, steps + 1)]
    return json.dumps({"log_history": records, "global_step": steps, "max_steps": 100})


def names(root):
    return [each.name.removeprefix(f"{root}/") for each in find_runs(root)]


def test_every_csv_of_a_folder_is_a_run_in_natural_order(tmp_path):
    for i in (10, 2, 1):
        put(tmp_path / f"run{i}.csv")
    assert names(tmp_path) == ["run1.csv", "run2.csv", "run10.csv"]


def test_what_is_no_log_is_passed_over(tmp_path):
    put(tmp_path / "a.csv")
    put(tmp_path / "config.json", '{"model": "gpt2", "epochs": [1, 2]}')
    put(tmp_path / "people.csv", "name,age\nann,3\n")
    put(tmp_path / "notes.txt", "remember the milk\n")
    put(tmp_path / "train.py", "print('step 1 loss 2')\n")
    put(tmp_path / ".git" / "x.csv")
    assert names(tmp_path) == ["a.csv"]


def test_checkpoints_are_their_run_and_the_longest_is_read(tmp_path):
    put(tmp_path / "out" / "checkpoint-10" / "trainer_state.json", state(10))
    put(tmp_path / "out" / "checkpoint-20" / "trainer_state.json", state(20))
    (found,) = find_runs(tmp_path)
    assert found.name == f"{tmp_path}/out"
    assert len(load(tmp_path / "out").loss) == 20


def test_a_broken_checkpoint_does_not_hide_the_others(tmp_path):
    put(tmp_path / "checkpoint-10" / "trainer_state.json", state(10))
    put(tmp_path / "checkpoint-20" / "trainer_state.json", state(20)[:100])
    assert len(load(tmp_path).loss) == 10


def test_two_files_of_one_run_are_one_run_and_the_richer_is_read(tmp_path):
    put(tmp_path / "trainer_state.json", state(10))
    lines = [json.dumps({"current_steps": i, "total_steps": 10, "loss": 1.0, "percentage": 1}) for i in range(1, 11)]
    put(tmp_path / "trainer_log.jsonl", "\n".join(lines))
    (found,) = find_runs(tmp_path)
    assert found.format == "hf-trainer"
    assert load(tmp_path, format_in="llama-factory").format == "llama-factory"


def test_the_console_beside_a_table_is_not_another_run(tmp_path):
    put(tmp_path / "a.csv")
    put(tmp_path / "out.log", "step 1 loss 2.0\nstep 2 loss 1.0\n")
    assert names(tmp_path) == ["a.csv"]


def test_text_logs_stand_for_themselves_when_there_is_nothing_else(tmp_path):
    put(tmp_path / "one.log", "step 1 loss 2.0\nstep 2 loss 1.0\n")
    put(tmp_path / "two.txt", "step 1 loss 2.0\nstep 2 loss 1.0\n")
    assert names(tmp_path) == ["one.log", "two.txt"]


def test_a_log_hidden_behind_a_long_preamble_is_recognised(tmp_path):
    put(tmp_path / "train.log", "loading shard\n" * 5000 + "step 1 loss 2.0\nstep 2 loss 1.0\n")
    assert names(tmp_path) == ["train.log"]


def test_train_csv_and_val_csv_are_one_run(tmp_path):
    put(tmp_path / "train.csv")
    put(tmp_path / "val.csv")
    (found,) = find_runs(tmp_path)
    run = load(tmp_path)
    assert len(found.files) == 2
    assert run.has("loss")
    assert run.has("val/loss")


def test_links_that_lead_out_of_the_tree_are_not_followed(tmp_path):
    outside = put(tmp_path / "outside" / "secret.csv")
    inside = tmp_path / "inside"
    put(inside / "a.csv")
    os.symlink(outside, inside / "b.csv")
    os.symlink(outside.parent, inside / "folder")
    os.symlink(inside / "a.csv", inside / "c.csv")
    assert names(inside) == ["a.csv", "c.csv"]
    assert len(load(inside / "b.csv").loss) == 30, "a link that was named is meant"


def test_a_loop_of_links_ends(tmp_path):
    put(tmp_path / "a.csv")
    os.symlink(tmp_path, tmp_path / "again")
    assert names(tmp_path) == ["a.csv"]


def test_no_file_is_opened_twice_to_find_runs(tmp_path, monkeypatch):
    for i in range(5):
        put(tmp_path / f"{i}.csv")
        put(tmp_path / "sub" / f"{i}.log", "step 1 loss 2.0\nstep 2 loss 1.0\n")
    opened = []
    real = open
    monkeypatch.setattr(tree, "open", lambda path, *args: opened.append(path) or real(path, *args), raising=False)
    assert len(find_runs(tmp_path)) == 10
    assert len(opened) == len(set(opened)) == 10


def test_an_unreadable_folder_is_passed_over(tmp_path):
    put(tmp_path / "a.csv")
    locked = tmp_path / "locked"
    locked.mkdir()
    locked.chmod(0)
    try:
        assert names(tmp_path) == ["a.csv"]
    finally:
        locked.chmod(0o700)


def test_a_folder_of_several_runs_is_not_one(tmp_path):
    for i in range(5):
        put(tmp_path / f"{i}.csv")
    with pytest.raises(NotARun, match="holds 5 runs") as error:
        load(tmp_path)
    assert str(error.value).splitlines()[1].startswith("  Expected: one of them:")
    assert str(error.value).splitlines()[2] == f"  Try: bedside diagnose {tmp_path}"


def test_a_missing_path_names_what_is_there(tmp_path):
    put(tmp_path / "train.csv")
    with pytest.raises(NoSuchPath) as error:
        load(tmp_path / "trian.csv")
    assert len(str(error.value).splitlines()) == 3
    assert "train.csv" in str(error.value)


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("empty.csv", "", "is empty"),
        ("x.csv", "hello", "(5 bytes) is not a log that can be read"),
        ("x.bin", "\0\0", "is not a log"),
    ],
)
def test_what_cannot_be_read_is_said_in_three_lines(tmp_path, name, content, said):
    put(tmp_path / name, content)
    with pytest.raises(NotARun) as error:
        load(tmp_path / name)
    assert said in str(error.value)
    assert len(str(error.value).splitlines()) == 3


def test_a_folder_without_a_run_says_what_it_holds(tmp_path):
    put(tmp_path / "weights.pt", "x")
    with pytest.raises(NotARun, match=r"which holds weights\.pt"):
        load(tmp_path)


def test_a_format_can_be_forced_and_a_wrong_one_is_told(tmp_path):
    path = put(tmp_path / "data.weird")
    assert load(path, format_in="csv").format == "csv"
    with pytest.raises(NotARun, match="cannot be read as W&B"):
        load(path, format_in="wandb")


def test_an_unknown_format_names_the_nearest(tmp_path):
    with pytest.raises(Exception, match="No format is called 'tensorbord'") as error:
        load(put(tmp_path / "a.csv"), format_in="tensorbord")
    assert "one of tensorboard" in str(error.value)


def test_a_header_and_a_record_may_be_long(tmp_path):
    wide = [f"grad_2.0_norm/transformer.blocks.{i}.attention.weight" for i in range(500)]
    header = ",".join([*wide, "epoch", "step", "train_loss"])
    put(tmp_path / "a" / "metrics.csv", header + "\n" + ("1.0," * 500 + "0,1,2.0\n"))
    put(tmp_path / "b.jsonl", json.dumps({**dict.fromkeys(wide, 1.0), "step": 1, "loss": 2.0}) + "\n")
    assert [each.format for each in find_runs(tmp_path)] == ["json", "lightning"]
    assert len(load(tmp_path / "a").owners("grad_norm")) == 500


def test_a_file_that_breaks_a_reader_does_not_end_the_walk(tmp_path, monkeypatch):
    put(tmp_path / "good.csv")
    put(tmp_path / "odd.csv")

    def recognises(path, head):
        return {"good": True}[path.stem]

    monkeypatch.setattr(tree, "FORMATS", (replace(table.FORMAT, recognises=recognises),))
    assert [run.name for run in tree.find_runs(tmp_path)] == [f"{tmp_path}/good.csv"]


def test_a_missing_log_is_answered_with_what_lies_there_but_not_with_hidden_files(tmp_path):
    (tmp_path / ".git").mkdir()
    (tmp_path / "run_1.csv").write_text("step,loss\n0,1\n")
    with pytest.raises(NoSuchPath, match="does not exist") as missing:
        load(tmp_path / "run_2.csv")
    assert "run_1.csv" in missing.value.expected
    assert ".git" not in missing.value.expected
