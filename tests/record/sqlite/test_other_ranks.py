"""Several ranks in one folder are one run to compare."""

from __future__ import annotations

import numpy as np

from bedside.record.sqlite.reader import open_run
from bedside.record.sqlite.writer import Store


def write(folder, rank, losses):
    store = Store.create(folder, rank)
    columns = [("loss", ""), ("batch_fingerprint", "")]
    rows = np.stack([np.asarray(losses), np.arange(len(losses)) + 100.0 * rank], axis=1)
    store.rows(store.declare("core", columns, "f8"), range(len(losses)), [0.0] * len(losses), rows)
    store.close()


def test_the_other_ranks_stand_beside_the_first(tmp_path):
    write(tmp_path / "run", 0, [3.0, 2.0])
    write(tmp_path / "run", 1, [3.5, 2.5])
    run = open_run(tmp_path / "run")
    assert run.owners("rank_loss") == ["0", "1"]
    assert run.series("rank_loss", "1").values.tolist() == [3.5, 2.5]
    assert run.series("rank_fingerprint", "1").values.tolist() == [100.0, 101.0]
    assert run.loss.values.tolist() == [3.0, 2.0]
    assert run.owners("loss") == []


def test_what_no_rank_recorded_is_empty(tmp_path):
    write(tmp_path / "run", 0, [3.0])
    write(tmp_path / "run", 1, [3.5])
    assert not open_run(tmp_path / "run").series("rank_param_norm", "1")


def test_a_run_of_one_rank_has_none_beside_it(tmp_path):
    write(tmp_path / "run", 0, [3.0])
    assert not open_run(tmp_path / "run").has("rank_loss", per_owner=True)


def test_one_ranks_own_file_is_itself_only(tmp_path):
    write(tmp_path / "run", 0, [3.0])
    write(tmp_path / "run", 1, [3.5])
    run = open_run(tmp_path / "run" / "rank1.sqlite")
    assert run.loss.values.tolist() == [3.5]
    assert not run.has("rank_loss", per_owner=True)
