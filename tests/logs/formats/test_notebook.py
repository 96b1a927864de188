"""What the cells of a notebook printed: bars, tables and bare losses."""

from __future__ import annotations

import json

import pytest
from tests.logs.printed import curve

from bedside.errors import NotARun
from bedside.logs import find_runs, load


def stream(*lines):
    return {"output_type": "stream", "name": "stdout", "text": [f"{line}\n" for line in lines]}


def shown(html):
    data = {"text/html": html.splitlines(keepends=True), "text/plain": ["<IPython.core.display.HTML object>"]}
    return {"output_type": "display_data", "data": data, "metadata": {}}


@pytest.fixture
def notebook(tmp_path):
    def write(*cells, name="train.ipynb"):
        path = tmp_path / name
        made = [{"cell_type": "code", "source": ["fit()"], "outputs": list(outputs)} for outputs in cells]
        text = [{"cell_type": "markdown", "source": ["step 1 loss 9.0"]}]
        path.write_text(json.dumps({"cells": text + made, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))
        return path

    return write


KERAS = [
    line
    for epoch in range(1, 5)
    for line in (
        f"Epoch {epoch}/4",
        f"\x1b[1m  1/100\x1b[0m \x1b[37m━━━━\x1b[0m \x1b[1m1s\x1b[0m 9ms/step - loss: 3.0\b\b\b\r"
        f"\x1b[1m100/100\x1b[0m \x1b[32m━━━━\x1b[0m \x1b[1m1s\x1b[0m 9ms/step - loss: {2 / epoch:.4f} - "
        f"val_loss: {2.2 / epoch:.4f} - val_accuracy: 0.{epoch}500",
    )
]


def test_reads_keras_bars(notebook):
    run = load(notebook([stream(*KERAS)]))
    assert run.format == "notebook"
    assert run.series("val/loss").values.tolist() == pytest.approx([2.2, 1.1, 0.7333, 0.55])
    assert run.series("val/accuracy").values.tolist() == pytest.approx([0.15, 0.25, 0.35, 0.45])
    assert 0.5 in run.loss.values


def test_reads_a_table_of_the_trainer_with_its_no_log(notebook):
    rows = [("500", "No log", "1.5", "0.61"), ("1000", "1.2000", "1.1", "0.70"), ("1500", "0.9", "1.0", "0.74")]
    body = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows)
    head = "".join(f"<th>{name}</th>" for name in ("Step", "Training Loss", "Validation Loss", "Accuracy"))
    run = load(notebook([shown(f"<div>[1500/1500]</div>\n<table><thead><tr>{head}</tr></thead>{body}</table>")]))
    assert curve(run.loss) == {1000: 1.2, 1500: 0.9}
    assert curve(run.series("val/loss")) == {500: 1.5, 1000: 1.1, 1500: 1.0}
    assert curve(run.series("val/accuracy")) == {500: 0.61, 1000: 0.70, 1500: 0.74}


def test_every_cell_that_printed_a_curve_is_a_run(notebook):
    losses = [stream(*(f"epoch {i} train_loss {3 - i / 10:.2f}" for i in range(8)))]
    path = notebook(losses, [stream("test loss 0.4")], losses)
    assert [found.name.rsplit("#")[-1] for found in find_runs(path)] == ["cell-2", "cell-4"]
    assert len(load(f"{path}#cell-4").loss) == 8


def test_a_curve_printed_over_many_cells_is_one(notebook):
    cells = [[stream(f"epoch {i} train_loss {3 - i / 10:.2f}")] for i in range(6)]
    assert len(load(notebook(*cells)).loss) == 6


def test_a_notebook_without_a_curve_is_refused_in_three_lines(notebook, tmp_path):
    with pytest.raises(NotARun, match="not a log that can be read"):
        load(notebook([stream("Sequential(", "  (0): Linear(784, 256)", ")")]))
    broken = tmp_path / "broken.ipynb"
    broken.write_text('{"cells": [')
    with pytest.raises(NotARun, match="not JSON"):
        load(broken)
    with pytest.raises(NotARun, match="cell-9"):
        load(f"{notebook([stream(*KERAS)])}#cell-9")
