"""Tables that say in a column of words what their numbers are of."""

from __future__ import annotations

import json

import pytest

from bedside.errors import BedsideError
from bedside.logs import load

LOSS, VAL = [2.0, 1.5, 1.2], [2.1, 1.9, 1.8]


@pytest.fixture
def table(tmp_path):
    def write(*rows: str, name: str = "log.csv"):
        (tmp_path / name).write_text("\n".join(rows) + "\n")
        return load(tmp_path / name)

    return write


@pytest.mark.parametrize(("column", "train", "val"), [("split", "train", "val"), ("phase", "Train", "Valid")])
def test_a_row_per_split(table, column, train, val):
    rows = [f"{n},{train},{a},0.5\n{n},{val},{b},0.4" for n, (a, b) in enumerate(zip(LOSS, VAL, strict=True))]
    run = table(f"epoch,{column},loss,acc", *rows)
    assert run.loss.values.tolist() == LOSS
    assert run.series("val/loss").values.tolist() == VAL
    assert run.series("val/accuracy").values.tolist() == [0.4] * 3


def test_a_row_per_reading(table):
    rows = [f"{n},train_loss,{a}\n{n},val_loss,{b}" for n, (a, b) in enumerate(zip(LOSS, VAL, strict=True))]
    run = table("step,metric,value", *rows)
    assert run.loss.values.tolist() == LOSS
    assert run.series("val/loss").values.tolist() == VAL


def test_stages_that_are_numbers_stay_numbers(table):
    run = table("step,stage,loss", "1,1,2.0", "2,1,1.5", "3,2,1.2")
    assert run.loss.values.tolist() == LOSS
    assert run["stage"].values.tolist() == [1, 1, 2]


def test_words_that_are_no_splits_are_left_alone(table):
    run = table("step,mode,loss", "1,min,2.0", "2,max,1.5", "3,min,1.2")
    assert run.loss.values.tolist() == LOSS


def test_a_curve_from_tensorboards_page_is_named_by_its_file(table):
    rows = ["Wall time,Step,Value", *[f"170000{n},{n},{a}" for n, a in enumerate(LOSS)]]
    assert table(*rows, name="run-1-tag-loss.csv").loss.values.tolist() == LOSS
    with pytest.raises(BedsideError):
        table(*rows, name="somefile.csv")


def test_columns_that_are_named_by_their_split_only(table):
    rows = [f"{n},{2 - 0.2 * n:.1f},{2.2 - 0.1 * n:.1f}" for n in range(6)]
    run = table("epoch,train,val", *rows)
    assert run.loss.values.tolist() == pytest.approx([2.0, 1.8, 1.6, 1.4, 1.2, 1.0])
    assert run.series("val/loss").values[-1] == pytest.approx(1.7)


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("shape", ["a list", "by epoch"])
def test_an_object_that_holds_records(tmp_path, shape, indent):
    records = [{"train_loss": a, "val_loss": b} for a, b in zip(LOSS, VAL, strict=True)]
    by_epoch = {str(n): record for n, record in enumerate(records, 1)}
    listed = {"epochs": [{"epoch": n, **record} for n, record in enumerate(records, 1)]}
    path = tmp_path / "history.json"
    path.write_text(json.dumps(listed if shape == "a list" else by_epoch, indent=indent))
    run = load(path)
    assert run.loss.values.tolist() == LOSS
    assert run.series("val/loss").values.tolist() == VAL
