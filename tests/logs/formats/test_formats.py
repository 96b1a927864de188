"""Each smaller format by an example of its layout, and databases that hold several runs."""

from __future__ import annotations

import gzip
import json
import sqlite3
import zipfile
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from bedside.errors import NotARun
from bedside.logs import FORMATS, find_runs, load
from bedside.logs.numbers import number
from bedside.naming.config_names import plain_yaml, settings, settings_in_text

FIXTURES = Path(__file__).parents[1] / "fixtures"


def test_every_format_has_a_name_and_a_file_of_its_own():
    names = [each.name for each in FORMATS]
    assert len(set(names)) == len(names)
    homes = [each.read.__module__ for each in FORMATS]
    assert len(set(homes)) == len(homes)


def test_ultralytics_parts_add_up_and_metrics_are_validation(tmp_path):
    header = "                  epoch,         train/box_loss,         train/cls_loss,  metrics/precision(B),"
    header += " metrics/mAP50-95(B),"
    header += "           val/box_loss,           val/cls_loss,                 lr/pg0,                 lr/pg1"
    rows = [f"  {i},  {2.0 / (i + 1)},  {1.0 / (i + 1)},  0.5,  {0.1 * i},  3.0,  1.5,  0.01,  0.02" for i in range(5)]
    path = tmp_path / "results.csv"
    path.write_text("\n".join([header, *rows]))
    run = load(tmp_path)
    assert (run.format, run.axis) == ("ultralytics", "epoch")
    np.testing.assert_allclose(run.loss.values, [3.0 / (i + 1) for i in range(5)])
    assert set(run.series("val/loss").values) == {4.5}
    assert run.has("val/map50_95")
    assert run.has("part/box_loss")
    assert run.series("lr", "group_1").last == 0.02
    assert any("sum of" in note for note in run.notes)


def test_fastai_measures_its_metrics_on_the_validation_set(tmp_path):
    rows = [f"{i},{2.0 / (i + 1)},{3.0 / (i + 1)},{0.1 * i},00:12" for i in range(5)]
    (tmp_path / "history.csv").write_text("\n".join(["epoch,train_loss,valid_loss,accuracy,time", *rows]))
    run = load(tmp_path)
    assert (run.format, run.axis, run.vitals) == ("fastai", "epoch", ["loss", "val/loss", "val/accuracy"])


def test_detectron2(tmp_path):
    records = [
        {"iteration": 19 + 20 * i, "total_loss": 3.0, "loss_cls": 2.0, "loss_box_reg": 1.0, "lr": 0.1} for i in range(5)
    ]
    records[-1] |= {"bbox/AP": 12.5}
    (tmp_path / "metrics.json").write_text("\n".join(map(json.dumps, records)))
    run = load(tmp_path)
    assert run.format == "detectron2"
    assert run.loss.steps.tolist() == [19, 39, 59, 79, 99]
    assert run.has("part/loss_cls")
    assert run.series("val/bbox_ap").values.tolist() == [12.5]


def test_a_chart_exported_from_wandb_holds_several_runs(tmp_path):
    header = '"Step","brave-sun-1 - train/loss","brave-sun-1 - train/loss__MIN","brave-sun-1 - train/loss__MAX",'
    header += '"calm-sea-2 - train/loss"'
    rows = [f'"{i}","{2.0 - i / 10}","0","9","{1.0 - i / 10}"' for i in range(10)]
    path = tmp_path / "chart.csv"
    path.write_text("\n".join([header, *rows]))
    assert [each.name for each in find_runs(path)] == [f"{path}#brave-sun-1", f"{path}#calm-sea-2"]
    assert load(f"{path}#calm-sea-2").loss.values[0] == 1.0
    assert load(f"{path}#brave-sun-1").loss.values[0] == 2.0


def test_history_exported_from_wandb_is_a_table(tmp_path):
    path = tmp_path / "history.csv"
    path.write_text(
        "_step,_runtime,_timestamp,train/loss,val/loss\n" + "".join(f"{i},{i},{i},{9 - i},\n" for i in range(9))
    )
    assert load(path).loss.values.tolist() == list(range(9, 0, -1))


