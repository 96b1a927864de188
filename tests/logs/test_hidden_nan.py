"""Missing is not NaN, and a NaN that the tool hid is found again."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from bedside.logs import load

HEADER = "global_step,grad_norm,loss,validation/accuracy,validation/loss,num_examples,"
HEADER += "accumulated_submission_time,preemption_count"


@pytest.fixture
def csv(tmp_path):
    def write(*rows: str, header: str = HEADER, name: str = "measurements.csv"):
        path = tmp_path / name
        path.write_text("\n".join([header, *rows]) + "\n")
        return load(path)

    return write


def test_a_blank_loss_beside_filled_siblings_was_nan(csv):
    run = csv("1,,,0.1,3.0,50,1,0", "2,,,0.2,2.0,50,2,0", "3,,,0.0,,50,3,0", "4,,,0.0,,50,4,0")
    values = run.series("val/loss").values
    assert np.isfinite(values).tolist() == [True, True, False, False]
    assert any("read as NaN: 2 of validation/loss" in note for note in run.notes)


def test_a_row_with_nothing_but_its_step_was_all_nan(csv):
    run = csv("1,0.5,3.0,,,,,", "2,0.5,2.0,,,,,", "3,inf,inf,,,,,", "4,,,,,,,", "5,,,,,,,", "6,,,0.1,2.0,50,6,0")
    assert np.isnan(run.loss.values).tolist() == [False, False, False, True, True]
    assert np.isnan(run.series("grad_norm").values).sum() == 2


def test_training_rows_do_not_make_the_evaluation_nan(csv):
    run = csv("1,0.5,3.0,,,,,", "1,,,0.1,3.0,50,1,0", "2,0.5,2.0,,,,,", "3,0.5,1.0,,,,,", "3,,,0.2,2.0,50,3,0")
    assert np.isfinite(run.series("val/loss").values).all()
    assert np.isfinite(run.loss.values).all()
    assert len(run.loss) == 3


def test_a_last_row_of_another_kind_is_no_nan(csv):
    run = csv("1,,,0.1,3.0,50,1,0", "2,,,0.2,2.0,50,2,0", "3,,,0.3,1.0,50,3,0", "3,,,,,,3,0")
    assert np.isfinite(run.series("val/loss").values).all()


def test_a_loss_logged_every_tenth_row_is_only_sparse(csv):
    rows = [f"{i},{1.0 / (i + 1) if i % 10 == 0 else ''},0.01" for i in range(50)]
    run = csv(*rows, header="step,loss,lr", name="log.csv")
    assert len(run.loss) == 5
    assert np.isfinite(run.loss.values).all()


def test_an_evaluation_every_third_row_of_a_bare_table_is_only_sparse(csv):
    rows = [f"{i},{1.0 / (i + 1) if i % 3 == 0 else ''}" for i in range(32)]
    run = csv(*rows, header="step,val_loss", name="log.csv")
    assert len(run.series("val/loss")) == 11
    assert np.isfinite(run.series("val/loss").values).all()


def test_a_file_that_writes_nan_itself_leaves_blank_for_missing(csv):
    run = csv("1,0.1,3.0", "2,0.2,2.0", "3,nan,1.0", "4,0.4,", header="step,accuracy,loss", name="log.csv")
    assert run.loss.values.tolist() == [3.0, 2.0, 1.0]


def test_lightning_never_means_nan_by_a_blank(csv):
    rows = ["0,0,1.0,", "0,1,0.9,", "0,1,,2.0", "1,2,,", "1,3,0.8,", "1,3,,1.9"]
    run = csv(*rows, header="epoch,step,train_loss,val_loss", name="metrics.csv")
    assert run.format == "lightning"
    assert run.loss.values.tolist() == [1.0, 0.9, 0.8]


def test_a_blank_to_the_end_was_nan_after_a_single_row(csv):
    rows = ["0,3.0,1.2,1e-3,512", *(f"{i},,,1e-3,{512 * i}" for i in range(1, 20))]
    run = csv(*rows, header="step,loss,grad_norm,lr,tokens", name="log.csv")
    assert np.isnan(run.loss.values[1:]).all()
    assert np.isnan(run.series("grad_norm").values[1:]).all()


def test_losses_and_metrics_that_go_together_do_not_bear_witness_for_each_other(csv):
    good = ["1,0.1,3.0,0.5,0.4,50", "2,0.2,2.0,0.4,0.3,50"]
    header = "step,val_acc,val_loss,val_wer,val_cer,val_num_examples"
    run = csv(*good, "3,,,,,50", "4,,,,,50", header=header, name="log.csv")
    assert np.isnan(run.series("val/loss").values).tolist() == [False, False, True, True]


def test_an_evaluation_of_the_first_row_only_is_no_nan(csv):
    rows = ["0,3.0,2.9,", *(f"{i},{3 - 0.1 * i:.1f},,{'0.5' if i % 5 == 0 else ''}" for i in range(1, 20))]
    run = csv(*rows, header="step,loss,val_loss,memory", name="log.csv")
    assert np.isfinite(run.series("val/loss").values).all()


def trainer_state(tmp_path, records, **more):
    path = tmp_path / "trainer_state.json"
    path.write_text(json.dumps({"log_history": records, "global_step": len(records), "max_steps": 100, **more}))
    return load(path)


def test_zero_beside_a_nan_gradient_was_nan(tmp_path):
    records = [{"step": i, "loss": 1.0 / i, "grad_norm": 1.0} for i in range(1, 6)]
    records += [{"step": i, "loss": 0.0, "grad_norm": math.nan} for i in range(6, 9)]
    run = trainer_state(tmp_path, records)
    assert np.isnan(run.loss.values).tolist() == [False] * 5 + [True] * 3
    assert any("filters NaN" in note for note in run.notes)


def test_zeros_right_after_a_proven_nan_were_nan_whatever_became_of_the_gradient(tmp_path):
    records = [{"step": i, "loss": 1.0 / i, "grad_norm": 1.0} for i in range(1, 6)]
    records += [{"step": 6 + i, "loss": 0.0, "grad_norm": norm} for i, norm in enumerate((math.nan, None, 0.0))]
    records.append({"step": 9, "loss": 0.0, "grad_norm": 1.0})
    assert np.isnan(trainer_state(tmp_path, records).loss.values).tolist() == [False] * 5 + [True] * 3 + [False]


@pytest.mark.parametrize("name", ["out.log", "log.jsonl"])
def test_the_trainer_filters_nan_on_its_console_and_in_records_too(tmp_path, name):
    records = [{"step": i, "loss": 3.0 - i, "grad_norm": 1.0} for i in range(1, 3)]
    records += [{"step": i, "loss": 0.0, "grad_norm": math.nan} for i in range(3, 5)]
    path = tmp_path / name
    path.write_text("\n".join(map(str if name == "out.log" else json.dumps, records)) + "\n")
    assert np.isnan(load(path).loss.values).tolist() == [False, False, True, True]


def test_a_lone_nan_gradient_beside_a_real_loss_is_a_skip(tmp_path):
    records = [{"step": i, "loss": 1.0 / i, "grad_norm": math.nan if i == 3 else 1.0} for i in range(1, 9)]
    run = trainer_state(tmp_path, records)
    assert np.isfinite(run.loss.values).all()
    assert any("never two in a row" in note for note in run.notes)


def test_a_cliff_to_exactly_zero_was_nan(tmp_path):
    records = [{"step": i, "loss": 1.0 + 1 / i} for i in range(1, 6)] + [{"step": i, "loss": 0.0} for i in range(6, 9)]
    assert np.isnan(trainer_state(tmp_path, records).loss.values).sum() == 3


@pytest.mark.parametrize(
    "losses",
    [
        [1.0, 0.3, 0.02, 0.001, 0.0001, 0.0, 0.0],  # learned, and rounded to four digits
        [0.0, 0.0, 0.0, 0.0],  # GRPO starts at exactly zero
        [1.0, 0.5, 0.4, 0.0],  # one alone says nothing
    ],
)
def test_other_zeros_are_zeros(tmp_path, losses):
    run = trainer_state(tmp_path, [{"step": i, "loss": loss} for i, loss in enumerate(losses, 1)])
    assert run.loss.values.tolist() == losses


def test_a_zero_loss_with_a_zero_gradient_is_zero(tmp_path):
    records = [{"step": i, "loss": 1.0, "grad_norm": 1.0} for i in range(1, 6)]
    records += [{"step": i, "loss": 0.0, "grad_norm": 0.0} for i in range(6, 9)]
    assert trainer_state(tmp_path, records).loss.values[-1] == 0.0


def test_the_mean_over_the_whole_run_is_no_reading(tmp_path):
    records = [{"step": i, "loss": 1.0} for i in range(1, 6)]
    records.append({"step": 5, "train_loss": 0.7, "train_runtime": 3.0, "total_flos": 1e9, "epoch": 1.0})
    run = trainer_state(tmp_path, records)
    assert run.loss.values.tolist() == [1.0] * 5
    assert run.config["train_loss"] == 0.7


def test_nan_in_json_lines_may_be_written_in_three_ways(tmp_path):
    path = tmp_path / "log.jsonl"
    path.write_text(
        '{"step": 1, "loss": NaN}\n{"step": 2, "loss": "NaN"}\n'
        '{"step": 3, "loss": null}\n{"step": 4, "loss": Infinity}\n'
    )
    run = load(path)
    assert run.loss.steps.tolist() == [1, 2, 4]
    assert np.isnan(run.loss.values[:2]).all()
    assert run.loss.values[2] == math.inf


def test_a_training_loss_that_is_no_longer_written_while_validation_goes_on_is_not_nan(csv):
    rows = [f"{i},{3 - 0.2 * i if i < 6 else ''},{3 - 0.1 * i:.4f},0.1" for i in range(20)]
    run = csv(*rows, header="step,train_loss,val_loss,lr", name="log.csv")
    assert len(run.loss) == 6
    assert np.isfinite(run.loss.values).all()


def test_a_training_loss_that_is_blank_while_validation_stands_still_was_nan(csv):
    rows = [f"{i},{3 - 0.2 * i if i < 6 else ''},{3 - 0.1 * min(i, 6):.4f},0.1" for i in range(20)]
    run = csv(*rows, header="step,train_loss,val_loss,lr", name="log.csv")
    assert np.isnan(run.loss.values).sum() == 14
