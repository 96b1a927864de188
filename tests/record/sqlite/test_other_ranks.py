"""Several ranks in one folder are one run to compare."""

from __future__ import annotations

import numpy as np

from bedside.record.run import Event
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


def write_share(folder, rank, norm, *, world=2, sharded=True, steps=2):
    store = Store.create(folder, rank)
    store.event(Event(0, "ranks", {"rank": rank, "world_size": world, "sharded": sharded, "same_batch": []}))
    columns = [("grad_norm", "head"), ("update_norm", "head"), ("param_norm", "head"), ("relative_update_norm", "head")]
    rows = np.tile([norm, norm / 10, 2 * norm, 99.0], (steps, 1))
    store.rows(store.declare("gradients", columns), range(steps), [7.0 + rank] * steps, rows)
    store.metric(1, "val/loss", float(rank))
    store.metric(1, "samples", 10.0, "val/loss")
    return store


def test_shares_of_sharded_parameters_add_up(tmp_path):
    for rank, norm in enumerate((3.0, 4.0)):
        write_share(tmp_path, rank, norm).close()
    for rank in (0, 1):
        run = open_run(tmp_path, rank)
        assert run.series("grad_norm", "head").values.tolist() == [5.0, 5.0]
        np.testing.assert_allclose(run.series("relative_update_norm", "head").values, 0.05)
        assert run.series("val/loss").values.tolist() == [0.5]
        assert not run.series("rank_param_norm", "1")  # shards are not replicas
        seen = f"loss, data and activations are those of rank {rank}, norms those of the whole model."
        assert run.notes == (f"One run of 2 ranks: {seen}",)


def test_replicas_do_not_add_up(tmp_path):
    for rank, norm in enumerate((3.0, 3.0)):
        write_share(tmp_path, rank, norm, sharded=False).close()
    assert open_run(tmp_path).series("grad_norm", "head").values.tolist() == [3.0, 3.0]


def test_without_the_record_of_a_rank_the_whole_is_not_known_and_that_is_said(tmp_path):
    for rank, norm in enumerate((3.0, 4.0)):
        write_share(tmp_path, rank, norm, world=4).close()
    run = open_run(tmp_path)
    assert not run.series("grad_norm", "head")
    assert run.notes[1:] == (
        "The records of ranks 2, 3 are not here, so the norms of sharded parameters are not known; "
        "read one folder that holds every rank*.sqlite of the run.",
    )


def test_one_file_of_a_sharded_run_does_not_pass_for_the_whole(tmp_path):
    for rank, norm in enumerate((3.0, 4.0)):
        write_share(tmp_path, rank, norm).close()
    run = open_run(tmp_path / "rank1.sqlite")
    assert not run.series("grad_norm", "head")
    assert "rank 0 is not here" in run.notes[0]


def test_what_became_of_every_rank_is_known(tmp_path):
    write_share(tmp_path, 0, 3.0).close(finished=True)
    killed = write_share(tmp_path, 1, 4.0, steps=9)
    killed.commit()
    run = open_run(tmp_path)
    assert [each.last for each in run.of("rank_finished")] == [1.0, -1.0]
    assert run.series("rank_last_time", "1").last_step == 8
    assert run.series("rank_last_time", "1").last > 8.0
    killed.close()


def test_a_program_that_ended_without_a_word_was_not_killed(tmp_path):
    write_share(tmp_path, 0, 3.0).close(finished=True)
    write_share(tmp_path, 1, 4.0).close()  # as at the end of a program that calls nothing
    assert [each.last for each in open_run(tmp_path).of("rank_finished")] == [1.0, 1.0]