def test_an_mlflow_database_of_two_runs(tmp_path):
    path = tmp_path / "mlflow.db"
    path.write_bytes(gzip.decompress((FIXTURES / "mlflow.db.gz").read_bytes()))
    with closing(sqlite3.connect(path)) as database:
        database.row_factory = sqlite3.Row
        row = dict(database.execute("SELECT * FROM runs").fetchone())
        row |= {"run_uuid": "other", "name": "second", "start_time": row["start_time"] + 1}
        marks = ", ".join(f":{name}" for name in row)
        database.execute(f"INSERT INTO runs ({', '.join(row)}) VALUES ({marks})", row)
        database.execute(
            "INSERT INTO metrics (key, value, timestamp, run_uuid, step, is_nan) VALUES ('loss', 1, 1, 'other', 0, 0)"
        )
        database.commit()
    found = find_runs(path)
    assert len(found) == 2
    assert found[1].name.endswith("#other")
    assert load(f"{path}#second").loss.values.tolist() == [1.0]
    assert len(load(f"{path}#known").loss) == 30
    with pytest.raises(NotARun, match="no run 'third'"):
        load(f"{path}#third")


def test_a_database_of_something_else_is_no_run(tmp_path):
    path = tmp_path / "contacts.db"
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE people (name TEXT)")
        database.commit()
    with pytest.raises(NotARun):
        load(path)


def test_an_mlflow_database_whose_metrics_are_a_view_of_endless_rows_ends(tmp_path):
    path = tmp_path / "mlflow.db"
    with closing(sqlite3.connect(path)) as database:
        database.executescript(
            """CREATE TABLE runs (run_uuid, name, status, start_time, lifecycle_stage);
            CREATE TABLE experiments (x); CREATE TABLE params (key, value, run_uuid);
            CREATE TABLE metrics (key, value, timestamp, run_uuid, step, is_nan);
            INSERT INTO runs VALUES ('a', 'a', 'FINISHED', 1, 'active');
            INSERT INTO metrics VALUES ('loss', 'text', x'00', 'a', 'b', 0), ('loss', 1e999, 1, 'a', 3, 0);"""
        )
        database.commit()
    run = load(path)
    assert run.loss.values.tolist() == [np.inf]


def test_a_zip_bomb_is_cut_off(tmp_path, monkeypatch):
    monkeypatch.setattr("bedside.logs.formats.comet.MAX_BYTES", 2**20)
    path = tmp_path / "comet.zip"
    message = {"type": "metric_msg", "payload": {"metric": {"metricName": "loss", "metricValue": 1.0, "step": 1}}}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("messages.json", json.dumps(message) + "\n" + "\0" * 2**27)
    run = load(path)
    assert len(run.loss) == 1
    assert any("left out" in note for note in run.notes)


def test_a_zip_of_something_else_is_no_run(tmp_path):
    path = tmp_path / "code.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("../../evil.py", "boom")
    with pytest.raises(NotARun):
        load(path)


def test_mlperf_tells_samples_from_steps_and_ends_with_its_status(tmp_path):
    def point(key, value=None, **metadata):
        return ":::MLLOG " + json.dumps({"key": key, "value": value, "metadata": metadata})

    lines = [
        point("submission_benchmark", "rnnt"),
        point("global_batch_size", 100),
        point("opt_base_learning_rate", 0.1),
    ]
    lines += [point("eval_accuracy", 0.5 / i, samples_count=1000 * i) for i in range(1, 5)] + [
        point("run_stop", status="success")
    ]
    path = tmp_path / "result_0.txt"
    path.write_text("\n".join(lines))
    run = load(path)
    assert run.series("val/wer").steps.tolist() == [10, 20, 30, 40]
    assert run.finished is True
    assert run.config["learning_rate"] == 0.1


