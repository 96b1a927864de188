"""Event files, whole and damaged, judged by TensorBoard's own reader where that one can still read."""

from __future__ import annotations

import numpy as np
import pytest

from bedside.logs import find_runs, load
from bedside.logs.formats.tensorboard.crc32c import masked_crc32c
from bedside.logs.formats.tensorboard.tfrecord import find_records

pytest.importorskip("tensorboard")

from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import Summary, SummaryMetadata
from tensorboard.compat.proto.tensor_pb2 import TensorProto
from tensorboard.compat.tensorflow_stub.pywrap_tensorflow import masked_crc32c as slow_crc
from tensorboard.summary.writer.event_file_writer import EventFileWriter


def write(folder, points, suffix="", start=1e9):
    """Points are (tag, step, value); a value that is a TensorProto makes a TF2 scalar."""
    writer = EventFileWriter(str(folder), filename_suffix=suffix)
    for place, (tag, step, value) in enumerate(points):
        if isinstance(value, TensorProto):
            plugin = SummaryMetadata(plugin_data=SummaryMetadata.PluginData(plugin_name="scalars"))
            each = Summary.Value(tag=tag, tensor=value, metadata=plugin)
        else:
            each = Summary.Value(tag=tag, simple_value=value)
        writer.add_event(Event(wall_time=start + place, step=step, summary=Summary(value=[each])))
    writer.close()
    return next(path for path in sorted(folder.glob("*tfevents*"), reverse=True) if path.name.endswith(suffix or ""))


def falling(n, tag="loss", first=0):
    return [(tag, first + i, 5.0 / (1 + i)) for i in range(n)]


def curve(series):
    return dict(zip(series.steps.tolist(), series.values.tolist(), strict=True))


def test_the_checksum_is_tensorboards():
    for data in (b"", b"a", b"123456789", bytes(range(256))):
        row = np.frombuffer(data, np.uint8).reshape(1, -1)
        assert int(masked_crc32c(row)[0]) == slow_crc(data)


@pytest.mark.parametrize(
    "make",
    [
        lambda v: TensorProto(dtype=1, float_val=[v]),
        lambda v: TensorProto(dtype=1, tensor_content=np.float32(v).tobytes()),
        lambda v: TensorProto(dtype=2, double_val=[v]),
        lambda v: TensorProto(dtype=2, tensor_content=np.float64(v).tobytes()),
        lambda v: TensorProto(dtype=3, int_val=[int(v)]),
        lambda v: TensorProto(dtype=9, int64_val=[int(v)]),
    ],
)
def test_tf2_scalars_of_every_type(tmp_path, make):
    write(tmp_path, [("loss", i, make(float(100 - i))) for i in range(50)])
    assert curve(load(tmp_path).loss) == {i: 100.0 - i for i in range(50)}


def test_tensors_that_are_no_scalars_are_passed_over(tmp_path):
    vector = TensorProto(dtype=1, float_val=[1.0, 2.0])
    vector.tensor_shape.dim.add().size = 2
    write(tmp_path, [*falling(5), ("histogram", 1, vector), ("text", 1, TensorProto(dtype=7, string_val=[b"hi"]))])
    assert load(tmp_path).vitals == ["loss"]


def test_large_and_negative_steps_and_names_of_any_length(tmp_path):
    points = [
        (name, step, 1.0) for name in ("a", "b" * 100, "c" * 250, "ü/ß") for step in (0, 1, 127, 128, 2**31, 2**40)
    ]
    write(tmp_path, [*points, ("a", -5, 1.0)])
    run = load(tmp_path)
    for name in ("a", "b" * 100, "c" * 250, "ü/ß"):
        assert run.series(name).steps.tolist() == [0, 1, 127, 128, 2**31, 2**40]


def test_against_event_accumulator(tmp_path):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    random = np.random.default_rng(0)
    tags = [f"metric/{i}" for i in range(20)] + ["train/loss", "val/loss"]
    write(tmp_path, [(str(tag), step, float(random.normal())) for step in range(200) for tag in tags])
    oracle = EventAccumulator(str(tmp_path), size_guidance={"scalars": 0})
    oracle.Reload()
    run = load(tmp_path)
    names = run.environment["names"]
    assert set(names) == set(tags)
    for tag in tags:
        vital = names[tag]
        assert curve(run.series(vital)) == {event.step: event.value for event in oracle.Scalars(tag)}


def test_a_torn_tail_loses_only_the_last_record(tmp_path):
    path = write(tmp_path, falling(100))
    path.write_bytes(path.read_bytes()[:-7])
    run = load(tmp_path)
    assert len(run.loss) == 99
    assert any("ends in the middle of a record" in note for note in run.notes)


@pytest.mark.parametrize("part", ["length", "length checksum", "data", "data checksum"])
def test_a_flipped_bit_costs_one_record_and_not_the_rest(tmp_path, part):
    path = write(tmp_path, falling(100))
    data = bytearray(path.read_bytes())
    start = find_records(bytes(data)).starts[50]
    length = find_records(bytes(data)).lengths[50]
    at = {"length": start - 12, "length checksum": start - 3, "data": start + 3, "data checksum": start + length + 1}[
        part
    ]
    data[at] ^= 0x40
    path.write_bytes(data)
    run = load(tmp_path)
    assert len(run.loss) == 99
    assert any("damaged" in note for note in run.notes)


def test_a_length_that_claims_the_whole_address_space_is_survived(tmp_path):
    path = write(tmp_path, falling(10))
    data = bytearray(path.read_bytes())
    start = find_records(bytes(data)).starts[5]
    data[start - 12 : start - 4] = b"\xff" * 8
    path.write_bytes(data)
    assert len(load(tmp_path).loss) == 9


def test_a_resume_in_a_second_file_keeps_the_last_branch(tmp_path):
    write(tmp_path, falling(100), suffix=".a")
    write(tmp_path, [("loss", i, 9.0) for i in range(50, 80)], suffix=".b", start=2e9)
    run = load(tmp_path)
    assert run.loss.steps.tolist() == list(range(80))
    assert run.loss.values[50] == 9.0
    assert [event.step for event in run.events_of("resume")] == [50]


def test_files_split_in_time_are_one_curve(tmp_path):
    write(tmp_path, falling(50), suffix=".a")
    write(tmp_path, falling(50, first=50), suffix=".b", start=2e9)
    run = load(tmp_path)
    assert run.loss.steps.tolist() == list(range(100))
    assert run.events == ()


def test_keras_folders_for_train_and_validation_are_one_run(tmp_path):
    write(tmp_path / "logs" / "train", falling(10, "epoch_loss"))
    write(tmp_path / "logs" / "validation", falling(10, "epoch_loss"))
    (found,) = find_runs(tmp_path)
    run = load(tmp_path)
    assert found.name == f"{tmp_path}/logs"
    assert run.has("loss")
    assert run.has("val/loss")


def test_a_folder_per_curve_is_one_run(tmp_path):
    write(tmp_path, falling(10, "lr"))
    write(tmp_path / "Loss_train", falling(10, "Loss"))
    write(tmp_path / "Loss_val", falling(10, "Loss"))
    assert len(find_runs(tmp_path)) == 1
    run = load(tmp_path)
    assert {"loss", "val/loss", "lr"} <= set(run.vitals)


def test_sibling_folders_are_runs_of_their_own(tmp_path):
    write(tmp_path / "a", falling(10))
    write(tmp_path / "b", falling(10))
    assert [each.name for each in find_runs(tmp_path)] == [f"{tmp_path}/a", f"{tmp_path}/b"]
