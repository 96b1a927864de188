import json

import pytest
from tests.live.records import GrowingRecord

from bedside.live.run_data import index, new_data, opened, panel_data
from bedside.live.served_folder import Folder, signature
from bedside.live.verdicts import compared, judged
from bedside.record.sqlite.reader import open_newest, open_run


@pytest.fixture
def record(tmp_path):
    made = GrowingRecord(tmp_path / "runs" / "a")
    made.grow(50)
    yield made
    made.close()


def test_the_newest_readings_are_those_of_the_whole_run(record):
    record.store.metric(49, "val/loss", 1.5)
    record.store.commit()
    record.grow(30)
    record.store.metric(79, "val/loss", 1.2)
    record.store.commit()
    whole, newest = open_run(record.folder), open_newest(record.folder, 45)
    for key in whole.series_keys:
        expected = whole.series(*key).since(45)
        assert newest.series(*key).steps.tolist() == expected.steps.tolist()
        assert newest.series(*key).values.tolist() == expected.values.tolist()
    assert newest.series("val/loss").steps.tolist() == [49, 79]
    assert len(open_newest(record.folder, 1000).loss) == 0


def test_only_the_blocks_with_new_steps_are_read(record, monkeypatch):
    from bedside.record.sqlite import blocks

    for _ in range(20):
        record.grow(10)
    read = []
    decoded = blocks._decoded
    monkeypatch.setattr(blocks, "_decoded", lambda rows, *rest: read.extend(rows) or decoded(rows, *rest))
    assert open_newest(record.folder, 235).loss.steps.tolist() == list(range(235, 250))
    assert len(read) == 2


def test_a_panel_grows_by_what_is_new_and_never_by_what_is_there(record):
    (found,) = Folder(record.folder.parent).runs().values()
    data = panel_data(opened(found), "loss")
    assert data["cursor"] == 49
    record.grow(7)
    new, last = new_data(found, ["loss"], data["cursor"] + 1)
    assert new["steps"] == [list(range(50, 57))]
    assert last == 56
    assert new_data(found, ["loss"], 57) == ({"steps": [], "series": {}}, 56)


def test_zooming_shows_every_reading_between_two_steps(record):
    record.grow(5000)
    (found,) = Folder(record.folder.parent).runs().values()
    whole = panel_data(opened(found), "loss")["curves"]["series"]["loss"]
    near = panel_data(opened(found), "loss", (1000, 1100))["curves"]
    assert len(whole["mean"]) == 500
    assert near["steps"][near["series"]["loss"]["axis"]] == list(range(1000, 1101))


def test_listing_panels_reads_no_series(record, monkeypatch):
    (found,) = Folder(record.folder.parent).runs().values()
    run = opened(found)
    monkeypatch.setattr(run, "fetch", lambda keys: pytest.fail(f"read {keys}"))
    assert [each["id"] for each in index(found, run)["instruments"]] == ["loss", "lr", "gradient", "layers:grad_norm"]


def test_a_run_is_judged_into_plain_data_with_the_words_of_its_panels(record):
    record.grow(50, loss=float("nan"))
    (found,) = Folder(record.folder.parent).runs().values()
    answer = judged(found, "a")
    json.dumps(answer, allow_nan=False)
    assert answer["row"]["verdict"] == "sick"
    assert answer["row"]["said"].startswith("NUM101 nonfinite-loss")
    assert answer["story"]["words"]["loss"]["say"] == "training NaN at the end"
    assert answer["signature"] == signature(found)


def test_a_very_large_record_is_judged_by_the_bounded_view(record, monkeypatch):
    record.grow(4000)
    (found,) = Folder(record.folder.parent).runs().values()
    whole = judged(found, "a")
    monkeypatch.setattr("bedside.live.verdicts.LARGE", 0)
    bounded = judged(found, "a")
    assert bounded["row"]["verdict"] == whole["row"]["verdict"]
    assert bounded["story"]["steps"] == whole["story"]["steps"] == 4050
    assert bounded["story"]["facts"] == whole["story"]["facts"]


def test_several_runs_are_compared_with_the_first(record, tmp_path):
    other = GrowingRecord(tmp_path / "runs" / "b")
    other.grow(30)
    other.grow(300, loss=5.0)
    record.grow(280)
    other.close()
    runs = Folder(record.folder.parent).runs()
    (answer,) = compared([(runs["a"], "a"), (runs["b"], "b")])["comparisons"]
    assert (answer["a"], answer["b"]) == ("a", "b")
    first = answer["divergences"][0]
    assert first["key"] == "loss"
    assert 25 <= first["step"] <= 35  # curves are compared at sixty places
    assert f"step {first['step']}" in answer["summary"]


def test_a_link_out_of_the_folder_is_not_followed(record, tmp_path):
    outside = GrowingRecord(tmp_path / "secret")
    outside.grow(5)
    outside.close()
    (record.folder.parent / "link").symlink_to(tmp_path / "secret")
    assert list(Folder(record.folder.parent).runs()) == ["a"]


def test_logs_of_other_tools_are_shown_too(tmp_path):
    (tmp_path / "log.csv").write_text("step,train_loss\n" + "".join(f"{i},{3 - i / 50}\n" for i in range(100)))
    ((name, found),) = Folder(tmp_path).runs().items()
    assert name == "log.csv"
    assert panel_data(opened(found), "loss")["curves"]["series"]["loss"]["recorded"] == 100
    assert new_data(found, ["loss"], 90)[1] == 99