def test_mlperf_epochs_stay_epochs_when_nothing_tells_their_length(tmp_path):
    lines = [
        ":::MLLOG " + json.dumps({"key": "eval_accuracy", "value": 0.1 * i, "metadata": {"epoch_num": i}})
        for i in range(1, 6)
    ]
    (tmp_path / "result_0.txt").write_text("\n".join(lines))
    run = load(tmp_path)
    assert run.axis == "epoch"
    assert run.series("val/accuracy").steps.tolist() == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("delimiter", [",", "\t", ";", "|"])
def test_tables_with_any_delimiter_and_a_byte_order_mark(tmp_path, delimiter):
    path = tmp_path / "log.csv"
    rows = [["Step", "Loss"], *([str(i), str(1 / (i + 1))] for i in range(5))]
    path.write_text("\ufeff" + "\n".join(delimiter.join(row) for row in rows), encoding="utf-8")
    assert len(load(path).loss) == 5


def test_damaged_rows_are_counted_and_the_rest_is_read(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("step,loss\n1,2.0\n2\n3,1.0,9,9\n4,0.5\nx,y\n5,0.25")
    run = load(path)
    assert run.loss.steps.tolist() == [1, 3, 4, 5]
    assert np.isfinite(run.loss.values).all()
    assert any("damaged" in note for note in run.notes)


def test_a_json_list_and_nested_records(tmp_path):
    path = tmp_path / "history.json"
    path.write_text(json.dumps([{"step": i, "train": {"loss": 9 - i}, "eval": {"loss": 9.5 - i}} for i in range(9)]))
    run = load(path)
    assert run.format == "json"
    assert run.loss.values[0] == 9
    assert run.series("val/loss").values[0] == 9.5


def test_time_is_an_axis_when_there_is_no_other(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("timestamp,loss\n" + "".join(f"{1700000000 + 60 * i},{9 - i}\n" for i in range(9)))
    run = load(path)
    assert run.axis == "time"
    assert run.loss.steps.tolist() == [60 * i for i in range(9)]


def test_tokens_are_an_axis(tmp_path):
    path = tmp_path / "log.jsonl"
    path.write_text("\n".join(json.dumps({"tokens": 1000 * i, "loss": 9 - i}) for i in range(9)))
    assert load(path).axis == "tokens"


@pytest.mark.parametrize(
    ("text", "value"),
    [("1.5E-04", 1.5e-4), ("8,528", 8528), ("12%", 0.12), ("tensor(0.3)", 0.3), ("tensor(0.3, device='cuda:0')", 0.3),
     ("inf", np.inf), ("-Infinity", -np.inf), ("", None), ("NA", None), ("None", None), ("abc", None), (True, 1.0),
     (10**400, np.inf), ([1], None), (None, None), ("1,2", None)],
)  # fmt: skip
def test_numbers_as_people_write_them(text, value):
    assert number(text) == value


def test_settings_have_one_name_whatever_the_tool_calls_them():
    found = settings(
        {"optimizer": {"lr": 0.1, "weight_decay": 0.01}, "trainer": {"max_epochs": 3, "gradient_clip_val": 1.0}}
    )
    assert found["learning_rate"] == 0.1
    assert found["epochs"] == 3
    assert found["max_grad_norm"] == 1.0
    assert found["optimizer.lr"] == 0.1


def test_settings_cannot_be_endless():
    deep: dict[str, object] = {}
    for _ in range(100):
        deep = {"a": deep}
    assert len(settings({"deep": deep, **{str(i): i for i in range(10_000)}})) < 600


@pytest.mark.parametrize(
    "line", ["lr=0.1", "lr: 0.1", "'lr': 0.1,", "--lr 0.1", "lr ............ 0.1", "Args(lr=0.1)", "LR=0.1"]
)
def test_settings_are_found_in_text(line):
    assert settings_in_text(line) == {"lr": 0.1}


def test_yaml_is_read_without_executing_anything():
    text = "lr: 1e-3\nname: !!python/object/apply:os.system ['boom']\nmodel:\n  layers: 4\n# a comment: 5\n- item: 3\n"
    assert plain_yaml(text) == {"lr": 1e-3, "name": "!!python/object/apply:os.system ['boom']", "model.layers": 4}


def test_aim_without_its_package_says_what_to_install(tmp_path):
    (tmp_path / ".aim").mkdir()
    (tmp_path / ".aim" / "run_metadata.sqlite").write_bytes(b"SQLite format 3\0" + bytes(100))
    with pytest.raises(NotARun) as error:
        load(tmp_path)
    assert str(error.value).splitlines()[-1] == "  Try: pip install aim"


def test_settings_beside_a_log_are_the_runs(tmp_path):
    (tmp_path / "metrics.csv").write_text("epoch,step,train_loss\n0,1,2.0\n0,2,1.0\n")
    (tmp_path / "hparams.yaml").write_text("lr: 0.1\nmodel: !!python/object:os.system {}\n")
    assert load(tmp_path).config["learning_rate"] == 0.1
    state = {"log_history": [{"step": 1, "loss": 1.0}], "global_step": 1, "max_steps": 9}
    (tmp_path / "hf").mkdir()
    (tmp_path / "hf" / "trainer_state.json").write_text(json.dumps(state))
    (tmp_path / "hf" / "config.json").write_text(
        json.dumps({"vocab_size": 50257, "id2label": {"0": "a", "1": "b"}, "x": 1})
    )
    config = load(tmp_path / "hf").config
    assert (config["vocab_size"], config["classes"], config["max_steps"]) == (50257, 2, 9)
    assert "x" not in config


def test_the_guide_lists_every_format():
    guide = (Path(__file__).parents[3] / "docs" / "logs.md").read_text(encoding="utf-8")
    listed = [line.split("`")[1] for line in guide.splitlines() if line.startswith("| `") and "--format-in" not in line]
    assert sorted(listed) == sorted(["bedside", *(each.name for each in FORMATS)])


@pytest.mark.parametrize("header", ["epoch,batch,loss", "Epoch,Step,Loss", "epoch,iteration,loss"])
def test_a_count_that_begins_anew_in_every_epoch_is_no_resume(tmp_path, header):
    path = tmp_path / "log.csv"
    rows = [f"{e},{b},{9 - e - b / 10}" for e in range(3) for b in range(5)]
    path.write_text("\n".join([header, *rows]))
    run = load(path)
    assert run.loss.steps.tolist() == list(range(15))
    assert run.events == ()
    assert any("begins anew" in note for note in run.notes)


def test_records_may_begin_anew_in_every_epoch_too(tmp_path):
    path = tmp_path / "log.jsonl"
    path.write_text("\n".join(json.dumps({"epoch": e, "batch": b, "loss": 9 - e}) for e in range(3) for b in range(5)))
    assert load(path).loss.steps.tolist() == list(range(15))


def test_a_step_that_only_went_back_once_within_an_epoch_was_resumed(tmp_path):
    path = tmp_path / "log.csv"
    rows = [f"0,{s},{9.0}" for s in [*range(20), *range(10, 30)]]
    path.write_text("\n".join(["epoch,step,loss", *rows]))
    assert [event.step for event in load(path).events] == [10]


def test_a_table_without_any_step_is_counted_if_it_is_all_numbers(tmp_path):
    path = tmp_path / "train.log"
    path.write_text("train_loss\ttrain_EPE\tEPE\n" + "".join(f"{9 - i}\t{8 - i}\t{7 - i}\n" for i in range(6)))
    run = load(path)
    assert run.loss.steps.tolist() == [0, 1, 2, 3, 4, 5]
    assert any("rows were counted" in note for note in run.notes)
    path.write_text("model,loss\nresnet,1\nvgg,2\nvit,3\n")
    with pytest.raises(NotARun):
        load(path)


def test_decimal_commas_between_semicolons(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("step;loss;lr\n" + "\n".join(f"{i};{9 - i},5;1,5e-3" for i in range(5)))
    run = load(path)
    assert run.loss.values.tolist() == [9.5, 8.5, 7.5, 6.5, 5.5]
    assert run.series("lr").last == 1.5e-3


def test_semicolons_with_decimal_points_keep_their_thousands(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("step;loss\n" + "\n".join(f"1,00{i};{9 - i}.5" for i in range(5)))
    assert load(path).loss.steps.tolist() == [1000, 1001, 1002, 1003, 1004]


def test_mmdetection_evaluates_in_records_of_another_mode(tmp_path):
    records = [{"env_info": "linux", "seed": 0}]
    for epoch in (1, 2):
        records += [{"mode": "train", "epoch": epoch, "iter": i, "lr": 0.02, "loss": 9 - epoch} for i in (50, 100)]
        records.append({"mode": "val", "epoch": epoch, "iter": 625, "lr": 0.02, "bbox_mAP": 0.1 * epoch})
    path = tmp_path / "20240501.log.json"
    path.write_text("\n".join(map(json.dumps, records)))
    run = load(path)
    assert run.format == "json"
    assert run.loss.steps.tolist() == [50, 100, 151, 201]
    assert run.series("val/bbox_map").steps.tolist() == [100, 201]


def test_a_metric_with_its_statistics_is_its_mean(tmp_path):
    path = tmp_path / "stats.jsonl"
    rows = [{"step": i, "Loss/G/loss": {"num": 8, "mean": 2.0 - i, "std": 0.1}} for i in range(3)]
    path.write_text("\n".join(map(json.dumps, rows)))
    assert load(path).loss.values.tolist() == [2.0, 1.0, 0.0]


def test_stable_baselines_counts_timesteps(tmp_path):
    path = tmp_path / "progress.csv"
    path.write_text("time/total_timesteps,train/loss\n" + "\n".join(f"{2048 * i},{9 - i}" for i in range(1, 4)))
    assert load(path).loss.steps.tolist() == [2048, 4096, 6144]


def test_a_table_may_begin_with_comments_and_be_written_by_powershell(tmp_path):
    text = "# experiment 12\n# lr=0.1\nstep,loss\n" + "\n".join(f"{i},{9 - i}" for i in range(5))
    for encoding in ("utf-8", "utf-16"):
        path = tmp_path / f"{encoding}.csv"
        path.write_text(text, encoding=encoding)
        assert load(path).loss.values.tolist() == [9, 8, 7, 6, 5]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be"])
def test_text_and_records_may_be_utf_16(tmp_path, encoding):
    mark = "" if encoding == "utf-16" else "\ufeff"
    text, records = tmp_path / "train.log", tmp_path / "log.jsonl"
    text.write_text(mark + "".join(f"step {i} loss {9 - i / 1000}\n" for i in range(2000)), encoding=encoding)
    records.write_text(
        mark + "".join(json.dumps({"step": i, "loss": 9 - i}) + "\n" for i in range(5)), encoding=encoding
    )
    assert len(load(text).loss) == 2000
    assert load(records).loss.values.tolist() == [9, 8, 7, 6, 5]


def test_a_history_of_splits_and_of_different_lengths(tmp_path):
    path = tmp_path / "history.json"
    path.write_text(json.dumps({"train": {"losses": [9 - i / 10 for i in range(40)]}, "val": {"loss": [9, 8, 7, 6]}}))
    run = load(path)
    assert len(run.loss) == 40
    assert run.series("val/loss").steps.tolist() == [9, 19, 29, 39]
    path.write_text(json.dumps({"loss": [3, 2, 1], "val_loss": [4, 3]}))
    assert load(path).series("val/loss").steps.tolist() == [0, 1]


def test_a_history_with_settings_names_and_times_beside_its_lists(tmp_path):
    path = tmp_path / "training_history.json"
    lists = {"train_loss": [9 - i / 10 for i in range(40)], "val_loss": [9.5 - i / 10 for i in range(40)]}
    before = {
        "timestamp": "2026-04-18",
        "img_size": 112,
        "config": {"lr": 0.1},
        "classes": ["a"] * 100,
        "starts": [0, 15],
    }
    path.write_text(json.dumps({**before, **lists, "test_acc": 77.0}, indent=2))
    run = load(path)
    assert (run.format, len(run.loss), len(run.series("val/loss"))) == ("keras", 40, 40)
    assert not any("different lengths" in note for note in run.notes)


def test_a_history_whose_first_lists_are_scores(tmp_path):
    path = tmp_path / "history.json"
    path.write_text(json.dumps({"accuracy": [0.1234567] * 900, "loss": [0.5] * 900}, indent=2))
    assert len(load(path).loss) == 900


def test_a_list_with_the_history_of_every_fit(tmp_path):
    path = tmp_path / "history.json"
    path.write_text(json.dumps([{"loss": [9 - i], "val_loss": [9.5 - i]} for i in range(9)]))
    run = load(path)
    assert run.format == "json"
    assert run.loss.values.tolist() == list(range(9, 0, -1))
    assert run.series("val/loss").values[0] == 9.5


def test_records_that_hold_lists_stay_records(tmp_path):
    path = tmp_path / "log.jsonl"
    path.write_text("\n".join(json.dumps({"step": i, "loss": 9 - i, "losses": [1.0, 2.0]}) for i in range(9)))
    assert load(path).loss.values.tolist() == list(range(9, 0, -1))


GERMAN = "Epoche;Verlust;Validierungsverlust;Genauigkeit\n0;2,31;2,40;0,1\n1;1,90;2,10;0,25\n"
FRENCH = "Époque;Perte;perte_val;précision\n0;2,31;2,40;0,1\n1;1,90;2,10;0,25\n"
SPANISH = "época;pérdida;pérdida de validación;precisión\n0;2,31;2,40;0,1\n1;1,90;2,10;0,25\n"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "latin-1", "cp1252", "utf-16"])
@pytest.mark.parametrize("text", [GERMAN, FRENCH, SPANISH], ids=["German", "French", "Spanish"])
def test_tables_of_other_languages_in_any_encoding(tmp_path, text, encoding):
    path = tmp_path / "log.csv"
    path.write_bytes(text.encode(encoding))
    run = load(path)
    assert run.axis == "epoch"
    assert run.loss.values.tolist() == [2.31, 1.90]
    assert run.series("val/loss").values.tolist() == [2.40, 2.10]
    assert any(vital in ("train/accuracy", "train/precision") for vital, _ in run.series_keys)


@pytest.mark.parametrize("delimiter", ["\t", ";", "|"])
def test_decimal_commas_between_any_delimiters(tmp_path, delimiter):
    path = tmp_path / "log.tsv"
    rows = ["epoch loss val_loss".split(), ["0", "2,31", "2,405"], ["1", "1,9", "2,107"]]
    path.write_text("\n".join(delimiter.join(row) for row in rows) + "\n")
    run = load(path)
    assert run.loss.values.tolist() == [2.31, 1.9]
    assert run.series("val/loss").values.tolist() == [2.405, 2.107]


def test_quoted_cells_hold_decimal_commas_or_thousands(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text('epoch,loss\n0,"2,31"\n1,"1,90"\n')
    assert load(path).loss.values.tolist() == [2.31, 1.9]
    path.write_text('epoch,loss,tokens\n0,3,"1,024"\n1,2,"2,048"\n')
    assert load(path).series("tokens").values.tolist() == [1024, 2048]


def test_a_log_with_one_broken_letter_is_still_utf_8(tmp_path):
    path = tmp_path / "log.txt"
    path.write_bytes("Époque 1 perte 2.5\n".encode() + b"\xe2\x96\n" + "Époque 2 perte 1.5\n".encode())
    assert load(path).loss.values.tolist() == [2.5, 1.5]
